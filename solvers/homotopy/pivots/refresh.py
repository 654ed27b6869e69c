"""The values of a basis recomputed from its codes, and the perturbation against ties."""

from __future__ import annotations

import numpy as np

from sparseopt.compiling import External
from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside
from ..settings import RESIDUAL
from .rays import add_rows, multiply, multiply_transposed
from .tableau import (
    AGE,
    DELTA,
    DOUBT,
    DRIFT,
    IDLE,
    KERNEL,
    LAM,
    LAPACK_INFO,
    LAPACK_LEADING,
    LAPACK_PIVOTS,
    LAPACK_ROOM,
    LAPACK_SIZE,
    REFRESHED_AT,
    DenseProgram,
    Tableau,
)

_dgetrf = External("lapack", "dgetrf", 6)
_dgetri = External("lapack", "dgetri", 7)

__all__ = ["perturb", "refresh", "set_limits", "sizes", "steepness_of"]


@compiled_inside
def refresh(program: DenseProgram, tableau: Tableau) -> int:
    """Factor the kernel again and recompute all values from the codes.

    In order: theta_C and the rows on pieces, nu_R and the variables at kinks, and how far that is
    from what they were (DRIFT).

    Parameters
    ----------
    program : DenseProgram
    tableau : Tableau
        Changed in place.

    Returns
    -------
    k : int
        Size of the kernel, or -1 where it is singular to working accuracy.
    """
    k: int = _sort_into_kernel(program, tableau)
    if k < 0:
        return -1
    if k > 0 and not _invert(tableau, k):
        return -1
    _keep(tableau)
    _set_all_limits(program, tableau)
    if not (_solve_values(program, tableau, k) and _solve_multipliers(program, tableau, k)):
        return -1
    position = tableau.position
    drift = 0.0
    if tableau.counters[AGE] > 0:
        # the segments since the last time reach up to where that was
        drift = _drift(program, tableau, position[LAM])
        drift = max(drift, _drift(program, tableau, position[REFRESHED_AT]))
    position[DRIFT], position[REFRESHED_AT] = drift, position[LAM]
    position[DOUBT] = max(position[DOUBT], drift * 1e16, _largest_entry(tableau.inverse, k))
    tableau.counters[KERNEL], tableau.counters[AGE] = k, 0
    return k


@compiled_inside
def _sort_into_kernel(program: DenseProgram, tableau: Tableau) -> int:
    """Set C, R, their places, and the kernel A[R, C] from the codes; return its size, or -1."""
    codes, C, R, place = tableau.codes, tableau.C, tableau.R, tableau.place
    m, p = program.A.shape
    columns, rows = 0, 0
    for j in range(p):
        place[j] = -1
        if not codes[j] & 1:
            if columns >= len(C):
                return -1
            C[columns], place[j] = j, columns
            columns += 1
    for i in range(m):
        place[p + i] = -1
        if codes[p + i] & 1:
            if rows >= columns:
                return -1
            R[rows], place[p + i] = i, rows
            rows += 1
    if rows != columns:
        return -1
    for r in range(rows):
        for c in range(columns):
            tableau.kernel[r, c] = program.A[R[r], C[c]]
    return columns


@compiled_inside
def _invert(tableau: Tableau, k: int) -> bool:
    """Set the inverse from the kernel, by LAPACK's dgetrf and dgetri; return whether it is finite.

    Fortran's columns are rows here, so that what LAPACK sees is transposed before and after.
    """
    kernel, inverse, lapack = tableau.kernel, tableau.inverse, tableau.lapack
    for r in range(k):
        for c in range(k):
            inverse[c, r] = kernel[r, c]
    size, leading, info = lapack[LAPACK_SIZE:], lapack[LAPACK_LEADING:], lapack[LAPACK_INFO:]
    lapack[LAPACK_SIZE], lapack[LAPACK_LEADING] = k, inverse.shape[0]
    lapack[LAPACK_ROOM], lapack[LAPACK_INFO] = len(tableau.lapack_work), 0
    pivots = lapack[LAPACK_PIVOTS:]
    _dgetrf(size.ctypes, size.ctypes, inverse.ctypes, leading.ctypes, pivots.ctypes, info.ctypes)
    if lapack[LAPACK_INFO] != 0:
        return False
    _dgetri(
        size.ctypes,
        inverse.ctypes,
        leading.ctypes,
        pivots.ctypes,
        tableau.lapack_work.ctypes,
        lapack[LAPACK_ROOM:].ctypes,
        info.ctypes,
    )
    finite: bool = lapack[LAPACK_INFO] == 0
    for r in range(k):
        finite = finite and np.isfinite(inverse[r, r])
        for c in range(r):
            finite = finite and np.isfinite(inverse[r, c]) and np.isfinite(inverse[c, r])
            inverse[r, c], inverse[c, r] = inverse[c, r], inverse[r, c]
    return finite


