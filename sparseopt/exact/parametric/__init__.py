"""Linear programs in lam: models as piecewise-linear functions, points, paths."""
