"""The pivots, compiled: one dense program, from one optimal basis to the next.

The functions work on flat arrays (see :mod:`~sparseopt.solvers.homotopy.state`) and are resumed
where they stopped. The mathematics is that of the module `engine`; the names are the same.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.compiled import compiled

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
    "advance",
    "refresh",
]

END, PAUSED, FULL, STALLED, DRIFTED, INFEASIBLE, UNBOUNDED, KNOTS, NONZEROS = range(9)
"""Why :func:`advance` returned."""

_TIE = 1e-12
_NEAR = 1e-8
_RATE = 1e-13
_PIVOT = 1e-10
_STABLE = 1e-5
_DRIFT = 1e-7
_STALL = 500


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
def refresh(
    A: Array,
    AT: Array,
    codes: Array,
    kink_ptr: Array,
    slope_ptr: Array,
    kinks: Array,
    slopes: Array,
    w: Array,
    low: Array,
    high: Array,
    C: Array,
    R: Array,
    where: Array,
    inverse: Array,
) -> int:
    """Factor the kernel anew and recompute all values from the codes.

    Returns
    -------
    k : int
        Size of the kernel, or -1 where it is singular to working accuracy.
    """
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
        worst = np.abs(kernel @ fresh - np.eye(k)).max()
        if not worst < 1e-6:
            return -1
        inverse[:k, :k] = fresh
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
        theta = fresh @ target
        theta += fresh @ (target - kernel @ theta)
        for c in range(k):
            for q in range(3):
                w[q, C[c]] = theta[c, q]
                z[q] += theta[c, q] * AT[C[c]]
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
        fresh_t = np.ascontiguousarray(fresh.T)
        kernel_t = np.ascontiguousarray(kernel.T)
        nu = fresh_t @ target
        nu += fresh_t @ (target - kernel_t @ nu)
        for r in range(k):
            for q in range(3):
                w[q, p + R[r]] = nu[r, q]
                back[q] += nu[r, q] * A[R[r]]
    for j in range(p):
        if codes[j] & 1:
            for c in range(3):
                w[c, j] = -back[c, j]
    return k


@compiled
def next_event(
    w: Array,
    low: Array,
    high: Array,
    codes: Array,
    lam: float,
    delta: float,
    kink_size: float,
    slope_size: float,
    sizes: Array,
) -> tuple[int, int, float, float]:
    """Return (coordinate, upper, lam, delta) of the next event; coordinate -1 where there is none.

    ``sizes`` gets the primal and the dual tolerance.
    """
    n = w.shape[1]
    fastest, primal, dual = 0.0, kink_size, slope_size
    for i in range(n):
        size = abs(w[0, i] + lam * w[1, i])
        if codes[i] & 1:
            dual = max(dual, size)
        else:
            primal = max(primal, size)
        if low[0, i] > -np.inf:
            fastest = max(fastest, abs(w[1, i] - low[1, i]))
        if high[0, i] < np.inf:
            fastest = max(fastest, abs(w[1, i] - high[1, i]))
    sizes[0], sizes[1] = _TIE * primal, _TIE * dual
    slowest = _RATE * fastest
    reach = np.inf
    for i in range(n):
        room = sizes[codes[i] & 1]
        for side in range(2):
            limit = low if side == 0 else high
            if np.isinf(limit[0, i]):
                continue
            sign = 1.0 - 2.0 * side
            rate = sign * (w[1, i] - limit[1, i])
            if rate <= slowest:
                continue
            slack = max(0.0, sign * (w[0, i] - limit[0, i] + lam * (w[1, i] - limit[1, i])))
            reach = min(reach, (slack + room) / rate)
    if reach == np.inf:
        return -1, 0, 0.0, 0.0
    best, best_side, best_fall, best_order = -1, 0, 0.0, -np.inf
    for i in range(n):
        room = sizes[codes[i] & 1]
        for side in range(2):
            limit = low if side == 0 else high
            if np.isinf(limit[0, i]):
                continue
            sign = 1.0 - 2.0 * side
            rate = sign * (w[1, i] - limit[1, i])
            if rate <= slowest:
                continue
            slack = max(0.0, sign * (w[0, i] - limit[0, i] + lam * (w[1, i] - limit[1, i])))
            fall = slack / rate
            if fall <= reach:
                order = -sign * (w[2, i] - limit[2, i]) / rate
                if slack <= room:
                    order = min(order, delta)
                if order > best_order:
                    best, best_side, best_fall, best_order = i, side, fall, order
    return best, best_side, lam - best_fall, best_order


@compiled
def first_block(
    w: Array,
    low: Array,
    high: Array,
    codes: Array,
    ray: Array,
    sign: float,
    mover: int,
    travel: Array,
    lam: float,
    delta: float,
    sizes: Array,
) -> tuple[int, int]:
    """Return (coordinate, upper) of the first block of a step along sign * ray; -1 where none.

    ``travel`` is how far the mover itself may go, infinite where nothing stops it.
    """
    n = w.shape[1]
    kind = 1 - (codes[mover] & 1)
    largest = 0.0
    for i in range(n):
        if i != mover and (codes[i] & 1) == kind:
            largest = max(largest, abs(ray[i]))
    smallest = _PIVOT * max(1.0, largest)
    own = np.isfinite(travel[0])
    reach = np.inf
    if own:
        reach = max(0.0, travel[0] + lam * travel[1]) + sizes[kind]
    for i in range(n):
        speed = abs(ray[i])
        if i == mover or (codes[i] & 1) != kind or speed <= smallest:
            continue
        up = sign * ray[i] > 0.0
        limit = high if up else low
        if np.isinf(limit[0, i]):
            continue
        gap = limit[0, i] - w[0, i] + lam * (limit[1, i] - w[1, i])
        slack = max(0.0, gap if up else -gap)
        reach = min(reach, (slack + sizes[kind]) / speed)
    if reach == np.inf:
        return -1, 0
    quickest = 0.0
    if own and max(0.0, travel[0] + lam * travel[1]) <= reach:
        quickest = 1.0
    for i in range(n):
        speed = abs(ray[i])
        if i == mover or (codes[i] & 1) != kind or speed <= max(smallest, quickest):
            continue
        up = sign * ray[i] > 0.0
        limit = high if up else low
        if np.isinf(limit[0, i]):
            continue
        gap = limit[0, i] - w[0, i] + lam * (limit[1, i] - w[1, i])
        slack = max(0.0, gap if up else -gap)
        if slack / speed <= reach:
            quickest = speed
    best, best_up, best_order = -1, 0, np.inf
    if own and max(0.0, travel[0] + lam * travel[1]) <= reach and quickest * _STABLE <= 1.0:
        best, best_order = mover, travel[2] + delta * travel[1]
    for i in range(n):
        speed = abs(ray[i])
        if i == mover or (codes[i] & 1) != kind or speed <= smallest:
            continue
        if speed < _STABLE * quickest:
            continue
        up = sign * ray[i] > 0.0
        limit = high if up else low
        if np.isinf(limit[0, i]):
            continue
        gap = limit[0, i] - w[0, i] + lam * (limit[1, i] - w[1, i])
        slack = max(0.0, gap if up else -gap)
        if slack / speed <= reach:
            tie = limit[2, i] - w[2, i] + delta * (limit[1, i] - w[1, i])
            order = (tie if up else -tie) / speed
            if order < best_order:
                best, best_up, best_order = i, 1 if up else 0, order
    return best, best_up


@compiled
def dual_ray(
    u: int, A: Array, C: Array, R: Array, k: int, where: Array, inverse: Array, ray: Array
) -> None:
    """Set `ray` to how the multipliers move when that of u, on a piece, grows by 1."""
    p = A.shape[1]
    step = np.zeros(k)
    ray[:] = 0.0
    back = ray[:p]
    if u < p:
        step[:] = -inverse[where[u], :k]
    else:
        for c in range(k):
            step -= A[u - p, C[c]] * inverse[c, :k]
        back -= A[u - p]
    for r in range(k):
        back -= step[r] * A[R[r]]
    for c in range(k):
        ray[C[c]] = 0.0
    for r in range(k):
        ray[p + R[r]] = step[r]
    ray[u] = 1.0


@compiled
def primal_ray(
    w: int, AT: Array, C: Array, R: Array, k: int, where: Array, inverse: Array, ray: Array
) -> None:
    """Set `ray` to how the values move when that of w, at a kink, grows by 1."""
    p = len(AT)
    step = np.zeros(k)
    ray[:] = 0.0
    rows = ray[p:]
    if w >= p:
        at = where[w]
        for c in range(k):
            step[c] = inverse[c, at]
    else:
        for c in range(k):
            total = 0.0
            for r in range(k):
                total += inverse[c, r] * AT[w, R[r]]
            step[c] = -total
        rows += AT[w]
    for c in range(k):
        rows += step[c] * AT[C[c]]
    for r in range(k):
        ray[p + R[r]] = 0.0
    for c in range(k):
        ray[C[c]] = step[c]
    ray[w] = 1.0


@compiled
def exchange(
    u: int, w: int, A: Array, C: Array, R: Array, k: int, where: Array, inverse: Array
) -> int:
    """Take u out of the coordinates on pieces and w into them; return the new kernel size."""
    p = A.shape[1]
    if u < p and w < p:
        at = where[u]
        image = np.empty(k)
        for c in range(k):
            total = 0.0
            for r in range(k):
                total += inverse[c, r] * A[R[r], w]
            image[c] = total
        pivot = image[at]
        inverse[at, :k] /= pivot
        for c in range(k):
            if c != at and image[c] != 0.0:
                inverse[c, :k] -= image[c] * inverse[at, :k]
        C[at] = w
        where[w], where[u] = at, -1
        return k
    if u >= p and w >= p:
        at = where[w]
        image = np.zeros(k)
        for c in range(k):
            image += A[u - p, C[c]] * inverse[c, :k]
        pivot = image[at]
        for c in range(k):
            scaled = inverse[c, at] / pivot
            inverse[c, :k] -= scaled * image
            inverse[c, at] = scaled
        R[at] = u - p
        where[u], where[w] = at, -1
        return k
    if u < p:
        row, column = where[u], where[w]
        pivot = inverse[row, column]
        for c in range(k):
            if c != row:
                scaled = inverse[c, column] / pivot
                inverse[c, :k] -= scaled * inverse[row, :k]
        last = k - 1
        if row != last:
            inverse[row, :k] = inverse[last, :k]
            C[row] = C[last]
            where[C[row]] = row
        if column != last:
            for c in range(last):
                inverse[c, column] = inverse[c, last]
            R[column] = R[last]
            where[p + R[column]] = column
        where[u], where[w] = -1, -1
        return last
    image = np.empty(k)
    coimage = np.zeros(k)
    for c in range(k):
        total = 0.0
        for r in range(k):
            total += inverse[c, r] * A[R[r], w]
        image[c] = total
        coimage += A[u - p, C[c]] * inverse[c, :k]
    pivot = A[u - p, w]
    for c in range(k):
        pivot -= A[u - p, C[c]] * image[c]
    for c in range(k):
        inverse[c, :k] += (image[c] / pivot) * coimage
        inverse[c, k] = -image[c] / pivot
    inverse[k, :k] = -coimage / pivot
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
def advance(
    A: Array,
    AT: Array,
    codes: Array,
    told: Array,
    kink_ptr: Array,
    slope_ptr: Array,
    kinks: Array,
    slopes: Array,
    w: Array,
    low: Array,
    high: Array,
    C: Array,
    R: Array,
    where: Array,
    inverse: Array,
    position: Array,
    counters: Array,
    touched: Array,
    ray: Array,
    answer: Array,
    end: float,
    start: float,
    kink_size: float,
    slope_size: float,
    max_pivots: int,
    max_segments: int,
    max_nonzeros: int,
    bounds: Array,
    ends: Array,
    theta_index: Array,
    theta_value: Array,
    theta_rate: Array,
    nu_index: Array,
    nu_value: Array,
    nu_rate: Array,
    change_index: Array,
    change_code: Array,
) -> int:
    """Pivot until the end, a rule, or one of the pauses; see `state.State` for the arrays.

    ``position`` is (lam, delta, top); ``counters`` is (kernel size, pivots since the last
    refresh, pivots without progress, untold, segments, touched, used theta, used changes,
    pivots in all, segments before these records, used nu).
    """
    m, p = A.shape
    sizes = np.empty(2)
    tie, near = _TIE * abs(start), _NEAR * abs(start)
    travel = np.empty(3)
    for _ in range(max_pivots):
        k = counters[0]
        lam, delta, top = position[0], position[1], position[2]
        if counters[4] >= len(bounds) or counters[6] + p > len(theta_index):
            return FULL
        if counters[10] + m > len(nu_index):
            return FULL
        if counters[7] + counters[5] > len(change_index) or counters[5] + 2 > len(touched):
            return FULL
        mover, upper, event_lam, event_delta = next_event(
            w, low, high, codes, lam, delta, kink_size, slope_size, sizes
        )
        last = mover < 0 or event_lam <= end + tie
        if not last and event_lam <= end + near:
            last = _optimal_at(w, low, high, codes, end, sizes)
        down = end if last else min(event_lam, lam)
        if top - down > tie or (last and (top > down or counters[3] == 1)):
            if max_nonzeros >= 0 and counters[4] + counters[9] > 0:
                middle = 0.5 * (down + top)
                count = 0
                for j in range(p):
                    if codes[j] & 1:
                        t = kink_ptr[j] + (codes[j] >> 1)
                        count += kinks[0, t] + middle * kinks[1, t] != 0.0
                    else:
                        count += w[0, j] + middle * w[1, j] != 0.0
                if count > max_nonzeros:
                    return NONZEROS
            s = counters[4]
            bounds[s, 0], bounds[s, 1] = down, top
            at = down if np.isfinite(down) else 0.0
            used = counters[6]
            for j in range(p):
                if codes[j] & 1:
                    t = kink_ptr[j] + (codes[j] >> 1)
                    value, rate = kinks[0, t], kinks[1, t]
                else:
                    value, rate = w[0, j], w[1, j]
                if value != 0.0 or rate != 0.0:
                    theta_index[used] = j
                    theta_value[used] = value + at * rate
                    theta_rate[used] = rate
                    used += 1
            counters[6] = used
            used = counters[10]
            for i in range(m):
                if codes[p + i] & 1:
                    value, rate = w[0, p + i], w[1, p + i]
                else:
                    t = slope_ptr[p + i] + (codes[p + i] >> 1)
                    value, rate = slopes[0, t], slopes[1, t]
                if value != 0.0 or rate != 0.0:
                    nu_index[used] = i
                    nu_value[used] = value + at * rate
                    nu_rate[used] = rate
                    used += 1
            counters[10] = used
            changes = counters[7]
            for t in range(counters[5]):
                i = touched[t]
                if codes[i] != told[i]:
                    told[i] = codes[i]
                    change_index[changes] = i
                    change_code[changes] = codes[i]
                    changes += 1
            counters[5], counters[7] = 0, changes
            ends[s, 0], ends[s, 1], ends[s, 2] = counters[6], counters[10], changes
            counters[4] = s + 1
            counters[2], counters[3] = 0, 0
            position[2] = top = down
            if last:
                return END
            if counters[4] + counters[9] >= max_segments:
                return KNOTS
        if last:
            return END
        if counters[2] >= _STALL:
            return STALLED
        position[0], position[1] = down, event_delta
        lam, delta = down, event_delta

        primal = not codes[mover] & 1
        sign = 1.0 if upper else -1.0
        side = 1 if upper else -1
        index = codes[mover] >> 1
        if primal:
            dual_ray(mover, A, C, R, k, where, inverse, ray)
            at = slope_ptr[mover] + index
            for c in range(3):
                travel[c] = side * (slopes[c, at + side] - slopes[c, at])
        else:
            primal_ray(mover, AT, C, R, k, where, inverse, ray)
            at = kink_ptr[mover] + index
            if kink_ptr[mover] <= at + side < kink_ptr[mover + 1]:
                for c in range(3):
                    travel[c] = side * (kinks[c, at + side] - kinks[c, at])
            else:
                travel[0], travel[1], travel[2] = np.inf, 0.0, 0.0
        blocker, block_upper = first_block(
            w, low, high, codes, ray, sign, mover, travel, lam, delta, sizes
        )
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
            codes[mover] += 2 * side
            set_limits(mover, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
            touched[counters[5]] = mover
            counters[5] += 1
            continue
        if primal:
            primal_ray(blocker, AT, C, R, k, where, inverse, answer)
        else:
            dual_ray(blocker, A, C, R, k, where, inverse, answer)
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
            if value_step != 0.0:
                for i in range(p + m):
                    if not codes[i] & 1:
                        w[c, i] += value_step * value[i]
            if dual_step != 0.0:
                for i in range(p + m):
                    if codes[i] & 1:
                        w[c, i] += dual_step * dual[i]
            w[c, v] = kinks[c, v_kink] + value_step
            w[c, u] = slopes[c, u_slope] + dual_step
        counters[0] = exchange(u, v, A, C, R, k, where, inverse)
        codes[u] += u_side
        codes[v] += v_side
        set_limits(u, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        set_limits(v, codes, kink_ptr, slope_ptr, kinks, slopes, low, high)
        touched[counters[5]] = u
        touched[counters[5] + 1] = v
        counters[5] += 2
    return PAUSED
