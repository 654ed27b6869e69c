r"""What a basis code says about its coordinate, as tables that whole segments are looked up in.

Code 2k puts a coordinate ON piece k, between the kinks k - 1 and k, where its multiplier is slope
k. Code 2k + 1 puts it AT kink k, where its multiplier is between the slopes k and k + 1. With

.. math:: c_k = s_1 t_0 + \sum_{j=2}^k (s_j - s_{j-1})\,t_{j-1}, \qquad
          F_k = \sum_{j=1}^k s_j (t_j - t_{j-1})

(and c_0 = s_0 t_0) a function that is zero at its first kink is :math:`f(z) = s_k z - c_k` on piece
k and :math:`F_k` at kink k; one that is zero at another is less by what is there. Its conjugate is
:math:`c_k` at slope k and :math:`v t_k - F_k` at kink k. With :math:`e = -c_k` or :math:`F_k` this
gives

.. math:: P = \sum_{ON} s_k z + \sum e, \qquad D = \sum e - \sum_{AT} t_k v, \qquad
          P - D = \sum_{ON} s_k z + \sum_{AT} t_k v.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sparseopt.checking.tolerances import prevailing
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces

_AT_ONCE = 2**15
"""Functions whose tables are made at once: what that takes beside them stays small."""


@dataclass(frozen=True, eq=False)
class Slots:
    """Where the codes of a chunk of segments are found: few differ from those of its first segment.

    Attributes
    ----------
    each : int array of shape (q, n)
    segment, coordinate : int arrays of shape (changes,)
        The entries that differ from ``each[0]``.
    """

    each: Array
    segment: Array
    coordinate: Array

    @classmethod
    def of(cls, each: Array) -> Slots:
        """Find the entries that differ."""
        return cls(each, *np.divmod(np.flatnonzero(each != each[0]), each.shape[1]))

    def part(self, begin: int, end: int) -> Slots:
        """Return those of the coordinates from `begin` to `end` (excluded)."""
        here = (self.coordinate >= begin) & (self.coordinate < end)
        return Slots(self.each[:, begin:end], self.segment[here], self.coordinate[here] - begin)

    def look_up(self, table: Array) -> Array:
        """Return the table's entries, shape (q, n)."""
        found = np.empty(self.each.shape, table.dtype)
        found[:] = table[self.each[0]]
        changed = self.segment, self.coordinate
        found[changed] = table[self.each[changed]]
        return found


@dataclass(frozen=True, eq=False)
class Line:
    """A number for every code of every coordinate, affine in lam."""

    constant: Array
    rate: Array

    @cached_property
    def _moves(self) -> bool:
        return bool(self.rate.any())

    def rows(self, slots: slice) -> Line:
        """Return those of some slots, as views."""
        return Line(self.constant[slots], self.rate[slots])

    def at(self, slots: Array, low: Array) -> tuple[Array, Array]:
        """Return (value at low, rate) of some slots, with their values of lam."""
        rate = self.rate[slots]
        return self.constant[slots] + low * rate, rate

    def over(self, slots: Slots, low: Array) -> tuple[Array, Array]:
        """Return (value at low, rate) of a chunk of segments with the lower ends `low`, (q, n)."""
        value = slots.look_up(self.constant)
        if not self._moves:
            return value, np.zeros(value.shape)
        rate = slots.look_up(self.rate)
        value += low[:, None] * rate
        return value, rate


