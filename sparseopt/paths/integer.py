"""What paths over whole numbers share: budgets K, numbers of nonzeros d."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.base import PathResult
from sparseopt.problems.base import Array
from sparseopt.sketch import curves

if TYPE_CHECKING:
    import pandas as pd


_POINTS = 120
"""Points of a small picture."""


class IntegerPath(PathResult):
    """A path with an answer and a bound for each of some whole numbers, and none between them.

    Attributes
    ----------
    objective, bound : arrays of shape (B,)
        The value of the answer at each knot, and a proven bound on the optimum.
    certified : bool array of shape (B,)
    """

    objective: Array
    bound: Array
    certified: Array

    @property
    @abstractmethod
    def knots(self) -> Array:  # type: ignore[override]
        """The whole numbers, increasing."""

    @property
    def gap(self) -> Array:
        """What is between objective and bound, relative to the larger of the two, shape (B,).

        Infinite where nothing is proven.
        """
        size = np.maximum(np.maximum(np.abs(self.objective), np.abs(self.bound)), 1e-10)
        known, gap = np.isfinite(size), np.full(len(size), np.inf)
        gap[known] = np.abs(self.objective[known] - self.bound[known]) / size[known]
        return gap

    def sketch(self) -> str:
        """Return the objective as a function of the whole number, an SVG element."""
        chosen = np.unique(np.linspace(0, len(self.knots) - 1, _POINTS).astype(int))
        return curves(self.knots[chosen], {"objective": self.objective[chosen]}, self.parameter)

    def objective_at(self, value: float) -> float:
        """Return the objective value at a knot."""
        return float(self.objective[self._place(value)])

    def bound_at(self, value: float) -> float:
        """Return the proven bound at a knot."""
        return float(self.bound[self._place(value)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: the knot, objective, bound, gap, certified."""
        import pandas as pd

        names = ("objective", "bound", "gap", "certified")
        columns: dict[str, Any] = {name: getattr(self, name) for name in names}
        return pd.DataFrame({self.parameter: self.knots, **columns})

    def _place(self, value: float) -> int:
        knots = self.knots
        asked = self._number(value)
        place = int(np.searchsorted(knots, asked))
        if place == len(knots) or knots[place] != asked:
            raise ParamError(
                f"{self.parameter} = {value} is not on the path, which has the integers from "
                f"{int(knots[0])} to {int(knots[-1])}"
            )
        return place
