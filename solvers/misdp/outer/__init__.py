"""Outer approximation: cuts, and the masters that hold them."""
