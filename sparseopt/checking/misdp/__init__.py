"""The checker of mixed-integer semidefinite programs."""
