"""The checker of sparse principal components of data with many variables."""
