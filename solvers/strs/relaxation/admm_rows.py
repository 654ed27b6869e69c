r"""The block of the ADMM that holds rows and q: a projection, compiled.

Row i of Y is (u, t, y): its border entry, its diagonal entry and the others. With a share q of the
support it lies in

.. math:: u^2 \le t q, \qquad t^2 + \|y\|_2^2 \le t q, \qquad t + \|y\|_1 \le \sqrt{d t q},

and the shares satisfy :math:`0 \le q \le 1, \sum_i q_i \le d`. For a given q and :math:`t = q
\cos^2 \varphi` the nearest u and y are those of an interval and of the intersection of two balls,

.. math:: y = \frac{(|x| - \theta)_+}{1 + \kappa} \operatorname{sign}(x),

with theta and kappa from sorted prefix sums. What is left is one equation for the angle, whose
solution gives the rate at which the distance falls with q; the rates of all fractional rows are
equal at the projection.
"""

from __future__ import annotations

from math import cos, pi, sin, sqrt
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled, compiled_inside
from ..settings import NO_SHARE, ROOT_STEPS


class Row(NamedTuple):
    """A row of X that is projected.

    Attributes
    ----------
    u : float
        Absolute value of the border entry, which counts twice.
    t : float
        Diagonal entry.
    w : array of shape (m,)
        Absolute values of the other entries, decreasing.
    sums, squares : arrays of shape (m + 1,)
        Prefix sums of w and of its squares.
    d : int
        Size of the supports.
    """

    u: float
    t: float
    w: Array
    sums: Array
    squares: Array
    d: int


class Bracket(NamedTuple):
    """A bracket of a falling function's root.

    Attributes
    ----------
    low, high : float
    at_low, at_high : float
        The values at its ends, of different signs.
    side : int
        The end that moved last: -1 the lower, 1 the upper, 0 neither.
    """

    low: float
    high: float
    at_low: float
    at_high: float
    side: int


@compiled
def two_balls(row: Row, R1: float, R2: float) -> tuple[float, float]:
    """Return theta and kappa R2 of the projection onto the balls of the 1- and the 2-norm.

    Parameters
    ----------
    row : Row
        Its entries w are projected.
    R1, R2 : float
        Radii.
    """
    w, sums, squares = row.w, row.sums, row.squares
    m = w.shape[0]
    norm = sqrt(squares[m])
    length = sums[m] if norm <= R2 else sums[m] * R2 / norm
    if length <= R1:
        return 0.0, max(0.0, norm - R2)
    if sums[m] > R1:
        low, high = 1, m
        while low < high:
            k = (low + high + 1) // 2
            if sums[k] - k * w[k - 1] < R1:
                low = k
            else:
                high = k - 1
        theta = (sums[low] - R1) / low
        if squares[low] - 2.0 * theta * sums[low] + low * theta * theta <= R2 * R2:
            return theta, 0.0
    ratio = (R1 / R2) ** 2
    low, high = 1, m
    while low < high:
        k = (low + high + 1) // 2
        n1 = sums[k] - k * w[k - 1]
        if n1 * n1 < ratio * (squares[k] - 2.0 * w[k - 1] * sums[k] + k * w[k - 1] * w[k - 1]):
            low = k
        else:
            high = k - 1
    mean = sums[low] / low
    spread = max(0.0, squares[low] - low * mean * mean)
    above = sqrt(ratio * spread / (low * max(low - ratio, 1e-12)))
    theta = max(0.0, mean - above)
    return theta, max(0.0, sqrt(spread + low * above * above) - R2)


@compiled
def split(bracket: Bracket) -> float:
    """Return where the line through both ends of a bracket is 0, inside of it.

    Parameters
    ----------
    bracket : Bracket

    Returns
    -------
    float
    """
    low, high, at_low, at_high, _ = bracket
    at = (low * at_high - high * at_low) / (at_high - at_low)
    return at if low < at < high else 0.5 * (low + high)


