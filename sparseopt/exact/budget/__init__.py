"""Neighbours under a budget, and best subsets."""