@_invert.in_numpy
def _(tableau: Tableau, k: int) -> bool:
    try:
        inverse = np.linalg.inv(tableau.kernel[:k, :k])
    except np.linalg.LinAlgError:
        return False
    tableau.inverse[:k, :k] = inverse
    return bool(np.isfinite(inverse).all())


@compiled_inside
def _largest_entry(matrix: Array, k: int) -> float:
    size = 0.0
    for r in range(k):
        for c in range(k):
            size = max(size, abs(matrix[r, c]))
    return size


@_largest_entry.in_numpy
def _(matrix: Array, k: int) -> float:
    return float(np.abs(matrix[:k, :k]).max(initial=0.0))


@compiled_inside
def _keep(tableau: Tableau) -> None:
    """Keep the constants and rates of all values, to see how far they had drifted."""
    before, w = tableau.work, tableau.w
    for i in range(len(tableau.codes)):
        before[4, i], before[5, i] = w[0, i], w[1, i]


@_keep.in_numpy
def _(tableau: Tableau) -> None:
    n = len(tableau.codes)
    tableau.work[4:6, :n] = tableau.w[:2, :n]


@compiled_inside
def set_limits(i: int, program: DenseProgram, tableau: Tableau) -> None:
    """Set low and high of coordinate i: two slopes where it is at a kink, else two kinks.

    Parameters
    ----------
    i : int
        A coordinate, 0 to n - 1.
    program : DenseProgram
    tableau : Tableau
        Column i of `low` and `high` is set.
    """
    low, high, index = tableau.low, tableau.high, tableau.codes[i] >> 1
    if tableau.codes[i] & 1:
        s = program.slope_ptr[i] + index
        for c in range(3):
            low[c, i] = program.slopes[c, s]
            high[c, i] = program.slopes[c, s + 1]
        return
    begin, end = program.kink_ptr[i], program.kink_ptr[i + 1]
    over = begin + index
    for c in range(3):
        low[c, i] = program.kinks[c, over - 1] if over > begin else (-np.inf if c == 0 else 0.0)
        high[c, i] = program.kinks[c, over] if over < end else (np.inf if c == 0 else 0.0)


@compiled_inside
def _set_all_limits(program: DenseProgram, tableau: Tableau) -> None:
    for i in range(len(tableau.codes)):
        set_limits(i, program, tableau)


@_set_all_limits.in_numpy
def _(program: DenseProgram, tableau: Tableau) -> None:
    codes, low, high = tableau.codes, tableau.low, tableau.high
    at_kink = codes & 1 == 1
    s = (program.slope_ptr[:-1] + (codes >> 1))[at_kink]
    low[:, at_kink], high[:, at_kink] = program.slopes[:, s], program.slopes[:, s + 1]
    moving = np.flatnonzero(~at_kink)
    begin, end = program.kink_ptr[moving], program.kink_ptr[moving + 1]
    over = begin + (codes[moving] >> 1)
    low[:, moving], high[:, moving] = 0.0, 0.0
    low[0, moving], high[0, moving] = -np.inf, np.inf
    below, above = over > begin, over < end
    low[:, moving[below]] = program.kinks[:, over[below] - 1]
    high[:, moving[above]] = program.kinks[:, over[above]]


