"""Many small paths of one dense matrix, one after another in one compiled loop."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.compiled import compiled
from sparseopt.solvers.homotopy.core import (
    DRIFTED,
    FULL,
    PAUSED,
    STALLED,
    DenseProgram,
    Records,
    Tableau,
    advance,
    perturb,
    refresh,
)

__all__ = ["Column", "follow_columns"]

_REFRESH = 128
_PATIENCE = 8


class Column(NamedTuple):
    """How the paths of :func:`follow_columns` ended; one entry for each program, from `first`.

    Attributes
    ----------
    reason : int array
        A code of :mod:`core`; PAUSED where the clock ended it, STALLED where it could not go on.
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
    lams: Array,
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
        The basis at which each path starts, optimal from ``lams[i]`` up for program i.
    lams : array of shape (programs,)
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
    counters[4] = counters[6] = counters[7] = counters[10] = 0
    for i in range(first, last):
        ends[i - first] = counters[4]
        if stop[0]:
            continue
        program.kinks[0] = kinks[i]
        tableau.codes[:] = codes
        tableau.told[:] = codes
        counters[2] = counters[5] = counters[8] = 0
        counters[3], counters[9] = 1, -counters[4]
        start = max(lams[i], end)
        position[0], position[1], position[2] = start, 0.0, np.inf
        drawn = 0
        reason = DRIFTED if perturb(program, tableau, seed + i) >= 0 else STALLED
        while reason == DRIFTED or reason == PAUSED:
            if counters[1] > 0 and (counters[1] >= _REFRESH or reason == DRIFTED):
                if refresh(program, tableau) < 0:
                    reason = STALLED
                    break
            if stop[0]:
                reason = PAUSED
                break
            reason = advance(
                program, tableau, records, end, start, _REFRESH, max_segments, max_nonzeros
            )
            if reason == FULL:
                records = _grown(records)
                reason = PAUSED
            elif reason == STALLED and drawn < _PATIENCE:
                drawn += 1
                if perturb(program, tableau, seed + i + drawn) >= 0:
                    reason = PAUSED
        reasons[i - first] = reason
        ends[i - first] = counters[4]
        pivots[i - first] = counters[8]
        rays[i - first] = tableau.ray
    return Column(reasons, ends, pivots, rays), records
