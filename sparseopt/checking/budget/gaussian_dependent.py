r"""The compiled search of :mod:`~sparseopt.checking.budget.gaussian_tree` for dependent candidates.

Where candidates depend on each other there is no inverse. Here one candidate after another is
taken or left: those taken are orthogonalised and projected out of the others and of the node,
those left are gone. No set of a branch has a smaller residual sum of squares than all that is not
gone, which is orthogonalised again for each candidate that is left. Each step costs one power more
of the number of candidates than with an inverse, but no digits.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.strict import strict
from sparseopt.problems.base import Array


@strict
def prove_dependent(
    columns: Array, bound: Array, nothing: float, unsure: float, work: float
) -> tuple[int, int, float, float, bool]:
    """Look through the subsets of one node.

    Parameters
    ----------
    columns : array of shape (d + 1, m)
        The candidates and the node, as rows of unit length; those come first that matter most.
    bound : array of shape (d + 1,)
        What no set of 0, 1, ... candidates may fall below; not increasing.
    nothing : float
        Squared sine of the angle to those taken below which a candidate adds nothing.
    unsure : float
        That below which its direction is known to too few digits.
    work : float
        What may be spent, in multiplications.

    Returns
    -------
    state, size, rss, spent, doubtful
        The state is 0 where nothing beats the bounds, 1 where the set of `size` candidates has the
        residual sum of squares `rss`, and 3 where the work was not enough. It is doubtful where an
        angle between the two limits was met.
    """
    d, m = len(columns) - 1, columns.shape[1]
    # What is left of all columns when the first `level` candidates are decided.
    left = np.empty((d + 1, d + 1, m))
    taken, step = np.zeros(d + 1, np.int64), np.zeros(d + 1, np.int64)
    scratch = np.empty((d + 1, m))
    _copy(columns, 0, left[0])
    spent = float(d * d * m)
    rss, doubtful = _rest(left[0], 0, nothing, unsure, scratch)
    if rss < bound[d]:
        return 1, d, rss, spent, doubtful
    level = 0
    while level >= 0:
        if spent > work:
            return 3, 0, 0.0, spent, doubtful
        if level == d or step[level] == 2:
            level -= 1
            continue
        here, following, i = left[level], left[level + 1], level
        step[level] += 1
        if step[level] == 1:
            length = 0.0
            for k in range(m):
                length += here[i, k] * here[i, k]
            if length <= nothing:
                continue
            doubtful = doubtful or length < unsure
            spent += float((d - i) * m)
            _project(here, i, length, following)
            rss = 0.0
            for k in range(m):
                rss += following[d, k] * following[d, k]
            size = taken[level] + 1
            if rss < bound[size]:
                return 1, size, rss, spent, doubtful
        else:
            size = taken[level]
            # The set of those taken was looked at: only larger ones are new.
            if level + 1 == d:
                continue
            spent += float((d - i) * (d - i) * m)
            rss, narrow = _rest(here, i + 1, nothing, unsure, scratch)
            doubtful = doubtful or narrow
            if rss >= bound[size + 1]:
                continue
            _copy(here, i + 1, following)
        taken[level + 1], step[level + 1] = size, 0
        level += 1
    return 0, 0, 0.0, spent, doubtful


@strict
def _copy(rows: Array, first: int, out: Array) -> None:
    """Copy the rows from `first` on. An assignment to a slice takes seconds to compile."""
    for o in range(first, len(rows)):
        for k in range(rows.shape[1]):
            out[o, k] = rows[o, k]


@strict
def _project(rows: Array, i: int, length: float, out: Array) -> None:
    """Set the rows of `out` after i to those of `rows` less their parts along row i.

    `length` is the square of row i's norm; `out` may be `rows`.
    """
    for o in range(i + 1, len(rows)):
        product = 0.0
        for k in range(rows.shape[1]):
            product += rows[o, k] * rows[i, k]
        product /= length
        for k in range(rows.shape[1]):
            out[o, k] = rows[o, k] - product * rows[i, k]


@strict
def _rest(
    here: Array, first: int, nothing: float, unsure: float, scratch: Array
) -> tuple[float, bool]:
    """Return the residual sum of squares of the last row on the others from `first` on.

    And whether an angle between the two limits was met.
    """
    doubtful = False
    d, m = len(here) - 1, here.shape[1]
    _copy(here, first, scratch)
    for i in range(first, d):
        length = 0.0
        for k in range(m):
            length += scratch[i, k] * scratch[i, k]
        if length <= nothing:
            continue
        doubtful = doubtful or length < unsure
        _project(scratch, i, length, scratch)
    total = 0.0
    for k in range(m):
        total += scratch[d, k] * scratch[d, k]
    return total, doubtful
