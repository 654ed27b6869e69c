"""All tolerances of the checker. Each is relative to the size of the terms that were added up.

The scale of a value z_i is the size of its kinks plus (|A| |theta|)_i, the scale of a multiplier
v_i that of its finite slopes plus (|A|' |nu|)_i: what rounding errors, and relative errors in the
data, are proportional to. A variable is one term, so its scale is that of the largest
variable; likewise the multiplier of a row.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

FEASIBILITY = 1e-8
"""Violations of a single solution: outside solvers reach 1e-9 to 1e-7 of the scale."""

SEGMENT = 1e-9
"""Violations and gaps on the segments of a path, and the ends that Farkas rays prove."""

CONIC = 1e-7
"""Violations of a point of a semidefinite program, also of integrality: conic solvers end at 1e-8
of the scale, a matrix on the boundary of its cone a little outside."""

RANK_ONE = 1e-6
"""Minors of order two of a matrix that must have rank one, relative to their terms."""

OBJECTIVE = 1e-9
"""Stated against recomputed objective value."""

SUM = 1e-9
"""Two objective values, relative to the sum of the absolute values of their terms: what is left of
a gap when the terms cancel."""

STORED = 1e-9
"""Backward error of the numbers of a path in the equations of their basis."""

ROUNDED = 1e-6
"""Times SUM or OBJECTIVE: rounding errors relative to the largest numbers of the data. These may
have no effect on the optimum, so that nothing larger is allowed for them."""

COPY = 1e-12
"""A number that is stated twice."""

NOISE = 1e-14
"""Rounding errors relative to the largest kink or slope: where all terms are smaller, as those of
a slack that costs nothing, this is their scale."""

SUMMATION = 2e-14
"""Bound of the rounding errors of a sum, relative to the absolute values of its terms: that of 100
terms in the worst order, where no more are known."""

RANK = 1e-15
"""Reciprocal condition number, after equilibration, at which a kernel counts as singular."""

ROUNDING = 1e-14
"""Rounding errors of the solution of a kernel, times its reciprocal condition number: a larger
violation than SEGMENT but not than this proves nothing either way."""

UNSCALED = 1e-6
"""Residuals of families without a verifier of their own, relative to 1 + max |x|."""

LOOSE = 1e4
"""Numbers of the data beyond this many lower quartiles say nothing of the others' sizes."""

HEAVY = 1e2
"""Terms of an objective beyond this many lower quartiles do not widen the gap that is allowed:
1e-9 of them may be more than all others. Rounding errors of theirs are bounded, or avoided."""


def prevailing(sizes: Array, loose: float = LOOSE) -> float:
    """Return the largest of sizes, or 10^4 times their lower quartile where that is less.

    Parameters
    ----------
    sizes : array of shape (n,)
        Not negative; zeros do not count.
    loose : float, optional
        Another factor than 10^4.

    Returns
    -------
    float
        0 where no size is positive.
    """
    positive = sizes[sizes > 0.0]
    if len(positive) == 0:
        return 0.0
    quarter = (len(positive) - 1) // 4
    return float(min(positive.max(), loose * np.partition(positive, quarter)[quarter]))
