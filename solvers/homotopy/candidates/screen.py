"""The check of the resting coordinates at both ends of many segments.

`scan` looks at exact products. Screening comes before it in a large program: most resting
coordinates are far from their limits between two points of a path.

A resting coordinate's slack at a point (v, lam) of the path is concave: the smaller distance of
a'v + offset to two affine limits. Between two references it is therefore at least the smaller of
the slacks there, less |a| times the distance of v to the line between them, less the rate of its
limits times that of lam. A product with a few references clears nearly all coordinates at once,
in single precision; those that are left are screened with more references.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled
from ..pivots.state import Entries, SegmentRecords
from ..settings import EXACT_PRODUCTS, FAR, SAME_POINT, SAMPLE, STRIDES
from .products import RoughProduct

# ---- the ends of the segments


class Ends:
    """Vectors at the lower and the upper end of each segment.

    Attributes
    ----------
    names : int array of shape (k,)
        The coordinates that are not zero everywhere.
    low, high : arrays of shape (k, S)
    new : bool array of shape (S,)
        Where the vector at the upper end is not the one at the lower end of the segment before.
    same : bool
        Whether the vectors are the same at both ends of every segment.
    """

    def __init__(self, segments: SegmentRecords, vectors: Entries, names: Array) -> None:
        count = len(segments.low)
        used = np.zeros(len(names), dtype=bool)
        used[vectors.index] = True
        union = np.flatnonzero(used)
        at = (np.cumsum(used) - 1)[vectors.index]
        segment = np.repeat(np.arange(count), np.diff(vectors.ptr))
        self.names = names[union]
        self.low = np.zeros((len(union), count))
        self.low[at, segment] = vectors.value
        self.same = not vectors.rate.any()
        self.new = np.ones(count, dtype=bool)
        if self.same:
            self.high = self.low
            return
        rate = np.zeros((len(union), count))
        rate[at, segment] = vectors.rate
        width = np.where(np.isfinite(segments.high), segments.high - segments.low, 0.0)
        self.high = self.low + width * rate
        size = np.abs(self.low).max(initial=0.0)
        jump = np.abs(self.high[:, 1:] - self.low[:, :-1]).max(axis=0)
        self.new[1:] = jump > SAME_POINT * size

    def products(self, multiply: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Return the products of a map with both ends, shape (length, S) each."""
        low = multiply(self.low)
        return low, low if self.same else self._upper(low, multiply(self.high[:, self.new]))

    def _upper(self, low: Array, new: Array) -> Array:
        """Return what belongs to the upper ends, from what belongs to the lower and new ones."""
        upper = np.empty_like(low)
        upper[..., 1:] = low[..., :-1]
        upper[..., self.new] = new
        return upper


def ended(segments: SegmentRecords) -> SegmentRecords:
    """Give a segment without a lower end one at a lam so distant that only the rates count.

    Parameters
    ----------
    segments : SegmentRecords

    Returns
    -------
    SegmentRecords
        The given ones where the last lower end is finite.
    """
    if len(segments) == 0 or np.isfinite(segments.low[-1]):
        return segments
    far = float(segments.high[-1] - FAR * max(1.0, abs(segments.high[-1])))
    parts = []
    for part in (segments.theta, segments.nu):
        last = slice(part.ptr[-2], part.ptr[-1])
        value = part.value.copy()
        value[last] += far * part.rate[last]
        parts.append(replace(part, value=value))
    low = segments.low.copy()
    low[-1] = far
    return replace(segments, low=low, theta=parts[0], nu=parts[1])


# ---- exact products


@compiled
def relative_slack(value: float, under: float, over: float) -> float:
    """Return the slack of a value between two limits, relative to their distance.

    Parameters
    ----------
    value : float
    under, over : float
        The limits; either may be infinite.

    Returns
    -------
    float
        At most 1/2; negative where the value is outside of its limits.
    """
    gap = min(value - under, over - value)
    width = over - under
    if not np.isfinite(width):
        width = abs(value) + gap
    return gap / width if width > 0.0 else 0.0


