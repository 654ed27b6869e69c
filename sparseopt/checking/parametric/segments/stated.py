r"""Segments that are proven by the numbers which a path states, without solving their kernels.

Primal and dual points that satisfy the conditions of their basis at both ends of a segment, up to
rounding errors (:data:`.stated_loops.CLEAR`), and whose gap vanishes there and in the middle,
prove the segment: all are affine in lam. What this needs is two products with A, from the stated
numbers alone. Two more things are asked for, so that no other verdict is reached than by solving
the kernels anew (:mod:`..bases.solutions`):

- the kernel is regular, with a reciprocal condition number above :data:`_REGULAR`: numbers that
  solve its equations up to rounding are near its solution, so that nobody can choose larger ones,
  which would excuse larger violations;
- multipliers that rounding may have put outside their slopes cost nothing, by the cheap bound of
  :mod:`..multipliers.path`.

A segment of which any of this does not hold clearly is left to the others, which know more scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from sparseopt.checking.parametric.bases.layout import Layout, StoredPath, StoredRows
from sparseopt.checking.parametric.bases.objectives import Quadratics, shifted, size_noise
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.checking.parametric.multipliers.path import PathMultipliers
from sparseopt.checking.parametric.segments.stated_loops import (
    CLEAR,
    DIRTY,
    DUAL,
    GAP,
    OPEN,
    PRIMAL,
    RATE,
    ROOM,
    SUMS,
    TERMS,
    VALUE,
    at_rest,
    condition_numbers,
    examine,
)
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap, LinearMap
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_REGULAR = 1e4 * CLEAR
"""Reciprocal condition number above which numbers that are moved along a vector which the kernel
almost maps to zero violate its equations, unless by less than 1e-4 of their size."""
_SEGMENTS = 256
"""Segments that are looked at together."""
_CELLS = 2**17
"""Coordinates times segments of a block: its arrays stay in a processor's cache."""
_LEAST = 64
"""Coordinates of a block at least."""
_COORDINATE, _ENTRY, _COPIED, _KERNEL = 2e-7, 1e-9, 1e-8, 2e-9
"""Seconds of a segment by its coordinates, by the entries of A that it is multiplied with, of
entries that are copied, and of a kernel's entry that is followed from segment to segment."""
_ENTRIES = 2**22
"""Entries of a block of A that kernels are followed in."""


@dataclass(frozen=True, eq=False)
class StatedNumbers:
    """What the stated numbers of q consecutive segments show.

    Attributes
    ----------
    here : slice
        The segments.
    clear : bool array of shape (q,)
        Which satisfy all conditions but those of the objective.
    primal, dual : arrays of shape (q,)
        Their largest violations, relative to their terms.
    sums : Quadratics
    """

    here: slice
    clear: Array
    primal: Array
    dual: Array
    sums: Quadratics


def judge_stated(
    program: PiecewiseLinearProgram,
    tables: CodeTables,
    layout: Layout,
    stored: StoredPath,
    multipliers: PathMultipliers,
    factor: Array,
) -> Iterator[StatedNumbers]:
    """Look at all segments by their stated numbers.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    tables : CodeTables
    layout : Layout
    stored : StoredPath
    multipliers : PathMultipliers
    factor : array of shape (p + m,)
        Powers of two that bring the entries of A near one, as in :class:`.units.Units`.
    """
    codes = layout.codes.copy()
    for begin in range(0, len(layout), _SEGMENTS):
        chunk = _Chunk(program, tables, layout, stored, slice(begin, begin + _SEGMENTS), codes)
        yield chunk.judge(multipliers, factor)


