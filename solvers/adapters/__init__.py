"""What the adapters of outside solvers share: one form of mathematical program, and its users."""
