"""Studies of private data."""