@compiled_inside
def _solve_values(program: DenseProgram, tableau: Tableau, k: int) -> bool:
    """Set the values of variables and rows on pieces; return whether the kernel allows it.

    B theta_C = t_R - A[R, N] theta_N with the variables N at their kinks, and A theta for the rows.
    """
    AT, C, R = program.AT, tableau.C, tableau.R
    codes, w, work = tableau.codes, tableau.w, tableau.work
    p = len(AT)
    rows, theta, right = tableau.block_ray[p:], work[0], work[1]
    size, residual = 0.0, 0.0
    for c in range(3):
        _sum_rows(rows, AT, codes[:p], 1, program.kinks[c], program.kink_ptr[: p + 1])
        for r in range(k):
            i = p + R[r]
            right[r] = program.kinks[c, program.kink_ptr[i] + (codes[i] >> 1)] - rows[R[r]]
        left, scale = _solve(tableau, k, right, theta)
        residual, size = max(residual, left), max(size, scale)
        add_rows(rows, theta, AT, C, k)
        for entry in range(k):
            w[c, C[entry]] = theta[entry]
        for i in range(len(rows)):
            if not codes[p + i] & 1:
                w[c, p + i] = rows[i]
    return residual <= RESIDUAL * size


@compiled_inside
def _solve_multipliers(program: DenseProgram, tableau: Tableau, k: int) -> bool:
    """Set the multipliers of rows and variables at kinks; return whether the kernel allows it.

    B' nu_R = -g_C - (A' nu)_C with the rows on pieces at their slopes, and g = -A' nu.
    """
    A, C, R = program.A, tableau.C, tableau.R
    codes, w, work = tableau.codes, tableau.w, tableau.work
    p = A.shape[1]
    back, nu, right = tableau.block_ray[:p], work[0], work[1]
    size, residual = 0.0, 0.0
    for c in range(3):
        _sum_rows(back, A, codes[p:], 0, program.slopes[c], program.slope_ptr[p:])
        for entry in range(k):
            j = C[entry]
            right[entry] = -program.slopes[c, program.slope_ptr[j] + (codes[j] >> 1)] - back[j]
        left, scale = _solve_transposed(tableau, k, right, nu)
        residual, size = max(residual, left), max(size, scale)
        add_rows(back, nu, A, R, k)
        for r in range(k):
            w[c, p + R[r]] = nu[r]
        for j in range(p):
            if codes[j] & 1:
                w[c, j] = -back[j]
    return residual <= RESIDUAL * size


@compiled_inside
def _solve(tableau: Tableau, k: int, right: Array, x: Array) -> tuple[float, float]:
    """Solve B x = right with one step of refinement; return the residual, and what it is part of.

    The residual is infinite where it is not a number.
    """
    kernel, inverse, rest = tableau.kernel, tableau.inverse, tableau.work[2]
    correction = tableau.work[3]
    multiply(inverse, right, k, x)
    multiply(kernel, x, k, rest)
    for r in range(k):
        rest[r] = right[r] - rest[r]
    multiply(inverse, rest, k, correction)
    for r in range(k):
        x[r] += correction[r]
    multiply(kernel, x, k, rest)
    found: tuple[float, float] = _compare(right, rest, x, k)
    return found


@compiled_inside
def _solve_transposed(tableau: Tableau, k: int, right: Array, x: Array) -> tuple[float, float]:
    """Solve B' x = right in the same way."""
    kernel, inverse, rest = tableau.kernel, tableau.inverse, tableau.work[2]
    correction = tableau.work[3]
    multiply_transposed(inverse, right, k, x)
    multiply_transposed(kernel, x, k, rest)
    for r in range(k):
        rest[r] = right[r] - rest[r]
    multiply_transposed(inverse, rest, k, correction)
    for r in range(k):
        x[r] += correction[r]
    multiply_transposed(kernel, x, k, rest)
    found: tuple[float, float] = _compare(right, rest, x, k)
    return found


