"""The Lagrangian row bound: its minimisation, and the multipliers that prove it."""
