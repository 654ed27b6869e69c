"""Products with the matrix of a program: in single precision, with a bound of the error.

Most resting coordinates are far from their limits, and half the digits show that in half the time.
Those that come near are looked at again in double precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import singledispatch
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.kronecker import KroneckerMap, thin_product
from sparseopt.problems.parametric.maps import DenseMap, GramMap, LinearMap, SparseGramMap

from ...common.compiled import compiled
from ..program import ScaledProgram
from ..settings import (
    BLOCK_ENTRIES,
    FACTOR_HUGE,
    KEPT_ENTRIES,
    PIECE_ENTRIES,
    SINGLE_HUGE,
    SINGLE_UNIT,
)

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

__all__ = ["RoughProduct", "kept_product", "rough_product"]


class RoughProduct:
    """A product left' right whose left factor is kept in single precision: of a dense matrix.

    Parameters
    ----------
    left : single precision array of shape (k, length)
        The scaled matrix, by the coordinates that it is multiplied with.
    size : array of shape (length,)
        Norms of its columns before they were rounded.
    """

    by_names = True
    """Whether the rows of the kept matrix that are used depend on the names of the vectors."""

    in_pieces = True
    """Whether a piece of a product takes no more memory than itself."""

    def __init__(self, left: Array, size: Array) -> None:
        self.left, self.size = left, size

    def right(self, names: Array, v: Array) -> Array:
        """Return what the kept matrix is multiplied with for `v`, entries `names` of vectors."""
        return v

    def times(self, names: Array, right: Array, where: Array | None) -> tuple[Array, Array]:
        """Return the product with `right`, or its rows `where`, and the errors of its columns.

        Entry (i, s) is right up to ``size[i] * errors[s]``; errors are infinite where numbers do
        not fit into single precision.
        """
        parts = [(piece, errors) for _, piece, errors in self.pieces(names, right, where)]
        return np.concatenate([piece for piece, _ in parts]), parts[0][1]

    def pieces(
        self, names: Array, right: Array, where: Array | None
    ) -> Iterator[tuple[slice, Array, Array]]:
        """Yield :meth:`times` in pieces: which rows of it, those rows, and the errors."""
        rounded, errors = _single(right, self._terms(right) + 4)
        length = len(self.size) if where is None else len(where)
        multiply = self._by_part(names, rounded, where)
        rows = max(1, PIECE_ENTRIES // max(1, rounded.shape[1]))
        for begin in range(0, max(length, 1), rows):
            part = slice(begin, min(begin + rows, length))
            yield part, multiply(part), errors

    def _terms(self, right: Array) -> int:
        """Return how many terms an entry of the product is the sum of."""
        return len(right)

    def _by_part(
        self, names: Array, rounded: Array, where: Array | None
    ) -> Callable[[slice], Array]:
        """Return a function that returns some rows of the product."""
        left = self.left[names] if where is None else self.left[np.ix_(names, where)]
        return lambda part: np.asarray(left[:, part].T @ rounded)


class _GramProduct(RoughProduct):
    """Of a Gram matrix X'X: the data, times the data times the vectors.

    A large X is rounded again in each product, a block of columns at a time, and not kept twice.
    """

    by_names = False

    def __init__(self, A: GramMap, row: Array, weight: Array) -> None:
        X = A.X
        self.X, self.row, self.weight = X, row, weight
        self.kept = None
        # the factors, powers of two, are applied after rounding where nothing can underflow
        far = row.max(initial=1.0) > FACTOR_HUGE or row.min(initial=1.0) < 1.0 / FACTOR_HUGE
        if far or X.size <= KEPT_ENTRIES:
            self.kept, _, self.size = _rounded(X, np.ones(len(X)), row)
        else:
            self.size = np.abs(row) * A.norms * np.sqrt(A.divisor)

    def right(self, names: Array, v: Array) -> Array:
        return np.asarray(self.X[:, names] @ (self.weight[names, None] * v))

    def _by_part(
        self, names: Array, rounded: Array, where: Array | None
    ) -> Callable[[slice], Array]:
        if self.kept is not None:
            left = self.kept if where is None else self.kept[:, where]
            return lambda part: np.asarray(left[:, part].T @ rounded)
        factor = self.row.astype(np.float32)
        width = max(1, BLOCK_ENTRIES // len(self.X))

        def multiply(part: slice) -> Array:
            out = np.empty((part.stop - part.start, rounded.shape[1]), np.float32)
            for begin in range(0, len(out), width):
                piece = out[begin : begin + width]
                block = slice(part.start + begin, part.start + begin + len(piece))
                at = block if where is None else where[block]
                np.matmul(self.X[:, at].astype(np.float32).T, rounded, out=piece)
                piece *= factor[at][:, None]
            return out

        return multiply


class _SparseGramProduct(RoughProduct):
    """Of the Gram matrix of sparse data less their means: by its columns, in single precision."""

    by_names = False

    def __init__(self, A: SparseGramMap, row: Array, weight: Array) -> None:
        self.A, self.row, self.weight = A, row, weight
        X = A.by_column
        values = X.data * np.repeat(row, np.diff(X.indptr))
        # those of the data: what a mean takes away from them is rounded, too
        self.size = row * A.data_norms * np.sqrt(A.divisor)
        self.kept = sp.csr_array(
            (values.astype(np.float32), X.indices, X.indptr), shape=X.shape[::-1]
        )

    def right(self, names: Array, v: Array) -> Array:
        return self.A.forward(names, self.weight[names, None] * v)

    def _terms(self, right: Array) -> int:
        return 2 * self.A.inner

    def _by_part(
        self, names: Array, rounded: Array, where: Array | None
    ) -> Callable[[slice], Array]:
        left = self.kept if where is None else self.kept[where]
        if self.A.shift is None:
            return lambda part: np.asarray(left[part] @ rounded)
        u, c = self.A.shift
        mean = self.row * c if where is None else (self.row * c)[where]
        mean, total = mean.astype(np.float32), (u @ rounded).astype(np.float32)

        def multiply(part: slice) -> Array:
            out = np.asarray(left[part] @ rounded)
            out -= np.multiply.outer(mean[part], total)
            return out

        return multiply


class _KroneckerProduct(RoughProduct):
    """Of a Kronecker product: by its two factors, scaled and in single precision."""

    in_pieces = False

    def __init__(self, left: Array, right: Array) -> None:
        """Take the factors of the matrix that vectors are multiplied with."""
        self.size = np.kron(*(np.sqrt(np.einsum("ij,ij->i", part, part)) for part in (left, right)))
        self.factors = left.astype(np.float32), right.astype(np.float32)

    def _by_part(
        self, names: Array, rounded: Array, where: Array | None
    ) -> Callable[[slice], Array]:
        if where is None:
            whole = thin_product(*self.factors, names, rounded)
            return lambda part: whole[part]
        (outer, inner), (_, p1) = self.factors, self.factors[1].shape
        i2, i1 = np.divmod(where, len(inner))
        j2, j1 = np.divmod(names, p1)
        outer, inner = outer.take(j2, axis=1), inner.take(j1, axis=1)

        def multiply(part: slice) -> Array:
            left = outer.take(i2[part], axis=0)
            left *= inner.take(i1[part], axis=0)
            return np.asarray(left @ rounded)

        return multiply


def _single(vectors: Array, terms: int) -> tuple[Array, Array]:
    """Return vectors in single precision, and the errors of products of so many terms with them.

    The errors are relative to the norms of what they are multiplied with; where numbers do not fit
    they are infinite, and the vectors zero.
    """
    errors = terms * SINGLE_UNIT * np.sqrt(np.einsum("rs,rs->s", vectors, vectors))
    fits = errors < SINGLE_HUGE
    return np.where(fits, vectors, 0.0).astype(np.float32), np.where(fits, errors, np.inf)


@singledispatch
def rough_product(A: LinearMap, program: ScaledProgram, primal: bool) -> RoughProduct | None:
    """Return the product with a map (`primal`) or its transpose, scaled as in the program.

    None for a map whose products are not those of dense matrices.

    Parameters
    ----------
    A : LinearMap
        The unscaled matrix, m x p.
    program : ScaledProgram
        Its row and column factors are applied.
    primal : bool
        Whether the product is with the map, else with its transpose.

    Returns
    -------
    RoughProduct or None
    """
    return None


def kept_product(program: ScaledProgram, primal: bool) -> RoughProduct | None:
    """Return the same for a program's own matrix, which keeps it from its first use on."""
    side = primal or program.A.symmetric
    if side not in program.products:
        program.products[side] = rough_product(program.A, program, side)
    product: RoughProduct | None = program.products[side]
    return product