@compiled_inside
def _compare(right: Array, product: Array, x: Array, k: int) -> tuple[float, float]:
    """Return the largest residual and the sum of the largest entries of both sides."""
    residual, of_right, of_x = 0.0, 0.0, 0.0
    for r in range(k):
        residual = max(residual, abs(right[r] - product[r]))
        of_right, of_x = max(of_right, abs(right[r])), max(of_x, abs(x[r]))
        if not np.isfinite(product[r]):
            return np.inf, of_right + of_x
    return residual, of_right + of_x


@_compare.in_numpy
def _(right: Array, product: Array, x: Array, k: int) -> tuple[float, float]:
    size = np.abs(right[:k]).max(initial=0.0) + np.abs(x[:k]).max(initial=0.0)
    if not np.isfinite(product[:k]).all():
        return np.inf, size
    return np.abs(right[:k] - product[:k]).max(initial=0.0), size


@compiled_inside
def _sum_rows(
    out: Array, matrix: Array, codes: Array, parity: int, table: Array, ptr: Array
) -> None:
    """Set out to the sum of the rows whose codes have a parity, times their entries of a table."""
    for i in range(len(out)):
        out[i] = 0.0
    for row in range(len(codes)):
        if codes[row] & 1 == parity:
            weight = table[ptr[row] + (codes[row] >> 1)]
            if weight != 0.0:
                for i in range(len(out)):
                    out[i] += weight * matrix[row, i]


@_sum_rows.in_numpy
def _(out: Array, matrix: Array, codes: Array, parity: int, table: Array, ptr: Array) -> None:
    chosen = np.flatnonzero(codes & 1 == parity)
    weights = table[ptr[chosen] + (codes[chosen] >> 1)]
    some = weights != 0.0
    np.matmul(weights[some], matrix[chosen[some]], out=out)


@compiled_inside
def sizes(program: DenseProgram, tableau: Tableau, lam: float, parity: int) -> tuple[float, float]:
    """Return the largest value of a coordinate, or multiplier (`parity` 1), and the largest rate.

    Of the terms that they are added up from, whose rounding errors they have: a coordinate at a
    kink has its value, one on a piece its slope. Other kinks and slopes do not count: those of data
    in other units may be larger by many orders of magnitude.

    Parameters
    ----------
    program : DenseProgram
    tableau : Tableau
    lam : float
    parity : int
        0 for values, 1 for multipliers.

    Returns
    -------
    size, rate : float
    """
    codes, w = tableau.codes, tableau.w
    known = program.slopes if parity else program.kinks
    ptr = program.slope_ptr if parity else program.kink_ptr
    size, fastest = 0.0, 0.0
    for i in range(len(codes)):
        if codes[i] & 1 == parity:
            size = max(size, abs(w[0, i] + lam * w[1, i]))
            fastest = max(fastest, abs(w[1, i]))
        else:
            t = ptr[i] + (codes[i] >> 1)
            change = abs(lam * known[1, t])
            size = max(size, abs(known[0, t]) + change)
            fastest = max(fastest, abs(known[1, t]))
    return size, fastest


@sizes.in_numpy
def _(program: DenseProgram, tableau: Tableau, lam: float, parity: int) -> tuple[float, float]:
    codes, w = tableau.codes, tableau.w
    known = program.slopes if parity else program.kinks
    ptr = program.slope_ptr if parity else program.kink_ptr
    moves = codes & 1 == parity
    t = (ptr[:-1] + (codes >> 1))[~moves]
    size = max(
        np.abs(w[0] + lam * w[1])[moves].max(initial=0.0),
        (np.abs(known[0, t]) + np.abs(lam * known[1, t])).max(initial=0.0),
    )
    return size, max(np.abs(w[1])[moves].max(initial=0.0), np.abs(known[1, t]).max(initial=0.0))


@compiled_inside
def _drift(program: DenseProgram, tableau: Tableau, lam: float) -> float:
    """Return how far values and multipliers at lam have moved from those kept, relative.

    max over both kinds of max_i |w_i - before_i| / max_i |w_i|, with the sizes of :func:`sizes`.
    """
    if not np.isfinite(lam):
        return 0.0
    w, before = tableau.w, tableau.work
    value, _ = sizes(program, tableau, lam, 0)
    multiplier, _ = sizes(program, tableau, lam, 1)
    of_value, of_multiplier = 0.0, 0.0
    for i in range(len(tableau.codes)):
        now = w[0, i] + lam * w[1, i]
        change = abs(now - before[4, i] - lam * before[5, i])
        if tableau.codes[i] & 1:
            of_multiplier = max(of_multiplier, change)
        else:
            of_value = max(of_value, change)
    drift = of_value / value if value > 0.0 else 0.0
    return max(drift, of_multiplier / multiplier if multiplier > 0.0 else 0.0)


