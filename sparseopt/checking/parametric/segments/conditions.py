r"""The optimality conditions of a basis at both ends of its segment.

z of each coordinate must lie on its piece or at its kink, v between the slopes there. Both are
affine on a segment, and so are their limits: a condition that holds at both ends holds between
them. On a segment that reaches to infinity it must hold at the lower end and for the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from sparseopt.checking.parametric.bases.solutions import Bases, Pair
from sparseopt.checking.parametric.bases.tables import CodeTables, Line, Slots
from sparseopt.checking.parametric.evaluation.point import ratio_of
from sparseopt.checking.parametric.evaluation.units import Units
from sparseopt.checking.tolerances import LOOSE, NOISE, SEGMENT
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import LinearMap

_CLEAR = 1e-2 * SEGMENT
"""Violations below this, relative to a part of their scale, need no check of the whole."""
_ENTRIES = 2**18
"""Entries of segments and coordinates that are looked at once."""
_PLACES = ("lower end", "upper end", "way to infinity")


@dataclass(frozen=True)
class Breach:
    """The worst violation of one side's conditions in a chunk, relative to its scale.

    `where` is (segment, coordinate, place). It is `certain` where it exceeds what the rounding
    errors of the segment's kernel may explain; what is certain comes before what is larger.
    """

    side: str
    ratio: float
    where: tuple[int, int, str]
    certain: bool


def breaches(
    A: LinearMap,
    tables: CodeTables,
    bases: Bases,
    low: Array,
    high: Array,
    rounding: Array,
    units: Units,
) -> tuple[Breach, Breach]:
    """Return the worst primal and the worst dual violation of a chunk.

    `rounding` (q,) is what rounding errors of each segment's kernel may amount to, relative to the
    scale; `units` are those of the data.

    Parameters
    ----------
    A : LinearMap
        m x p.
    tables : CodeTables
    bases : Bases
        The solved bases of q segments.
    low, high : arrays of shape (q,)
        The ends of the segments.
    rounding : array of shape (q,)
    units : Units

    Returns
    -------
    primal, dual : Breach
    """
    p = A.shape[1]
    finite = np.isfinite(high)
    step = np.where(finite, high - np.where(finite, low, 0.0), 0.0)

    def rows_size(theta: Array) -> Array:
        return A.abs_matvec(np.abs(theta))

    def columns_size(nu: Array) -> Array:
        return A.abs_rmatvec(np.abs(nu))

    ends = np.stack([low, low + step])
    lams = np.maximum(ends, units.lam), np.maximum(ends, units.least_lam)
    primal = _SideConditions(
        "primal",
        bases.z,
        (tables.z_low, tables.z_high),
        bases.theta,
        slice(p),
        rows_size,
        units.factor[:p],
        lambda: units.kinks,
        lambda at: np.divide.outer(units.least[:2], units.factor[at]),
        lams,
        partial(_conditioned, bases),
    )
    dual = _SideConditions(
        "dual",
        bases.v,
        (tables.v_low, tables.v_high),
        bases.nu,
        slice(p, None),
        columns_size,
        1.0 / units.factor[p:],
        lambda: units.slopes,
        lambda at: np.multiply.outer(units.least[2:], units.factor[at]),
        lams,
        partial(_conditioned_multiplier, bases, p),
    )
    return (
        primal.worst(bases.slots, low, step, ~finite, rounding, bases.exact),
        dual.worst(bases.slots, low, step, ~finite, rounding, bases.exact),
    )


def _conditioned(bases: Bases, segment: int, coordinate: int, theta: Array) -> float:
    r"""Return :math:`e_j'|B^{-1}| (|B| |\theta_C| + \text{terms})`: what changes of the data do.

    Relative changes of the equations by omega move the coordinate by omega times this, whatever the
    size of the others; 0 for a coordinate that is no unknown of the segment's kernel.
    """
    system = bases.system(segment)
    if system is None:
        return 0.0
    unit = (system.columns == coordinate).astype(np.float64)[:, :, None]
    row = np.abs(system.kernels.solve_transposed(unit)[0, :, 0])
    terms = np.abs(system.kernels.B[0]) @ theta[system.columns[0]]
    return float(row @ (terms + system.target_terms[0].max(axis=1)))


def _conditioned_multiplier(
    bases: Bases, p: int, segment: int, coordinate: int, nu: Array
) -> float:
    """Return the same for a multiplier."""
    system = bases.system(segment)
    if system is None:
        return 0.0
    unit = (system.rows == coordinate - p).astype(np.float64)[:, :, None]
    row = np.abs(system.kernels.solve(unit)[0, :, 0])
    terms = np.abs(system.kernels.B[0]).T @ nu[system.rows[0]]
    return float(row @ (terms + system.slopes_terms[0].max(axis=1)))


@dataclass(frozen=True, eq=False)
class _SideConditions:
    """The primal conditions (x = z, of theta) or the dual ones (x = v, of nu).

    The entries `own` of x are the vector itself, the others are its products with A. Its own
    entries have the scale of the vector's largest entry, since a bound at zero has none, in the
    units in which `weight` times an entry are of one size; what is
    within the tolerance of that only, and not of what changes of the data would do to the entry
    itself (`conditioned`), is in doubt.
    """

    name: str
    x: Pair
    limits: tuple[Line, Line]
    vector: Pair
    own: slice
    product_size: Callable[[Array], Array]
    weight: Array
    unit: Callable[[], Array]
    least: Callable[[Array], Array]
    lams: tuple[Array, Array]
    conditioned: Callable[[int, int, Array], float]

    @property
    def own_start(self) -> int:
        """The first coordinate of the vector itself."""
        return int(self.own.start or 0)

    def worst(
        self, slots: Slots, low: Array, step: Array, endless: Array, rounding: Array, exact: Array
    ) -> Breach:
        """Return the worst violation at the ends of a chunk's segments."""
        worst = Breach(self.name, 0.0, (0, 0, _PLACES[0]), False)
        for found in self._violations(slots, low, step, endless):
            ratio, strict = self._relative(found, exact)
            certain = ratio > np.maximum(SEGMENT, rounding[found.segment])
            ratio = np.where(certain, ratio, strict)
            for kind in (certain, ~certain):
                for at in np.flatnonzero(kind)[np.argsort(ratio[kind])[-1:]]:
                    place = (
                        int(found.segment[at]),
                        int(found.coordinate[at]),
                        _PLACES[found.place],
                    )
                    breach = Breach(self.name, float(ratio[at]), place, bool(certain[at]))
                    worst = max(worst, breach, key=lambda each: (each.certain, each.ratio))
        return worst

    def _violations(
        self, slots: Slots, low: Array, step: Array, endless: Array
    ) -> Iterator[_Violations]:
        width = max(1, _ENTRIES // len(low))
        for line, sign in zip(self.limits, (1.0, -1.0), strict=True):
            parts: dict[int, list[_Violations]] = {}
            for begin in range(0, self.x[0].shape[1], width):
                for found in self._some(slots, low, step, endless, line, sign, begin, width):
                    parts.setdefault(found.place, []).append(found)
            yield from (_Violations.joined(some) for some in parts.values())

    def _some(
        self,
        slots: Slots,
        low: Array,
        step: Array,
        endless: Array,
        line: Line,
        sign: float,
        begin: int,
        width: int,
    ) -> Iterator[_Violations]:
        """Yield those of `width` coordinates beyond one limit, at each place."""
        value, rate = (part[:, begin : begin + width] for part in self.x)
        limit, limit_rate = line.over(slots.part(begin, begin + width), low)
        slack = value - limit if sign > 0.0 else limit - value

        def found(place: int, amount: Array, reach: Array, wrong: Array) -> _Violations:
            here = _where(wrong)
            size = reach[here[0]] * (np.abs(limit_rate[here]) + np.abs(rate[here]))
            if place != 2:
                size += np.abs(limit[here]) + np.abs(value[here])
            return _Violations(here[0], here[1] + begin, place, -amount[here], size, reach)

        yield found(0, slack, low, slack < 0.0)
        if not (rate.any() or limit_rate.any()):
            return
        slack_rate = rate - limit_rate if sign > 0.0 else limit_rate - rate
        at_high = slack + step[:, None] * slack_rate
        yield found(1, at_high, low + step, at_high < 0.0)
        if endless.any():
            falling = (slack_rate < 0.0) & np.isfinite(slack) & endless[:, None]
            yield found(2, slack_rate, np.ones(len(low)), falling)

    def _relative(self, found: _Violations, exact: Array) -> tuple[Array, Array]:
        """Divide violations by their scales, and by those of the entries themselves.

        Products of absolute values are made where they are needed. In segments of `exact` values
        an entry has nothing but its own scale: what lam is rounded by, times its rate.
        """
        own = np.zeros(self.x[0].shape[1], dtype=bool)
        own[self.own] = True
        is_own = own[found.coordinate]
        noise, little = self._noise(found)
        scale, strict = found.size + noise, found.size + little
        alone = strict.copy()
        for s in np.unique(found.segment[is_own]):
            here = np.flatnonzero(is_own & (found.segment == s))
            terms = self._terms(s, found)
            place = found.coordinate[here] - self.own_start
            scale[here] += (terms * self.weight).max(initial=0.0) / self.weight[place]
            # Only what is not small anyway needs its own condition checked.
            for at in here[~exact[s] & (found.amount[here] > SEGMENT * strict[here])]:
                strict[at] += self.conditioned(int(s), int(found.coordinate[at]), terms)
        strict = np.minimum(strict, scale)
        ratio, judged = ratio_of(found.amount, scale), ratio_of(found.amount, strict)
        doubtful = ~is_own & (judged > _CLEAR)
        first = 0 if self.own.start else self.own.stop
        for s in np.unique(found.segment[doubtful]):
            here = doubtful & (found.segment == s)
            terms = self.product_size(self._terms(s, found))
            size = found.size[here] + terms[found.coordinate[here] - first]
            ratio[here] = ratio_of(found.amount[here], size + noise[here])
            judged[here] = ratio_of(found.amount[here], size + little[here])
        return ratio, np.where(exact[found.segment], ratio_of(found.amount, alone), judged)

    def _noise(self, found: _Violations) -> tuple[Array, Array]:
        """Return the rounding errors that the coordinates' units have, whatever the terms.

        And those by the terms, or the smallest kinks or slopes: where most numbers of the data are
        so loose that nothing reaches them, the former would excuse anything. Zeros where all is
        small anyway: the units of all coordinates take memory.
        """
        if not (found.amount > SEGMENT * found.size).any():
            return np.zeros(len(found.amount)), np.zeros(len(found.amount))
        pairs = self.unit()[:, found.coordinate], self.least(found.coordinate)
        if found.place == 2:
            wide, least = (rate for _, rate in pairs)
        else:
            wide, least = (
                constant + lams[found.place, found.segment] * rate
                for (constant, rate), lams in zip(pairs, self.lams, strict=True)
            )
        little = np.minimum(wide, LOOSE * np.maximum(found.size, least))
        return NOISE / SEGMENT * wide, NOISE / SEGMENT * little

    def _terms(self, segment: int, found: _Violations) -> Array:
        """Return the sizes of the terms of theta or nu at one place of a segment."""
        rate = found.reach[segment] * np.abs(self.vector[1][segment])
        return np.asarray(rate if found.place == 2 else np.abs(self.vector[0][segment]) + rate)


@dataclass(frozen=True, eq=False)
class _Violations:
    """Violations at one place (an index of _PLACES), and the size of the terms of x and its limit.

    A value at lam is a constant and lam times a rate, which may cancel: both count, with
    `reach` = lam (q,). On the way to infinity the rates alone count.
    """

    segment: Array
    coordinate: Array
    place: int
    amount: Array
    size: Array
    reach: Array

    @classmethod
    def joined(cls, parts: list[_Violations]) -> _Violations:
        """Put those at one place together, found coordinate block by block."""
        if len(parts) == 1:
            return parts[0]
        segment, coordinate, amount, size = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("segment", "coordinate", "amount", "size")
        )
        return cls(segment, coordinate, parts[0].place, amount, size, parts[0].reach)


def _where(wrong: Array) -> tuple[Array, Array]:
    """Return the places of the few entries that are true."""
    flat = np.flatnonzero(wrong)
    return flat // wrong.shape[1], flat % wrong.shape[1]