@compiled
def shrink(bracket: Bracket, at: float, g: float) -> Bracket:
    """Shrink a bracket by the function's value g at a point of it.

    Illinois' rule: the value at an end that stays a second time is halved.

    Parameters
    ----------
    bracket : Bracket
    at, g : float
        The point, and the value there.

    Returns
    -------
    Bracket
    """
    low, high, at_low, at_high, side = bracket
    if g > 0.0:
        return Bracket(at, high, g, 0.5 * at_high if side == -1 else at_high, -1)
    return Bracket(low, at, 0.5 * at_low if side == 1 else at_low, g, 1)


@compiled
def slopes(row: Row, q: float, angle: float) -> tuple[float, float, float, float]:
    """Return the derivatives for the angle and -q of half the squared distance, and two_balls'.

    Parameters
    ----------
    row : Row
    q : float
        The share, > 0.
    angle : float
        In radians.

    Returns
    -------
    by_angle, by_share, theta, pull : float
    """
    u, t, root = row.u, row.t, sqrt(row.d)
    c, s = cos(angle), sin(angle)
    at = q * c * c
    R0, R2 = q * c, q * c * s
    theta, pull = two_balls(row, q * c * max(0.0, root - c), R2)
    missing = max(0.0, u - R0)
    # d / dt, times dt / d angle = -2 q c s.
    by_angle = (
        -2.0 * q * c * s * (at - t)
        + theta * q * s * (root - 2.0 * c)
        + pull * q * (1.0 - 2.0 * c * c)
        + 2.0 * missing * q * s
    )
    # For an angle that stays, so that it also holds where the best one is an end.
    by_share = (t - at) * c * c + theta * c * max(0.0, root - c) + pull * c * s + 2.0 * missing * c
    return by_angle, by_share, theta, pull


@compiled
def best_angle(row: Row, q: float, start: float) -> tuple[float, float, float, float]:
    """Minimise the distance over the angle; return the angle, the rate of q, and two_balls'.

    The derivative changes its sign once, from - to +: a secant with Illinois' rule in a bracket
    around the start.

    Parameters
    ----------
    row, q
        As for :func:`slopes`.
    start : float
        A guess of the angle, in radians.

    Returns
    -------
    angle, rate, theta, pull : float
    """
    first, last = 1e-9, 0.5 * pi - 1e-9
    angle, step = min(max(start, 1e-4), 0.5 * pi - 1e-4), 1e-3
    g, rate, theta, pull = slopes(row, q, angle)
    low, high, at_low, at_high = first, last, g, g
    while True:
        if g < 0.0:
            low, at_low = angle, g
            if at_high >= 0.0 or angle == last:
                break
            angle = min(last, angle + step)
        else:
            high, at_high = angle, g
            if at_low < 0.0 or angle == first:
                break
            angle = max(first, angle - step)
        step *= 8.0
        g, rate, theta, pull = slopes(row, q, angle)
    if (at_low < 0.0) == (at_high < 0.0):
        return angle, rate, theta, pull
    # The bracket is that of a falling function.
    bracket = Bracket(low, high, -at_low, -at_high, 0)
    for _ in range(ROOT_STEPS):
        if bracket.high - bracket.low <= 1e-13:
            break
        angle = split(bracket)
        g, rate, theta, pull = slopes(row, q, angle)
        if abs(g) <= 1e-14 * q:
            break
        bracket = shrink(bracket, angle, -g)
    return angle, rate, theta, pull


@compiled
def best_share(row: Row, nu: float, ends: Array, q: float, angle: float) -> tuple[float, float]:
    """Return the share whose rate is nu, strictly between `ends`' rates, and its angle.

    The rate falls with q, from ends[0] at 0 to ends[1] at 1.

    Parameters
    ----------
    row : Row
    nu : float
        The rate that is asked for.
    ends : array of shape (2,)
        The rates at the shares 0 and 1.
    q, angle : float
        Guesses.

    Returns
    -------
    q, angle : float
    """
    bracket = Bracket(0.0, 1.0, ends[0] - nu, ends[1] - nu, 0)
    if not 0.0 < q < 1.0:
        q = split(bracket)
    for _ in range(ROOT_STEPS):
        angle, rate, _, _ = best_angle(row, max(q, NO_SHARE), angle)
        g = rate - nu
        if abs(g) <= 1e-11 * ends[0] or bracket.high - bracket.low <= 1e-11:
            break
        bracket = shrink(bracket, q, g)
        q = split(bracket)
    return q, angle


