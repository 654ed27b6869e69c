"""One budget over many tables: their hulls, and the exact path over all budgets."""
