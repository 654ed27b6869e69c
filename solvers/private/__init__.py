"""Solvers of fits to a mean embedding."""
