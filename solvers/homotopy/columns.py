"""Many small paths of one dense matrix, one after another in one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .centre import recentre, steepness_of, uncentre
from .core import DRIFTED, FULL, PAUSED, STALLED, advance
from .fresh import perturb, refresh, set_limits
from .tableau import DenseProgram, Records, Tableau

__all__ = ["NO_START", "Column", "follow_columns", "scale"]

_REFRESH = 128
_LOOK = 16
"""Pivots between two looks at how fast the values change, once they were seen to."""
_STEEP, _RISING = 100.0, 10.0
"""Change with lam since the centre of a value that is let be, relative to the largest value; and
that from which on every pivot is looked at."""
_PATIENCE = 8
_DRIFT = 1e-11
_ROUNDING = 1e-13

NO_START = -1
"""The reason of a path whose first basis is not known."""


class Column(NamedTuple):
    """How the paths of :func:`follow_columns` ended; one entry for each program, from `first`.

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
    """

    reason: Array
    ends: Array
    pivots: Array
    rays: Array


@compiled
def _optimal_from(tableau: Tableau) -> float:
    """Return the smallest lam from which on the basis is optimal for ever; inf if there is none."""
    w = tableau.w
    size = _ROUNDING * max(np.abs(w[0]).max(), 1e-300)
    rate_size = _ROUNDING * np.abs(w[1]).max()
    lowest = 0.0
    for side in range(2):
        limit = tableau.high if side else tableau.low
        sign = 1.0 - 2.0 * side
        for i in range(w.shape[1]):
            if np.isinf(limit[0, i]):
                continue
            slack = sign * (w[0, i] - limit[0, i])
            rate = sign * (w[1, i] - limit[1, i])
            if rate < -rate_size or (rate <= rate_size and slack < -size):
                return np.inf
            if rate > rate_size:
                lowest = max(lowest, -slack / rate)
    return lowest


@compiled
def scale(index: Array, value: Array, rate: Array, factor: Array) -> None:
    """Multiply the affine entries of each index by its factor, in place."""
    for at in range(len(index)):
        weight = factor[index[at]]
        value[at] *= weight
        rate[at] *= weight


@compiled
def _restart(program: DenseProgram, tableau: Tableau, w: Array, low: Array, high: Array) -> None:
    """Set the values of a basis whose kernel is empty, after other kinks of rows were set.

    They were (w, low, high) with the kinks before; only the limits of the rows differ.
    """
    p = len(program.AT)
    tableau.w[:], tableau.low[:], tableau.high[:] = w, low, high
    tableau.where[:] = -1
    for i in range(p, len(tableau.codes)):
        set_limits(
            i,
            tableau.codes,
            program.kink_ptr,
            program.slope_ptr,
            program.kinks,
            program.slopes,
            tableau.low,
            tableau.high,
        )
    tableau.counters[0] = 0
    tableau.position[1] = tableau.position[3] = 0.0


@compiled
def _wider(array: Array, size: int) -> Array:
    wide = np.empty(size, array.dtype)
    wide[: len(array)] = array
    return wide


@compiled
def _wider_rows(array: Array, size: int) -> Array:
    wide = np.empty((size, array.shape[1]), array.dtype)
    wide[: len(array)] = array
    return wide


@compiled
def _grown(records: Records) -> Records:
    """Return the records with twice the room."""
    segments = 2 * len(records.bounds)
    theta, nu = 2 * len(records.theta_index), 2 * len(records.nu_index)
    changes = 2 * len(records.change_index)
    return Records(
        _wider_rows(records.bounds, segments),
        _wider_rows(records.objective, segments),
        _wider_rows(records.ends, segments),
        _wider(records.theta_index, theta),
        _wider(records.theta_value, theta),
        _wider(records.theta_rate, theta),
        _wider(records.nu_index, nu),
        _wider(records.nu_value, nu),
        _wider(records.nu_rate, nu),
        _wider(records.change_index, changes),
        _wider(records.change_code, changes),
    )


@compiled
def follow_columns(
    program: DenseProgram,
    kinks: Array,
    codes: Array,
    tableau: Tableau,
    records: Records,
    stop: Array,
    first: int,
    last: int,
    end: float,
    seed: int,
    max_segments: int,
    max_nonzeros: int,
) -> tuple[Column, Records]:
    """Follow the paths of the programs `first` to `last` (excluded), which differ in their kinks.

    Parameters
    ----------
    program : DenseProgram
        Its kinks are overwritten.
    kinks : array of shape (programs, number of kinks)
        The constants of the kinks of each program.
    codes : int array of shape (n,)
        The basis at which each path starts; where it is not optimal for large lam, the program
        is left to the caller (reason :data:`NO_START`).
    tableau, records : work space
    stop : int array of shape (1,)
        Looked at often; a nonzero entry, set by another thread, ends the loop.
    end : float
    seed, max_segments, max_nonzeros : int
    """
    n = len(codes)
    count = last - first
    reasons = np.full(count, PAUSED)
    ends = np.zeros(count, np.int64)
    pivots = np.zeros(count, np.int64)
    rays = np.zeros((count, n))
    counters, position = tableau.counters, tableau.position
    # the values at the start, where they are the same for all programs
    alike = False
    w, low, high = np.empty((3, n)), np.empty((3, n)), np.empty((3, n))
    slopes = program.slopes[0].copy()
    counters[4] = counters[6] = counters[7] = counters[10] = 0
    i = first
    look = _REFRESH
    while i < last:
        ends[i - first] = counters[4]
        used_theta, used_changes, used_nu = counters[6], counters[7], counters[10]
        if stop[0]:
            i += 1
            continue
        program.kinks[0] = kinks[i]
        program.slopes[0] = slopes
        centre, begin = 0.0, counters[4]
        tableau.codes[:] = codes
        tableau.told[:] = codes
        counters[1] = counters[2] = counters[5] = counters[8] = 0
        counters[3], counters[9], counters[11] = 1, -counters[4], 0
        position[0], position[1], position[2] = 0.0, 0.0, np.inf
        drawn = 0
        steepness = 0.0
        reason = PAUSED
        if alike:
            _restart(program, tableau, w, low, high)
        elif perturb(program, tableau, seed + i) < 0:
            reason = STALLED
        elif counters[0] == 0:
            alike = True
            w[:], low[:], high[:] = tableau.w, tableau.low, tableau.high
        start = max(_optimal_from(tableau), end)
        position[0] = position[7] = start
        if start == np.inf:
            reason = NO_START
        while reason in (DRIFTED, PAUSED):
            tired = counters[1] >= _REFRESH or (counters[1] > 0 and reason == DRIFTED)
            if look < _REFRESH and counters[1] > 0:
                steepness = steepness_of(program, tableau)
                look = 1 if steepness > _RISING else _LOOK
                if steepness > _STEEP:
                    uncentre(records.bounds, ends[i - first], begin, counters[4], centre, end)
                    begin = counters[4]
                    centre += recentre(program, tableau)
                    tired = True
            if tired and refresh(program, tableau) < 0:
                reason = STALLED
                break
            if position[3] > _DRIFT:
                counters[11] = 1
            if stop[0]:
                reason = PAUSED
                break
            reason = advance(
                program, tableau, records, end - centre, start, look, max_segments, max_nonzeros
            )
            if look == _REFRESH and end > -np.inf:
                steepness = max(steepness, steepness_of(program, tableau))
            if reason == FULL:
                records = _grown(records)
                reason = PAUSED
            elif reason == STALLED and drawn < _PATIENCE:
                drawn += 1
                alike = False
                if perturb(program, tableau, seed + i + drawn) >= 0:
                    reason = PAUSED
        if look == _REFRESH and steepness > _STEEP:
            # once more from the start, with care
            look = _LOOK
            counters[4], counters[6] = ends[i - first], used_theta
            counters[7], counters[10] = used_changes, used_nu
            continue
        if centre != 0.0:
            uncentre(records.bounds, ends[i - first], begin, counters[4], centre, end)
        reasons[i - first] = reason
        ends[i - first] = counters[4]
        pivots[i - first] = counters[8]
        rays[i - first] = tableau.ray
        look = _REFRESH
        i += 1
    return Column(reasons, ends, pivots, rays), records
