"""The constants of the subspace solvers. Lengths are in the problem's scaled unit."""

from __future__ import annotations

QUANTILE = 0.05
"""The smoothing of the weights falls to this quantile of the distances: below the least share of
inliers that can be recovered, since it stays above zero otherwise."""

LEAST_DISTANCE = 1e-14
"""The smoothing ends here, relative to the median distance from the origin: at rounding errors.
Points whose median distance is below this in the scaled unit count as one point."""

SMALLEST_STEP = 1e-14
"""Sine of an angle between two iterates below which nothing changes any more."""

SPEED_UP = 1e3
"""How much faster than now a search that has come near a saddle point may fall later."""

STALLED = 1e-13
"""Relative decrease of the value that counts as none."""

PATIENCE = 8
"""Iterations in a row without a decrease after which the reweighting ends."""

INLIER = 1e-11
"""Distance from the subspace, relative to that of the farthest point from the origin, at which a
point counts as lying in it."""

METRIC_STEPS = 60
"""Iterations for the metric of the inliers; it converges linearly, and fast."""

RELAXED_STEP = 1e-10
"""Relative decrease of the relaxation's value at which its iterations end."""

EXACT = 1e-9
"""Relative gap at which a bound needs no improvement."""

ROUNDED = 2e-13
"""Gap, relative to the sum of all distances from the origin, that rounding alone explains."""

TYLER_STEP = 1e-10
"""Relative change of Tyler's matrix at which its fixed-point iteration ends."""

FEW_COORDINATES = 100
"""Up to this many, all principal components are computed; beyond, the first ones alone."""

MANY_POINTS = 800
"""From here on a Cholesky factor of SciPy's is faster than NumPy's solve, and worth its import."""

MEMORY = 20
"""Pairs of steps and gradients that L-BFGS keeps."""

DECREASE, SLOPE = 1e-4, 0.9
"""Parts of the slope that a step of L-BFGS must gain, and may leave: the usual c_1 and c_2."""

LONGER = 4.0
"""Factor of a step that is too short, while nothing bounds it."""

LENGTHS = 20
"""Lengths of a step that are tried."""

SHORTEST = 1e-9
"""Width of a bracket, relative to the length of the step, at which a line search ends."""

CURVATURE = 1e-12
"""Cosine between a step and the change of the gradient below which the pair is rounding."""

STATIONARY = 1e-10
"""Largest entry of the gradient, in units of the objective's scale, at which a descent ends."""

EQUAL = 1e-15
"""Difference of values in that unit that may be rounding."""

SINGULAR = 1e-12
"""Variance of a direction, relative to the largest one, that counts as none."""

ATOMS = 60
"""Atoms of a distribution in the alternating scheme."""

FEATURES = 400
"""Random cosines of a regression function in the alternating scheme."""

FREQUENCY = 2.0
"""A random cosine changes over this many root mean square distances from the centre."""

SIGMOIDS = 50
"""Sigmoids of a regression function in the alternating scheme, as in the paper's."""

LEAST_RIDGE = 1e-6
"""Added to the matrix of the random cosines, whose entries are about 1/2."""

SAME_SUBSPACE = 1e-8
"""Change of the projection's entries at which the alternation ends."""

LOW_RANK = 1e-8
"""What L + C may miss of X, relative to X, at the end of a convex pursuit."""

LEAST_WEIGHT, LARGEST_WEIGHT = 1e-3, 10.0
"""Weights of the sparse part of a convex pursuit, between which rank k is searched for; about
N^(-1/2) is usual."""
