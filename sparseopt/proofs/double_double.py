r"""Arrays of unevaluated sums of two doubles: 106 bits, a relative rounding error of 2e-32.

For systems whose condition number is beyond double precision. Shared are the arithmetic,
:class:`System` and :func:`exact_block` by

- the engine ``homotopy``, which walks paths of ill-conditioned data in it;
- the checker (:mod:`sparseopt.checking.parametric.bases.precise`), which solves such kernels in it,
  and takes values whose terms cancel (:mod:`sparseopt.checking.cancelling`).

The basis, the order of the equations and every decision stay with either of them.

References
----------
Dekker (1971): A floating-point technique for extending the available precision; Hida, Li, Bailey
(2001): Algorithms for quad-double precision floating point arithmetic; Higham (2002): Accuracy and
stability of numerical algorithms, chapter 12 (iterative refinement).
"""

from __future__ import annotations

from functools import cached_property
from math import ldexp
from typing import Any

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.maps import GramMap, LinearMap, StackedMap
from sparseopt.problems.whole_numbers import whole_numbers
from sparseopt.proofs.double_double_loops import add_product, reduce_rows

EPSILON = 2.0**-104
"""Relative rounding error of one operation, at most."""

_SPLIT = 2.0**27 + 1.0

_REFINED = 1e9
"""Growth of rounding errors by an inverse from which on solutions are refined."""
_LAST_DIGITS = 64.0 * EPSILON
"""Correction of a solution, relative to its largest entry, that ends its refinement."""
_STEPS = 6
"""Corrections after which a system that has not ended so is singular in 106 bits."""


class Singular(ArithmeticError):
    """A matrix has a zero pivot, or is too near one that is singular."""


class DoubleDouble:
    """An array of numbers high + low, abs(low) up to half a unit in the last place of high.

    Indexing, broadcasting and the four operations are those of NumPy. Entries are to stay below
    1e290 in absolute value.

    Examples
    --------
    >>> third = DoubleDouble(1.0) / 3.0
    >>> float((third * 3.0 - 1.0).high)
    0.0
    """

    __array_priority__ = 100.0
    __slots__ = ("high", "low")

    def __init__(self, high: Any, low: Any = None) -> None:
        self.high = np.asarray(high, dtype=np.float64)
        self.low = np.zeros_like(self.high) if low is None else np.asarray(low)

    @property
    def shape(self) -> tuple[int, ...]:
        """That of the array."""
        return self.high.shape

    @property
    def T(self) -> DoubleDouble:  # noqa: N802 (as in NumPy)
        """The transpose."""
        return DoubleDouble(self.high.T, self.low.T)

    def __len__(self) -> int:
        return len(self.high)

    def __getitem__(self, where: Any) -> DoubleDouble:
        return DoubleDouble(self.high[where], self.low[where])

    def __setitem__(self, where: Any, value: DoubleDouble | Array | float) -> None:
        other = _lifted(value)
        self.high[where], self.low[where] = other.high, other.low

    def copy(self) -> DoubleDouble:
        """Return the numbers in arrays of their own."""
        return DoubleDouble(self.high.copy(), self.low.copy())

    def __neg__(self) -> DoubleDouble:
        return DoubleDouble(-self.high, -self.low)

    def __add__(self, other: DoubleDouble | Array | float) -> DoubleDouble:
        if not isinstance(other, DoubleDouble):
            high, error = _two_sum(self.high, np.asarray(other, dtype=np.float64))
            return DoubleDouble(*_quick_two_sum(high, error + self.low))
        high, error = _two_sum(self.high, other.high)
        low, rest = _two_sum(self.low, other.low)
        high, error = _quick_two_sum(high, error + low)
        return DoubleDouble(*_quick_two_sum(high, error + rest))

    def __sub__(self, other: DoubleDouble | Array | float) -> DoubleDouble:
        if isinstance(other, DoubleDouble):
            return self + (-other)
        return self + -np.asarray(other, dtype=np.float64)

    def __rsub__(self, other: Array | float) -> DoubleDouble:
        return _lifted(other) - self

    def __mul__(self, other: DoubleDouble | Array | float) -> DoubleDouble:
        if not isinstance(other, DoubleDouble):
            plain = np.asarray(other, dtype=np.float64)
            high, error = _two_product(self.high, plain)
            return DoubleDouble(*_quick_two_sum(high, error + self.low * plain))
        high, error = _two_product(self.high, other.high)
        error = error + (self.high * other.low + self.low * other.high)
        return DoubleDouble(*_quick_two_sum(high, error))

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: DoubleDouble | Array | float) -> DoubleDouble:
        right = _lifted(other)
        first = self.high / right.high
        rest = self - right * first
        second = rest.high / right.high
        third = (rest - right * second).high / right.high
        return DoubleDouble(*_quick_two_sum(first, second)) + third

    def sum(self) -> DoubleDouble:
        """Return the sum over the first axis, added up in pairs."""
        terms = self
        if len(terms) == 0:
            return DoubleDouble(np.zeros(self.shape[1:]))
        while len(terms) > 1:
            half = len(terms) // 2
            pairs = terms[:half] + terms[half : 2 * half]
            if len(terms) % 2:
                pairs[:1] = pairs[:1] + terms[-1:]
            terms = pairs
        return terms[0]

    def __matmul__(self, other: DoubleDouble) -> DoubleDouble:
        """Return the product of an (m, k) matrix with a (k, q) one."""
        result = DoubleDouble(np.zeros((len(self), other.shape[1])))
        parts = (self.high, self.low, other.high, other.low)
        add_product(*map(np.ascontiguousarray, parts), result.high, result.low)
        return result

    def inverse(self) -> DoubleDouble:
        """Return the inverse of a square matrix, by Gauss and Jordan with row pivots.

        Raises
        ------
        Singular
        """
        k = len(self)
        high = np.concatenate([self.high, np.eye(k)], axis=1)
        low = np.concatenate([self.low, np.zeros((k, k))], axis=1)
        at = reduce_rows(high, low)
        if at >= 0:
            raise Singular(f"column {at} has no pivot")
        return DoubleDouble(high[:, k:], low[:, k:])


