"""Where the columns of a linear program rest while they are left out, and which to start with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces

from ..lp.layout import Bounds, LPLayout


@dataclass(frozen=True)
class Rest:
    """The variables at their kinks nearest 0, as values of the columns of a :class:`LPLayout`.

    A column that rests at its lower bound can only rise, one at its upper bound only fall, and one
    between them (a free variable) both.

    Attributes
    ----------
    kink : int array of shape (p,)
        Index of the kink in the arrays of phi.
    owner, slope : int arrays of shape (columns,)
        Variable and slope index of each column of the variables.
    rises, falls : bool arrays of shape (columns,)
    """

    kink: Array
    owner: Array
    slope: Array
    rises: Array
    falls: Array
    _inner: Array
    _origin: Array

    @classmethod
    def of(cls, layout: LPLayout, lam: float) -> Rest:
        """Choose the kinks at lam; the same ones are kept at other values."""
        phi, cut = layout.program.phi, layout.variables
        kink = _nearest_zero(phi, lam)
        piece = np.concatenate([cut.main, cut.fill])
        owner, left, right, side = (a[piece] for a in (cut.owner, cut.left, cut.right, cut.side))
        here = kink[owner]
        above = (right >= 0) & (here >= right)
        below = (left >= 0) & (here <= left) & ~above
        inner = ~(above | below)
        return cls(
            kink=kink,
            owner=owner,
            slope=cut.slope[piece],
            rises=~above,
            falls=~below,
            _inner=np.flatnonzero(inner),
            # A fill is measured from where it starts, a main piece from zero.
            _origin=np.where(side > 0, left, np.where(side < 0, right, -1))[inner],
        )

    def values(self, layout: LPLayout, bounds: Bounds, lam: float) -> Array:
        """Return the values of the resting columns, shape (columns,)."""
        count = len(self.owner)
        low, high = bounds.column_low[:count], bounds.column_high[:count]
        out = np.where(self.rises, low, high)
        if len(self._inner):
            kinks = layout.program.phi.kinks_at(lam)
            owner = self.owner[self._inner]
            origin = np.where(self._origin >= 0, kinks[self._origin], 0.0)
            out[self._inner] = (kinks[self.kink[owner]] - origin) / bounds.scaling.z[owner]
        return out

    def next_column(self, variables: Array, upwards: Array) -> Array:
        """Return the column by which each variable leaves its kink; -1 where there is none."""
        best = np.full((2, len(self.kink)), -1)
        # Slope indices grow with the pieces: the nearest piece above has the smallest.
        rising, falling = np.flatnonzero(self.rises), np.flatnonzero(self.falls)
        rising = rising[np.argsort(-self.slope[rising], kind="stable")]
        falling = falling[np.argsort(self.slope[falling], kind="stable")]
        best[1, self.owner[rising]] = rising
        best[0, self.owner[falling]] = falling
        return np.asarray(best[upwards.astype(np.int64), variables])


def _nearest_zero(pieces: Pieces, lam: float) -> Array:
    size = np.abs(pieces.kinks_at(lam))
    owner = np.repeat(np.arange(len(pieces)), pieces.counts)
    order = np.lexsort((size, owner))
    return np.asarray(order[pieces.ptr[:-1]])


def largest(score: Array, count: int) -> Array:
    """Return the indices of the `count` largest positive scores.

    Parameters
    ----------
    score : array of shape (k,)
    count : int

    Returns
    -------
    int array
        At most `count` indices, in no order.
    """
    candidates = np.flatnonzero(score > 0.0)
    if len(candidates) > count:
        candidates = candidates[np.argpartition(-score[candidates], count - 1)[:count]]
    return candidates


def first_working_set(
    layout: LPLayout, rest: Rest, bounds: Bounds, lam: float, count: int
) -> tuple[Array, Array]:
    r"""Screen columns and rows by what the resting point violates.

    Rows that cost something everywhere (losses) are all taken, of the others the most violated
    ones. The violations and slopes u at the resting point price the
    columns by :math:`|A_j'u|` relative to the slope that they have to overcome, which is the order
    in which the columns of the Dantzig selector and the LAD-lasso enter their paths. Where A
    is symmetric (a Gram matrix, a covariance) each row brings its own column: these keep the
    restricted problem feasible.

    Parameters
    ----------
    layout, rest, bounds : LPLayout, Rest, Bounds
    lam : float
    count : int
        How many columns, and how many rows that can be left out.

    Returns
    -------
    columns, rows : int arrays
    """
    program, z = layout.program, bounds.scaling.z
    theta = program.phi.kinks_at(lam)[rest.kink]
    row = np.zeros(layout.m) if not theta.any() else program.A.matvec(theta)
    activity = row / z[layout.p :]
    violation = np.maximum(bounds.row_low - activity, activity - bounds.row_high)
    optional = layout.optional_rows()
    losses = np.flatnonzero(~optional)
    worst = largest(np.where(optional, violation, 0.0), count)
    if program.A.symmetric:
        columns = rest.next_column(worst, activity[worst] < bounds.row_low[worst])
        return columns[columns >= 0], np.union1d(losses, worst)
    if np.count_nonzero(optional) <= 2 * count:
        worst = np.flatnonzero(optional)
    u = _multipliers(layout, bounds, row, violation, lam)
    # Fewer columns than that are seldom enough to meet the rows' bounds.
    columns = _promising(layout, rest, bounds, u, lam, max(count, 2 * len(worst)))
    return columns, np.union1d(losses, worst)


def _multipliers(
    layout: LPLayout, bounds: Bounds, row: Array, violation: Array, lam: float
) -> Array:
    """Return the slopes of the rows' functions, and outside their domains the violations."""
    psi = layout.program.psi
    below = psi.kinks_at(lam) < np.repeat(row, psi.counts)
    number = np.add.reduceat(below.astype(np.int64), psi.ptr[:-1])
    slope = psi.slopes_at(lam)[psi.slope_ptr[:-1] + number]
    outside = np.isinf(slope)
    worst = violation[outside].max(initial=0.0) or 1.0
    pull = np.sign(slope) * np.maximum(violation, 0.0) / worst * bounds.scaling.v[layout.p :]
    return np.asarray(np.where(outside, pull, slope))


def _promising(
    layout: LPLayout, rest: Rest, bounds: Bounds, u: Array, lam: float, count: int
) -> Array:
    """Return the columns that the multipliers pull at most, relative to their slopes."""
    v = -layout.program.A.rmatvec(u)
    variables = np.arange(layout.p)
    column = rest.next_column(variables, v > 0.0)
    slopes = layout.program.phi.slopes_at(lam)
    against = np.where(v > 0.0, 1.0, -1.0) * slopes[rest.slope[column]]
    pull = np.abs(v) / bounds.scaling.v[: layout.p]
    resists = against > 0.0
    score = np.where(resists, pull / np.where(resists, against, 1.0), np.inf)
    # Where nothing resists the pull itself decides.
    order = np.lexsort((-pull, -score))
    movable = (column[order] >= 0) & (pull[order] > 0.0)
    return np.asarray(column[order[movable][:count]])