@compiled
def project_rows(
    X: Array, x: Array, d: int, border: bool, Y: Array, y: Array, q: Array, angles: Array, nu: float
) -> float:
    """Project rows onto their sets; return the common rate. O(n^2 log n).

    Parameters
    ----------
    X, x : arrays of shape (n, n) and (n,)
        Rows, and border entries.
    d : int
    border : bool
    Y, y : arrays of shape (n, n) and (n,)
        Out: the projection.
    q : array of shape (n,)
        In and out: the shares, at first a guess.
    angles : array of shape (3, n)
        In and out: angles at the shares 0, 1 and q, guesses at first.
    nu : float
        A guess of the common rate.
    """
    n = X.shape[0]
    w, ends = np.empty((n, n - 1)), np.empty((n, 2))
    sums, squares = np.zeros((n, n)), np.zeros((n, n))
    u = np.abs(x) if border else np.zeros(n)
    for i in range(n):
        _sort_row(X, i, w[i], sums[i], squares[i])
        row = Row(u[i], X[i, i], w[i], sums[i], squares[i], d)
        for side in range(2):
            share = NO_SHARE if side == 0 else 1.0
            angles[side, i], ends[i, side], _, _ = best_angle(row, share, angles[side, i])
    # The sum of the shares falls with nu.
    high = 0.0
    for i in range(n):
        high = max(high, ends[i, 0])
    bracket = Bracket(0.0, high, float(n - d), -float(d), 0)
    if not 0.0 < nu < high:
        nu = 0.5 * high
    for _ in range(ROOT_STEPS):
        excess = -float(d)
        for i in range(n):
            if nu >= ends[i, 0]:
                q[i] = 0.0
            elif nu <= ends[i, 1]:
                q[i] = 1.0
            else:
                row = Row(u[i], X[i, i], w[i], sums[i], squares[i], d)
                q[i], angles[2, i] = best_share(row, nu, ends[i], q[i], angles[2, i])
            excess += q[i]
        if abs(excess) <= 1e-10 * d or (nu == 0.0 and excess <= 0.0):
            break
        if bracket.high - bracket.low <= 1e-14 * bracket.high:
            break
        bracket = shrink(bracket, nu, excess)
        nu = split(bracket)
    if q.sum() > d:
        q *= d / q.sum()
    for i in range(n):
        if q[i] <= NO_SHARE:
            Y[i] = 0.0
            y[i] = 0.0
            continue
        row = Row(u[i], X[i, i], w[i], sums[i], squares[i], d)
        angles[2, i], _, theta, pull = best_angle(row, q[i], angles[2, i])
        _write_row(X, x, i, row.u, q[i], angles[2, i], theta, pull, Y, y)
    return nu


@compiled_inside(makes_arrays=True)
def _sort_row(X: Array, i: int, w: Array, sums: Array, squares: Array) -> None:
    """Sort the sizes of the entries beside the diagonal, the largest first, and add them up."""
    count = 0
    for j in range(X.shape[0]):
        if j != i:
            w[count] = -abs(X[i, j])
            count += 1
    w.sort()
    for k in range(count):
        w[k] = -w[k]
        sums[k + 1] = sums[k] + w[k]
        squares[k + 1] = squares[k] + w[k] * w[k]


@compiled_inside
def _write_row(
    X: Array,
    x: Array,
    i: int,
    u: float,
    share: float,
    angle: float,
    theta: float,
    pull: float,
    Y: Array,
    y: Array,
) -> None:
    """Write row i of the projection: its share, at its angle, less theta and the pull."""
    c = cos(angle)
    radius = share * c * sin(angle)
    for j in range(X.shape[0]):
        size = max(0.0, abs(X[i, j]) - theta) / (1.0 + pull / radius)
        Y[i, j] = size if X[i, j] >= 0.0 else -size
    Y[i, i] = share * c * c
    size = min(u, share * c)
    y[i] = size if x[i] >= 0.0 else -size