@rough_product.register
def _(A: DenseMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    left, by_row, by_column = _rounded(A.matrix, program.row, program.column)
    return RoughProduct(left.T, by_row) if primal else RoughProduct(left, by_column)


@rough_product.register
def _(A: KroneckerMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    (m2, p2), (m1, p1) = A.left.shape, A.right.shape
    # the factors of rows and columns are Kronecker products themselves, of powers of two
    row, column = program.row.reshape(m2, m1), program.column.reshape(p2, p1)
    left = row[:, :1] * A.left.matrix * column[:, 0]
    right = (row[0] / row[0, 0])[:, None] * A.right.matrix * (column[0] / column[0, 0])
    return _KroneckerProduct(left, right) if primal else _KroneckerProduct(left.T, right.T)


@rough_product.register
def _(A: GramMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    return _GramProduct(A, program.row, program.column / A.divisor)


@rough_product.register
def _(A: SparseGramMap, program: ScaledProgram, primal: bool) -> RoughProduct:
    return _SparseGramProduct(A, program.row, program.column / A.divisor)


@compiled
def _rounded(matrix: Array, row: Array, column: Array) -> tuple[Array, Array, Array]:
    """Return a matrix scaled and in single precision, and the norms of its rows and columns."""
    m, n = matrix.shape
    left = np.empty((m, n), dtype=np.float32)
    by_row, by_column = np.zeros(m), np.zeros(n)
    for i in range(m):
        total = 0.0
        for j in range(n):
            value = row[i] * matrix[i, j] * column[j]
            left[i, j] = value
            total += value * value
            by_column[j] += value * value
        by_row[i] = total
    return left, np.sqrt(by_row), np.sqrt(by_column)
