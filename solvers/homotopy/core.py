"""The pivots, compiled: one dense program, from one optimal basis to the next.

The functions work on flat arrays (see :mod:`~sparseopt.solvers.homotopy.state`) and are resumed
where they stopped. The mathematics is that of the module `engine`; the names are the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.compiled import compiled

__all__ = [
    "DRIFTED",
    "END",
    "FULL",
    "INFEASIBLE",
    "KNOTS",
    "NONZEROS",
    "PAUSED",
    "STALLED",
    "UNBOUNDED",
    "DenseProgram",
    "Records",
    "Tableau",
    "advance",
    "perturb",
    "refresh",
]


class DenseProgram(NamedTuple):
    """A program with a dense matrix, in the engine's units.

    `A` is m x p in C order and `AT` its transpose in C order, so that rows and columns are
    contiguous. The kinks ``kinks[:, kink_ptr[i]:kink_ptr[i + 1]]`` and slopes
    ``slopes[:, slope_ptr[i]:slope_ptr[i + 1]]`` of the n = p + m coordinates, variables first,
    have the components (constant, rate in lam, symbolic perturbation).
    """

    A: Array
    AT: Array
    kink_ptr: Array
    slope_ptr: Array
    kinks: Array
    slopes: Array


class Tableau(NamedTuple):
    """A basis of a dense program with its values, and where the path is.

    Attributes
    ----------
    codes, told : int arrays of shape (n,)
        Code 2k: on piece k; code 2k + 1: at kink k; now, and when last recorded.
    w, low, high : arrays of shape (3, n)
        The quantity of each coordinate that may move (its value on a piece, its multiplier at a
        kink) and the two limits that it must stay between.
    C, R : int arrays of shape (cap,)
        Variables on pieces and rows at kinks; the first k entries count.
    where : int array of shape (n,)
        Position of a coordinate in C or R.
    kernel, inverse : arrays of shape (cap, cap)
        A[R, C] and its inverse, whose rows belong to C.
    position : array (lam, delta, top, drift, primal tolerance, dual tolerance, smallest rate)
        `drift` is what the last refresh corrected, relative to the largest value of its kind.
    counters : int array
        Kernel size, pivots since the last refresh, pivots without progress, nothing told yet,
        segments, touched, used theta, used changes, pivots in all, segments told before, used nu,
        whether rays are refined.
    touched : int array
        Coordinates whose codes changed since the last segment.
    ray, answer : arrays of shape (n,)
    """

    codes: Array
    told: Array
    w: Array
    low: Array
    high: Array
    C: Array
    R: Array
    where: Array
    kernel: Array
    inverse: Array
    position: Array
    counters: Array
    touched: Array
    ray: Array
    answer: Array


class Records(NamedTuple):
    """Room for the segments of a path.

    `bounds` (S, 2) holds low and high; `objective` (S, 3) the quadratic in lam - low of
    -sum_i nu_i t_i; `ends` (S, 3) where the entries of each segment end in the theta, nu and
    change arrays: values at the lower end and rates of all entries that are not zero.
    """

    bounds: Array
    objective: Array
    ends: Array
    theta_index: Array
    theta_value: Array
    theta_rate: Array
    nu_index: Array
    nu_value: Array
    nu_rate: Array
    change_index: Array
    change_code: Array


END, PAUSED, FULL, STALLED, DRIFTED, INFEASIBLE, UNBOUNDED, KNOTS, NONZEROS = range(9)
"""Why :func:`advance` returned."""

_TIE = 1e-12
_NEAR = 1e-8
_RATE = 1e-13
_PIVOT = 1e-10
_STABLE = 1e-5
_DRIFT = 1e-7
_STALL = 500
_SNAP = 1e-11
_SINGULAR = 1e-7


@compiled
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


@compiled
def _largest(part: Array, lam: float) -> float:
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


@compiled
def refresh(program: DenseProgram, tableau: Tableau) -> int:
    """Factor the kernel anew and recompute all values from the codes.

    Returns
    -------
    k : int
        Size of the kernel, or -1 where it is singular to working accuracy.
    """
    A, AT, kink_ptr, slope_ptr, kinks, slopes = program
    codes, _, w, low, high, C, R, where, kernels, inverse, position, counters, _, _, _ = tableau
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
    before = w[0] + lam * w[1]
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
            _add_rows(z[q], theta[q], AT, C, k, m)
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
            _add_rows(back[q], nu[q], A, R, k, p)
            for r in range(k):
                w[q, p + R[r]] = nu[q, r]
    for j in range(p):
        if codes[j] & 1:
            for c in range(3):
                w[c, j] = -back[c, j]
    position[3] = 0.0
    if counters[1] > 0:
        size, drift = np.zeros(2), np.zeros(2)
        for i in range(p + m):
            kind = codes[i] & 1
            after = w[0, i] + lam * w[1, i]
            size[kind] = max(size[kind], abs(after))
            drift[kind] = max(drift[kind], abs(after - before[i]))
        size[0], size[1] = max(size[0], _largest(kinks, lam)), max(size[1], _largest(slopes, lam))
        for kind in range(2):
            if size[kind] > 0.0:
                position[3] = max(position[3], drift[kind] / size[kind])
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


@compiled
def _measure(program: DenseProgram, tableau: Tableau) -> None:
    """Set the primal and the dual tolerance and the smallest rate that counts, at the position."""
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position = tableau.position
    lam = position[0]
    primal, dual = _largest(program.kinks, lam), _largest(program.slopes, lam)
    fastest = 0.0
    for i in range(w.shape[1]):
        size = abs(w[0, i] + lam * w[1, i])
        if codes[i] & 1:
            dual = max(dual, size)
        else:
            primal = max(primal, size)
        if low[0, i] > -np.inf:
            fastest = max(fastest, abs(w[1, i] - low[1, i]))
        if high[0, i] < np.inf:
            fastest = max(fastest, abs(w[1, i] - high[1, i]))
    position[4], position[5], position[6] = _TIE * primal, _TIE * dual, _RATE * fastest


@compiled
def next_event(
    w: Array, low: Array, high: Array, codes: Array, position: Array
) -> tuple[int, int, float, float]:
    """Return (coordinate, upper, lam, delta) of the next event; coordinate -1 where there is none.

    An event is at the position where a slack that falls with lam is used up; two are tied where
    the tolerances do not tell them apart.
    """
    lam, delta, slowest = position[0], position[1], position[6]
    n = w.shape[1]
    # the smallest (slack + tolerance) / rate, without divisions
    reach, by = np.inf, 1.0
    for side in range(2):
        limit = high if side else low
        sign = 1.0 - 2.0 * side
        for i in range(n):
            rate = sign * (w[1, i] - limit[1, i])
            slack = sign * (w[0, i] - limit[0, i]) + lam * rate
            room = max(slack, 0.0) + position[4 + (codes[i] & 1)]
            if rate > slowest and room * by < reach * rate:
                reach, by = room, rate
    if reach == np.inf:
        return -1, 0, 0.0, 0.0
    reach /= by
    best, best_side, best_fall, best_order = -1, 0, 0.0, -np.inf
    for side in range(2):
        limit = high if side else low
        sign = 1.0 - 2.0 * side
        for i in range(n):
            rate = sign * (w[1, i] - limit[1, i])
            slack = max(sign * (w[0, i] - limit[0, i]) + lam * rate, 0.0)
            if rate > slowest and slack <= reach * rate:
                order = -sign * (w[2, i] - limit[2, i]) / rate
                if slack <= position[4 + (codes[i] & 1)]:
                    order = min(order, delta)
                if order > best_order:
                    best, best_side, best_fall, best_order = i, side, slack / rate, order
    return best, best_side, lam - best_fall, best_order


@compiled
def first_block(
    tableau: Tableau, ray: Array, sign: float, mover: int, travel: Array, p: int, blocks: Array
) -> tuple[int, int]:
    """Return (coordinate, upper) of the first block of a step along sign * ray; -1 where none.

    ``travel`` is how far the mover itself may go, infinite where nothing stops it. ``blocks`` is
    work space. Of several ties, those of very small ray entries are passed over, and the
    perturbation decides between the others.
    """
    codes, w, low, high, R = tableau.codes, tableau.w, tableau.low, tableau.high, tableau.R
    lam, delta = tableau.position[0], tableau.position[1]
    k = tableau.counters[0]
    primal = not codes[mover] & 1
    room = tableau.position[5] if primal else tableau.position[4]
    # multipliers move at the variables and at the rows in R, values at the rows and in C
    begin, end, others = (0, p, R) if primal else (p, len(codes), tableau.C)
    shift = p if primal else 0
    reach, by, largest = np.inf, 1.0, 1.0
    own = np.isfinite(travel[0])
    way = max(0.0, travel[0] + lam * travel[1]) if own else np.inf
    if own:
        reach = way + room
    for at in range(end - begin + k):
        i = begin + at if at < end - begin else others[at - end + begin] + shift
        speed = abs(ray[i])
        if i == mover or speed <= _PIVOT:
            continue
        largest = max(largest, speed)
        up = sign * ray[i] > 0.0
        limit = high if up else low
        gap = limit[0, i] - w[0, i] + lam * (limit[1, i] - w[1, i])
        slack = max(0.0, gap if up else -gap) + room
        if slack * by < reach * speed:
            reach, by = slack, speed
    if reach == np.inf:
        return -1, 0
    reach /= by
    count, quickest = 0, 1.0 if way <= reach else 0.0
    for at in range(end - begin + k):
        i = begin + at if at < end - begin else others[at - end + begin] + shift
        speed = abs(ray[i])
        if i == mover or speed <= _PIVOT:
            continue
        up = sign * ray[i] > 0.0
        limit = high if up else low
        gap = limit[0, i] - w[0, i] + lam * (limit[1, i] - w[1, i])
        if max(0.0, gap if up else -gap) <= reach * speed:
            blocks[count] = i
            count += 1
            quickest = max(quickest, speed)
    smallest = max(_STABLE * quickest, _PIVOT * largest)
    best, best_up, best_order = -1, 0, np.inf
    if way <= reach and smallest <= 1.0:
        best, best_order = mover, travel[2] + delta * travel[1]
    for at in range(count):
        i = blocks[at]
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


@compiled
def _add_rows(out: Array, weights: Array, matrix: Array, rows: Array, k: int, length: int) -> None:
    """Add sum_r weights[r] matrix[rows[r], :length] to out, four rows at a time."""
    r = 0
    while r + 4 <= k:
        w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        a0, a1 = matrix[rows[r]], matrix[rows[r + 1]]
        a2, a3 = matrix[rows[r + 2]], matrix[rows[r + 3]]
        for j in range(length):
            out[j] += w0 * a0[j] + w1 * a1[j] + w2 * a2[j] + w3 * a3[j]
        r += 4
    while r < k:
        w0, a0 = weights[r], matrix[rows[r]]
        for j in range(length):
            out[j] += w0 * a0[j]
        r += 1


@compiled
def _multiply(matrix: Array, x: Array, k: int, out: Array) -> None:
    """Set out to matrix[:k, :k] x, four rows at a time."""
    whole = k - k % 4
    for r in range(0, whole, 4):
        a0, a1, a2, a3 = matrix[r], matrix[r + 1], matrix[r + 2], matrix[r + 3]
        t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
        for c in range(k):
            t0 += a0[c] * x[c]
            t1 += a1[c] * x[c]
            t2 += a2[c] * x[c]
            t3 += a3[c] * x[c]
        out[r], out[r + 1], out[r + 2], out[r + 3] = t0, t1, t2, t3
    for r in range(whole, k):
        row = matrix[r]
        total = 0.0
        for c in range(k):
            total += row[c] * x[c]
        out[r] = total


@compiled
def _multiply_transposed(matrix: Array, x: Array, k: int, out: Array) -> None:
    """Set out to matrix[:k, :k]' x."""
    out[:k] = 0.0
    _add_rows(out, x, matrix, np.arange(k), k, k)


