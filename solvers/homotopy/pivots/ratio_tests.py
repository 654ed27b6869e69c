"""The two ratio tests of a pivot: which coordinate is the next to leave, and which one blocks it.

Both are Harris tests with a perturbation in place of bounds that are given up: of all coordinates
that are tied within the tolerances, the perturbation chooses. The ratios of all coordinates are
computed without a branch, in vector registers, and the few that matter are looked at again.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside
from ..settings import RAY_NOISE, SAME_RATIO, SMALLEST_PIVOT, STABLE_PIVOT, STILL, TIE
from .tableau import (
    DELTA,
    DOUBT,
    DUAL_TOLERANCE,
    LAM,
    PRIMAL_TOLERANCE,
    SLOWEST_MULTIPLIER,
    SLOWEST_VALUE,
    Tableau,
)


@compiled_inside
def _smallest(values: Array, count: int) -> float:
    """Return the smallest of the first `count` values, inf where there is none."""
    a, b, c, d = np.inf, np.inf, np.inf, np.inf
    whole = count - count % 4
    for i in range(0, whole, 4):
        a = values[i] if values[i] < a else a
        b = values[i + 1] if values[i + 1] < b else b
        c = values[i + 2] if values[i + 2] < c else c
        d = values[i + 3] if values[i + 3] < d else d
    for i in range(whole, count):
        a = values[i] if values[i] < a else a
    a = b if b < a else a
    c = d if d < c else c
    return c if c < a else a


@_smallest.in_numpy
def _(values: Array, count: int) -> float:
    return float(np.fmin.reduce(values[:count], initial=np.inf))


@compiled_inside
def _largest(values: Array) -> float:
    """Return the largest absolute value."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = len(values) - len(values) % 4
    for i in range(0, whole, 4):
        e, f, g, h = abs(values[i]), abs(values[i + 1]), abs(values[i + 2]), abs(values[i + 3])
        a = e if e > a else a
        b = f if f > b else b
        c = g if g > c else c
        d = h if h > d else d
    for i in range(whole, len(values)):
        e = abs(values[i])
        a = e if e > a else a
    a = b if b > a else a
    c = d if d > c else c
    return c if c > a else a


@_largest.in_numpy
def _(values: Array) -> float:
    return float(np.fmax.reduce(np.abs(values), initial=0.0))


# ---- the event: which slack is used up first as lam falls


@compiled_inside
def next_event(tableau: Tableau) -> tuple[int, int, float, float]:
    """Return (coordinate, side, lam, delta) of the next event; coordinate -1 where there is none.

    (3.13): lam* is the largest -(constant / rate) of a slack that falls with lam, over both limits
    (`side` -1 the lower, 1 the upper) of all coordinates. Two are tied where they differ by less
    than the tolerances; the one with the larger symbolic part delta comes first then.

    Parameters
    ----------
    tableau : Tableau
        ``work[0]`` is overwritten.

    Returns
    -------
    coordinate : int
        -1 where no slack falls with lam.
    side : int
        -1 for the lower limit, 1 for the upper one.
    lam, delta : float
        The position of the event.
    """
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position, fall = tableau.position, tableau.work[0]
    lam, delta = position[LAM], position[DELTA]
    n = len(codes)
    _falls(codes, w, low, high, position, 1.0, fall)
    reach = _smallest(fall, n)
    if reach == np.inf:
        return -1, 0, 0.0, 0.0
    reach += TIE * abs(lam - reach) + SAME_RATIO * abs(lam)
    _falls(codes, w, low, high, position, 0.0, fall)
    best, best_side, best_lam, best_order = -1, 0, 0.0, -np.inf
    for i in range(n):
        if fall[i] > reach:
            continue
        slowest = position[SLOWEST_VALUE + (codes[i] & 1)]
        for upper in range(2):
            limit = high if upper else low
            sign = 1.0 - 2.0 * upper
            rate = sign * (w[1, i] - limit[1, i])
            slack = max(sign * (w[0, i] - limit[0, i]) + lam * rate, 0.0)
            still = slowest + STILL * abs(limit[1, i])
            if rate > still and slack <= (1.0 + SAME_RATIO) * reach * rate:
                order = -sign * (w[2, i] - limit[2, i]) / rate
                if slack <= position[PRIMAL_TOLERANCE + (codes[i] & 1)]:
                    order = min(order, delta)
                if order > best_order:
                    best, best_side, best_order = i, 2 * upper - 1, order
                    # not lam - slack / rate, which rounds like lam, however far the event is
                    here = sign * (limit[0, i] - w[0, i]) / rate
                    best_lam = here if slack > 0.0 else lam
    return best, best_side, best_lam, best_order


