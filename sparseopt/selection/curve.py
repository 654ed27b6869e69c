"""Functions of lam that are quadratic between breakpoints, and their exact minima."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from sparseopt.errors import ParamError, SparseOptError
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array

_ABOVE = 0.05
TIE = 1e-12
"""Losses closer than this, relative to the smallest one, are equal up to rounding."""


@dataclass(frozen=True)
class Minimum:
    """Where a curve is smallest.

    Attributes
    ----------
    lam, value : float
    low, high : float
        The values of lam around it for which the curve is as small: both are `lam` unless the
        curve is constant there.
    side : {"above", "below"}
        Where the curve jumps at `lam`: whether the value is the limit from larger lam.
    """

    lam: float
    value: float
    low: float
    high: float
    side: Literal["above", "below"] = "above"


@dataclass(frozen=True, eq=False)
class Curve:
    r"""A piecewise quadratic function of lam, which may jump at its breakpoints.

    Piece c covers ``[low[c], high[c]]``; on it the value is
    :math:`a_0 + a_1 t + a_2 t^2` with :math:`t = \lambda - low_c`. At a breakpoint where the curve
    jumps both one-sided values are values of it: both limits of a path are solutions there.

    Parameters
    ----------
    low : array of shape (C,)
        Decreasing.
    top : float
        The upper end of the first piece; where it is infinite, that piece is constant.
    coefficients : array of shape (C, 3)
    """

    low: Array
    top: float
    coefficients: Array

    @property
    def high(self) -> Array:
        """Upper ends of the pieces, shape (C,)."""
        return np.append(self.top, self.low[:-1])

    @property
    def flat(self) -> Array:
        """Which pieces are constant, shape (C,)."""
        return np.asarray((self.coefficients[:, 1:] == 0.0).all(axis=1))

    @property
    def end(self) -> float:
        """The smallest lam."""
        return float(self.low[-1])

    def __call__(self, lam: Array | float) -> Array:
        """Return the values at lam; at a jump the limit from above, as a path's ``at``."""
        at = np.asarray(lam, dtype=float)
        if not ((at >= self.end) & (at <= self.top)).all():
            raise ParamError(
                f"lam={lam} lies outside the range that was compared, "
                f"which is [{self.end:g}, {self.top:g}]"
            )
        piece = self.piece(at)
        step = at - self.low[piece]
        a = self.coefficients[piece]
        curved = np.where(a[..., 1:].any(axis=-1), step, 0.0)
        return np.asarray(a[..., 0] + curved * (a[..., 1] + curved * a[..., 2]))

    def piece(self, lam: Array | float) -> Array:
        """Return the index of the piece that holds each lam, at a breakpoint the one above."""
        return np.asarray(np.searchsorted(-self.low, -np.asarray(lam), side="left"))

    def rescaled(self, factor: float) -> Self:
        """Return the curve as a function of lam / factor."""
        return type(self)(
            self.low / factor, self.top / factor, self.coefficients * factor ** np.arange(3)
        )

    def on(self, low: Array, top: float) -> Self:
        """Return the same curve with breakpoints at `low` (decreasing), its own among them."""
        piece = self.piece(low)
        shift = low - self.low[piece]
        a = self.coefficients[piece]
        b = np.column_stack(
            [
                a[:, 0] + shift * (a[:, 1] + shift * a[:, 2]),
                a[:, 1] + 2.0 * shift * a[:, 2],
                a[:, 2],
            ]
        )
        return type(self)(low, top, b)

    def minimum(self) -> Minimum:
        """Return the smallest value and the largest lam where it is attained.

        Among values that are equal up to rounding the one with the largest lam counts: the sparser
        model. Where the curve is constant there, lam is the middle of that interval, away from the
        jumps at its ends; or, where it has no upper end, 5% above the lower end of its first piece.
        """
        step, value = self.smallest()
        tie = TIE * abs(float(value.min()))
        return lowest(self.low, self.high, step, value, self.flat, tie)

    def largest_within(self, limit: float) -> float:
        """Return the largest lam with a value of at most `limit`.

        Where the curve is constant there, the middle of the piece, or 5% above the lower end of the
        unbounded one.

        Raises
        ------
        ValueError
            When no value is that small.
        """
        _, value = self.smallest()
        within = np.flatnonzero(value <= limit)
        if len(within) == 0:
            raise ValueError(f"the smallest value is {value.min()}, above {limit}")
        c = int(within[0])
        a0, a1, a2 = (float(a) for a in self.coefficients[c])
        low, high = float(self.low[c]), float(self.high[c])
        if a1 == a2 == 0.0:
            return middle(low, high)
        width = high - low
        if a0 + width * (a1 + width * a2) <= limit:
            return high
        # The upper end is above the limit: right of both roots, or between a concave piece's.
        root = (max if a2 >= 0.0 else min)(_roots(a2, a1, a0 - limit))
        return min(low + max(root, 0.0), high)

    def smallest(self) -> tuple[Array, Array]:
        """Return where each piece is smallest, as a step above its lower end, and its value."""
        a0, a1, a2 = self.coefficients.T
        width = np.where(self.flat, 0.0, self.high - self.low)
        convex = a2 > 0.0
        vertex = np.clip(np.where(convex, -a1, 0.0) / np.where(convex, 2.0 * a2, 1.0), 0.0, width)
        steps = np.stack([width, vertex, np.zeros_like(a0)])
        values = a0 + steps * (a1 + steps * a2)
        # The first of equal values: the upper end of the piece.
        chosen = values.argmin(axis=0)
        pieces = np.arange(len(a0))
        return steps[chosen, pieces], values[chosen, pieces]


