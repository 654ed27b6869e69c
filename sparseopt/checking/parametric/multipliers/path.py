r"""Multipliers of a path's segments at the ends of their slopes, where rounding decides.

The conditions of :mod:`..segments.conditions` hold up to a part of their scale. What is outside the
*outer* slopes of a coordinate, rounding errors included, must not cost more than the gap allows
(:mod:`.reach`), at any lam of the segment: a cost is an excess, which is largest at an end of it,
times a bound of the coordinate, which may be largest at the other end or between them. Where
nothing bounds that, multipliers near those of the basis must be inside exactly. They are so between
the ends of a segment if they are at both, since the set of all (nu, lam) within the slopes is
convex. At a knot, which is rounded, the basis of either side will do.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import NamedTuple

import numpy as np

from sparseopt.checking.parametric.bases.layout import Layout, StoredPath
from sparseopt.checking.parametric.bases.objectives import Quadratics, shifted
from sparseopt.checking.parametric.bases.solutions import Bases
from sparseopt.checking.parametric.evaluation.point import dual_point
from sparseopt.checking.parametric.evaluation.rational import Budget
from sparseopt.checking.parametric.evaluation.singles import inside_rows, singles_of
from sparseopt.checking.parametric.evaluation.units import Units
from sparseopt.checking.parametric.multipliers.giving_way import giving_way
from sparseopt.checking.parametric.multipliers.mixtures import Mixtures
from sparseopt.checking.parametric.multipliers.nearby import (
    charge_nearby,
    rates_nearby,
)
from sparseopt.checking.parametric.multipliers.pushed import Outside, pushed_inside
from sparseopt.checking.parametric.multipliers.reach import (
    Charging,
    Lams,
    Span,
    Values,
    bounds_of_variables,
    common_bounds,
    exact_margins,
    interior_bounds,
    moves_twice,
)
from sparseopt.checking.tolerances import NOISE, SEGMENT, SUMMATION
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_SEVERAL = 4
"""Ends of segments from which bounds are sought for all of a chunk at once."""
_TOGETHER = 8
"""Segments whose coordinates are bounded by one mixture of multipliers, before each by its own."""
_SMALL = 1 << 14
"""Entries of a matrix whose multipliers are moved inside at once, before anything is bounded."""
_ENTRIES = 1 << 22
"""Slopes and kinks of all coordinates at several lam that are held at once."""


@dataclass(frozen=True, eq=False)
class _Open:
    """Multipliers at one end of a segment that must be inside exactly."""

    segment: int
    lam: float
    nu: Array
    needed: Array
    span: Span | None = None
    """That of the segment, with what one of its ends may be charged; None for rates."""


@dataclass(frozen=True, eq=False)
class _Ends:
    """Lower ends, middles and upper ends of q segments; some lam above where there is no such end.

    Attributes
    ----------
    lam, value, enough : arrays of shape (3, q)
        With the sums of all f_i, and what multipliers may cost.
    most : array of shape (q,)
        The largest sum of all f_i in a segment; infinite where nothing bounds it.
    endless : bool array of shape (q,)
    """

    lam: Array
    value: Array
    enough: Array
    most: Array
    endless: Array

    def part(self, at: Array) -> _Ends:
        """Return what is known of some segments."""
        arrays = (self.lam, self.value, self.enough, self.most, self.endless)
        return _Ends(*(array[..., at] for array in arrays))

    def values(self, at: int) -> Values:
        """Return the sum of all f_i at the ends of one segment, and how it bends between them."""
        low, middle, high = self.value[:, at].tolist()
        if self.endless[at]:
            return Values((float(self.most[at]),) * 2)
        return Values((low, high), 2.0 * abs(low - 2.0 * middle + high))

    def span(self, at: int, end: int) -> Span:
        """Return that of one segment, for what is charged at its lower end (0) or upper end (1).

        Of a segment without an upper end, from lam[2] on what is charged there stays the same.
        """
        low, _, high = self.lam[:, at].tolist()
        lams: Lams = (low,)
        if not high > low:
            points = slice(1)
        else:
            points, lams = slice(end, end + 2), (low, high)
        if self.endless[at] and end == 1:
            lams = (low, np.inf)
        lam, value, enough = (
            tuple(part[points, at].tolist()) for part in (self.lam, self.value, self.enough)
        )
        return Span(lams, lam, value, enough, float(self.most[at]))


class _Point(NamedTuple):
    """Multipliers at one end of a segment, and how far they may be outside their slopes."""

    lam: float
    nu: Array
    excess: Array


class PathMultipliers:
    """Collects what is open while the segments pass by, and settles it at the end.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    pieces : Pieces
        Its functions phi and psi.
    layout : Layout
        The bases of the path.
    stored : StoredPath
        What it states.
    units : Units
    rel_gap : float
        The gap that was asked for, relative to the objective.
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        pieces: Pieces,
        layout: Layout,
        stored: StoredPath,
        units: Units,
        rel_gap: float,
    ) -> None:
        self._program, self._pieces, self._units = program, pieces, units
        self._rel_gap = rel_gap
        self._small = program.A.shape[0] * program.A.shape[1] <= _SMALL
        first, last = pieces.slope_ptr[:-1], pieces.slope_ptr[1:] - 1
        self._left = pieces.slope[first], pieces.slope_rate[first]
        self._right = pieces.slope[last], pieces.slope_rate[last]
        kinks = np.maximum.reduceat(np.abs(pieces.kink), pieces.ptr[:-1])
        rates = np.maximum.reduceat(np.abs(pieces.kink_rate), pieces.ptr[:-1])
        self._kinks = kinks, rates
        inner = np.ones(len(pieces.slope), dtype=bool)
        inner[first] = inner[last] = False
        self._nonnegative = bool(
            (pieces.slope[inner] >= 0.0).all()
            and (pieces.slope_rate[inner] >= 0.0).all()
            and not moves_twice(pieces).any()
        )
        self._outward = bool(
            (pieces.slope_rate[first] <= 0.0).all() and (pieces.slope_rate[last] >= 0.0).all()
        )
        self._open: list[_Open] = []
        self._layout = layout
        self._mixtures = Mixtures(program, pieces, stored)
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
        """Look at the segments `here`, from both ends of each."""
        ends, exact = self.ends(low, high, sums.value), bases.exact
        sides = []
        for lam, length in ((low, np.zeros(len(low))), (ends.lam[2], ends.lam[2] - low)):
            v, nu = (
                part + length[:, None] * rate if length.any() else part
                for part, rate in (bases.v, bases.nu)
            )
            sides.append((lam, v, nu))
        dear: dict[int, list[int]] = {}
        for at in np.flatnonzero(~self._cheap(ends, sides)).tolist():
            open_ = [
                k
                for k, (lam, v, _) in enumerate(sides)
                if not (exact[at] and self._inside(bases.on_piece[at], float(lam[at]), v[at]))
            ]
            if open_:
                dear[at] = open_
        if self._small:
            for at in self._moved_inside(ends, sides, dear):
                del dear[at]
        several = [at for at in dear if not ends.endless[at]] if len(dear) >= _SEVERAL else []
        known = self._common(ends, several) if several else None
        points, shares = self._points(sides, list(dear)), {at: 1.0 / len(dear[at]) for at in dear}
        for start in range(0, len(several), _TOGETHER):
            group = several[start : start + _TOGETHER]
            coarse = self._mixed(ends, group, known)
            if coarse is not None:
                self._drop_covered(ends, group, dear, points, coarse)
        for at, open_ in dear.items():
            if open_:
                spans = {k: ends.span(at, k).share(shares[at]) for k in open_}
                self._segment(int(here[at]), ends, at, points[at], spans, known)
        for at in np.flatnonzero(np.isinf(high)).tolist():
            self._endless(int(here[at]), bases.v[1][at], bases.nu[1][at])

    def ends(self, low: Array, high: Array, objective: Array) -> _Ends:
        """Return what is known at the ends and in the middle of segments.

        Parameters
        ----------
        low, high : arrays of shape (q,)
            Their ends.
        objective : array of shape (3, q)
            Their objectives, coefficients of 1, step and step^2.
        """
        endless = np.isinf(high)
        step = np.where(endless, np.where(low > 0.0, low, 1.0), high - low)
        a, b, c = objective
        lam = np.stack([low + part * step for part in (0.0, 0.5, 1.0)])
        whole = np.stack([a + part * step * (b + part * step * c) for part in (0.0, 0.5, 1.0)])
        value = whole - self._offsets(lam)
        # what a parabola may have above three of its points
        bend = np.abs(value[0] - 2.0 * value[1] + value[2]) / 8.0
        most = value.max(axis=0) + bend
        constant = shifted(self._program.offset[:, None], low)
        rising = (b - constant[1] > 0.0) | (c - constant[2] > 0.0)
        most[endless & (rising | (not self._outward))] = np.inf
        enough = np.stack([self._enough(*pair) for pair in zip(lam, whole, strict=True)])
        return _Ends(lam, value, enough, most, endless)

    def _points(
        self, sides: list[tuple[Array, Array, Array]], segments: list[int]
    ) -> dict[int, list[_Point]]:
        """Return lam, multipliers within the slopes of their rows, and excess at both ends."""
        found: dict[int, list[_Point]] = {at: [] for at in segments}
        for lam, _, nu in sides if segments else ():
            at_lam = lam[segments, None]
            inside = inside_rows(self._program, nu[segments], at_lam)
            excess = dual_point(self._program, inside).excess(at_lam)
            for at, *point in zip(segments, at_lam[:, 0].tolist(), inside, excess, strict=True):
                found[at].append(_Point(*point))
        return found

    def _drop_covered(
        self,
        ends: _Ends,
        segments: list[int],
        dear: dict[int, list[int]],
        points: dict[int, list[_Point]],
        bounds: Array,
    ) -> None:
        """Drop the open ends of segments where `bounds` of all coordinates cover the charges.

        What is charged for rounding errors is computed away where they do not.
        """
        for at in segments:
            share, open_ = 1.0 / len(dear[at]), []
            for k in dear[at]:
                enough = share * ends.span(at, k).least
                if _charged(points[at][k].excess, bounds) <= enough:
                    continue
                lam, nu, excess = points[at][k]
                points[at][k] = _Point(lam, nu, self._exactly(lam, nu, excess))
                if not _charged(points[at][k].excess, bounds) <= enough:
                    open_.append(k)
            dear[at] = open_

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

    def _cheap(self, ends: _Ends, sides: list[tuple[Array, Array, Array]]) -> Array:
        """Return for each segment whether a coarse bound of all charges is small enough.

        `sides` are lam, v and nu at both ends.
        """
        count = len(ends.most)
        if not self._nonnegative:
            return np.zeros(count, dtype=bool)
        p = self._program.A.shape[1]
        bounded, rate = np.ones(count, dtype=bool), np.zeros(count)
        free = np.zeros((count, p))
        for lam, v, nu in sides:
            left, right = (_at(lam, *line) for line in (self._left, self._right))
            bounded &= ((left <= 0.0) & (right >= 0.0)).all(axis=1)
            left, right = left[:, :p], right[:, :p]
            slope = np.minimum(-left, right)
            excess = self._program.A.quick_abs_rmatvec(np.abs(nu))
            excess += np.where(np.isfinite(slope), slope, 0.0)
            excess *= self.error(nu)[:, None]
            excess += np.maximum(left - v[:, :p], v[:, :p] - right)
            np.maximum(excess, 0.0, out=excess)
            # Few multipliers are near an end of their slopes.
            segment, at = np.divmod(np.flatnonzero(excess), p)
            amount, over = excess[segment, at], np.broadcast_to(slope, excess.shape)[segment, at]
            priced = over > 0.0
            np.maximum.at(rate, segment[priced], amount[priced] / over[priced])
            open_ = segment[~priced], at[~priced]
            free[open_] = np.maximum(free[open_], amount[~priced])
        columns = np.flatnonzero(free.any(axis=0))
        # to move multipliers of small programs inside takes less than implied bounds do
        fine = self.affordable(ends, rate, free[:, columns], columns, implied=not self._small)
        return np.asarray(bounded & fine)

    def affordable(
        self,
        ends: _Ends,
        rate: Array,
        amounts: Array,
        columns: Array,
        room: Array | None = None,
        implied: bool = True,
    ) -> Array:
        r"""Return for each of q segments whether a coarse bound of all charges is small enough.

        All costs together are within the room that the objective leaves: :math:`\sum_j e_j |z_j|
        \le \max_j (e_j / s_j) \sum_j s_j |z_j|`. Both factors, and the bounds of variables without
        slopes, are bounded on a segment by what they are at its ends and in the middle.

        Parameters
        ----------
        ends : _Ends
            Of the segments.
        rate : array of shape (q,)
            The largest ratio of a multiplier's excess to the smaller of its outer slopes.
        amounts : array of shape (q, u)
            The largest excess of multipliers whose slope is zero somewhere.
        columns : int array of shape (u,)
            Their variables.
        room : array of shape (3, q), optional
            The sum of slopes times the largest kinks. Default: it is computed here.
        implied : bool
            Whether bounds of variables may follow from those of rows entry by entry.

        Returns
        -------
        bool array of shape (q,)
        """
        fine = np.isfinite(ends.most)
        at_once = max(1, _ENTRIES // len(self._left[0]))
        for endless in (False, True):
            every = np.flatnonzero(fine & (ends.endless == endless))
            for start in range(0, len(every), at_once):
                at = every[start : start + at_once]
                given = rate[at], amounts[at], columns, None if room is None else room[:, at]
                fine[at] = self._affordable(ends.part(at), *given, endless, implied)
        return fine

    def _affordable(
        self,
        ends: _Ends,
        rate: Array,
        amounts: Array,
        columns: Array,
        room: Array | None,
        endless: bool,
        implied: bool,
    ) -> Array:
        p, fine = self._program.A.shape[1], np.ones(len(rate), dtype=bool)
        common: Array | None = None
        for k, lam in enumerate(ends.lam):
            spare = np.maximum(ends.value[k], 0.0)
            if room is None or amounts.any():
                left, right = (_at(lam, *line) for line in (self._left, self._right))
                slopes, kinks = np.minimum(-left, right), _at(lam, *self._kinks)
            if room is None:
                finite = np.where(np.isfinite(slopes), slopes, 0.0)
                cost = (finite * kinks)[:, :p].sum(axis=1)
            else:
                cost = room[k]
            charge = rate * (spare + cost)
            if amounts.any():
                if endless:
                    kinks = np.where(self._kinks[1] > 0.0, np.inf, kinks)
                with np.errstate(divide="ignore", invalid="ignore"):
                    reach = bounds_of_variables(self._program, kinks + spare[:, None] / slopes)
                if reach is None and implied:
                    if common is None:
                        common = self._common(ends, range(len(rate)))[None]
                    reach = common
                if reach is None:
                    reach = np.full((1, p), np.inf)
                with np.errstate(invalid="ignore"):
                    costs = np.where(amounts > 0.0, amounts * reach[:, columns], 0.0)
                charge = charge + costs.sum(axis=1)
            fine &= charge <= ends.enough[k]
        return fine

    def _common(self, ends: _Ends, segments: Iterable[int]) -> Array:
        # both ends of a segment have one range, and often one value
        spans = (ends.span(at, end) for at in segments for end in (0, 1))
        different = {(span.lams, span.most): span for span in spans}
        return common_bounds(self._program, self._pieces, list(different.values()))

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

    def _mixed(self, ends: _Ends, segments: list[int], known: Array | None) -> Array | None:
        """Return bounds that mixtures of multipliers give in the range of some segments."""
        most = float(ends.most[segments].max())
        if known is None or not np.isinf(known).any() or np.isinf(most):
            return None
        lams = float(ends.lam[0, segments].min()), float(ends.lam[2, segments].max())
        bounds = self._mixtures.bounds(lams, Values((most, most)))
        return np.minimum(known, bounds(self._program, -known, known, known))

    def _moved_inside(
        self, ends: _Ends, sides: list[tuple[Array, Array, Array]], dear: dict[int, list[int]]
    ) -> set[int]:
        """Return segments whose multipliers, moved a little, are inside at all ends that are open.

        For small programs that takes less than bounds of their coordinates.
        """
        p, each = self._program.A.shape[1], [(at, k) for at, open_ in dear.items() for k in open_]
        if not each:
            return set()
        lam, nu = (np.array([sides[k][part][at] for at, k in each]) for part in (0, 2))
        nu = inside_rows(self._program, nu, lam[:, None])
        excess = dual_point(self._program, nu).excess(lam[:, None])
        some = np.flatnonzero(excess.any(axis=1))
        spans = [ends.span(at, k).share(1.0 / len(dear[at])) for at, k in each]
        needed = ~(excess[some, :p] <= 0.0)
        outside = Outside([spans[e] for e in some], lam[some], nu[some], needed)
        inside = pushed_inside(self._program, self._pieces, outside)
        return dear.keys() - {each[e][0] for e in some[~inside]}

    def _segment(
        self,
        segment: int,
        ends: _Ends,
        at: int,
        points: list[_Point],
        spans: dict[int, Span],
        known: Array | None,
    ) -> None:
        """Charge multipliers at the ends of a segment that have spans; `points` are those of both.

        `known` are bounds of all coordinates that others may narrow.
        """
        charged = np.any([points[k].excess > 0.0 for k in spans], axis=0)
        values, pairs = ends.values(at), [point[:2] for point in points]
        within, near = interior_bounds(self._pieces, pairs, values, charged), None
        for k, span in spans.items():
            lam, nu, excess = points[k]
            if not excess.any():
                continue
            endless = bool(ends.endless[at])
            if near is None and not endless:
                near = self._mixtures.bounds(tuple(point.lam for point in points), values)
            bounds = None if endless and k == 1 else within, None if endless else known
            asked = self._program, self._pieces, span, lam, *bounds
            if near is not None:
                # rounding errors are most of what is charged, and computed away in no time
                charging, exact = Charging(*asked, near), self._exactly(lam, nu, excess)
                if any(charging.of(exact, most).sum() <= span.least for most in (0, None)):
                    continue
            charges = Charging(*asked).of(excess)
            if charges.sum() > span.least:
                needed = charges[: self._program.A.shape[1]] > span.least / len(charges)
                self._open.append(_Open(segment, lam, nu, needed, span))

    def _exactly(self, lam: float, nu: Array, excess: Array) -> Array:
        """Return an excess of variables without the rounding errors of nu's products."""
        columns = np.flatnonzero(excess[: self._program.A.shape[1]])
        exact = exact_margins(self._program, self._pieces, lam, nu, columns)
        if exact is None:
            return excess
        less = excess.copy()
        less[columns] = np.minimum(excess[columns], np.maximum(-exact[1], 0.0))
        return less

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
        given, span = (self._program, self._pieces), each.span
        lam, nu, needed = each.lam, each.nu, each.needed
        ranges = [Span.one(np.inf, 0.0, np.inf) if span is None else span]
        outside = Outside(ranges, np.array([lam]), nu[None], needed[None])
        if pushed_inside(*given, outside, budget).all():
            return True
        for equations, free in self._choices(each):
            if span is None:
                settled = rates_nearby(*given, nu, needed, budget, equations, free)
            else:
                less = charge_nearby(*given, span, lam, nu, needed, budget, equations, free)
                settled = less is not None and less <= span.least
            if settled:
                return True
        return False

    def _choices(self, each: _Open) -> Iterator[tuple[Array, Array | None]]:
        """Yield variables whose multipliers are put at ends of their slopes, and rows for that."""
        p, singles, at = self._program.A.shape[1], singles_of(self._program), each.segment
        for segment in (at, at - 1, at + 1):
            if not 0 <= segment < len(self._layout):
                continue
            codes = self._layout.at(segment)
            columns, rows = (codes[:p] & 1) == 0, (codes[p:] & 1) == 1
            # a variable in its row only says what the multiplier is, where its slopes end
            held = singles.rows[columns[singles.columns]]
            rows[held[np.isfinite(singles.low[held]) | np.isfinite(singles.high[held])]] = False
            # Rows of a degenerate kernel may be at an end of their slopes, and stay there. Resting
            # variables may be at an end of theirs, too.
            for free, equations in product((rows, None), (columns, np.ones(p, dtype=bool))):
                yield equations, free
        # Rows that rest may have to give way.
        if each.span is not None:
            rows = giving_way(self._program, self._pieces, each.lam, each.nu, each.needed)
            if rows is not None:
                yield np.ones(p, dtype=bool), rows
        yield np.ones(p, dtype=bool), np.ones(self._program.A.shape[0], dtype=bool)


def _charged(excess: Array, bounds: Array) -> float:
    """Return the charges of multipliers outside their slopes, infinite where nothing bounds one."""
    some = ~(excess <= 0.0)
    if np.isinf(bounds[some]).any():
        return np.inf
    return float(excess[some] @ bounds[some])


def _at(lam: Array, constant: Array, rate: Array) -> Array:
    """Return lines at each lam, shape (len(lam), n); (1, n) where they are the same at all."""
    return constant[None] + np.multiply.outer(lam, rate) if rate.any() else constant[None]
