r"""Multipliers within their slopes near given ones, by enclosures of what equations ask for.

The same question as :func:`~.nearby.exactly_inside` answers in rational arithmetic, whose numbers
grow. Where the rows that may change decide the equations by a margin, an enclosure of the solution
(:mod:`~sparseopt.checking.parametric.evaluation.verified_equations`) is a proof as well, and a
hundred times faster. Where they do not, as on integers, only exact numbers tell.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.checking.parametric.evaluation.singles import singles_of
from sparseopt.checking.parametric.evaluation.verified_equations import (
    Enclosure,
    enclose,
    entries_are_exact,
    residual,
)
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import EPSILON, DoubleDouble, exact_block

_PUT_BACK = 4
"""How often rows whose multipliers would leave their slopes are put to an end of these."""
_ENTRIES, _EXACT = 10**6, 1e-7
"""Entries of the equations, and seconds of each."""
_DIGITS = float(np.finfo(float).eps)
"""What the exact multipliers may be off, relative to each: as much as by their rounding."""


class Inside(NamedTuple):
    """Whether there are such multipliers.

    Attributes
    ----------
    known : bool
        False for what this arithmetic leaves open.
    nu : array of shape (m,), or None
        The multipliers, rounded; None where there are none.
    """

    known: bool
    nu: Array | None = None


class _Ends(NamedTuple):
    """The ends of n slopes, infinite where there are none, and the errors of these numbers."""

    low: DoubleDouble
    high: DoubleDouble
    error: Array

    def part(self, at: Array | slice) -> _Ends:
        return _Ends(self.low[at], self.high[at], self.error[at])

    def outside(self, values: DoubleDouble, error: Array) -> tuple[Array, Array]:
        """Return which values may be below their slopes, and which above; with -error surely."""
        own = self.error + 4.0 * EPSILON * np.abs(values.high)
        error = error + np.where(error < 0.0, -own, own)
        with np.errstate(invalid="ignore"):
            below = (values - self.low).high < error
            above = (self.high - values).high < error
        return below & np.isfinite(self.low.high), above & np.isfinite(self.high.high)

    def known(self) -> bool:
        """Return whether no number is lost to an overflow, and no end is above its other one."""
        with np.errstate(invalid="ignore"):
            lost = (self.high - self.low).high < 0.0
        for end, sign in ((self.low.high, 1.0), (self.high.high, -1.0)):
            lost |= np.isnan(end) | (end == sign * np.inf)
        return bool(np.isfinite(self.error).all() and not lost.any())

    def nearest(self, values: DoubleDouble) -> DoubleDouble:
        """Return the nearest end of each."""
        with np.errstate(invalid="ignore"):
            low = np.abs((values - self.low).high) <= np.abs((self.high - values).high)
        low = np.where(np.isinf(self.high.high), True, low & np.isfinite(self.low.high))
        return DoubleDouble(*_either(low, self.low, self.high))


def enclosed_inside(
    program: PiecewiseLinearProgram,
    pieces: Pieces,
    lam: float,
    nu: Array,
    needed: Array,
    equations: Array,
    free: Array | None,
    near: float,
) -> Inside:
    """Look for multipliers near nu whose v is within the outer slopes at `needed`.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    lam : float
        Infinite for the rates of nu and of the slopes.
    nu : array of shape (m,)
    needed, equations : bool arrays of shape (p,)
    free : bool array of shape (m,), optional
        As for :func:`~.nearby.exactly_inside`.
    near : float
        Multipliers of rows that are not free are put to an end of their slopes this near, as a part
        of the largest.

    Returns
    -------
    Inside
    """
    p, ends = program.A.shape[1], _ends(program, pieces, lam)
    if not ends.known():
        return Inside(False)
    x, unknown = _put_at_ends(nu, ends.part(slice(p, None)), free, near)
    rows, places = np.flatnonzero((x.high != 0.0) | unknown), np.flatnonzero(needed)
    if len(rows) * len(places) > _ENTRIES or not entries_are_exact(program.A):
        return Inside(False)
    spend(_EXACT * len(rows) * len(places))
    block = exact_block(program.A, rows, places).T
    own, of_rows, x = ends.part(places), ends.part(p + rows), x[rows]
    finite = np.isfinite(own.low.high) | np.isfinite(own.high.high)
    asked = equations[places] & finite
    # ends of slopes have rounding errors of their own
    spread = np.abs(block.high) @ of_rows.error + own.error
    v, _ = residual(block, DoubleDouble(np.zeros(len(places))), x)
    target = own.nearest(v)[asked]
    found = _solved(block[asked], -target, x, unknown[rows], of_rows, spread[asked])
    if isinstance(found, Inside):
        return found
    inside = _inside(own.part(~asked), block[~asked], found, spread[~asked])
    if inside is not True:
        return Inside(inside is False)
    out = np.zeros(len(nu))
    out[rows] = found.x.high
    return Inside(True, out)


def _solved(
    equations: DoubleDouble,
    right: DoubleDouble,
    x: DoubleDouble,
    unknown: Array,
    ends: _Ends,
    spread: Array,
) -> Enclosure | Inside:
    """Return multipliers that solve the equations, or what is known of such.

    Rows that would leave their slopes are put to the ends of these, and the others are to do.
    """
    unknown = unknown.copy()
    for _ in range(_PUT_BACK):
        found = enclose(equations, right, x, np.flatnonzero(unknown), spread)
        if found is None:
            return Inside(False)
        below, above = ends.outside(*found)
        outside = (below | above) & unknown
        if not outside.any():
            digits = found.radius <= _DIGITS * np.abs(found.x.high)
            return found if digits.all() else Inside(False)
        x = found.x
        x[outside] = DoubleDouble(*_either(below, ends.low, ends.high))[outside]
        unknown &= ~outside
    return Inside(True)


def _inside(ends: _Ends, block: DoubleDouble, found: Enclosure, spread: Array) -> bool | None:
    """Return whether the multipliers of some variables are inside; None where that is open."""
    v, error = residual(block, DoubleDouble(np.zeros(len(block))), found.x)
    error += np.abs(block.high) @ found.radius * 2.0 + spread
    if not (np.isfinite(v.high) & np.isfinite(error)).all():
        return None
    if np.any(ends.outside(v, -error)):
        return False
    return None if np.any(ends.outside(v, error)) else True


def _ends(program: PiecewiseLinearProgram, pieces: Pieces, lam: float) -> _Ends:
    """Return the outer slopes of all coordinates, or their rates where lam is infinite."""
    p, singles, finite = program.A.shape[1], singles_of(program), np.isfinite(lam)
    ends, error = [], np.zeros(len(pieces))
    for at, sign in ((pieces.slope_ptr[:-1], -1.0), (pieces.slope_ptr[1:] - 1, 1.0)):
        slope, rate = pieces.slope[at], pieces.slope_rate[at]
        there = np.isfinite(slope)
        constant = np.where(there & finite, slope, 0.0)
        end = DoubleDouble(rate) * (lam if finite else 1.0) + constant
        end[~there] = sign * np.inf
        error += 4.0 * EPSILON * (np.abs(constant) + np.abs(rate) * (lam if finite else 1.0))
        ends.append(end)
    low, high = ends
    for end, limit, sign in ((low, singles.low, 1.0), (high, singles.high, -1.0)):
        limited = np.flatnonzero(np.isfinite(limit))
        own = DoubleDouble(limit[limited] if finite else np.zeros(len(limited)))
        with np.errstate(invalid="ignore"):
            nearer = ~(sign * (end[p + limited] - own).high >= 0.0)
        end[p + limited[nearer]] = own[nearer]
    return _Ends(low, high, error)


def _put_at_ends(
    nu: Array, ends: _Ends, free: Array | None, near: float
) -> tuple[DoubleDouble, Array]:
    """Return multipliers at the ends that they are near to, and which may still change."""
    margin, x = near * float(np.abs(nu).max(initial=0.0)), DoubleDouble(nu.copy())
    at_low, at_high = nu - ends.low.high <= margin, ends.high.high - nu <= margin
    unknown = ~(at_low | at_high) if free is None else free.copy()
    moved = (at_low | at_high) & ~unknown
    x[moved] = DoubleDouble(*_either(at_low, ends.low, ends.high))[moved]
    return x, unknown


def _either(first: Array, one: DoubleDouble, other: DoubleDouble) -> tuple[Array, Array]:
    return np.where(first, one.high, other.high), np.where(first, one.low, other.low)
