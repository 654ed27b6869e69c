"""Semidefinite programs with integers, the form that their certificates are about, symmetries."""
