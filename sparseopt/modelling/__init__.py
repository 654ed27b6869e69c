"""Other modelling layers: CVXPY, and the standard form of conic solvers."""
