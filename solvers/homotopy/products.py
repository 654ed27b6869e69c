"""Products with the matrix of a program: in single precision, with a bound of the error.

Most resting coordinates are far from their limits, and half the digits show that in half the time.
Those that come near are looked at again in double precision.
"""

from __future__ import annotations

from functools import singledispatch

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.maps import DenseMap, GramMap, LinearMap
from sparseopt.solvers.homotopy.program import ScaledProgram

__all__ = ["RoughProduct", "rough_product"]

_UNIT = 2.0**-24
_HUGE = 1e30


class RoughProduct:
    """A product left' right whose left factor is kept in single precision: of a dense matrix.

    Parameters
    ----------
    left : array of shape (k, length)
        The scaled matrix, by the coordinates that it is multiplied with.
    """

    def __init__(self, left: Array) -> None:
        self.left = left.astype(np.float32)
        self.size = np.sqrt(np.einsum("rs,rs->s", left, left))

    def right(self, names: Array, v: Array) -> Array:
        """Return what the kept matrix is multiplied with for `v`, entries `names` of vectors."""
        return v

    def times(self, names: Array, right: Array, where: Array | None) -> tuple[Array, Array]:
        """Return the product with `right`, or its rows `where`, and the errors of its columns.

        Entry (i, s) is right up to ``size[i] * errors[s]``; errors are infinite where numbers do
        not fit into single precision.
        """
        errors = (len(right) + 3) * _UNIT * np.sqrt(np.einsum("rs,rs->s", right, right))
        fits = errors < _HUGE
        rounded = np.where(fits, right, 0.0).astype(np.float32)
        return self._left(names, where).T @ rounded, np.where(fits, errors, np.inf)

    def _left(self, names: Array, where: Array | None) -> Array:
        return self.left[names] if where is None else self.left[np.ix_(names, where)]


class _GramProduct(RoughProduct):
    """Of a Gram matrix X'X: the data, times the data times the vectors."""

    def __init__(self, X: Array, row: Array, weight: Array) -> None:
        super().__init__(X * row)
        self.X, self.weight = X, weight

    def right(self, names: Array, v: Array) -> Array:
        return np.asarray(self.X[:, names] @ (self.weight[names, None] * v))

    def _left(self, names: Array, where: Array | None) -> Array:
        return self.left if where is None else self.left[:, where]


@singledispatch
def rough_product(A: LinearMap, program: ScaledProgram, primal: bool) -> RoughProduct | None:
    """Return the product with a map (`primal`) or its transpose, scaled as in the program.

    None for a map whose products are not those of dense matrices.
    """
    return None


@rough_product.register
def _(A: DenseMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    scaled = program.row[:, None] * A.matrix * program.column
    return RoughProduct(scaled.T if primal else scaled)


@rough_product.register
def _(A: GramMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    return _GramProduct(A.X, program.row, program.column / A.divisor)
