"""Kronecker products as linear maps: matrix equations, and the same block many times."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap, LinearMap

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_FEW = 20
"""A vector's nonzero entries are few where they are this part of all; as symmetric maps see it."""


class KroneckerMap(LinearMap):
    r"""The product :math:`L \otimes R` of two dense matrices, never formed.

    It acts on matrices V of shape (p1, p2) as :math:`\mathrm{vec}(V) \mapsto \mathrm{vec}(R V L')`,
    where vec puts the columns below one another: variable j is the entry (j mod p1, j div p1) of
    V, row i the entry (i mod m1, i div m1) of the product.

    Parameters
    ----------
    left : DenseMap of shape (m2, p2)
    right : DenseMap of shape (m1, p1)

    Notes
    -----
    A product with k columns is one thin matrix product, O(m1 k + m1 m2 s) with s the smaller number
    of different rows or columns of V that they lie in; a full one O(m1 p1 p2 + m1 p2 m2).
    """

    def __init__(self, left: DenseMap, right: DenseMap) -> None:
        self.left, self.right = left, right
        (m2, p2), (m1, p1) = left.shape, right.shape
        self.shape = (m1 * m2, p1 * p2)
        self.symmetric = left.symmetric and right.symmetric

    def matvec(self, v: Array) -> Array:
        return _product(self.left.matrix, self.right.matrix, v)

    def rmatvec(self, u: Array) -> Array:
        return _product(self.left.matrix.T, self.right.matrix.T, u)

    def abs_matvec(self, v: Array) -> Array:
        return _product(np.abs(self.left.matrix), np.abs(self.right.matrix), v)

    def abs_rmatvec(self, u: Array) -> Array:
        return _product(np.abs(self.left.matrix).T, np.abs(self.right.matrix).T, u)

    def block(self, rows: Array, columns: Array) -> Array:
        i2, i1 = np.divmod(rows, self.right.shape[0])
        j2, j1 = np.divmod(columns, self.right.shape[1])
        block = self.right.block(i1, j1)
        block *= self.left.block(i2, j2)
        return block

    def times(self, columns: Array, v: Array) -> Array:
        return thin_product(self.left.matrix, self.right.matrix, columns, v)

    def transpose_times(self, rows: Array, u: Array) -> Array:
        return thin_product(self.left.matrix.T, self.right.matrix.T, rows, u)

    def scales(self) -> tuple[Array, Array]:
        (left_row, left_column), (right_row, right_column) = self.left.scales(), self.right.scales()
        return np.kron(left_row, right_row), np.kron(left_column, right_column)

    def as_array(self) -> Array:
        return np.kron(self.left.matrix, self.right.matrix)


def _product(left: Array, right: Array, v: Array) -> Array:
    """Return vec(right V left') for v = vec(V) of shape (p,), or for each column of (p, q)."""
    (m2, p2), (m1, p1) = left.shape, right.shape
    if v.ndim == 1:
        return np.asarray(left @ (v.reshape(p2, p1) @ right.T)).ravel()
    q = v.shape[1]
    inner = np.matmul(right, v.reshape(p2, p1, q))
    return np.asarray(left @ inner.reshape(p2, m1 * q)).reshape(m2 * m1, q)


def thin_product(left: Array, right: Array, columns: Array, v: Array) -> Array:
    """Return vec(right V left') where V is zero but for the entries `columns` of vec(V).

    Parameters
    ----------
    left, right : arrays of shape (m2, p2) and (m1, p1)
    columns : int array of shape (k,)
        Entry (i, j) of V has the number p1 j + i.
    v : array of shape (k,) or (k, q)
        The entries of V, or of q matrices.

    Returns
    -------
    array of shape (m1 m2,) or (m1 m2, q)
    """
    if v.ndim == 1:
        return thin_product(left, right, columns, v[:, None])[:, 0]
    (m2, _), (m1, p1), q = left.shape, right.shape, v.shape[1]
    at_left, at_right = np.divmod(columns, p1)
    lefts, rights = len(np.unique(at_left)), len(np.unique(at_right))
    if lefts <= rights:
        chosen, inner = _grouped_products(right, at_right, at_left, v)
        return (left[:, chosen] @ inner.reshape(lefts, m1 * q)).reshape(m2 * m1, q)
    chosen, inner = _grouped_products(left, at_left, at_right, v)
    outer = (right[:, chosen] @ inner.reshape(rights, m2 * q)).reshape(m1, m2, q)
    return np.ascontiguousarray(outer.transpose(1, 0, 2)).reshape(m2 * m1, q)


