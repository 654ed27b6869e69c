"""Products and inverses of matrices of sums of two doubles, row by row.

See :mod:`sparseopt.proofs.double_double`, which has the same in array operations.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparseopt.compiling import Kernel
from sparseopt.problems.base import Array

_SPLIT = 2.0**27 + 1.0


def _strict(function: Callable[..., Any], **options: Any) -> Kernel:
    """Let a function run compiled, every rounding as it stands."""
    return Kernel(function, nogil=True, error_model="numpy", **options)


def _inside(function: Callable[..., Any]) -> Kernel:
    """Do so with a function that only compiled functions call."""
    return _strict(function, _nrt=False, no_cpython_wrapper=True)


@_inside
def _add_multiple(
    high: Array, low: Array, f_high: float, f_low: float, row_high: Array, row_low: Array
) -> None:
    """Add f times a row to another one: Dekker's product and Knuth's sum."""
    scaled = _SPLIT * f_high
    f_big = scaled - (scaled - f_high)
    f_small = f_high - f_big
    for j in range(len(high)):
        b = row_high[j]
        scaled = _SPLIT * b
        b_big = scaled - (scaled - b)
        b_small = b - b_big
        product = f_high * b
        error = ((f_big * b_big - product) + f_big * b_small + f_small * b_big) + f_small * b_small
        error += f_high * row_low[j] + f_low * b
        p_high = product + error
        p_low = error - (p_high - product)
        a, c = high[j], low[j]
        total = a + p_high
        part = total - a
        error = (a - (total - part)) + (p_high - part)
        rest = c + p_low
        part = rest - c
        left = (c - (rest - part)) + (p_low - part)
        error += rest
        summed = total + error
        error = error - (summed - total) + left
        high[j] = summed + error
        low[j] = error - (high[j] - summed)


@_strict
def add_product(
    a_high: Array, a_low: Array, b_high: Array, b_low: Array, high: Array, low: Array
) -> None:
    """Add the product of an (m, k) matrix with a (k, q) one to an (m, q) one, which is changed.

    Parameters
    ----------
    a_high, a_low : arrays of shape (m, k)
    b_high, b_low : arrays of shape (k, q)
    high, low : arrays of shape (m, q), changed
    """
    for i in range(len(a_high)):
        for r in range(len(b_high)):
            if a_high[i, r] != 0.0:
                _add_multiple(high[i], low[i], a_high[i, r], a_low[i, r], b_high[r], b_low[r])


@_strict
def reduce_rows(high: Array, low: Array) -> int:
    """Turn a (k, k + q) matrix into one that begins with the identity, by Gauss and Jordan.

    Rows are exchanged for the largest pivot.

    Parameters
    ----------
    high, low : arrays of shape (k, k + q), changed

    Returns
    -------
    int
        The column that has no pivot, -1 without one.
    """
    k, width = high.shape
    row_high, row_low = np.empty(width), np.empty(width)
    rest_high, rest_low = np.empty(1), np.empty(1)
    for c in range(k):
        r = c
        for i in range(c + 1, k):
            if not abs(high[i, c]) <= abs(high[r, c]):
                r = i
        if high[r, c] == 0.0 or not np.isfinite(high[r, c]):
            return c
        for j in range(c, width):
            row_high[j], row_low[j] = high[r, j], low[r, j]
            high[r, j], low[r, j] = high[c, j], low[c, j]
            high[c, j] = low[c, j] = 0.0
        # Each quotient leaves a rest that is 2^53 times smaller.
        rest_high[0], rest_low[0] = 1.0, 0.0
        for _ in range(3):
            quotient = rest_high[0] / row_high[c]
            _add_multiple(high[c, c:], low[c, c:], quotient, 0.0, row_high[c:], row_low[c:])
            at = slice(c, c + 1)
            _add_multiple(rest_high, rest_low, -quotient, 0.0, row_high[at], row_low[at])
        for i in range(k):
            f_high, f_low = -high[i, c], -low[i, c]
            if i != c and f_high != 0.0:
                _add_multiple(high[i, c:], low[i, c:], f_high, f_low, high[c, c:], low[c, c:])
    return -1
