"""What commands are given: instances, settings, raw tables."""
