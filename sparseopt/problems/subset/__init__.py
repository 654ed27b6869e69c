"""Regression with few nonzero coefficients."""