def _grouped_products(
    matrix: Array, columns: Array, groups: Array, v: Array
) -> tuple[Array, Array]:
    """Multiply the columns of each group with their rows of v.

    Returns
    -------
    (chosen, products)
        The different groups (g,), and for each the product, shape (g, len(matrix), q).
    """
    order = np.argsort(groups, kind="stable")
    chosen, starts = np.unique(groups[order], return_index=True)
    shape = (len(chosen), matrix.shape[0], v.shape[1])
    products = np.empty(shape, dtype=np.result_type(matrix, v))
    gathered, sorted_v = matrix[:, columns[order]], v[order]
    for product, begin, end in zip(
        products, starts, np.append(starts, len(order))[1:], strict=True
    ):
        np.matmul(gathered[:, begin:end], sorted_v[begin:end], out=product)
    return chosen, products


class RepeatedMap(LinearMap):
    r"""The same matrix `count` times along the diagonal, :math:`I \otimes A_0`.

    Parameters
    ----------
    part : LinearMap of shape (m, p)
    count : int
    """

    def __init__(self, part: LinearMap, count: int) -> None:
        self.part, self.count, self.copies = part, count, count
        self.shape = (count * part.shape[0], count * part.shape[1])
        self.inner = part.inner
        self.symmetric = part.symmetric

    def matvec(self, v: Array) -> Array:
        return self._each(self.part.matvec, v)

    def rmatvec(self, u: Array) -> Array:
        return self._each(self.part.rmatvec, u)

    def abs_matvec(self, v: Array) -> Array:
        return self._each(self.part.abs_matvec, v, apart=True)

    def abs_rmatvec(self, u: Array) -> Array:
        return self._each(self.part.abs_rmatvec, u, apart=True)

    def _each(self, product: Callable[[Array], Array], v: Array, apart: bool = False) -> Array:
        """Apply the part's product to the `count` pieces of v at once; to one, if all are alike.

        With `apart`, pieces that differ in few places are multiplied as what they have in common,
        once, and what each has besides.
        """
        columns = []
        for pieces in np.moveaxis(v.reshape(self.count, v.shape[0] // self.count, -1), 2, 0):
            common = pieces.min(axis=0)
            places = (pieces != common).any(axis=0)
            if not places.any():
                done = product(np.ascontiguousarray(pieces[:1].T)).T
            elif (
                apart
                and _FEW * np.count_nonzero(places) <= len(common)
                and np.isfinite(pieces).all()
            ):
                done = product(common[:, None]).T + product((pieces - common).T).T
            else:
                done = product(np.ascontiguousarray(pieces.T)).T
            columns.append(np.broadcast_to(done, (self.count, done.shape[1])).ravel())
        return np.stack(columns, axis=1).reshape(-1, *v.shape[1:])

    def block(self, rows: Array, columns: Array) -> Array:
        i_block, i = np.divmod(rows, self.part.shape[0])
        j_block, j = np.divmod(columns, self.part.shape[1])
        return np.where(np.equal.outer(i_block, j_block), self.part.block(i, j), 0.0)

    def times(self, columns: Array, v: Array) -> Array:
        return self._some(self.part.times, columns, v, *self.part.shape)

    def transpose_times(self, rows: Array, u: Array) -> Array:
        return self._some(self.part.transpose_times, rows, u, *self.part.shape[::-1])

    def _some(
        self,
        product: Callable[[Array, Array], Array],
        chosen: Array,
        v: Array,
        length: int,
        width: int,
    ) -> Array:
        """Apply the part's thin product in each block that has chosen columns."""
        out = np.zeros((self.count, length, *v.shape[1:]))
        block, inside = np.divmod(np.asarray(chosen), width)
        for b in np.unique(block):
            mine = np.flatnonzero(block == b)
            out[b] = product(inside[mine], v[mine])
        return out.reshape(self.count * length, *v.shape[1:])

    def scales(self) -> tuple[Array, Array]:
        row, column = self.part.scales()
        return np.tile(row, self.count), np.tile(column, self.count)

    def as_array(self) -> sp.csr_array:
        return sp.csr_array(sp.kron(sp.eye_array(self.count), self.part.as_array()))
