r"""The Lagrangian dual of a budget problem, exact from the tables.

.. math:: Q(\lambda; K) = \sum_j \min_k \left( L_j(k) + \lambda k \right) - \lambda K \le V(K),
          \quad \lambda \ge 0

The minimum of node j is attained on the lower convex hull of its table. All the decreasing hull
segments of all nodes, steepest first, spend the budget one after another: the slope of the segment
that spends the K-th unit is the best multiplier of K, and where a segment ends exactly at K the
dual has no gap (Everett 1963).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables

__all__ = ["BudgetDual", "solve_dual"]


@dataclass(frozen=True, eq=False)
class BudgetDual:
    """The best multiplier of each budget K = 0, ..., and the bound it proves.

    Attributes
    ----------
    multiplier, bound : arrays of shape (K + 1,)
    """

    multiplier: Array
    bound: Array


def solve_dual(problem: BudgetTables, last: int) -> BudgetDual:
    """Maximise the dual for the budgets 0, ..., last, in O(N log N) for N table entries."""
    steps: list[tuple[float, int, float]] = []
    for j in range(len(problem.ptr) - 1):
        steps += _segments(problem.table(j))
    # Steepest first; Python's sort keeps a node's segments in order, for their slopes increase.
    steps.sort(key=lambda step: step[0])
    slope = np.array([step[0] for step in steps])
    spent = np.cumsum([0, *(step[1] for step in steps)])
    start = float(problem.values[problem.ptr[:-1]].sum())
    value = np.cumsum([start, *(step[2] for step in steps)])
    # The segment in hand at K is the one that spends the K-th unit; beyond the last, lambda is 0.
    budgets = np.arange(last + 1)
    hand = np.maximum(np.searchsorted(spent, budgets, side="left") - 1, 0)
    rate = np.append(slope, 0.0)[hand]
    multiplier = -rate
    bound = value[hand] + rate * (budgets - spent[hand])
    return BudgetDual(multiplier=multiplier, bound=bound)


def _segments(table: Array) -> list[tuple[float, int, float]]:
    """Return (slope, width, drop) of the decreasing part of a table's lower convex hull."""
    hull: list[int] = []
    for k in range(len(table)):
        while len(hull) >= 2:
            a, b = hull[-2], hull[-1]
            if (table[b] - table[a]) * (k - b) < (table[k] - table[b]) * (b - a):
                break
            hull.pop()
        hull.append(k)
    steps = []
    for a, b in pairwise(hull):
        drop = float(table[b] - table[a])
        if drop < 0.0:
            steps.append((drop / (b - a), b - a, drop))
    return steps
