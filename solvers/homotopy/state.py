"""The arrays that the compiled pivots work on: a dense program, a basis, and its records."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy import core

__all__ = ["DenseProgram", "Segments", "SingularKernel", "State"]

_ROOM = 256
"""Segments recorded between two visits of the driver."""
_TOUCHED = 4096
"""Changes of codes recorded between two segments."""


class SingularKernel(ArithmeticError):
    """The kernel cannot be inverted to working accuracy."""


@dataclass(frozen=True, eq=False)
class DenseProgram:
    """A program with a dense matrix, in the engine's units.

    `A` is m x p in C order and `AT` its transpose in C order, so that rows and columns are
    contiguous. Kinks and slopes of the n = p + m coordinates have the components (constant,
    rate in lam, symbolic perturbation), shapes (3, .).
    """

    A: Array
    AT: Array
    kink_ptr: Array
    slope_ptr: Array
    kinks: Array
    slopes: Array

    @property
    def n(self) -> int:
        """Number of coordinates."""
        return int(self.A.shape[0] + self.A.shape[1])


@dataclass(frozen=True, eq=False)
class Segments:
    """Records of consecutive segments.

    `theta` and `nu` hold (index, value at the lower end, rate) of the entries that are not zero;
    `changes` the (coordinate, code) that lead from the segment before.
    """

    low: Array
    high: Array
    theta: list[tuple[Array, Array, Array]]
    nu: list[tuple[Array, Array, Array]]
    changes: list[tuple[Array, Array]]

    def head(self, count: int) -> Segments:
        """Return the first `count` segments."""
        return Segments(
            self.low[:count],
            self.high[:count],
            self.theta[:count],
            self.nu[:count],
            self.changes[:count],
        )


class State:
    """A basis of a dense program, with its values, and the records of the path so far.

    Call :meth:`perturb` before the first :meth:`advance`.

    Attributes
    ----------
    codes : int64 array of shape (n,)
        Code 2k: on piece k; code 2k + 1: at kink k.
    w, low, high : arrays of shape (3, n)
        The quantity of each coordinate that may move (its value on a piece, its multiplier at a
        kink) and the two limits that it must stay between.
    """

    def __init__(
        self, program: DenseProgram, codes: Array, lam: float, top: float, recorded: int = 0
    ) -> None:
        self.program = program
        m, p = program.A.shape
        n, cap = m + p, min(m, p)
        self.codes = codes.astype(np.int64)
        self.w = np.zeros((3, n))
        self.low, self.high = np.zeros((3, n)), np.zeros((3, n))
        self.C, self.R = np.zeros(cap, np.int64), np.zeros(cap, np.int64)
        self.where = np.zeros(n, np.int64)
        self.inverse = np.zeros((cap, cap))
        self.position = np.array([lam, 0.0, top])
        self.counters = np.zeros(11, np.int64)
        self.counters[3], self.counters[9] = recorded == 0, recorded
        self.told = self.codes.copy()
        self.touched = np.empty(_TOUCHED, np.int64)
        self.ray, self.answer = np.zeros(n), np.zeros(n)
        wide = max(_ROOM * 64, 4 * max(m, p))
        self._bounds = np.zeros((_ROOM, 2))
        self._ends = np.zeros((_ROOM, 3), np.int64)
        self._index = np.empty((2, wide), np.int64)
        self._value = np.empty((4, wide))
        self._changes = np.empty((2, 2 * _TOUCHED), np.int64)

    @property
    def lam(self) -> float:
        """Where the path is."""
        return float(self.position[0])

    @property
    def top(self) -> float:
        """Lower end of the last recorded segment, from which the next one begins."""
        return float(self.position[2])

    @property
    def k(self) -> int:
        """Size of the kernel."""
        return int(self.counters[0])

    @property
    def pivots(self) -> int:
        """Pivots so far."""
        return int(self.counters[8])

    def refresh(self) -> None:
        """Factor the kernel anew and recompute all values.

        Raises
        ------
        SingularKernel
        """
        program = self.program
        k = core.refresh(
            program.A,
            program.AT,
            self.codes,
            program.kink_ptr,
            program.slope_ptr,
            program.kinks,
            program.slopes,
            self.w,
            self.low,
            self.high,
            self.C,
            self.R,
            self.where,
            self.inverse,
        )
        if k < 0:
            raise SingularKernel("the kernel of the basis is singular to working accuracy")
        self.counters[0], self.counters[1] = k, 0

    def advance(
        self, end: float, start: float, pivots: int, max_segments: int, max_nonzeros: int
    ) -> int:
        """Pivot on; return why it paused (see :mod:`core`)."""
        program = self.program
        sizes = [_size(part, self.lam) for part in (program.kinks, program.slopes)]
        return int(
            core.advance(
                program.A,
                program.AT,
                self.codes,
                self.told,
                program.kink_ptr,
                program.slope_ptr,
                program.kinks,
                program.slopes,
                self.w,
                self.low,
                self.high,
                self.C,
                self.R,
                self.where,
                self.inverse,
                self.position,
                self.counters,
                self.touched,
                self.ray,
                self.answer,
                end,
                start,
                *sizes,
                pivots,
                max_segments,
                max_nonzeros,
                self._bounds,
                self._ends,
                self._index[0],
                self._value[0],
                self._value[1],
                self._index[1],
                self._value[2],
                self._value[3],
                self._changes[0],
                self._changes[1],
            )
        )

    def perturb(self, rng: np.random.Generator) -> None:
        """Draw the perturbation anew, so that the basis is strictly optimal.

        Kinks and slopes that the basis rests on stay; every other one moves away from it, by a
        random amount that keeps the order within each coordinate.
        """
        program = self.program
        program.kinks[2] = _offsets(self.codes, program.kink_ptr, 1, rng)
        slopes = _offsets(self.codes, program.slope_ptr, 0, rng)
        program.slopes[2] = np.where(np.isfinite(program.slopes[0]), slopes, 0.0)
        self.position[1] = 0.0
        self.counters[2] = 0
        self.refresh()

    def take_segments(self) -> Segments:
        """Return the segments recorded since the last call, and make room for more."""
        count = int(self.counters[4])
        ends = np.vstack([np.zeros((1, 3), np.int64), self._ends[:count]])
        theta, nu, moves = ([slice(a, b) for a, b in pairwise(part)] for part in ends.T)
        index = self._index[:, : max(ends[-1, :2])].copy()
        value = self._value[:, : max(ends[-1, :2])].copy()
        changes = self._changes[:, : ends[-1, 2]].copy()
        segments = Segments(
            low=self._bounds[:count, 0].copy(),
            high=self._bounds[:count, 1].copy(),
            theta=[(index[0, s], value[0, s], value[1, s]) for s in theta],
            nu=[(index[1, s], value[2, s], value[3, s]) for s in nu],
            changes=[(changes[0, s], changes[1, s]) for s in moves],
        )
        self.counters[9] += count
        self.counters[[4, 6, 7, 10]] = 0
        return segments


def _size(part: Array, lam: float) -> float:
    """Return the largest finite kink or slope at lam."""
    values = part[0] + lam * part[1]
    return float(np.abs(values[np.isfinite(values)]).max(initial=0.0))


def _offsets(codes: Array, ptr: Array, parity: int, rng: np.random.Generator) -> Array:
    """Return signed random distances from the place of each coordinate's code.

    In the order piece 0, kink 0, piece 1, ... the j-th kink has the place 2 j + 1 and the j-th
    slope the place 2 j; entries left of the code get negative offsets, right of it positive ones.
    """
    counts = np.diff(ptr)
    owner = np.repeat(np.arange(len(counts)), counts)
    place = 2 * (np.arange(ptr[-1]) - ptr[owner]) + parity
    away = place - codes[owner]
    return np.asarray(np.sign(away) * (np.abs(away) + rng.uniform(0.0, 0.9, len(away))))
