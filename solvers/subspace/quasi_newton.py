r"""L-BFGS with a line search for the strong Wolfe conditions, for smooth functions of few numbers.

From the last pairs of steps :math:`s_i` and changes of the gradient :math:`y_i` the direction is
:math:`-H g` (Nocedal and Wright, Numerical Optimization, 2nd edition, algorithm 7.4), and its
length t satisfies

.. math:: f(x + t p) \le f(x) + c_1 t\, g'p, \qquad |\nabla f(x + t p)'p| \le c_2 |g'p|

(algorithms 3.5 and 3.6 there, with cubic interpolation). Close to a minimum, where values differ by
rounding errors only, the slopes alone decide, :math:`(2 c_1 - 1) g'p \ge \nabla f(x + t p)'p`
(Hager and Zhang, A new conjugate gradient method with guaranteed descent and an efficient line
search, SIAM Journal on Optimization 16, 2005, "approximate Wolfe conditions").
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from .settings import CURVATURE, DECREASE, EQUAL, LENGTHS, LONGER, MEMORY, SHORTEST, SLOPE

Objective = Callable[[Array], tuple[float, Array]]
"""Gives the value at a point, and the gradient there."""


class _Trial(NamedTuple):
    """A point on the line: its place t, the value, the slope along the line, point and gradient."""

    t: float
    value: float
    slope: float
    x: Array
    gradient: Array


def iterates(
    objective: Objective, start: Array, stationary: float
) -> Iterator[tuple[Array, float]]:
    """Yield the points of L-BFGS after the start, and their values.

    They end where no entry of the gradient is larger than `stationary`, or where no step decreases
    the value any more, nor the gradient beside a value that is equal up to rounding.

    Parameters
    ----------
    objective : callable
        What is not finite counts as too large.
    start : array of shape (m,)
        Where the value is finite.
    stationary : float

    Yields
    ------
    x : array of shape (m,)
    value : float
    """
    x, (value, gradient) = start, objective(start)
    pairs: deque[tuple[Array, Array, float]] = deque(maxlen=MEMORY)
    while _size(gradient) > stationary:
        p = -_product(pairs, gradient)
        slope = float(gradient @ p)
        first = 1.0 if pairs else 1.0 / float(np.linalg.norm(gradient))
        begin = _Trial(0.0, value, slope, x, gradient)
        found = _search(objective, begin, p, first) if slope < 0.0 else None
        if found is None or not (found.value < value or _size(found.gradient) < _size(gradient)):
            if not pairs:
                return
            pairs.clear()  # and try the gradient's direction
            continue
        s, y = found.x - x, found.gradient - gradient
        product = float(s @ y)
        if product > CURVATURE * float(np.linalg.norm(s) * np.linalg.norm(y)):
            pairs.append((s, y, 1.0 / product))
        x, value, gradient = found.x, found.value, found.gradient
        yield x, value


def _size(gradient: Array) -> float:
    return float(np.abs(gradient).max(initial=0.0))


def _product(pairs: deque[tuple[Array, Array, float]], gradient: Array) -> Array:
    """Return H g by the two loops over the pairs; O(m) each."""
    q = gradient.copy()
    factors = []
    for s, y, inverse in reversed(pairs):
        factors.append(inverse * float(s @ q))
        q -= factors[-1] * y
    if pairs:
        _, y, inverse = pairs[-1]
        q /= inverse * float(y @ y)
    for (s, y, inverse), factor in zip(pairs, reversed(factors), strict=True):
        q += (factor - inverse * float(y @ q)) * s
    return q


def _search(objective: Objective, begin: _Trial, p: Array, t: float) -> _Trial | None:
    """Return a point on the line that satisfies both conditions, or the lowest of the first.

    Parameters
    ----------
    objective : callable
    begin : _Trial
        At t = 0, of negative slope.
    p : array of shape (m,)
    t : float
        The first length, > 0.

    Returns
    -------
    _Trial or None
        None where no length satisfies the first condition.
    """
    low, high = begin, None
    rounding = EQUAL * (1.0 + abs(begin.value))
    for _ in range(LENGTHS):
        trial = _at(objective, begin, p, t)
        allowed = begin.value + DECREASE * t * begin.slope
        level = (2.0 * DECREASE - 1.0) * begin.slope >= trial.slope >= SLOPE * begin.slope
        if level and trial.value <= begin.value + rounding:
            return trial
        if not (trial.value <= allowed and trial.value < low.value):
            high = trial
            if -t * begin.slope <= rounding:
                break  # nothing that values could show is left to gain
        elif abs(trial.slope) <= SLOPE * abs(begin.slope):
            return trial
        else:
            # The minimum is between the trial and where the slope points from it.
            ahead = high.t - low.t if high is not None else 1.0
            if trial.slope * ahead >= 0.0:
                high = low
            low = trial
        if high is None:
            t = LONGER * low.t
        elif abs(high.t - low.t) <= SHORTEST * max(high.t, low.t):
            break
        else:
            t = _between(low, high)
    return low if low.t > 0.0 else None


def _at(objective: Objective, begin: _Trial, p: Array, t: float) -> _Trial:
    """Evaluate a point on the line; an infinite value where anything is not finite."""
    x = begin.x + t * p
    if not np.isfinite(x).all():
        return _Trial(t, np.inf, 0.0, x, np.zeros_like(x))
    value, gradient = objective(x)
    slope = float(gradient @ p)
    if not (np.isfinite(value) and np.isfinite(slope)):
        value = np.inf
    return _Trial(t, value, slope, x, gradient)


def _between(low: _Trial, high: _Trial) -> float:
    """Return the minimum of the cubic through both values and slopes, a tenth from either end."""
    width = high.t - low.t
    share = 0.5
    if np.isfinite(high.value):
        d1 = low.slope + high.slope - 3.0 * (high.value - low.value) / width
        square = d1 * d1 - low.slope * high.slope
        if square >= 0.0:
            d2 = np.copysign(np.sqrt(square), width)
            bottom = high.slope - low.slope + 2.0 * d2
            if bottom != 0.0:
                share = 1.0 - (high.slope + d2 - d1) / bottom
    return low.t + float(np.clip(share, 0.1, 0.9)) * width
