r"""Squared MMD less lam times its variance, as a function of the weights z, with derivatives.

Both statistics of :mod:`sparseopt.problems.twosample.statistics.two_samples` depend on the pooled
Gram matrix K of the
N = n + m observations only: the squared MMD is linear, :math:`\langle W^0, K \rangle`, and the
variance is :math:`\sum_g f_g Var(g)` with the rows g linear in :math:`r = K v`, where v is 1/n on x
and -1/m on y. So with :math:`U = \partial \sum f Var / \partial r`,

.. math:: \nabla F = \sum_{ij} W_{ij} \nabla K_{ij}, \quad
          W = W^0 - \lambda (U v' + v U') / 2, \qquad \nabla^2 F = \sum_{ij} W_{ij} \nabla^2 K_{ij}
          - \lambda \sum_g \tfrac{2 f_g}{|g|} \sum_i \nabla \bar g_i \nabla \bar g_i'

with :math:`\bar g` centred. Each pair is visited once, by symmetry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")

_CHUNK = 1 << 21
"""Numbers that a block of pairs may take."""
_KEPT = 1 << 25
"""Numbers that all pairs may take to be kept from call to call: 256 MB."""


class Objective(Protocol):
    """Value, gradient and Hessian of MMD^2 - lam variance in z, shape (D,)."""

    def parts(self, z: Array) -> tuple[float, float]:
        """Return (squared MMD, variance)."""
        ...

    def value(self, z: Array, lam: float) -> float: ...
    def gradient(self, z: Array, lam: float) -> Array: ...
    def hessian(self, z: Array, lam: float) -> Array: ...


@dataclass(frozen=True, eq=False)
class Design:
    """How the two statistics are made of a Gram matrix of n and m observations.

    With n = m the observations are pairs (x_i, y_i), as in (1) and (10) of the paper.
    """

    n: int
    m: int

    @property
    def v(self) -> Array:
        """The vector of the rows r = K v, shape (n + m,)."""
        return np.concatenate([np.full(self.n, 1.0 / self.n), np.full(self.m, -1.0 / self.m)])

    def mmd_weights(self, i: Array, j: Array) -> Array:
        """Return 2 W0 of the pairs i < j of pooled indices; the diagonal has no weight."""
        n, m = self.n, self.m
        in_x, in_y = j < n, i >= n
        if n == m:
            weight = np.where(in_x | in_y, 2.0, -2.0) / (n * (n - 1.0))
            weight[j - i == n] = 0.0
            return weight
        across = np.where(in_y, 2.0 / (m * (m - 1.0)), -2.0 / (n * m))
        return np.where(in_x, 2.0 / (n * (n - 1.0)), across)

    def groups(self, rows: Array) -> list[tuple[float, Array]]:
        """Return (factor, g) for r or for its derivatives, shape (n + m, ...)."""
        p, q = rows[: self.n], -rows[self.n :]
        if self.n == self.m:
            return [(4.0, p + q)]
        N = 2.0 * self.n * self.m / (self.n + self.m)
        return [(4.0 * N / self.n, p), (4.0 * N / self.m, q)]

    def variance(self, rows: Array) -> float:
        """Return the variance."""
        return sum(factor * float(np.var(g)) for factor, g in self.groups(rows))

    def slope(self, rows: Array) -> Array:
        """Return the derivative of the variance in r, shape (n + m,)."""
        parts = [2.0 * factor / len(g) * (g - g.mean()) for factor, g in self.groups(rows)]
        return np.concatenate([parts[0], -parts[-1]])

    def outer(self, rows: Array) -> Array:
        """Return the sum of the outer products of the rows' derivatives, from (n + m, D)."""
        D = rows.shape[1]
        total = np.zeros((D, D))
        for factor, g in self.groups(rows):
            centred = g - g.mean(axis=0)
            total += 2.0 * factor / len(g) * (centred.T @ centred)
        return total


