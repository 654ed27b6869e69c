r"""A parametric problem at one lam as the arrays of one linear program, and its basis read back.

Every function f of the general form is cut into its linear pieces. One of them, the **main**
piece, is the variable itself (or the row's activity) between bounds; each other finite piece is a
**fill** column that starts at an end of the main piece and reaches to the piece's far end:

.. math:: z = \text{main} + \sum_k \delta_k, \qquad \delta_k \in [0, l_k] \text{ or } [-l_k, 0],

with the piece's slope as its cost. Convexity makes the order of filling automatic. The main slope
of a row is moved to the costs of the variables (:math:`s z_i = s A_i \theta`). So every row of the
LP has exactly one logical, and at most one column of each coordinate can be basic: an LP basis is
a basis of the general form, with the basic coordinates on pieces and the others at kinks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

from ..common.program import Program


@dataclass(frozen=True)
class Scaling:
    """Sizes of the coordinates z = (theta, A theta) and of their multipliers v at one lam.

    In the LP every coordinate is divided by `z`, every multiplier by `v`, and the objective by
    `objective`, so that the solver's absolute tolerances mean the same for all data.
    """

    z: Array
    v: Array
    objective: float


@dataclass(frozen=True)
class Bounds:
    """What changes with lam: costs and bounds of the columns, bounds of the rows (scaled)."""

    cost: Array
    column_low: Array
    column_high: Array
    row_low: Array
    row_high: Array
    scaling: Scaling

    def program(self, matrix: sp.csc_array) -> Program:
        """Return the linear program with these costs and bounds."""
        return Program(
            cost=self.cost,
            low=self.column_low,
            high=self.column_high,
            matrix=matrix,
            row_low=self.row_low,
            row_high=self.row_high,
        )


@dataclass(frozen=True)
class Cut:
    """The linear pieces of `n` functions; -1 stands for "no kink on this side".

    `main` has one piece for each function, `fill` the others (`owner` says whose). `left` and
    `right` are indices of kinks, `slope` of slopes, in the arrays of Pieces; `last` is the last
    original slope that was merged into the piece.
    """

    owner: Array
    left: Array
    right: Array
    slope: Array
    last: Array
    side: Array
    main: Array
    fill: Array


def _cut(pieces: Pieces, lam: float | None) -> Cut:
    """Cut functions into pieces, joining neighbours of equal slope.

    With a `lam`, slopes that are equal there are joined; without, those equal at every lam.
    """
    n = len(pieces)
    function = np.repeat(np.arange(n), pieces.counts)
    kinks = np.arange(len(pieces.kink))
    before, after = kinks + function, kinks + function + 1
    if lam is None:
        real = (pieces.slope[before] != pieces.slope[after]) | (
            pieces.slope_rate[before] != pieces.slope_rate[after]
        )
    else:
        slopes = pieces.slopes_at(lam)
        real = slopes[before] != slopes[after]
    real_kinks = kinks[real]
    owner = np.concatenate([np.arange(n), function[real]])
    left = np.concatenate([np.full(n, -1), real_kinks])
    slope = np.concatenate([pieces.slope_ptr[:-1], after[real]])
    order = np.lexsort((left, owner))
    owner, left, slope = owner[order], left[order], slope[order]
    following = np.append(owner[1:] == owner[:-1], False)
    right = np.where(following, np.append(left[1:], -1), -1)
    last = np.where(following, np.append(slope[1:] - 1, -1), pieces.slope_ptr[owner + 1] - 1)
    keep = np.isfinite(pieces.slope[slope])
    owner, left, right, slope, last = (a[keep] for a in (owner, left, right, slope, last))
    flat = (pieces.slope[slope] == 0.0) & (pieces.slope_rate[slope] == 0.0)
    rank = np.lexsort((-(2 * flat + (left >= 0)), owner))
    main = rank[np.searchsorted(owner[rank], np.arange(n))]
    side = np.sign(np.arange(len(owner)) - main[owner])
    return Cut(owner, left, right, slope, last, side, main, np.flatnonzero(side != 0))


class LPLayout:
    """The columns and rows of a program's LP, and their bounds at any lam; no matrix.

    The columns are the main pieces of the variables (column j is variable j), the fills of the
    variables, and the fills of the rows; the rows are those of A.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    lam : float, optional
        Lay it out for this value alone: there slopes may coincide (lam abs(z) at lam = 0), and
        pieces of equal slope have to be one.
    """

    def __init__(self, program: PiecewiseLinearProgram, lam: float | None) -> None:
        self.program = program
        self.m, self.p = program.A.shape
        self.variables = _cut(program.phi, lam)
        self.rows = _cut(program.psi, lam)
        self.row_factor, self.column_factor = program.A.scales()
        self.shift = np.zeros((self.p, 2))
        main = self.rows.slope[self.rows.main]
        slopes = np.column_stack([program.psi.slope[main], program.psi.slope_rate[main]])
        if slopes.any():
            self.shift = program.A.rmatvec(slopes)

    def fits(self, lam: float) -> bool:
        """Return whether the same neighbouring pieces have equal slopes at lam."""
        return all(
            len(_cut(pieces, lam).owner) == len(cut.owner)
            for pieces, cut in (
                (self.program.phi, self.variables),
                (self.program.psi, self.rows),
            )
        )

    def optional_rows(self) -> Array:
        """Return for which rows the main piece costs nothing: they can be left out, as a bound."""
        psi, slope = self.program.psi, self.rows.slope[self.rows.main]
        return np.asarray((psi.slope[slope] == 0.0) & (psi.slope_rate[slope] == 0.0))

    # ---- to the LP

    def scaling(self, lam: float) -> Scaling:
        """Measure the kinks and slopes at lam."""
        program = self.program
        z_factor = np.concatenate([self.column_factor, 1.0 / self.row_factor])
        kinks = np.zeros(1)
        slopes = np.zeros(1)
        for pieces, factor in (
            (program.phi, z_factor[: self.p]),
            (program.psi, z_factor[self.p :]),
        ):
            counts = pieces.counts
            kinks = np.append(kinks, np.abs(pieces.kinks_at(lam)) / np.repeat(factor, counts))
            slope = np.abs(pieces.slopes_at(lam)) * np.repeat(factor, counts + 1)
            slopes = np.append(slopes, slope[np.isfinite(slope)])
        size = kinks.max() or 1.0
        steep = slopes.max() or 1.0
        return Scaling(z=size * z_factor, v=steep / z_factor, objective=size * steep)

    def bounds(self, lam: float) -> Bounds:
        """Return the costs and bounds at lam."""
        scaling = self.scaling(lam)
        z, v = scaling.z, scaling.v
        variables, rows = self.variables, self.rows
        phi_slopes, psi_slopes = (f.slopes_at(lam) for f in (self.program.phi, self.program.psi))
        shift = self.shift[:, 0] + lam * self.shift[:, 1]
        owner = variables.owner[variables.fill]
        row_owner = rows.owner[rows.fill]
        row_cost = psi_slopes[rows.slope[rows.fill]] - psi_slopes[rows.slope[rows.main]][row_owner]
        low, high = _reach(self.program.phi, variables, lam)
        row_low, row_high = _reach(self.program.psi, rows, lam)
        variable = np.concatenate([variables.main, variables.fill])
        scale = z[: self.p][variables.owner[variable]]
        row_scale = z[self.p :][row_owner]
        return Bounds(
            cost=np.concatenate(
                [
                    (phi_slopes[variables.slope[variables.main]] + shift) / v[: self.p],
                    (phi_slopes[variables.slope[variables.fill]] + shift[owner])
                    / v[: self.p][owner],
                    row_cost / v[self.p :][row_owner],
                ]
            ),
            column_low=np.concatenate([low[variable] / scale, row_low[rows.fill] / row_scale]),
            column_high=np.concatenate([high[variable] / scale, row_high[rows.fill] / row_scale]),
            row_low=row_low[rows.main] / z[self.p :],
            row_high=row_high[rows.main] / z[self.p :],
            scaling=scaling,
        )

    def columns_at(self, theta: Array, bounds: Bounds, lam: float) -> Array:
        """Return the values of the variables' columns at theta; the inverse of :meth:`theta`."""
        cut, count = self.variables, self.p + len(self.variables.fill)
        kinks = self.program.phi.kinks_at(lam)
        piece = np.concatenate([cut.main, cut.fill])
        owner, side = cut.owner[piece], cut.side[piece]
        # A fill is measured from the end of the piece where it starts.
        start = kinks[np.where(side > 0, cut.left[piece], cut.right[piece])]
        length = (theta[owner] - np.where(side == 0, 0.0, start)) / bounds.scaling.z[owner]
        return np.asarray(np.clip(length, bounds.column_low[:count], bounds.column_high[:count]))

    # ---- and back

    def theta(self, columns: Array, scaling: Scaling) -> Array:
        """Return the coefficients from the values of the LP's columns."""
        owner = self.variables.owner[self.variables.fill]
        total = columns[: self.p] + np.bincount(
            owner, columns[self.p : self.p + len(owner)], minlength=self.p
        )
        return np.asarray(total * scaling.z[: self.p])

    def nu(self, row_duals: Array, scaling: Scaling, lam: float) -> Array:
        """Return the row multipliers from the duals of the LP's rows."""
        main = self.program.psi.slopes_at(lam)[self.rows.slope[self.rows.main]]
        return np.asarray(main - row_duals[: self.m] * scaling.v[self.p :])

    def codes(
        self, basic: tuple[Array, Array], values: tuple[Array, Array], lam: float
    ) -> Array | None:
        """Read the basis codes of the general form from an LP basis.

        Parameters
        ----------
        basic : bool arrays
            Which columns and which rows are basic.
        values : float arrays
            Values of the columns and of the rows.
        lam : float

        Returns
        -------
        codes : int16 array of shape (p + m,), or None
            None where the basis is none of the general form (a solver's presolve may leave an
            auxiliary column out of it).
        """
        bounds = self.bounds(lam)
        columns = _Places(basic[0], values[0], bounds.column_low, bounds.column_high)
        rows = _Places(basic[1], values[1], bounds.row_low, bounds.row_high)
        first, second = self.p, self.p + len(self.variables.fill)
        third = second + len(self.rows.fill)
        program, z = self.program, bounds.scaling.z
        codes = np.concatenate(
            [
                _read(
                    program.phi,
                    self.variables,
                    columns.part(0, first),
                    columns.part(first, second),
                    z[: self.p],
                    lam,
                ),
                _read(
                    program.psi,
                    self.rows,
                    rows.part(0, self.m),
                    columns.part(second, third),
                    z[self.p :],
                    lam,
                ),
            ]
        )
        return codes if np.count_nonzero(codes & 1) == self.p else None


