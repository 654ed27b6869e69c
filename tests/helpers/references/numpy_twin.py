"""The plain NumPy twin of the compiled engine: the same pivots, one after another, no candidates.

It is slow and short, and it exists to be compared with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.program import ScaledProgram

_REFACTOR_AFTER = 60
"""Pivots between two fresh factorizations of the kernel."""


class SingularKernel(ArithmeticError):
    """The kernel cannot be inverted to working accuracy."""


class Basis:
    r"""A basis, with the values that belong to it.

    Code 2k of a coordinate says that it is on its piece k, code 2k + 1 that it is at its kink k.
    With C the variables on a piece and R the rows at a kink, the kernel is ``B = A[R, C]``, k x k.

    Each coordinate has one quantity that may still move: its value z_i when it is on a piece, its
    multiplier v_i when it is at a kink. `w` holds it, `low` and `high` the two kinks or the two
    slopes that it must stay between; each with the components (constant, rate in lam,
    perturbation), shape (3, n).
    """

    def __init__(self, program: ScaledProgram, codes: Array) -> None:
        self.program = program
        self.codes = codes.astype(np.int16)
        n, p = program.n, program.p
        on_piece = self.codes % 2 == 0
        self.C = [int(j) for j in np.flatnonzero(on_piece[:p])]
        self.R = [int(i) for i in np.flatnonzero(~on_piece[p:])]
        if len(self.C) != len(self.R):
            raise ValueError(f"{len(self.C)} variables on pieces, {len(self.R)} rows at kinks")
        self.w = np.zeros((3, n))
        self.low = np.full((3, n), -np.inf)
        self.high = np.full((3, n), np.inf)
        self.inverse = np.zeros((0, 0))
        self.pivots = 0
        self.refresh()

    # ---- from the codes to the values

    def refresh(self) -> None:
        """Factor the kernel anew and recompute all values from the codes.

        Raises
        ------
        SingularKernel
        """
        self._factor()
        self._limits(np.arange(self.program.n))
        self._solve()
        self.pivots = 0

    @property
    def needs_refresh(self) -> bool:
        """Whether enough pivots have passed to factor the kernel anew."""
        return self.pivots >= _REFACTOR_AFTER

    def _factor(self) -> None:
        kernel = self.program.block(np.array(self.R, int), np.array(self.C, int))
        self.kernel = kernel
        try:
            inverse = np.linalg.inv(kernel)
        except np.linalg.LinAlgError as error:
            raise SingularKernel(str(error)) from error
        if len(kernel) and not np.abs(kernel @ inverse - np.eye(len(kernel))).max() < 1e-6:
            raise SingularKernel("the kernel is singular to working accuracy")
        self.inverse = inverse

    def _limits(self, coordinates: Array) -> None:
        """Set low and high of some coordinates from their codes."""
        program = self.program
        code = self.codes[coordinates].astype(np.int64)
        first, last = program.kink_ptr[coordinates], program.kink_ptr[coordinates + 1]
        index = code // 2
        kinked = code % 2 == 1
        at = coordinates[kinked]
        slope = program.slope_ptr[at] + index[kinked]
        self.low[:, at] = program.slopes[:, slope]
        self.high[:, at] = program.slopes[:, slope + 1]
        for limit, position, empty in (
            (self.low, first + index - 1, -np.inf),
            (self.high, first + index, np.inf),
        ):
            inside = ~kinked & (position >= first) & (position < last)
            limit[:, coordinates[inside]] = program.kinks[:, position[inside]]
            outside = coordinates[~kinked & ~inside]
            limit[0, outside] = empty
            limit[1:, outside] = 0.0

    def kink_value(self, coordinates: Array) -> Array:
        """Return the kinks that the coordinates are at, shape (3, len)."""
        index = self.codes[coordinates].astype(np.int64) // 2
        return self.program.kinks[:, self.program.kink_ptr[coordinates] + index]

    def piece_slope(self, coordinates: Array) -> Array:
        """Return the slopes of the pieces that the coordinates are on, shape (3, len)."""
        index = self.codes[coordinates].astype(np.int64) // 2
        return self.program.slopes[:, self.program.slope_ptr[coordinates] + index]

    def solution(self) -> tuple[Array, Array]:
        """Return theta (3, p) and nu (3, m) of the current values."""
        p, n = self.program.p, self.program.n
        on_piece = self.codes % 2 == 0
        theta, nu = self.w[:, :p].copy(), self.w[:, p:].copy()
        fixed = np.flatnonzero(~on_piece[:p])
        theta[:, fixed] = self.kink_value(fixed)
        sloped = p + np.flatnonzero(on_piece[p:n])
        nu[:, sloped - p] = self.piece_slope(sloped)
        return theta, nu

    def _solve(self) -> None:
        """Solve the kernel systems for the values of the basis (module docstring of `engine`)."""
        program = self.program
        p = program.p
        C, R = np.array(self.C, int), np.array(self.R, int)
        on_piece = self.codes % 2 == 0
        fixed = np.flatnonzero(~on_piece[:p])
        sloped = np.flatnonzero(on_piece[p:])

        theta_fixed = self.kink_value(fixed).T
        moved = np.any(theta_fixed != 0.0, axis=1)
        rows = program.times(fixed[moved], theta_fixed[moved])
        theta_C = self._forward(self.kink_value(p + R).T - rows[R])
        rows = rows + program.times(C, theta_C)

        nu_sloped = self.piece_slope(p + sloped).T
        moved = np.any(nu_sloped != 0.0, axis=1)
        back = program.transpose_times(sloped[moved], nu_sloped[moved])
        nu_R = self._backward(-self.piece_slope(C).T - back[C])
        back = back + program.transpose_times(R, nu_R)

        self.w[:, C] = theta_C.T
        self.w[:, fixed] = -back[fixed].T
        self.w[:, p + R] = nu_R.T
        self.w[:, p + sloped] = rows[sloped].T

    def _forward(self, rhs: Array) -> Array:
        """Solve B x = rhs with one step of refinement."""
        x = self.inverse @ rhs
        return x + self.inverse @ (rhs - self.kernel @ x)

    def _backward(self, rhs: Array) -> Array:
        """Solve B' x = rhs with one step of refinement."""
        x = self.inverse.T @ rhs
        return x + self.inverse.T @ (rhs - self.kernel.T @ x)

    # ---- rays

    def dual_ray(self, u: int) -> Array:
        """Return how the multipliers move when that of the coordinate `u`, on a piece, grows by 1.

        All other coordinates on pieces keep theirs. Shape (n,), 0 for coordinates on pieces; one
        product with A[R, :].
        """
        p, n = self.program.p, self.program.n
        C, R = np.array(self.C, int), np.array(self.R, int)
        if u < p:
            delta = -self.inverse[self.C.index(u)]
            back = self.program.transpose_times(R, delta)
        else:
            row = np.array([u - p])
            delta = -(self.program.block(row, C)[0] @ self.inverse)
            back = self.program.transpose_times(np.append(R, row), np.append(delta, 1.0))
        ray = np.zeros(n)
        ray[:p] = -back
        ray[C] = 0.0
        ray[p + R] = delta
        ray[u] = 1.0
        return ray

    def primal_ray(self, w: int) -> Array:
        """Return how the values move when that of the coordinate `w`, at a kink, grows by 1.

        All other coordinates at kinks stay there. Shape (n,), 0 for coordinates at kinks; one
        product with A[:, C].
        """
        p, n = self.program.p, self.program.n
        C, R = np.array(self.C, int), np.array(self.R, int)
        if w >= p:
            delta = self.inverse[:, self.R.index(w - p)]
            rows = self.program.times(C, delta)
        else:
            column = np.array([w])
            delta = -(self.inverse @ self.program.block(R, column)[:, 0])
            rows = self.program.times(np.append(C, column), np.append(delta, 1.0))
        ray = np.zeros(n)
        ray[p:] = rows
        ray[p + R] = 0.0
        ray[C] = delta
        ray[w] = 1.0
        return ray

    # ---- changes of basis

    def exchange(self, u: int, u_code: int, w: int, w_code: int) -> None:
        """Put `u` at a kink and `w` on a piece, and update the kernel's inverse in O(k^2)."""
        p = self.program.p
        if u < p and w < p:
            self._replace_column(self.C.index(u), w)
        elif u >= p and w >= p:
            self._replace_row(self.R.index(w - p), u - p)
        elif u < p:
            self._shrink(self.R.index(w - p), self.C.index(u))
        else:
            self._grow(u - p, w)
        self.codes[u], self.codes[w] = u_code, w_code
        self.pivots += 1

    def _replace_column(self, position: int, variable: int) -> None:
        column = self.program.block(np.array(self.R, int), np.array([variable]))[:, 0]
        self.kernel[:, position] = column
        image = self.inverse @ column
        row = self.inverse[position] / image[position]
        self.inverse -= np.outer(image, row)
        self.inverse[position] = row
        self.C[position] = variable

    def _replace_row(self, position: int, row_index: int) -> None:
        row = self.program.block(np.array([row_index]), np.array(self.C, int))[0]
        self.kernel[position] = row
        image = row @ self.inverse
        column = self.inverse[:, position] / image[position]
        self.inverse -= np.outer(column, image)
        self.inverse[:, position] = column
        self.R[position] = row_index

    def _grow(self, row_index: int, variable: int) -> None:
        R, C = np.array(self.R, int), np.array(self.C, int)
        one_row, one_column = np.array([row_index]), np.array([variable])
        column = self.program.block(R, one_column)
        row = self.program.block(one_row, C)
        corner = self.program.block(one_row, one_column)
        image, coimage = self.inverse @ column, row @ self.inverse
        pivot = corner[0, 0] - (row @ image)[0, 0]
        self.inverse = np.block(
            [
                [self.inverse + image @ coimage / pivot, -image / pivot],
                [-coimage / pivot, np.array([[1.0 / pivot]])],
            ]
        )
        self.kernel = np.block([[self.kernel, column], [row, corner]])
        self.R.append(row_index)
        self.C.append(variable)

    def _shrink(self, row_position: int, column_position: int) -> None:
        """Remove a row of the kernel and a column: the inverse's Schur complement remains."""
        pivot = self.inverse[column_position, row_position]
        column = self.inverse[:, row_position]
        row = self.inverse[column_position]
        rest = self.inverse - np.outer(column, row) / pivot
        self.inverse = np.delete(np.delete(rest, column_position, 0), row_position, 1)
        self.kernel = np.delete(np.delete(self.kernel, row_position, 0), column_position, 1)
        del self.R[row_position]
        del self.C[column_position]

    def set_limits(self, *coordinates: int) -> None:
        """Set low and high of coordinates whose code has changed."""
        self._limits(np.array(coordinates))


