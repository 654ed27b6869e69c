"""Bounds, propagation, curves and rank one of mixed-integer semidefinite programs."""
