"""The two ratio tests of a pivot: which coordinate is the next to leave, and which one stops it.

Both are Harris tests with a perturbation in place of bounds that are given up: of all coordinates
that the tolerances cannot tell apart, the perturbation chooses. The ratios of all coordinates are
computed without a branch, in vector registers, and the few that matter are looked at again.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled_in_place
from .tableau import Tableau

__all__ = ["first_block", "next_event"]

_PIVOT = 1e-10
_NOISE = 1e-12
"""Part of a ray's largest entry that others are rounding errors below."""
_STABLE = 1e-5
_ROUNDING = 1e-15


@compiled_in_place
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


@compiled_in_place
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


@compiled_in_place
def _falls(
    value: Array,
    rate: Array,
    low: Array,
    low_rate: Array,
    high: Array,
    high_rate: Array,
    codes: Array,
    lam: float,
    slowest: float,
    primal: float,
    dual: float,
    fall: Array,
) -> None:
    """Set `fall` to how far lam falls until each slack and a tolerance are used up.

    One output only: with two, the compiler gives up to show that they do not overlap the inputs,
    and uses no vector registers.
    """
    for i in range(len(codes)):
        room = dual if codes[i] & 1 else primal
        r = rate[i] - low_rate[i]
        slack = max(value[i] - low[i] + lam * r, 0.0)
        under = (slack + room) / r if r > slowest else np.inf
        r = high_rate[i] - rate[i]
        slack = max(high[i] - value[i] + lam * r, 0.0)
        over = (slack + room) / r if r > slowest else np.inf
        fall[i] = min(under, over)


@compiled_in_place
def next_event(tableau: Tableau) -> tuple[int, int, float, float]:
    """Return (coordinate, upper, lam, delta) of the next event; coordinate -1 where there is none.

    An event is at the position where a slack that falls with lam is used up; two are tied where
    the tolerances do not tell them apart.
    """
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position, fall = tableau.position, tableau.work[0]
    lam, delta, slowest = position[0], position[1], position[6]
    n = len(codes)
    _falls(
        w[0], w[1], low[0], low[1], high[0], high[1],
        codes, lam, slowest, position[4], position[5], fall,
    )  # fmt: skip
    reach = _smallest(fall, n)
    if reach == np.inf:
        return -1, 0, 0.0, 0.0
    _falls(
        w[0], w[1], low[0], low[1], high[0], high[1], codes, lam, slowest, 0.0, 0.0, fall
    )  # fmt: skip
    best, best_side, best_fall, best_order = -1, 0, 0.0, -np.inf
    for i in range(n):
        if fall[i] > reach:
            continue
        for side in range(2):
            limit = high if side else low
            sign = 1.0 - 2.0 * side
            rate = sign * (w[1, i] - limit[1, i])
            slack = max(sign * (w[0, i] - limit[0, i]) + lam * rate, 0.0)
            if rate > slowest and slack <= (1.0 + _ROUNDING) * reach * rate:
                order = -sign * (w[2, i] - limit[2, i]) / rate
                if slack <= position[4 + (codes[i] & 1)]:
                    order = min(order, delta)
                if order > best_order:
                    best, best_side, best_fall, best_order = i, side, slack / rate, order
    return best, best_side, lam - best_fall, best_order


@compiled_in_place
def _ways(
    ray: Array,
    sign: float,
    value: Array,
    rate: Array,
    low: Array,
    low_rate: Array,
    high: Array,
    high_rate: Array,
    lam: float,
    room: float,
    slowest: float,
    way: Array,
) -> None:
    """Set `way` to how far a step along the ray goes until each slack and `room` are used up.

    Entries of the ray up to `slowest` block nothing.
    """
    for i in range(len(ray)):
        speed = abs(ray[i])
        over = high[i] - value[i] + lam * (high_rate[i] - rate[i])
        under = value[i] - low[i] + lam * (rate[i] - low_rate[i])
        slack = max(over if sign * ray[i] > 0.0 else under, 0.0)
        way[i] = (slack + room) / speed if speed > slowest else np.inf


@compiled_in_place
def first_block(
    tableau: Tableau, ray: Array, sign: float, mover: int, travel: Array
) -> tuple[int, int]:
    """Return (coordinate, upper) of the first block of a step along sign * ray; -1 where none.

    ``travel`` is how far the mover itself may go, infinite where nothing stops it. Of several ties,
    those of very small ray entries are passed over, and the perturbation decides between the
    others.
    """
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    lam, delta = tableau.position[0], tableau.position[1]
    primal = not codes[mover] & 1
    room = tableau.position[5] if primal else tableau.position[4]
    ways = tableau.work[0]
    # multipliers move at the variables and at the rows in R, values at the rows and in C; the
    # ray is zero at all others
    own = np.isfinite(travel[0])
    own_way = max(0.0, travel[0] + lam * travel[1]) if own else np.inf
    largest = max(1.0, _largest(ray))
    slowest = max(_PIVOT, _NOISE * largest)
    ray[mover] = 0.0
    _ways(ray, sign, w[0], w[1], low[0], low[1], high[0], high[1], lam, room, slowest, ways)
    reach = _smallest(ways, len(codes))
    if own:
        reach = min(reach, own_way + room)
    if reach < np.inf:
        _ways(ray, sign, w[0], w[1], low[0], low[1], high[0], high[1], lam, 0.0, slowest, ways)
    ray[mover] = 1.0
    if reach == np.inf:
        return -1, 0
    quickest = 1.0 if own_way <= reach else 0.0
    for i in range(len(ray)):
        if ways[i] <= reach:
            quickest = max(quickest, abs(ray[i]))
    smallest = max(_STABLE * quickest, _PIVOT * largest)
    best, best_up, best_order = -1, 0, np.inf
    if own_way <= reach and smallest <= 1.0:
        best, best_order = mover, travel[2] + delta * travel[1]
    for i in range(len(ray)):
        if ways[i] > reach:
            continue
        speed = abs(ray[i])
        if speed < smallest and best >= 0:
            continue
        up = sign * ray[i] > 0.0
        limit = high if up else low
        tie = limit[2, i] - w[2, i] + delta * (limit[1, i] - w[1, i])
        order = (tie if up else -tie) / speed
        if order < best_order:
            best, best_up, best_order = i, 1 if up else 0, order
    return best, best_up
