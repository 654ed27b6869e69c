"""Estimators of parametric linear programs."""
