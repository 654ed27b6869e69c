"""Solvers of the sparse trust-region subproblem."""
