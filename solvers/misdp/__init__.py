"""Mixed-integer semidefinite programs: conic branch and bound, and outer approximation."""
