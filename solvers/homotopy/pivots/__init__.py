"""The compiled pivots: Algorithm 1 on one dense program, and on the columns of a common matrix."""
