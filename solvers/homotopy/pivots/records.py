"""The segments of a path, as the compiled pivots write them down."""

from __future__ import annotations

import numpy as np

from ...common.compiled import compiled_inside, compiled_into
from ..settings import ARRIVED, SNAP
from .tableau import (
    CHANGE,
    CHANGED,
    FIRST,
    IDLE,
    KERNEL,
    NU,
    SEGMENTS_BEFORE,
    SEGMENTS_HERE,
    SPARSE_NU,
    SPARSE_THETA,
    THETA,
    TOP,
    DenseProgram,
    Records,
    Tableau,
)


@compiled_inside
def is_full(program: DenseProgram, tableau: Tableau, records: Records) -> bool:
    """Return whether there may not be room for another segment.

    Parameters
    ----------
    program : DenseProgram
    tableau : Tableau
    records : Records

    Returns
    -------
    bool
    """
    m, p = program.A.shape
    s = tableau.counters[SEGMENTS_HERE]
    if s >= len(records.bounds):
        return True
    used = records.ptr[s]
    if used[THETA] + p > len(records.theta_index) or used[NU] + m > len(records.nu_index):
        return True
    return bool(used[CHANGE] + tableau.counters[CHANGED] > len(records.change_index))


@compiled_into
def record(program: DenseProgram, tableau: Tableau, records: Records, low: float) -> None:
    """Record the segment from the position's top down to `low`.

    Its entries are those of the basic solution, (3.8) and (3.10) with all else fixed.

    Parameters
    ----------
    program : DenseProgram
    tableau : Tableau
        Its counters and its top are updated.
    records : Records
        Changed in place.
    low : float
        The lower end of the segment, in lam; may be -inf.
    """
    counters = tableau.counters
    s = counters[SEGMENTS_HERE]
    records.bounds[s, 0], records.bounds[s, 1] = low, tableau.position[TOP]
    at = low if np.isfinite(low) else 0.0
    records.ptr[s + 1, THETA] = _record_theta(program, tableau, records, s, at)
    records.ptr[s + 1, NU] = _record_nu(program, tableau, records, s, at)
    records.ptr[s + 1, CHANGE] = _record_changes(tableau, records, s)
    counters[SEGMENTS_HERE] = s + 1
    counters[IDLE], counters[FIRST] = 0, 0
    tableau.position[TOP] = low


@compiled_inside
def _record_theta(
    program: DenseProgram, tableau: Tableau, records: Records, s: int, at: float
) -> int:
    """Write the coefficients that are not zero; return where they end."""
    codes, w, C = tableau.codes, tableau.w, tableau.C
    sparse = tableau.counters[SPARSE_THETA]
    used: int = records.ptr[s, THETA]
    for entry in range(tableau.counters[KERNEL] if sparse else len(program.AT)):
        j = C[entry] if sparse else entry
        if codes[j] & 1:
            t = program.kink_ptr[j] + (codes[j] >> 1)
            value, rate = program.kinks[0, t], program.kinks[1, t]
        else:
            value, rate = w[0, j], w[1, j]
        if value != 0.0 or rate != 0.0:
            records.theta_index[used] = j
            records.theta_value[used] = value + at * rate
            records.theta_rate[used] = rate
            used += 1
    return used


@_record_theta.in_numpy
def _(program: DenseProgram, tableau: Tableau, records: Records, s: int, at: float) -> int:
    sparse = tableau.counters[SPARSE_THETA]
    j = tableau.C[: tableau.counters[KERNEL]] if sparse else np.arange(len(program.AT))
    codes, values = tableau.codes[j], tableau.w[:2, j]
    still = codes & 1 == 1
    values[:, still] = program.kinks[:2, program.kink_ptr[j[still]] + (codes[still] >> 1)]
    kept = values.any(axis=0)
    value, rate = values[:, kept]
    here = slice(records.ptr[s, THETA], records.ptr[s, THETA] + len(value))
    records.theta_index[here] = j[kept]
    records.theta_value[here] = value + at * rate
    records.theta_rate[here] = rate
    return int(here.stop)


@compiled_inside
def _record_nu(program: DenseProgram, tableau: Tableau, records: Records, s: int, at: float) -> int:
    """Write the multipliers that are not zero, and the objective; return where they end.

    The objective is -sum_i nu_i t_i over the rows, t_i the kink that row i is at or next to.
    """
    m, p = program.A.shape
    codes, w, R, kinks, slopes = tableau.codes, tableau.w, tableau.R, program.kinks, program.slopes
    sparse = tableau.counters[SPARSE_NU]
    used: int = records.ptr[s, NU]
    constant, linear, square = 0.0, 0.0, 0.0
    for entry in range(tableau.counters[KERNEL] if sparse else m):
        i = R[entry] if sparse else entry
        code = codes[p + i]
        if code & 1:
            value, rate = w[0, p + i], w[1, p + i]
        else:
            t = program.slope_ptr[p + i] + (code >> 1)
            value, rate = slopes[0, t], slopes[1, t]
        if value != 0.0 or rate != 0.0:
            value += at * rate
            records.nu_index[used] = i
            records.nu_value[used] = value
            records.nu_rate[used] = rate
            used += 1
            t = program.kink_ptr[p + i] + (max(code - 1 + (code & 1), 0) >> 1)
            kink, kink_rate = kinks[0, t] + at * kinks[1, t], kinks[1, t]
            constant -= value * kink
            linear -= value * kink_rate + rate * kink
            square -= rate * kink_rate
    total = records.objective[s]
    total[0], total[1], total[2] = constant, linear, square
    return used


