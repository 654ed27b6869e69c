"""The checker of regression with few nonzero coefficients."""
