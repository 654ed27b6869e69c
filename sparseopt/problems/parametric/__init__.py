"""Parametric linear programs of sparse learning."""
