"""Answers that are functions of a parameter: paths over lam, over budgets, over sizes."""
