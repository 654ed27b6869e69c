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

from sparseopt.checking.budget.sums import SECOND, blurred, dual_sums
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.problems.whole_numbers import whole_numbers

_OVERHEAD = 1000.0
"""What one pass over a program costs beside its additions, in additions."""
_ROUNDED = 1e-13
"""Rounding errors of a gap, relative to it, of which nothing may be left in what is allowed."""


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


def excesses(
    problem: BudgetTables,
    segments: HullSegments,
    budgets: Array,
    multiplier: Array,
    bound: Array,
    dual: Array,
    allowed: Array,
    work: float,
) -> Array:
    r"""Return how far bounds lie above the optima.

    Parameters
    ----------
    problem : BudgetTables
    segments : HullSegments
    budgets, multiplier : arrays of shape (B,)
        Of each K in question :math:`\lambda`.
    bound, dual : arrays of shape (B,)
        What is stated, and :math:`Q(\lambda; K)` below it.
    allowed : array of shape (B,)
        Where rounding may be a part of this, whole numbers are added up.
    work : float
        What may be spent, in additions.

    Returns
    -------
    array of shape (B,)
        Not negative; NaN where the work was not enough.
    """
    excess, spent = np.full(len(budgets), np.nan), 0.0
    taken = np.concatenate([[0.0], np.cumsum(segments.width)])
    unsure = blurred(problem, budgets, multiplier, allowed)
    order = np.lexsort((budgets, multiplier))
    starts = np.flatnonzero(np.diff(multiplier[order], prepend=np.nan) != 0.0)
    for same in np.split(order, starts[1:]):
        lam, gap = float(multiplier[same[0]]), bound[same] - dual[same]
        most = float(gap.max())
        # Slopes are rounded; what lies near the ends of the range makes no difference.
        reach = most + 1e-9 * (most + lam)
        first, last = np.searchsorted(segments.slope, [-lam - reach, -lam + reach])
        near, at = np.unique(segments.node[first:last], return_index=True)
        # The minimisers of all other nodes: whole segments that are steeper.
        spending = taken[first] - segments.start[first + at].sum()
        numbers = _Numbers(gap, problem.values, lam, 1.0)
        if _ROUNDED * most > float(allowed[same].min()) or unsure[same].any():
            numbers = _in_whole_numbers(problem, budgets[same], lam, bound[same])
        best, deviations = _cheap(problem, near, numbers)
        spending += best
        entries = sum(len(cost) for _, cost in deviations)
        width = sum(int(count[-1] - count[0]) for count, _ in deviations)
        spent += entries * (float(width) + _OVERHEAD)
        if spent > work:
            break
        excess[same] = _above(numbers, deviations, budgets[same] - int(spending))
    return excess


class _Numbers(NamedTuple):
    """What a program adds up: floating point, or whole numbers of a small unit.

    Attributes
    ----------
    gap : array of shape (B,)
    losses : array of shape (N,)
    lam : float or int
    unit : float or int
        How many of them are 1.
    """

    gap: Array
    losses: Array
    lam: float
    unit: float

    def prices(self, begin: int, end: int) -> Array:
        """Return what each count of a table costs more than the best."""
        table = self.losses[begin:end]
        price = table + self.lam * np.arange(end - begin).astype(table.dtype)
        return np.asarray(price - price.min())


def _in_whole_numbers(problem: BudgetTables, budgets: Array, lam: float, bound: Array) -> _Numbers:
    losses = len(problem.values)
    spend(2.0 * SECOND * losses)
    numbers, power = whole_numbers(np.concatenate([problem.values, [lam], bound]))
    return _Numbers(
        numbers[losses + 1 :] - dual_sums(problem, numbers[: losses + 1], budgets),
        numbers[:losses],
        numbers[losses],
        2**-power,
    )


def _cheap(
    problem: BudgetTables, nodes: Array, numbers: _Numbers
) -> tuple[int, list[tuple[Array, Array]]]:
    """Return the sum of the best counts of nodes, and what deviates for less than the gap.

    For each node that can these are deviations from its best count, in order, and their prices.
    """
    first, last = problem.ptr[nodes], problem.ptr[nodes + 1]
    best, deviations, most = 0, [], numbers.gap.max()
    for begin, end in zip(first.tolist(), last.tolist(), strict=True):
        price = numbers.prices(begin, begin + int(problem.values[begin:end].argmin()) + 1)
        least = int(price.argmin())
        (cheap,) = (price < most).nonzero()
        best += least
        if len(cheap) > 1:
            deviations.append((cheap - least, price[cheap]))
    return best, deviations


def _above(numbers: _Numbers, deviations: list[tuple[Array, Array]], left: Array) -> list[float]:
    """Return by how much each gap exceeds what it costs at least to keep its budget.

    Parameters
    ----------
    numbers : _Numbers
    deviations : list of (counts, prices)
    left : int array of shape (B,)
        What the best counts leave of each budget; negative where they spend too much.
    """
    most = numbers.gap.max()
    price, low = _cheapest_sums(deviations, most)
    unused = left[:, None] - (low + np.arange(len(price)))
    total = price + numbers.lam * np.maximum(unused, 0).astype(numbers.gap.dtype)
    least = np.where(unused >= 0, total, most).min(axis=1)
    return [each / numbers.unit for each in np.maximum(numbers.gap - least, 0).tolist()]


def _cheapest_sums(deviations: list[tuple[Array, Array]], most: float) -> tuple[Array, int]:
    """Return the smallest price of each sum of deviations, and the first sum.

    Prices from `most` on are equal to it.
    """
    price, low = np.zeros(1, deviations[0][1].dtype if deviations else float), 0
    for count, cost in deviations:
        down, up = int(count[0]), int(count[-1])
        total = np.full(len(price) + up - down, most, price.dtype)
        for v, c in zip(count.tolist(), cost.tolist(), strict=True):
            here = total[v - down : v - down + len(price)]
            np.minimum(here, price + c, out=here)
        inside = np.flatnonzero(total < most)
        price, low = total[inside[0] : inside[-1] + 1], low + down + int(inside[0])
    return price, low