_RATE = 1e-13
"""A coordinate that moves slower than this, relative to the fastest, does not move."""
_PIVOT = 1e-10
"""Smallest ray entry, relative to the largest, that may block."""
_STABLE = 1e-5
"""Among ties, entries this much smaller than the largest are passed over."""


class Event(NamedTuple):
    """The next coordinate that meets a limit as lam decreases."""

    coordinate: int
    upper: bool
    lam: float
    delta: float


class Block(NamedTuple):
    """The first coordinate that blocks a step along a ray; upper tells which limit it meets."""

    coordinate: int
    upper: bool
    step: float


def next_event(
    w: Array, low: Array, high: Array, lam: float, delta: float, tolerance: Array
) -> Event | None:
    """Return the first event at or below the position (lam, delta), or None.

    Parameters
    ----------
    w, low, high : arrays of shape (3, n)
        See :class:`~sparseopt.solvers.homotopy.candidates.basis.AffineBasis`.
    lam, delta : float
        The current position.
    tolerance : array of shape (n,)
        Slack within which limits count as met.
    """
    slack, rate, tie = [], [], []
    for sign, limit in ((1.0, low), (-1.0, high)):
        with np.errstate(invalid="ignore"):
            slack.append(sign * ((w[0] - limit[0]) + lam * (w[1] - limit[1])))
        rate.append(sign * (w[1] - limit[1]))
        tie.append(sign * (w[2] - limit[2]))
    slacks, rates, ties = np.concatenate(slack), np.concatenate(rate), np.concatenate(tie)
    fastest = np.abs(rates).max(initial=0.0)
    moving = np.flatnonzero((rates > _RATE * fastest) & np.isfinite(slacks))
    if len(moving) == 0:
        return None
    slacks, rates, ties = slacks[moving], rates[moving], ties[moving]
    drop = np.maximum(slacks, 0.0) / rates
    room = np.tile(tolerance, 2)[moving]
    reach = float(((np.maximum(slacks, 0.0) + room) / rates).min())
    tied = np.flatnonzero(drop <= reach)
    order = -ties[tied] / rates[tied]
    here = drop[tied] * rates[tied] <= room[tied]
    order = np.where(here, np.minimum(order, delta), order)
    best = int(np.argmax(order))
    choice = int(moving[tied[best]])
    n = w.shape[1]
    fall = float(drop[tied[best]])
    return Event(choice % n, choice >= n, lam - fall, float(order[best]))