@add_product.in_numpy
def _add_product(
    a_high: Array, a_low: Array, b_high: Array, b_low: Array, high: Array, low: Array
) -> None:
    """Do it with all products at once, added up in pairs."""
    left, right = DoubleDouble(a_high, a_low), DoubleDouble(b_high, b_low)
    total = DoubleDouble(high, low) + (left.T[:, :, None] * right[:, None, :]).sum()
    high[...], low[...] = total.high, total.low


@reduce_rows.in_numpy
def _reduce_rows(high: Array, low: Array) -> int:
    """Do it with all rows at once."""
    rows = DoubleDouble(high, low)
    for c in range(len(rows)):
        r = c + int(np.argmax(np.abs(rows.high[c:, c])))
        if rows.high[r, c] == 0.0 or not np.isfinite(rows.high[r, c]):
            return c
        if r != c:
            rows[[c, r]] = rows[[r, c]]
        pivot_row = rows[c] / rows[c, c]
        factor = rows[:, c].copy()
        factor[c] = 0.0
        rows = rows - factor[:, None] * pivot_row[None, :]
        rows[c] = pivot_row
    high[...], low[...] = rows.high, rows.low
    return -1


class System:
    """A square system whose solutions have 106 bits, up to condition numbers of 1e25 or so.

    The inverse loses as many digits as the condition number has; above :data:`_REFINED` solutions
    are corrected by it, with residuals in integers, until the last digits stand.

    Parameters
    ----------
    matrix : DoubleDouble of shape (k, k)
        With entries near one, or scaled so.

    Raises
    ------
    Singular
    """

    def __init__(self, matrix: DoubleDouble) -> None:
        self.matrix, self.inverse = matrix, matrix.inverse()
        growth = np.abs(self.inverse.high) @ np.abs(matrix.high)
        self.growth = float(growth.max(initial=1.0))
        if not np.isfinite(self.growth):
            raise Singular("the inverse is not finite")

    @cached_property
    def _integers(self) -> tuple[Array, int]:
        return _integers(self.matrix)

    def solve(self, right: DoubleDouble, *, transposed: bool = False) -> DoubleDouble:
        """Return x with B x = b for each row b of `right`, shapes (q, k); or with B' x = b.

        Parameters
        ----------
        right : DoubleDouble of shape (q, k)
        transposed : bool, default False

        Returns
        -------
        DoubleDouble of shape (q, k)

        Raises
        ------
        Singular
        """
        inverse = self.inverse.T if transposed else self.inverse
        x = product(inverse, right)
        if self.growth <= _REFINED:
            return x
        (matrix, unit), (b, unit_b) = self._integers, _integers(right)
        if not transposed:
            matrix = matrix.T
        for _ in range(_STEPS):
            entries, unit_x = _integers(x)
            low = min(unit_b, unit + unit_x)
            rest = (b << (unit_b - low)) - (entries.dot(matrix) << (unit + unit_x - low))
            change = product(inverse, DoubleDouble(_rounded(rest, low)))
            x = x + change
            sizes = np.abs(x.high).max(axis=1, initial=0.0)
            if (np.abs(change.high).max(axis=1, initial=0.0) <= _LAST_DIGITS * sizes).all():
                return x
        raise Singular("is singular in 106 bits")


