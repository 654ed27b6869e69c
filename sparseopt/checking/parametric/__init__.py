"""The checker of parametric problems."""
