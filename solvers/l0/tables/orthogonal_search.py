r"""Best subsets of nearly dependent candidates: an exact search without inner products, compiled.

From inner products a candidate's part that the others do not explain is known up to rounding
relative to its squared sine. Below some 1e-6 the search of
:mod:`~sparseopt.solvers.l0.tables.leaps_and_bounds` may therefore miss the best subset by more than
the last digits. Its answers start this one, which decides candidate after candidate: those taken
are projected out of the columns that are left, those not taken are gone, and a branch ends where
even all that are left do not improve on any size. Each step takes one power of d more than with
inner products.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled, compiled_inside
from ..settings import NO_DIGITS, TIE


@compiled
def improve(columns: Array, best: Array, mask: Array, work: float) -> Any:
    """Search all subsets of one node for better ones than are known.

    Parameters
    ----------
    columns : array of shape (d + 1, m)
        Candidates of unit length, those first that are missed most, then the node.
    best : array of shape (d + 1,), changed
        The smallest residual sum of squares known for at most so many candidates.
    mask : int64 array of shape (d + 1,), changed
        The subsets that attain them, as bits by the order of the columns.
    work : float
        Multiplications that may be spent.

    Returns
    -------
    bool
        Whether the search is complete.
    """
    d, m = len(columns) - 1, columns.shape[1]
    left = np.empty((d + 1, d + 1, m))
    taken, step = np.zeros(d + 1, np.int64), np.zeros(d + 1, np.int64)
    members = np.zeros(d + 1, np.int64)
    scratch = np.empty((d + 1, m))
    _copy(columns, 0, left[0])
    level = 0
    while level >= 0:
        if work < 0.0:
            return False
        if level == d or step[level] == 2:
            level -= 1
            continue
        here, following = left[level], left[level + 1]
        size = taken[level]
        step[level] += 1
        if step[level] == 1:
            if not _take(here, level, following):
                continue
            work -= float((d - level) * m)
            size += 1
            rss = _squared(following[d])
            chosen = members[level] | (1 << level)
            for k in range(size, d + 1):
                if rss < best[k] * (1.0 - TIE):
                    best[k], mask[k] = rss, chosen
            members[level + 1] = chosen
        else:
            # The subset of those taken is known: only larger ones are new.
            if level + 1 == d:
                continue
            work -= float((d - level) * (d - level) * m)
            _copy(here, level + 1, scratch)
            for i in range(level + 1, d):
                _take(scratch, i, scratch)
            if _squared(scratch[d]) >= best[size + 1] * (1.0 - TIE):
                continue
            _copy(here, level + 1, following)
            members[level + 1] = members[level]
        taken[level + 1], step[level + 1] = size, 0
        level += 1
    return True


@compiled_inside
def _take(here: Array, i: int, out: Array) -> bool:
    """Project column i out of those after it; False where there is nothing left of it."""
    length = _squared(here[i])
    if length <= NO_DIGITS:
        return False
    for o in range(i + 1, len(here)):
        product = 0.0
        for k in range(here.shape[1]):
            product += here[o, k] * here[i, k]
        product /= length
        for k in range(here.shape[1]):
            out[o, k] = here[o, k] - product * here[i, k]
    return True


@compiled_inside
def _squared(x: Array) -> float:
    total = 0.0
    for k in range(len(x)):
        total += x[k] * x[k]
    return total


@compiled_inside
def _copy(rows: Array, first: int, out: Array) -> None:
    """Copy the rows from `first` on."""
    for i in range(first, len(rows)):
        for k in range(rows.shape[1]):
            out[i, k] = rows[i, k]
