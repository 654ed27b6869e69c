"""The selection of variables by kernels that are not quadratic."""
