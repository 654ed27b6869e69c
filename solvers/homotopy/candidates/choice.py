"""Which rows and variables are promising: they come near their limits."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..program import ScaledProgram
from ..settings import (
    ALL_CANDIDATES,
    COORDINATES_PER_SPARE,
    FIRST_SPARE,
    NEAR_LIMIT,
    SPARE,
    SPARE_AT_MOST,
    TINY,
)
from .basis import AffineBasis


class Choice:
    """The chosen rows and columns, sorted, and the matrix A[rows, columns], kept as they grow."""

    def __init__(self, program: ScaledProgram, basis: AffineBasis, lam: float) -> None:
        self.program = program
        m, p = program.n - program.p, program.p
        every_row, every_column = np.arange(m), np.arange(p)
        self.spare = min(SPARE + p // COORDINATES_PER_SPARE, SPARE_AT_MOST)
        count = 2 * len(basis.C) + FIRST_SPARE * self.spare
        falls = _event_lam(basis, lam)
        rows = every_row if m <= ALL_CANDIDATES else np.union1d(basis.R, _best(falls[p:], count))
        if p <= ALL_CANDIDATES:
            columns = every_column
        else:
            columns = np.union1d(basis.C, _best(_first_blocks(basis, falls), count))
            if program.A.symmetric:
                columns = np.union1d(columns, rows)
        self.rows, self.columns = rows, columns
        self.block = program.block(rows, columns)

    def extend(self, slack: Array, k: int, needed: Array) -> bool:
        """Add the coordinates `needed`, and resting ones of small slack, as many as k asks for.

        Parameters
        ----------
        slack : array of shape (n,)
            Relative slack, infinite for coordinates that are candidates already.
        k : int
            Size of the kernel.
        needed : int array

        Returns
        -------
        bool
            Whether anything was added.
        """
        p = self.program.p
        added = []
        parts = (
            (slack[p:], self.rows, needed[needed >= p] - p),
            (slack[:p], self.columns, needed[needed < p]),
        )
        for part, chosen, asked in parts:
            few = 3 * len(chosen) < 4 * k + 2 * self.spare
            wanted = 2 * k + 3 * self.spare // 2 - len(chosen) if few else 0
            urgent = int(np.count_nonzero(part < NEAR_LIMIT))
            if urgent:
                # many are violated where the pivots left the path; the first ones show why
                most = len(chosen) // 2 + self.spare
                wanted = max(wanted, min(2 * urgent + self.spare // 4, most))
            near = _best(-part, wanted)
            added.append(np.concatenate([asked, near[np.isfinite(part[near])]]))
        if self.program.A.symmetric:
            added = [np.union1d(*added)] * 2
        return self.add(*added)

    def add(self, rows: Array, columns: Array) -> bool:
        """Add rows and columns; return whether any was new."""
        rows, columns = np.union1d(self.rows, rows), np.union1d(self.columns, columns)
        if len(rows) == len(self.rows) and len(columns) == len(self.columns):
            return False
        block = np.empty((len(rows), len(columns)))
        old_rows = np.searchsorted(rows, self.rows)
        old_columns = np.searchsorted(columns, self.columns)
        block[np.ix_(old_rows, old_columns)] = self.block
        new_rows, new_columns = _others(len(rows), old_rows), _others(len(columns), old_columns)
        if len(new_rows):
            block[new_rows] = self.program.block(rows[new_rows], columns)
        if len(new_columns):
            names = columns[new_columns]
            mirror = self.program.A.symmetric and _within(self.rows, columns)
            if mirror and _within(names, rows[new_rows]):
                # what is new in columns is new in rows, too, and has been computed there
                mirrored = np.ix_(np.searchsorted(rows, names), np.searchsorted(columns, self.rows))
                corner = block[mirrored].T
            else:
                corner = self.program.block(self.rows, names)
            block[np.ix_(old_rows, new_columns)] = corner
        self.rows, self.columns, self.block = rows, columns, block
        return True


def _others(count: int, some: Array) -> Array:
    """Return which of 0, ..., count - 1 are not among `some`, increasing."""
    other = np.ones(count, dtype=bool)
    other[some] = False
    return np.flatnonzero(other)


def _within(some: Array, sorted_names: Array) -> bool:
    """Return whether all of `some` are among the sorted names."""
    at = np.searchsorted(sorted_names, some)
    return bool((at < len(sorted_names)).all() and np.array_equal(sorted_names[at], some))


def _best(score: Array, count: int) -> Array:
    """Return the indices of the `count` largest scores."""
    if count <= 0:
        return np.zeros(0, dtype=np.int64)
    if count >= len(score):
        return np.arange(len(score))
    return np.argpartition(-score, count)[:count]


def _event_lam(basis: AffineBasis, lam: float) -> Array:
    """Return the lam at which each coordinate would meet a limit; -inf where it does not."""
    out = np.full(basis.program.n, -np.inf)
    for sign, limit in ((1.0, basis.low), (-1.0, basis.high)):
        finite = np.isfinite(limit[0])
        slack = sign * ((basis.w[0] - limit[0])[finite] + lam * (basis.w[1] - limit[1])[finite])
        rate = sign * (basis.w[1] - limit[1])[finite]
        with np.errstate(divide="ignore", invalid="ignore"):
            fall = np.where(rate > 0.0, np.maximum(slack, 0.0) / rate, np.inf)
        out[finite] = np.maximum(out[finite], lam - fall)
    return out


def _first_blocks(basis: AffineBasis, falls: Array) -> Array:
    """Score the variables by their part in the first event, shape (p,).

    If a row is the first to meet its kink, its multiplier grows; the variables whose own
    multipliers it drives to a slope soonest score highest. Else those with the next events do.
    """
    program = basis.program
    p = program.p
    first = int(np.argmax(falls))
    if first < p or len(basis.C):
        return np.asarray(falls[:p])
    ray = program.transpose_times(np.array([first - p]), np.ones(1))
    room = np.minimum(basis.high[0, :p] - basis.w[0, :p], basis.w[0, :p] - basis.low[0, :p])
    return np.abs(ray) / np.maximum(np.where(np.isfinite(room), room, 1.0), TINY)
