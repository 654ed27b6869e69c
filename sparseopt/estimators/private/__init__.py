"""Estimators of private data."""
