"""The checker of robust subspaces."""
