"""Estimators of two samples."""