@_record_nu.in_numpy
def _(program: DenseProgram, tableau: Tableau, records: Records, s: int, at: float) -> int:
    m, p = program.A.shape
    sparse = tableau.counters[SPARSE_NU]
    i = tableau.R[: tableau.counters[KERNEL]] if sparse else np.arange(m)
    codes, values = tableau.codes[p + i], tableau.w[:2, p + i]
    on_piece = codes & 1 == 0
    slopes_at = program.slope_ptr[p + i[on_piece]] + (codes[on_piece] >> 1)
    values[:, on_piece] = program.slopes[:2, slopes_at]
    kept = values.any(axis=0)
    i, codes, (value, rate) = i[kept], codes[kept], values[:, kept]
    value = value + at * rate
    here = slice(records.ptr[s, NU], records.ptr[s, NU] + len(value))
    records.nu_index[here], records.nu_value[here], records.nu_rate[here] = i, value, rate
    t = program.kink_ptr[p + i] + (np.maximum(codes - 1 + (codes & 1), 0) >> 1)
    kink_rate = program.kinks[1, t]
    kink = program.kinks[0, t] + at * kink_rate
    records.objective[s] = -(value @ kink), -(value @ kink_rate + rate @ kink), -(rate @ kink_rate)
    return int(here.stop)


@compiled_inside
def _record_changes(tableau: Tableau, records: Records, s: int) -> int:
    """Write the codes that differ from those last recorded; return where they end."""
    codes, recorded, counters = tableau.codes, tableau.recorded, tableau.counters
    used: int = records.ptr[s, CHANGE]
    for t in range(counters[CHANGED]):
        i = tableau.changed[t]
        if codes[i] != recorded[i]:
            recorded[i] = codes[i]
            records.change_index[used] = i
            records.change_code[used] = codes[i]
            used += 1
    counters[CHANGED] = 0
    return used


@compiled_inside
def forget(tableau: Tableau, records: Records, segments: int, first: int) -> None:
    """Take the last segment back, to record it from new values, if there are more than `segments`.

    `first` is the flag FIRST as it was before.

    Parameters
    ----------
    tableau : Tableau
    records : Records
    segments : int
        The number of segments to keep.
    first : int
        The flag FIRST as it was before the segment was recorded.
    """
    counters = tableau.counters
    if counters[SEGMENTS_HERE] == segments:
        return
    tableau.position[TOP] = records.bounds[segments, 1]
    counters[FIRST], counters[SEGMENTS_HERE] = first, segments
    for t in range(records.ptr[segments, CHANGE], records.ptr[segments + 1, CHANGE]):
        i = records.change_index[t]
        tableau.recorded[i] = -1
        tableau.changed[counters[CHANGED]] = i
        counters[CHANGED] += 1


@compiled_inside
def _largest_theta(records: Records, s: int) -> float:
    """Return the largest coefficient at the lower end of segment s."""
    size = 0.0
    for at in range(records.ptr[s, THETA], records.ptr[s + 1, THETA]):
        size = max(size, abs(records.theta_value[at]))
    return size


@compiled_inside
def land(variable: int, kink: float, tableau: Tableau, records: Records) -> None:
    """Put a variable that meets a kink exactly there at the end of the last recorded segment.

    Parameters
    ----------
    variable : int
        0 to p - 1.
    kink : float
        The value of the kink, in the engine's units.
    tableau : Tableau
    records : Records
        Changed in place.
    """
    s = tableau.counters[SEGMENTS_HERE] - 1
    if s < 0 or tableau.counters[SEGMENTS_HERE] + tableau.counters[SEGMENTS_BEFORE] < 1:
        return
    size = _largest_theta(records, s)
    for at in range(records.ptr[s, THETA], records.ptr[s + 1, THETA]):
        if records.theta_index[at] == variable:
            if abs(records.theta_value[at] - kink) <= SNAP * size:
                records.theta_value[at] = kink
            return


@compiled_inside
def land_at_end(tableau: Tableau, records: Records, lam: float, length: float) -> None:
    """Put the variables that meet a kink just where the path ends exactly there.

    Parameters
    ----------
    tableau : Tableau
    records : Records
        Changed in place.
    lam : float
        The end of the path.
    length : float
        That of the last segment: what is far from a kink by the way that the variable has gone is
        not there, however small it is beside the others.
    """
    s = tableau.counters[SEGMENTS_HERE] - 1
    size = _largest_theta(records, s)
    for at in range(records.ptr[s, THETA], records.ptr[s + 1, THETA]):
        j = records.theta_index[at]
        if tableau.codes[j] & 1:
            continue
        for side in range(2):
            limit = tableau.high if side else tableau.low
            kink = limit[0, j] + lam * limit[1, j]
            off, gone = abs(records.theta_value[at] - kink), abs(records.theta_rate[at]) * length
            if off <= SNAP * size and not ARRIVED * gone < off <= 2.0 * gone:
                records.theta_value[at] = kink
