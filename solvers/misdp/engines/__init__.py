"""The backends, and the answers that they give."""
