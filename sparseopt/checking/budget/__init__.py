"""The checker of problems with one cardinality budget."""