@compiled
def dual_ray(
    u: int, program: DenseProgram, tableau: Tableau, k: int, refined: bool, ray: Array
) -> None:
    """Set `ray` to how the multipliers move when that of u, on a piece, grows by 1.

    All other coordinates on pieces keep theirs: B' step = -(row of u), or -e_u for a variable.
    """
    A, C, R = program.A, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    p = A.shape[1]
    right, step = np.zeros(k), np.zeros(k)
    ray[:] = 0.0
    if u < p:
        right[tableau.where[u]] = -1.0
        step[:] = -inverse[tableau.where[u], :k]
    else:
        for c in range(k):
            right[c] = -A[u - p, C[c]]
        _multiply_transposed(inverse, right, k, step)
        ray[:p] = A[u - p]
    if refined:
        correction = np.empty(k)
        _multiply_transposed(kernel, step, k, correction)
        right -= correction
        _multiply_transposed(inverse, right, k, correction)
        step += correction
    _add_rows(ray, step, A, R, k, p)
    for j in range(p):
        ray[j] = -ray[j]
    for c in range(k):
        ray[C[c]] = 0.0
    for r in range(k):
        ray[p + R[r]] = step[r]
    ray[u] = 1.0


@compiled
def primal_ray(
    w: int, program: DenseProgram, tableau: Tableau, k: int, refined: bool, ray: Array
) -> None:
    """Set `ray` to how the values move when that of w, at a kink, grows by 1.

    All other coordinates at kinks stay there: B step = -(column of w), or e_w for a row.
    """
    AT, C, R = program.AT, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    p = len(AT)
    right, step = np.zeros(k), np.zeros(k)
    ray[:] = 0.0
    rows = ray[p:]
    if w >= p:
        at = tableau.where[w]
        right[at] = 1.0
        for c in range(k):
            step[c] = inverse[c, at]
    else:
        for r in range(k):
            right[r] = -AT[w, R[r]]
        _multiply(inverse, right, k, step)
        rows[:] = AT[w]
    if refined:
        correction = np.empty(k)
        _multiply(kernel, step, k, correction)
        right -= correction
        _multiply(inverse, right, k, correction)
        step += correction
    _add_rows(rows, step, AT, C, k, len(rows))
    for r in range(k):
        rows[R[r]] = 0.0
    for c in range(k):
        ray[C[c]] = step[c]
    ray[w] = 1.0


