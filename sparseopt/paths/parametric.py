"""Exact paths and grids of parametric problems: solutions as functions of lam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.paths.base import PathResult
from sparseopt.problems.base import Array
from sparseopt.sketch import curves
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd

Side = Literal["above", "below", "both"]

CURVES, SEGMENTS = 12, 60
"""Coefficients and segments of a small picture."""


@dataclass(frozen=True, eq=False)
class SparseRows:
    """Sparse vectors that are affine in lam, one for each segment.

    Row s is ``value + (lam - lam_s) rate`` at the indices ``index[ptr[s]:ptr[s + 1]]``, where lam_s
    is the segment's lower end, and 0 elsewhere.
    """

    ptr: Array
    index: Array
    value: Array
    rate: Array

    def dense(self, row: int, step: float, length: int) -> Array:
        """Return row `row` at a distance `step` above the segment's lower end, shape (length,)."""
        out = np.zeros(length)
        here = slice(self.ptr[row], self.ptr[row + 1])
        value, rate = self.value[here], self.rate[here]
        # At infinity what does not move stays where it is.
        far = np.where(rate == 0.0, 0.0, np.copysign(np.inf, rate))
        out[self.index[here]] = value + (step * rate if step < np.inf else far)
        return out

    def rows(self, here: slice) -> SparseRows:
        """Return the vectors of consecutive rows, as views."""
        begin, end = self.ptr[here.start], self.ptr[here.stop]
        return SparseRows(
            self.ptr[here.start : here.stop + 1] - begin,
            self.index[begin:end],
            self.value[begin:end],
            self.rate[begin:end],
        )

    def starts(self, rows: Array, length: int) -> Array:
        """Return some rows at their segments' lower ends, joined, shape (len(rows) * length,)."""
        out = np.zeros(len(rows) * length)
        counts = self.ptr[rows + 1] - self.ptr[rows]
        before = np.cumsum(counts) - counts
        at = np.repeat(self.ptr[rows] - before, counts) + np.arange(counts.sum())
        out[self.index[at] + np.repeat(length * np.arange(len(rows)), counts)] = self.value[at]
        return out

    @classmethod
    def stack(cls, rows: Sequence[tuple[Array, Array, Array]]) -> SparseRows:
        """Collect the (index, value, rate) of each segment."""
        empty = np.zeros(0)
        return cls(
            ptr=np.cumsum([0, *(len(row[0]) for row in rows)], dtype=np.int64),
            index=np.concatenate([np.zeros(0, np.int64), *(row[0] for row in rows)]).astype(
                np.int64
            ),
            value=np.concatenate([empty, *(row[1] for row in rows)]),
            rate=np.concatenate([empty, *(row[2] for row in rows)]),
        )


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class ParametricPath(PathResult):
    r"""The exact solution path of a parametric problem.

    Segment s covers ``[low[s], high[s]]``, the first one reaching up to ``high[0]`` (usually
    infinity: above the first knot nothing changes). Within a segment the coefficients and the row
    multipliers are affine in lam and the objective is quadratic; between segments either may jump.

    Attributes
    ----------
    low, high : arrays of shape (S,)
        ``low[s] == high[s + 1]``.
    theta, nu : SparseRows
        Coefficients and row multipliers on each segment.
    objective : array of shape (S, 3)
        ``o0 + o1 step + o2 step**2`` with ``step = lam - low[s]``, in the problem's sense.
    shape : (m, p)
    names : list of str
        Names of the p coefficients.
    """

    low: Array
    high: Array
    theta: SparseRows
    nu: SparseRows
    objective: Array
    shape: tuple[int, int]
    names: Sequence[str]
    stopped_by: str

    kind: ClassVar[str] = "parametric"

    @property
    def knots(self) -> Array:  # type: ignore[override]
        """Decreasing values of lam at which the segments meet; the last is the path's end."""
        if np.isfinite(self.high[0]) and self.high[0] > self.low[0]:
            return np.concatenate([self.high[:1], self.low])
        return self.low

    def sketch(self) -> str:
        """Return the coefficients with the largest values as functions of lam, an SVG element."""
        chosen = np.unique(np.linspace(0, len(self.low) - 1, SEGMENTS).astype(int))
        size = np.zeros(self.shape[1])
        np.maximum.at(size, self.theta.index, np.abs(self.theta.value))
        drawn = [int(j) for j in np.argsort(-size, kind="stable")[:CURVES] if size[j] > 0.0]
        place = np.full(self.shape[1], -1)
        place[drawn] = np.arange(len(drawn))
        ends, values = [], []
        for s in chosen:
            row = self.theta.rows(slice(s, s + 1))
            here = place[row.index] >= 0
            # Both ends of a segment, since coefficients may jump between two.
            for lam in (self.high[s], self.low[s]):
                if np.isfinite(lam):
                    ends.append(lam)
                    values.append(np.zeros(len(drawn)))
                    step = lam - self.low[s]
                    values[-1][place[row.index[here]]] = (row.value + step * row.rate)[here]
        table = np.array(values).reshape(len(ends), len(drawn))
        named = {self.names[j]: table[:, k] for k, j in enumerate(drawn)}
        return curves(ends, named, self.parameter)

    def at(self, value: float, side: Side = "above") -> Any:
        """Return the coefficients at lam, shape (p,), exact anywhere on the path.

        Parameters
        ----------
        value : float
            lam.
        side : {"above", "below", "both"}, default "above"
            At a knot where the coefficients jump: the limit from larger lam, from smaller lam, or
            the pair (above, below). Every one of them is optimal. Elsewhere the two are equal.

        Raises
        ------
        ParamError
            When lam lies outside the range of the path.
        """
        return self._pick(self.theta, self.shape[1], value, side)

    def dual_at(self, value: float, side: Side = "above") -> Any:
        """Return the row multipliers nu at lam, shape (m,); `side` as in :meth:`at`."""
        return self._pick(self.nu, self.shape[0], value, side)

    def objective_at(self, value: float) -> float:
        """Return the optimal objective value at lam (continuous in lam)."""
        s = self._segment(value, "above")
        step = self._step(s, value)
        o = self.objective[s]
        if step == np.inf:
            leading = float(o[2] or o[1])
            return float(np.copysign(np.inf, leading) if leading else o[0])
        return float(o[0] + step * (o[1] + step * o[2]))

    def nonzeros(self) -> Array:
        """Return the number of nonzero coefficients at the lower end of each segment."""
        rows = np.repeat(np.arange(len(self.low)), np.diff(self.theta.ptr))
        return np.bincount(rows[self.theta.value != 0.0], minlength=len(self.low))

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each knot: lam, objective, nonzeros, and the coefficients.

        At a knot where coefficients jump the row holds the limit from above.
        """
        import pandas as pd

        knots = self.knots
        coefficients = np.array([self.at(lam) for lam in knots])
        head = pd.DataFrame(
            {
                "lam": knots,
                "objective": [self.objective_at(lam) for lam in knots],
                "nonzeros": np.count_nonzero(coefficients, axis=1),
            }
        )
        return pd.concat([head, pd.DataFrame(coefficients, columns=list(self.names))], axis=1)

    def _segment(self, lam: float, side: Literal["above", "below"]) -> int:
        top, end = float(self.high[0]), float(self.low[-1])
        if not end <= self._number(lam) <= top:
            raise ParamError(f"lam={lam} lies outside the path, which covers [{end:g}, {top:g}]")
        # low is decreasing: the first segment with low <= lam is the one above a knot.
        s = int(np.searchsorted(-self.low, -lam, side="left"))
        if side == "below" and lam == self.low[s] and s + 1 < len(self.low):
            return s + 1
        return s

    def _step(self, s: int, lam: float) -> float:
        return float(lam - self.low[s])

    def _pick(self, rows: SparseRows, length: int, lam: float, side: Side) -> Any:
        if side not in ("above", "below", "both"):
            raise ParamError(f"side is {side!r}; expected 'above', 'below' or 'both'")
        if side == "both":
            return (
                self._pick(rows, length, lam, "above"),
                self._pick(rows, length, lam, "below"),
            )
        s = self._segment(lam, side)
        return rows.dense(s, self._step(s, lam), length)

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def select(self, by: str = "ebic", problem: Any = None, **options: Any) -> Any: ...

        def plot(self, ax: Any = None, **style: Any) -> Any: ...

        def to_html(self, title: str = "") -> str: ...


@borrows
@dataclass(frozen=True, eq=False, repr=False)
class GridPath(PathResult):
    """Solutions at single values of lam, each with its own multipliers; nothing in between.

    Attributes
    ----------
    knots : array of shape (K,)
        The grid, decreasing.
    theta, nu : arrays of shapes (K, p) and (K, m)
    values, bounds : arrays of shape (K,)
        Objective and proven bound at each.
    """

    knots: Array
    theta: Array
    nu: Array
    values: Array
    bounds: Array
    names: Sequence[str]
    stopped_by: str

    kind: ClassVar[str] = "grid"

    def _row(self, lam: float) -> int:
        hits = np.flatnonzero(self.knots == self._number(lam))
        if len(hits) == 0:
            raise ParamError(f"lam={lam} is not on the grid {self.knots.tolist()}")
        return int(hits[0])

    def at(self, value: float) -> Array:
        """Return the coefficients at a grid value of lam, shape (p,)."""
        return np.asarray(self.theta[self._row(value)])

    def dual_at(self, value: float) -> Array:
        """Return the row multipliers at a grid value of lam, shape (m,)."""
        return np.asarray(self.nu[self._row(value)])

    def objective_at(self, value: float) -> float:
        """Return the objective value at a grid value of lam."""
        return float(self.values[self._row(value)])

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each grid value: lam, objective, nonzeros and the coefficients."""
        import pandas as pd

        head = pd.DataFrame(
            {
                "lam": self.knots,
                "objective": self.values,
                "nonzeros": np.count_nonzero(self.theta, axis=1),
            }
        )
        return pd.concat([head, pd.DataFrame(self.theta, columns=list(self.names))], axis=1)

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...
