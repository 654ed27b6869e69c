"""The semidefinite relaxation, by our ADMM and as a conic program for others."""
