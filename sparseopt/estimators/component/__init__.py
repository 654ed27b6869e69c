"""Estimators of sparse components."""
