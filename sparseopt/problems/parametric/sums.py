r"""Sums of products that nearly cancel, without rounding.

What is zero in the data's own numbers, such as the product of two columns of counts, is zero up to
rounding in double precision: a number of its own unit, 1e-16, that no other one is consistent with.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.whole_numbers import whole_numbers

NEARLY = 1e-10
"""Sums are computed anew that are less than this part of the sum of their absolute terms."""
_TERMS = 1 << 20
"""Terms of all sums that are computed anew, at most."""


def exact_where_cancelling(
    sums: Array, X: Any, y: Array, weights: Array | None, centred: bool
) -> Array:
    r"""Return :math:`\sum_i w_i x_{ij} y_i`, of which those that nearly cancel are exact.

    They are correctly rounded sums of the given numbers, where they are not too many. What is zero
    in double precision stays so.

    Parameters
    ----------
    sums : array of shape (d,)
        The sums in double precision.
    X : array or sparse array of shape (n, d)
    y : array of shape (n,)
    weights : array of shape (n,), optional
        Default: ones.
    centred : bool
        Whether x and y are less their weighted means.

    Returns
    -------
    array of shape (d,)
    """
    largest = int(np.argmax(np.abs(sums))) if len(sums) else 0
    counts = np.ones(len(y)) if weights is None else weights
    some = np.flatnonzero((sums != 0.0) & (np.abs(sums) <= NEARLY * np.abs(sums).max(initial=0.0)))
    given = X, y, counts, centred
    if len(sums) and _cancels(sums, *given, np.array([largest])).any():
        some = np.flatnonzero(sums)
    if len(some) == 0 or len(some) * len(y) > _TERMS:
        return sums
    some = some[_cancels(sums, *given, some)]
    if len(some) == 0:
        return sums
    found = sums.copy()
    whole_y, whole_counts = whole_numbers(y), whole_numbers(counts)
    for j in some.tolist():
        x = whole_numbers(_columns(X, np.array([j]))[:, 0])
        found[j] = _exact(x, whole_y, whole_counts, centred)
    return found


def _cancels(sums: Array, X: Any, y: Array, counts: Array, centred: bool, columns: Array) -> Array:
    """Return which of some sums are small beside their terms."""
    sizes, weighted = np.abs(_columns(X, columns)), counts * np.abs(y)
    terms = sizes.T @ weighted
    if centred:
        terms += sizes.T @ counts * (weighted.sum() / counts.sum())
    return np.asarray(np.abs(sums[columns]) <= NEARLY * terms)


def _columns(X: Any, columns: Array) -> Array:
    some = X[:, columns]
    return np.asarray(some if isinstance(some, np.ndarray) else some.toarray())


def _exact(
    x: tuple[Array, int], y: tuple[Array, int], counts: tuple[Array, int], centred: bool
) -> float:
    unit = Fraction(2) ** (x[1] + y[1] + counts[1])
    weighted = counts[0] * x[0]
    total = Fraction(int(weighted @ y[0]))
    if centred:
        total -= Fraction(int(weighted.sum()) * int(counts[0] @ y[0]), int(counts[0].sum()))
    return float(total * unit)
