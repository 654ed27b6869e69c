"""Arithmetic that an engine and the checker share, on purpose; docs/certificates.md names it."""
