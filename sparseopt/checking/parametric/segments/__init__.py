"""The proof of a path, segment by segment."""
