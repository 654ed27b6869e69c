r"""Segments that are proven by the numbers which a path states, without solving their kernels.

Primal and dual points that satisfy the conditions of their basis at both ends of a segment, up to
rounding errors (:data:`.stated_loops.CLEAR`), and whose gap vanishes there and in the middle,
prove the segment: all are affine in lam. What this needs is two products with A, from the stated
numbers alone. Two more things are asked for, so that no other verdict is reached than by solving
the kernels anew (:mod:`.bases`):

- the kernel is regular, with a reciprocal condition number above :data:`_REGULAR`, so that the
  exact solution of its equations satisfies the conditions, too;
- multipliers that rounding may have put outside their slopes cost nothing, by the cheap bound of
  :mod:`.multipliers`.

A segment of which any of this does not hold clearly is left to the others, which know more scales.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from sparseopt.checking.parametric.layout import Layout, StoredPath, StoredRows
from sparseopt.checking.parametric.multipliers import PathMultipliers
from sparseopt.checking.parametric.objectives import Quadratics, shifted, size_noise
from sparseopt.checking.parametric.stated_loops import (
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
from sparseopt.checking.parametric.tables import CodeTables
from sparseopt.checking.tolerances import ROUNDING, SEGMENT
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import DenseMap
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

_REGULAR = ROUNDING / SEGMENT
"""Above it the rounding errors of a kernel are below the tolerance of a segment's conditions."""
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
    """The vectors that a chunk's q segments state, one of length n each."""

    def __init__(self, rows: StoredRows, here: slice) -> None:
        self._rows = rows
        entries = slice(rows.ptr[here.start], rows.ptr[here.stop])
        self._count = here.stop - here.start
        self._at = rows.index[entries]
        counts = np.diff(rows.ptr[here.start : here.stop + 1])
        self._segment = np.repeat(np.arange(self._count), counts)
        self._pair = rows.value[entries], rows.rate[entries]
        used = np.zeros(rows.length, dtype=bool)
        used[self._at] = True
        self.used = np.flatnonzero(used)

    def of(self, coordinates: Array) -> Array:
        """Return values and rates of some coordinates, in order, shape (2, q, k)."""
        place = np.full(self._rows.length, -1)
        place[coordinates] = np.arange(len(coordinates))
        place = place[self._at]
        wanted = slice(None) if len(coordinates) == self._rows.length else place >= 0
        return self._spread(wanted, place[wanted], len(coordinates))

    def part(self, part: slice, place: Array, count: int) -> Array:
        """Return those of a range of coordinates, at the places of these, shape (2, q, count)."""
        order, ordered = self._sorted
        wanted = order[slice(*np.searchsorted(ordered, (part.start, part.stop)))]
        return self._spread(wanted, place[self._at[wanted]], count)

    @cached_property
    def _sorted(self) -> tuple[Array, Array]:
        order = np.argsort(self._at, kind="stable")
        return order, self._at[order]

    def _spread(self, wanted: Any, place: Array, width: int) -> Array:
        out = np.zeros((2, self._count * width))
        cell = self._segment[wanted] * width + place
        for line, entries in zip(out, self._pair, strict=True):
            line[cell] = entries[wanted]
        return out.reshape(2, self._count, width)


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
        low, length = self.low, self.finite_length
        whole = shifted(self.program.offset[:, None], low)
        terms = sums[:, TERMS : TERMS + 3].T + np.abs(whole)
        quadratics = Quadratics(
            value=sums[:, VALUE : VALUE + 3].T + whole,
            gap=sums[:, GAP : GAP + 3].T,
            terms=terms + size_noise(self.tables, low, terms),
        )
        at = np.flatnonzero(clear)
        for end, step in ((0, np.zeros(count)), (1, length)):
            value = quadratics.value[0] + step * (quadratics.value[1] + step * quadratics.value[2])
            clear[at] &= multipliers.affordable(
                (low + step)[at],
                value[at],
                sums[at, RATE + end],
                sums[at, ROOM + end],
                charges[end, at],
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
        theta, nu = self.theta.of(self.theta.used), self.nu.of(self.nu.used)
        largest = np.abs(nu[0]) + self.finite_length[:, None] * np.abs(nu[1])
        alpha, beta = A.quick_factors(self.nu.used, largest)
        error = multipliers.error(largest)
        rounding = (error[:, None] * alpha).max(axis=0)
        range_ = np.stack([self.low, self.length])
        count = len(self.low)
        place = np.full(p + m, -1)
        for own, offset, length, stated, product, part, others in (
            (
                0,
                0,
                p,
                self.theta,
                _both(A.rows_transpose_times_by_part, self.nu.used, -nu),
                np.ascontiguousarray(sizes.T),
                np.abs(self.nu.of(self.rows)),
            ),
            (
                1,
                p,
                m,
                self.nu,
                _both(A.rows_times_by_part, self.theta.used, theta),
                np.ascontiguousarray(sizes),
                np.abs(self.theta.of(self.columns)),
            ),
        ):
            idle = self.local[offset : offset + length] < 0
            idle[stated.used] = False
            width = max(_LEAST, _CELLS // count)
            for begin in range(0, length, width):
                here = slice(begin, min(begin + width, length))
                whole = slice(offset + here.start, offset + here.stop)
                computed = product(here)
                margin, rest = np.zeros(computed.shape[2]), idle[here]
                if own == 0:
                    slope = self._largest_slopes(slopes[here])
                    margin = rounding @ beta[:, here] + error.max() * slope
                    rest &= (slopes[here, 4] == 0.0) & (slopes[here, 5] == 0.0)
                    at = np.flatnonzero(np.isin(multipliers.unpriced, range(here.start, here.stop)))
                    places = multipliers.unpriced[at] - begin
                    noise = error[:, None] * (alpha @ beta[:, multipliers.unpriced[at]])
                    bottom, rate = computed[:, :, places]
                    charges[0][:, at] = np.abs(bottom) + noise
                    charges[1][:, at] = np.abs(bottom + self.finite_length[:, None] * rate) + noise
                slots = self.tables.start[whole] + self.before[whole]
                at_rest(own, slots, self.tables.lines, range_, computed, margin, rest)
                busy = np.flatnonzero(~rest)
                outer, quick = np.empty((0, 6)), np.empty((0, 0))
                if own == 0:
                    outer, quick = slopes[begin + busy], alpha @ beta[:, begin + busy]
                coordinates = whole.start + busy
                place[coordinates] = np.arange(len(busy))
                pairs = stated.part(here, place[offset:], len(busy)), computed[:, :, busy]
                examine(
                    own,
                    self.before[coordinates],
                    self.tables.start[coordinates],
                    (self.ptr, place[self.changed], self.to),
                    self.tables.lines,
                    range_,
                    np.concatenate(pairs[:: 1 - 2 * own]),
                    part,
                    self.local[coordinates],
                    others,
                    outer,
                    quick,
                    error,
                    sums,
                )
                place[coordinates] = -1

    def _largest_slopes(self, slopes: Array) -> Array:
        """Return bounds of the smaller outer slope in all segments; 0 where both are infinite."""
        top = float((self.low + self.finite_length).max())
        sizes = np.abs(slopes[:, 0:4:2]) + top * np.abs(slopes[:, 1:4:2])
        largest = sizes.min(axis=1)
        return np.where(np.isfinite(largest), largest, 0.0)


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
