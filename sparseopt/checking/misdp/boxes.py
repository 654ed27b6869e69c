"""Whether boxes of integer points, the leaves of a search, cover a box."""

from __future__ import annotations

import numpy as np

from sparseopt.checking.work import TooMuchWork, spend
from sparseopt.problems.base import Array

_WORK = 6e9
"""Comparisons of numbers after which the search for a cover is given up: half a minute at most."""
_SECOND = 5e-9
"""Seconds of one comparison."""
_CALL = 20_000.0
"""What a few calls of NumPy cost beside their numbers, in comparisons."""
_SORTS = 10.0
"""What sorting a number costs."""


def uncovered(lower: Array, upper: Array, low: Array, high: Array) -> tuple[Array, Array] | None:
    """Return a box of integer points of [low, high] that no box covers, or None.

    The region is split where no box, or the fewest boxes, are split: those of a search tree that
    branches on variables come apart cleanly at every level, in O(L log L q) each.

    Parameters
    ----------
    lower, upper : array of shape (L, q)
        The boxes: integers, or infinite.
    low, high : array of shape (q,)
        The region, likewise.

    Raises
    ------
    TooMuchWork
    """
    keep = (lower <= upper).all(axis=1)
    lower, upper = lower[keep], upper[keep]
    stack = [(low, high, np.arange(len(lower)))]
    work = 0.0
    while stack:
        low, high, which = stack.pop()
        if (low > high).any():
            continue
        work += _CALL + _SORTS * (len(which) + 1) * (len(low) + 1)
        spend(_SECOND * (_CALL + _SORTS * (len(which) + 1) * (len(low) + 1)))
        if work > _WORK:
            raise TooMuchWork("the boxes of the leaves overlap too much to find what they cover")
        which = which[((lower[which] <= high) & (upper[which] >= low)).all(axis=1)]
        if not len(which):
            return low, high
        inner_low = np.maximum(lower[which], low)
        inner_high = np.minimum(upper[which], high)
        if ((inner_low == low) & (inner_high == high)).all(axis=1).any():
            continue
        cuts = _clean_cuts(inner_low, inner_high)
        if cuts is None:
            work += (_CALL + 4.0 * _SORTS * len(which)) * len(low)
            cuts = _least_cut(inner_low, inner_high, low, high)
        for begin, end, part in _split(inner_low, inner_high, low, high, *cuts):
            stack.append((begin, end, which[part]))
    return None


def _clean_cuts(lower: Array, upper: Array) -> tuple[int, Array] | None:
    """Return (variable, last values) of cuts where some boxes end before all others begin."""
    first, last = np.sort(lower, axis=0), np.sort(upper, axis=0)
    clean = last[:-1] < first[1:]
    cuts = clean.sum(axis=0)
    if not cuts.any():
        return None
    j = int(np.argmax(cuts))
    return j, last[:-1, j][clean[:, j]]


def _split(
    lower: Array, upper: Array, low: Array, high: Array, j: int, ends: Array
) -> list[tuple[Array, Array, Array]]:
    """Return (low, high, boxes) of the slices of a region; each has fewer boxes or faces."""
    begins = np.concatenate([low[j : j + 1], ends + 1.0])
    finish = np.concatenate([ends, high[j : j + 1]])
    parts = []
    for begin, end in zip(begins.tolist(), finish.tolist(), strict=True):
        a, b = low.copy(), high.copy()
        a[j], b[j] = begin, end
        parts.append((a, b, np.flatnonzero((lower[:, j] <= end) & (upper[:, j] >= begin))))
    return parts


def _least_cut(lower: Array, upper: Array, low: Array, high: Array) -> tuple[int, Array]:
    """Return (variable, last value before the cut) of a face of a box that cuts the fewest."""
    best, found = np.inf, (0, 0.0)
    for j in range(lower.shape[1]):
        ends = np.unique(np.concatenate([upper[:, j], lower[:, j] - 1.0]))
        ends = ends[(ends >= low[j]) & (ends < high[j])]
        if not len(ends):
            continue
        begun = np.searchsorted(np.sort(lower[:, j]), ends, side="right")
        done = np.searchsorted(np.sort(upper[:, j]), ends, side="right")
        k = int(np.argmin(begun - done))
        if begun[k] - done[k] < best:
            best, found = begun[k] - done[k], (j, float(ends[k]))
    return found[0], np.array([found[1]])
