"""Solvers of problems with one cardinality budget over many nodes."""