@compiled
def _subtract(row: Array, weight: float, other: Array, k: int) -> None:
    for r in range(k):
        row[r] -= weight * other[r]


@compiled
def exchange(u: int, w: int, program: DenseProgram, tableau: Tableau, k: int) -> int:
    """Take u out of the coordinates on pieces and w into them; return the new kernel size."""
    A, C, R, where = program.A, tableau.C, tableau.R, tableau.where
    kernel, inverse = tableau.kernel, tableau.inverse
    p = A.shape[1]
    if u < p and w < p:
        at = where[u]
        image, column = np.empty(k), np.empty(k)
        for r in range(k):
            kernel[r, at] = column[r] = A[R[r], w]
        _multiply(inverse, column, k, image)
        pivot = image[at]
        pivot_row = inverse[at]
        for r in range(k):
            pivot_row[r] /= pivot
        for c in range(k):
            if c != at and image[c] != 0.0:
                _subtract(inverse[c], image[c], pivot_row, k)
        C[at] = w
        where[w], where[u] = at, -1
        return k
    if u >= p and w >= p:
        at = where[w]
        image, row = np.empty(k), np.empty(k)
        for c in range(k):
            kernel[at, c] = row[c] = A[u - p, C[c]]
        _multiply_transposed(inverse, row, k, image)
        pivot = image[at]
        for c in range(k):
            scaled = inverse[c, at] / pivot
            _subtract(inverse[c], scaled, image, k)
            inverse[c, at] = scaled
        R[at] = u - p
        where[u], where[w] = at, -1
        return k
    if u < p:
        at_c, at_r = where[u], where[w]
        pivot = inverse[at_c, at_r]
        for c in range(k):
            if c != at_c:
                _subtract(inverse[c], inverse[c, at_r] / pivot, inverse[at_c], k)
        last = k - 1
        if at_c != last:
            inverse[at_c, :k] = inverse[last, :k]
            for r in range(k):
                kernel[r, at_c] = kernel[r, last]
            C[at_c] = C[last]
            where[C[at_c]] = at_c
        if at_r != last:
            for c in range(last):
                inverse[c, at_r] = inverse[c, last]
            kernel[at_r, :k] = kernel[last, :k]
            R[at_r] = R[last]
            where[p + R[at_r]] = at_r
        where[u], where[w] = -1, -1
        return last
    image, column = np.empty(k), np.empty(k)
    coimage, row = np.empty(k), np.empty(k)
    for r in range(k):
        kernel[r, k] = column[r] = A[R[r], w]
    for c in range(k):
        kernel[k, c] = row[c] = A[u - p, C[c]]
    _multiply(inverse, column, k, image)
    _multiply_transposed(inverse, row, k, coimage)
    pivot = kernel[k, k] = A[u - p, w]
    for c in range(k):
        pivot -= row[c] * image[c]
    for c in range(k):
        scaled = image[c] / pivot
        _subtract(inverse[c], -scaled, coimage, k)
        inverse[c, k] = -scaled
    for r in range(k):
        inverse[k, r] = -coimage[r] / pivot
    inverse[k, k] = 1.0 / pivot
    C[k], R[k] = w, u - p
    where[w], where[u] = k, k
    return k + 1


