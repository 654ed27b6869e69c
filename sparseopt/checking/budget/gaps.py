r"""Proof of the bounds of budgets whose duality gap is small, of however many tables.

At a multiplier :math:`\lambda` let :math:`k_j^*` be the smallest count that minimises
:math:`L_j(k) + \lambda k`. Any other count costs more by

.. math:: \delta_j(k) = L_j(k) + \lambda k - \min_i \left( L_j(i) + \lambda i \right) \ge 0,

and counts that keep the budget K have the loss

.. math:: Q(\lambda; K) + \sum_j \delta_j(k_j) + \lambda \Bigl( K - \sum_j k_j \Bigr) .

So V(K) lies g above Q if no deviations of less than g together keep the budget. They are looked
through by a dynamic program over the sums of deviations, of those nodes only that have one below
g. By convexity a deviation costs at least the distance of :math:`-\lambda` to the node's nearest
hull slope, which finds these nodes among sorted slopes; a count beyond a table's minimum is never
needed.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables

_OVERHEAD = 1000.0
"""What one pass over a program costs beside its additions, in additions."""


class HullSegments(NamedTuple):
    """The decreasing segments of the lower convex hulls of all tables, the steepest first.

    Attributes
    ----------
    node, start : int arrays of shape (S,)
        Whose segment it is, and from which count it goes.
    slope, width, drop : arrays of shape (S,)
        Negative, those of one node not decreasing; counts; the change of the loss.
    """

    node: Array
    start: Array
    slope: Array
    width: Array
    drop: Array


def prove_gaps(
    problem: BudgetTables,
    segments: HullSegments,
    budgets: Array,
    multiplier: Array,
    gap: Array,
    work: float,
) -> Array:
    r"""Return how far the optima lie above the dual bounds, as far as that is asked.

    Parameters
    ----------
    problem : BudgetTables
    segments : HullSegments
    budgets, multiplier, gap : arrays of shape (B,)
        Of each K in question :math:`\lambda`, and g > 0.
    work : float
        What may be spent, in additions.

    Returns
    -------
    array of shape (B,)
        :math:`\min(g, V(K) - Q(\lambda; K))`; NaN where the work was not enough.
    """
    least, spent = np.full(len(budgets), np.nan), 0.0
    taken = np.concatenate([[0.0], np.cumsum(segments.width)])
    order = np.lexsort((budgets, multiplier))
    starts = np.flatnonzero(np.diff(multiplier[order], prepend=np.nan) != 0.0)
    for same in np.split(order, starts[1:]):
        lam, most = float(multiplier[same[0]]), float(gap[same].max())
        # Slopes are rounded; what lies near the ends of the range makes no difference.
        reach = most + 1e-9 * (most + lam)
        first, last = np.searchsorted(segments.slope, [-lam - reach, -lam + reach])
        near, at = np.unique(segments.node[first:last], return_index=True)
        # The minimisers of all other nodes: whole segments that are steeper.
        spending = taken[first] - segments.start[first + at].sum()
        best, deviations = _cheap(problem, near, lam, most)
        spending += best
        entries = sum(len(cost) for _, cost in deviations)
        width = sum(int(count[-1] - count[0]) for count, _ in deviations)
        spent += entries * (float(width) + _OVERHEAD)
        if spent > work:
            break
        price, low = _cheapest_sums(deviations, most)
        unused = (budgets[same] - spending)[:, None] - (low + np.arange(len(price)))
        total = np.where(unused >= 0.0, price + lam * np.maximum(unused, 0.0), np.inf)
        least[same] = np.minimum(total.min(axis=1), gap[same])
    return least


def _cheap(
    problem: BudgetTables, nodes: Array, lam: float, most: float
) -> tuple[int, list[tuple[Array, Array]]]:
    """Return the sum of the best counts of nodes, and what deviates for less than `most`.

    For each node that can these are deviations from its best count, in order, and their prices.
    """
    first, last = problem.ptr[nodes], problem.ptr[nodes + 1]
    best, deviations = 0, []
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        table = problem.values[begin:end]
        price = table[: int(table.argmin()) + 1]
        price = price + lam * np.arange(len(price))
        least = int(price.argmin())
        price -= price[least]
        (cheap,) = (price < most).nonzero()
        best += least
        if len(cheap) > 1:
            deviations.append((cheap - least, price[cheap]))
    return best, deviations


def _cheapest_sums(deviations: list[tuple[Array, Array]], most: float) -> tuple[Array, int]:
    """Return the smallest price of each sum of deviations, and the first sum.

    Prices from `most` on are infinite.
    """
    price, low = np.zeros(1), 0
    for count, cost in deviations:
        down, up = int(count[0]), int(count[-1])
        total = np.full(len(price) + up - down, np.inf)
        for v, c in zip(count.tolist(), cost.tolist(), strict=True):
            here = total[v - down : v - down + len(price)]
            np.minimum(here, price + c, out=here)
        total[total >= most] = np.inf
        inside = np.flatnonzero(total < np.inf)
        price, low = total[inside[0] : inside[-1] + 1], low + down + int(inside[0])
    return price, low
