"""The checker of fits to a mean embedding."""