@compiled
def _optimal_at(w: Array, low: Array, high: Array, codes: Array, lam: float, sizes: Array) -> bool:
    """Whether no limit is violated at lam by more than a hundred tolerances."""
    for i in range(w.shape[1]):
        value = w[0, i] + lam * w[1, i]
        room = 100.0 * sizes[codes[i] & 1]
        if value < low[0, i] + lam * low[1, i] - room:
            return False
        if value > high[0, i] + lam * high[1, i] + room:
            return False
    return True


@compiled
def _record(program: DenseProgram, tableau: Tableau, records: Records, down: float) -> None:
    """Record the segment from the position's top down to `down`."""
    A, _, kink_ptr, slope_ptr, kinks, slopes = program
    m, p = A.shape
    codes, told, w, counters = tableau.codes, tableau.told, tableau.w, tableau.counters
    s = counters[4]
    records.bounds[s, 0], records.bounds[s, 1] = down, tableau.position[2]
    at = down if np.isfinite(down) else 0.0
    used = counters[6]
    for j in range(p):
        if codes[j] & 1:
            t = kink_ptr[j] + (codes[j] >> 1)
            value, rate = kinks[0, t], kinks[1, t]
        else:
            value, rate = w[0, j], w[1, j]
        if value != 0.0 or rate != 0.0:
            records.theta_index[used] = j
            records.theta_value[used] = value + at * rate
            records.theta_rate[used] = rate
            used += 1
    counters[6] = used
    used = counters[10]
    total = records.objective[s]
    total[:] = 0.0
    for i in range(m):
        code = codes[p + i]
        if code & 1:
            value, rate = w[0, p + i], w[1, p + i]
        else:
            t = slope_ptr[p + i] + (code >> 1)
            value, rate = slopes[0, t], slopes[1, t]
        if value != 0.0 or rate != 0.0:
            value += at * rate
            records.nu_index[used] = i
            records.nu_value[used] = value
            records.nu_rate[used] = rate
            used += 1
            t = kink_ptr[p + i] + (max(code - 1 + (code & 1), 0) >> 1)
            kink, kink_rate = kinks[0, t] + at * kinks[1, t], kinks[1, t]
            total[0] -= value * kink
            total[1] -= value * kink_rate + rate * kink
            total[2] -= rate * kink_rate
    counters[10] = used
    changes = counters[7]
    for t in range(counters[5]):
        i = tableau.touched[t]
        if codes[i] != told[i]:
            told[i] = codes[i]
            records.change_index[changes] = i
            records.change_code[changes] = codes[i]
            changes += 1
    counters[5], counters[7] = 0, changes
    records.ends[s, 0], records.ends[s, 1] = counters[6], counters[10]
    records.ends[s, 2] = changes
    counters[4] = s + 1
    counters[2], counters[3] = 0, 0
    tableau.position[2] = down


