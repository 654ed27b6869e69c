"""Where a path begins and ends, and what proves that nothing is optimal beyond."""
