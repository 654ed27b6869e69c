"""The segments of a path, as the compiled pivots write them down."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled_in_place
from .tableau import DenseProgram, Records, Tableau

__all__ = ["land", "land_at_end", "record", "take_back"]

_SNAP = 1e-11


@compiled_in_place
def record(
    program: DenseProgram,
    tableau: Tableau,
    records: Records,
    down: float,
    few_theta: bool,
    few_nu: bool,
) -> None:
    """Record the segment from the position's top down to `down`.

    `few_theta` says that variables at kinks are zero, `few_nu` that rows on pieces have slope zero.
    """
    A, _, kink_ptr, slope_ptr, kinks, slopes = program
    m, p = A.shape
    C, R, k = tableau.C, tableau.R, tableau.counters[0]
    codes, told, w, counters = tableau.codes, tableau.told, tableau.w, tableau.counters
    s = counters[4]
    records.bounds[s, 0], records.bounds[s, 1] = down, tableau.position[2]
    at = down if np.isfinite(down) else 0.0
    used = counters[6]
    for position in range(k if few_theta else p):
        j = C[position] if few_theta else position
        if codes[j] & 1:
            t = kink_ptr[j] + (codes[j] >> 1)
            value, rate = kinks[0, t], kinks[1, t]
        else:
            value, rate = w[0, j], w[1, j]
        if value != 0.0 or rate != 0.0:
            records.theta_index[used] = j
            records.theta_value[used] = value + at * rate
            records.theta_rate[used] = rate
            used += 1
    counters[6] = used
    used = counters[10]
    total = records.objective[s]
    total[:] = 0.0
    for position in range(k if few_nu else m):
        i = R[position] if few_nu else position
        code = codes[p + i]
        if code & 1:
            value, rate = w[0, p + i], w[1, p + i]
        else:
            t = slope_ptr[p + i] + (code >> 1)
            value, rate = slopes[0, t], slopes[1, t]
        if value != 0.0 or rate != 0.0:
            value += at * rate
            records.nu_index[used] = i
            records.nu_value[used] = value
            records.nu_rate[used] = rate
            used += 1
            t = kink_ptr[p + i] + (max(code - 1 + (code & 1), 0) >> 1)
            kink, kink_rate = kinks[0, t] + at * kinks[1, t], kinks[1, t]
            total[0] -= value * kink
            total[1] -= value * kink_rate + rate * kink
            total[2] -= rate * kink_rate
    counters[10] = used
    changes = counters[7]
    for t in range(counters[5]):
        i = tableau.touched[t]
        if codes[i] != told[i]:
            told[i] = codes[i]
            records.change_index[changes] = i
            records.change_code[changes] = codes[i]
            changes += 1
    counters[5], counters[7] = 0, changes
    records.ends[s, 0], records.ends[s, 1] = counters[6], counters[10]
    records.ends[s, 2] = changes
    counters[4] = s + 1
    counters[2], counters[3] = 0, 0
    tableau.position[2] = down


@compiled_in_place
def take_back(tableau: Tableau, records: Records, before: int, untold: int) -> None:
    """Forget the segment behind the first `before`, if there is one, to record it from new values.

    `untold` is the mark that nothing was told yet, as it was before.
    """
    counters = tableau.counters
    if counters[4] == before:
        return
    tableau.position[2] = records.bounds[before, 1]
    changes = counters[7]
    counters[6] = records.ends[before - 1, 0] if before > 0 else 0
    counters[10] = records.ends[before - 1, 1] if before > 0 else 0
    counters[7] = records.ends[before - 1, 2] if before > 0 else 0
    counters[3], counters[4] = untold, before
    for c in range(counters[7], changes):
        i = records.change_index[c]
        tableau.told[i] = -1
        tableau.touched[counters[5]] = i
        counters[5] += 1


@compiled_in_place
def land(variable: int, kink: float, counters: Array, records: Records) -> None:
    """Put a variable that meets a kink exactly there at the end of the last recorded segment."""
    s = counters[4] - 1
    if s < 0 or counters[4] + counters[9] < 1:
        return
    begin = records.ends[s - 1, 0] if s > 0 else 0
    size = 0.0
    found = -1
    for at in range(begin, records.ends[s, 0]):
        size = max(size, abs(records.theta_value[at]))
        if records.theta_index[at] == variable:
            found = at
    if found >= 0 and abs(records.theta_value[found] - kink) <= _SNAP * size:
        records.theta_value[found] = kink


@compiled_in_place
def land_at_end(tableau: Tableau, records: Records, lam: float) -> None:
    """Put the variables that meet a kink just where the path ends exactly there."""
    s = tableau.counters[4] - 1
    begin = records.ends[s - 1, 0] if s > 0 else 0
    size = 0.0
    for at in range(begin, records.ends[s, 0]):
        size = max(size, abs(records.theta_value[at]))
    for at in range(begin, records.ends[s, 0]):
        j = records.theta_index[at]
        if tableau.codes[j] & 1:
            continue
        for side in range(2):
            limit = tableau.high if side else tableau.low
            kink = limit[0, j] + lam * limit[1, j]
            if abs(records.theta_value[at] - kink) <= _SNAP * size:
                records.theta_value[at] = kink
