"""Sparse principal components of data with many variables."""
