"""Estimators of subspaces."""