def first_block(
    w: Array,
    low: Array,
    high: Array,
    ray: Array,
    lam: float,
    delta: float,
    tolerance: Array,
    own: tuple[Array, int],
) -> Block | None:
    """Return the first coordinate to meet a limit when w moves along `ray`, or None.

    Parameters
    ----------
    w, low, high : arrays of shape (3, n)
    ray : array of shape (n,)
    lam, delta : float
        The position at which the step is made.
    tolerance : array of shape (n,)
    own : (travel, coordinate)
        How far the coordinate that starts the move may go by itself, shape (3,): to the other
        slope, or to its next kink; infinite where nothing stops it.
    """
    travel, mover = own
    size = np.abs(ray)
    size[mover] = 0.0
    candidates = np.flatnonzero(size > _PIVOT * max(1.0, size.max(initial=0.0)))
    up = ray[candidates] > 0.0
    limit = np.where(up, high[:, candidates], low[:, candidates])
    finite = np.isfinite(limit[0])
    candidates, up, limit = candidates[finite], up[finite], limit[:, finite]
    distance = np.where(up, 1.0, -1.0) * (limit - w[:, candidates])
    speed = size[candidates]
    room = tolerance[candidates]
    if np.isfinite(travel[0]):
        distance = np.column_stack([distance, travel])
        speed = np.append(speed, 1.0)
        candidates = np.append(candidates, mover)
        up = np.append(up, True)
        room = np.append(room, tolerance[mover])
    if len(candidates) == 0:
        return None
    slack = np.maximum(distance[0] + lam * distance[1], 0.0)
    step = slack / speed
    tied = np.flatnonzero(step <= ((slack + room) / speed).min())
    tied = tied[speed[tied] >= _STABLE * speed[tied].max()]
    order = (distance[2, tied] + delta * distance[1, tied]) / speed[tied]
    best = int(tied[np.argmin(order)])
    return Block(int(candidates[best]), bool(up[best]), float(step[best]))


