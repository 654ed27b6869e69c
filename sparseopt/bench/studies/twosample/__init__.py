"""Studies of two samples."""
