"""Reports of a run, and parts of pages that are made from its records."""