class _Side:
    """The vectors that a chunk's q segments state, one of length n each.

    Attributes
    ----------
    used : int array of shape (k,)
        The coordinates that some segment states, in order.
    pair : array of shape (2, q, k)
        Their values and rates.
    """

    def __init__(self, rows: StoredRows, here: slice) -> None:
        entries = slice(rows.ptr[here.start], rows.ptr[here.stop])
        at, count = rows.index[entries], here.stop - here.start
        used = np.zeros(rows.length, dtype=bool)
        used[at] = True
        self.used = np.flatnonzero(used)
        self._place = np.full(rows.length, -1)
        self._place[self.used] = np.arange(len(self.used))
        counts = np.diff(rows.ptr[here.start : here.stop + 1])
        cell = np.repeat(np.arange(count) * len(self.used), counts) + self._place[at]
        self.pair = np.zeros((2, count, len(self.used)))
        for line, numbers in zip(self.pair, (rows.value, rows.rate), strict=True):
            line.reshape(-1)[cell] = numbers[entries]

    def of(self, coordinates: Array) -> Array:
        """Return values and rates of some coordinates, shape (2, q, len(coordinates))."""
        found = np.zeros((*self.pair.shape[:2], len(coordinates)))
        place = self._place[coordinates]
        known = place >= 0
        found[:, :, known] = self.pair[:, :, place[known]]
        return found

    def fill(self, x: Array, part: slice, place: Array) -> None:
        """Put those of a range of coordinates at the places of these, in zeros of (2, q, w)."""
        some = slice(*np.searchsorted(self.used, (part.start, part.stop)))
        x[:, :, place[self.used[some]]] = self.pair[:, :, some]


