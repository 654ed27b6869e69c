"""Lower bounds of nodes from the multipliers of their relaxations."""
