"""Solvers of the robust subspace problem."""
