"""Which coordinates the pivots look at, and the proof that the others do not matter.

A large program is followed on a few candidate rows and variables. The others rest: rows on their
piece, variables at their kink. Every segment found so is affine in lam, so a look at both its ends
shows whether it is optimal for all coordinates; one product with the matrix does that for many
segments. Where a resting coordinate was needed first, the path is rewound to the segment before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.basis import Basis
from sparseopt.solvers.homotopy.products import RoughProduct
from sparseopt.solvers.homotopy.scan import Ends, ended, scan
from sparseopt.solvers.homotopy.screen import Limits, Points, screened
from sparseopt.solvers.homotopy.state import Segments
from sparseopt.solvers.homotopy.tableau import DenseProgram

__all__ = ["Candidates", "Finding"]

_TOLERANCE = 2e-12
"""Violation by a resting coordinate, relative to the largest value, that is let be."""

_FEW = 2_000_000
"""Multiplications below which a product is made in double precision at once."""


@dataclass(frozen=True)
class Finding:
    """What the look at all coordinates found.

    `good` segments from the start are optimal; the next one, if any, is violated at its upper end
    (`at_high`) or only at its lower one, by the coordinates `needed`. `slack` is each resting
    coordinate's slack at the last end looked at, relative to its range, and negative where
    violated, the more so the earlier.
    """

    good: int
    at_high: bool
    needed: Array
    slack: Array


class Candidates:
    """The candidate rows and variables of a program, and the dense program on them.

    The other coordinates rest where they are in `basis`. `rough` returns the product with the
    matrix (True) or its transpose in single precision, or None; it is used from `few`
    multiplications on.
    """

    def __init__(
        self,
        basis: Basis,
        rows: Array,
        columns: Array,
        rough: Callable[[bool], RoughProduct | None],
        few: float = _FEW,
    ) -> None:
        program = self.program = basis.program
        self.rough, self.few = rough, few
        self.rows, self.columns = np.sort(rows), np.sort(columns)
        self.inside = np.concatenate([self.columns, program.p + self.rows])
        self.resting = np.ones(program.n, dtype=bool)
        self.resting[self.inside] = False
        self.all = not self.resting.any()
        self.codes = basis.codes
        self.low, self.high = basis.low, basis.high
        self._offsets()

    def _offsets(self) -> None:
        """Compute what the resting coordinates add to rows and take from multipliers, (n, 2)."""
        program, p = self.program, self.program.p
        self.offset = np.zeros((program.n, 2))
        rest = np.flatnonzero(self.resting)
        index = self.codes[rest].astype(np.int64) // 2
        variable = rest < p
        j = rest[variable]
        theta = program.kinks[:2, program.kink_ptr[j] + index[variable]].T
        moved = np.any(theta != 0.0, axis=1)
        self.theta_rest = (j[moved], theta[moved])
        if moved.any():
            self.offset[p:] = program.times(*self.theta_rest)
        i = rest[~variable]
        nu = program.slopes[:2, program.slope_ptr[i] + index[~variable]].T
        moved = np.any(nu != 0.0, axis=1)
        self.nu_rest = (i[moved] - p, nu[moved])
        if moved.any():
            self.offset[:p] = -program.transpose_times(*self.nu_rest)
            self.objective_rest = self._objective(i[moved], index[~variable][moved], nu[moved])

    def _objective(self, rows: Array, piece: Array, nu: Array) -> Array:
        """Return -sum_i nu_i t_i over resting rows on pieces as a quadratic in lam, shape (3,)."""
        program = self.program
        t = program.kinks[:2, program.kink_ptr[rows] + np.maximum(piece - 1, 0)]
        s = nu.T
        return -np.array([s[0] @ t[0], s[0] @ t[1] + s[1] @ t[0], s[1] @ t[1]])

    def dense(self, block: Array) -> DenseProgram:
        """Return the dense program on the candidates, with the matrix A[rows, columns] given."""
        program = self.program
        inside = self.inside
        counts = np.diff(program.kink_ptr)[inside]
        kink_ptr = np.concatenate([[0], np.cumsum(counts)])
        slope_ptr = kink_ptr + np.arange(len(kink_ptr))
        kinks = np.zeros((3, kink_ptr[-1]))
        slopes = np.zeros((3, slope_ptr[-1]))
        kinks[:2] = program.kinks[:2, _ranges(program.kink_ptr[inside], counts)]
        slopes[:2] = program.slopes[:2, _ranges(program.slope_ptr[inside], counts + 1)]
        p = len(self.columns)
        offset = self.offset[inside].T
        kinks[:2, kink_ptr[p] :] -= np.repeat(offset[:, p:], counts[p:], axis=1)
        slopes[:2, : slope_ptr[p]] -= np.repeat(offset[:, :p], counts[:p] + 1, axis=1)
        block = np.ascontiguousarray(block)
        return DenseProgram(
            block, np.ascontiguousarray(block.T), kink_ptr, slope_ptr, kinks, slopes
        )

    def look(self, segments: Segments) -> Finding:
        """Look at all resting coordinates at both ends of segments (in the candidates' indices)."""
        n, p = self.program.n, self.program.p
        segments = ended(segments)
        first = np.full(n, 2 * len(segments.low), dtype=np.int64)
        slack = np.full(n, np.inf)
        for primal, part in ((False, slice(0, p)), (True, slice(p, n))):
            self._look(segments, primal, part, first[part], slack[part])
        count = len(segments.low)
        earliest = int(first.min(initial=2 * count))
        good = earliest // 2
        needed = np.flatnonzero((first < 2 * count) & (first // 2 == good))
        return Finding(good, earliest % 2 == 0, needed, slack)

    def _look(
        self, segments: Segments, primal: bool, part: slice, first: Array, slack: Array
    ) -> None:
        """Look at the variables, or at the rows, and fill in their `first` and `slack`."""
        program, sign = self.program, 1.0 if primal else -1.0
        if primal:
            ends = Ends(segments, segments.theta, self.columns)
        else:
            ends = Ends(segments, segments.nu, self.rows)
        low, high = (np.ascontiguousarray(limit[:, part]) for limit in (self.low, self.high))
        offset, resting = self.offset[part], self.resting[part]
        rough = self.rough(primal) if len(first) * ends.low.size >= self.few else None
        if rough is None:
            multiply = program.times if primal else program.transpose_times
            at_low, at_high = ends.products(lambda v: multiply(ends.names, v))
            largest = _size(at_low, low, segments.low)
            scan(
                at_low, at_high, ends.same, sign, offset, low, high, resting,
                segments.low, segments.high, _TOLERANCE * largest, first, slack,
            )  # fmt: skip
            return
        limits = Limits(sign, offset, low, high)
        rates = limits.rates()
        points = Points(ends, rough, segments, bool(rates[resting].any()))
        where, largest = screened(points, rough, limits, rates, resting, slack)
        if len(where) == 0:
            return
        block = program.block(where, ends.names) if primal else program.block(ends.names, where).T
        at_low, at_high = ends.products(lambda v: block @ v)
        first_near, slack_near = first[where], slack[where]
        largest = max(largest, _size(at_low, low, segments.low))
        low, high = (np.ascontiguousarray(limit[:, where]) for limit in (low, high))
        scan(
            at_low, at_high, ends.same, sign, offset[where], low, high,
            np.ones(len(where), dtype=bool), segments.low, segments.high,
            _TOLERANCE * largest, first_near, slack_near,
        )  # fmt: skip
        first[where], slack[where] = first_near, slack_near


def _size(values: Array, limit: Array, lam: Array) -> float:
    """Return the largest of some values and of their finite limits at the largest lam."""
    ends = limit[0] + lam[0] * limit[1]
    finite = np.abs(ends[np.isfinite(ends)])
    return float(max(values.max(initial=0.0), -values.min(initial=0.0), finite.max(initial=0.0)))


def _ranges(starts: Array, counts: Array) -> Array:
    """Concatenate the ranges starts[i] : starts[i] + counts[i]."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