@compiled
def _land(variable: int, kink: float, counters: Array, records: Records) -> None:
    """Put a variable that meets a kink exactly there at the end of the last recorded segment."""
    s = counters[4] - 1
    if s < 0 or counters[4] + counters[9] < 1:
        return
    begin = records.ends[s - 1, 0] if s > 0 else 0
    size = 0.0
    found = -1
    for at in range(begin, records.ends[s, 0]):
        size = max(size, abs(records.theta_value[at]))
        if records.theta_index[at] == variable:
            found = at
    if found >= 0 and abs(records.theta_value[found] - kink) <= _SNAP * size:
        records.theta_value[found] = kink


@compiled
def _nonzeros(program: DenseProgram, tableau: Tableau, lam: float) -> int:
    """Return the number of variables that are not zero at lam."""
    count = 0
    for j in range(len(program.AT)):
        code = tableau.codes[j]
        if code & 1:
            t = program.kink_ptr[j] + (code >> 1)
            count += program.kinks[0, t] + lam * program.kinks[1, t] != 0.0
        else:
            count += tableau.w[0, j] + lam * tableau.w[1, j] != 0.0
    return count


@compiled
def advance(
    program: DenseProgram,
    tableau: Tableau,
    records: Records,
    end: float,
    start: float,
    max_pivots: int,
    max_segments: int,
    max_nonzeros: int,
) -> int:
    """Pivot until the end, a rule, or one of the pauses; return which."""
    kink_ptr, slope_ptr, kinks, slopes = program[2:]
    codes, w, low, high = tableau.codes, tableau.w, tableau.low, tableau.high
    position, counters, touched, ray, answer = tableau[10:]
    refined = counters[11] == 1
    m, p = program.A.shape
    sizes = position[4:6]
    _measure(program, tableau)
    tie, near = _TIE * abs(start), _NEAR * abs(start)
    travel = np.empty(3)
    blocks = np.empty(len(codes), np.int64)
    for _ in range(max_pivots):
        k = counters[0]
        lam, top = position[0], position[2]
        if counters[4] >= len(records.bounds) or counters[6] + p > len(records.theta_index):
            return FULL
        if counters[10] + m > len(records.nu_index):
            return FULL
        if counters[7] + counters[5] > len(records.change_index):
            return FULL
        if counters[5] + 2 > len(touched):
            return STALLED
        mover, upper, event_lam, event_delta = next_event(w, low, high, codes, position)
        last = mover < 0 or event_lam <= end + tie
        if not last and event_lam <= end + near:
            last = _optimal_at(w, low, high, codes, end, sizes)
        down = end if last else min(event_lam, lam)
        if top - down > tie or (last and (top > down or counters[3] == 1)):
            ruled = max_nonzeros >= 0 and counters[4] + counters[9] > 0
            if ruled and _nonzeros(program, tableau, 0.5 * (down + top)) > max_nonzeros:
                return NONZEROS
            _record(program, tableau, records, down)
            if last:
                return END
            if counters[4] + counters[9] >= max_segments:
                return KNOTS
        if last:
            return END
        if counters[2] >= _STALL:
            return STALLED
        position[0], position[1] = down, event_delta
        lam = down

        primal = not codes[mover] & 1
        sign = 1.0 if upper else -1.0
        side = 1 if upper else -1
        index = codes[mover] >> 1
        if primal:
            dual_ray(mover, program, tableau, k, refined, ray)
            at = slope_ptr[mover] + index
            for c in range(3):
                travel[c] = side * (slopes[c, at + side] - slopes[c, at])
        else:
            primal_ray(mover, program, tableau, k, refined, ray)
            at = kink_ptr[mover] + index
            if kink_ptr[mover] <= at + side < kink_ptr[mover + 1]:
                for c in range(3):
                    travel[c] = side * (kinks[c, at + side] - kinks[c, at])
            else:
                travel[0], travel[1], travel[2] = np.inf, 0.0, 0.0
        blocker, block_upper = first_block(tableau, ray, sign, mover, travel, p, blocks)
        if blocker < 0:
            for i in range(p + m):
                ray[i] *= sign
            return INFEASIBLE if primal else UNBOUNDED
        counters[1] += 1
        counters[2] += 1
        counters[8] += 1
        if blocker == mover:
            for i in range(p + m):
                if i != mover and ray[i] != 0.0:
                    for c in range(3):
                        w[c, i] += travel[c] * sign * ray[i]
            if primal and mover < p:
                t = kink_ptr[mover] + index - (side < 0)
                _land(mover, kinks[0, t] + lam * kinks[1, t], counters, records)
            codes[mover] += 2 * side
            set_limits(mover, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
            touched[counters[5]] = mover
            counters[5] += 1
            continue
        if primal:
            primal_ray(blocker, program, tableau, k, refined, answer)
        else:
            dual_ray(blocker, program, tableau, k, refined, answer)
        if abs(ray[blocker] + answer[mover]) > _DRIFT * abs(ray[blocker]) and counters[1] > 1:
            counters[1] -= 1
            counters[8] -= 1
            return DRIFTED
        block_side = 1 if block_upper else -1
        if primal:
            u, u_side, v, v_side = mover, side, blocker, block_side
            dual, value = ray, answer
        else:
            u, u_side, v, v_side = blocker, block_side, mover, side
            dual, value = answer, ray
        u_limit = high if u_side > 0 else low
        v_limit = high if v_side > 0 else low
        v_kink = kink_ptr[v] + (codes[v] >> 1)
        u_slope = slope_ptr[u] + (codes[u] >> 1)
        for c in range(3):
            value_step = (u_limit[c, u] - w[c, u]) / value[u]
            dual_step = (v_limit[c, v] - w[c, v]) / dual[v]
            # the rays are zero where the other one moves something
            if value_step != 0.0 or dual_step != 0.0:
                moved = w[c]
                for i in range(p + m):
                    moved[i] += value_step * value[i] + dual_step * dual[i]
            w[c, v] = kinks[c, v_kink] + value_step
            w[c, u] = slopes[c, u_slope] + dual_step
        counters[0] = exchange(u, v, program, tableau, k)
        codes[u] += u_side
        codes[v] += v_side
        if u < p:
            t = kink_ptr[u] + (codes[u] >> 1)
            _land(u, kinks[0, t] + lam * kinks[1, t], counters, records)
        set_limits(u, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        set_limits(v, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        touched[counters[5]] = u
        touched[counters[5] + 1] = v
        counters[5] += 2
    return PAUSED
