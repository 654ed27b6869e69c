"""Quantile regression at every level: :class:`QuantilePath`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.base import PathResult
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class QuantilePath(PathResult):
    r"""The solutions of quantile regression for all levels tau, without a penalty.

    .. math:: \min_\theta \sum_i w_i \rho_\tau(y_i - z_i'\theta)

    The solution of segment s, for ``levels[s] <= tau <= levels[s + 1]``, interpolates the p
    observations ``bases[s]``. Of the others each is above the fit or below it: all are above at
    tau = 0, and an observation that has left the basis is on the side where it went.

    Attributes
    ----------
    design : array of shape (n, p)
        The z_i, with a column of ones where there is an intercept.
    y, counts : arrays of shape (n,)
        The responses, and the weights w_i > 0.
    levels : array of shape (S + 1,)
        Increasing, from 0 to 1.
    theta : array of shape (S, p)
    bases : int array of shape (S, p)
    leaving, above : arrays of shape (M,)
        The observations that left a basis, in order, and whether they went above the fit.
    moves : int array of shape (S,)
        How many had left before each segment.
    names : list of p str
    """

    kind: ClassVar[str] = "quantiles"
    parameter: ClassVar[str] = "quantile"

    design: Array
    y: Array
    counts: Array
    levels: Array
    theta: Array
    bases: Array
    leaving: Array
    above: Array
    moves: Array
    names: Sequence[str]
    stopped_by: str = "end"

    @property
    def knots(self) -> Array:  # type: ignore[override]
        """The levels at which the solution changes, increasing."""
        return self.levels[1:-1]

    @property
    def end(self) -> float:
        """The odds of the level 0; the parameter of the problem is the odds, and falls."""
        return 0.0

    def segment(self, quantile: float) -> int:
        """Return the segment of a level, at a knot the one below it.

        Raises
        ------
        ParamError
            When the level is not between 0 and 1.
        """
        if not 0.0 < self._number(quantile) < 1.0:
            raise ParamError(f"quantile is {quantile!r}; expected a level between 0 and 1")
        return int(np.searchsorted(self.levels, quantile)) - 1

    def at(self, value: float) -> Array:
        """Return the coefficients at a level, shape (p,)."""
        return np.asarray(self.theta[self.segment(value)])

    def sides(self, segment: int) -> Array:
        """Return 1 for observations above the fit, -1 below, 0 in the basis, shape (n,)."""
        side = np.ones(len(self.y))
        moved = self.moves[segment]
        # Of several entries of one observation the last one is assigned last.
        side[self.leaving[:moved]] = np.where(self.above[:moved], 1.0, -1.0)
        side[self.bases[segment]] = 0.0
        return side

    def objective_at(self, value: float) -> float:
        """Return the sum of the check functions at a level."""
        residual = self.y - self.design @ self.at(value)
        return float(self.counts @ np.maximum(value * residual, (value - 1.0) * residual))

    def dual_at(self, value: float) -> Array:
        """Return the multipliers of the observations at a level, shape (n,).

        tau w_i for those above the fit, (tau - 1) w_i below, and Z'nu = 0.

        Raises
        ------
        ParamError
            When the basis there is singular, which the checker refutes.
        """
        here = self.segment(value)
        side, basis = self.sides(here), self.bases[here]
        nu = self.counts * np.where(side > 0.0, value, value - 1.0)
        nu[basis] = 0.0
        try:
            nu[basis] = np.linalg.solve(self.design[basis].T, -self.design.T @ nu)
        except np.linalg.LinAlgError as error:
            raise ParamError(f"the path's basis at the level {value:g} is singular") from error
        return nu

    def bound_at(self, value: float) -> float:
        """Return y'nu at a level, with the multipliers within their bounds."""
        nu = np.clip(self.dual_at(value), (value - 1.0) * self.counts, value * self.counts)
        return float(self.y @ nu)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each segment: its levels and coefficients (needs pandas)."""
        import pandas as pd

        frame = pd.DataFrame(self.theta, columns=list(self.names))
        frame.insert(0, "low", self.levels[:-1])
        frame.insert(1, "high", self.levels[1:])
        return frame