def _reach(pieces: Pieces, cut: Cut, lam: float) -> tuple[Array, Array]:
    """Return bounds of each piece's column: its ends for a main piece, its length for a fill."""
    kinks = pieces.kinks_at(lam)
    left = np.where(cut.left >= 0, kinks[cut.left], -np.inf)
    right = np.where(cut.right >= 0, kinks[cut.right], np.inf)
    length = np.maximum(right - left, 0.0)
    low = np.where(cut.side == 0, left, np.where(cut.side < 0, -length, 0.0))
    high = np.where(cut.side == 0, np.maximum(left, right), np.where(cut.side > 0, length, 0.0))
    return low, high


@dataclass(frozen=True)
class _Places:
    """Where the columns (or rows) of an LP are: in the basis or not, value and bounds."""

    basic: Array
    value: Array
    low: Array
    high: Array

    def part(self, begin: int, end: int) -> _Places:
        """Return consecutive ones."""
        here = slice(begin, end)
        return _Places(self.basic[here], self.value[here], self.low[here], self.high[here])


def _read(
    pieces: Pieces, cut: Cut, main: _Places, fill: _Places, scale: Array, lam: float
) -> Array:
    """Return the codes of the variables, or of the rows, from their main and fill columns."""
    n = len(pieces)
    owner = cut.owner[cut.fill]
    # At a kink: the far end of the outermost full piece, or the end of the main piece.
    at_high = np.abs(main.value - main.high) <= np.abs(main.value - main.low)
    kink = np.where(at_high, cut.right[cut.main], cut.left[cut.main])
    kink = np.where(kink >= 0, kink, pieces.ptr[:-1])
    far = np.where(cut.side[cut.fill] > 0, fill.high, fill.low)
    full = ~fill.basic & (np.abs(fill.value - far) < np.abs(fill.value))
    for side, target in ((1, cut.right), (-1, cut.left)):
        here = full & (cut.side[cut.fill] == side)
        # In the order of the kinks, so that the outermost one is written last.
        order = np.flatnonzero(here)[::side]
        kink[owner[order]] = target[cut.fill[order]]
    codes = 2 * (kink - pieces.ptr[:-1]) + 1
    # On a piece: the basic column's, and among pieces that were joined the one that holds z.
    piece = np.full(n, -1)
    piece[main.basic] = cut.main[main.basic]
    piece[owner[fill.basic]] = cut.fill[fill.basic]
    on = np.flatnonzero(piece >= 0)
    z = scale * (main.value + np.bincount(owner, fill.value, minlength=n))
    begin = cut.slope[piece[on]] - pieces.slope_ptr[on]
    span = cut.last[piece[on]] - cut.slope[piece[on]]
    kinks = pieces.kinks_at(lam)
    number = begin.copy()
    for k in range(int(span.max(initial=0))):
        joined = np.flatnonzero(span > k)
        beyond = z[on[joined]] > kinks[pieces.ptr[on[joined]] + begin[joined] + k]
        number[joined] += beyond
    codes[on] = 2 * number
    return np.asarray(codes, dtype=np.int16)