@compiled_inside
def _falls(
    codes: Array, w: Array, low: Array, high: Array, position: Array, part: float, fall: Array
) -> None:
    """Set `fall` to how far lam falls until each slack and `part` of its tolerance are used up.

    One output only: with two, the compiler cannot show that they do not overlap the inputs,
    and uses no vector registers.
    """
    lam = position[LAM]
    primal, dual = part * position[PRIMAL_TOLERANCE], part * position[DUAL_TOLERANCE]
    of_value, of_multiplier = position[SLOWEST_VALUE], position[SLOWEST_MULTIPLIER]
    value, rate = w[0], w[1]
    low_0, low_1, high_0, high_1 = low[0], low[1], high[0], high[1]
    for i in range(len(codes)):
        room = dual if codes[i] & 1 else primal
        slowest = of_multiplier if codes[i] & 1 else of_value
        r = rate[i] - low_1[i]
        slack = max(value[i] - low_0[i] + lam * r, 0.0)
        under = (slack + room) / r if r > slowest + STILL * abs(low_1[i]) else np.inf
        r = high_1[i] - rate[i]
        slack = max(high_0[i] - value[i] + lam * r, 0.0)
        over = (slack + room) / r if r > slowest + STILL * abs(high_1[i]) else np.inf
        fall[i] = min(under, over)


@_falls.in_numpy
def _(
    codes: Array, w: Array, low: Array, high: Array, position: Array, part: float, fall: Array
) -> None:
    kind = codes & 1
    room = part * position[PRIMAL_TOLERANCE : PRIMAL_TOLERANCE + 2][kind]
    slowest = position[SLOWEST_VALUE : SLOWEST_VALUE + 2][kind]
    fall[: len(codes)] = np.inf
    for limit, sign in ((low, 1.0), (high, -1.0)):
        rate = sign * (w[1] - limit[1])
        slack = np.fmax(sign * (w[0] - limit[0]) + position[LAM] * rate, 0.0)
        falls = rate > slowest + STILL * np.abs(limit[1])
        np.minimum(fall, np.where(falls, (slack + room) / rate, np.inf), out=fall)


# ---- the block: which slack is used up first on the way along a ray


