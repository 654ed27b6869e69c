"""Paths of problems that fall apart into independent columns: :class:`ColumnwisePath`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from sparseopt.paths.base import PathResult
from sparseopt.paths.parametric import CURVES, SEGMENTS, ParametricPath, Side, SparseRows
from sparseopt.problems.base import Array
from sparseopt.sketch import curves
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

_LOOKED = 1000
"""Columns among whose entries the largest are sought for a small picture."""


@borrows
@dataclass(frozen=True, eq=False, repr=False)
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

    def sketch(self) -> str:
        """Return the largest entries as functions of lam, an SVG element.

        Those on the diagonal of a square matrix are left out; of many columns some are looked at.
        """
        looked = np.unique(np.linspace(0, len(self.columns) - 1, _LOOKED).astype(int))
        parts = {int(i): self.columns[int(i)] for i in looked}
        rows = [str(name) for name in next(iter(parts.values())).names]
        square = len(rows) == len(self.columns)
        size = np.zeros((len(looked), len(rows)))
        for k, (i, path) in enumerate(parts.items()):
            np.maximum.at(size[k], path.theta.index, np.abs(path.theta.value))
            size[k, i] *= not square
        chosen = [int(e) for e in np.argsort(-size, axis=None, kind="stable")[:CURVES]]
        lam = self.low[np.linspace(0, len(self.low) - 1, SEGMENTS).astype(int)]
        values = {}
        for k, row in (divmod(e, len(rows)) for e in chosen if size.flat[e] > 0.0):
            i = int(looked[k])
            name = f"{rows[row]}, {rows[i] if square else i}"
            values[name] = [parts[i].at(float(each))[row] for each in lam]
        return curves(lam, values, self.parameter)

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

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...
        def select(self, by: str = "ebic", problem: Any = None, **options: Any) -> Any: ...


@dataclass(frozen=True, eq=False)
class StackedPaths(Sequence[ParametricPath]):
    """Paths of the same shape whose segments lie one after another in the same arrays.

    Path i has the segments ``ptr[i]:ptr[i + 1]``, at least one. The other attributes are those of
    :class:`~sparseopt.paths.parametric.ParametricPath`, of all segments; `stopped_by` has one
    entry for each path.
    """

    ptr: Array
    low: Array
    high: Array
    theta: SparseRows
    nu: SparseRows
    objective: Array
    shape: tuple[int, int]
    names: Sequence[str]
    stopped_by: Sequence[str]

    def __len__(self) -> int:
        return len(self.stopped_by)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return [self[j] for j in range(*i.indices(len(self)))]
        i = range(len(self))[i]
        here = slice(int(self.ptr[i]), int(self.ptr[i + 1]))
        return ParametricPath(
            low=self.low[here],
            high=self.high[here],
            theta=self.theta.rows(here),
            nu=self.nu.rows(here),
            objective=self.objective[here],
            shape=self.shape,
            names=self.names,
            stopped_by=self.stopped_by[i],
        )

    def ends(self) -> tuple[Array, Array, Array]:
        """Return the solutions and the row multipliers of all paths at their ends, and the lam.

        Returns
        -------
        theta, nu : arrays of shape (paths * p,) and (paths * m,)
        lam : array of shape (paths,)
        """
        m, p = self.shape
        last = self.ptr[1:] - 1
        return self.theta.starts(last, p), self.nu.starts(last, m), self.low[last]


def _over(path: ParametricPath, knots: Array, value: Any) -> Array:
    return np.array([value(float(lam)) for lam in knots])


def _joined(parts: list[Any], side: Side) -> Any:
    if side == "both":
        above, below = zip(*parts, strict=True)
        return np.concatenate(above), np.concatenate(below)
    return np.concatenate(parts)
