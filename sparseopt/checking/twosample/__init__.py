"""The checker of variable selection for kernel two-sample tests."""
