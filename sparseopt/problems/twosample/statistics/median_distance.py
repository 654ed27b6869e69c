"""The median of all distances between two samples of numbers, without forming them."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np

from sparseopt.problems.base import Array

_BITS = 44
"""Bits of a number in double precision that are not counted by."""


def median_distance(x: Array, y: Array, *, nonzero: bool = False) -> float:
    """Return the median of abs(x_i - y_j) over all i and j; 0 where there is none.

    Interpolation and bisection over the value, each step a merge of the sorted samples, until few
    pairs are left, which are then sorted. O((n + m) log(n m)).

    Parameters
    ----------
    x, y : arrays of shapes (n,) and (m,)
    nonzero : bool, default False
        Take the median of the distances that are not 0.
    """
    x, y = np.sort(x), np.sort(y)
    zeros = int((np.searchsorted(y, x, "right") - np.searchsorted(y, x, "left")).sum())
    skipped = zeros if nonzero else 0
    pairs = len(x) * len(y) - skipped
    if pairs == 0:
        return 0.0
    middle = sorted({skipped + (pairs - 1) // 2, skipped + pairs // 2})
    if middle[-1] < zeros:
        return 0.0
    # A little more, so that rounding does not leave out the largest distance.
    low, high = -1.0, 1.001 * float(max(x[-1] - y[0], y[-1] - x[0]))
    below, above = 0, len(x) * len(y)
    few = 8 * (len(x) + len(y))
    side, bisect = 1.0, True
    while above - below > few:
        start = max(low, 0.0)
        if bisect:
            t = (start + high) / 2.0
        else:
            # The rank a little beyond the middle, as if distances were uniform in between.
            rank = middle[0] + side * few / 4.0
            t = start + (high - start) * (rank - below) / (above - below)
            side = -side
        if not start < t < high:
            if bisect:
                break
            bisect = True
            continue
        before, count = above - below, _within(x, y, t)
        if count <= middle[0]:
            low, below = t, count
        elif count > middle[-1]:
            high, above = t, count
        else:
            break
        bisect = above - below > 0.7 * before and not bisect
    distances = np.sort(_between(x, y, low, high))
    at = np.clip(np.array(middle) - below, 0, len(distances) - 1)
    return float(distances[at].mean())


def ranked(
    parts: Callable[[], Iterable[Array]],
    ranks: list[int],
    likely: tuple[float, float] = (0.0, np.inf),
) -> list[float]:
    """Return order statistics of nonnegative numbers that come in parts, without holding them all.

    The first bits of a number, its exponent and 8 of its fraction, are counted in one pass; the
    numbers that share those of the ranks are sorted after a second one. One pass is enough where
    one knows about where they are.

    Parameters
    ----------
    parts : callable
        Yields the arrays, the same each time.
    ranks : list of int
        Increasing, from 0.
    likely : (float, float), optional
        A range that probably has them, and few others.

    Returns
    -------
    list of float
    """
    if likely != (0.0, np.inf):
        low, high = likely
        below, kept = 0, []
        for part in parts():
            under = part < low
            below += int(np.count_nonzero(under))
            kept.append(part[~under & (part <= high)])
        if below <= ranks[0] and ranks[-1] < below + sum(map(len, kept)):
            places = [rank - below for rank in ranks]
            return [float(x) for x in np.partition(np.concatenate(kept), places)[places]]
    counts = np.zeros(1 << (64 - _BITS), dtype=np.int64)
    for part in parts():
        counts += np.bincount(part.view(np.int64) >> _BITS, minlength=len(counts))
    upto = np.cumsum(counts)
    first, last = (int(np.searchsorted(upto, rank, "right")) for rank in (ranks[0], ranks[-1]))
    kept = []
    for part in parts():
        bits = part.view(np.int64) >> _BITS
        kept.append(part[(bits >= first) & (bits <= last)])
    numbers = np.sort(np.concatenate(kept))
    before = int(upto[first] - counts[first])
    return [float(numbers[rank - before]) for rank in ranks]


def _within(x: Array, y: Array, t: float) -> int:
    """Count the pairs with abs(x_i - y_j) <= t."""
    return int((np.searchsorted(y, x + t, "right") - np.searchsorted(y, x - t, "left")).sum())


def _between(x: Array, y: Array, low: float, high: float) -> Array:
    """Return the distances in (low, high]."""
    found = []
    ends = [(np.searchsorted(y, x - high, "left"), np.searchsorted(y, x - low, "left"))]
    ends.append((np.searchsorted(y, x + low, "right"), np.searchsorted(y, x + high, "right")))
    if low < 0.0:
        ends = [(ends[0][0], ends[1][1])]
    for begin, end in ends:
        counts = np.maximum(end - begin, 0)
        first = np.repeat(begin - np.concatenate([[0], np.cumsum(counts)[:-1]]), counts)
        j = first + np.arange(len(first))
        found.append(np.abs(np.repeat(x, counts) - y[j]))
    return np.concatenate(found)
