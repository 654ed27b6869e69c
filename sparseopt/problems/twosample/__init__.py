"""Variable selection for kernel two-sample tests."""
