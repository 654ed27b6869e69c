"""Relaxations of nodes: our interior points in compiled loops, and the solvers beside them."""
