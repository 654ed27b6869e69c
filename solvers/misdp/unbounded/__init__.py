"""Proofs that a problem has no finite optimum."""
