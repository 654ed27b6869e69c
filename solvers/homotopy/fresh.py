"""The values of a basis computed anew from its codes, and the perturbation against ties."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled, compiled_in_place
from .rays import add_rows
from .tableau import DenseProgram, Tableau

__all__ = ["largest", "perturb", "refresh", "set_limits"]

_SINGULAR = 1e-7


@compiled_in_place
def set_limits(
    i: int,
    codes: Array,
    kink_ptr: Array,
    slope_ptr: Array,
    kinks: Array,
    slopes: Array,
    low: Array,
    high: Array,
) -> None:
    """Set low and high of coordinate i from its code."""
    index = codes[i] >> 1
    if codes[i] & 1:
        s = slope_ptr[i] + index
        for c in range(3):
            low[c, i] = slopes[c, s]
            high[c, i] = slopes[c, s + 1]
        return
    under = kink_ptr[i] + index - 1
    over = kink_ptr[i] + index
    for c in range(3):
        low[c, i] = kinks[c, under] if under >= kink_ptr[i] else (-np.inf if c == 0 else 0.0)
        high[c, i] = kinks[c, over] if over < kink_ptr[i + 1] else (np.inf if c == 0 else 0.0)


@compiled_in_place
def largest(part: Array, lam: float) -> float:
    """Return the largest finite kink or slope at lam."""
    size = 0.0
    for i in range(part.shape[1]):
        value = abs(part[0, i] + lam * part[1, i])
        if value > size and np.isfinite(value):
            size = value
    return size


@compiled
def _solved(matrix: Array, inverse: Array, right: Array) -> Array:
    """Return the solutions of matrix X = right, refined once, as rows; NaN where that fails."""
    x = inverse @ right
    size = np.abs(right).max()
    x += inverse @ (right - matrix @ x)
    if not np.abs(right - matrix @ x).max() <= _SINGULAR * (size + np.abs(x).max()):
        x[:] = np.nan
    return np.ascontiguousarray(x.T)


@compiled_in_place
def _drift(
    before: Array, after: Array, codes: Array, lam: float, kinks: Array, slopes: Array
) -> float:
    """Return the largest change of a value and of a multiplier at lam, relative to the largest."""
    if not np.isfinite(lam):
        return 0.0
    value, multiplier = largest(kinks, lam), largest(slopes, lam)
    of_value, of_multiplier = 0.0, 0.0
    for i in range(len(codes)):
        now = after[0, i] + lam * after[1, i]
        change = abs(now - before[0, i] - lam * before[1, i])
        if codes[i] & 1:
            multiplier = max(multiplier, abs(now))
            of_multiplier = max(of_multiplier, change)
        else:
            value = max(value, abs(now))
            of_value = max(of_value, change)
    drift = of_value / value if value > 0.0 else 0.0
    return max(drift, of_multiplier / multiplier if multiplier > 0.0 else 0.0)


@compiled
def refresh(program: DenseProgram, tableau: Tableau) -> int:
    """Factor the kernel anew and recompute all values from the codes.

    Returns
    -------
    k : int
        Size of the kernel, or -1 where it is singular to working accuracy.
    """
    A, AT, kink_ptr, slope_ptr, kinks, slopes = program
    codes, _, w, low, high, C, R, where, kernels, inverse, position, counters = tableau[:12]
    m, p = A.shape
    k = 0
    for j in range(p):
        where[j] = -1
        if not codes[j] & 1:
            if k >= len(C):
                return -1
            C[k] = j
            where[j] = k
            k += 1
    rows = 0
    for i in range(m):
        where[p + i] = -1
        if codes[p + i] & 1:
            if rows >= k:
                return -1
            R[rows] = i
            where[p + i] = rows
            rows += 1
    if rows != k:
        return -1
    kernel = np.empty((k, k))
    for r in range(k):
        for c in range(k):
            kernel[r, c] = A[R[r], C[c]]
    if k > 0:
        fresh = np.linalg.inv(kernel)
        if not np.isfinite(fresh).all():
            return -1
        inverse[:k, :k] = fresh
        kernels[:k, :k] = kernel
    lam = position[0]
    before = w[:2].copy()
    for i in range(p + m):
        set_limits(i, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)

    z = np.zeros((3, m))
    for j in range(p):
        if codes[j] & 1:
            for c in range(3):
                t = kinks[c, kink_ptr[j] + (codes[j] >> 1)]
                if t != 0.0:
                    z[c] += t * AT[j]
    target = np.empty((k, 3))
    for r in range(k):
        i = p + R[r]
        for c in range(3):
            target[r, c] = kinks[c, kink_ptr[i] + (codes[i] >> 1)] - z[c, R[r]]
    if k > 0:
        theta = _solved(kernel, fresh, target)
        if theta[0, 0] != theta[0, 0]:
            return -1
        for q in range(3):
            add_rows(z[q], theta[q], AT, C, k, m)
            for c in range(k):
                w[q, C[c]] = theta[q, c]
    for i in range(m):
        if not codes[p + i] & 1:
            for c in range(3):
                w[c, p + i] = z[c, i]

    back = np.zeros((3, p))
    for i in range(m):
        if not codes[p + i] & 1:
            for c in range(3):
                s = slopes[c, slope_ptr[p + i] + (codes[p + i] >> 1)]
                if s != 0.0:
                    back[c] += s * A[i]
    if k > 0:
        for c in range(k):
            j = C[c]
            for q in range(3):
                target[c, q] = -slopes[q, slope_ptr[j] + (codes[j] >> 1)] - back[q, j]
        nu = _solved(np.ascontiguousarray(kernel.T), np.ascontiguousarray(fresh.T), target)
        if nu[0, 0] != nu[0, 0]:
            return -1
        for q in range(3):
            add_rows(back[q], nu[q], A, R, k, p)
            for r in range(k):
                w[q, p + R[r]] = nu[q, r]
    for j in range(p):
        if codes[j] & 1:
            for c in range(3):
                w[c, j] = -back[c, j]
    drift = 0.0
    if counters[1] > 0:
        # the segments since the last time reach up to where that was
        drift = _drift(before, w, codes, lam, kinks, slopes)
        drift = max(drift, _drift(before, w, codes, position[7], kinks, slopes))
    position[3], position[7] = drift, lam
    counters[0], counters[1] = k, 0
    return k


@compiled
def perturb(program: DenseProgram, tableau: Tableau, seed: int) -> int:
    """Draw the symbolic perturbation anew, so that the basis is strictly optimal; refresh.

    Kinks and slopes that the basis rests on stay; every other one moves away from it, by a random
    amount that keeps the order within each coordinate: in the order piece 0, kink 0, piece 1, ...
    those before the place of the code get negative offsets, those behind it positive ones.
    """
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator)
    codes = tableau.codes
    for i in range(len(codes)):
        for parity in range(2):
            ptr = program.kink_ptr if parity else program.slope_ptr
            part = program.kinks if parity else program.slopes
            for at in range(ptr[i], ptr[i + 1]):
                away = 2 * (at - ptr[i]) + parity - codes[i]
                offset = away + np.sign(away) * np.random.uniform(0.0, 0.9)  # noqa: NPY002
                part[2, at] = offset if np.isfinite(part[0, at]) else 0.0
    tableau.position[1] = 0.0
    tableau.counters[2] = 0
    return int(refresh(program, tableau))
