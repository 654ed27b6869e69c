r"""Permutation distributions of two-sample statistics.

A permutation needs no new kernel value: if the rows of S mark who is called x, the sums of the Gram
matrix K within and across the two parts are row sums of S * (S K), one matrix product for many
permutations. A small K is held; of a large one the blocks pass by, each for all permutations. Where
K has features, :math:`K = \Phi W \Phi'`, the sums are those of squares of :math:`S \Phi`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.two_samples import TwoSample

_CHUNK = 1 << 24
"""Numbers that the orders of one pass may take."""
_ROWS = 512
"""Rows of a Gram matrix that are held."""
_PART = 256
"""Observations from which row means of a Gram matrix are estimated."""
_DOUBLE = 1 << 20
"""Marks that are held in double precision at once."""
_SINGLE = 4096
"""Observations from which the products with a Gram matrix are of single precision."""
_ROUNDING = 1e-12
"""How far values may be off, relative to the numbers that are added up."""
_ROUNDING_SINGLE = 2e-8
"""The same of single precision, of which thousands are added up, less their mean."""


class Statistic(Protocol):
    """A statistic of two labelled samples."""

    @property
    def size(self) -> int:
        """How many observations there are in both samples."""
        ...

    @property
    def rounding(self) -> float:
        """How far a value may be off; one that is smaller by no more counts as equal."""
        ...

    def values(self, orders: Array) -> Array:
        """Return the statistic for orders of the pooled observations, shape (B, size)."""
        ...


@dataclass(frozen=True, eq=False)
class GramStatistic:
    """The unbiased squared MMD of a Gram matrix; the first n of an order are called x.

    Attributes
    ----------
    gram : array of shape (n + m, n + m)
    n : int
    """

    gram: Array
    n: int

    @property
    def size(self) -> int:
        return len(self.gram)

    @property
    def rounding(self) -> float:
        return _ROUNDING * float(np.abs(self.gram).max())

    def values(self, orders: Array) -> Array:
        """Return the squared MMD of each order, O(size^2) each."""
        marks = _marks(orders, self.n)
        # A product keeps the order of its sums from row to row only in one call: equal splits
        # of the same observations may still differ by rounding, which p-values allow for.
        xx = np.einsum("bi,bi->b", marks @ self.gram, marks)
        sums, diagonal = self.gram.sum(axis=1), np.diagonal(self.gram)
        matched = np.zeros(len(orders))
        if 2 * self.n == self.size:
            matched = self.gram[orders[:, : self.n], orders[:, self.n :]].sum(axis=1)
        return _squared_mmd(marks, self.n, xx, sums, diagonal, matched)


@dataclass(frozen=True, eq=False)
class KernelStatistic:
    """The same of a kernel whose Gram matrix is too large to be held.

    Attributes
    ----------
    samples : TwoSample
        The kernel, one of ours.
    z : array of shape (D,)
    pooled : array of shape (n + m, D)
    n : int
    """

    samples: TwoSample
    z: Array
    pooled: Array
    n: int

    @property
    def size(self) -> int:
        return len(self.pooled)

    @property
    def rounding(self) -> float:
        unit = _ROUNDING if self.size < _SINGLE else _ROUNDING_SINGLE
        return unit * self.samples.largest(self.z)

    def values(self, orders: Array) -> Array:
        """Return the squared MMD of each order, in one pass over half of the kernel's values.

        The sums within x are of K_ij - a_i - a_j, with a from a part of the observations: what is
        left is small, and so is its rounding. 2 n times the sum of a over x is added.
        """
        N, n = self.size, self.n
        marks = _marks(orders, n, np.float64 if N < _SINGLE else np.float32)
        partners = _partners(orders) if 2 * n == N else None
        centre = self._centre()
        xx, matched = 2.0 * n * _products(marks, centre), np.zeros(len(orders))
        sums, diagonal = np.zeros(N), np.empty(N)
        for begin in range(0, N, _ROWS):
            rows = slice(begin, min(begin + _ROWS, N))
            K = self.samples.gram(self.z, self.pooled[rows], self.pooled[begin:])
            own, rest = K[:, : len(K)], K[:, len(K) :]
            diagonal[rows] = np.diagonal(own)
            sums[rows] += K.sum(axis=1)
            sums[rows.stop :] += rest.sum(axis=0)
            if partners is not None:
                matched += _sum_of_pairs(K, partners[:, rows] - begin)
            K -= centre[rows, None] + centre[begin:]
            own *= 0.5
            product = marks[:, begin:] @ K.astype(marks.dtype, copy=False).T
            xx += 2.0 * np.einsum("bi,bi->b", product, marks[:, rows], dtype=float)
        return _squared_mmd(marks, n, xx, sums, diagonal, matched)

    def _centre(self) -> Array:
        """Return a: about the mean of each row of K, less half the mean of all."""
        part = self.pooled[:: max(1, self.size // _PART)]
        means = np.concatenate(
            [
                self.samples.gram(self.z, self.pooled[begin : begin + _ROWS], part).mean(axis=1)
                for begin in range(0, self.size, _ROWS)
            ]
        )
        return np.asarray(means - 0.5 * means.mean())


@dataclass(frozen=True, eq=False)
class FeatureStatistic(KernelStatistic):
    """The same of a kernel with features, O(size r) for each order.

    Attributes
    ----------
    samples, z, pooled, n
        As in KernelStatistic.
    features : array of shape (n + m, r)
    weights : array of shape (r,)
        The kernel is the weighted inner product of features.
    """

    features: Array
    weights: Array

    @property
    def rounding(self) -> float:
        return _ROUNDING * self.samples.largest(self.z)

    def values(self, orders: Array) -> Array:
        """Return the squared MMD of each order."""
        marks = _marks(orders, self.n)
        of_x = marks @ self.features
        xx = of_x**2 @ self.weights
        sums = self.features @ (self.weights * self.features.sum(axis=0))
        diagonal = self.features**2 @ self.weights
        matched = self.samples.matched(self.z, self.pooled, orders, self.n)
        return _squared_mmd(marks, self.n, xx, sums, diagonal, matched)


def _marks(orders: Array, n: int, dtype: type[np.floating[Any]] = np.float64) -> Array:
    """Return 1 for the observations that an order calls x, else 0; shape of `orders`."""
    marks: Array = np.zeros(orders.shape, dtype)
    marks[np.arange(len(orders))[:, None], orders[:, :n]] = 1.0
    return marks


def _partners(orders: Array) -> Array:
    """Return the number of the observation that each is paired with, shape of `orders`."""
    n = orders.shape[1] // 2
    partners, each = np.empty_like(orders), np.arange(len(orders))[:, None]
    partners[each, orders[:, :n]] = orders[:, n:]
    partners[each, orders[:, n:]] = orders[:, :n]
    return partners


def _sum_of_pairs(K: Array, partners: Array) -> Array:
    """Return the sum of K_ij over rows i with their partners j > i, for each order."""
    row = np.arange(len(K))
    values = K.reshape(-1)[row * K.shape[1] + np.maximum(partners, 0)]
    return np.asarray(np.einsum("bi,bi->b", values, partners > row))


def _squared_mmd(
    marks: Array, n: int, xx: Array, sums: Array, diagonal: Array, matched: Array
) -> Array:
    """Return the unbiased squared MMD of each row of marks.

    Parameters
    ----------
    marks : array of shape (B, n + m)
    n : int
    xx : array of shape (B,)
        Sums of the kernel within x.
    sums, diagonal : arrays of shape (n + m,)
        Row sums and diagonal of the Gram matrix.
    matched : array of shape (B,)
        Sums over the pairs (x_i, y_i), which (1) leaves out, for n = m.
    """
    m = marks.shape[1] - n
    own_x = _products(marks, diagonal)
    across = _products(marks, sums) - xx
    yy = sums.sum() - xx - 2.0 * across
    within = (xx - own_x) / (n * (n - 1)) + (yy - (diagonal.sum() - own_x)) / (m * (m - 1))
    pairs = n * (n - 1) if n == m else n * m
    return np.asarray(within - 2.0 * (across - matched) / pairs)


def _products(marks: Array, values: Array) -> Array:
    """Return marks @ values in double precision, without a second copy of all marks."""
    parts = np.array_split(marks, -(-marks.size // _DOUBLE))
    return np.concatenate([part.astype(float, copy=False) @ values for part in parts])


@dataclass(frozen=True, eq=False)
class ScoreStatistic:
    """The difference of mean scores, y less x.

    Attributes
    ----------
    scores : array of shape (n + m,)
    n : int
    """

    scores: Array
    n: int

    @property
    def size(self) -> int:
        return len(self.scores)

    @property
    def rounding(self) -> float:
        return _ROUNDING * float(np.abs(self.scores).max())

    def values(self, orders: Array) -> Array:
        """Return the difference for each order."""
        ordered = self.scores[orders]
        return np.asarray(ordered[:, self.n :].mean(axis=1) - ordered[:, : self.n].mean(axis=1))


def permutation_test(
    statistic: Statistic, permutations: int, rng: np.random.Generator
) -> tuple[float, float, Array]:
    """Return (statistic, p-value, values of the permutations).

    The p-value is (1 + the number of permutations with a value at least as large) / (1 + B), which
    is valid in finite samples: under the null hypothesis P(p <= alpha) <= alpha.

    Parameters
    ----------
    statistic : Statistic
    permutations : int
        B, at least 1.
    rng : numpy Generator
    """
    pooled = np.arange(statistic.size, dtype=np.int32)
    step = max(1, _CHUNK // statistic.size)
    found = []
    for begin in range(0, permutations, step):
        orders = np.tile(pooled, (min(step, permutations - begin), 1))
        orders = rng.permuted(orders, axis=1, out=orders)
        # The samples themselves come with the first permutations.
        found.append(statistic.values(orders if begin else np.vstack([pooled, orders])))
    observed, values = float(found[0][0]), np.concatenate(found)[1:]
    as_large = int((values >= observed - statistic.rounding).sum())
    return observed, (1 + as_large) / (1 + permutations), values
