"""Choosing the budget of a graph."""
