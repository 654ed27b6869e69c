r"""Algorithm 1, compiled: one dense program, from one optimal basis to the next.

The paper's dictionaries (3.8) to (3.11) say how basic variables and dual slacks depend on lam. Here
a coordinate on a piece (basic) has a value and a coordinate at a kink (nonbasic) has a multiplier,
each affine in lam, w_i(lam) = w_0i + lam w_1i, and x_B >= 0, z_N >= 0 become low <= w <= high, two
limits that are affine in lam, too (:mod:`..walks.follow` describes the events). The third component
of everything is its part in the symbolic perturbation. Step by step:

- the dictionary is `Tableau.w`, `low`, `high` (:mod:`tableau`);
- lam* of (3.13), and the variable that attains it: `next_event` (:mod:`ratio_tests`);
- the solution on [lam*, lam_max]: `record` (:mod:`records`);
- step directions Delta x_B, Delta z_N: `set_ray` (:mod:`rays`);
- the largest Delta x_i / (x_i* + lam* x_bar_i): `first_block` (:mod:`ratio_tests`);
- step lengths t, s and the new solutions: `_step`, and `_flip` where the basis stays;
- the new basis and its dictionary: `exchange` (:mod:`rays`), afresh in `refresh` (:mod:`refresh`).

:func:`advance` is resumed where it stopped; all its state is in the tableau and the records.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside, compiled_into
from ..settings import (
    NEAR_END,
    NEAR_END_TIES,
    PIVOT_MISMATCH,
    SOLVED,
    STALL,
    STILL,
    TIE,
)
from .ratio_tests import first_block, next_event
from .rays import exchange, set_ray
from .records import forget, is_full, land, land_at_end, record
from .refresh import set_limits, sizes
from .tableau import (
    AGE,
    CHANGED,
    DELTA,
    FIRST,
    FRESH_END,
    IDLE,
    LAM,
    PIVOTS,
    PRIMAL_TOLERANCE,
    SEGMENTS_BEFORE,
    SEGMENTS_HERE,
    SLOWEST_VALUE,
    SPARSE_NU,
    SPARSE_THETA,
    TOP,
    DenseProgram,
    Records,
    Tableau,
)

__all__ = [
    "DRIFTED",
    "END",
    "FULL",
    "INFEASIBLE",
    "KNOTS",
    "NONZEROS",
    "PAUSED",
    "STALLED",
    "UNBOUNDED",
    "advance",
]

END, PAUSED, FULL, STALLED, DRIFTED, INFEASIBLE, UNBOUNDED, KNOTS, NONZEROS = range(9)
"""Why :func:`advance` returned."""


@compiled_inside
def advance(
    program: DenseProgram, tableau: Tableau, records: Records, end: float, centre: float,
    max_pivots: int, max_segments: int, max_nonzeros: int,
) -> int:  # fmt: skip
    """Pivot until the end, a rule of the user, or a pause; return which.

    Parameters
    ----------
    program, tableau, records
        The tableau is changed in place, segments are added to the records.
    end : float
        Where the path ends; -inf for no end.
    centre : float
        What lam is measured from, in the program and here: lam + centre is what differences in lam
        are compared with.
    max_pivots, max_segments, max_nonzeros : int
        Pivots until PAUSED; segments in all until KNOTS; coefficients that may be nonzero until
        NONZEROS, -1 for any number.

    Returns
    -------
    int
        END, PAUSED, FULL (the records), STALLED (no progress: draw another perturbation), DRIFTED
        (refresh, then go on), INFEASIBLE or UNBOUNDED below (`ray` proves it), KNOTS, NONZEROS.
    """
    position, counters = tableau.position, tableau.counters
    _measure(program, tableau)
    for _ in range(max_pivots):
        size = abs(position[LAM] + centre)
        tie, near = TIE * size, NEAR_END * size
        if is_full(program, tableau, records):
            return FULL
        if counters[CHANGED] + 2 > len(tableau.changed):
            return STALLED
        # the event: lam* by (3.13), and the coordinate whose slack is used up there
        mover, side, event_lam, event_delta = next_event(tableau)
        last = mover < 0 or event_lam <= end + TIE * abs(end + centre)
        if not last and event_lam <= end + near:
            if counters[AGE] > 0:
                # an event so near may be that of values that should vanish there
                return DRIFTED
            last = _optimal_at(end, program, tableau)
        if last and counters[FRESH_END] and counters[AGE] > 0:
            return DRIFTED
        # the segment: the basis is optimal from there up to lam_max of (3.14)
        low, top = end if last else min(event_lam, position[LAM]), position[TOP]
        segments, first, idle = counters[SEGMENTS_HERE], counters[FIRST], counters[IDLE]
        if top - low > tie or (last and (top > low or first)):
            if _too_many_nonzeros(max_nonzeros, 0.5 * (low + top), program, tableau):
                return NONZEROS
            record(program, tableau, records, low)
            if last and np.isfinite(low):
                land_at_end(tableau, records, low, top - low)
            if not last and counters[SEGMENTS_HERE] + counters[SEGMENTS_BEFORE] >= max_segments:
                return KNOTS
        if last:
            return END
        if counters[IDLE] >= STALL:
            return STALLED
        # the pivot: step directions, step lengths, the new dictionary
        lam, delta = position[LAM], position[DELTA]
        position[LAM], position[DELTA] = low, event_delta
        reason: int = _pivot(mover, side, program, tableau, records)
        if reason == DRIFTED:
            forget(tableau, records, segments, first)
            position[LAM], position[DELTA], counters[IDLE] = lam, delta, idle
        if reason != PAUSED:
            return reason
        counters[AGE] += 1
        counters[IDLE] += 1
        counters[PIVOTS] += 1
    return PAUSED


@compiled_into
def _pivot(mover: int, side: int, program: DenseProgram, tableau: Tableau, records: Records) -> int:
    """Send the mover over its limit on a side; return PAUSED, DRIFTED, or what its ray proves.

    The loop body of Algorithm 1: a mover on a piece lands on its kink (the leaving variable, dual
    simplex), one at a kink goes onto a piece (the entering variable, primal simplex).
    """
    ray, block_ray, counters = tableau.ray, tableau.block_ray, tableau.counters
    primal = not tableau.codes[mover] & 1
    set_ray(mover, program, tableau, ray)  # Delta z_N, or Delta x_B
    _set_travel(mover, side, program, tableau)
    blocker, block_side = first_block(tableau, ray, side, mover)
    if blocker < 0:
        if counters[AGE] > 0:
            # the ray proves something: it is to come from a fresh kernel
            return DRIFTED
        for i in range(len(ray)):
            ray[i] *= side
        return INFEASIBLE if primal else UNBOUNDED
    if blocker == mover:
        _flip(mover, side, program, tableau, records)
        return PAUSED
    set_ray(blocker, program, tableau, block_ray)  # Delta x_B, or Delta z_N
    # Delta x_i and Delta z_j are both +-(B^-1 A)_ij
    mismatch = abs(ray[blocker] + block_ray[mover])
    if mismatch > PIVOT_MISMATCH * abs(ray[blocker]) and counters[AGE] > 0:
        return DRIFTED
    if primal:
        _step(mover, side, blocker, block_side, block_ray, ray, program, tableau)
        _change_basis(mover, side, blocker, block_side, program, tableau, records)
    else:
        _step(blocker, block_side, mover, side, ray, block_ray, program, tableau)
        _change_basis(blocker, block_side, mover, side, program, tableau, records)
    return PAUSED


@compiled_inside
def _set_travel(mover: int, side: int, program: DenseProgram, tableau: Tableau) -> None:
    """Set how far the mover's own quantity may go: to the next slope, or to the next kink.

    A coordinate that lands on a kink moves its multiplier from one of the kink's slopes to the
    other; one that leaves a kink moves its value along a piece to that piece's other kink, if any.
    """
    travel, index = tableau.travel, tableau.codes[mover] >> 1
    if tableau.codes[mover] & 1:
        at = program.kink_ptr[mover] + index
        if not program.kink_ptr[mover] <= at + side < program.kink_ptr[mover + 1]:
            travel[0], travel[1], travel[2] = np.inf, 0.0, 0.0
            return
        for c in range(3):
            travel[c] = side * (program.kinks[c, at + side] - program.kinks[c, at])
    else:
        at = program.slope_ptr[mover] + index
        for c in range(3):
            travel[c] = side * (program.slopes[c, at + side] - program.slopes[c, at])


@compiled_inside
def _flip(mover: int, side: int, program: DenseProgram, tableau: Tableau, records: Records) -> None:
    """Move the mover past its kink, or along a whole piece: w += travel * ray; C and R stay.

    The bound flip of simplex codes for boxed variables.
    """
    w, ray, code = tableau.w, tableau.ray, tableau.codes[mover]
    for i in range(len(ray)):
        if i != mover and ray[i] != 0.0:
            for c in range(3):
                w[c, i] += tableau.travel[c] * side * ray[i]
    if not code & 1:
        _land(mover, (code >> 1) - (side < 0), program, tableau, records)
    _set_code(mover, code + 2 * side, program, tableau)


@compiled_inside
def _step(
    u: int, u_side: int, v: int, v_side: int, value: Array, dual: Array,
    program: DenseProgram, tableau: Tableau,
) -> None:  # fmt: skip
    """Make the steps of a pivot in which u leaves its piece and v enters one.

    Algorithm 1, with u its i and v its j, `value` its Delta x_B and `dual` its Delta z_N, for the
    constant, the rate in lam, and the perturbation:

        t = (limit_u - w_u) / value_u,    s = (limit_v - w_v) / dual_v,
        w <- w + t value + s dual,    w_v = kink_v + t,    w_u = slope_u + s.
    """
    codes, w = tableau.codes, tableau.w
    u_limit = tableau.high if u_side > 0 else tableau.low
    v_limit = tableau.high if v_side > 0 else tableau.low
    v_kink = program.kink_ptr[v] + (codes[v] >> 1)
    u_slope = program.slope_ptr[u] + (codes[u] >> 1)
    for c in range(3):
        t = (u_limit[c, u] - w[c, u]) / value[u]
        s = (v_limit[c, v] - w[c, v]) / dual[v]
        if t != 0.0 or s != 0.0:
            moved = w[c]
            # each of the two is zero where the other one moves something
            for i in range(len(moved)):
                moved[i] += t * value[i] + s * dual[i]
        w[c, v] = program.kinks[c, v_kink] + t
        w[c, u] = program.slopes[c, u_slope] + s


@_step.in_numpy
def _(
    u: int, u_side: int, v: int, v_side: int, value: Array, dual: Array,
    program: DenseProgram, tableau: Tableau,
) -> None:  # fmt: skip
    codes, w = tableau.codes, tableau.w
    u_limit = tableau.high if u_side > 0 else tableau.low
    v_limit = tableau.high if v_side > 0 else tableau.low
    t = (u_limit[:, u] - w[:, u]) / value[u]
    s = (v_limit[:, v] - w[:, v]) / dual[v]
    moved = (t != 0.0) | (s != 0.0)
    w[moved] += np.outer(t[moved], value) + np.outer(s[moved], dual)
    w[:, v] = program.kinks[:, program.kink_ptr[v] + (codes[v] >> 1)] + t
    w[:, u] = program.slopes[:, program.slope_ptr[u] + (codes[u] >> 1)] + s


@compiled_into
def _change_basis(
    u: int, u_side: int, v: int, v_side: int,
    program: DenseProgram, tableau: Tableau, records: Records,
) -> None:  # fmt: skip
    """Put u at the kink on its side and v on the piece on its side, and update the inverse."""
    exchange(u, v, program, tableau)
    u_code = tableau.codes[u] + u_side
    _land(u, u_code >> 1, program, tableau, records)
    _set_code(u, u_code, program, tableau)
    _set_code(v, tableau.codes[v] + v_side, program, tableau)


@compiled_inside
def _set_code(i: int, code: int, program: DenseProgram, tableau: Tableau) -> None:
    """Give a coordinate a new code and new limits."""
    tableau.codes[i] = code
    set_limits(i, program, tableau)
    tableau.changed[tableau.counters[CHANGED]] = i
    tableau.counters[CHANGED] += 1


@compiled_inside
def _land(i: int, kink: int, program: DenseProgram, tableau: Tableau, records: Records) -> None:
    """Let the last segment end exactly at the kink that a variable meets there."""
    if i < len(program.AT):
        t = program.kink_ptr[i] + kink
        lam = tableau.position[LAM]
        land(i, program.kinks[0, t] + lam * program.kinks[1, t], tableau, records)


# ---- what a call of advance is measured by


@compiled_inside
def _measure(program: DenseProgram, tableau: Tableau) -> None:
    """Set the tolerances and the smallest rates that count, at the position, and what is sparse."""
    position, p = tableau.position, len(program.AT)
    for parity in range(2):
        value, rate = sizes(program, tableau, position[LAM], parity)
        position[PRIMAL_TOLERANCE + parity] = TIE * value
        position[SLOWEST_VALUE + parity] = STILL * rate
    kink_ptr, slope_ptr = program.kink_ptr, program.slope_ptr
    tableau.counters[SPARSE_THETA] = _zero(program.kinks, kink_ptr[0], kink_ptr[p])
    tableau.counters[SPARSE_NU] = _zero(program.slopes, slope_ptr[p], slope_ptr[len(tableau.codes)])


@compiled_inside
def _zero(values: Array, begin: int, end: int) -> bool:
    """Return whether the finite kinks or slopes from begin to end are zero at all lam."""
    for c in range(2):
        for at in range(begin, end):
            if values[c, at] != 0.0 and np.isfinite(values[c, at]):
                return False
    return True


@_zero.in_numpy
def _(values: Array, begin: int, end: int) -> bool:
    part = values[:2, begin:end]
    return not np.any((part != 0.0) & np.isfinite(part))


@compiled_inside
def _optimal_at(lam: float, program: DenseProgram, tableau: Tableau) -> bool:
    """Return whether no limit is violated at lam by more than a hundred tolerances.

    Products with A have the tolerance of their own terms.
    """
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    p = len(program.AT)
    for i in range(len(codes)):
        value, parity = w[0, i] + lam * w[1, i], codes[i] & 1
        violation = max(low[0, i] + lam * low[1, i] - value, value - high[0, i] - lam * high[1, i])
        if violation <= 0.0:
            continue
        room = tableau.position[PRIMAL_TOLERANCE + parity]
        if (i < p) == (parity == 1):
            room = TIE * (abs(value) + _terms(i, lam, program, tableau))
        if violation > NEAR_END_TIES * room:
            return False
    return True


@compiled_inside
def _terms(i: int, lam: float, program: DenseProgram, tableau: Tableau) -> float:
    """Return the sum of the absolute terms of a product with A: a row's value, or -A'nu.

    What comes from the kernel counts with its rounding error at least.
    """
    codes, w, p, total = tableau.codes, tableau.w, len(program.AT), 0.0
    least = SOLVED * tableau.position[PRIMAL_TOLERANCE + (i < p)] / TIE
    if i >= p:
        for j in range(p):
            t = program.kink_ptr[j] + (codes[j] >> 1)
            kink = program.kinks[0, t] + lam * program.kinks[1, t] if codes[j] & 1 else 0.0
            value = abs(kink) if codes[j] & 1 else max(abs(w[0, j] + lam * w[1, j]), least)
            total += abs(program.A[i - p, j]) * value
    else:
        for r in range(p, len(codes)):
            t = program.slope_ptr[r] + (codes[r] >> 1)
            slope = 0.0 if codes[r] & 1 else program.slopes[0, t] + lam * program.slopes[1, t]
            value = max(abs(w[0, r] + lam * w[1, r]), least) if codes[r] & 1 else abs(slope)
            total += abs(program.AT[i, r - p]) * value
    return total


@compiled_inside
def _too_many_nonzeros(most: int, lam: float, program: DenseProgram, tableau: Tableau) -> bool:
    """Return whether over `most` variables are not zero at lam, except in the first segment."""
    if most < 0 or tableau.counters[SEGMENTS_HERE] + tableau.counters[SEGMENTS_BEFORE] <= 0:
        return False
    count = 0
    for j in range(len(program.AT)):
        code = tableau.codes[j]
        if code & 1:
            t = program.kink_ptr[j] + (code >> 1)
            count += program.kinks[0, t] + lam * program.kinks[1, t] != 0.0
        else:
            count += tableau.w[0, j] + lam * tableau.w[1, j] != 0.0
    return count > most
