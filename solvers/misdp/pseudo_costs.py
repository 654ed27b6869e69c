"""Which integer variable to branch on."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

__all__ = ["PseudoCosts"]

_WHOLE = 1e-6


class PseudoCosts:
    """Average growth of the bound for a unit of each integer variable, down and up.

    Parameters
    ----------
    q : int
        Number of integer variables.
    rule : {"pseudo-cost", "most-infeasible"}
    """

    def __init__(self, q: int, rule: str) -> None:
        self._rule = rule
        self._sum = np.zeros((2, q))
        self._count = np.zeros((2, q))

    def learn(self, branched: tuple[int, int, float, float], bound: float) -> None:
        """Note what a branch (variable, direction, distance, parent's bound) has brought."""
        j, direction, distance, before = branched
        if np.isfinite(bound) and np.isfinite(before) and distance > 1e-9:
            self._sum[direction, j] += max(bound - before, 0.0) / distance
            self._count[direction, j] += 1.0

    def choose(self, values: Array | None, lower: Array, upper: Array) -> tuple[int, float]:
        """Return (variable, largest value of the lower child), for a box that is no point."""
        open_ = np.flatnonzero(lower < upper)
        if values is None:
            width = (upper - lower)[open_]
            j = int(open_[np.argmax(width)])
            return j, _middle(lower[j], upper[j])
        v = np.clip(values, lower, upper)
        part = np.abs(v - np.rint(v))[open_]
        fractional = open_[part > _WHOLE]
        if not len(fractional):
            # All are whole: cut the widest so that the value stays on one side.
            width = (upper - lower)[open_]
            j = int(open_[np.argmax(width)])
            value = np.rint(v[j])
            return j, float(value if value < upper[j] else value - 1.0)
        down = v[fractional] - np.floor(v[fractional])
        up = 1.0 - down
        score = np.minimum(down, up)
        if self._rule == "pseudo-cost":
            mean = self._sum.sum(axis=1) / np.maximum(self._count.sum(axis=1), 1.0)
            gain = [
                np.where(count > 0.0, total / np.maximum(count, 1.0), average)[fractional]
                for total, count, average in zip(self._sum, self._count, mean, strict=True)
            ]
            if mean.any():
                fall, rise = (part / mean.max() for part in gain)
                score = np.maximum(fall * down, 1e-6) * np.maximum(rise * up, 1e-6)
                score = score * (1.0 + np.minimum(down, up))
        j = int(fractional[np.argmax(score)])
        return j, float(np.floor(v[j]))


def _middle(lower: float, upper: float) -> float:
    if np.isfinite(lower) and np.isfinite(upper):
        return float(np.floor((lower + upper) / 2.0))
    if np.isfinite(lower):
        return float(max(2.0 * lower, 0.0) if lower < 0.0 else 2.0 * lower + 1.0)
    return float(min(2.0 * upper, 0.0) - 1.0) if np.isfinite(upper) else 0.0
