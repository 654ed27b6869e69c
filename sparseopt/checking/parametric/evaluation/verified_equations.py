r"""Solutions of linear equations that are enclosed, without exact arithmetic.

Rational numbers grow with every elimination. Where equations are not degenerate, a bound of the
distance to an exact solution proves that there is one. With B near a right inverse of E,

.. math:: \|I - E B\|_\infty \le \epsilon < 1 \quad\Rightarrow\quad
          E \bigl(x + B (E B)^{-1} r\bigr) = b \quad\text{for } r = b - E x,

so that some exact solution is within :math:`\sum_k |B_{ik}| \, \|r\|_\infty / (1 - \epsilon)` of
:math:`x_i`. Residuals have 106 bits, so that this is 1e-30 or so where epsilon is small.

References
----------
Rump (2010): Verification methods: rigorous results using floating-point arithmetic, section 10.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.maps import DenseMap, LinearMap, SparseMap, StackedMap
from sparseopt.proofs.double_double import EPSILON, DoubleDouble, product

_STEPS = 3
"""Corrections by the inverse: each leaves epsilon of the residual, down to the last bits."""
_REGULAR = 0.1
"""The largest epsilon: the matrix is far from a singular one."""
_AWAY = 1.0 + 1e-9
"""Bounds are moved outwards by this factor, which covers the rounding errors of their sums."""
ENTRIES = 10**6
"""Entries of equations whose solution is enclosed, at most."""
_PRODUCTS = 10**9
"""Multiplications that an inverse may take."""
_INVERSE, _EXACT = 8e-10, 1e-7
"""Seconds of these multiplications, and of a product of 106 bits."""


def entries_are_exact(A: LinearMap) -> bool:
    """Return whether :func:`~sparseopt.proofs.double_double.exact_block` has no rounding errors.

    Those of a Gram matrix are sums of products.

    Parameters
    ----------
    A : LinearMap
    """
    if isinstance(A, StackedMap):
        return all(map(entries_are_exact, A.parts))
    if isinstance(A, RepeatedMap):
        return entries_are_exact(A.part)
    if isinstance(A, KroneckerMap):
        return all(isinstance(part, DenseMap | SparseMap) for part in (A.left, A.right))
    return isinstance(A, DenseMap | SparseMap)


class Enclosure(NamedTuple):
    """Numbers, and how far those of an exact solution are from them at most.

    Attributes
    ----------
    x : DoubleDouble of shape (k,)
    radius : array of shape (k,)
    """

    x: DoubleDouble
    radius: Array

    @property
    def sharp(self) -> bool:
        """Whether an exact solution is off by no more than the rounding of each number."""
        return bool((self.radius <= float(np.finfo(float).eps) * np.abs(self.x.high)).all())


def enclose(
    equations: DoubleDouble,
    right: DoubleDouble,
    start: DoubleDouble,
    unknown: Array,
    spread: Array | float = 0.0,
) -> Enclosure | None:
    r"""Enclose a solution of E x = b near a start, some entries of which stay as they are.

    The step to it is short relative to the entries of the start.

    Parameters
    ----------
    equations : DoubleDouble of shape (q, k)
        E, whose entries are exact.
    right : DoubleDouble of shape (q,)
        b.
    start : DoubleDouble of shape (k,)
    unknown : int array of shape (u,)
        The entries that may change.
    spread : array of shape (q,), default 0
        How far the right side is from the one that is meant, at most, with what the entries that
        do not change are off by.

    Returns
    -------
    Enclosure or None
        None where the columns of these entries have no right inverse, or one that is too far from
        exact, or takes too long.
    """
    x, radius = start.copy(), np.zeros(len(start))
    q, u = len(equations), len(unknown)
    if q == 0:
        return Enclosure(x, radius)
    if q > u or q * q * u > _PRODUCTS:
        return None
    spend(_INVERSE * q * q * u + (_STEPS + 1) * _EXACT * q * len(start))
    unit = np.abs(start.high[unknown])
    unit = _power_of_two(np.where(unit > 0.0, unit, unit.max()))
    block = equations.high[:, unknown] * unit
    scale = _power_of_two(np.abs(block).max(axis=1))
    block /= scale[:, None]
    try:
        inverse = np.linalg.inv(block) if q == u else np.linalg.pinv(block)
    except np.linalg.LinAlgError:
        return None
    sizes = np.abs(inverse)
    defect = np.abs(np.eye(q) - block @ inverse)
    defect += (u + 4) * float(np.finfo(float).eps) * (np.abs(block) @ sizes)
    epsilon = float(defect.sum(axis=1).max())
    if not epsilon <= _REGULAR:
        return None
    for _ in range(_STEPS):
        rest, _ = residual(equations, right, x)
        x[unknown] = x[unknown] + unit * (inverse @ (rest.high / scale))
    rest, error = residual(equations, right, x)
    worst = float(((np.abs(rest.high) + error + spread) / scale).max()) / (1.0 - epsilon) * _AWAY
    radius[unknown] = unit * sizes.sum(axis=1) * worst * _AWAY
    return Enclosure(x, radius) if np.isfinite(radius).all() else None


def residual(
    equations: DoubleDouble, right: DoubleDouble, x: DoubleDouble
) -> tuple[DoubleDouble, Array]:
    """Return b - E x, and bounds of the errors of that.

    Parameters
    ----------
    equations : DoubleDouble of shape (q, k)
    right : DoubleDouble of shape (q,)
    x : DoubleDouble of shape (k,)

    Returns
    -------
    DoubleDouble of shape (q,), array of shape (q,)
    """
    rest = right - product(equations, DoubleDouble(x.high[None], x.low[None]))[0]
    terms = np.abs(equations.high) @ np.abs(x.high) + np.abs(right.high)
    # beside the sum, what is below the smallest normal numbers
    error = 4.0 * (len(x) + 8) * (EPSILON * terms + float(np.finfo(float).tiny))
    return rest, error


def _power_of_two(sizes: Array) -> Array:
    """Return powers of two near sizes, and 1 for 0."""
    return np.asarray(np.where(sizes > 0.0, np.exp2(np.frexp(sizes)[1]), 1.0))
