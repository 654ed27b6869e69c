"""Many small paths of one dense matrix, one after another in one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place, compiled_inside, compiled_into
from ..settings import (
    DRIFT_REFINES,
    PERTURBATIONS,
    REFRESH_AFTER,
    RISING,
    STEEP,
    STEEPNESS_AFTER,
    STILL,
)
from .core import DRIFTED, FULL, PAUSED, STALLED, advance
from .refresh import perturb, refresh, set_limits, steepness_of
from .tableau import (
    AGE,
    CHANGED,
    DELTA,
    DOUBT,
    DRIFT,
    FIRST,
    IDLE,
    KERNEL,
    LAM,
    PIVOTS,
    REFINED,
    REFRESHED_AT,
    SEGMENTS_BEFORE,
    SEGMENTS_HERE,
    TOP,
    DenseProgram,
    Records,
    Tableau,
)

__all__ = ["NO_START", "Column", "FirstBasis", "follow_columns", "scale"]

NO_START = -1
"""The reason of a path whose first basis is not known."""
_STEEP = -2
"""The reason of a path that is to be followed again, more carefully."""


@by_address
class FirstBasis(NamedTuple):
    """The basis that all paths start from, and what differs between the programs.

    Attributes
    ----------
    codes : int array of shape (n,)
    kinks : array of shape (programs, number of kinks)
        The constants of the kinks of each program.
    slopes : array of shape (number of slopes,)
        The constants of the slopes of all.
    known : int array of shape (1,)
        Whether the values of the basis are known: they do not depend on the kinks of rows.
    w, low, high : arrays of shape (3, n)
        Room for these values.
    """

    codes: Array
    kinks: Array
    slopes: Array
    known: Array
    w: Array
    low: Array
    high: Array


@by_address
class Column(NamedTuple):
    """How the paths of :func:`follow_columns` ended; one entry for each program.

    Attributes
    ----------
    reason : int array
        A code of :mod:`core`; PAUSED where the clock ended it, STALLED where it could not go on,
        or NO_START.
    ends : int array
        Where the segments of each program end in the records.
    pivots : int array
    rays : array of shape (count, n)
        The ray of each path that ended INFEASIBLE or UNBOUNDED.
    doubt : array of shape (count,)
        The largest sign that digits were lost (see :mod:`tableau`).
    """

    reason: Array
    ends: Array
    pivots: Array
    rays: Array
    doubt: Array


@compiled_inside
def _optimal_from(tableau: Tableau) -> float:
    """Return the smallest lam from which on the basis is optimal; inf if there is none."""
    w = tableau.w
    size, rate_size = 0.0, 0.0
    for i in range(w.shape[1]):
        size, rate_size = max(size, abs(w[0, i])), max(rate_size, abs(w[1, i]))
    lowest = 0.0
    for side in range(2):
        limit = tableau.high if side else tableau.low
        sign = 1.0 - 2.0 * side
        for i in range(w.shape[1]):
            if np.isinf(limit[0, i]):
                continue
            slack = sign * (w[0, i] - limit[0, i])
            rate = sign * (w[1, i] - limit[1, i])
            still = abs(rate) <= STILL * rate_size
            if (rate < 0.0 and not still) or (still and slack < -STILL * size):
                return np.inf
            if not still:
                lowest = max(lowest, -slack / rate)
    return lowest


@compiled_in_place
def scale(index: Array, value: Array, rate: Array, factor: Array) -> None:
    """Multiply the affine entries of each index by its factor, in place.

    Parameters
    ----------
    index : int array of shape (E,)
    value, rate : arrays of shape (E,)
        Changed in place.
    factor : array
        One factor for each index.
    """
    for at in range(len(index)):
        weight = factor[index[at]]
        value[at] *= weight
        rate[at] *= weight


# ---- the start of a path


@compiled_inside
def _copy(values: Array, out: Array) -> None:
    for i in range(len(out)):
        out[i] = values[i]


@compiled_inside
def _copy_rows(values: Array, out: Array) -> None:
    for r in range(len(out)):
        _copy(values[r], out[r])


@compiled_inside
def _begin(
    kinks: Array, slopes: Array, codes: Array, program: DenseProgram, tableau: Tableau
) -> None:
    """Set the kinks and slopes of a program around lam = 0, its first basis, and the counters."""
    _copy(kinks, program.kinks[0])
    _copy(slopes, program.slopes[0])
    _copy(codes, tableau.codes)
    _copy(codes, tableau.recorded)
    counters, position = tableau.counters, tableau.position
    counters[AGE] = counters[IDLE] = counters[CHANGED] = counters[PIVOTS] = 0
    counters[FIRST], counters[REFINED] = 1, 0
    counters[SEGMENTS_BEFORE] = -counters[SEGMENTS_HERE]
    position[LAM], position[DELTA], position[TOP] = 0.0, 0.0, np.inf
    position[DOUBT] = 0.0


@compiled_inside
def _first_values(program: DenseProgram, first: FirstBasis, tableau: Tableau, seed: int) -> int:
    """Set the values of the first basis; return PAUSED, or STALLED where its kernel is singular.

    Where the kernel is empty they are kept, and taken for all programs.
    """
    if first.known[0]:
        _restart(program, tableau, first.w, first.low, first.high)
        return PAUSED
    perturb(program, tableau, seed)
    if refresh(program, tableau) < 0:
        return STALLED
    if tableau.counters[KERNEL] == 0:
        _copy_rows(tableau.w, first.w)
        _copy_rows(tableau.low, first.low)
        _copy_rows(tableau.high, first.high)
        first.known[0] = 1
    return PAUSED


@compiled_inside
def _restart(program: DenseProgram, tableau: Tableau, w: Array, low: Array, high: Array) -> None:
    """Set the values of a basis whose kernel is empty, after other kinks of rows were set.

    They were (w, low, high) with the kinks before; only the limits of the rows differ.
    """
    _copy_rows(w, tableau.w)
    _copy_rows(low, tableau.low)
    _copy_rows(high, tableau.high)
    for i in range(len(tableau.place)):
        tableau.place[i] = -1
    for i in range(len(program.AT), len(tableau.codes)):
        set_limits(i, program, tableau)
    tableau.counters[KERNEL] = 0
    tableau.position[DELTA] = tableau.position[DRIFT] = 0.0


# ---- the centre, from which lam is measured


@compiled_inside
def _recentre(program: DenseProgram, tableau: Tableau) -> float:
    """Make the current lam the centre, from which the parameter is measured; return how far it was.

    To be followed by a refresh.
    """
    position = tableau.position
    move: float = position[LAM]
    _shift(program.kinks, move)
    _shift(program.slopes, move)
    _shift(tableau.w, move)
    position[LAM] -= move
    position[TOP] -= move
    position[REFRESHED_AT] -= move
    return move


@compiled_inside
def _shift(affine: Array, move: float) -> None:
    """Turn constants at the centre into those at the centre + move."""
    for i in range(affine.shape[1]):
        affine[0, i] += move * affine[1, i]


@compiled_inside
def _uncentre(bounds: Array, first: int, begin: int, stop: int, centre: float, end: float) -> None:
    """Bring the segments `begin` to `stop` (excluded), recorded around a centre, into terms of lam.

    `first` is the first one of their path, and `end` where that may end.
    """
    for s in range(begin, stop):
        last = bounds[s, 0] == end - centre
        bounds[s, 0] = end if last else bounds[s, 0] + centre
        bounds[s, 1] = bounds[s - 1, 0] if s > first else bounds[s, 1] + centre


# ---- the paths


@compiled_inside
def follow_columns(
    program: DenseProgram, first: FirstBasis, tableau: Tableau, records: Records, ended: Column,
    stop: Array, column: int, end: float, seed: int, max_segments: int, max_nonzeros: int,
) -> int:  # fmt: skip
    """Follow the paths of the programs from `column` on, which differ in their kinks.

    Parameters
    ----------
    program : DenseProgram
        Its kinks and slopes are overwritten.
    first : FirstBasis
        Where each path starts; where that is not optimal for large lam, the program is left to
        the caller (reason :data:`NO_START`).
    tableau : Tableau
        Work space.
    records : Records
        Segments are added behind those of the columns before.
    ended : Column
        Filled in.
    stop : int array of shape (1,)
        Looked at often; a nonzero entry, set by another thread, ends the loop.
    column : int
    end : float
        Where the paths end.
    seed, max_segments, max_nonzeros : int

    Returns
    -------
    int
        The next column to follow: all are done, or the records are full, and this one is to be
        followed again with more room.
    """
    counters, position = tableau.counters, tableau.position
    careful = False
    while column < len(ended.reason):
        counters[SEGMENTS_HERE] = ended.ends[column - 1] if column > 0 else 0
        reason = PAUSED
        if not stop[0]:
            _begin(first.kinks[column], first.slopes, first.codes, program, tableau)
            reason = _first_values(program, first, tableau, seed + column)
            start = max(_optimal_from(tableau), end)
            position[LAM] = position[REFRESHED_AT] = start
            if start == np.inf:
                reason = NO_START
            if reason == PAUSED:
                reason = _follow_column(
                    program, first, tableau, records, stop, careful, end, seed + column,
                    max_segments, max_nonzeros,
                )  # fmt: skip
            if reason == FULL:
                return column
            if reason == _STEEP:
                # once more from the start, with care
                careful = True
                continue
            ended.pivots[column] = counters[PIVOTS]
            ended.doubt[column] = position[DOUBT]
            _copy(tableau.ray, ended.rays[column])
        ended.reason[column] = reason
        ended.ends[column] = counters[SEGMENTS_HERE]
        careful = False
        column += 1
    return column


@compiled_into
def _follow_column(
    program: DenseProgram, first: FirstBasis, tableau: Tableau, records: Records, stop: Array,
    careful: bool, end: float, seed: int, max_segments: int, max_nonzeros: int,
) -> int:  # fmt: skip
    """Follow one path down from its first basis; return why it ended.

    Values are kept as those at a centre and their rates in lam. Near the end of a path that becomes
    infeasible the rates may grow until such sums lose their digits: a path that gets so steep is
    left (:data:`_STEEP`), and followed again, `careful`, with a centre that moves along.
    """
    counters, position, bounds = tableau.counters, tableau.position, records.bounds
    path = begin = counters[SEGMENTS_HERE]
    centre, drawn = 0.0, 0
    look = STEEPNESS_AFTER if careful else REFRESH_AFTER
    reason = PAUSED
    while reason in (DRIFTED, PAUSED):
        tired = counters[AGE] >= REFRESH_AFTER or (counters[AGE] > 0 and reason == DRIFTED)
        if careful and counters[AGE] > 0:
            steepness = steepness_of(program, tableau)
            look = 1 if steepness > RISING else STEEPNESS_AFTER
            if steepness > STEEP:
                _uncentre(bounds, path, begin, counters[SEGMENTS_HERE], centre, end)
                begin = counters[SEGMENTS_HERE]
                centre += _recentre(program, tableau)
                tired = True
        if tired and refresh(program, tableau) < 0:
            reason = STALLED
            break
        if position[DRIFT] > DRIFT_REFINES:
            counters[REFINED] = 1
        if stop[0]:
            reason = PAUSED
            break
        reason = advance(
            program, tableau, records, end - centre, centre, look, max_segments, max_nonzeros
        )
        if not careful and end > -np.inf and steepness_of(program, tableau) > STEEP:
            return _STEEP
        if reason == STALLED and drawn < PERTURBATIONS:
            drawn += 1
            first.known[0] = 0
            perturb(program, tableau, seed + drawn)
            if refresh(program, tableau) >= 0:
                reason = PAUSED
    if centre != 0.0:
        _uncentre(bounds, path, begin, counters[SEGMENTS_HERE], centre, end)
    return reason
