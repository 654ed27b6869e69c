"""Which coordinates the pivots look at, and the proof that the others do not matter.

A large program is followed on a few candidate rows and variables. The others rest: rows on their
piece, variables at their kink. Every segment found so is affine in lam, so a look at both its ends
shows whether it is optimal for all coordinates; one product with the matrix does that for many
segments. Where a resting coordinate was needed first, the path is rewound to the segment before.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.compiled import compiled
from sparseopt.solvers.homotopy.basis import Basis
from sparseopt.solvers.homotopy.state import Entries, Segments
from sparseopt.solvers.homotopy.tableau import DenseProgram

__all__ = ["Candidates", "Finding"]

_TOLERANCE = 2e-12
"""Violation by a resting coordinate, relative to the largest value, that is let be."""

_FAR = 1e8
"""Distance in lam, relative to where it starts, that stands for an endless segment."""


@dataclass(frozen=True)
class Finding:
    """What the look at all coordinates found.

    `good` segments from the start are optimal; the next one, if any, is violated at its upper end
    (`at_high`) or only at its lower one, by the coordinates `needed`. `slack` is each resting
    coordinate's slack at the last end looked at, relative to its range, and 0 where violated.
    """

    good: int
    at_high: bool
    needed: Array
    slack: Array


class Candidates:
    """The candidate rows and variables of a program, and the dense program on them.

    The other coordinates rest where they are in `basis`.
    """

    def __init__(self, basis: Basis, rows: Array, columns: Array) -> None:
        program = self.program = basis.program
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
        program = self.program
        segments = _ended(segments)
        z_low, z_high = self._ends(segments, segments.theta, self.columns, program.times, True)
        v_low, v_high = self._ends(segments, segments.nu, self.rows, program.transpose_times, False)
        p = program.p
        first = np.full(program.n, 2 * len(segments.low), dtype=np.int64)
        slack = np.full(program.n, np.inf)
        for values_low, values_high, sign, begin, end in (
            (v_low, v_high, -1.0, 0, p),
            (z_low, z_high, 1.0, p, program.n),
        ):
            _scan(
                values_low,
                values_high,
                values_low is values_high,
                sign,
                self.offset[begin:end],
                self.low[:, begin:end],
                self.high[:, begin:end],
                self.resting[begin:end],
                segments.low,
                segments.high,
                _TOLERANCE * _size(values_low, self.low[:, begin:end], segments.low),
                first[begin:end],
                slack[begin:end],
            )
        earliest = int(first.min(initial=2 * len(segments.low)))
        good = earliest // 2
        return Finding(good, earliest % 2 == 0, np.flatnonzero(first // 2 == good), slack)

    def _ends(
        self,
        segments: Segments,
        vectors: Entries,
        names: Array,
        product: object,
        primal: bool,
    ) -> tuple[Array, Array]:
        """Return the products at the lower and at the upper end of each segment, (length, S)."""
        count = len(segments.low)
        union, at = np.unique(vectors.index, return_inverse=True)
        segment = np.repeat(np.arange(count), np.diff(vectors.ptr))
        low = np.zeros((len(union), count))
        rate = np.zeros((len(union), count))
        low[at, segment] = vectors.value
        rate[at, segment] = vectors.rate
        length = self.program.n - self.program.p if primal else self.program.p
        if len(union) == 0:
            return np.zeros((length, count)), np.zeros((length, count))
        low_product = np.asarray(product(names[union], low))  # type: ignore[operator]
        if not rate.any():
            return low_product, low_product
        width = np.where(np.isfinite(segments.high), segments.high - segments.low, 0.0)
        high = low + width * rate
        # where the vectors are continuous in lam, one end's products are the next one's
        size = np.abs(low).max(initial=0.0)
        new = np.ones(count, dtype=bool)
        new[1:] = np.abs(high[:, 1:] - low[:, :-1]).max(axis=0) > 1e-13 * size
        high_product = np.empty_like(low_product)
        high_product[:, 1:] = low_product[:, :-1]
        high_product[:, new] = product(names[union], high[:, new])  # type: ignore[operator]
        return low_product, high_product


def _ended(segments: Segments) -> Segments:
    """Let a segment that goes down for ever end at a lam so far off that only the rates count."""
    if len(segments) == 0 or np.isfinite(segments.low[-1]):
        return segments
    far = float(segments.high[-1] - _FAR * max(1.0, abs(segments.high[-1])))
    parts = []
    for part in (segments.theta, segments.nu):
        last = slice(part.ptr[-2], part.ptr[-1])
        value = part.value.copy()
        value[last] += far * part.rate[last]
        parts.append(replace(part, value=value))
    low = segments.low.copy()
    low[-1] = far
    return replace(segments, low=low, theta=parts[0], nu=parts[1])


def _size(values: Array, limit: Array, lam: Array) -> float:
    """Return the largest of some values and of their finite limits at the largest lam."""
    ends = limit[0] + lam[0] * limit[1]
    finite = np.abs(ends[np.isfinite(ends)])
    return float(max(np.abs(values).max(initial=0.0), finite.max(initial=0.0)))


def _ranges(starts: Array, counts: Array) -> Array:
    """Concatenate the ranges starts[i] : starts[i] + counts[i]."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)


@compiled
def _scan(
    at_low: Array,
    at_high: Array,
    same: bool,
    sign: float,
    offset: Array,
    low: Array,
    high: Array,
    resting: Array,
    lam_low: Array,
    lam_high: Array,
    tolerance: float,
    first: Array,
    slack: Array,
) -> None:
    """Find each resting coordinate's first violated end, and its relative slack at the last end.

    The upper end of segment s has the number 2 s, its lower end 2 s + 1. Where `same`, the products
    are the same at both ends.
    """
    length, count = at_low.shape
    endless = 1 if np.isinf(lam_high[0]) else 0
    for i in range(length):
        if not resting[i]:
            continue
        o0, o1 = offset[i, 0], offset[i, 1]
        l0, l1, h0, h1 = low[0, i], low[1, i], high[0, i], high[1, i]
        worst = np.inf
        for s in range(count):
            lam = lam_low[s]
            value = sign * at_low[i, s] + o0 + lam * o1
            worst = min(worst, min(value - l0 - lam * l1, h0 + lam * h1 - value))
        if not (same and o1 == 0.0 and l1 == 0.0 and h1 == 0.0):
            for s in range(endless, count):
                lam = lam_high[s]
                value = sign * at_high[i, s] + o0 + lam * o1
                worst = min(worst, min(value - l0 - lam * l1, h0 + lam * h1 - value))
        lam = lam_low[count - 1]
        value = sign * at_low[i, count - 1] + o0 + lam * o1
        under, over = l0 + lam * l1, h0 + lam * h1
        gap = min(value - under, over - value)
        width = over - under
        if not np.isfinite(width):
            width = abs(value) + gap
        slack[i] = gap / width if width > 0.0 else 0.0
        if worst >= -tolerance:
            continue
        for end in range(endless, 2 * count):
            s = end // 2
            lam = lam_low[s] if end % 2 else lam_high[s]
            value = sign * (at_low[i, s] if end % 2 else at_high[i, s]) + o0 + lam * o1
            if min(value - l0 - lam * l1, h0 + lam * h1 - value) < -tolerance:
                first[i] = end
                slack[i] = 0.0
                break
