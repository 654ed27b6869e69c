r"""Permutation distributions of two-sample statistics.

With all matrices of the pooled test data at hand a permutation needs no new kernel value: if the
columns of S mark who is called x, the sums of the Gram matrix K within and across the two parts are
column sums of S * (K S), one matrix product for many permutations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from sparseopt.problems.base import Array

__all__ = ["GramStatistic", "ScoreStatistic", "Statistic", "permutation_test"]

_CHUNK = 1 << 22
"""Numbers that the permutations of one product may take."""
_ROUNDING = 1e-12
"""A permutation whose value is smaller by rounding only counts as equal."""


class Statistic(Protocol):
    """A statistic of two labelled samples."""

    @property
    def size(self) -> int:
        """How many observations there are in both samples."""
        ...

    @property
    def scale(self) -> float:
        """Size of the numbers that are added up."""
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
    def scale(self) -> float:
        return float(np.abs(self.gram).max())

    def values(self, orders: Array) -> Array:
        """Return the squared MMD of each order, O(size^2) each."""
        n, m = self.n, self.size - self.n
        rows = np.arange(len(orders))[:, None]
        marks = np.zeros(orders.shape)
        marks[rows, orders[:, :n]] = 1.0
        # A product keeps the order of its sums from row to row only in one call: equal splits
        # of the same observations may still differ by rounding, which p-values allow for.
        xx = np.einsum("bi,bi->b", marks @ self.gram, marks)
        diagonal = np.diagonal(self.gram)
        own_x = marks @ diagonal
        own_y = diagonal.sum() - own_x
        across = marks @ self.gram.sum(axis=1) - xx
        yy = self.gram.sum() - xx - 2.0 * across
        within = (xx - own_x) / (n * (n - 1)) + (yy - own_y) / (m * (m - 1))
        if n == m:
            # (1) leaves the pairs (x_i, y_i) out.
            across = across - self.gram[orders[:, :n], orders[:, n:]].sum(axis=1)
            return np.asarray(within - 2.0 * across / (n * (n - 1)))
        return np.asarray(within - 2.0 * across / (n * m))


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
    def scale(self) -> float:
        return float(np.abs(self.scores).max())

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
    pooled = np.arange(statistic.size)
    observed = float(statistic.values(pooled[None])[0])
    step = max(1, _CHUNK // statistic.size)
    null = []
    for begin in range(0, permutations, step):
        count = min(step, permutations - begin)
        null.append(statistic.values(rng.permuted(np.tile(pooled, (count, 1)), axis=1)))
    values = np.concatenate(null)
    as_large = int((values >= observed - _ROUNDING * statistic.scale).sum())
    return observed, (1 + as_large) / (1 + permutations), values
