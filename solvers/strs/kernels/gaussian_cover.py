"""The best selection by the Gaussian kernel, proven: branch and bound over squared weights."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.proofs.gaussian_selection import SelectionBounds, bisected, corners


def cover(
    problem: KernelSelection,
    value: float,
    slack: Callable[[float], float],
    better: Callable[[Array], float],
    most: int,
    tick: Callable[[], None],
) -> float | None:
    """Return an upper bound of all selections that the best known one meets.

    All supports are cut into simplices together, the largest first, so that good points are found
    before small simplices are cut.

    Parameters
    ----------
    problem : KernelSelection
        With the Gaussian kernel.
    value : float
        Of the best point that is known.
    slack : callable
        How far the bound may be above a value.
    better : callable
        Called with a point that is better; returns the value of the best one near it.
    most : int
        Exponentials that the search may take.
    tick : callable
        Called after each support; may raise to end the search.

    Returns
    -------
    float or None
        None where it takes more than that.
    """
    D, d = problem.x.shape[1], problem.d
    bounds = SelectionBounds(problem)
    if math.comb(D, d) * (d + 1) * bounds.pairs > most:
        return None
    proven, open_ = value, list(corners(D, d))
    while open_:
        left = []
        for support, simplices in open_:
            tick()
            if bounds.spent > most:
                return None
            upper, values = bounds(support, simplices)
            best = int(np.argmax(values))
            if values[best] > value + slack(value):
                z = np.zeros(D)
                z[support] = np.sqrt(simplices[best].mean(axis=0))
                value = max(value, better(z / np.linalg.norm(z)))
            # a single variable has one point: it is not above the best by more than rounding
            closed = (upper <= value + slack(value)) | (d == 1)
            proven = max([proven, *upper[closed]])
            if not closed.all():
                left.append((support, bisected(simplices[~closed])))
        open_ = left
    return float(proven)