class _Chunk:
    """Consecutive segments; `codes` are those before them, which are changed to the last ones."""

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        tables: CodeTables,
        layout: Layout,
        stored: StoredPath,
        here: slice,
        codes: Array,
    ) -> None:
        self.program, self.tables = program, tables
        self.here = here = slice(here.start, min(here.stop, len(layout)))
        self.before = codes.copy()
        self.low = layout.low[here]
        self.length = layout.high[here] - self.low
        first, last = layout.change_ptr[here.start], layout.change_ptr[here.stop]
        self.ptr = layout.change_ptr[here.start : here.stop + 1] - first
        self.changed, self.to = layout.changed[first:last], layout.change_code[first:last]
        codes[self.changed[: self.ptr[1]]] = self.to[: self.ptr[1]]
        self._follow(codes)
        codes[self.changed] = self.to
        self.theta, self.nu = _Side(stored.theta, here), _Side(stored.nu, here)

    def _follow(self, codes: Array) -> None:
        """Find which coordinates are in kernels, or change; `codes` are those of the first one."""
        p = self.program.A.shape[1]
        touched = (codes & 1) == 1
        touched[:p] = ~touched[:p]
        touched[self.changed] = True
        self.columns, self.rows = np.flatnonzero(touched[:p]), np.flatnonzero(touched[p:])
        local = np.full(len(codes), -1)
        local[self.columns] = np.arange(len(self.columns))
        local[p + self.rows] = np.arange(len(self.rows))
        self.local = local
        self.on_pieces = np.concatenate([codes[self.columns], codes[p + self.rows]]) & 1 ^ 1

    def judge(self, multipliers: PathMultipliers, factor: Array) -> StatedNumbers:
        """Look at the kernels and at all coordinates."""
        count, (m, p) = len(self.low), self.program.A.shape
        # Only columns and rows whose theta or nu is not zero somewhere are multiplied.
        entries = m + p
        if isinstance(self.program.A, DenseMap):
            entries = m * len(self.theta.used) + p * len(self.nu.used)
        spend(count * (_COORDINATE * (m + p) + _ENTRY * entries))
        sums = np.zeros((count, SUMS))
        clear = np.zeros(count, dtype=bool)
        size = len(self.rows) * len(self.columns)
        charges = np.zeros((2, count, len(multipliers.unpriced)))
        slopes = multipliers.priced
        if size <= _ENTRIES and slopes is not None:
            spend(_KERNEL * size * (count + len(self.changed)) + _COPIED * size)
            block = self.program.A.block(self.rows, self.columns)
            clear = self._conditions(block, factor) > _REGULAR
            if clear.any():
                self._examine(np.abs(block), slopes, multipliers, charges, sums)
            clear &= (sums[:, DIRTY] == 0.0) & (sums[:, OPEN] == 0.0)
        low = self.low
        whole = shifted(self.program.offset[:, None], low)
        terms = sums[:, TERMS : TERMS + 3].T + np.abs(whole)
        quadratics = Quadratics(
            value=sums[:, VALUE : VALUE + 3].T + whole,
            gap=sums[:, GAP : GAP + 3].T,
            terms=terms + size_noise(self.tables, low, terms),
        )
        at = np.flatnonzero(clear)
        ends = multipliers.ends(low[at], (low + self.length)[at], quadratics.value[:, at])
        room = sums[at, ROOM : ROOM + 2].T
        clear[at] = multipliers.affordable(
            ends,
            sums[at, RATE : RATE + 2].max(axis=1),
            charges[:, at].max(axis=0),
            multipliers.unpriced,
            np.stack([room[0], room.mean(axis=0), room[1]]),
        )
        return StatedNumbers(self.here, clear, sums[:, PRIMAL], sums[:, DUAL], quadratics)

    @property
    def finite_length(self) -> Array:
        """The lengths, 0 of a segment without an upper end."""
        return np.where(np.isfinite(self.length), self.length, 0.0)

    def _conditions(self, block: Array, factor: Array) -> Array:
        """Return the reciprocal condition numbers of the scaled kernels."""
        p = self.program.A.shape[1]
        scaled = np.ascontiguousarray(block * factor[p + self.rows][:, None] / factor[self.columns])
        shifted_to = self.local[self.changed]
        shifted_to[self.changed >= p] += len(self.columns)
        on_piece = (self.to & 1) ^ 1
        return np.asarray(
            condition_numbers(scaled, self.on_pieces.copy(), self.ptr, shifted_to, on_piece)
        )

    def _examine(
        self,
        sizes: Array,
        slopes: Array,
        multipliers: PathMultipliers,
        charges: Array,
        sums: Array,
    ) -> None:
        """Look at all coordinates, a block of them at a time; `sizes` are absolute entries of A."""
        A, (m, p) = self.program.A, self.program.A.shape
        theta, nu = self.theta, self.nu
        excess = _Excess(A, multipliers, slopes, nu, self.low, self.finite_length, charges)
        variables = _Half(
            own=0,
            offset=0,
            idle=self._idle(slice(p), theta) & ~slopes[:, 4:].any(axis=1),
            stated=theta,
            product=_both(A.rows_transpose_times_by_part, nu.used, -nu.pair),
            part=np.ascontiguousarray(sizes.T),
            others=np.abs(nu.of(self.rows)),
        )
        rows = _Half(
            own=1,
            offset=p,
            idle=self._idle(slice(p, p + m), nu),
            stated=nu,
            product=_both(A.rows_times_by_part, theta.used, theta.pair),
            part=np.ascontiguousarray(sizes),
            others=np.abs(theta.of(self.columns)),
        )
        width = max(_LEAST, _CELLS // len(self.low))
        place = np.full(p + m, -1)
        for half, over in ((variables, excess), (rows, None)):
            for begin in range(0, len(half.idle), width):
                here = slice(begin, min(begin + width, len(half.idle)))
                self._examine_block(half, here, place, over, sums)

    def _idle(self, part: slice, stated: _Side) -> Array:
        """Return of which coordinates nothing is stated and no code changes."""
        idle = self.local[part] < 0
        idle[stated.used] = False
        return idle

    def _examine_block(
        self, half: _Half, here: slice, place: Array, excess: _Excess | None, sums: Array
    ) -> None:
        """Look at some coordinates of a half; `place` (p + m,) is -1, and so again at the end."""
        own, begin = half.own, half.offset + here.start
        computed = half.product(here)
        margin, rest = np.zeros(computed.shape[2]), half.idle[here]
        outer, quick, error = np.empty((0, 6)), np.empty((0, 0)), np.zeros(len(self.low))
        if excess is not None:
            margin, error = excess.margin(here), excess.error
            excess.charge(here, computed)
        range_ = np.stack([self.low, self.length])
        every = slice(begin, begin + len(rest))
        slots = self.tables.start[every] + self.before[every]
        at_rest(own, slots, self.tables.lines, range_, computed, margin, rest)
        busy = np.flatnonzero(~rest)
        if excess is not None:
            outer, quick = excess.of(here.start + busy)
        coordinates = begin + busy
        place[coordinates] = np.arange(len(busy))
        x = np.empty((2, *computed.shape[:2], len(busy)))
        x[own] = 0.0
        half.stated.fill(x[own], here, place[half.offset :])
        np.take(computed, busy, axis=2, out=x[1 - own], mode="clip")
        examine(
            own,
            self.before[coordinates],
            self.tables.start[coordinates],
            (self.ptr, place[self.changed], self.to),
            self.tables.lines,
            range_,
            x.reshape(4, *x.shape[2:]),
            half.part,
            self.local[coordinates],
            half.others,
            outer,
            quick,
            error,
            sums,
        )
        place[coordinates] = -1


@dataclass(frozen=True, eq=False)
class _Half:
    """The variables (own = 0: z is stated, v a product with A) or the rows (own = 1) of a chunk.

    Attributes
    ----------
    own : int
    offset : int
        The first one's place among all coordinates.
    idle : bool array of shape (n,)
        Of which nothing is stated, no code changes, and no kink counts.
    stated : _Side
    product : callable
        Returns the products and their rates of a range of coordinates, shape (2, q, w).
    part : array of shape (r, k)
        Absolute entries of the matrix that the products are made with, and
    others : array of shape (2, q, k)
        the vectors' sizes, as for :func:`.stated_loops.examine`.
    """

    own: int
    offset: int
    idle: Array
    stated: _Side
    product: Callable[[slice], Array]
    part: Array
    others: Array


class _Excess:
    """By how much the multipliers of variables may exceed their outer slopes, by rounding too.

    Attributes
    ----------
    error : array of shape (q,)
        Rounding errors of A'nu, relative to |A|'|nu|, of which alpha beta is a bound.
    """

    def __init__(
        self,
        A: LinearMap,
        multipliers: PathMultipliers,
        slopes: Array,
        nu: _Side,
        low: Array,
        length: Array,
        charges: Array,
    ) -> None:
        largest = np.abs(nu.pair[0]) + length[:, None] * np.abs(nu.pair[1])
        self.error = multipliers.error(largest)
        self._alpha, self._beta = A.quick_factors(nu.used, largest)
        self._rounding = (self.error[:, None] * self._alpha).max(axis=0)
        self._top, self._length = float((low + length).max()), length
        self._slopes, self._unpriced, self._charges = slopes, multipliers.unpriced, charges

    def margin(self, here: slice) -> Array:
        """Return what rounding errors of products amount to in any segment, shape (w,)."""
        slopes = self._slopes[here]
        sizes = np.abs(slopes[:, 0:4:2]) + self._top * np.abs(slopes[:, 1:4:2])
        slope = sizes.min(axis=1)
        slope[np.isinf(slope)] = 0.0
        return np.asarray(self._rounding @ self._beta[:, here] + self.error.max() * slope)

    def charge(self, here: slice, computed: Array) -> None:
        """Set the charges of variables whose outer slopes are zero, at both ends of segments."""
        at = np.flatnonzero((self._unpriced >= here.start) & (self._unpriced < here.stop))
        unpriced = self._unpriced[at]
        noise = self.error[:, None] * (self._alpha @ self._beta[:, unpriced])
        bottom, rate = computed[:, :, unpriced - here.start]
        self._charges[0][:, at] = np.abs(bottom) + noise
        self._charges[1][:, at] = np.abs(bottom + self._length[:, None] * rate) + noise

    def of(self, variables: Array) -> tuple[Array, Array]:
        """Return outer slopes with the largest kinks, and sizes of products' terms."""
        return self._slopes[variables], self._alpha @ self._beta[:, variables]


def _both(
    multiply: Callable[[Array, Array], Callable[[slice], Array]], used: Array, pair: Array
) -> Callable[[slice], Array]:
    """Return a function that returns some columns of the products with values and rates.

    `pair` has shape (2, q, k), the result (2, q, w). Rates that are all zero cost nothing.
    """
    moving = bool(pair[1].any())
    product = multiply(used, pair.reshape(-1, pair.shape[2]) if moving else pair[0])

    def both(part: slice) -> Array:
        found = product(part)
        if moving:
            return np.ascontiguousarray(found.reshape(*pair.shape[:2], -1))
        return np.stack([found, np.zeros(found.shape)])

    return both
