r"""The homotopy: from one optimal basis to the next as lam decreases.

A basis says for every coordinate whether it is at a kink or on a piece. With C the variables on
pieces, N those at kinks, R the rows at kinks and B = A[R, C],

.. math:: \theta_C = B^{-1}(t_R - A_{RN}\theta_N), \qquad
          B'\nu_R = -g_C - (A'\nu)_C \text{ over the rows on pieces}, \qquad g = -A'\nu,

all affine in lam. The basis is optimal while every value on a piece stays between its kinks and
every multiplier at a kink between that kink's slopes. The first to leave is the next event:

- **primal event**: a value on a piece reaches a kink. It stays there, its multiplier moves
  towards the kink's other slope, and the first multiplier of another coordinate that meets a slope on
  the way sends that coordinate onto a piece. If the other slope is met first, the
  coordinate passes through its kink and the basis stays (a flip).
- **dual event**: a multiplier at a kink reaches a slope. The coordinate leaves its kink, and the
  first value that meets a kink on the way stays there. If that is the coordinate's own next kink,
  the basis stays (a flip).

Source: Pang, Zhao, Vanderbei, Liu, section 3.2 and Algorithm 1, on piecewise-linear functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.basis import Basis, SingularKernel
from sparseopt.solvers.homotopy.perturbation import perturb
from sparseopt.solvers.homotopy.ratio import Event, first_block, next_event

__all__ = ["OnSegment", "Outcome", "follow"]

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
    block = first_block(
        basis.w, basis.low, basis.high, ray, lam, delta, tolerance, (travel, mover)
    )
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