class CodeTables:
    """Bounds, kinks, slopes and values by slot: the slot of a code is ``start + code``.

    Parameters
    ----------
    pieces : Pieces
        n functions.
    codes, changed : int arrays, optional
        The first codes of a path, shape (n,), and the coordinates that get others. The tables then
        have one slot for each of the others. Default: all codes of all coordinates.

    Attributes
    ----------
    last_codes : int array of shape (n,)
        The largest code of each coordinate, twice its number of kinks.
    start : int array of shape (n,)
        Slot of each coordinate's code 0, were it there.
    lines : array of shape (slots, 12)
        Constants and rates of z_low, z_high, v_low and v_high, then the value and `active`.
    z_low, z_high, v_low, v_high : Line
        Between which values z and v must lie; they may be infinite.
    kink : Line
        The kink that the coordinate is at, 0 on a piece.
    slope : Line
        The slope of the piece that it is on, 0 at a kink.
    value : array of shape (3, slots)
        e as a quadratic in lam.
    allowed : bool array
        Whether a coordinate can be there: not on a piece of infinite slope.
    active : bool array
        Whether the slot contributes to an objective value.
    kink_size, slope_size : (float, float)
        Largest constant and largest rate that prevail among all finite kinks and slopes.
    least_kink : (float, float)
        Smallest constant and smallest rate of the kinks that are not 0.
    """

    def __init__(
        self, pieces: Pieces, codes: Array | None = None, changed: Array | None = None
    ) -> None:
        self._pieces = pieces
        self.last_codes = 2 * pieces.counts
        counts = self.last_codes + 1
        if codes is not None:
            every, first = counts, codes.copy()
            counts = np.ones_like(every)
            first[changed], counts[changed] = 0, every[changed]
        ends = np.cumsum(counts)
        self.start = ends - counts
        if codes is not None:
            self.start -= first
        slots = int(ends[-1])
        self.lines = np.empty((slots, 12))
        self.z_low, self.z_high, self.v_low, self.v_high = (
            Line(self.lines[:, i], self.lines[:, i + 1]) for i in (0, 2, 4, 6)
        )
        self.value, self.active = self.lines[:, 8:11].T, self.lines[:, 11]
        self.kink, self.slope = (Line(np.zeros(slots), np.zeros(slots)) for _ in range(2))
        self.allowed = np.empty(slots, dtype=bool)
        for begin in range(0, len(counts), _AT_ONCE):
            here = slice(begin, begin + _AT_ONCE)
            some = counts[here]
            part = pieces
            if len(some) < len(counts):
                part = pieces.part(np.arange(begin, begin + len(some)))
            owner = np.repeat(np.arange(len(some)), some)
            last = int(ends[begin + len(some) - 1])
            inside = slice(last - len(owner), last)
            self._fill(
                inside, part, owner, np.arange(last - len(owner), last) - self.start[here][owner]
            )
        self._measure(pieces)

    def _fill(self, slots: slice, pieces: Pieces, owner: Array, code: Array) -> None:
        """Fill in slots, which are those of codes of the owners among some functions."""
        at_kink = (code & 1) == 1
        k = code >> 1
        _set_kinks(self.z_low.rows(slots), pieces, owner, k - 1 + at_kink, -np.inf)
        _set_kinks(self.z_high.rows(slots), pieces, owner, k, np.inf)
        slope = pieces.slope_ptr[owner] + k
        v_low = self.v_low.rows(slots)
        for line in (v_low, self.v_high.rows(slots)):
            line.constant[:], line.rate[:] = pieces.slope[slope], pieces.slope_rate[slope]
            slope += at_kink
        allowed = at_kink | np.isfinite(v_low.constant)
        self.allowed[slots] = allowed
        value, active = self.value[:, slots], self.active[slots]
        _set_values(value, pieces, owner, k, at_kink)
        value[:, ~allowed] = 0.0
        active[:] = (value != 0.0).any(axis=0)
        lines = (self.z_high, at_kink, self.kink), (self.v_low, ~at_kink & allowed, self.slope)
        for source, chosen, line in lines:
            one, other = source.rows(slots), line.rows(slots)
            for given, entries in (one.constant, other.constant), (one.rate, other.rate):
                # Zeros are there, in memory that is not taken until something else is written.
                here = np.flatnonzero(chosen & (given != 0.0))
                entries[here], active[here] = given[here], 1.0

    def move(self, pieces: Pieces) -> None:
        """Become the tables of functions whose kinks have other constants, a few of them.

        They have all codes.
        """
        before, self._pieces = self._pieces, pieces
        moved = np.flatnonzero(pieces.kink != before.kink)
        if len(moved) == 0:
            return
        owners = np.unique(np.searchsorted(pieces.ptr, moved, side="right") - 1)
        few = CodeTables(pieces.part(owners))
        counts = few.last_codes + 1
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        slots = np.repeat(self.start[owners], counts) + within
        self.lines[slots] = few.lines
        self.kink.constant[slots] = few.kink.constant
        self._measure(pieces)

    def _measure(self, pieces: Pieces) -> None:
        self.kink_size = _line_size(pieces.kink, pieces.kink_rate)
        self.slope_size = _line_size(pieces.slope, pieces.slope_rate)
        self.least_kink = _smallest(pieces.kink), _smallest(pieces.kink_rate)


def _set_kinks(line: Line, pieces: Pieces, owner: Array, k: Array, beyond: float) -> None:
    """Set a line to the kinks k of the owners, and `beyond` where there is none."""
    inside = (k >= 0) & (k < pieces.counts[owner])
    at = np.where(inside, pieces.ptr[owner] + k, 0)
    line.constant[:] = np.where(inside, pieces.kink[at], beyond)
    line.rate[:] = np.where(inside, pieces.kink_rate[at], 0.0)


def _line_size(constant: Array, rate: Array) -> tuple[float, float]:
    return prevailing(np.abs(constant[np.isfinite(constant)])), prevailing(np.abs(rate))


def _smallest(values: Array) -> float:
    sizes = np.abs(values[values != 0.0])
    return float(sizes.min()) if len(sizes) else 0.0


def sizes_at(size: tuple[float, float], low: Array) -> tuple[Array, Array]:
    """Return the size of values at low, shape (q,), and that of the rates.

    Parameters
    ----------
    size : (float, float)
        Sizes of constants, and of rates in lam.
    low : array of shape (q,)
        Values of lam.

    Returns
    -------
    values, rates : arrays of shape (q,)
    """
    constant, rate = size
    return constant + np.abs(low) * rate, np.full(low.shape, rate)


def _set_values(value: Array, pieces: Pieces, owner: Array, k: Array, at_kink: Array) -> None:
    """Set e of every slot, the coefficients of 1, lam and lam^2, shape (3, slots)."""
    kinks = (pieces.kink, pieces.kink_rate)
    slopes = (np.where(np.isinf(pieces.slope), 0.0, pieces.slope), pieces.slope_rate)
    # On a piece the reference is its end that is nearer to where the function is zero.
    right = at_kink | (k <= pieces.zeros[owner])
    reference = pieces.ptr[owner] + np.where(right, k, k - 1)
    s = pieces.slope_ptr[owner] + np.minimum(k, pieces.counts[owner])
    drop = _product(tuple(part[s] for part in slopes), tuple(part[reference] for part in kinks))
    drop[:, at_kink] = 0.0
    np.negative(drop, out=value)
    value += pieces.kink_values[:, reference]


def _product(one: tuple[Array, ...], two: tuple[Array, ...]) -> Array:
    """Return the product of two lines as a quadratic."""
    return np.stack([one[0] * two[0], one[0] * two[1] + one[1] * two[0], one[1] * two[1]])
