r"""Exact solutions of a budget problem for every K, compiled.

The decreasing segments of all lower hulls, steepest first, spend the budget one after another. At
the end of each segment the dual has no gap. Within a segment of slope :math:`-\lambda` that
spends w > 1 units at once, let :math:`k_j` be the counts before it and

.. math:: \delta_j(k) = L_j(k) - L_j(k_j) + \lambda (k - k_j) \ge 0                  \tag{1}

the price of a deviation of node j. Counts that sum to K - s cost the dual bound plus

.. math:: \sum_j \delta_j + \lambda s,                                               \tag{2}

so the cheapest deviations that sum to t = K - (spent before the segment) are wanted, for
t = 1, ..., w - 1. With the nodes of a core C, one after another,

.. math:: P_{C \cup j}(s) = \min_v P_C(s - v) + \delta_j(k_j + v) .                  \tag{3}

A node deviates at no less than the distance of its nearest hull slope to :math:`-\lambda`. Nodes
therefore enter the core in the order of these distances, until what (2) has found costs no more
than the next one would: then no other node can be part of anything better.

Sums of deviations need not leave :math:`\pm 3 D^2` for tables of up to D + 1 entries: by Steinitz's
lemma more than 3 D deviations, unused units among them, have a part that sums to zero, and leaving
that part out costs nothing.

Source: SPICA, problem (2.5) and the dual (3.1); the core is that of Pisinger (1995), A minimal
algorithm for the multiple-choice knapsack problem.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place, compiled_inside
from ..settings import FREE
from .hull import Hull

DONE, MORE, CHANGES, ROOMS, SUMS = range(5)
"""What :func:`spend` returns: finished; to be called again; or what needs more room before that:
the changes, the nodes of a core, or the width of its sums."""

SEGMENT, SPENT, WRITTEN, PAST, ENTERED, LOW, HIGH, CUT, WIDEST, STATES = range(10)
"""Places in ``Core.state``: the next segment, the units spent before it, changes written,
deviations to be undone at the next budget; of the core in hand the number of nodes, the range of
sums that are cheap enough, whether sums were cut off; the width beyond which none is needed."""

NODE, COUNT = range(2)
"""Rows of changes: whose count changes, and to what."""


@by_address
class Core(NamedTuple):
    """The memory of the small dynamic programs, for sums from -H to H.

    Attributes
    ----------
    price, spare : arrays of shape (2 H + 1,)
        P of (3), and scratch.
    choice : int16 array of shape (rooms, 2 H + 1)
        For each node of the core, its deviation v in (3).
    entered : int array of shape (rooms,)
        The nodes, in the order in which they entered.
    stamp, counts : int arrays of shape (J,)
        The last segment for which a node entered; the counts before the current segment.
    past : int array of shape (2, rooms + 1)
        Changes that undo the deviations at the last budget.
    state : int array of shape (STATES,)
    """

    price: Array
    spare: Array
    choice: Array
    entered: Array
    stamp: Array
    counts: Array
    past: Array
    state: Array


@by_address
class BudgetAnswers(NamedTuple):
    """What is found for each budget, 0 to `last`.

    Attributes
    ----------
    objective, multiplier, bound : arrays of shape (last + 1,)
        The optimum, the best multiplier and the dual bound.
    certified : bool array of shape (last + 1,)
        Whether the deviations cost nothing, so that the dual has no gap.
    ptr : int array of shape (last + 2,)
    changes : int array of shape (2, room)
        As in CountChanges: those of budget K are ``changes[:, ptr[K]:ptr[K + 1]]``.
    """

    objective: Array
    multiplier: Array
    bound: Array
    certified: Array
    ptr: Array
    changes: Array


def core_memory(J: int, D: int, rooms: int, H: int) -> Core:
    """Return the memory for J tables of up to D + 1 entries, and cores of `rooms` nodes.

    Parameters
    ----------
    J : int
        Number of tables.
    D : int
        Largest number of neighbours.
    rooms : int
        Number of nodes that a core may have.
    H : int
        Sums from -H to H; no more than can ever be needed.

    Returns
    -------
    Core
    """
    widest = 3 * D * D + D
    H = max(1, min(H, widest))
    state = np.zeros(STATES, dtype=np.int64)
    state[WIDEST] = widest
    return Core(
        price=np.empty(2 * H + 1),
        spare=np.empty(2 * H + 1),
        choice=np.empty((rooms, 2 * H + 1), dtype=np.int16),
        entered=np.empty(rooms, dtype=np.int64),
        stamp=np.full(J, -1, dtype=np.int64),
        counts=np.zeros(J, dtype=np.int64),
        past=np.empty((2, rooms + 1), dtype=np.int64),
        state=state,
    )


@compiled_in_place
def spend(
    core: Core, hull: Hull, values: Array, ptr: Array, answer: BudgetAnswers, last: int, quota: int
) -> int:
    """Spend the budget up to `last`, or for about `quota` segments and nodes of cores.

    Parameters
    ----------
    core : Core
    hull : Hull
        The steepest segments first.
    values, ptr
        The tables.
    answer : BudgetAnswers, changed
        ``objective[0]`` is given.
    last, quota : int

    Returns
    -------
    int
        DONE, MORE, CHANGES, ROOMS or SUMS.
    """
    state, S = core.state, len(hull.slope)
    left = quota
    while left > 0:
        e, K = state[SEGMENT], state[SPENT]
        if last <= K:
            return DONE
        state[ENTERED] = 0
        inside = 0 if e == S else min(hull.width[e] - 1, last - K)
        free = 0.0 if e == S else -FREE * hull.slope[e]
        if inside > 0:
            lacking: int = _close_gap(core, hull, values, ptr, inside, free)
            if lacking != DONE:
                _forget(core)
                return lacking
        changes = state[PAST] + (inside + 1) * (2 * state[ENTERED] + 2)
        if state[WRITTEN] + changes > answer.changes.shape[1]:
            _forget(core)
            return CHANGES
        if e == S:
            # Nothing decreases any more: the rest of the budget is not spent.
            _undo(core, answer)
            for rest in range(K + 1, last + 1):
                answer.objective[rest] = answer.bound[rest] = answer.objective[K]
                answer.certified[rest], answer.multiplier[rest] = True, 0.0
                answer.ptr[rest + 1] = state[WRITTEN]
            state[SPENT] = last
            return DONE
        for t in range(1, inside + 1):
            _deviate(core, hull, values, ptr, answer, t, free)
        if K + hull.width[e] <= last:
            _take(core, hull, answer)
        state[SEGMENT], state[SPENT] = e + 1, min(K + hull.width[e], last)
        left -= 1 + state[ENTERED]
    return MORE


@compiled_inside
def _close_gap(core: Core, hull: Hull, values: Array, ptr: Array, inside: int, free: float) -> int:
    """Let nodes enter until (2) is the smallest for t = 1, ..., `inside`; DONE, ROOMS or SUMS."""
    state = core.state
    e = state[SEGMENT]
    lam = -hull.slope[e]
    state[CUT], state[LOW], state[HIGH] = 0, 0, 0
    core.price[len(core.price) // 2] = 0.0
    before, after, i, distance = e - 1, e + 1, hull.node[e], 0.0
    worst = np.inf
    while distance < worst and worst > free:
        if core.stamp[i] != e:
            if state[ENTERED] == len(core.entered):
                return ROOMS
            _enter(core, values, ptr, i, lam, worst)
            core.stamp[i] = e
            worst = 0.0
            for t in range(1, inside + 1):
                worst = max(worst, _cheapest(core, t, lam)[0])
        # The nearest slopes of other segments, on both sides of this one.
        distance = np.inf
        if before >= 0:
            distance = -lam - hull.slope[before]
        if after < len(hull.slope) and hull.slope[after] + lam < distance:
            distance, i = hull.slope[after] + lam, hull.node[after]
            after += 1
        elif before >= 0:
            i = hull.node[before]
            before -= 1
    return SUMS if state[CUT] == 1 else DONE


@compiled_inside
def _enter(core: Core, values: Array, ptr: Array, j: int, lam: float, cap: float) -> None:
    """Let node j into the core, with deviations below the price `cap`: (3), in O(H D)."""
    price, new, state, H = core.price, core.spare, core.state, len(core.price) // 2
    low, high, k0, first = state[LOW], state[HIGH], core.counts[j], ptr[j]
    base, choice = values[first + k0], core.choice[state[ENTERED]]
    # The range in which the cheapest sums stay; all else is too dear.
    down, up = 0, 0
    for k in range(ptr[j + 1] - first):
        if values[first + k] - base + lam * (k - k0) < cap:
            down, up = min(down, k - k0), max(up, k - k0)
    new_low, new_high = max(low + down, -H), min(high + up, H)
    if (low + down < -H or high + up > H) and state[WIDEST] > H:
        state[CUT] = 1
    for s in range(new_low, new_high + 1):
        new[H + s] = price[H + s] if low <= s <= high else np.inf
        choice[H + s] = 0
    for v in range(down, up + 1):
        delta = values[first + k0 + v] - base + lam * v
        if v == 0 or delta >= cap:
            continue
        delta = max(delta, 0.0)
        for s in range(max(low, new_low - v), min(high, new_high - v) + 1):
            total = price[H + s] + delta
            if total < new[H + s + v]:
                new[H + s + v], choice[H + s + v] = total, v
    for s in range(new_low, new_high + 1):
        price[H + s] = new[H + s]
    while new_low < 0 and price[H + new_low] >= cap:
        new_low += 1
    while new_high > 0 and price[H + new_high] >= cap:
        new_high -= 1
    core.entered[state[ENTERED]] = j
    state[ENTERED] += 1
    state[LOW], state[HIGH] = new_low, new_high


@compiled_inside
def _cheapest(core: Core, t: int, lam: float) -> tuple[float, int]:
    """Return the smallest (2) for at most t units, and the sum of deviations that attains it."""
    H = len(core.price) // 2
    best, at = lam * t, 0
    for s in range(core.state[LOW], min(t, core.state[HIGH]) + 1):
        total = core.price[H + s] + lam * (t - s)
        if total < best:
            best, at = total, s
    return best, at


@compiled_inside
def _deviate(
    core: Core, hull: Hull, values: Array, ptr: Array, answer: BudgetAnswers, t: int, free: float
) -> None:
    """Write the answer t units into the segment, the choices of (3) read back."""
    state, counts, H = core.state, core.counts, len(core.price) // 2
    K, lam = state[SPENT], -hull.slope[state[SEGMENT]]
    price, s = _cheapest(core, t, lam)
    _undo(core, answer)
    change = 0.0
    for a in range(state[ENTERED] - 1, -1, -1):
        v = core.choice[a, H + s]
        if v != 0:
            i = core.entered[a]
            change += values[ptr[i] + counts[i] + v] - values[ptr[i] + counts[i]]
            core.past[NODE, state[PAST]], core.past[COUNT, state[PAST]] = i, counts[i]
            state[PAST] += 1
            _change(core, answer, i, counts[i] + v)
            s -= v
    answer.objective[K + t] = answer.objective[K] + change
    answer.bound[K + t], answer.multiplier[K + t] = answer.objective[K] - lam * t, lam
    answer.certified[K + t] = price <= free
    answer.ptr[K + t + 1] = state[WRITTEN]


@compiled_inside
def _take(core: Core, hull: Hull, answer: BudgetAnswers) -> None:
    """Write the answer at the segment's end, where the dual has no gap."""
    e, K = core.state[SEGMENT], core.state[SPENT]
    j, end, count = hull.node[e], K + hull.width[e], hull.start[e] + hull.width[e]
    # The hull has the tables' differences: they are not read again, far away in memory.
    answer.objective[end] = answer.bound[end] = answer.objective[K] + hull.drop[e]
    answer.certified[end], answer.multiplier[end] = True, -hull.slope[e]
    _undo(core, answer)
    _change(core, answer, j, count)
    core.counts[j] = count
    answer.ptr[end + 1] = core.state[WRITTEN]


@compiled_inside
def _change(core: Core, answer: BudgetAnswers, node: int, count: int) -> None:
    """Write one change."""
    at = core.state[WRITTEN]
    answer.changes[NODE, at], answer.changes[COUNT, at] = node, count
    core.state[WRITTEN] = at + 1


@compiled_inside
def _undo(core: Core, answer: BudgetAnswers) -> None:
    """Write the old counts of what deviated at the last budget."""
    for a in range(core.state[PAST]):
        _change(core, answer, core.past[NODE, a], core.past[COUNT, a])
    core.state[PAST] = 0


@compiled_inside
def _forget(core: Core) -> None:
    """Let the nodes of an attempt that is given up enter again."""
    for a in range(core.state[ENTERED]):
        core.stamp[core.entered[a]] = -1
