"""What multipliers at the ends of their slopes may cost."""
