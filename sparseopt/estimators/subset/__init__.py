"""Estimators of best subsets."""
