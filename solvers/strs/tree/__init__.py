"""The search over supports: open nodes, and leaves as the checker reads them."""
