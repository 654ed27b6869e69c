"""The look at the resting coordinates at both ends of many segments."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .settings import FAR, SAME_POINT
from .state import Entries, Segments

__all__ = ["Ends", "ended", "relative_slack", "scan"]


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

    def __init__(self, segments: Segments, vectors: Entries, names: Array) -> None:
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


def ended(segments: Segments) -> Segments:
    """Let a segment that goes down for ever end at a lam so far off that only the rates count."""
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


@compiled
def relative_slack(value: float, under: float, over: float) -> float:
    """Return the slack of a value between two limits, relative to their distance."""
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
