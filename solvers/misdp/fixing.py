"""Ends of integer variables that a node's multipliers bring to the incumbent."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from .bounding import Box, Judge
from .node import Leaf, Leaves, Node

__all__ = ["cut_ends"]


def cut_ends(
    node: Node, judge: Judge, whole: Array, value: float, slack: float, leaves: Leaves
) -> Box:
    """Return a node's box without the ends where nothing is better than the incumbent.

    What is cut off becomes a leaf of its own, with the same multipliers.

    Parameters
    ----------
    node : Node
        Its `lower` and `upper` are moved along.
    judge : Judge
    whole : bool array of shape (n,)
        The integer variables.
    value, slack : float
        Of the incumbent, and by how much a bound may stay below it.
    leaves : Leaves
    """
    low, high = (end.copy() for end in node.box)
    if node.multipliers is None or np.isinf(value) or np.isinf(node.bound):
        return low, high
    reduced = judge.reduced_costs(node.multipliers)
    room = value - node.bound
    places = np.flatnonzero(whole)
    for j, column in enumerate(places.tolist()):
        r = float(reduced[column])
        if abs(r) * (high[column] - low[column]) <= room or not np.isfinite(r):
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
        bound = judge.value(piece, node.multipliers)
        if bound < value - slack:
            continue
        leaves.add(Leaf(lower, upper, node.multipliers, False, min(bound, value)))
        if r > 0.0:
            node.upper = node.upper.copy()
            high[column] = node.upper[j] = lower[j] - 1.0
        else:
            node.lower = node.lower.copy()
            low[column] = node.lower[j] = upper[j] + 1.0
    return low, high
