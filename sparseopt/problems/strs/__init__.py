"""The sparse trust-region subproblem."""
