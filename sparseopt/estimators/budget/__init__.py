"""Estimators of models under a budget."""
