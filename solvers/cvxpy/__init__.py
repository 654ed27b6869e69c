"""CVXPY's solvers in all their uses."""
