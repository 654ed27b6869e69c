r"""Multipliers of a path's segments at the ends of their slopes, where rounding decides.

The conditions of :mod:`.conditions` hold up to a part of their scale. What is outside the *outer*
slopes of a coordinate, rounding errors included, must not cost more than the gap allows
(:mod:`.reach`); where nothing bounds that, multipliers near those of the basis must be inside
exactly. They are so between the ends of a segment if they are at both, since the set of all
(nu, lam) within the slopes is convex. At a knot, which is rounded, the basis of either side will
do.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np

from sparseopt.checking.parametric.bases import Bases
from sparseopt.checking.parametric.layout import Layout
from sparseopt.checking.parametric.objectives import Quadratics
from sparseopt.checking.parametric.point import dual_point, offset_at
from sparseopt.checking.parametric.rational import Budget
from sparseopt.checking.parametric.reach import (
    bounds_of_variables,
    charge_of,
    common_bounds,
    exactly_inside,
    pushed_inside,
)
from sparseopt.checking.parametric.units import Units
from sparseopt.checking.tolerances import NOISE, SEGMENT, SUMMATION
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_SEVERAL = 4
"""Ends of segments from which bounds are sought for all of a chunk at once."""


@dataclass(frozen=True, eq=False)
class _Open:
    """Multipliers at one end of a segment that must be inside exactly."""

    segment: int
    lam: float
    nu: Array
    needed: Array
    enough: float = np.inf
    """What they may cost, at a finite lam."""


class PathMultipliers:
    """Collects what is open while the segments pass by, and settles it at the end.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    layout : Layout
        The bases of the path.
    units : Units
    rel_gap : float
        The gap that was asked for, relative to the objective.
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        pieces: Pieces,
        layout: Layout,
        units: Units,
        rel_gap: float,
    ) -> None:
        self._program, self._pieces, self._units = program, pieces, units
        self._rel_gap = rel_gap
        first, last = pieces.slope_ptr[:-1], pieces.slope_ptr[1:] - 1
        self._left = pieces.slope[first], pieces.slope_rate[first]
        self._right = pieces.slope[last], pieces.slope_rate[last]
        kinks = np.maximum.reduceat(np.abs(pieces.kink), pieces.ptr[:-1])
        rates = np.maximum.reduceat(np.abs(pieces.kink_rate), pieces.ptr[:-1])
        self._kinks = kinks, rates
        inner = np.ones(len(pieces.slope), dtype=bool)
        inner[first] = inner[last] = False
        self._nonnegative = bool(
            (pieces.slope[inner] >= 0.0).all() and (pieces.slope_rate[inner] >= 0.0).all()
        )
        self._open: list[_Open] = []
        self._layout = layout
        p = program.A.shape[1]
        ends = (*self._left, *self._right)
        flat = ~np.any([part[:p] for part in ends], axis=0)
        self.unpriced = np.flatnonzero(flat)
        """Variables whose outer slopes are zero at all lam, such as intercepts."""
        self.priced: Array | None = None
        """Outer slopes and largest kinks of all variables, constants and rates, shape (p, 6), those
        of the former infinite; None where some function has no least value."""
        if self._nonnegative and all(
            (sign * part >= 0.0).all() for part, sign in zip(ends, (-1, -1, 1, 1), strict=True)
        ):
            self.priced = np.stack([part[:p] for part in (*ends, *self._kinks)], axis=1)
            self.priced[flat, 0], self.priced[flat, 2] = -np.inf, np.inf

    def collect(self, here: Array, bases: Bases, low: Array, high: Array, sums: Quadratics) -> None:
        """Look at both ends of each of the segments `here`."""
        finite, exact = np.isfinite(high), bases.exact
        step = np.where(finite, high - low, 0.0)
        for lam, length in ((low, np.zeros(len(low))), (np.where(finite, high, low), step)):
            v, nu = (
                part + length[:, None] * rate if length.any() else part
                for part, rate in (bases.v, bases.nu)
            )
            value = sums.value[0] + length * (sums.value[1] + length * sums.value[2])
            dear = [
                at
                for at in np.flatnonzero(~self._cheap(lam, v, nu, value)).tolist()
                if not (exact[at] and self._inside(bases.on_piece[at], float(lam[at]), v[at]))
            ]
            known = None
            if len(dear) >= _SEVERAL:
                lams = [float(lam[at]) for at in dear]
                values = [
                    float(value[at]) - offset_at(self._program, one)[0]
                    for at, one in zip(dear, lams, strict=True)
                ]
                known = common_bounds(self._program, self._pieces, lams, values)
            for at in dear:
                self._at(int(here[at]), float(lam[at]), nu[at], float(value[at]), known)
        for at in np.flatnonzero(~finite).tolist():
            self._endless(int(here[at]), bases.v[1][at], bases.nu[1][at])

    def _inside(self, columns: Array, lam: float, v: Array) -> bool:
        """Return whether multipliers computed in 106 bits are within the outer slopes.

        Those of variables on pieces are slopes by the equations of the basis; the others may be
        outside by what the rounding of lam and of themselves does.
        """
        p = len(columns)
        left, right = (part[0][:p] + lam * part[1][:p] for part in (self._left, self._right))
        rounding = 4.0 * np.finfo(float).eps
        with np.errstate(invalid="ignore"):
            under = left - v[:p] > rounding * (np.abs(v[:p]) + np.abs(left))
            over = v[:p] - right > rounding * (np.abs(v[:p]) + np.abs(right))
        return not ((under | over) & ~columns).any()

    def _cheap(self, lam: Array, v: Array, nu: Array, value: Array) -> Array:
        """Return for each segment whether a coarse bound of all charges is small enough."""
        if not self._nonnegative:
            return np.zeros(len(lam), dtype=bool)
        p = v.shape[1] - nu.shape[1]
        left, right = (_at(lam, *line) for line in (self._left, self._right))
        bounded = ((left <= 0.0) & (right >= 0.0)).all(axis=1)
        slopes = np.minimum(-left, right)
        left, right, slope = left[:, :p], right[:, :p], slopes[:, :p]
        finite = np.where(np.isfinite(slope), slope, 0.0)
        excess = self._program.A.quick_abs_rmatvec(np.abs(nu))
        excess += finite
        excess *= self.error(nu)[:, None]
        excess += np.maximum(left - v[:, :p], v[:, :p] - right)
        np.maximum(excess, 0.0, out=excess)
        kinks = _at(lam, *self._kinks)
        enough = self._enough(lam, value)
        room = np.maximum(value - self._offsets(lam), 0.0)
        # All costs together are within the room: sum e z <= max(e / s) sum s z. Few multipliers
        # are near an end of their slopes.
        segment, at = np.divmod(np.flatnonzero(excess), p)
        amount, over = excess[segment, at], np.broadcast_to(slope, excess.shape)[segment, at]
        free = over == 0.0
        rate, charge = np.zeros(len(lam)), np.zeros(len(lam))
        np.maximum.at(rate, segment[~free], amount[~free] / over[~free])
        charge += rate * (room + (finite * kinks[:, :p]).sum(axis=1))
        if free.any():
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = bounds_of_variables(self._program, kinks + room[:, None] / slopes)
            if reach is None:
                charge[segment[free]] = np.nan
            else:
                np.add.at(charge, segment[free], (amount * reach[segment, at])[free])
        return np.asarray(bounded & (charge <= enough))

    def affordable(
        self, lam: Array, value: Array, rate: Array, cost: Array, amounts: Array
    ) -> Array:
        """Return for each of q points whether a coarse bound of all charges is small enough.

        Parameters
        ----------
        lam, value : arrays of shape (q,)
            With the objective.
        rate : array of shape (q,)
            The largest ratio of a multiplier's excess to the smaller of its outer slopes.
        cost : array of shape (q,)
            The sum of these slopes times the largest kinks.
        amounts : array of shape (q, u)
            The excess of the multipliers of the variables :attr:`unpriced`.

        Returns
        -------
        bool array of shape (q,)
        """
        enough = self._enough(lam, value)
        room = np.maximum(value - self._offsets(lam), 0.0)
        charge = rate * (room + cost)
        if amounts.any():
            left, right = (_at(lam, *line) for line in (self._left, self._right))
            kinks, slopes = _at(lam, *self._kinks), np.minimum(-left, right)
            with np.errstate(divide="ignore", invalid="ignore"):
                reach = bounds_of_variables(self._program, kinks + room[:, None] / slopes)
            if reach is None:
                ends = lam.tolist(), (value - self._offsets(lam)).tolist()
                reach = common_bounds(self._program, self._pieces, *ends)[None]
            with np.errstate(invalid="ignore"):
                charge += (amounts * reach[:, self.unpriced]).sum(axis=1)
        return np.asarray(charge <= enough)

    def _offsets(self, lam: Array) -> Array:
        constant, rate, curve = self._program.offset
        return np.asarray(constant + lam * (rate + lam * curve))

    def error(self, nu: Array) -> Array:
        """Return the relative rounding errors of A'nu for the rows of nu, by the terms it has.

        Parameters
        ----------
        nu : array of shape (q, m)
            All of its columns, or those that are not zero.

        Returns
        -------
        array of shape (q,)
        """
        terms = np.count_nonzero(nu, axis=1) + self._program.A.inner
        return np.asarray(np.maximum(SUMMATION, terms * float(np.finfo(float).eps)))

    def _enough(self, lam: Array, value: Array) -> Array:
        least = NOISE * self._units.rounding(lam, np.abs(value))
        return np.asarray(np.maximum(max(self._rel_gap, SEGMENT) * np.abs(value), least))

    def _at(self, segment: int, lam: float, nu: Array, value: float, known: Array | None) -> None:
        low, high = self._program.psi.slope_range(lam)
        nu = np.clip(nu, low, high)
        dual = dual_point(self._program, nu)
        excess = dual.excess(lam)
        if not excess.any():
            return
        enough = float(self._enough(np.array([lam]), np.array([value]))[0])
        value -= offset_at(self._program, lam)[0]
        charges = charge_of(self._program, self._pieces, lam, value, nu, excess, enough, known)
        if charges.sum() > enough:
            needed = charges[: self._program.A.shape[1]] > enough / len(charges)
            self._open.append(_Open(segment, lam, nu, needed, enough))

    def _endless(self, segment: int, v: Array, nu: Array) -> None:
        """Look at the rates of multipliers and slopes on the way to infinity."""
        p = self._program.A.shape[1]
        size = self._program.A.abs_rmatvec(np.abs(nu))
        error = self.error(nu[None])[0] * size
        left, right = self._left[1][:p], self._right[1][:p]
        outside = np.isfinite(self._left[0][:p]) & (v[:p] - error < left)
        outside |= np.isfinite(self._right[0][:p]) & (v[:p] + error > right)
        needed = outside & (size > 0.0)
        if needed.any():
            self._open.append(_Open(segment, np.inf, nu, needed))

    def doubts(self) -> Iterator[tuple[int, int, float]]:
        """Yield the segment, a variable and the lam of what could not be settled."""
        budget = Budget()
        for each in self._open:
            if not self._settled(each, budget):
                yield each.segment, int(np.argmax(each.needed)), each.lam

    def _settled(self, each: _Open, budget: Budget) -> bool:
        p = self._program.A.shape[1]
        given = self._program, self._pieces, each.lam, each.nu, each.needed
        if pushed_inside(*given, each.enough, budget):
            return True
        for segment in (each.segment, each.segment - 1, each.segment + 1):
            if not 0 <= segment < len(self._layout):
                continue
            codes = self._layout.at(segment)
            columns, rows = (codes[:p] & 1) == 0, (codes[p:] & 1) == 1
            # Rows of a degenerate kernel may be at an end of their slopes, and stay there. Resting
            # variables may be at an end of theirs, too.
            for free, equations in product((rows, None), (each.needed & columns, each.needed)):
                found = exactly_inside(*given, equations, budget, free)
                if found is not None:
                    return True
        return False


def _at(lam: Array, constant: Array, rate: Array) -> Array:
    """Return lines at each lam, shape (len(lam), n); (1, n) where they are the same at all."""
    return constant[None] + np.multiply.outer(lam, rate) if rate.any() else constant[None]
