"""Rounding errors of the bound that vectors prove of a least sum of distances to a subspace.

Engine and checker share this, so that an engine states no more than what is proven.
"""

from __future__ import annotations

import math
from typing import NamedTuple, Self

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.subspace.robust import RobustSubspace

_EPSILON = float(np.finfo(float).eps)
_EIGENVALUE = 10.0
"""Error of a computed eigenvalue, in units of the last place of the norm, for each row."""


class Sizes(NamedTuple):
    """What rounding errors are proportional to, in the problem's scaled unit.

    Attributes
    ----------
    terms : int
        Of a sum over all points, block after block.
    spread, farthest : float
        The sum of all points' norms, and the largest.
    """

    terms: int = 0
    spread: float = 0.0
    farthest: float = 0.0

    def with_block(self, block: Array) -> Self:
        """Return those with more points, shape (q, n)."""
        sizes = np.linalg.norm(block, axis=1)
        return type(self)(
            max(self.terms, len(block)) + 1,
            self.spread + float(sizes.sum()),
            max(self.farthest, float(sizes.max())),
        )

    def rounding(self, problem: RobustSubspace) -> float:
        """Return how far rounding may have moved the bound.

        Sums of `terms` terms; a perturbation E moves the sum of k eigenvalues by at most
        sqrt(k) |E|. With a centre, what rounding leaves of N vectors whose sum is 0 counts times
        the largest distance from the origin.
        """
        n, k = problem.X.shape[1], problem.k
        sums = self.terms + n
        out: float = _EPSILON * self.spread * (sums * (1.0 + math.sqrt(k)) + _EIGENVALUE * n * k)
        if problem.centre is not None:
            out += _EPSILON * sums * len(problem.X) * self.farthest
        return out
