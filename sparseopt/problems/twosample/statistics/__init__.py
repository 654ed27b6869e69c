"""Kernel statistics of two samples: squared MMD, its variance, and the kernels, by formula."""
