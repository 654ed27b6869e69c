r"""The sum of the k largest of some numbers, as it is and smoothed: compiled.

The smoothed sum is the maximum of :math:`s'v + \tfrac{\epsilon}{2} \sum_j s_j (1 - s_j)` over
weights :math:`0 \le s \le 1` with the sum k, which are clipped at a threshold:
:math:`s_j = \min(1, \max(0, (v_j - \nu) / \epsilon))`.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled
from ..settings import ROOT_STEPS


@compiled
def choose(v: Array, k: int, epsilon: float, nu: float, s: Array) -> tuple[float, float, float]:
    """Return the smoothed and the exact sum of the k largest entries, and the threshold.

    Parameters
    ----------
    v : array of shape (m,)
    k : int
    epsilon : float
        Smoothing, > 0.
    nu : float
        A guess of the threshold.
    s : array of shape (m,)
        Out: the weights.
    """
    m = v.shape[0]
    total = 0.0
    if k <= 0 or k >= m:
        for j in range(m):
            s[j] = 1.0 if k > 0 else 0.0
            total += s[j] * v[j]
        return total, total, nu
    low, high = v[0], v[0]
    for j in range(m):
        low = min(low, v[j])
        high = max(high, v[j])
    # The sum of the weights falls with nu: Newton (3 to 6 steps), safeguarded by bisection.
    low -= epsilon
    if not low < nu < high:
        nu = 0.5 * (low + high)
    factor = 1.0 / epsilon
    for _ in range(ROOT_STEPS):
        excess = 0.0
        between = 0
        for j in range(m):
            t = min(1.0, max(0.0, (v[j] - nu) * factor))
            excess += t
            between += 1 if 0.0 < t < 1.0 else 0
        excess -= k
        if abs(excess) <= 1e-12 * k:
            break
        if excess > 0.0:
            low = nu
        else:
            high = nu
        step = nu + excess * epsilon / between if between > 0 else low
        if not low < step < high:
            step = 0.5 * (low + high)
        if step == nu:
            break
        nu = step
    above, count = np.empty(m), 0
    # Of differences, whose roundings are of the size of epsilon where a weight is a fraction.
    total = k * nu
    for j in range(m):
        t = min(1.0, max(0.0, (v[j] - nu) * factor))
        s[j] = t
        total += t * (v[j] - nu) + 0.5 * epsilon * t * (1.0 - t)
        if t > 0.0:
            above[count] = v[j]
            count += 1
    # No weight is above 1, so the k largest have one, up to rounding.
    if count < k:
        for j in range(m):
            above[j] = v[j]
        count = m
    return total, sum_of_largest(above[:count], k), nu


@choose.in_numpy
def _(v: Array, k: int, epsilon: float, nu: float, s: Array) -> tuple[float, float, float]:
    soft, hard, thresholds, weights = choose_each(v[None], k, epsilon, np.array([nu]))
    s[:] = weights[0]
    return float(soft[0]), float(hard[0]), float(thresholds[0])


def choose_each(v: Array, k: int, epsilon: float, nu: Array) -> tuple[Array, Array, Array, Array]:
    """Return what :func:`choose` does of many rows, in array operations, and the weights.

    Parameters
    ----------
    v : array of shape (n, m)
    k : int
    epsilon : float
        Smoothing, > 0.
    nu : array of shape (n,)
        Guesses of the thresholds.

    Returns
    -------
    soft, hard, nu : arrays of shape (n,)
    weights : array of shape (n, m)
    """
    m = v.shape[1]
    if k <= 0 or k >= m:
        total = v.sum(axis=1) if k > 0 else np.zeros(len(v))
        return total, total, nu, np.full(v.shape, 1.0 if k > 0 else 0.0)
    low, high = v.min(axis=1) - epsilon, v.max(axis=1)
    nu = np.where((low < nu) & (nu < high), nu, 0.5 * (low + high))
    done = np.zeros(len(v), dtype=bool)
    for _step in range(ROOT_STEPS):
        t = ((v - nu[:, None]) / epsilon).clip(0.0, 1.0)
        excess = t.sum(axis=1) - k
        done |= abs(excess) <= 1e-12 * k
        low = np.where(excess > 0.0, nu, low)
        high = np.where(excess > 0.0, high, nu)
        between = ((t > 0.0) & (t < 1.0)).sum(axis=1)
        step = np.where(between > 0, nu + excess * epsilon / np.maximum(between, 1), low)
        step = np.where((low < step) & (step < high), step, 0.5 * (low + high))
        done |= step == nu
        if done.all():
            break
        nu = np.where(done, nu, step)
    over = v - nu[:, None]
    t = (over / epsilon).clip(0.0, 1.0)
    soft = k * nu + (t * (over + 0.5 * epsilon * (1.0 - t))).sum(axis=1)
    return soft, np.partition(v, m - k, axis=1)[:, m - k :].sum(axis=1), nu, t


@compiled
def sort(v: Array) -> None:
    """Sort numbers in place, increasing: Shell's method. numba's own takes a second to compile.

    Parameters
    ----------
    v : array of shape (m,)
        Changed in place.
    """
    m = v.shape[0]
    gap = 1
    while gap < m // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            value = v[i]
            j = i
            while j >= gap and v[j - gap] > value:
                v[j] = v[j - gap]
                j -= gap
            v[j] = value
        gap //= 3


@sort.in_numpy
def _(v: Array) -> None:
    v.sort()


@compiled
def sum_of_largest(v: Array, k: int) -> float:
    """Return the sum of the k largest entries; v may be sorted by it.

    Parameters
    ----------
    v : array of shape (m,)
    k : int
        All entries are summed where k >= m, none where k <= 0.

    Returns
    -------
    float
    """
    if v.shape[0] > k:
        sort(v)
    total = 0.0
    for j in range(max(0, v.shape[0] - k), v.shape[0]):
        total += v[j]
    return total


@sum_of_largest.in_numpy
def _(v: Array, k: int) -> float:
    return float(np.sort(v)[max(0, len(v) - k) :].sum())
