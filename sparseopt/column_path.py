"""Paths of problems that fall apart into independent columns: :class:`ColumnwisePath`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.path import ParametricPath, PathResult, Side
from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["ColumnwisePath"]


@dataclass(frozen=True, eq=False)
class ColumnwisePath(PathResult):
    """One exact path for each column of a matrix problem; all have the same end.

    A solution is the vector of all columns one after another, as in the problem's canonical form.
    The knots are those of all columns together.

    Attributes
    ----------
    columns : sequence of ParametricPath
    stopped_by : str
        Of the column that ended first.
    """

    columns: Sequence[ParametricPath]
    stopped_by: str

    kind: ClassVar[str] = "columnwise"

    @property
    def low(self) -> Array:
        """Decreasing values of lam at which some column has a knot, down to the common end."""
        end = max(float(path.low[-1]) for path in self.columns)
        every = np.concatenate([path.low for path in self.columns])
        return np.unique(every[every >= end])[::-1]

    @property
    def knots(self) -> Array:  # type: ignore[override]
        """Decreasing values of lam at which some column has a knot; the last is the path's end."""
        return self.low

    def at(self, value: float, side: Side = "above") -> Any:
        """Return the coefficients of all columns at lam, shape (p,); see ParametricPath.at."""
        return _joined([path.at(value, side) for path in self.columns], side)

    def matrix_at(self, value: float) -> Array:
        """Return the solution at lam as a matrix with these columns."""
        return np.column_stack([path.at(value) for path in self.columns])

    def dual_at(self, value: float, side: Side = "above") -> Any:
        """Return the row multipliers of all columns at lam, shape (m,)."""
        return _joined([path.dual_at(value, side) for path in self.columns], side)

    def objective_at(self, value: float) -> float:
        """Return the sum of the columns' objective values at lam."""
        return float(sum(path.objective_at(value) for path in self.columns))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: lam, objective and the number of nonzeros."""
        import pandas as pd

        knots = self.knots
        return pd.DataFrame(
            {
                "lam": knots,
                "objective": sum(_over(path, knots, path.objective_at) for path in self.columns),
                "nonzeros": sum(
                    _over(path, knots, lambda lam, path=path: np.count_nonzero(path.at(lam)))
                    for path in self.columns
                ),
            }
        )


def _over(path: ParametricPath, knots: Array, value: Any) -> Array:
    return np.array([value(float(lam)) for lam in knots])


def _joined(parts: list[Any], side: Side) -> Any:
    if side == "both":
        above, below = zip(*parts, strict=True)
        return np.concatenate(above), np.concatenate(below)
    return np.concatenate(parts)
