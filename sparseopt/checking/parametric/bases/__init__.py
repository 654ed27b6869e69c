"""The bases that a path states, and their solutions, computed anew."""
