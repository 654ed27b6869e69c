"""Sparse directions: supports, components, kernels."""
