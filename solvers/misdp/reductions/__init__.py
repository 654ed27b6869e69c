"""What makes a problem or a node smaller: merged columns, symmetries, implied bounds."""
