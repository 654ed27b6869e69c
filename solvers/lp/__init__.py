"""Parametric problems as linear programs, and back: what all LP solvers share."""