@dataclass(eq=False)
class Block:
    """Some pairs i < j with their vectors.

    Attributes
    ----------
    number : int
    i, j : int arrays of shape (K,)
    M : array of shape (K, D)
    """

    number: int
    i: Array
    j: Array
    M: Array
    _order: Array | None = None
    _pattern: tuple[Array, Array] | None = None

    def sum_rows(self, to_i: Array, to_j: Array, values: Array, N: int) -> Array:
        """Return the sums of to_i * values in the rows i plus those of to_j * values in the rows j.

        Shape (N, d), from values of shape (K, d). Where each pair goes is sorted out once.
        """
        K = len(self.i)
        if self._order is None or self._pattern is None:
            rows, pairs = np.concatenate([self.i, self.j]), np.tile(np.arange(K), 2)
            self._order = np.argsort(rows, kind="stable")
            ends = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=N))])
            self._pattern = pairs[self._order], ends
        shares = np.concatenate([to_i, to_j])[self._order]
        return np.asarray(sp.csr_array((shares, *self._pattern), shape=(N, K)) @ values)


class PairObjective:
    """The objective of a built-in kernel, which knows a pair by a vector of D numbers.

    K is a function of the inner product of z (Gaussian: of its squares) with them, so the gradient
    of a pair is c1 (M e) and its Hessian c2 (M e)(M e)' + c3 diag(M). O(N^2 D) a value or gradient,
    O(N^2 D^2) a Hessian; the vectors are kept from call to call where they are not too many.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    kernel : {"linear", "quadratic", "gaussian"}
    bandwidth : array of shape (D,)
    c : float
    tick : callable, optional
        Called between blocks of pairs; what it raises ends the computation.
    """

    def __init__(
        self,
        x: Array,
        y: Array,
        kernel: Literal["linear", "quadratic", "gaussian"],
        bandwidth: Array,
        c: float,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self.design = Design(len(x), len(y))
        self.pooled = np.concatenate([x, y])
        self.kernel, self.bandwidth, self.c, self.tick = kernel, bandwidth, c, tick
        N, D = self.pooled.shape
        self._keep = N * (N - 1) // 2 * D <= _KEPT
        self._kept: dict[int, Block] = {}
        self._last: tuple[bytes, dict[int, Array]] = (b"", {})
        self._firsts = self._row_blocks(N, D)

    # ---- the objective

    def parts(self, z: Array) -> tuple[float, float]:
        """Return (squared MMD, variance)."""
        mmd, rows = self._mmd_and_rows(z)
        return mmd, self.design.variance(rows)

    def value(self, z: Array, lam: float) -> float:
        """Return the objective."""
        mmd, variance = self.parts(z)
        return mmd - lam * variance

    def gradient(self, z: Array, lam: float) -> Array:
        """Return the gradient, shape (D,)."""
        weight_of, self_weight = self._weights(z, lam)
        total = np.zeros(len(z))
        for block in self._blocks():
            slope = self._functions(z, block)[1]
            total += (weight_of(block.i, block.j) * slope) @ block.M
        M0 = self._self_vector(len(z))
        total += self_weight * self._derivatives(self._inner_product(z, M0[None]))[1][0] * M0
        return np.asarray(total * self._inner(z))

    def hessian(self, z: Array, lam: float) -> Array:
        """Return the Hessian, shape (D, D)."""
        weight_of, self_weight = self._weights(z, lam)
        N, D = self.pooled.shape
        v, inner = self.design.v, self._inner(z)
        # Where e is zero, rows and columns of the first two terms vanish.
        S = np.flatnonzero(inner)
        total, diagonal, rows = np.zeros((len(S), len(S))), np.zeros(D), np.zeros((N, len(S)))
        for block in self._blocks():
            i, j, M = block.i, block.j, block.M
            _, c1, c2, c3 = self._functions(z, block)
            weight = weight_of(i, j)
            on = M if len(S) == D else M[:, S]
            if c2.any():
                total += (on * (weight * c2)[:, None]).T @ on
            if c3.any():
                diagonal += (weight * c3) @ M
            rows += block.sum_rows(c1 * v[j], c1 * v[i], on, N)
        M0 = self._self_vector(D)
        _, c1, c2, c3 = (part[0] for part in self._derivatives(self._inner_product(z, M0[None])))
        total += self_weight * c2 * np.outer(M0[S], M0[S])
        diagonal += self_weight * c3 * M0
        rows += v[:, None] * (c1 * M0[S])
        total -= lam * self.design.outer(rows)
        H = np.diag(diagonal)
        H[np.ix_(S, S)] += total * np.outer(inner[S], inner[S])
        return np.asarray((H + H.T) / 2.0)

    # ---- pairs

    def _mmd_and_rows(self, z: Array) -> tuple[float, Array]:
        """Return the squared MMD and r = K v."""
        N = len(self.pooled)
        v, rows, mmd = self.design.v, np.zeros(N), 0.0
        S = np.flatnonzero(z)
        columns = None if self._keep or 2 * len(S) > len(z) else S
        for block in self._blocks(columns):
            K = self._functions(z if columns is None else z[S], block)[0]
            mmd += float(self.design.mmd_weights(block.i, block.j) @ K)
            rows += np.bincount(block.i, K * v[block.j], N)
            rows += np.bincount(block.j, K * v[block.i], N)
        M0 = self._self_vector(len(z))
        own = float(self._derivatives(self._inner_product(z, M0[None]))[0][0])
        return mmd, rows + own * v

    def _weights(self, z: Array, lam: float) -> tuple[Callable[[Array, Array], Array], float]:
        """Return the weights of pairs of pooled indices, and that of all self pairs together."""
        v = self.design.v
        slope = lam * self.design.slope(self._mmd_and_rows(z)[1])

        def weight_of(i: Array, j: Array) -> Array:
            return self.design.mmd_weights(i, j) - slope[i] * v[j] - slope[j] * v[i]

        return weight_of, -float(slope @ v)

    def _row_blocks(self, N: int, D: int) -> list[tuple[int, int]]:
        """Cut the rows of the upper triangle into blocks of bounded size."""
        blocks, first, size = [], 0, 0
        for row in range(N):
            size += (N - 1 - row) * D
            if size >= _CHUNK or row == N - 1:
                blocks.append((first, row + 1))
                first, size = row + 1, 0
        return blocks

    def _blocks(self, columns: Array | None = None) -> Iterator[Block]:
        """Yield the pairs i < j; with the numbers of some columns only, if given."""
        N = len(self.pooled)
        for number, (first, last) in enumerate(self._firsts):
            self.tick()
            block = self._kept.get(number)
            if block is None:
                counts = N - 1 - np.arange(first, last)
                i = np.repeat(np.arange(first, last), counts)
                starts = np.repeat(np.cumsum(counts) - counts, counts)
                j = i + 1 + np.arange(len(i)) - starts
                at = slice(None) if columns is None else columns
                block = Block(number, i, j, self._vectors(i, j, at))
                if self._keep:
                    self._kept[number] = block
            if len(block.i):
                yield block

    def _vectors(self, i: Array, j: Array, columns: slice | Array) -> Array:
        square = (self.pooled[i][:, columns] - self.pooled[j][:, columns]) ** 2
        if self.kernel == "gaussian":
            return np.asarray(square)
        return np.asarray(np.exp(square / (-2.0 * self.bandwidth[columns])))

    def _self_vector(self, D: int) -> Array:
        return np.zeros(D) if self.kernel == "gaussian" else np.ones(D)

    def _inner(self, z: Array) -> Array:
        """Return e, where the gradient of a pair is c1 M e entry by entry."""
        return z if self.kernel == "gaussian" else np.ones(len(z))

    def _functions(self, z: Array, block: Block) -> tuple[Array, Array, Array, Array]:
        """Return K, c1, c2 and c3 of pairs; what they share is kept for the next call at z."""
        if not self._keep:
            return self._derivatives(self._inner_product(z, block.M))
        point = z.tobytes()
        if self._last[0] != point:
            self._last = (point, {})
        known = self._last[1]
        if block.number not in known:
            known[block.number] = self._inner_product(z, block.M)
        return self._derivatives(known[block.number])

    def _inner_product(self, z: Array, M: Array) -> Array:
        """Return what K is a polynomial of; the Gaussian kernel's values themselves."""
        if self.kernel == "gaussian":
            return np.asarray(np.exp(M @ (z**2 / (-2.0 * float(self.bandwidth[0])))))
        return np.asarray(M @ z)

    def _derivatives(self, inner: Array) -> tuple[Array, Array, Array, Array]:
        """Return K, the quadratic kernel's less c^2, and c1, c2 and c3."""
        if self.kernel == "gaussian":
            sigma = float(self.bandwidth[0])
            return inner, -inner / sigma, inner / sigma**2, -inner / sigma
        zero = np.zeros_like(inner)
        if self.kernel == "linear":
            return inner, zero + 1.0, zero, zero
        return inner * (inner + 2.0 * self.c), 2.0 * (inner + self.c), zero + 2.0, zero