def lowest(low: Array, high: Array, step: Array, value: Array, flat: Array, tie: float) -> Minimum:
    """Return the best of the pieces' minima.

    Parameters
    ----------
    low, high : arrays of shape (C,)
        The ends of the pieces, lam decreasing.
    step, value : arrays of shape (C,)
        Where each is smallest, above its lower end, and how small.
    flat : bool array of shape (C,)
        Whether it is constant.
    tie : float
        How far above the smallest value one is that is equal to it up to rounding.
    """
    tied = value <= float(value.min()) + tie
    first = int(np.flatnonzero(tied)[0])
    if not flat[first]:
        # The sum may round to beyond the piece.
        lam = min(float(low[first] + step[first]), float(high[first]))
        side: Literal["above", "below"] = "below" if lam == high[first] else "above"
        return Minimum(lam, float(value[first]), lam, lam, side)
    last = first + int(np.argmin(np.append((tied & flat)[first:], False))) - 1
    below, above = float(low[last]), float(high[first])
    lam = middle(float(low[first]) if math.isinf(above) else below, above)
    return Minimum(lam, float(value[first]), below, above)


def aligned(curves: Sequence[Curve], end: float, top: float, also: float) -> list[Curve]:
    """Return the curves over [end, top] with the breakpoints of all of them, and `also`.

    Parameters
    ----------
    curves : sequence of Curve
    end, top : float
        The range of lam that all of them cover.
    also : float
        One more breakpoint.

    Returns
    -------
    list of Curve
    """
    every = np.append(np.concatenate([curve.low for curve in curves]), also)
    low = np.unique(np.append(every[(every > end) & (every < top)], end))[::-1]
    return [curve.on(low, top) for curve in curves]


def middle(low: float, high: float) -> float:
    """Return a point away from both ends, where the curve may jump.

    Parameters
    ----------
    low, high : float
        Of an infinite `high`, 5% above `low`.
    """
    return low + 0.5 * (high - low) if math.isfinite(high) else low * (1.0 + _ABOVE)


def _roots(a: float, b: float, c: float) -> list[float]:
    """Return the real roots of a t^2 + b t + c, without cancellation."""
    if a == 0.0:
        return [-c / b]
    q = -0.5 * (b + math.copysign(math.sqrt(max(b * b - 4.0 * a * c, 0.0)), b))
    return [q / a] if q == 0.0 else [q / a, c / q]


def mean_curve(
    totals: Sequence[Curve], sizes: Sequence[float], whole: ParametricPath, lam_min: float | None
) -> tuple[list[Curve], Curve]:
    """Return the mean error of all folds, over the range that they share with the whole data.

    Parameters
    ----------
    totals : sequence of Curve
        The error of each fold's test part, summed over its observations.
    sizes : sequence of float
        The weight of each test part.
    whole : ParametricPath
        Of all observations.
    lam_min : float, optional
        Where the range ends, unless it ends above.

    Returns
    -------
    parts : list of Curve
        `totals` over that range, with the breakpoints of all.
    mean : Curve

    Raises
    ------
    SparseOptError
        When the paths have no lam in common.
    """
    end = max(float(whole.low[-1]), lam_min or 0.0, *(curve.end for curve in totals))
    top = min(float(whole.high[0]), *(curve.top for curve in totals))
    if end > top:
        raise SparseOptError(
            f"the paths of the folds have no lam in common: one ends at {end:g}, above {top:g}, "
            "where another begins"
        )
    # Above its first knot the whole data's model is the null model, as those of the folds.
    parts = aligned(totals, end, top, also=float(whole.knots[0]))
    total = np.sum([part.coefficients for part in parts], axis=0)
    return parts, Curve(parts[0].low, top, total / sum(sizes))
