"""Mixed-integer semidefinite programs."""
