"""Points, multipliers, their units and exact numbers: what every proof evaluates."""
