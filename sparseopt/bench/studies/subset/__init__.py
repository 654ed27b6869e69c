"""Studies of best subsets."""
