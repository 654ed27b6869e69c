"""Linear maps: the matrix A of a problem, known by its products and not by its entries.

A model's matrix is often structured (the Gram matrix of a data matrix, a Kronecker product) and
far too large to form. Engines and checkers use only the products below, so each structure
is written once.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array, is_sparse

_BLOCK = 100_000
"""Entries of a matrix whose absolute values are taken at once, so that they stay in the cache."""
_GATHERED = 4_000_000
"""Entries of rows that are copied together: 32 MB."""
_ROUNDS, _NEAR = 14, 2.0**8
"""Rounds of scaling at most, and the change below which two are enough: each halves exponents."""

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


class LinearMap(ABC):
    """A real m x p matrix A given by its products.

    Index arguments are integer arrays; every result is a dense float64 array.
    """

    shape: tuple[int, int]
    symmetric: bool = False
    inner: int = 0
    """Terms that an entry of A is itself the sum of: n for a Gram matrix."""
    copies: int = 1
    """Equal blocks along the diagonal that A falls apart into, where it is made of such."""

    @abstractmethod
    def matvec(self, v: Array) -> Array:
        """Return A v; `v` has shape (p,) or (p, q)."""

    @abstractmethod
    def rmatvec(self, u: Array) -> Array:
        """Return A' u; `u` has shape (m,) or (m, q)."""

    @abstractmethod
    def abs_matvec(self, v: Array) -> Array:
        """Return an upper bound of abs(A) v for v >= 0: the scale of rounding errors in A v."""

    @abstractmethod
    def abs_rmatvec(self, u: Array) -> Array:
        """Return an upper bound of abs(A)' u for u >= 0."""

    def quick_factors(self, rows: Array, u: Array) -> tuple[Array, Array]:
        """Return factors of upper bounds of abs(A[rows])' u, `u` >= 0 of shape (q, k), in O(q k).

        Returns
        -------
        alpha, beta : arrays of shapes (q, r) and (r, p)
            The bounds are ``alpha @ beta``; r is small.
        """
        return u.max(axis=1, initial=0.0)[:, None], self._column_sums[None]

    def quick_abs_rmatvec(self, u: Array) -> Array:
        """Return upper bounds of abs(A)' u for the rows of `u` >= 0, shape (q, m), in O(q (m + p)).

        Returns
        -------
        array of shape (q, p)
        """
        alpha, beta = self.quick_factors(np.arange(self.shape[0]), u)
        return np.asarray(alpha @ beta)

    @cached_property
    def _column_sums(self) -> Array:
        return self.abs_rmatvec(np.ones(self.shape[0]))

    @abstractmethod
    def block(self, rows: Array, columns: Array) -> Array:
        """Return the dense submatrix A[rows, columns], an array of its own."""

    @abstractmethod
    def times(self, columns: Array, v: Array) -> Array:
        """Return A[:, columns] v, of shape (m,) or (m, q)."""

    @abstractmethod
    def transpose_times(self, rows: Array, u: Array) -> Array:
        """Return A[rows, :]' u, of shape (p,) or (p, q)."""

    def rows_times(self, columns: Array, v: Array) -> Array:
        """Return A[:, columns] v for each row v of a (q, k) array, shape (q, m)."""
        return np.asarray(self.times(columns, v.T).T)

    def rows_transpose_times(self, rows: Array, u: Array) -> Array:
        """Return A[rows, :]' u for each row u of a (q, k) array, shape (q, p)."""
        return np.asarray(self.transpose_times(rows, u.T).T)

    def rows_times_by_part(self, columns: Array, v: Array) -> Callable[[slice], Array]:
        """Return a function that returns some columns of :meth:`rows_times`, shape (q, w)."""
        product = self.rows_times(columns, v)
        return lambda part: product[:, part]

    def rows_transpose_times_by_part(self, rows: Array, u: Array) -> Callable[[slice], Array]:
        """Return a function that returns some columns of :meth:`rows_transpose_times`."""
        product = self.rows_transpose_times(rows, u)
        return lambda part: product[:, part]

    @abstractmethod
    def scales(self) -> tuple[Array, Array]:
        """Return (row, column) factors, powers of two, with diag(row) A diag(column) near one.

        Zero rows and columns get the factor 1.
        """

    @abstractmethod
    def as_array(self) -> Array | sp.csr_array:
        """Return the entries, dense or as CSR: for conversions and small tests only."""


