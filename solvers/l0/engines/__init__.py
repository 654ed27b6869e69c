"""The backends of problems with one budget."""
