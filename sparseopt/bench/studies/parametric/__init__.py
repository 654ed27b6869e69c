"""Studies of parametric linear programs."""
