"""The restricted master: some columns and rows of a linear program, in HiGHS."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array

from ..common.outcome import Outcome, Run
from ..lp.layout import Bounds, LPLayout
from .ccg_rest import Rest
from .instance import Instance

_EQUAL = 1e-9
"""A multiplier this close to a slope, in the data's scale, is that slope."""


@dataclass(frozen=True)
class Pair:
    """A primal-dual pair of the restricted problem, evaluated on all coordinates.

    Attributes
    ----------
    theta, nu : arrays of shapes (p,), (m,)
    v : array of shape (p,)
        -A' nu.
    row_violation : array of shape (m,)
        How far each row is outside its main piece, in the data's scale; 0 for rows that are in.
    column_violation : array of shape (columns,)
        How far each column's multiplier pulls it from where it rests, in the data's scale; 0 for
        columns that are in.
    upwards : bool array of shape (m,)
        Which rows are below their main piece.
    values : tuple of arrays
        Values of all columns and rows of the layout, as the solver has them.
    """

    theta: Array
    nu: Array
    v: Array
    row_violation: Array
    column_violation: Array
    upwards: Array
    values: tuple[Array, Array]


class RestrictedMaster:
    """Columns and rows of a layout that are in; they only ever come, and none leaves.

    Parameters
    ----------
    layout : LPLayout
    rest : Rest
        Where the variables are whose columns are out. A row that is out is on its main piece.
    instance : Instance
    lam : float

    Attributes
    ----------
    columns, rows : int arrays
        Indices in the layout, in the order in which HiGHS has them.
    has_column, has_row : bool arrays
    entries : int
        Number of matrix entries.
    feasible : bool
        Whether the last basis is primal feasible still: nothing but columns and costs has changed.
    """

    def __init__(self, layout: LPLayout, rest: Rest, instance: Instance, lam: float) -> None:
        self.layout = layout
        self.rest = rest
        self.instance = instance
        self.columns = np.zeros(0, dtype=np.int64)
        self.rows = np.zeros(0, dtype=np.int64)
        self.has_column = np.zeros(len(rest.owner), dtype=bool)
        self.has_row = np.zeros(layout.m, dtype=bool)
        self.entries = 0
        self.feasible = False
        self._evaluate(lam)

    def _evaluate(self, lam: float) -> None:
        self.lam = lam
        self.bounds = self.layout.bounds(lam)
        self._resting = self.rest.values(self.layout, self.bounds, lam)
        self._fix()

    def _fix(self) -> None:
        """Sum up what the resting columns contribute to the rows' activities."""
        values = np.where(self.has_column, 0.0, self._resting)
        self._fixed = np.zeros(self.layout.m)
        if values.any():
            theta = self.layout.theta(values, self.bounds.scaling)
            self._fixed = self.layout.program.A.matvec(theta) / self.bounds.scaling.z[len(theta) :]

    # ---- what changes

    def move(self, lam: float) -> None:
        """Go to another lam, with the same columns and rows."""
        before = self._own_bounds()
        self._evaluate(lam)
        own = self._own_bounds()
        self.feasible = self.feasible and all(
            np.array_equal(getattr(before, name), getattr(own, name))
            for name in ("column_low", "column_high", "row_low", "row_high")
        )
        self.instance.change_cost(own.cost)
        self.instance.change_columns(own.column_low, own.column_high)
        self.instance.change_rows(own.row_low, own.row_high)

    def _own_bounds(self) -> Bounds:
        bounds, columns, rows = self.bounds, self.columns, self.rows
        return Bounds(
            cost=bounds.cost[columns],
            column_low=bounds.column_low[columns],
            column_high=bounds.column_high[columns],
            row_low=bounds.row_low[rows] - self._fixed[rows],
            row_high=bounds.row_high[rows] - self._fixed[rows],
            scaling=bounds.scaling,
        )

    def add(self, columns: Array, rows: Array) -> bool:
        """Add columns and rows; return whether any of them was new."""
        columns = np.unique(columns)
        columns = columns[~self.has_column[columns]]
        rows = np.unique(rows)
        rows = rows[~self.has_row[rows]]
        self.has_column[columns] = True
        self.has_row[rows] = True
        if self._resting[columns].any():
            self._fix()
            own = self._own_bounds()
            self.instance.change_rows(own.row_low, own.row_high)
        if len(columns):
            block = self._block(self.rows, columns).T
            self._add_columns(columns, block, np.arange(len(self.rows))[None, :])
        if len(rows):
            self.feasible = False
            self._add_rows(rows)
        return len(columns) + len(rows) > 0

    def variables(self) -> Array:
        """Return the variables that have a column in."""
        return np.unique(self.rest.owner[self.has_column])

    def columns_of(self, variables: Array) -> Array:
        """Return all columns of the variables."""
        return np.flatnonzero(np.isin(self.rest.owner, variables))

    def columns_towards(self, theta: Array) -> Array:
        """Return the columns that are elsewhere at theta than where they rest."""
        values = self.layout.columns_at(theta, self.bounds, self.lam)
        return np.flatnonzero(values != self._resting)

    def _block(self, rows: Array, columns: Array) -> Array:
        layout, owner = self.layout, self.rest.owner[columns]
        block = layout.program.A.block(rows, owner)
        scaled = block * layout.row_factor[rows, None] * layout.column_factor[owner]
        return np.asarray(scaled)

    def _add_columns(self, columns: Array, block: Array, places: Array) -> None:
        bounds = self.bounds
        self.instance.call(
            "addCols",
            len(columns),
            bounds.cost[columns],
            bounds.column_low[columns],
            bounds.column_high[columns],
            *self._sparse(block, places),
        )
        self.columns = np.concatenate([self.columns, columns])

    def _add_rows(self, rows: Array) -> None:
        bounds, fixed, cut = self.bounds, self._fixed[rows], self.layout.rows
        own = np.flatnonzero(self.columns < len(self.has_column))
        self.instance.call(
            "addRows",
            len(rows),
            bounds.row_low[rows] - fixed,
            bounds.row_high[rows] - fixed,
            *self._sparse(self._block(rows, self.columns[own]), own[None, :]),
        )
        place = np.full(self.layout.m, -1)
        place[rows] = len(self.rows) + np.arange(len(rows))
        self.rows = np.concatenate([self.rows, rows])
        # The pieces of a row come with it: each is one entry.
        owner = cut.owner[cut.fill]
        fills = np.flatnonzero(place[owner] >= 0)
        if len(fills):
            self._add_columns(
                len(self.has_column) + fills,
                np.full((len(fills), 1), -1.0),
                place[owner[fills], None],
            )

    def _sparse(self, block: Array, places: Array) -> tuple[int, Array, Array, Array]:
        """Return (count, starts, indices, values) of the rows of a block.

        `places` are the indices of its entries, in a shape that is broadcast to the block's.
        """
        kept = block != 0.0
        starts = np.concatenate([[0], np.cumsum(kept.sum(axis=1))])
        self.entries += int(starts[-1])
        return (
            int(starts[-1]),
            starts[:-1].astype(np.int32),
            np.broadcast_to(places, block.shape)[kept].astype(np.int32),
            block[kept],
        )

    def start_from(self, theta: Array, nu: Array) -> None:
        """Take the basis of a pair, where it is one: as many columns between bounds as rows tight.

        HiGHS repairs a basis that is singular.
        """
        layout, bounds, cut = self.layout, self.bounds, self.layout.rows
        size = bounds.scaling.v[layout.p :]
        values = layout.columns_at(theta, bounds, self.lam)
        between = (values > bounds.column_low[: len(values)]) & (
            values < bounds.column_high[: len(values)]
        )
        # A row's multiplier is the slope of the piece that it is on.
        slopes = layout.program.psi.slopes_at(self.lam)
        owner = cut.owner[cut.fill]
        on_fill = np.abs(slopes[cut.slope[cut.fill]] - nu[owner]) <= _EQUAL * size[owner]
        on_main = np.abs(slopes[cut.slope[cut.main]] - nu) <= _EQUAL * size
        columns = np.append(between, on_fill)[self.columns]
        rows = on_main[self.rows]
        if np.count_nonzero(columns) + np.count_nonzero(rows) == len(rows):
            self.instance.start_from(columns, rows)

    # ---- what comes back

    def run(self) -> Run:
        """Solve the restricted problem, from the last basis."""
        run = self.instance.run()
        self.feasible = run.outcome is Outcome.OPTIMAL
        return run

    def read(self) -> Pair:
        """Return the pair of the last run, priced against all columns and rows."""
        layout, bounds, A = self.layout, self.bounds, self.layout.program.A
        point, row_duals = self.instance.point(), self.instance.row_duals()
        assert point is not None and row_duals is not None
        columns = np.append(self._resting, np.zeros(len(bounds.cost) - len(self._resting)))
        columns[self.columns] = point
        duals = np.zeros(layout.m)
        duals[self.rows] = row_duals
        scaling = bounds.scaling
        theta = layout.theta(columns, scaling)
        support = np.flatnonzero(theta)
        activity = A.times(support, theta[support]) / scaling.z[layout.p :]
        tight = np.flatnonzero(duals)
        v = A.transpose_times(tight, duals[tight] * scaling.v[layout.p + tight])
        v -= layout.shift[:, 0] + self.lam * layout.shift[:, 1]
        values = columns.copy(), activity
        return Pair(
            theta=theta,
            nu=layout.nu(duals, scaling, self.lam),
            v=v,
            row_violation=self._rows_outside(activity),
            column_violation=self._columns_pulled(v),
            upwards=activity < bounds.row_low,
            values=values,
        )

    def _rows_outside(self, activity: Array) -> Array:
        bounds = self.bounds
        outside = np.maximum(bounds.row_low - activity, activity - bounds.row_high)
        outside[self.has_row] = 0.0
        # Where the solution is larger than the data its size is the measure.
        return np.asarray(outside / max(1.0, float(np.abs(activity).max(initial=0.0))))

    def _columns_pulled(self, v: Array) -> Array:
        rest, size = self.rest, self.bounds.scaling.v[: self.layout.p]
        slopes = self.layout.program.phi.slopes_at(self.lam)
        up = (v[rest.owner] - slopes[rest.slope]) / size[rest.owner]
        pulled = np.maximum(np.where(rest.rises, up, -np.inf), np.where(rest.falls, -up, -np.inf))
        pulled[self.has_column] = 0.0
        return np.asarray(pulled / max(1.0, float(np.abs(v / size).max(initial=0.0))))

    def codes(self, pair: Pair) -> Array | None:
        """Read the codes of all coordinates from the basis of the last run."""
        basic = self.instance.basic()
        if basic is None:
            return None
        columns = np.zeros(len(self.bounds.cost), dtype=bool)
        rows = np.ones(self.layout.m, dtype=bool)
        columns[self.columns], rows[self.rows] = basic
        codes = self.layout.codes((columns, rows), pair.values, self.lam)
        if codes is None:
            return None
        out = np.ones(self.layout.p, dtype=bool)
        out[self.rest.owner[self.has_column]] = False
        first = self.layout.program.phi.ptr[:-1]
        codes[np.flatnonzero(out)] = (2 * (self.rest.kink - first) + 1)[out]
        return codes
