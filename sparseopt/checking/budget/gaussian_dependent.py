r"""The compiled search of :mod:`~sparseopt.checking.budget.gaussian_tree` for dependent candidates.

Where candidates depend on each other there is no inverse. Here one candidate after another is
taken or left: those taken are orthogonalised and projected out of the others and of the node,
those left are gone. No set of a branch has a smaller residual sum of squares than all that is not
gone, which is orthogonalised again for each candidate that is left. Each step costs one power more
of the number of candidates than with an inverse, but no digits.

What is computed is exact for columns that are off by some u of their length (Higham 2002, section
19.3). With the coefficients beta of the node on columns of unit length, the root of the residual
sum of squares is then off by at most

.. math:: u \Bigl(1 + \sum_j |\beta_j|\Bigr),

since the residual with these coefficients changes by no more, and the smallest one is no larger.
The coefficients follow from those of the projections by back substitution.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.checking.strict import strict
from sparseopt.problems.base import Array


class _Taken(NamedTuple):
    """The columns that were orthogonalised, in this order, and what the others have along them.

    Attributes
    ----------
    column : int array of shape (d + 1,)
    share : array of shape (d + 1, d + 1)
        The coefficient of each column in the projection on what was left of these.
    beta : array of shape (d + 1,)
        Room for the coefficients of the node.
    """

    column: Array
    share: Array
    beta: Array


@strict
def prove_dependent(
    columns: Array, bound: Array, nothing: float, unsure: float, rounding: float, work: float
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
        That below which it may be taken to add nothing: sets that it helps to beat the bounds leave
        a doubt alone.
    rounding : float
        What a column may be off by, of its length.
    work : float
        What may be spent, in multiplications.

    Returns
    -------
    state, size, rss, spent, doubtful
        The state is 0 where nothing beats the bounds, 1 where the set of `size` candidates has the
        residual sum of squares `rss`, and 3 where the work was not enough. It is doubtful where
        rounding alone decides whether a set does.
    """
    d, m = len(columns) - 1, columns.shape[1]
    # What is left of all columns when the first `level` candidates are decided.
    left = np.empty((d + 1, d + 1, m))
    size_at, step = np.zeros(d + 1, np.int64), np.zeros(d + 1, np.int64)
    narrowest = np.ones(d + 1)
    scratch = np.empty((d + 1, m))
    taken = _Taken(np.zeros(d + 1, np.int64), np.zeros((d + 1, d + 1)), np.zeros(d + 1))
    _copy(columns, 0, left[0])
    spent = float(d * d * m)
    doubtful = False
    rss, off, least = _rest(left[0], 0, 0, nothing, scratch, taken)
    if _above(rss, rounding * off) < bound[d]:
        return (3 if least < unsure else 1), d, rss, spent, least < unsure
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
            length = _square(here[i])
            if length <= nothing:
                continue
            spent += float((d - i) * m)
            size = size_at[level]
            _project(here, i, length, following, size, taken)
            size += 1
            rss = _square(following[d])
            off = rounding * _sensitivity(taken, size, d)
            least = min(narrowest[level], length)
            if _above(rss, off) < bound[size] and least >= unsure:
                return 1, size, rss, spent, doubtful
            doubtful = doubtful or _below(rss, off) < bound[size]
        else:
            size, least = size_at[level], narrowest[level]
            # The set of those taken was looked at: only larger ones are new.
            if level + 1 == d:
                continue
            spent += float((d - i) * (d - i) * m)
            rss, off, _ = _rest(here, i + 1, size, nothing, scratch, taken)
            if _below(rss, rounding * off) >= bound[size + 1]:
                continue
            _copy(here, i + 1, following)
        size_at[level + 1], narrowest[level + 1], step[level + 1] = size, least, 0
        level += 1
    return 0, 0, 0.0, spent, doubtful


@strict
def _above(rss: float, off: float) -> float:
    """Return the largest residual sum of squares whose root is off by so much."""
    return float((np.sqrt(rss) + off) ** 2)


@strict
def _below(rss: float, off: float) -> float:
    """Return the smallest residual sum of squares whose root is off by so much."""
    return float(max(0.0, np.sqrt(rss) - off) ** 2)


@strict
def _square(row: Array) -> float:
    """Return the squared length of a row."""
    total = 0.0
    for k in range(len(row)):
        total += row[k] * row[k]
    return total


@strict
def _copy(rows: Array, first: int, out: Array) -> None:
    """Copy the rows from `first` on. An assignment to a slice takes seconds to compile."""
    for o in range(first, len(rows)):
        for k in range(rows.shape[1]):
            out[o, k] = rows[o, k]


@strict
def _project(rows: Array, i: int, length: float, out: Array, place: int, taken: _Taken) -> None:
    """Set the rows of `out` after i to those of `rows` less their parts along row i.

    `length` is the square of row i's norm; `out` may be `rows`. The column is noted at a place.
    """
    taken.column[place] = i
    for o in range(i + 1, len(rows)):
        product = 0.0
        for k in range(rows.shape[1]):
            product += rows[o, k] * rows[i, k]
        product /= length
        taken.share[place, o] = product
        for k in range(rows.shape[1]):
            out[o, k] = rows[o, k] - product * rows[i, k]


@strict
def _sensitivity(taken: _Taken, size: int, node: int) -> float:
    """Return 1 + the sum of the absolute coefficients of the node on the first columns taken."""
    total = 1.0
    for t in range(size - 1, -1, -1):
        value = taken.share[t, node]
        for u in range(t + 1, size):
            value -= taken.share[t, taken.column[u]] * taken.beta[u]
        taken.beta[t] = value
        total += abs(value)
    return total


@strict
def _rest(
    here: Array, first: int, size: int, nothing: float, scratch: Array, taken: _Taken
) -> tuple[float, float, float]:
    """Return the residual sum of squares of the last row on the others from `first` on.

    And its sensitivity, beside `size` columns that were taken, and the smallest squared sine.
    """
    d = len(here) - 1
    least = 1.0
    _copy(here, first, scratch)
    for i in range(first, d):
        length = _square(scratch[i])
        if length <= nothing:
            continue
        least = min(least, length)
        _project(scratch, i, length, scratch, size, taken)
        size += 1
    return _square(scratch[d]), _sensitivity(taken, size, d), least
