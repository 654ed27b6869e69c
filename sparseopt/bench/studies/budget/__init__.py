"""Studies of models under a budget."""
