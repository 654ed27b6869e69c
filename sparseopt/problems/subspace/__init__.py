"""Subspaces that a sample lies in, or close to."""