class DenseMap(LinearMap):
    """A dense matrix."""

    def __init__(self, matrix: Array) -> None:
        self.matrix = matrix
        self.shape = (matrix.shape[0], matrix.shape[1])

    def matvec(self, v: Array) -> Array:
        return self.matrix @ v

    def rmatvec(self, u: Array) -> Array:
        return self.matrix.T @ u

    def abs_matvec(self, v: Array) -> Array:
        if self.shape[0] >= self.shape[1]:
            return np.concatenate([np.abs(part) @ v for _, part in self._rows()])
        return np.asarray(sum(np.abs(part) @ v[here] for here, part in self._columns()))

    def abs_rmatvec(self, u: Array) -> Array:
        if self.shape[0] < self.shape[1]:
            return np.concatenate([np.abs(part).T @ u for _, part in self._columns()])
        return np.asarray(sum(np.abs(part).T @ u[here] for here, part in self._rows()))

    def _rows(self) -> Iterator[tuple[slice, Array]]:
        """Yield a few rows at a time: what is computed of them stays in a processor's cache."""
        step = max(1, _BLOCK // max(1, self.shape[1]))
        for begin in range(0, max(1, self.shape[0]), step):
            here = slice(begin, begin + step)
            yield here, self.matrix[here]

    def _columns(self) -> Iterator[tuple[slice, Array]]:
        """Yield a few columns at a time."""
        step = max(1, _BLOCK // max(1, self.shape[0]))
        for begin in range(0, max(1, self.shape[1]), step):
            here = slice(begin, begin + step)
            yield here, self.matrix[:, here]

    def block(self, rows: Array, columns: Array) -> Array:
        if len(rows) >= self.shape[0]:
            # they repeat, as those of a Kronecker product's factor do: whole rows are copied
            return np.asarray(self.matrix.take(columns, axis=1).take(rows, axis=0))
        if 8 * len(columns) < self.shape[1]:
            return np.asarray(self.matrix[np.ix_(rows, columns)])
        return np.asarray(self.matrix[rows].take(columns, axis=1))

    def times(self, columns: Array, v: Array) -> Array:
        return self.matrix[:, columns] @ v

    def transpose_times(self, rows: Array, u: Array) -> Array:
        return self.matrix[rows].T @ u

    def rows_transpose_times_by_part(self, rows: Array, u: Array) -> Callable[[slice], Array]:
        return lambda part: np.asarray(u @ self.matrix[:, part][rows])

    def scales(self) -> tuple[Array, Array]:
        return _equilibrate(
            lambda v: self._largest(1, v), lambda u: self._largest(0, u), self.shape
        )

    def _largest(self, axis: int, weight: Array) -> Array:
        if axis == 1:
            return np.concatenate([(np.abs(part) * weight).max(axis=1) for _, part in self._rows()])
        largest = np.zeros(self.shape[1])
        for here, part in self._rows():
            np.maximum(largest, (np.abs(part) * weight[here, None]).max(axis=0), out=largest)
        return largest

    def as_array(self) -> Array:
        return self.matrix


class SymmetricMap(DenseMap):
    """A dense symmetric matrix, read by contiguous rows and scaled alike on both sides."""

    symmetric = True

    def matvec(self, v: Array) -> Array:
        used = _few_nonzero_rows(v)
        if used is not None:
            return self.times(used, v[used])
        return self._sparse_times(v, np.asarray) if _few_nonzeros(v) else super().matvec(v)

    def rmatvec(self, u: Array) -> Array:
        return self.matvec(u)

    def abs_matvec(self, v: Array) -> Array:
        used = _few_nonzero_rows(v)
        if used is not None:
            return np.asarray(np.abs(self.matrix[used]).T @ v[used])
        return self._sparse_times(v, np.abs) if _few_nonzeros(v) else super().abs_matvec(v)

    def _sparse_times(self, v: Array, entries: Callable[[Array], Array]) -> Array:
        """Multiply entries of the matrix with columns that have few nonzeros each, (d, k)."""
        used = np.flatnonzero(v.any(axis=1))
        few, out = sp.csr_array(v[used]), np.zeros((v.shape[1], self.shape[1]))
        step = max(1, _GATHERED // self.shape[1])
        for begin in range(0, len(used), step):
            here = slice(begin, begin + step)
            out += few[here].T @ entries(self.matrix[used[here]])
        return out.T

    def abs_rmatvec(self, u: Array) -> Array:
        return self.abs_matvec(u)

    def times(self, columns: Array, v: Array) -> Array:
        return self.matrix[columns].T @ v

    def rows_times_by_part(self, columns: Array, v: Array) -> Callable[[slice], Array]:
        return self.rows_transpose_times_by_part(columns, v)

    def scales(self) -> tuple[Array, Array]:
        factor = self._factor.copy()
        return factor, factor

    @cached_property
    def _factor(self) -> Array:
        factor = np.ones(self.shape[0])
        for done in range(_ROUNDS):
            change = _power_of_two(np.sqrt(factor * self._largest(1, factor)))
            factor = factor * change
            if done and _is_near_one(change):
                break
        return factor


class SparseMap(LinearMap):
    """A scipy.sparse matrix, kept by rows and by columns."""

    def __init__(self, matrix: Any) -> None:
        self.by_row = sp.csr_array(matrix)
        if not self.by_row.has_canonical_format:
            self.by_row = self.by_row.copy()
            self.by_row.sum_duplicates()
        self.by_column = sp.csc_array(matrix)
        self.shape = (self.by_row.shape[0], self.by_row.shape[1])

    def matvec(self, v: Array) -> Array:
        return np.asarray(self.by_row @ v)

    def rmatvec(self, u: Array) -> Array:
        return np.asarray(self.by_column.T @ u)

    def abs_matvec(self, v: Array) -> Array:
        return np.asarray(_absolute(self.by_row) @ v)

    def abs_rmatvec(self, u: Array) -> Array:
        return np.asarray(_absolute(self.by_column).T @ u)

    def block(self, rows: Array, columns: Array) -> Array:
        if len(rows) == 0 or len(columns) == 0:
            return np.zeros((len(rows), len(columns)))
        return np.asarray(self.by_row[rows][:, columns].toarray())

    def times(self, columns: Array, v: Array) -> Array:
        return np.asarray(self.by_column[:, columns] @ v)

    def transpose_times(self, rows: Array, u: Array) -> Array:
        return np.asarray(self.by_row[rows].T @ u)

    def rows_times_by_part(self, columns: Array, v: Array) -> Callable[[slice], Array]:
        right = np.ascontiguousarray(v.T)
        return lambda part: np.asarray((self.by_row[part][:, columns] @ right).T)

    def rows_transpose_times_by_part(self, rows: Array, u: Array) -> Callable[[slice], Array]:
        right = np.zeros((self.shape[0], len(u)))
        right[rows] = u.T
        return lambda part: np.asarray((self.by_column[:, part].T @ right).T)

    def scales(self) -> tuple[Array, Array]:
        return _equilibrate(
            lambda v: (abs(self.by_row) * v).max(axis=1).toarray().ravel(),
            lambda u: (abs(self.by_column) * u[:, None]).max(axis=0).toarray().ravel(),
            self.shape,
        )

    def as_array(self) -> sp.csr_array:
        return self.by_row


class GramMap(LinearMap):
    """The Gram matrix X'X / divisor of an n x d matrix, never formed.

    A product costs O(n d) instead of O(d^2).

    Parameters
    ----------
    X : array of shape (n, d)
    divisor : float, default 1
    """

    symmetric = True

    def __init__(self, X: Array, divisor: float = 1.0) -> None:
        self.X = X
        self.divisor = divisor
        self.shape = (X.shape[1], X.shape[1])
        self.inner = X.shape[0]

    def matvec(self, v: Array) -> Array:
        return np.asarray(self.X.T @ (self.X @ v) / self.divisor)

    def rmatvec(self, u: Array) -> Array:
        return self.matvec(u)

    def abs_matvec(self, v: Array) -> Array:
        used = np.asarray(v.reshape(len(v), -1).any(axis=1))
        inner = np.zeros((len(self.X), *v.shape[1:]))
        for at in self._blocks():
            if used[at].any():
                inner += np.abs(self.X[:, at]) @ v[at]
        outer = [np.abs(self.X[:, at]).T @ inner for at in self._blocks()]
        return np.concatenate(outer) / self.divisor

    def _blocks(self) -> list[slice]:
        """Columns whose absolute values fit into a processor's cache."""
        width = max(1, _BLOCK // len(self.X))
        return [slice(at, at + width) for at in range(0, self.X.shape[1], width)]

    def abs_rmatvec(self, u: Array) -> Array:
        return self.abs_matvec(u)

    def quick_factors(self, rows: Array, u: Array) -> tuple[Array, Array]:
        # |x_i|'|x_j| <= |x_i| |x_j| by Cauchy-Schwarz
        return (u @ self.norms[rows])[:, None], self.norms[None]

    @cached_property
    def norms(self) -> Array:
        """Euclidean norms of the columns of X, divided by the root of the divisor."""
        return np.asarray(np.sqrt(np.einsum("ij,ij->j", self.X, self.X) / self.divisor))

    def block(self, rows: Array, columns: Array) -> Array:
        block = np.asarray(self.X[:, rows].T @ self.X[:, columns])
        block /= self.divisor
        return block

    def times(self, columns: Array, v: Array) -> Array:
        product = np.asarray(self.X.T @ (self.X[:, columns] @ v))
        product /= self.divisor
        return product

    def transpose_times(self, rows: Array, u: Array) -> Array:
        return self.times(rows, u)

    def rows_times(self, columns: Array, v: Array) -> Array:
        product = np.asarray((v @ self.X[:, columns].T) @ self.X)
        product /= self.divisor
        return product

    def rows_transpose_times(self, rows: Array, u: Array) -> Array:
        return self.rows_times(rows, u)

    def rows_times_by_part(self, columns: Array, v: Array) -> Callable[[slice], Array]:
        inner = v @ self.X[:, columns].T / self.divisor
        return lambda part: np.asarray(inner @ self.X[:, part])

    def rows_transpose_times_by_part(self, rows: Array, u: Array) -> Callable[[slice], Array]:
        return self.rows_times_by_part(rows, u)

    def scales(self) -> tuple[Array, Array]:
        factor = _power_of_two(self.norms)
        return factor, factor

    def samples(self, columns: Array) -> Array:
        """Return columns of X as a dense array, of shape (n, k)."""
        return np.asarray(self.X[:, columns])

    @property
    def entries(self) -> int:
        """Entries of :meth:`factor`."""
        return int(self.X.size)

    def factor(self) -> Array | sp.csr_array:
        """Return all of X, dense or as CSR: for conversions."""
        return self.X

    def as_array(self) -> Array | sp.csr_array:
        return self.X.T @ self.X / self.divisor


class SparseGramMap(GramMap):
    """The Gram matrix Z'Z / divisor of a sparse matrix less one of rank one, Z = X - u c'.

    Neither Z'Z nor a dense Z is formed. A product costs O(nnz), and a block that of its columns.

    Parameters
    ----------
    X : csr_array of shape (n, d)
        In canonical form.
    divisor : float, default 1
    shift : (u, c), optional
        Arrays of shapes (n,) and (d,), u >= 0, with X'u = c u'u: each column less its mean where u
        is 1.
    """

    def __init__(
        self, X: sp.csr_array, divisor: float = 1.0, shift: tuple[Array, Array] | None = None
    ) -> None:
        self.by_row, self.by_column = X, sp.csc_array(X)
        self.divisor = divisor
        self.shift = shift
        n, d = X.shape
        self.shape = (d, d)
        # an entry's rounding errors are those of the longest column
        longest = int(np.diff(self.by_column.indptr).max(initial=0))
        self.inner = longest if shift is None else n

    def forward(self, columns: Array, v: Array) -> Array:
        """Return Z[:, columns] v, of shape (n,) or (n, q)."""
        inner = np.asarray(self.by_column[:, columns] @ v)
        if self.shift is not None:
            u, c = self.shift
            inner -= np.multiply.outer(u, c[columns] @ v)
        return inner

    def back(self, w: Array, columns: slice | None = None) -> Array:
        """Return Z[:, columns]' w / divisor, of shape (k,) or (k, q); default all columns."""
        some = self.by_column if columns is None else self.by_column[:, columns]
        out = np.asarray(some.T @ w)
        if self.shift is not None:
            u, c = self.shift
            out -= np.multiply.outer(c if columns is None else c[columns], u @ w)
        out /= self.divisor
        return out

    def matvec(self, v: Array) -> Array:
        inner = np.asarray(self.by_row @ v)
        if self.shift is not None:
            inner -= np.multiply.outer(self.shift[0], self.shift[1] @ v)
        return self.back(inner)

    def abs_matvec(self, v: Array) -> Array:
        inner = np.asarray(_absolute(self.by_row) @ v)
        if self.shift is None:
            return np.asarray(_absolute(self.by_column).T @ inner) / self.divisor
        u, c = self.shift[0], np.abs(self.shift[1])
        inner += np.multiply.outer(u, c @ v)
        outer = np.asarray(_absolute(self.by_column).T @ inner)
        return np.asarray((outer + np.multiply.outer(c, u @ inner)) / self.divisor)

    @cached_property
    def norms(self) -> Array:
        """Euclidean norms of the columns of Z, or of X where these are rounding errors of it."""
        squares = self._squares
        if self.shift is not None:
            u, c = self.shift
            left = squares - c * c * (u @ u)
            squares = np.where(left > self.inner * np.finfo(float).eps * squares, left, squares)
        return np.asarray(np.sqrt(squares / self.divisor))

    @cached_property
    def data_norms(self) -> Array:
        """Euclidean norms of the columns of X, divided by the root of the divisor."""
        return np.asarray(np.sqrt(self._squares / self.divisor))

    @property
    def _squares(self) -> Array:
        """Squared norms of the columns of X."""
        values, owner = self.by_row.data, self.by_row.indices
        return np.bincount(owner, weights=values * values, minlength=self.shape[1])

    def block(self, rows: Array, columns: Array) -> Array:
        left, right = self.by_column[:, rows], self.by_column[:, columns]
        block = np.asarray((left.T @ right).toarray())
        if self.shift is not None:
            u, c = self.shift
            block -= np.multiply.outer(left.T @ u, c[columns])
        block /= self.divisor
        return block

    def times(self, columns: Array, v: Array) -> Array:
        return self.back(self.forward(columns, v))

    def rows_times(self, columns: Array, v: Array) -> Array:
        return np.asarray(self.times(columns, v.T).T)

    def rows_times_by_part(self, columns: Array, v: Array) -> Callable[[slice], Array]:
        inner = np.ascontiguousarray(self.forward(columns, v.T))
        return lambda part: np.asarray(self.back(inner, part).T)

    def samples(self, columns: Array) -> Array:
        dense = np.asarray(self.by_column[:, columns].toarray())
        if self.shift is not None:
            u, c = self.shift
            dense -= np.multiply.outer(u, c[columns])
        return dense

    @property
    def entries(self) -> int:
        n, d = self.by_row.shape
        return int(self.by_row.nnz if self.shift is None else n * d)

    def factor(self) -> Array | sp.csr_array:
        return self.by_row if self.shift is None else self.samples(np.arange(self.shape[1]))

    def as_array(self) -> Array | sp.csr_array:
        if self.shift is not None:
            every = np.arange(self.shape[1])
            return self.block(every, every)
        return sp.csr_array(self.by_column.T @ self.by_row / self.divisor)


class StackedMap(LinearMap):
    """Maps one below the other: A = [A_1; A_2; ...], all with the same number of columns."""

    def __init__(self, *parts: LinearMap) -> None:
        self.parts = parts
        self.offsets = np.cumsum([0, *(part.shape[0] for part in parts)])
        self.shape = (int(self.offsets[-1]), parts[0].shape[1])
        self.inner = max(part.inner for part in parts) + len(parts)

    def matvec(self, v: Array) -> Array:
        return np.concatenate([part.matvec(v) for part in self.parts])

    def rmatvec(self, u: Array) -> Array:
        pieces = np.split(u, self.offsets[1:-1])
        return np.asarray(
            sum(part.rmatvec(piece) for part, piece in zip(self.parts, pieces, strict=True))
        )

    def abs_matvec(self, v: Array) -> Array:
        return np.concatenate([part.abs_matvec(v) for part in self.parts])

    def abs_rmatvec(self, u: Array) -> Array:
        pieces = np.split(u, self.offsets[1:-1])
        return np.asarray(
            sum(part.abs_rmatvec(piece) for part, piece in zip(self.parts, pieces, strict=True))
        )

    def quick_factors(self, rows: Array, u: Array) -> tuple[Array, Array]:
        found = [
            part.quick_factors(local, u[:, inside])
            for part, (inside, local) in zip(self.parts, self._locate(rows), strict=True)
        ]
        alphas, betas = zip(*found, strict=True)
        return np.concatenate(alphas, axis=1), np.concatenate(betas)

    def block(self, rows: Array, columns: Array) -> Array:
        out = np.empty((len(rows), len(columns)))
        for part, (inside, local) in zip(self.parts, self._locate(rows), strict=True):
            out[inside] = part.block(local, columns)
        return out

    def times(self, columns: Array, v: Array) -> Array:
        return np.concatenate([part.times(columns, v) for part in self.parts])

    def transpose_times(self, rows: Array, u: Array) -> Array:
        out = np.zeros((self.shape[1], *u.shape[1:]))
        for part, (inside, local) in zip(self.parts, self._locate(rows), strict=True):
            if len(local):
                out += part.transpose_times(local, u[inside])
        return out

    def _locate(self, rows: Array) -> list[tuple[Array, Array]]:
        rows = np.asarray(rows)
        located = []
        for low, high in zip(self.offsets[:-1], self.offsets[1:], strict=True):
            inside = (rows >= low) & (rows < high)
            located.append((inside, rows[inside] - low))
        return located

    def scales(self) -> tuple[Array, Array]:
        factors = [part.scales() for part in self.parts]
        column = np.max([column for _, column in factors], axis=0)
        return np.concatenate([row for row, _ in factors]), column

    def as_array(self) -> Array | sp.csr_array:
        arrays: list[Any] = [part.as_array() for part in self.parts]
        if any(is_sparse(array) for array in arrays):
            return sp.csr_array(sp.vstack(arrays))
        return np.vstack(arrays)


def _absolute(matrix: Any) -> Any:
    """Return the absolute values of a CSR or CSC array; the places are shared."""
    parts = np.abs(matrix.data), matrix.indices, matrix.indptr
    return type(matrix)(parts, shape=matrix.shape)


def _few_nonzero_rows(v: Array) -> Array | None:
    """Return the places of v's rows that are not zero where they are a twentieth of all or less."""
    used = np.flatnonzero(v if v.ndim == 1 else v.any(axis=1))
    return used if 20 * len(used) <= len(v) else None


def _few_nonzeros(v: Array) -> bool:
    """Return whether a twentieth of several columns' entries are not zero, or less."""
    return v.ndim == 2 and v.shape[1] > 1 and bool(20 * np.count_nonzero(v) <= v.size)


def _power_of_two(size: Array) -> Array:
    """Return the power of two nearest to 1 / size, and 1 where the size is 0."""
    positive = size > 0.0
    return np.where(positive, np.exp2(-np.round(np.log2(np.where(positive, size, 1.0)))), 1.0)


def _equilibrate(
    row_sizes: Callable[[Array], Array],
    column_sizes: Callable[[Array], Array],
    shape: tuple[int, int],
) -> tuple[Array, Array]:
    """Scale rows and columns in turn to a largest entry near one (Ruiz 2001).

    Two rounds do for most data; entries over hundreds of orders take more.
    """
    row, column = np.ones(shape[0]), np.ones(shape[1])
    for done in range(_ROUNDS):
        of_rows = _power_of_two(np.sqrt(row * row_sizes(column)))
        row = row * of_rows
        of_columns = _power_of_two(np.sqrt(column * column_sizes(row)))
        column = column * of_columns
        if done and _is_near_one(of_rows) and _is_near_one(of_columns):
            break
    return row, column


def _is_near_one(change: Array) -> bool:
    return bool(change.max() <= _NEAR and change.min() >= 1.0 / _NEAR)


def as_linear_map(matrix: Any) -> LinearMap:
    """Wrap a dense or sparse matrix; a :class:`LinearMap` is returned as it is.

    Parameters
    ----------
    matrix : array of shape (m, p), scipy.sparse matrix, or LinearMap

    Returns
    -------
    LinearMap
    """
    if isinstance(matrix, LinearMap):
        return matrix
    return SparseMap(matrix) if is_sparse(matrix) else DenseMap(matrix)
