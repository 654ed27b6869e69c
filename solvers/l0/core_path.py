r"""Exact solutions of a budget problem for every K, compiled.

The decreasing segments of all lower hulls, steepest first, spend the budget one after another. At
the end of each segment the dual has no gap. Within a segment of slope :math:`-\lambda` that
spends w > 1 units at once, let :math:`k_j` be the counts before it and

.. math:: \delta_j(k) = L_j(k) - L_j(k_j) + \lambda (k - k_j) \ge 0

the price of a deviation of node j. Counts that sum to K - s cost the dual bound plus
:math:`\sum_j \delta_j + \lambda s`, so the cheapest deviations that sum to
t = K - (spent before the segment) are wanted, for t = 1, ..., w - 1. A node deviates at no less
than the distance of its nearest hull slope to :math:`-\lambda`. Nodes therefore enter a small
dynamic program in the order of these distances, until what it has found costs no more than the next
one would: then no other node can be part of anything better.

Sums of deviations need not leave :math:`\pm 3 D^2` for tables of up to D + 1 entries: by Steinitz's
lemma more than 3 D deviations, unused units among them, have a part that sums to zero, and leaving
that part out costs nothing.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled

__all__ = [
    "CHANGES",
    "DONE",
    "MORE",
    "ROOMS",
    "SUMS",
    "Core",
    "Hull",
    "core_memory",
    "hull_segments",
    "spend",
]

DONE, MORE, CHANGES, ROOMS, SUMS = range(5)
_FREE = 1e-13
"""Prices relative to the largest slope that are rounding errors."""


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
    """Return the segments of the lower convex hulls, in linear time."""
    J, N = len(ptr) - 1, len(values)
    node, start, width = np.empty(N, np.int32), np.empty(N, np.int32), np.empty(N, np.int32)
    slope, decrease = np.empty(N), np.empty(N)
    chain = np.empty(np.max(ptr[1:] - ptr[:-1]), np.int64)
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


class Core(NamedTuple):
    """The memory of the small dynamic programs.

    Attributes
    ----------
    price, next_price : arrays of shape (2 H + 1,)
        The cheapest way to each sum of deviations from -H to H.
    choice : int16 array of shape (rooms, 2 H + 1)
        For each node that entered, its deviation in the cheapest way.
    entered : int array of shape (rooms,)
        The nodes, in the order in which they entered.
    stamp : int array of shape (J,)
        The last segment for which a node entered.
    counts : int array of shape (J,)
        Counts before the segment in hand.
    past : int array of shape (2, rooms + 1)
        Nodes and old counts of the deviations at the last budget, to be undone.
    state : int array of shape (6,)
        Next segment, units spent before it, changes written, deviations to be undone, whether
        sums were cut off at H, and the H beyond which none is needed.
    """

    price: Array
    next_price: Array
    choice: Array
    entered: Array
    stamp: Array
    counts: Array
    past: Array
    state: Array


def core_memory(J: int, D: int, rooms: int, H: int) -> Core:
    """Return the memory for J tables of up to D + 1 entries, and programs of `rooms` nodes."""
    limit = 3 * D * D + D
    H = max(1, min(H, limit))
    return Core(
        price=np.empty(2 * H + 1),
        next_price=np.empty(2 * H + 1),
        choice=np.empty((rooms, 2 * H + 1), dtype=np.int16),
        entered=np.empty(rooms, dtype=np.int64),
        stamp=np.full(J, -1, dtype=np.int64),
        counts=np.zeros(J, dtype=np.int32),
        past=np.empty((2, rooms + 1), dtype=np.int64),
        state=np.array([0, 0, 0, 0, 0, limit], dtype=np.int64),
    )


@compiled
def _enter(
    core: Core,
    values: Array,
    ptr: Array,
    j: int,
    lam: float,
    cap: float,
    low: int,
    high: int,
    i: int,
) -> tuple[int, int]:
    """Let node j deviate, the i-th of the program, at prices below `cap`; return the range."""
    price, new, H = core.price, core.next_price, len(core.price) // 2
    k0 = core.counts[j]
    base = values[ptr[j] + k0]
    d = ptr[j + 1] - ptr[j] - 1
    # The range in which the cheapest sums stay; all else is too dear.
    down, up = 0, 0
    for k in range(d + 1):
        if values[ptr[j] + k] - base + lam * (k - k0) < cap:
            down, up = min(down, k - k0), max(up, k - k0)
    new_low, new_high = max(low + down, -H), min(high + up, H)
    if (low + down < -H or high + up > H) and core.state[5] > H:
        core.state[4] = 1
    for s in range(new_low, new_high + 1):
        new[H + s] = price[H + s] if low <= s <= high else np.inf
        core.choice[i, H + s] = 0
    for v in range(down, up + 1):
        delta = values[ptr[j] + k0 + v] - base + lam * v
        if v == 0 or delta >= cap:
            continue
        delta = max(delta, 0.0)
        for s in range(max(low, new_low - v), min(high, new_high - v) + 1):
            total = price[H + s] + delta
            if total < new[H + s + v]:
                new[H + s + v] = total
                core.choice[i, H + s + v] = v
    for s in range(new_low, new_high + 1):
        price[H + s] = new[H + s]
    while new_low < 0 and price[H + new_low] >= cap:
        new_low += 1
    while new_high > 0 and price[H + new_high] >= cap:
        new_high -= 1
    core.entered[i] = j
    return new_low, new_high


@compiled
def _cheapest(core: Core, t: int, lam: float, low: int, high: int) -> tuple[float, int]:
    """Return the price of spending at most t units, and the sum of deviations that attains it."""
    H = len(core.price) // 2
    best, at = lam * t, 0
    for s in range(low, min(t, high) + 1):
        total = core.price[H + s] + lam * (t - s)
        if total < best:
            best, at = total, s
    return best, at


@compiled
def spend(
    core: Core,
    hull: Hull,
    values: Array,
    ptr: Array,
    last: int,
    quota: int,
    objective: Array,
    multiplier: Array,
    bound: Array,
    certified: Array,
    change_ptr: Array,
    change_node: Array,
    change_count: Array,
) -> int:
    """Spend the budget up to `last`, or for about `quota` steps.

    Parameters
    ----------
    core : Core
    hull : Hull
        The steepest segments first.
    values, ptr
        The tables.
    last, quota : int
    objective, multiplier, bound : arrays of shape (last + 1,), changed
        The optimum, the best multiplier and the dual bound of each budget; ``objective[0]`` is
        given.
    certified : bool array of shape (last + 1,), changed
        Whether the deviations cost nothing, so that the dual has no gap.
    change_ptr, change_node, change_count : int arrays, changed
        As in CountChanges.

    Returns
    -------
    int
        DONE, MORE (call again), or what needs more room before the next call: CHANGES, ROOMS (nodes
        of a program) or SUMS (its width).
    """
    state, counts = core.state, core.counts
    state[4] = 0
    S = len(hull.slope)
    H = len(core.price) // 2
    free = _FREE * (-hull.slope[0] if S else 0.0)
    left = quota
    while left > 0:
        e, K0 = state[0], state[1]
        if last <= K0:
            return DONE
        if e == S:
            # Nothing decreases any more: the rest of the budget is not spent.
            if state[2] + state[3] > len(change_node):
                return CHANGES
            for K in range(K0 + 1, last + 1):
                objective[K] = bound[K] = objective[K0]
                certified[K] = True
                multiplier[K] = 0.0
                state[2] = _undo(core, change_node, change_count, state[2])
                change_ptr[K + 1] = state[2]
            state[1] = last
            return DONE
        j, w, lam = hull.node[e], hull.width[e], -hull.slope[e]
        stop = min(w - 1, last - K0)
        entered = 0
        if stop >= 1:
            core.price[H] = 0.0
            low, high = _enter(core, values, ptr, j, lam, np.inf, 0, 0, 0)
            entered, core.stamp[j] = 1, e
            worst = 0.0
            for t in range(1, stop + 1):
                worst = max(worst, _cheapest(core, t, lam, low, high)[0])
            before, after, i = e - 1, e + 1, j
            while worst > free:
                gap = np.inf
                if before >= 0:
                    gap = -lam - hull.slope[before]
                if after < S and hull.slope[after] + lam < gap:
                    gap = hull.slope[after] + lam
                    i = hull.node[after]
                    after += 1
                elif before >= 0:
                    i = hull.node[before]
                    before -= 1
                if gap >= worst:
                    break
                if core.stamp[i] == e:
                    continue
                if entered == len(core.entered):
                    _forget(core, entered)
                    return ROOMS
                low, high = _enter(core, values, ptr, i, lam, worst, low, high, entered)
                core.stamp[i] = e
                entered += 1
                worst = 0.0
                for t in range(1, stop + 1):
                    worst = max(worst, _cheapest(core, t, lam, low, high)[0])
                left -= 1
            if state[4] == 1:
                _forget(core, entered)
                return SUMS
        if state[2] + state[3] + (stop + 1) * (2 * entered + 2) > len(change_node):
            _forget(core, entered)
            return CHANGES
        for t in range(1, stop + 1):
            K = K0 + t
            price, s = _cheapest(core, t, lam, low, high)
            certified[K] = price <= free
            bound[K] = objective[K0] - lam * t
            multiplier[K] = lam
            place = _undo(core, change_node, change_count, state[2])
            change = 0.0
            for a in range(entered - 1, -1, -1):
                v = core.choice[a, H + s]
                if v != 0:
                    i = core.entered[a]
                    change_node[place], change_count[place] = i, counts[i] + v
                    place += 1
                    core.past[0, state[3]], core.past[1, state[3]] = i, counts[i]
                    state[3] += 1
                    change += values[ptr[i] + counts[i] + v] - values[ptr[i] + counts[i]]
                    s -= v
            objective[K] = objective[K0] + change
            state[2] = place
            change_ptr[K + 1] = place
        K = K0 + w
        if last >= K:
            # The hull knows what the tables have: they are not read again, far away in memory.
            objective[K] = bound[K] = objective[K0] + hull.drop[e]
            certified[K] = True
            multiplier[K] = lam
            counts[j] = hull.start[e] + w
            place = _undo(core, change_node, change_count, state[2])
            change_node[place], change_count[place] = j, hull.start[e] + w
            state[2] = place + 1
            change_ptr[K + 1] = place + 1
        state[0], state[1] = e + 1, min(K, last)
        left -= 1
    return MORE


@compiled
def _forget(core: Core, entered: int) -> None:
    """Let the nodes of an attempt that is given up enter again."""
    for a in range(entered):
        core.stamp[core.entered[a]] = -1


@compiled
def _undo(core: Core, change_node: Array, change_count: Array, place: int) -> int:
    """Write the old counts of what deviated at the last budget; return the next free place."""
    for a in range(core.state[3]):
        change_node[place], change_count[place] = core.past[0, a], core.past[1, a]
        place += 1
    core.state[3] = 0
    return place
