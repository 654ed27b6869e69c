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

from ..pivots.state import SegmentRecords
from ..pivots.tableau import DenseProgram
from ..settings import EXACT_PRODUCTS, LOOK_ENTRIES, RESTING_TOLERANCE
from .basis import AffineBasis
from .products import RoughProduct
from .screen import Ends, Limits, Points, Screening, ended, scan, screen_pieces


@dataclass(frozen=True)
class Finding:
    """What the check of all coordinates found.

    `good` segments from the start are optimal; the next one, if any, is violated at its upper end
    (`at_high`) or only at its lower one, by the coordinates `needed`. `slack` is each resting
    coordinate's slack at the last end looked at, relative to its range, and negative where
    violated, the more so the earlier.
    """

    good: int
    at_high: bool
    needed: Array
    slack: Array


class CandidateProgram:
    """The candidate rows and variables of a program, and the dense program on them.

    The other coordinates rest where they are in `basis`. `rough` returns the product with the
    matrix (True) or its transpose in single precision, or None; it is used from `few`
    multiplications on.
    """

    def __init__(
        self,
        basis: AffineBasis,
        rows: Array,
        columns: Array,
        rough: Callable[[bool], RoughProduct | None],
        few: float = EXACT_PRODUCTS,
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
        self.origin = basis
        self._offsets()

    def _offsets(self) -> None:
        """Compute what the resting coordinates add to rows and take from multipliers, (n, 2)."""
        program, p = self.program, self.program.p
        self.offset = np.zeros((program.n, 2))
        (j, theta), (i, nu) = (
            (index[resting], values[:, resting])
            for index, values in self.origin.fixed
            for resting in (self.resting[index],)
        )
        self.theta_rest = (j, theta.T)
        if len(j):
            self.offset[p:] = program.times(*self.theta_rest)
        self.nu_rest = (i - p, nu.T)
        if len(i):
            self.offset[:p] = -program.transpose_times(*self.nu_rest)
            self.objective_rest = self._objective(i, self.codes[i] // 2, nu.T)

    def _objective(self, rows: Array, piece: Array, nu: Array) -> Array:
        """Return -sum_i nu_i t_i over resting rows on pieces as a quadratic in lam, shape (3,)."""
        program = self.program
        t = program.kinks[:2, program.kink_ptr[rows] + np.maximum(piece - 1, 0)]
        s = nu.T
        return -np.array([s[0] @ t[0], s[0] @ t[1] + s[1] @ t[0], s[1] @ t[1]])

    def dense(self, block: Array, centre: float = 0.0) -> DenseProgram:
        """Return the dense program on the candidates, with the matrix A[rows, columns] given.

        Its parameter is lam - centre.
        """
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
        if centre != 0.0:
            kinks[0] += centre * kinks[1]
            slopes[0] += centre * slopes[1]
        block = np.ascontiguousarray(block)
        return DenseProgram(
            block, np.ascontiguousarray(block.T), kink_ptr, slope_ptr, kinks, slopes
        )

    def look(self, segments: SegmentRecords) -> Finding:
        """Look at all resting coordinates at both ends of segments (in the candidates' indices)."""
        n = self.program.n
        segments = ended(segments)
        first = np.full(n, 2 * len(segments.low), dtype=np.int64)
        slack = np.full(n, np.inf)
        sides = [_ValuesAtEnds(self, segments, False), _ValuesAtEnds(self, segments, True)]
        for side in sides:
            side.screen(slack[side.part])
        screened = [side.screening for side in sides if side.screening is not None]
        products = [side.product for side in screened]
        if len(products) == 2 and products[0] is products[1] and not products[0].by_names:
            # reading the matrix takes longer than multiplying it with a few vectors
            screen_pieces(products[0], screened, None)
            screened = [side for side in screened if side.advance()]
        for one in screened:
            one.finish()
        for side in sides:
            side.look(first[side.part], slack[side.part])
        count = len(segments.low)
        earliest = int(first.min(initial=2 * count))
        good = earliest // 2
        needed = np.flatnonzero((first < 2 * count) & (first // 2 == good))
        return Finding(good, earliest % 2 == 0, needed, slack)


class _ValuesAtEnds:
    """The variables, or the rows (`primal`), and their values at the ends of all segments.

    `part` are the coordinates among all n; `screening` is None where exact products are cheap.
    """

    def __init__(
        self, candidates: CandidateProgram, segments: SegmentRecords, primal: bool
    ) -> None:
        program, p = candidates.program, candidates.program.p
        self.program, self.segments, self.primal = program, segments, primal
        self.part = slice(p, program.n) if primal else slice(0, p)
        if primal:
            self.ends = Ends(segments, segments.theta, candidates.columns)
        else:
            self.ends = Ends(segments, segments.nu, candidates.rows)
        self.low, self.high = candidates.origin.limits_of_sides[primal]
        self.resting = candidates.resting[self.part]
        self.limits = Limits(
            1.0 if primal else -1.0, candidates.offset[self.part], self.low, self.high
        )
        many = len(self.resting) * self.ends.low.size >= candidates.few
        self.product = candidates.rough(primal) if many else None
        self.screening: Screening | None = None

    def screen(self, slack: Array) -> None:
        """Prepare the screening, which fills in `slack`, where exact products are not cheap."""
        if self.product is None:
            return
        rates = self.limits.rates()
        moving = bool(rates[self.resting].any())
        points = Points(self.ends, self.product, self.segments, moving)
        self.screening = Screening(points, self.product, self.limits, rates, self.resting, slack)

    def look(self, first: Array, slack: Array) -> None:
        """Fill in `first` and `slack` of the coordinates that no screening has cleared."""
        program, ends = self.program, self.ends
        if self.screening is None:
            multiply = program.times if self.primal else program.transpose_times
            at_low, at_high = ends.products(lambda v: multiply(ends.names, v))
            self._scan(at_low, at_high, slice(None), self.resting, 0.0, first, slack)
            return
        where, largest = self.screening.where, self.screening.largest
        first_near, slack_near = first[where], slack[where]
        length = max(1, LOOK_ENTRIES // max(1, sum(ends.low.shape)))
        for begin in range(0, len(where), length):
            part = slice(begin, begin + length)
            self._look_near(where[part], largest, first_near[part], slack_near[part])
        first[where], slack[where] = first_near, slack_near

    def _look_near(self, where: Array, largest: float, first: Array, slack: Array) -> None:
        """Scan exact products of the coordinates `where`, few enough to hold their matrix."""
        program, ends = self.program, self.ends
        if self.primal:
            block = program.block(where, ends.names)
        else:
            block = program.block(ends.names, where).T
        at_low, at_high = ends.products(lambda v: block @ v)
        every = np.ones(len(where), dtype=bool)
        self._scan(at_low, at_high, where, every, largest, first, slack)

    def _scan(
        self,
        at_low: Array,
        at_high: Array,
        where: Array | slice,
        resting: Array,
        largest: float,
        first: Array,
        slack: Array,
    ) -> None:
        """Scan the products of the coordinates `where`; `largest` is known of all products."""
        segments, ends, limits = self.segments, self.ends, self.limits
        largest = max(largest, _size(at_low, self.low, segments.low))
        low, high = (np.ascontiguousarray(limit[:, where]) for limit in (self.low, self.high))
        scan(
            at_low, at_high, ends.same, limits.sign, limits.value[where], low, high, resting,
            segments.low, segments.high, RESTING_TOLERANCE * largest, first, slack,
        )  # fmt: skip


def _size(values: Array, limit: Array, lam: Array) -> float:
    """Return the largest of some values and of their finite limits at the largest lam."""
    ends = limit[0] + lam[0] * limit[1]
    finite = np.abs(ends[np.isfinite(ends)])
    return float(max(values.max(initial=0.0), -values.min(initial=0.0), finite.max(initial=0.0)))


def _ranges(starts: Array, counts: Array) -> Array:
    """Concatenate the ranges starts[i] : starts[i] + counts[i]."""
    ends = np.cumsum(counts)
    return np.repeat(starts - ends + counts, counts) + np.arange(ends[-1] if len(ends) else 0)
