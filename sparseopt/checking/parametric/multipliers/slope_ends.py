"""The ends between which multipliers are, in 106 bits with bounds of their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.checking.parametric.evaluation.singles import singles_of
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.proofs.double_double import EPSILON, DoubleDouble


class SlopeEnds(NamedTuple):
    """The outer slopes of n coordinates, infinite where there are none.

    Attributes
    ----------
    low, high : DoubleDouble of shape (n,)
    error : array of shape (n,)
        How far these numbers are from the exact ones, at most.
    """

    low: DoubleDouble
    high: DoubleDouble
    error: Array

    def part(self, at: Array | slice) -> SlopeEnds:
        """Return those of some coordinates."""
        return SlopeEnds(self.low[at], self.high[at], self.error[at])

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
        return self.chosen(low)

    def chosen(self, lower: Array) -> DoubleDouble:
        """Return the lower ends where that is asked for, and the upper ones elsewhere."""
        return DoubleDouble(
            np.where(lower, self.low.high, self.high.high),
            np.where(lower, self.low.low, self.high.low),
        )

    def put(self, values: Array, free: Array | None, near: float) -> tuple[DoubleDouble, Array]:
        """Return values at the ends that they are near to, and which may still change.

        Parameters
        ----------
        values : array of shape (n,)
        free : bool array of shape (n,), optional
            Those that may change, and stay. Default: those that are not near an end.
        near : float
            As a part of the largest.

        Returns
        -------
        DoubleDouble of shape (n,), bool array of shape (n,)
        """
        margin, x = near * float(np.abs(values).max(initial=0.0)), DoubleDouble(values.copy())
        at_low, at_high = values - self.low.high <= margin, self.high.high - values <= margin
        unknown = ~(at_low | at_high) if free is None else free.copy()
        moved = (at_low | at_high) & ~unknown
        x[moved] = self.chosen(at_low)[moved]
        return x, unknown


def slope_ends(program: PiecewiseLinearProgram, pieces: Pieces, lam: float) -> SlopeEnds:
    """Return the outer slopes of all coordinates, or their rates where lam is infinite.

    Those of rows are also within what variables in one row only let them be.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi, of p + m coordinates.
    lam : float

    Returns
    -------
    SlopeEnds
    """
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
    return SlopeEnds(low, high, error)
