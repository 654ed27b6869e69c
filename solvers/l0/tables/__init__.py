"""Tables: of each node the least loss by the number of its neighbours, Gaussian and Ising."""
