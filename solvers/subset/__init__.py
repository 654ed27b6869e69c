"""Solvers of regression with few nonzero coefficients."""
