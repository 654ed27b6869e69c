"""The homotopy in 106 bits: for data whose kernels are beyond double precision.

The pivots of :mod:`follow` without candidates and without updates: every basis is solved anew from
its codes, in sums of two doubles, so nothing drifts. A pivot takes some milliseconds on a program
of ten variables; paths are walked so where double precision was seen to fail (see
:mod:`..runs.solve`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems import PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.proofs.double_double import DoubleDouble, Singular, System, exact_block, product

from ..candidates.basis import limits
from ..pivots.state import Entries, SegmentRecords, SingularKernel
from ..program import ScaledProgram
from ..settings import (
    BACKWARD,
    NO_RULE,
    PERTURBATIONS,
    PRECISE_SECONDS,
    PRECISE_SECONDS_IN_DOUBT,
    PRECISE_TIE,
    SAME_END,
    SAME_END_FOR_CERTAIN,
    SMALLEST_SHARE,
    SNAP,
    STALL,
    TIE,
    WILD,
)
from .objective import Objective

__all__ = [
    "ILL_CONDITIONED",
    "Walked",
    "beyond_precision",
    "exact_matrix",
    "follow_precisely",
    "pivots_allowed",
]


_FAILURES = ("slow_progress", "infeasible_below", "unbounded_below")
"""Ends of a walk before which an end that only rounding of the data rules out is preferred."""

_ADVICE = (
    "centre the columns, scale them to one length, and leave out those that nearly repeat others"
)
ILL_CONDITIONED = {
    True: f"the data are ill-conditioned: the path was walked again in 106 bits; {_ADVICE}",
    False: f"the data are ill-conditioned: digits may be lost; {_ADVICE}",
}
"""Notes for the user, by whether the path is walked again."""


def beyond_precision(program: PiecewiseLinearProgram, path: ParametricPath) -> float | None:
    r"""Return the lam below which the last digits of the data decide what is feasible.

    Changes of A in its last digit move row i of A theta by up to
    :math:`\epsilon \sum_j |A_{ij} \theta_j|`, eps = 2.2e-16. Where that is more than every kink,
    the rows state nothing that rounding of the data leaves true.

    Parameters
    ----------
    program : PiecewiseLinearProgram
        In the user's units.
    path : ParametricPath

    Returns
    -------
    float or None
        Where the first segment begins at whose end this is so; None without one.
    """
    epsilon = float(np.finfo(float).eps)
    for lam, above in zip(path.low.tolist(), path.high.tolist(), strict=True):
        moved = epsilon * program.A.abs_matvec(np.abs(path.at(lam)))
        if moved.max() > np.abs(program.psi.kinks_at(lam)).max():
            return float(above if np.isfinite(above) else lam)
    return None


def pivots_allowed(program: ScaledProgram, lost: bool) -> int:
    """Return how many pivots in 106 bits take a tolerable time, by the program's size alone.

    A clock, or the pivots of a walk in double precision, would let the verdict depend on the
    machine's speed, or on rounding.

    Parameters
    ----------
    program : ScaledProgram
    lost : bool
        Whether digits were lost for certain, or may have been.

    Returns
    -------
    int
        At least 1.
    """
    m, p = program.n - program.p, program.p
    k = min(m, p)
    each = 3e-3 + 4e-7 * m * p + 1e-9 * k**3  # seconds a pivot, as measured for k from 10 to 200
    seconds = PRECISE_SECONDS if lost else PRECISE_SECONDS_IN_DOUBT
    return max(1, int(seconds / each))


@dataclass(frozen=True)
class Walked:
    """The segments of a path, why and where it ended, and the scaled ray that proves it (n,)."""

    segments: SegmentRecords
    reason: str
    codes: Array
    pivots: int
    ray: Array | None = None
    unfinished: bool = False
    """Whether it made all pivots allowed before its end."""

    def replaces(self, reason: str, lam: float, lost: bool) -> bool:
        """Return whether it is better than a walk in double precision that ended so at `lam`.

        Where it ends because only the rounding of the data allows to go on, the other's proof that
        there is no optimum below is better, if it is for the same lam, to more digits where the
        other has `lost` some. So is one that came further down, unless it has lost digits.
        """
        if self.reason != "slow_progress":
            return True
        if len(self.segments) == 0:
            return False
        if reason in ("infeasible_below", "unbounded_below"):
            same = SAME_END_FOR_CERTAIN if lost else SAME_END
            return abs(float(self.segments.low[-1]) - lam) > same * abs(lam)
        return lost or reason != "slow_progress" or float(self.segments.low[-1]) < lam


def exact_matrix(program: ScaledProgram) -> DoubleDouble:
    """Return the scaled matrix of a program in 106 bits.

    Parameters
    ----------
    program : ScaledProgram
        With m rows and p variables.

    Returns
    -------
    DoubleDouble of shape (m, p)
    """
    m, p = program.n - program.p, program.p
    block = exact_block(program.A, np.arange(m), np.arange(p))
    factor = program.row[:, None] * program.column
    return DoubleDouble(block.high * factor, block.low * factor)


def follow_precisely(
    program: ScaledProgram,
    matrix: DoubleDouble,
    codes: Array,
    lam: float,
    end: float,
    *,
    rng: np.random.Generator,
    top: float,
    stop: Callable[[], str | None],
    max_pivots: int,
    max_segments: int = NO_RULE,
    max_nonzeros: int | None = None,
    general: PiecewiseLinearProgram | None = None,
) -> Walked:
    """Follow the optimal bases from `lam` down to `end`, with all values in 106 bits.

    Parameters
    ----------
    program : ScaledProgram
    matrix : DoubleDouble
        Of :func:`exact_matrix`.
    codes : int array of shape (n,)
        A basis that is optimal at `lam`.
    lam, end : float
    rng : Generator
        Draws the symbolic perturbation.
    top : float
        Upper end of the first segment.
    stop : callable
        Asked at every pivot; a reason ends the path where it is.
    max_pivots : int
        After so many it is given up as "slow_progress".
    max_segments, max_nonzeros : int, optional
        The rules of the user.
    general : PiecewiseLinearProgram, optional
        As for :class:`~sparseopt.solvers.homotopy.walks.objective.Objective`.

    Returns
    -------
    Walked
        Its reason is one of :class:`~sparseopt.solvers.homotopy.walks.follow.Ending`.
    """
    rules = max_segments, max_nonzeros
    walk = _PreciseWalk(program, matrix, codes, lam, end, rng, top, *rules, general)
    while True:
        unfinished = walk.pivots >= max_pivots
        try:
            reason = stop() or ("slow_progress" if unfinished else walk.step())
        except (Singular, SingularKernel):
            reason = "slow_progress"
        if reason in _FAILURES and walk.ends_early():
            reason = "end"
        if reason is not None:
            unfinished &= reason == "slow_progress"
            if reason not in ("end", *_FAILURES):
                walk.end_above_the_knot()
            return Walked(walk.segments(), reason, walk.codes, walk.pivots, walk.ray, unfinished)


class _Values:
    """A basis and the affine values that belong to it.

    `w` (3, n) are the free quantities of all coordinates, `low` and `high` (3, n) their limits:
    constant, rate in lam, perturbation. They are certain to :data:`PRECISE_TIE`, relative to
    `size` and `fastest`, the largest values (0) and multipliers (1) and their rates.
    """

    def __init__(
        self, program: ScaledProgram, matrix: DoubleDouble, codes: Array, lam: float
    ) -> None:
        self.program, self.matrix, self.codes = program, matrix, codes
        p = program.p
        on = codes % 2 == 0
        self.C, self.R = np.flatnonzero(on[:p]), np.flatnonzero(~on[p:])
        if len(self.C) != len(self.R):
            raise SingularKernel(f"the kernel is {len(self.R)} x {len(self.C)}")
        kernel = matrix[np.ix_(self.R, self.C)]
        self.system = System(kernel)
        self._solve(on)
        (low, high), n = limits(program, codes), program.n
        self.low, self.high = np.zeros((3, n)), np.zeros((3, n))
        self.low[:2], self.high[:2] = low, high
        self._perturbations()
        self._measure(on, lam)
        self._slacks: dict[int, tuple[DoubleDouble, Array]] = {}

    def _solve(self, on: Array) -> None:
        program, A, C, R = self.program, self.matrix, self.C, self.R
        p, n = program.p, program.n
        kink = program.kinks[:, program.kink_ptr[:-1] + np.where(on, 0, self.codes // 2)]
        slope = program.slopes[:, program.slope_ptr[:-1] + np.where(on, self.codes // 2, 0)]
        self.known = np.where(on, slope, kink)
        theta = DoubleDouble(np.where(on[:p], 0.0, kink[:, :p]))
        nu = DoubleDouble(np.where(on[p:], slope[:, p:], 0.0))
        rows, back = product(A, theta), product(A.T, nu)
        theta[:, C] = self.system.solve(DoubleDouble(kink[:, p + R]) - rows[:, R])
        pull = -DoubleDouble(slope[:, C]) - back[:, C]
        nu[:, R] = self.system.solve(pull, transposed=True)
        rows = rows + product(A[:, C], theta[:, C])
        back = back + product(A[R].T, nu[:, R])
        self.theta, self.nu = theta, nu
        self.w = DoubleDouble(np.zeros((3, n)))
        self.w[:, :p] = -back
        self.w[:, C] = theta[:, C]
        self.w[:, p:] = rows
        self.w[:, p + R] = nu[:, R]

    def _perturbations(self) -> None:
        """Set the third components of the limits."""
        program, codes = self.program, self.codes
        index, kinked = codes // 2, codes % 2 == 1
        for part, ptr, here in (
            (program.slopes, program.slope_ptr, kinked),
            (program.kinks, program.kink_ptr, ~kinked),
        ):
            at = np.flatnonzero(here)
            for limit, place in (
                (self.low, ptr[at] + index[at] - (0 if part is program.slopes else 1)),
                (self.high, ptr[at] + index[at] + (1 if part is program.slopes else 0)),
            ):
                inside = (place >= ptr[at]) & (place < ptr[at + 1])
                limit[2, at[inside]] = part[2, place[inside]]

    def _measure(self, on: Array, lam: float) -> None:
        free, known = self.w.high, self.known
        value = np.abs(free[0] + lam * free[1])
        fixed = np.abs(known[0]) + np.abs(lam * known[1])
        self.size = [
            float(max(value[own].max(initial=0.0), fixed[~own].max(initial=0.0)))
            for own in (on, ~on)
        ]
        self.fastest = [
            float(
                max(np.abs(free[1, own]).max(initial=0.0), np.abs(known[1, ~own]).max(initial=0.0))
            )
            for own in (on, ~on)
        ]
        parity = self.codes % 2
        self.room = PRECISE_TIE * np.array(self.size)[parity]
        self.still = PRECISE_TIE * np.array(self.fastest)[parity]

    def slacks(self, side: int) -> tuple[DoubleDouble, Array]:
        """Return the distances (3, n) to the limits on a side, and where there are any."""
        if side not in self._slacks:
            limit = self.low if side < 0 else self.high
            finite = np.isfinite(limit[0])
            above = self.w - np.where(finite, limit, 0.0)
            self._slacks[side] = above if side < 0 else -above, finite
        return self._slacks[side]

    def ray(self, i: int) -> DoubleDouble:
        """Return the step direction of coordinate i, shape (n,), with its own entry 1."""
        A, C, R, p = self.matrix, self.C, self.R, self.program.p
        ray = DoubleDouble(np.zeros(self.program.n))
        if self.codes[i] % 2:
            if i < p:
                step = -self.system.solve(A[R, i][None])[0]
                rows = A[:, i] + product(A[:, C], step[None])[0]
            else:
                step = self.system.solve(_unit(len(R), int(np.searchsorted(R, i - p))))[0]
                rows = product(A[:, C], step[None])[0]
            rows[R] = 0.0
            ray[p:] = rows
            ray[C] = step
        else:
            if i < p:
                unit = _unit(len(C), int(np.searchsorted(C, i)))
                step = -self.system.solve(unit, transposed=True)[0]
                back = product(A[R].T, step[None])[0]
            else:
                step = -self.system.solve(A[i - p, C][None], transposed=True)[0]
                back = A[i - p] + product(A[R].T, step[None])[0]
            back[C] = 0.0
            ray[:p] = -back
            ray[p + R] = step
        ray[i] = 1.0
        return ray

    def optimal_at(self, lam: float) -> bool:
        """Return whether no limit is violated at lam by more than rounding errors of its terms."""
        p = self.program.p
        terms = []
        for vector, absolute in (
            (self.theta, np.abs(self.matrix.high)),
            (self.nu, np.abs(self.matrix.high.T)),
        ):
            own = np.abs(vector.high[0]) + np.abs(lam * vector.high[1])
            terms.append((own, absolute @ own))
        (theta, rows), (nu, back) = terms
        on = self.codes % 2 == 0
        size = np.concatenate(
            [
                np.where(on[:p], theta.max(initial=0.0), back),
                np.where(on[p:], rows, nu.max(initial=0.0)),
            ]
        )
        for side in (-1, 1):
            slack, finite = self.slacks(side)
            value = (slack[0] + slack[1] * lam).high
            if (value < -BACKWARD * size)[finite].any():
                return False
        return True


def _unit(k: int, at: int) -> DoubleDouble:
    vector = np.zeros((1, k))
    vector[0, at] = 1.0
    return DoubleDouble(vector)


class _PreciseWalk:
    """One run of :func:`follow_precisely`."""

    def __init__(
        self,
        program: ScaledProgram,
        matrix: DoubleDouble,
        codes: Array,
        lam: float,
        end: float,
        rng: np.random.Generator,
        top: float,
        max_segments: int,
        max_nonzeros: int | None,
        general: PiecewiseLinearProgram | None,
    ) -> None:
        self.program = program.with_pieces(program.kinks.copy(), program.slopes.copy())
        self.objective = Objective(program, general)
        self.matrix = matrix
        self.codes = codes.astype(np.int64)
        self.recorded = self.codes.copy()
        self.lam, self.delta = DoubleDouble(lam), 0.0
        self.end, self.top, self.rng = end, top, rng
        self.max_segments, self.max_nonzeros = max_segments, max_nonzeros
        self.pivots = self.idle = self.drawn = 0
        self.ray: Array | None = None
        self.early: tuple[int, _Part, Array] | None = None
        self.below_the_knot = False
        self.parts: list[_Part] = []
        kinks = np.abs(program.kinks[0] + lam * program.kinks[1])
        self.largest = float(kinks[np.isfinite(kinks)].max(initial=0.0))
        self._perturb()

    def _perturb(self) -> None:
        """Draw the symbolic perturbation, so that the basis is strictly optimal."""
        program = self.program
        for part, ptr, parity in (
            (program.kinks, program.kink_ptr, 1),
            (program.slopes, program.slope_ptr, 0),
        ):
            owner = np.repeat(np.arange(program.n), np.diff(ptr))
            away = 2 * (np.arange(ptr[-1]) - ptr[owner]) + parity - self.codes[owner]
            offset = away + np.sign(away) * self.rng.uniform(0.0, 0.9, ptr[-1])
            part[2] = np.where(np.isfinite(part[0]), offset, 0.0)
        self.delta, self.idle = 0.0, 0

    def step(self) -> str | None:
        """Go to the next event and pivot; return why the path ends there, or None."""
        values = _Values(self.program, self.matrix, self.codes, float(self.lam.high))
        change = values.fastest[0] * abs(float(self.lam.high))
        if max(values.size[0], change) > WILD * self.largest:
            raise SingularKernel("only the rounding of the data allows this basis")
        mover, side, lam, delta = self._next_event(values)
        tie = max(TIE * abs(self.end), PRECISE_TIE * abs(float(self.lam.high)))
        last = mover < 0 or not (lam - self.end).high > tie
        new = not last and self.early is None and np.isfinite(self.end)
        if new and values.optimal_at(self.end):
            part = _Part.of(values, self.objective, self.recorded, self.end, self.top)
            self.early = len(self.parts), part, self.codes
        low = self.end if last else min(float(lam.high), float(self.lam.high))
        below = not last and float((lam - low).high) > 0.0
        pieces = self.top - low > TIE * abs(low) or (last and not self.parts)
        if pieces and self._too_many_nonzeros(values, low):
            return "max_nonzeros"
        if pieces:
            self.parts.append(_Part.of(values, self.objective, self.recorded, low, self.top))
            self.recorded, self.top, self.idle = self.codes.copy(), low, 0
            self.below_the_knot = below
            if not last and len(self.parts) >= self.max_segments:
                return "max_knots"
        if last:
            return "end"
        self.lam, self.delta = lam, delta
        self.pivots += 1
        self.idle += 1
        if self.idle > STALL:
            self.drawn += 1
            if self.drawn > PERTURBATIONS:
                return "slow_progress"
            self._perturb()
            return None
        return self._pivot(values, mover, side)

    def end_above_the_knot(self) -> None:
        """Let the last segment end at the number above, where rounding put its end below its knot.

        At steep rates its solution leaves its pieces on that way.
        """
        if self.parts and self.below_the_knot:
            last = self.parts[-1]
            last.raise_end(float(np.nextafter(last.low, np.inf)) - last.low)

    def ends_early(self) -> bool:
        """Go back to the first basis that is optimal at the end up to rounding of the data."""
        if self.early is None:
            return False
        count, part, self.codes = self.early
        self.parts = [*self.parts[:count], part]
        return True

    def _too_many_nonzeros(self, values: _Values, low: float) -> bool:
        if self.max_nonzeros is None or not self.parts:
            return False
        middle = 0.5 * (low + self.top)
        theta = (values.theta[0] + values.theta[1] * middle).high
        return bool(np.count_nonzero(theta) > self.max_nonzeros)

    def _next_event(self, values: _Values) -> tuple[int, int, DoubleDouble, float]:
        """Return (coordinate, side, lam, delta) of the next event; coordinate -1 for none."""
        names, sides, slacks, rates, orders = [], [], [], [], []
        for side in (-1, 1):
            slack, finite = values.slacks(side)
            limit = values.low if side < 0 else values.high
            quick = slack.high[1] > values.still + PRECISE_TIE * np.abs(limit[1])
            here = np.flatnonzero(finite & quick)
            names.append(here)
            sides.append(np.full(len(here), side))
            slacks.append(_positive(slack[0, here] + slack[1, here] * self.lam))
            rates.append(slack[1, here])
            orders.append(-slack.high[2, here] / slack.high[1, here])
        at, order = np.concatenate(names), np.concatenate(orders)
        if len(at) == 0:
            return -1, 0, self.lam, 0.0
        left, rate = _joined(slacks), _joined(rates)
        fall = left / rate
        room = values.room[at]
        reach = _smallest((left + room) / rate) + PRECISE_TIE * abs(float(self.lam.high))
        tied = np.flatnonzero((fall - reach).high <= 0.0)
        used = left.high[tied] <= room[tied]
        chosen = np.where(used, np.minimum(order[tied], self.delta), order[tied])
        best = int(tied[int(np.argmax(chosen))])
        side = int(np.concatenate(sides)[best])
        return int(at[best]), side, self.lam - fall[best], float(chosen.max())

    def _first_block(
        self, values: _Values, ray: DoubleDouble, side: int, mover: int
    ) -> tuple[int, int]:
        """Return (coordinate, side) of the first block along side * ray; -1 where none."""
        program = self.program
        room = PRECISE_TIE * values.size[int(values.codes[mover] % 2 == 0)]
        speed = np.abs(ray.high)
        largest = float(speed.max())
        slowest = SMALLEST_SHARE * largest
        up = side * ray.high > 0.0
        moving = speed > slowest
        moving[mover] = False
        names, ways, order, sides = [], [], [], []
        for direction in (-1, 1):
            slack, finite = values.slacks(direction)
            at = np.flatnonzero(moving & finite & (up == (direction > 0)))
            here = slack[:, at]
            names.append(at)
            ways.append(_positive(here[0] + here[1] * self.lam) / _absolute(ray[at]))
            order.append((here.high[2] + self.delta * here.high[1]) / speed[at])
            sides.append(np.full(len(at), direction))
        travel = self._travel(values, mover, side, program)
        if travel is not None:
            names.append(np.array([mover]))
            ways.append(_positive(travel[0] + travel[1] * self.lam)[None])
            order.append(np.array([travel.high[2] + self.delta * travel.high[1]]))
            sides.append(np.zeros(1, dtype=np.int64))
        name = np.concatenate(names)
        if len(name) == 0:
            return -1, 0
        way = _joined(ways)
        tie = np.concatenate(order)
        reach = _smallest(way + room / speed[name]) * (1.0 + PRECISE_TIE)
        tied = np.flatnonzero((way - reach).high <= 0.0)
        steady = tied[speed[name[tied]] >= 1e-8 * speed[name[tied]].max()]
        best = steady[int(np.argmin(tie[steady]))]
        return int(name[best]), int(np.concatenate(sides)[best])

    def _travel(
        self, values: _Values, mover: int, side: int, program: ScaledProgram
    ) -> DoubleDouble | None:
        """Return how far the mover's own quantity may go (3,); None for any distance."""
        index = self.codes[mover] // 2
        if self.codes[mover] % 2:
            at, part = program.kink_ptr[mover] + index, program.kinks
            if not program.kink_ptr[mover] <= at + side < program.kink_ptr[mover + 1]:
                return None
        else:
            at, part = program.slope_ptr[mover] + index, program.slopes
        if not np.isfinite(part[0, at + side]):
            return None
        return (DoubleDouble(part[:, at + side]) - part[:, at]) * float(side)

    def _pivot(self, values: _Values, mover: int, side: int) -> str | None:
        ray = values.ray(mover)
        primal = self.codes[mover] % 2 == 0
        blocker, block_side = self._first_block(values, ray, side, mover)
        if blocker < 0:
            speed = np.abs(ray.high)
            self.ray = np.where(speed > SMALLEST_SHARE * speed.max(), side * ray.high, 0.0)
            return "infeasible_below" if primal else "unbounded_below"
        codes = self.codes = self.codes.copy()
        landed = -1
        if blocker == mover:
            codes[mover] += 2 * side
            if primal:
                landed, kink = mover, (codes[mover] // 2) - (side > 0)
        else:
            codes[mover] += side
            codes[blocker] += block_side
            landed = mover if primal else blocker
            kink = codes[landed] // 2
        if 0 <= landed < self.program.p and self.parts:
            at = self.program.kink_ptr[landed] + kink
            kinks = self.program.kinks[:2, at]
            self.parts[-1].land(landed, float(kinks[0] + float(self.lam.high) * kinks[1]))
        return None

    def segments(self) -> SegmentRecords:
        """Return what was recorded."""
        parts = self.parts
        changes = [part.changes for part in parts]
        ptr = np.cumsum([0, *(len(index) for index, _ in changes)])
        empty = np.zeros(0, dtype=np.int64)
        return SegmentRecords(
            low=np.array([part.low for part in parts]),
            high=np.array([part.high for part in parts]),
            objective=np.array([part.objective for part in parts]).reshape(-1, 3),
            theta=_entries([part.theta for part in parts]),
            nu=_entries([part.nu for part in parts]),
            change_ptr=ptr,
            change_index=np.concatenate([empty, *(index for index, _ in changes)]),
            change_code=np.concatenate([empty, *(code for _, code in changes)]),
        )


@dataclass
class _Part:
    """One segment: affine vectors (values at the lower end, rates), the objective, new codes."""

    low: float
    high: float
    theta: Array
    nu: Array
    objective: Array
    changes: tuple[Array, Array]

    @classmethod
    def of(
        cls, values: _Values, objective: Objective, recorded: Array, low: float, high: float
    ) -> _Part:
        codes = values.codes
        at = low if np.isfinite(low) else 0.0
        changed = np.flatnonzero(codes != recorded)
        nu = (values.nu[0] + values.nu[1] * at).high
        theta = (values.theta[0] + values.theta[1] * at).high
        return cls(
            low,
            high,
            np.stack([theta, values.theta.high[1]]),
            np.stack([nu, values.nu.high[1]]),
            objective.at(codes, values.w, values.nu, at),
            (changed, codes[changed]),
        )

    def raise_end(self, step: float) -> None:
        """Let the segment end above where it did."""
        self.low += step
        for pair in (self.theta, self.nu):
            pair[0] += step * pair[1]
        slope, bend = self.objective[1:]
        self.objective = self.objective + np.array(
            [step * (slope + step * bend), 2.0 * step * bend, 0.0]
        )

    def land(self, variable: int, kink: float) -> None:
        """Put a variable that meets a kink exactly there at the lower end."""
        if abs(self.theta[0, variable] - kink) <= SNAP * np.abs(self.theta[0]).max():
            self.theta[0, variable] = kink


def _entries(parts: list[Array]) -> Entries:
    index = [np.flatnonzero(part.any(axis=0)) for part in parts]
    empty = np.zeros(0)
    return Entries(
        np.cumsum([0, *(len(one) for one in index)]),
        np.concatenate([np.zeros(0, dtype=np.int64), *index]),
        np.concatenate([empty, *(part[0, one] for part, one in zip(parts, index, strict=True))]),
        np.concatenate([empty, *(part[1, one] for part, one in zip(parts, index, strict=True))]),
    )


def _positive(value: DoubleDouble) -> DoubleDouble:
    keep = value.high > 0.0
    return DoubleDouble(np.where(keep, value.high, 0.0), np.where(keep, value.low, 0.0))


def _absolute(value: DoubleDouble) -> DoubleDouble:
    below = value.high < 0.0
    return DoubleDouble(
        np.where(below, -value.high, value.high), np.where(below, -value.low, value.low)
    )


def _joined(parts: list[DoubleDouble]) -> DoubleDouble:
    return DoubleDouble(
        np.concatenate([part.high for part in parts]), np.concatenate([part.low for part in parts])
    )


def _smallest(values: DoubleDouble) -> DoubleDouble:
    return values[int(np.lexsort((values.low, values.high))[0])]
