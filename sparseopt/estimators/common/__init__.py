"""What the estimators of several families share."""
