"""The pivots, compiled: one dense program, from one optimal basis to the next.

The functions work on flat arrays (see :mod:`~sparseopt.solvers.homotopy.state`) and are resumed
where they stopped. The mathematics is that of :mod:`follow`.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled_in_place
from .fresh import largest, set_limits
from .ratio_tests import first_block, next_event
from .rays import dual_ray, exchange, primal_ray
from .records import land, land_at_end, record, take_back
from .tableau import DenseProgram, Records, Tableau

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

_TIE = 1e-12
_NEAR = 1e-8
_RATE = 1e-13
_DRIFT = 1e-7
_STALL = 500


@compiled_in_place
def _measure(program: DenseProgram, tableau: Tableau) -> None:
    """Set the primal and the dual tolerance and the smallest rate that counts, at the position."""
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position = tableau.position
    lam = position[0]
    primal, dual = largest(program.kinks, lam), largest(program.slopes, lam)
    fastest = 0.0
    for i in range(w.shape[1]):
        size = abs(w[0, i] + lam * w[1, i])
        if codes[i] & 1:
            dual = max(dual, size)
        else:
            primal = max(primal, size)
        if low[0, i] > -np.inf:
            fastest = max(fastest, abs(w[1, i] - low[1, i]))
        if high[0, i] < np.inf:
            fastest = max(fastest, abs(w[1, i] - high[1, i]))
    position[4], position[5], position[6] = _TIE * primal, _TIE * dual, _RATE * fastest


@compiled_in_place
def _optimal_at(w: Array, low: Array, high: Array, codes: Array, lam: float, sizes: Array) -> bool:
    """Whether no limit is violated at lam by more than a hundred tolerances."""
    for i in range(w.shape[1]):
        value = w[0, i] + lam * w[1, i]
        room = 100.0 * sizes[codes[i] & 1]
        if value < low[0, i] + lam * low[1, i] - room:
            return False
        if value > high[0, i] + lam * high[1, i] + room:
            return False
    return True


@compiled_in_place
def _largest_finite(values: Array, begin: int, end: int) -> float:
    """Return the largest finite constant or rate of the kinks or slopes from begin to end."""
    size = 0.0
    for c in range(2):
        for at in range(begin, end):
            if np.isfinite(values[c, at]):
                size = max(size, abs(values[c, at]))
    return size


@compiled_in_place
def _nonzeros(program: DenseProgram, tableau: Tableau, lam: float) -> int:
    """Return the number of variables that are not zero at lam."""
    count = 0
    for j in range(len(program.AT)):
        code = tableau.codes[j]
        if code & 1:
            t = program.kink_ptr[j] + (code >> 1)
            count += program.kinks[0, t] + lam * program.kinks[1, t] != 0.0
        else:
            count += tableau.w[0, j] + lam * tableau.w[1, j] != 0.0
    return count


@compiled_in_place
def advance(
    program: DenseProgram,
    tableau: Tableau,
    records: Records,
    end: float,
    start: float,
    max_pivots: int,
    max_segments: int,
    max_nonzeros: int,
) -> int:
    """Pivot until the end, a rule, or one of the pauses; return which."""
    kink_ptr, slope_ptr, kinks, slopes = program[2:]
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position, counters, touched = tableau.position, tableau.counters, tableau.touched
    ray, answer = tableau.ray, tableau.answer
    refined = counters[11] == 1
    m, p = program.A.shape
    sizes = position[4:6]
    _measure(program, tableau)
    few_theta = _largest_finite(kinks, 0, kink_ptr[p]) == 0.0
    few_nu = _largest_finite(slopes, slope_ptr[p], slopes.shape[1]) == 0.0
    tie, near = _TIE * abs(start), _NEAR * abs(start)
    travel = tableau.travel
    for _ in range(max_pivots):
        k = counters[0]
        lam, top = position[0], position[2]
        if counters[4] >= len(records.bounds) or counters[6] + p > len(records.theta_index):
            return FULL
        if counters[10] + m > len(records.nu_index):
            return FULL
        if counters[7] + counters[5] > len(records.change_index):
            return FULL
        if counters[5] + 2 > len(touched):
            return STALLED
        mover, upper, event_lam, event_delta = next_event(tableau)
        last = mover < 0 or event_lam <= end + tie
        if not last and event_lam <= end + near:
            last = _optimal_at(w, low, high, codes, end, sizes)
        if last and counters[12] == 1 and counters[1] > 0:
            return DRIFTED
        down = end if last else min(event_lam, lam)
        before, untold, delta = counters[4], counters[3], position[1]
        if top - down > tie or (last and (top > down or counters[3] == 1)):
            ruled = max_nonzeros >= 0 and counters[4] + counters[9] > 0
            if ruled and _nonzeros(program, tableau, 0.5 * (down + top)) > max_nonzeros:
                return NONZEROS
            record(program, tableau, records, down, few_theta, few_nu)
            if last:
                if np.isfinite(down):
                    land_at_end(tableau, records, down)
                return END
            if counters[4] + counters[9] >= max_segments:
                return KNOTS
        if last:
            return END
        if counters[2] >= _STALL:
            return STALLED
        above = lam
        position[0], position[1] = down, event_delta
        lam = down

        primal = not codes[mover] & 1
        sign = 1.0 if upper else -1.0
        side = 1 if upper else -1
        index = codes[mover] >> 1
        if primal:
            dual_ray(mover, program, tableau, k, refined, ray)
            at = slope_ptr[mover] + index
            for c in range(3):
                travel[c] = side * (slopes[c, at + side] - slopes[c, at])
        else:
            primal_ray(mover, program, tableau, k, refined, ray)
            at = kink_ptr[mover] + index
            if kink_ptr[mover] <= at + side < kink_ptr[mover + 1]:
                for c in range(3):
                    travel[c] = side * (kinks[c, at + side] - kinks[c, at])
            else:
                travel[0], travel[1], travel[2] = np.inf, 0.0, 0.0
        blocker, block_upper = first_block(tableau, ray, sign, mover, travel)
        if blocker < 0:
            if counters[1] > 0:
                # the ray proves something: it is to come from a fresh kernel
                take_back(tableau, records, before, untold)
                position[0], position[1] = above, delta
                return DRIFTED
            for i in range(p + m):
                ray[i] *= sign
            return INFEASIBLE if primal else UNBOUNDED
        counters[1] += 1
        counters[2] += 1
        counters[8] += 1
        if blocker == mover:
            for i in range(p + m):
                if i != mover and ray[i] != 0.0:
                    for c in range(3):
                        w[c, i] += travel[c] * sign * ray[i]
            if primal and mover < p:
                t = kink_ptr[mover] + index - (side < 0)
                land(mover, kinks[0, t] + lam * kinks[1, t], counters, records)
            codes[mover] += 2 * side
            set_limits(mover, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
            touched[counters[5]] = mover
            counters[5] += 1
            continue
        if primal:
            primal_ray(blocker, program, tableau, k, refined, answer)
        else:
            dual_ray(blocker, program, tableau, k, refined, answer)
        if abs(ray[blocker] + answer[mover]) > _DRIFT * abs(ray[blocker]) and counters[1] > 1:
            counters[1] -= 1
            counters[8] -= 1
            take_back(tableau, records, before, untold)
            position[0], position[1] = above, delta
            return DRIFTED
        block_side = 1 if block_upper else -1
        if primal:
            u, u_side, v, v_side = mover, side, blocker, block_side
            dual, value = ray, answer
        else:
            u, u_side, v, v_side = blocker, block_side, mover, side
            dual, value = answer, ray
        u_limit = high if u_side > 0 else low
        v_limit = high if v_side > 0 else low
        v_kink = kink_ptr[v] + (codes[v] >> 1)
        u_slope = slope_ptr[u] + (codes[u] >> 1)
        for c in range(3):
            value_step = (u_limit[c, u] - w[c, u]) / value[u]
            dual_step = (v_limit[c, v] - w[c, v]) / dual[v]
            # the rays are zero where the other one moves something
            if value_step != 0.0 or dual_step != 0.0:
                moved = w[c]
                for i in range(p + m):
                    moved[i] += value_step * value[i] + dual_step * dual[i]
            w[c, v] = kinks[c, v_kink] + value_step
            w[c, u] = slopes[c, u_slope] + dual_step
        counters[0] = exchange(u, v, program, tableau, k)
        codes[u] += u_side
        codes[v] += v_side
        if u < p:
            t = kink_ptr[u] + (codes[u] >> 1)
            land(u, kinks[0, t] + lam * kinks[1, t], counters, records)
        set_limits(u, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        set_limits(v, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        touched[counters[5]] = u
        touched[counters[5] + 1] = v
        counters[5] += 2
    return PAUSED
