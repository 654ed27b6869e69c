r"""The Lagrangian dual of a budget problem, exact from the lower convex hulls of its tables.

.. math:: Q(\lambda; K) = \sum_j \min_k \left( L_j(k) + \lambda k \right) - \lambda K \le V(K),
          \quad \lambda \ge 0

The minimum of node j is attained on the lower convex hull of its table. All the decreasing hull
segments of all nodes, steepest first, spend the budget one after another: the slope of the segment
that spends the K-th unit is the best multiplier of K, and where a segment ends exactly at K the
dual has no gap (Everett 1963). Source: SPICA, (3.1).
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables

from ...common.compiled import compiled
from ..settings import SPENDING_ROUNDING, THREADED_SEGMENTS


@by_address
class Hull(NamedTuple):
    """The decreasing hull segments of all tables, node by node or the steepest first.

    Attributes
    ----------
    node, start, width : int arrays of shape (S,)
        Segment s takes its node from the count `start` to `start + width`.
    slope, drop : arrays of shape (S,)
        Negative; the drop is the loss's change over the whole segment.
    """

    node: Array
    start: Array
    width: Array
    slope: Array
    drop: Array


@compiled
def hull_segments(values: Array, ptr: Array) -> Hull:
    """Return the segments of the lower convex hulls node by node, in O(N) for N table entries.

    Parameters
    ----------
    values : array of shape (N,)
        The tables, node by node.
    ptr : int array of shape (J + 1,)
        Where each table begins and ends.

    Returns
    -------
    Hull
    """
    J, N = len(ptr) - 1, len(values)
    node, start, width = np.empty(N, np.int32), np.empty(N, np.int32), np.empty(N, np.int32)
    slope, decrease = np.empty(N), np.empty(N)
    # Andrew's monotone chain: the counts of the vertices so far.
    chain = np.empty(N, np.int64)
    count = 0
    for j in range(J):
        first = ptr[j]
        top = -1
        for k in range(ptr[j + 1] - first):
            while top >= 1:
                a, b = chain[top - 1], chain[top]
                left = (values[first + b] - values[first + a]) * (k - b)
                if left < (values[first + k] - values[first + b]) * (b - a):
                    break
                top -= 1
            top += 1
            chain[top] = k
        for i in range(top):
            a, b = chain[i], chain[i + 1]
            drop = values[first + b] - values[first + a]
            if drop >= 0.0:
                break
            node[count], start[count], width[count] = j, a, b - a
            slope[count], decrease[count] = drop / (b - a), drop
            # Rounding must not change the order of a node's own segments.
            if i > 0:
                slope[count] = max(slope[count], slope[count - 1])
            count += 1
    return Hull(node[:count], start[:count], width[:count], slope[:count], decrease[:count])


def steepest_first(tables: BudgetTables, threads: int = 1) -> Hull:
    """Return the segments sorted by slope, those of one node in their order; O(N log N).

    Parameters
    ----------
    tables : BudgetTables
    threads : int, default 1
        More than 1: two halves are sorted, and arrays put in order, at the same time.

    Returns
    -------
    Hull
    """
    hull = hull_segments(tables.values, tables.ptr)
    threads = threads if len(hull.slope) >= THREADED_SEGMENTS else 1
    # A stable sort is several times slower. Two nodes that explain each other tie, so ties are
    # there, but few: they are put in order afterwards.
    if threads == 1:
        order = np.argsort(hull.slope)
        slope = hull.slope[order]
    else:
        order, slope = _halves_sorted(hull.slope)
    again = slope[1:] == slope[:-1]
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    segment = order[tied]
    order[tied] = segment[np.lexsort((segment, slope[tied]))]
    others = (hull.node, hull.start, hull.width, hull.drop)
    with ThreadPoolExecutor(min(threads, len(others))) as pool:
        node, start, width, drop = pool.map(lambda array: array[order], others)
    return Hull(node, start, width, slope, drop)


def _halves_sorted(values: Array) -> tuple[Array, Array]:
    """Return the order of increasing values, from two halves, and the values; ties in any order."""
    half = len(values) // 2
    order, increasing = np.empty(len(values), dtype=np.int64), np.empty(len(values))

    def sort(begin: int, end: int) -> tuple[Array, Array]:
        own = np.argsort(values[begin:end]) + begin
        return own, values[own]

    def merge(own: Array, mine: Array, others: Array, side: Literal["left", "right"]) -> None:
        place = np.searchsorted(others, mine, side) + np.arange(len(own))
        order[place], increasing[place] = own, mine

    with ThreadPoolExecutor(2) as pool:
        (first, left), (second, right) = pool.map(sort, (0, half), (half, len(values)))
        for _ in pool.map(merge, (first, second), (left, right), (right, left), ("left", "right")):
            pass
    return order, increasing


@dataclass(frozen=True, eq=False)
class BudgetDual:
    """The best multiplier of each budget K = 0, ..., and the bound it proves.

    Attributes
    ----------
    multiplier, bound : arrays of shape (K + 1,)
    tight : bool array of shape (K + 1,)
        Where a segment ends, so that no gap is left.
    """

    multiplier: Array
    bound: Array
    tight: Array

    @classmethod
    def beyond(
        cls, hull: Hull, first: int, spent: int, value: float, least: float, last: int
    ) -> BudgetDual:
        """Return it for the budgets spent, ..., last.

        Drops are added up from the start on, or from the end where less of them is left: a drop
        costs no digits of losses that are much smaller than it.

        Parameters
        ----------
        hull : Hull
            The steepest segments first.
        first, spent, value : int, int, float
            The segments that are taken, the units that they spent, and the loss then.
        least : float
            The loss once all segments are taken.
        last : int
        """
        ends = np.append(spent, spent + np.cumsum(hull.width[first:], dtype=np.int64))
        taken = np.append(0.0, np.cumsum(-hull.drop[first:]))
        left = np.append(np.cumsum(-hull.drop[first:][::-1])[::-1], 0.0)
        values = np.where(taken <= left, value - taken, least + left)
        # The current segment at K is the one that spends the K-th unit; beyond the last,
        # lambda is 0.
        K = np.arange(spent, last + 1)
        hand = np.maximum(np.searchsorted(ends, K, side="left") - 1, 0)
        slope = np.append(hull.slope[first:], 0.0)[hand]
        end = np.where(ends[hand] == K, hand, np.minimum(hand + 1, len(ends) - 1))
        bound = values[end] - slope * (ends[end] - K)
        return cls(multiplier=-slope, bound=bound, tight=np.isin(K, ends) | (ends[-1] < K))

    def certifies(self, objective: Array, tables: BudgetTables) -> Array:
        """Return at which budgets 0, ..., K the bound meets an objective up to rounding.

        Parameters
        ----------
        objective : array of shape (K + 1,)
        tables : BudgetTables
            Their losses say how well sums are known where they are equal; elsewhere a gap beside
            small losses may be as little.
        """
        slopes = np.finfo(float).eps * self.multiplier * len(objective)
        least = np.minimum.reduceat(tables.values, tables.ptr[:-1])
        known = np.abs(least).sum() + (objective - least.sum())
        rounding = np.where(self.tight, known, np.abs(objective))
        return np.asarray(objective - self.bound <= SPENDING_ROUNDING * rounding + slopes)


def above_least(tables: BudgetTables) -> tuple[Array, float]:
    """Return what each entry is above the least of its table, and the sum of the least ones.

    Sums of the former keep the digits in which choices differ, however large all losses of a
    table are.

    Parameters
    ----------
    tables : BudgetTables
        With N entries.

    Returns
    -------
    excess : array of shape (N,)
        Each >= 0.
    least : float
    """
    least = np.minimum.reduceat(tables.values, tables.ptr[:-1])
    return tables.values - np.repeat(least, np.diff(tables.ptr)), math.fsum(least.tolist())


def solve_dual(problem: BudgetTables, last: int) -> BudgetDual:
    """Maximise the dual for the budgets 0, ..., last, in O(N log N) for N table entries.

    Parameters
    ----------
    problem : BudgetTables
    last : int
        The largest budget.

    Returns
    -------
    BudgetDual
    """
    none = math.fsum(problem.values[problem.ptr[:-1]].tolist())
    return BudgetDual.beyond(steepest_first(problem), 0, 0, none, above_least(problem)[1], last)


@cache
def warm_up() -> None:
    """Compile."""
    solve_dual(BudgetTables([[1.0, 0.0]]), 1)
