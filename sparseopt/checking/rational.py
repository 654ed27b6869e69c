"""Exact arithmetic on floating-point numbers: signs of sums, cones and semidefinite matrices."""

from __future__ import annotations

from enum import Enum
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.checking.work import bits_of, fraction_seconds, spend
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

LARGEST = 24
"""Order of the largest matrix that is decided in rational arithmetic (seconds)."""
NEARLY = 1e-8
"""What misses a condition by at most this part of its terms may do so by rounding."""
_EPS = float(np.finfo(float).eps)


def rationals(values: Array) -> Array:
    """Return finite floating-point numbers as an object array of fractions.

    Parameters
    ----------
    values : float array
        Finite, of any shape.

    Returns
    -------
    object array of that shape
    """
    return np.array([Fraction(float(v)) for v in np.ravel(values)], dtype=object).reshape(
        np.shape(values)
    )


def images(F: sp.csr_array, x: Array) -> Array:
    """Return F x exactly, as an object array of shape (m,).

    Parameters
    ----------
    F : csr array of shape (m, n)
    x : array of shape (n,)
    """
    F = sp.csr_array(F)
    found = np.array([Fraction(0)] * F.shape[0], dtype=object)
    rows = np.repeat(np.arange(F.shape[0]), np.diff(F.indptr))
    moving = x[F.indices] != 0.0
    for i, a, j in zip(
        rows[moving].tolist(), F.data[moving].tolist(), F.indices[moving].tolist(), strict=True
    ):
        found[i] += Fraction(a) * Fraction(float(x[j]))
    return found


def packed_matrix(entries: Array, size: int) -> Array:
    """Return the symmetric matrix (s, s) of a packed lower triangle, of any type of numbers.

    Parameters
    ----------
    entries : array of shape (size (size + 1) / 2,)
    size : int

    Returns
    -------
    array of shape (size, size)
    """
    columns, rows = np.triu_indices(size)
    matrix = np.zeros((size, size), dtype=entries.dtype)
    matrix[rows, columns] = matrix[columns, rows] = entries
    return matrix


def in_cone(u: Array, rotated: bool) -> bool:
    """Return whether fractions are in a second-order cone: head >= norm of the tail.

    Parameters
    ----------
    u : object array of shape (k,)
        The head first; of a rotated cone both heads, 2 u_0 u_1 >= sum of the other squares.
    rotated : bool
    """
    heads, tail = u[: 1 + rotated], u[1 + rotated :]
    head = 2 * heads[0] * heads[1] if rotated else heads[0] ** 2
    return bool(min(heads) >= 0 and head >= sum(v**2 for v in tail))


class Sign(Enum):
    """What is known of a condition."""

    HOLDS = "holds"
    NEARLY = "holds up to rounding only"
    FAILS = "fails"


def sign_of(value: Fraction | float, scale: float) -> Sign:
    """Judge a number that must be >= 0, of terms of the size `scale`.

    Parameters
    ----------
    value : Fraction or float
    scale : float
        The size of the terms, >= 0.

    Returns
    -------
    Sign
    """
    if value >= 0:
        return Sign.HOLDS
    return Sign.NEARLY if float(value) >= -NEARLY * scale else Sign.FAILS


def semidefinite(matrix: Array, scale: float = 0.0) -> Sign:
    """Decide whether a symmetric matrix of fractions is positive semidefinite.

    Lines of zeros are left out. What is definite by a clear margin, or clearly indefinite, is seen
    in floating point; the rest by elimination, up to the order `LARGEST`.

    Parameters
    ----------
    matrix : object array of shape (s, s)
    scale : float
        The size of the terms that its entries are sums of. Default: that of the matrix.

    Returns
    -------
    Sign
        NEARLY also where the matrix is too large for an exact answer.
    """
    used = [i for i in range(len(matrix)) if any(entry != 0 for entry in matrix[i])]
    matrix = matrix[np.ix_(used, used)]
    if not used:
        return Sign.HOLDS
    values = np.linalg.eigvalsh(matrix.astype(float))
    top = float(np.abs(values).max())
    error = 16.0 * len(used) * _EPS * top
    near = sign_of(float(values[0]), max(top, scale))
    if abs(values[0]) > error or len(used) > LARGEST:
        return Sign.NEARLY if near is Sign.HOLDS and values[0] <= error else near
    rest: Any = matrix.tolist()
    while rest:
        bits = max(bits_of(a) for row in rest for a in row)
        spend(len(rest) ** 2 * fraction_seconds(bits, 2 * bits))
        pivot, *line = rest[0]
        if pivot < 0 or (pivot == 0 and any(entry != 0 for entry in line)):
            return Sign.NEARLY
        rest = [
            [entry - row[0] * other / pivot for entry, other in zip(row[1:], line, strict=True)]
            if pivot != 0
            else row[1:]
            for row in rest[1:]
        ]
    return Sign.HOLDS
