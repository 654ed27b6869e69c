"""Selection frequencies as exact functions of lam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array
from sparseopt.selection.solving import nonzero_entries


@dataclass(frozen=True, eq=False)
class Runs:
    """Where each coefficient is nonzero on each of several paths: for lam in [low, high).

    Attributes
    ----------
    variable : int array of shape (R,)
    low, high : arrays of shape (R,)
    first : array of shape (paths, p)
        The largest lam below which a coefficient becomes nonzero; minus infinity if it never does.
    end : float
        Where the first of the paths ends; nothing is known below.
    """

    variable: Array
    low: Array
    high: Array
    first: Array
    end: float

    @classmethod
    def of_paths(cls, paths: Sequence[ParametricPath], factors: Sequence[float]) -> Self:
        """Collect the runs; each path's lam is divided by its factor."""
        variable, low, high = [], [], []
        first = np.full((len(paths), paths[0].shape[1]), -np.inf)
        for i, (path, factor) in enumerate(zip(paths, factors, strict=True)):
            segment, _, inside = nonzero_entries(path)
            index, segment = path.theta.index[inside], segment[inside]
            order = np.lexsort((segment, index))
            index, segment = index[order], segment[order]
            starts = (np.diff(index, prepend=-1) != 0) | (np.diff(segment, prepend=-2) != 1)
            ends = np.append(starts[1:], True)[: len(starts)]
            variable.append(index[starts])
            high.append(path.high[segment[starts]] / factor)
            low.append(path.low[segment[ends]] / factor)
            np.maximum.at(first[i], variable[-1], high[-1])
        return cls(
            np.concatenate(variable),
            np.concatenate(low),
            np.concatenate(high),
            first,
            max(float(path.low[-1]) / f for path, f in zip(paths, factors, strict=True)),
        )

    def frequency(self, lam: float) -> Array:
        """Return the share of the paths with each coefficient nonzero at lam, shape (p,)."""
        paths, p = self.first.shape
        held = (self.low <= lam) & (lam < self.high)
        return np.asarray(np.bincount(self.variable[held], minlength=p) / paths)

    def largest_frequency(self, lam: float) -> Array:
        """Return each coefficient's largest frequency over [lam, inf), shape (p,)."""
        paths, p = self.first.shape
        largest = np.zeros(p, dtype=np.int64)
        variable, _, count = self.counts(lam)
        np.maximum.at(largest, variable, count)
        return np.asarray(largest / paths)

    def counts(self, lam: float) -> tuple[Array, Array, Array]:
        """Return (variable, place, count): the count just below each place where it changes.

        Sorted by variable, then by decreasing lam down to `lam`.
        """
        shown = self.high > lam
        variable = np.tile(self.variable[shown], 2)
        place = np.concatenate([self.high[shown], np.maximum(self.low[shown], lam)])
        change = np.repeat([1, -1], int(shown.sum()))
        # At one place what ends comes before what begins: a run excludes its upper end.
        order = np.lexsort((change, -place, variable))
        return variable[order], place[order], np.cumsum(change[order])

    def mean_chosen(self, lam: float, counted: Array) -> float:
        """Return how many of the counted coefficients a path has chosen above lam, on average."""
        return float(np.count_nonzero(self.first[:, counted] > lam) / len(self.first))
