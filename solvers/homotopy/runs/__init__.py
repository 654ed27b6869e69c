"""Whole solves: a path, one value or a grid; columns together, or each by itself."""