def perturb(basis: Basis, rng: np.random.Generator) -> None:
    """Draw the third component of all kinks and slopes anew, so that `basis` is strictly optimal.

    Kinks and slopes that the basis rests on stay; every other one moves away from it, by a random
    amount that keeps the order within each coordinate. The basis' own values do not move.
    """
    program = basis.program
    program.kinks[2] = _offsets(basis.codes, program.kink_ptr, 1, rng)
    slopes = _offsets(basis.codes, program.slope_ptr, 0, rng)
    program.slopes[2] = np.where(np.isfinite(program.slopes[0]), slopes, 0.0)
    basis.w[2] = 0.0
    basis.set_limits(*range(program.n))


def _offsets(codes: Array, ptr: Array, parity: int, rng: np.random.Generator) -> Array:
    """Return signed random distances from the place of each coordinate's code.

    In the order piece 0, kink 0, piece 1, ... the j-th kink has the place 2 j + 1 and the j-th
    slope the place 2 j; entries left of the code get negative offsets, right of it positive ones.
    """
    counts = np.diff(ptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    place = 2 * (np.arange(ptr[-1]) - ptr[owner]) + parity
    away = place - codes[owner]
    return np.sign(away) * (np.abs(away) + rng.uniform(0.0, 0.9, len(away)))


OnSegment = Callable[[Basis, float, float], str | None]

_TIE = 1e-12
"""Slack, relative to the largest value of its kind, within which a limit counts as met."""
_NEAR = 1e-8
"""Distance to the end, relative to the start, at which a violation by rounding errors is let be."""
_DRIFT = 1e-7
"""Relative disagreement of the two rays' pivot entries that asks for a fresh factorization."""
_STALL = 500
"""Pivots without progress after which the perturbation is drawn anew."""
_PATIENCE = 8
"""Perturbations drawn at one value of lam before the path is given up there."""


@dataclass(frozen=True)
class Outcome:
    """Why and where the homotopy ended.

    `reason` is "end" (the asked end is reached), "infeasible_below", "unbounded_below",
    "slow_progress", or what `on_segment` or `stop` returned. `ray` holds the
    scaled dual ray (n,) of "infeasible_below" or the primal one of "unbounded_below".
    """

    reason: str
    lam: float
    pivots: int
    ray: Array | None = None


def follow(
    basis: Basis,
    lam: float,
    end: float,
    *,
    rng: np.random.Generator,
    top: float | None = None,
    stop: Callable[[], str | None] = lambda: None,
    on_segment: OnSegment = lambda basis, low, high: None,
) -> Outcome:
    """Follow the optimal bases from `lam` down to `end`.

    Parameters
    ----------
    basis : Basis
        Optimal at `lam`; it is changed in place, and is optimal at the returned lam.
    lam, end : float
        `end` may be -inf.
    rng : Generator
        Draws the symbolic perturbation.
    top : float, optional
        Upper end of the first segment, default `lam`.
    stop : callable
        Asked at every pivot; a reason ends the path where it is.
    on_segment : callable
        Told each maximal interval (low, high) on which a basis is optimal, of positive length
        unless the whole path is one point; a reason ends the path at its low end.
    """
    top = lam if top is None else top
    tie, near = _TIE * abs(lam), _NEAR * abs(lam)
    perturb(basis, rng)
    delta, pivots, stalled, drawn, untold = 0.0, 0, 0, 0, True
    while True:
        if basis.needs_refresh and not _refreshed(basis):
            return Outcome("slow_progress", top, pivots)
        tolerance = _tolerance(basis, lam)
        event = next_event(basis.w, basis.low, basis.high, lam, delta, tolerance)
        last = (
            event is None
            or event.lam <= end + tie
            or (event.lam <= end + near and _optimal_at(basis, end, 100.0 * tolerance))
        )
        low = end if event is None or last else min(event.lam, lam)
        if top - low > tie or (last and (top > low or untold)):
            reason = on_segment(basis, low, top)
            top, stalled, drawn, untold = low, 0, 0, False
            if reason is not None:
                return Outcome(reason, low, pivots)
        if event is None or last:
            return Outcome("end", end, pivots)
        reason = stop()
        if reason is not None:
            return Outcome(reason, top, pivots)
        if stalled >= _STALL:
            stalled, drawn = 0, drawn + 1
            if drawn > _PATIENCE:
                return Outcome("slow_progress", top, pivots)
            if not _refreshed(basis):
                return Outcome("slow_progress", top, pivots)
            perturb(basis, rng)
            delta = 0.0
            continue
        lam, delta = low, event.delta
        ray = _pivot(basis, event, lam, delta, tolerance)
        pivots += 1
        stalled += 1
        if ray is not None:
            on_piece = basis.codes[event.coordinate] % 2 == 0
            reason = "infeasible_below" if on_piece else "unbounded_below"
            return Outcome(reason, top, pivots, ray)


def _optimal_at(basis: Basis, lam: float, tolerance: Array) -> bool:
    """Whether no limit of the basis is violated at lam by more than the tolerance."""
    w = basis.w[0] + lam * basis.w[1]
    under = basis.low[0] + lam * basis.low[1] - w
    over = w - basis.high[0] - lam * basis.high[1]
    return bool((np.maximum(under, over) <= tolerance).all())


def _refreshed(basis: Basis) -> bool:
    """Factor the kernel anew; False where it is singular."""
    try:
        basis.refresh()
    except SingularKernel:
        return False
    return True


def _tolerance(basis: Basis, lam: float) -> Array:
    """Return the slack within which each coordinate's limit counts as met, shape (n,)."""
    on_piece = basis.codes % 2 == 0
    size = np.abs(basis.w[0] + lam * basis.w[1])
    kinks = basis.program.kinks
    primal = max(
        float(size[on_piece].max(initial=0.0)),
        float(np.abs(kinks[0] + lam * kinks[1]).max(initial=0.0)),
    )
    dual = float(size[~on_piece].max(initial=0.0))
    return np.where(on_piece, _TIE * primal, _TIE * dual)


def _pivot(basis: Basis, event: Event, lam: float, delta: float, tolerance: Array) -> Array | None:
    """Carry out one event; return a ray when nothing blocks it, which ends the path."""
    mover = event.coordinate
    primal = basis.codes[mover] % 2 == 0
    direction = 1.0 if event.upper else -1.0
    side = 1 if event.upper else -1
    make_ray = basis.dual_ray if primal else basis.primal_ray
    ray = direction * make_ray(mover)
    travel = _travel(basis, mover, side)
    block = first_block(basis.w, basis.low, basis.high, ray, lam, delta, tolerance, (travel, mover))
    if block is None:
        return ray
    if block.coordinate == mover:
        _flip(basis, mover, side, ray, travel)
        return None
    blocker = block.coordinate
    answer = (1.0 if block.upper else -1.0) * (
        basis.primal_ray(blocker) if primal else basis.dual_ray(blocker)
    )
    # z'v = 0 along the two rays: their entries at the pair must agree
    entry, other = ray[blocker], -answer[mover] * ray[mover] / answer[blocker]
    if abs(entry - other) > _DRIFT * abs(entry) and basis.pivots > 0:
        _refreshed(basis)
        return None
    side_code = 1 if block.upper else -1
    u, w = (mover, blocker) if primal else (blocker, mover)
    u_side, w_side = (side, side_code) if primal else (side_code, side)
    dual, value = (ray, answer) if primal else (answer, ray)
    _exchange(basis, u, u_side, dual, w, w_side, value)
    return None


def _travel(basis: Basis, mover: int, side: int) -> Array:
    """Return how far the mover goes by itself before its function changes again, shape (3,).

    At the kink that it has reached its multiplier may go to the other slope; from the slope that it
    has reached its value may go to the next kink. Infinite where there is none.
    """
    program = basis.program
    code = int(basis.codes[mover])
    index = code // 2
    if code % 2 == 0:
        at = program.slope_ptr[mover] + index
        gap = program.slopes[:, at + side] - program.slopes[:, at]
    else:
        at = program.kink_ptr[mover] + index
        if not program.kink_ptr[mover] <= at + side < program.kink_ptr[mover + 1]:
            return np.array([np.inf, 0.0, 0.0])
        gap = program.kinks[:, at + side] - program.kinks[:, at]
    return np.asarray(side * gap)


def _flip(basis: Basis, mover: int, side: int, ray: Array, travel: Array) -> None:
    """Move the coordinate to the next piece or kink of the same kind; the basis stays."""
    own = basis.w[:, mover].copy()
    basis.w += travel[:, None] * ray
    basis.w[:, mover] = own
    basis.codes[mover] += 2 * side
    basis.set_limits(mover)


def _exchange(
    basis: Basis, u: int, u_side: int, dual: Array, w: int, w_side: int, value: Array
) -> None:
    """Put `u` at the kink that it meets and `w` on the piece that it enters.

    The values move along `value` until u is at its kink, the multipliers along `dual` until w has
    the slope of its piece, as affine functions of lam.
    """
    u_limit = (basis.high if u_side > 0 else basis.low)[:, u]
    w_limit = (basis.high if w_side > 0 else basis.low)[:, w]
    value_step = (u_limit - basis.w[:, u]) / value[u]
    dual_step = (w_limit - basis.w[:, w]) / dual[w]
    w_kink = basis.kink_value(np.array([w]))[:, 0]
    u_slope = basis.piece_slope(np.array([u]))[:, 0]
    basis.w += value_step[:, None] * value + dual_step[:, None] * dual
    basis.w[:, w] = w_kink + value_step * value[w]
    basis.w[:, u] = u_slope + dual_step * dual[u]
    basis.exchange(u, int(basis.codes[u]) + u_side, w, int(basis.codes[w]) + w_side)
    basis.set_limits(u, w)