@_drift.in_numpy
def _(program: DenseProgram, tableau: Tableau, lam: float) -> float:
    if not np.isfinite(lam):
        return 0.0
    n = len(tableau.codes)
    w, before, at_kink = tableau.w[:, :n], tableau.work[:, :n], tableau.codes & 1 == 1
    change = np.abs(w[0] + lam * w[1] - before[4] - lam * before[5])
    drift = 0.0
    for parity, moved in ((0, change[~at_kink]), (1, change[at_kink])):
        size, _ = sizes(program, tableau, lam, parity)
        if size > 0.0:
            drift = max(drift, float(moved.max(initial=0.0)) / size)
    return drift


@compiled_inside
def steepness_of(program: DenseProgram, tableau: Tableau) -> float:
    """Return how much larger a change with lam, since it was at the centre, is than a value.

    The values are sums of what they are at the centre and of that change, and have lost those
    digits. The largest ratio of the two over values and over multipliers, with the sizes and
    rates of :func:`sizes`: max over both kinds of |lam| max_i |w_1i| / max_i |w_0i + lam w_1i|.

    Parameters
    ----------
    program : DenseProgram
    tableau : Tableau

    Returns
    -------
    float
    """
    ratio, lam = 0.0, tableau.position[LAM]
    for parity in range(2):
        size, rate = sizes(program, tableau, lam, parity)
        if size > 0.0:
            ratio = max(ratio, abs(lam) * rate / size)
    return ratio


@compiled_inside
def perturb(program: DenseProgram, tableau: Tableau, seed: int) -> None:
    """Draw the symbolic perturbation again, so that the basis is strictly optimal.

    Kinks and slopes that the basis rests on stay; every other one moves away from it, by a random
    amount that keeps the order within each coordinate: in the order piece 0, kink 0, piece 1, ...
    those before the place of the code get negative offsets, those behind it positive ones.
    To be followed by a refresh.

    Parameters
    ----------
    program : DenseProgram
        The third components of its kinks and slopes are overwritten.
    tableau : Tableau
    seed : int
        Of numba's generator.
    """
    np.random.seed(seed)  # noqa: NPY002 (numba's own generator)
    codes = tableau.codes
    for i in range(len(codes)):
        for parity in range(2):
            ptr = program.kink_ptr if parity else program.slope_ptr
            part = program.kinks if parity else program.slopes
            for at in range(ptr[i], ptr[i + 1]):
                away = 2 * (at - ptr[i]) + parity - codes[i]
                offset = np.random.uniform(0.0, 0.9)  # noqa: NPY002
                if away == 0:
                    offset = 0.0
                elif away < 0:
                    offset = -offset
                part[2, at] = away + offset if np.isfinite(part[0, at]) else 0.0
    tableau.position[DELTA] = 0.0
    tableau.counters[IDLE] = 0


@perturb.in_numpy
def _(program: DenseProgram, tableau: Tableau, seed: int) -> None:
    # The same numbers, without a touch at the generator of the caller.
    uniform = np.random.RandomState(seed).uniform
    sides = (
        (program.slope_ptr, program.slopes, 0),
        (program.kink_ptr, program.kinks, 1),
    )
    for i, code in enumerate(tableau.codes):
        for ptr, part, parity in sides:
            begin, end = ptr[i], ptr[i + 1]
            away = 2 * np.arange(end - begin) + (parity - code)
            offsets = np.sign(away) * uniform(0.0, 0.9, end - begin)
            part[2, begin:end] = np.where(np.isfinite(part[0, begin:end]), away + offsets, 0.0)
    tableau.position[DELTA] = 0.0
    tableau.counters[IDLE] = 0