def product(matrix: DoubleDouble, vectors: DoubleDouble) -> DoubleDouble:
    """Return the product with each row of `vectors`, shapes (m, k) and (q, k) to (q, m).

    Parameters
    ----------
    matrix : DoubleDouble of shape (m, k)
    vectors : DoubleDouble of shape (q, k)

    Returns
    -------
    DoubleDouble of shape (q, m)
    """
    moved = np.flatnonzero(vectors.high.any(axis=0))
    if len(moved) == 0:
        return DoubleDouble(np.zeros((len(vectors), len(matrix))))
    return vectors[:, moved] @ matrix[:, moved].T


def _integers(numbers: DoubleDouble) -> tuple[Array, int]:
    """Return integers (as Python's) and the power of two that they are multiples of."""
    (high, low), power = whole_numbers(np.stack([numbers.high, numbers.low]))
    return high + low, power


def _rounded(whole: Array, power: int) -> Array:
    """Return integers times a power of two in double precision."""
    flat = []
    for entry in whole.ravel().tolist():
        extra = max(entry.bit_length() - 60, 0)
        flat.append(ldexp(float(entry >> extra), extra + power))
    return np.array(flat).reshape(whole.shape)


def _lifted(value: DoubleDouble | Array | float) -> DoubleDouble:
    return value if isinstance(value, DoubleDouble) else DoubleDouble(value)


def _two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the sum and its rounding error (Knuth)."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def _quick_two_sum(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the same where abs(a) >= abs(b) (Dekker)."""
    total = a + b
    return total, b - (total - a)


def _two_product(a: Array, b: Array) -> tuple[Array, Array]:
    """Return the product and its rounding error (Dekker, Veltkamp)."""
    product = a * b
    a_high, a_low = _halves(a)
    b_high, b_low = _halves(b)
    error = ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low
    return product, error


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high


def exact_block(A: LinearMap, rows: Array, columns: Array) -> DoubleDouble:
    """Return A[rows, columns] without the rounding errors of double precision.

    The entries of a Gram matrix or of a Kronecker product are sums and products of the data, which
    ``A.block`` rounds; here they keep 106 bits.

    Parameters
    ----------
    A : LinearMap
    rows, columns : int arrays

    Returns
    -------
    DoubleDouble of shape (len(rows), len(columns))
    """
    if isinstance(A, GramMap):
        left, right = A.samples(rows), A.samples(columns)
        both = left.any(axis=1) & right.any(axis=1)
        return DoubleDouble(left[both]).T @ DoubleDouble(right[both]) / A.divisor
    if isinstance(A, KroneckerMap):
        i2, i1 = np.divmod(rows, A.right.shape[0])
        j2, j1 = np.divmod(columns, A.right.shape[1])
        return DoubleDouble(A.right.block(i1, j1)) * DoubleDouble(A.left.block(i2, j2))
    if isinstance(A, RepeatedMap):
        i_block, i = np.divmod(rows, A.part.shape[0])
        j_block, j = np.divmod(columns, A.part.shape[1])
        return exact_block(A.part, i, j) * np.equal.outer(i_block, j_block).astype(np.float64)
    if isinstance(A, StackedMap):
        block = DoubleDouble(np.zeros((len(rows), len(columns))))
        for part, low, high in zip(A.parts, A.offsets[:-1], A.offsets[1:], strict=True):
            inside = np.flatnonzero((rows >= low) & (rows < high))
            block[inside] = exact_block(part, rows[inside] - low, columns)
        return block
    return DoubleDouble(A.block(rows, columns))
