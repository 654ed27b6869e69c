"""The checker of the sparse trust-region subproblem."""
