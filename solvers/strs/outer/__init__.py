"""Outer approximation: cuts, and the master that holds them."""
