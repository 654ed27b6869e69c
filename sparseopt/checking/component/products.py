"""The largest products of columns, in single precision and block by block.

An entry is off by at most (n + 4) 2^-24 times the lengths of its two columns (Higham 2002, section
3.1; two more for the rounding of the columns, and two to spare).
"""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.work import spend
from sparseopt.problems.base import Array

PAIRS = 40_000_000
"""Products above the threshold beyond which a certificate is not read."""
_PRODUCT, _PASSES = 2e-11, 60
"""Seconds of a multiplication in single precision, and what looking at a product takes of them."""
_BLOCK = 2048
"""Columns of a block: 16 MB for the products of two of them."""


def sums_of_largest(values: Array, d: int) -> Array:
    """Return the sums of the 0, ..., d largest of nonnegative values; of all where there are fewer.

    Parameters
    ----------
    values : array of shape (D,)
    d : int
    """
    largest = np.zeros(d)
    top = np.sort(values)[::-1][:d]
    largest[: len(top)] = top
    return np.concatenate([[0.0], np.cumsum(largest)])


def largest_products(X: Array, squares: Array, d: int, threshold: float) -> Array | None:
    """Bound the d - 1 largest absolute products of each column with others, decreasing.

    Parameters
    ----------
    X : array of shape (n, e)
    squares : array of shape (e,)
    d : int
    threshold : float

    Returns
    -------
    array of shape (e, d - 1), or None
        None where more than 40 million products are above the threshold.
    """
    n, e = X.shape
    largest = float(squares.max())
    if d == 1 or largest == 0.0:
        return np.zeros((e, max(0, d - 1)))
    order = np.argsort(-squares, kind="stable")
    # Lengths of about 1, divided by a power of two: single precision has a small range.
    scale = 2.0 ** round(math.log2(largest) / 2.0)
    length, at = np.sqrt(squares[order]) / scale, threshold / scale**2
    Z = np.ascontiguousarray((X[:, order] / scale).T.astype(np.float32))
    # What underflows adds less than the second term.
    off = (n + 4) * 2.0**-24 / (1.0 - (n + 4) * 2.0**-24) * float(length[0]) ** 2 + 1e-30
    if not (n + 4) * 2.0**-24 < 0.5:
        return None
    rows, values, count = [], [], 0
    for i in range(0, e, _BLOCK):
        for j in range(i, e, _BLOCK):
            if length[i] * length[j] <= at:
                break
            spend(_PRODUCT * min(_BLOCK, e - i) * min(_BLOCK, e - j) * (n + _PASSES))
            G = np.abs(Z[i : i + _BLOCK] @ Z[j : j + _BLOCK].T).ravel()
            where = np.flatnonzero(at < G)
            row, column = np.divmod(where, min(_BLOCK, e - j))
            if i == j:
                where, row, column = (a[row != column] for a in (where, row, column))
            else:
                rows.append(column + j)
                values.append(G[where])
            rows.append(row + i)
            values.append(G[where])
            count += 2 * len(where)
            if count > PAIRS:
                return None
    listed = np.full((e, d - 1), min(at, float(length[0]) ** 2))
    if count:
        row, value = np.concatenate(rows), np.concatenate(values)
        sequence = np.lexsort((-value, row))
        row, value = row[sequence], value[sequence].astype(float)
        rank = np.arange(len(row)) - np.searchsorted(row, row)
        first = rank < d - 1
        listed[row[first], rank[first]] = value[first]
    bounds = np.zeros((e, d - 1))
    bounds[order] = (listed + off) * scale**2
    return bounds
