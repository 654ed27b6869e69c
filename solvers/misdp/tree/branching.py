"""Which variable to branch on, and reduced-cost fixing: what a node need not be branched for."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..bounding.lower_bounds import Box, Judge
from ..settings import INTEGRAL, PSEUDO_PRIOR
from .node import IntegerLeaf, IntegerLeaves, IntegerNode


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

    def update(self, branched: tuple[int, int, float, float], bound: float) -> None:
        """Record the gain of a branch (variable, direction, distance, parent's bound)."""
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
        fractional = open_[part > INTEGRAL]
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
            if mean.any():
                # Averages that are drawn to the mean of all, as by PSEUDO_PRIOR more branches.
                fall, rise = (
                    ((total + PSEUDO_PRIOR * average) / (count + PSEUDO_PRIOR))[fractional]
                    for total, count, average in zip(self._sum, self._count, mean, strict=True)
                )
                top = float(mean.max())
                score = score * np.maximum(fall / top * down, 1e-6)
                score = score * np.maximum(rise / top * up, 1e-6)
        j = int(fractional[np.argmax(score)])
        return j, float(np.floor(v[j]))


def _middle(lower: float, upper: float) -> float:
    if np.isfinite(lower) and np.isfinite(upper):
        return float(np.floor((lower + upper) / 2.0))
    if np.isfinite(lower):
        return float(max(2.0 * lower, 0.0) if lower < 0.0 else 2.0 * lower + 1.0)
    return float(min(2.0 * upper, 0.0) - 1.0) if np.isfinite(upper) else 0.0


def reduced_cost_fixing(
    node: IntegerNode, judge: Judge, whole: Array, value: float, slack: float, leaves: IntegerLeaves
) -> Box:
    """Return a node's box without the ends where nothing is better than the incumbent.

    What is cut off becomes a leaf of its own, with the same multipliers.

    Parameters
    ----------
    node : IntegerNode
        Its `lower` and `upper` are moved along.
    judge : Judge
    whole : bool array of shape (n,)
        The integer variables.
    value, slack : float
        Of the incumbent, and by how much a bound may stay below it.
    leaves : IntegerLeaves
    """
    low, high = (end.copy() for end in node.box)
    if node.multipliers is None or np.isinf(value) or np.isinf(node.bound):
        return low, high
    reduced = judge.reduced_costs(node.multipliers)
    room = judge.threshold(value) - judge.value(node.box, node.multipliers)
    places = np.flatnonzero(whole)
    for j, column in enumerate(places.tolist()):
        r = float(reduced[column])
        # Without a reduced cost nothing is cut off, however far away the ends are.
        if not r or not np.isfinite(r) or abs(r) * (high[column] - low[column]) <= room:
            continue
        steps = np.floor(room / abs(r)) + 1.0
        lower, upper = node.lower.copy(), node.upper.copy()
        piece = low.copy(), high.copy()
        if r > 0.0:
            lower[j] = low[column] + steps
            piece[0][column] = lower[j]
        else:
            upper[j] = high[column] - steps
            piece[1][column] = upper[j]
        if lower[j] > upper[j] or piece[0][column] > piece[1][column]:
            continue
        bound = judge.rounded(judge.value(piece, node.multipliers))
        if bound < value - slack:
            continue
        leaves.add(IntegerLeaf(lower, upper, node.multipliers, False, min(bound, value)))
        if r > 0.0:
            node.upper = node.upper.copy()
            high[column] = node.upper[j] = lower[j] - 1.0
        else:
            node.lower = node.lower.copy()
            low[column] = node.lower[j] = upper[j] + 1.0
    return low, high
