"""The problems of each family as programs for outside solvers."""