@compiled
def scan(
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
    are the same at both ends. The slack of a violated coordinate is negative, the more so the
    earlier it is violated.

    Parameters
    ----------
    at_low, at_high : arrays of shape (k, S)
        The products at the lower and upper ends of S segments.
    same : bool
        Whether the products are the same at both ends.
    sign : float
        Multiplies the products.
    offset : array of shape (k, 2)
        Added to the products: constant, and rate in lam.
    low, high : arrays of shape (2, k)
        The limits: constants, and rates in lam.
    resting : bool array of shape (k,)
        The coordinates to look at.
    lam_low, lam_high : arrays of shape (S,)
        The ends of the segments.
    tolerance : float
        The violation that is allowed.
    first : int array of shape (k,)
        Out: the number of the first violated end; unchanged where there is none.
    slack : array of shape (k,)
        Out.
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
        slack[i] = relative_slack(value, l0 + lam * l1, h0 + lam * h1)
        if worst >= -tolerance:
            continue
        for end in range(endless, 2 * count):
            s = end // 2
            lam = lam_low[s] if end % 2 else lam_high[s]
            value = sign * (at_low[i, s] if end % 2 else at_high[i, s]) + o0 + lam * o1
            if min(value - l0 - lam * l1, h0 + lam * h1 - value) < -tolerance:
                first[i] = end
                slack[i] = end / (2.0 * count) - 1.0
                break


@scan.in_numpy
def _(
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
    i, count = np.flatnonzero(resting), at_low.shape[1]
    endless = 1 if np.isinf(lam_high[0]) else 0

    def affine(part: Array, lam: Array) -> Array:
        found: Array = part[0][:, None] + lam * part[1][:, None]
        return found

    gaps = np.full((len(i), 2 * count), np.inf)
    # An end at infinity is not looked at: any lam stands for it.
    finite_high = np.where(np.isinf(lam_high), lam_low, lam_high)
    for at, lam, parity in ((at_high, finite_high, 0), (at_low, lam_low, 1)):
        value = sign * at[i] + affine(offset[i].T, lam)
        under, over = affine(low[:, i], lam), affine(high[:, i], lam)
        gaps[:, parity::2] = np.minimum(value - under, over - value)
    gaps[:, :endless] = np.inf
    gap, width = gaps[:, -1], (over - under)[:, -1]
    width = np.where(np.isfinite(width), width, np.abs(value[:, -1]) + gap)
    slack[i] = np.where(width > 0.0, gap / width, 0.0)
    violated = gaps < -tolerance
    found = violated.any(axis=1)
    first[i[found]] = ends = violated[found].argmax(axis=1)
    slack[i[found]] = ends / (2.0 * count) - 1.0


# ---- screening


class Limits(NamedTuple):
    """What the resting coordinates are compared with.

    `value` (k, 2) is added to the products, `low` and `high` (2, k) are the limits, each a
    constant and a rate in lam; `sign` multiplies the products.
    """

    sign: float
    value: Array
    low: Array
    high: Array

    def room(self, lam: Array, some: Array) -> Array:
        """Return the largest slack that some coordinates can have between two lam."""
        low, high = self.low[:, some], self.high[:, some]
        widths = (high[0] + t * high[1] - low[0] - t * low[1] for t in lam)
        return np.asarray(0.5 * np.maximum(*widths))

    def rates(self) -> Array:
        """Return how fast the nearer limit may move against the value with lam, shape (k,)."""
        return np.asarray(_rates(np.ascontiguousarray(self.value), self.low, self.high))


@compiled
def _rates(value: Array, low: Array, high: Array) -> Array:
    rates = np.zeros(len(value))
    for i in range(len(value)):
        if np.isfinite(low[0, i]):
            rates[i] = abs(low[1, i] - value[i, 1])
        if np.isfinite(high[0, i]):
            rates[i] = max(rates[i], abs(high[1, i] - value[i, 1]))
    return rates


@_rates.in_numpy
def _(value: Array, low: Array, high: Array) -> Array:
    moves = (
        np.where(np.isfinite(limit[0]), np.abs(limit[1] - value[:, 1]), 0.0)
        for limit in (low, high)
    )
    return np.asarray(np.maximum(*moves))


class Round(NamedTuple):
    """One product with some points, the references.

    `references` (r,) are their numbers; `distance` and `shift` (r - 1,) say how far the points
    between two of them are from their line, the vectors and lam.
    """

    references: Array
    distance: Array
    shift: Array


class Points:
    """The ends of all segments, in the order of the path.

    Parameters
    ----------
    ends : Ends
        Of the S segments.
    product : RoughProduct
    segments : SegmentRecords
    moving : bool
        Whether the slack of a resting coordinate depends on lam beyond the product. If not, and
        if the vectors are the same at both ends, one point stands for a segment.

    Attributes
    ----------
    names : int array
        The coordinates of the vectors that are not zero everywhere.
    vectors : array of shape (r, E)
        What the product's kept matrix is multiplied with.
    lam : array of shape (E,)
    by_lam : bool
        Whether a point is compared with the one of the same lam on the line between two
        references, else with the nearest one.
    """

    def __init__(
        self, ends: Ends, product: RoughProduct, segments: SegmentRecords, moving: bool
    ) -> None:
        self.names = ends.names
        low = product.right(ends.names, ends.low)
        count = low.shape[1]
        if ends.same and not moving:
            self.vectors, self.lam, self.by_lam = low, segments.low, False
            return
        new = np.flatnonzero(ends.new)
        if np.isinf(segments.high[0]):
            new = new[1:]
        high = low[:, new] if ends.same else product.right(ends.names, ends.high[:, new])
        order = np.argsort(np.concatenate([2 * np.arange(count) + 1, 2 * new]))
        self.vectors = np.hstack([low, high]).take(order, axis=1)
        self.lam = np.concatenate([segments.low, segments.high[new]])[order]
        self.by_lam = True

    def rounds(self, size: Array, rates: Array, room: Array) -> Iterator[Round]:
        """Yield the rounds that may clear half of some coordinates; in the last one all points are.

        Parameters
        ----------
        size, rates, room : arrays of shape (k,)
            The norms that the vectors are multiplied with, :meth:`Limits.rates`, and
            :meth:`Limits.room` of these coordinates.
        """
        last = len(self.lam) - 1
        for stride in STRIDES:
            references = np.append(np.arange(0, last, stride), last)
            if stride == 1:
                nothing = np.zeros(max(last, 1))
                yield Round(references, nothing, nothing)
            elif last >= 2 * stride:
                distance, shift = self._deviations(references)
                possible = size * distance.max() + rates * shift.max() <= room
                if 2 * np.count_nonzero(possible) >= len(possible):
                    yield Round(references, distance, shift)

    def _deviations(self, references: Array) -> tuple[Array, Array]:
        """Return how far the points between references are from their line: vectors and lam."""
        count = len(self.lam)
        interval = np.searchsorted(references, np.arange(count), side="right") - 1
        interval = np.minimum(interval, len(references) - 2)
        a, b = references[interval], references[interval + 1]
        fall, way = self.lam[b] - self.lam[a], self.lam - self.lam[a]
        at = np.clip(way / np.where(fall == 0.0, 1.0, fall), 0.0, 1.0)
        distance = distances_from_lines(self.vectors, a, b, at, not self.by_lam)
        parts = references[:-1]
        return (
            np.maximum.reduceat(distance, parts),
            np.maximum.reduceat(np.abs(way - at * fall), parts),
        )


@compiled
def distances_from_lines(vectors: Array, a: Array, b: Array, at: Array, nearest: bool) -> Array:
    """Return how far points are from those on lines between others.

    Parameters
    ----------
    vectors : array of shape (r, E)
    a, b : int arrays of shape (E,)
        For each point those at the ends of its line.
    at : array of shape (E,)
        What part of the line there is to the point that it is compared with.
    nearest : bool
        Whether that is the nearest one: it is written to `at`.

    Returns
    -------
    array of shape (E,)
    """
    size, count = vectors.shape
    distance, length = np.zeros(count), np.zeros(count)
    if nearest:
        at[:] = 0.0
        for r in range(size):
            for e in range(count):
                start = vectors[r, a[e]]
                step = vectors[r, b[e]] - start
                length[e] += step * step
                at[e] += step * (vectors[r, e] - start)
        for e in range(count):
            part = at[e] / length[e] if length[e] != 0.0 else 0.0
            at[e] = min(max(part, 0.0), 1.0)
    for r in range(size):
        for e in range(count):
            start = vectors[r, a[e]]
            off = vectors[r, e] - start - at[e] * (vectors[r, b[e]] - start)
            distance[e] += off * off
    for e in range(count):
        distance[e] = np.sqrt(distance[e])
    return distance


@distances_from_lines.in_numpy
def _(vectors: Array, a: Array, b: Array, at: Array, nearest: bool) -> Array:
    start = vectors[:, a]
    step, move = vectors[:, b] - start, vectors - start
    if nearest:
        length = np.einsum("re,re->e", step, step)
        part = np.einsum("re,re->e", step, move)
        at[:] = np.clip(part / np.where(length == 0.0, 1.0, length), 0.0, 1.0)
    off = move - at * step
    return np.asarray(np.sqrt(np.einsum("re,re->e", off, off)))


class Screening:
    """The screening of the resting coordinates of one side, round after round.

    Parameters
    ----------
    points : Points
    product : RoughProduct
    limits : Limits
        Of all k coordinates.
    rates : array of shape (k,)
        Their :meth:`Limits.rates`.
    resting : bool array of shape (k,)
    slack : array of shape (k,)
        Gets each resting coordinate's slack at the last point, relative to its range.

    Attributes
    ----------
    where : int array
        The resting coordinates that may be violated at a point.
    largest : float
        The largest product with the first references.
    """

    def __init__(
        self,
        points: Points,
        product: RoughProduct,
        limits: Limits,
        rates: Array,
        resting: Array,
        slack: Array,
    ) -> None:
        self.points, self.product, self.limits, self.slack = points, product, limits, slack
        self.value = np.ascontiguousarray(limits.value)
        self.where = np.flatnonzero(resting)
        self.count = len(resting)
        self.largest, self.first = 0.0, True
        self.rates = rates
        some = self.where[:: max(1, len(self.where) // SAMPLE)]
        room = limits.room(points.lam[[0, -1]], some)
        self._rounds = points.rounds(product.size[some], self.rates[some], room)
        self._round = next(self._rounds)

    @property
    def vectors(self) -> Array:
        """The references of this round."""
        return self.points.vectors[:, self._round.references]

    def finish(self) -> None:
        """Make the rounds that are left, this one included, each with a product of its own."""
        while True:
            whole = self.first or 2 * len(self.where) > self.count
            screen_pieces(self.product, [self], None if whole else self.where)
            if not self.advance():
                return

    def advance(self) -> bool:
        """Go on to the next round; return whether there is one and it is worth it."""
        if len(self.where) * self.points.vectors.size <= EXACT_PRODUCTS:
            return False
        following = next(self._rounds, None)
        if following is None:
            return False
        self._round = following
        return True

    def clear(self, part: slice, whole: bool, rough: Array, column: int, error: Array) -> Array:
        """Return those of some coordinates that their products do not clear.

        Parameters
        ----------
        part : slice
            Among all coordinates (`whole`), or among `where`.
        whole : bool
        rough : array
            The products of the coordinates in `part`, those of this side from `column` on.
        column : int
        error : array of shape (references,)
        """
        references, distance, shift = self._round
        begin, end = part.start, part.stop
        if whole:
            begin, end = np.searchsorted(self.where, [begin, end])
        where = self.where[begin:end]
        if self.first:
            mine = rough[:, column : column + len(references)]
            self.largest = max(
                self.largest, float(mine.max(initial=0.0)), -float(mine.min(initial=0.0))
            )
        suspect = np.zeros(len(where), dtype=bool)
        _screen(
            rough, column, part.start if whole else -1, self.limits.sign, self.value,
            self.limits.low, self.limits.high, where, self.points.lam[references],
            self.product.size, self.rates, error, distance, shift, suspect, self.slack, self.first,
        )  # fmt: skip
        return where[suspect]


def screen_pieces(product: RoughProduct, sides: Sequence[Screening], where: Array | None) -> None:
    """Make a round of several sides, whose names are the same, by one pass over the matrix.

    Parameters
    ----------
    product : RoughProduct
    sides : sequence of Screening
    where : int array, optional
        The coordinates to multiply, those of the only side; default all.
    """
    vectors = [side.vectors for side in sides]
    cuts = np.cumsum([0, *(part.shape[1] for part in vectors)])
    left: list[list[Array]] = [[] for _ in sides]
    for part, rough, errors in product.pieces(sides[0].points.names, np.hstack(vectors), where):
        for k, side in enumerate(sides):
            error = errors[cuts[k] : cuts[k + 1]]
            left[k].append(side.clear(part, where is None, rough, int(cuts[k]), error))
    for side, suspects in zip(sides, left, strict=True):
        side.where, side.first = np.concatenate(suspects), False


@compiled
def _screen(
    products: Array,
    column: int,
    start: int,
    sign: float,
    offset: Array,
    low: Array,
    high: Array,
    where: Array,
    lam: Array,
    size: Array,
    rates: Array,
    error: Array,
    distance: Array,
    shift: Array,
    suspect: Array,
    slack: Array,
    first: bool,
) -> None:
    """Mark the coordinates `where` that the products with the references do not clear.

    Row 0 of the products is that of coordinate `start`, or where that is negative of the first one
    in `where`; the first reference's are in `column`.
    """
    count = len(lam)
    for at in range(len(where)):
        i = where[at]
        row = i - start if start >= 0 else at
        o0, o1 = offset[i, 0], offset[i, 1]
        l0, l1, h0, h1 = low[0, i], low[1, i], high[0, i], high[1, i]
        before = np.inf
        clear = True
        for s in range(count):
            value = sign * products[row, column + s] + o0 + lam[s] * o1
            gap = min(value - l0 - lam[s] * l1, h0 + lam[s] * h1 - value) - size[i] * error[s]
            if s > 0:
                room = size[i] * distance[s - 1] + rates[i] * shift[s - 1]
                # each on its own, so that a NaN clears nothing
                clear = clear and before >= room and gap >= room
            else:
                clear = gap >= 0.0
            before = gap
        suspect[at] = not clear
        if first:
            end = lam[count - 1]
            value = sign * products[row, column + count - 1] + o0 + end * o1
            slack[i] = relative_slack(value, l0 + end * l1, h0 + end * h1)