@compiled_inside
def first_block(tableau: Tableau, ray: Array, side: int, mover: int) -> tuple[int, int]:
    """Return (coordinate, side) of the first block of a step along side * ray; -1 where none.

    Algorithm 1's choice of the leaving or entering variable: the largest
    Delta x_i / (x_i* + lam* x_bar_i) is the smallest slack / speed here. The mover itself blocks
    where its `travel` ends. Of several ties, those of very small ray entries are passed over,
    and the perturbation decides between the others.

    Parameters
    ----------
    tableau : Tableau
        ``work[0]`` is overwritten.
    ray : array of shape (n,)
        The step direction of the mover, whose own entry is 1.
    side : int
        The sign of the step, -1 or 1.
    mover : int
        The coordinate whose event it is.

    Returns
    -------
    coordinate : int
        -1 where nothing blocks.
    side : int
        -1 for the lower limit, 1 for the upper one; 0 where the mover itself blocks, or nothing.
    """
    w, low, high, ways = tableau.w, tableau.low, tableau.high, tableau.work[0]
    position, travel = tableau.position, tableau.travel
    lam, delta = position[LAM], position[DELTA]
    primal = not tableau.codes[mover] & 1
    room = position[DUAL_TOLERANCE if primal else PRIMAL_TOLERANCE]
    sign = float(side)
    # multipliers move at the variables and at the rows in R, values at the rows and in C; the
    # ray is zero at all others
    own = np.isfinite(travel[0])
    own_way = max(0.0, travel[0] + lam * travel[1]) if own else np.inf
    largest = max(1.0, _largest(ray))
    slowest = max(SMALLEST_PIVOT, RAY_NOISE * largest)
    ray[mover] = 0.0
    _ways(ray, sign, w, low, high, lam, room, slowest, ways)
    reach = _smallest(ways, len(ray))
    if own:
        reach = min(reach, own_way + room)
    reach *= 1.0 + TIE
    if reach < np.inf:
        _ways(ray, sign, w, low, high, lam, 0.0, slowest, ways)
    ray[mover] = 1.0
    if reach == np.inf:
        return -1, 0
    quickest = 1.0 if own_way <= reach else 0.0
    i = _next_within(ways, reach, 0, len(ray))
    while i >= 0:
        quickest = max(quickest, abs(ray[i]))
        i = _next_within(ways, reach, i + 1, len(ray))
    smallest = max(STABLE_PIVOT * quickest, SMALLEST_PIVOT * largest)
    best, best_side, best_order = -1, 0, np.inf
    if own_way <= reach and smallest <= 1.0:
        best, best_order = mover, travel[2] + delta * travel[1]
    i = _next_within(ways, reach, 0, len(ray))
    while i >= 0:
        speed = abs(ray[i])
        if speed >= smallest or best < 0:
            up = sign * ray[i] > 0.0
            limit = high if up else low
            tie = limit[2, i] - w[2, i] + delta * (limit[1, i] - w[1, i])
            order = (tie if up else -tie) / speed
            if order < best_order:
                best, best_side, best_order = i, 1 if up else -1, order
        i = _next_within(ways, reach, i + 1, len(ray))
    if best >= 0 and best != mover:
        position[DOUBT] = max(position[DOUBT], largest / abs(ray[best]))
    return best, best_side


@compiled_inside
def _next_within(ways: Array, reach: float, begin: int, end: int) -> int:
    """Return the first place from `begin` on, before `end`, of a way up to `reach`; -1 for none."""
    for i in range(begin, end):
        if ways[i] <= reach:
            return i
    return -1


@_next_within.in_numpy
def _(ways: Array, reach: float, begin: int, end: int) -> int:
    within = ways[begin:end] <= reach
    return begin + int(within.argmax()) if within.any() else -1


@compiled_inside
def _ways(
    ray: Array, sign: float, w: Array, low: Array, high: Array,
    lam: float, room: float, slowest: float, way: Array,
) -> None:  # fmt: skip
    """Set `way` to how far a step along the ray goes until each slack and `room` are used up.

    Entries of the ray up to `slowest` block nothing.
    """
    value, rate = w[0], w[1]
    low_0, low_1, high_0, high_1 = low[0], low[1], high[0], high[1]
    for i in range(len(ray)):
        speed = abs(ray[i])
        over = high_0[i] - value[i] + lam * (high_1[i] - rate[i])
        under = value[i] - low_0[i] + lam * (rate[i] - low_1[i])
        slack = max(over if sign * ray[i] > 0.0 else under, 0.0)
        way[i] = (slack + room) / speed if speed > slowest else np.inf


@_ways.in_numpy
def _(
    ray: Array, sign: float, w: Array, low: Array, high: Array,
    lam: float, room: float, slowest: float, way: Array,
) -> None:  # fmt: skip
    speed = np.abs(ray)
    over = high[0] - w[0] + lam * (high[1] - w[1])
    under = w[0] - low[0] + lam * (w[1] - low[1])
    slack = np.fmax(np.where(sign * ray > 0.0, over, under), 0.0)
    way[:] = np.where(speed > slowest, (slack + room) / speed, np.inf)
