r"""The interior-point method of :mod:`sparseopt.solvers.misdp.barrier` in compiled loops.

Everything is in flat arrays. The Schur complement :math:`H_{ij} = \langle A_i, Z A_j S^{-1}\rangle`
takes its entries by what the matrices are (Fujisawa, Kojima, Nakata 1997; DSDP's rank-one data):

- two of rank one, :math:`A_i = \alpha_i a_i a_i'`: :math:`\alpha_i \alpha_j (a_i'Z a_j)
  (a_i'S^{-1} a_j)`, two products of matrices for all of them;
- two with few entries: a sum over pairs of entries;
- any other, with :math:`T_j = Z A_j S^{-1}`: :math:`\langle A_i, T_j \rangle`.

At each iterate the multipliers give a bound that holds whatever their errors are, since bounds of
the variables are charged for them: the method stops where that reaches the cutoff, or disproves
that anything is feasible; and, where it is asked to, as soon as a node is clearly to be branched.
"""

from __future__ import annotations

from math import sqrt

import numpy as np

from sparseopt.compiling import External
from sparseopt.problems.base import Array

from ..common.compiled import compiled, compiled_inside

_dgemm = External("blas", "dgemm", 13)
_dpotrf = External("lapack", "dpotrf", 5)
_dpotrs = External("lapack", "dpotrs", 8)
_dsytrd = External("lapack", "dsytrd", 10)
_dtrtri = External("lapack", "dtrtri", 6)


class Ended:
    """What ended the method, in `report[WORD]`."""

    RUNNING, OPTIMAL, CUTOFF, INFEASIBLE, UNBOUNDED, SLOW, TROUBLE, DIVERGED, BRANCH = range(9)


K, ZERO, ROWS, BOUNDS, ARROWS, MATRICES, WHOLE = range(7)
"""Places of `shape`: variables, equations, inequalities, of which bounds at their end, second-order
cones, matrices, and the length of the multipliers."""
TOLERANCE, CUTOFF, LOOSE, SCALE_Q, SCALE_B, FAR = range(6)
"""Places of `settings`."""
WORD, ITERATIONS, BEST_ERROR, DUAL_VALUE, PULLED = range(5)
"""Places of `report`."""
SPARSE, RANK_ONE, GENERAL = range(3)
_RUNNING, _OPTIMAL, _CUTOFF, _INFEASIBLE, _UNBOUNDED = 0, 1, 2, 3, 4
_SLOW, _TROUBLE, _DIVERGED, _BRANCH = 5, 6, 7, 8
_HALF_ROOT = sqrt(0.5)
_FEW = 4
"""A matrix has few entries up to a fourth of its order."""
_SHORTEST = 0.9
"""Steps beyond 1 over this are not needed: 1 is the longest that is taken, and .9 of the room or
more."""
_PRECISION = 1e-3
"""To which the room is known."""
FARKAS = 1e-8
"""Value of a disproof, relative to its terms, at which the method stops: five times what is asked
of it afterwards."""
SURPLUS = 1e-9
"""By how much a bound must exceed the cutoff, relative to it."""


@compiled_inside
def multiply(A: Array, B: Array, C: Array, n: int, code: Array, size: Array, one: Array) -> None:
    """Write A B to C, all n x n, C-contiguous."""
    size[0] = n
    _dgemm(
        code.ctypes,
        code.ctypes,
        size.ctypes,
        size.ctypes,
        size.ctypes,
        one.ctypes,
        B.ctypes,
        size.ctypes,
        A.ctypes,
        size.ctypes,
        one[1:].ctypes,
        C.ctypes,
        size.ctypes,
    )


@compiled_inside
def against(
    A: Array, B: Array, C: Array, m: int, n: int, code: Array, size: Array, one: Array
) -> None:
    """Write A B' to C, A and B m x n, C m x m, C-contiguous."""
    size[0], size[1] = m, n
    _dgemm(
        code[2:].ctypes,
        code.ctypes,
        size.ctypes,
        size.ctypes,
        size[1:].ctypes,
        one.ctypes,
        B.ctypes,
        size[1:].ctypes,
        A.ctypes,
        size[1:].ctypes,
        one[1:].ctypes,
        C.ctypes,
        size.ctypes,
    )


@compiled_inside
def rows_times(
    A: Array, B: Array, C: Array, m: int, n: int, code: Array, size: Array, one: Array
) -> None:
    """Write A B to C, A m x n, B n x n, C-contiguous."""
    size[0], size[1] = m, n
    _dgemm(
        code.ctypes,
        code.ctypes,
        size[1:].ctypes,
        size.ctypes,
        size[1:].ctypes,
        one.ctypes,
        B.ctypes,
        size[1:].ctypes,
        A.ctypes,
        size[1:].ctypes,
        one[1:].ctypes,
        C.ctypes,
        size[1:].ctypes,
    )


@compiled_inside
def factorise(M: Array, n: int, code: Array, size: Array) -> int:
    """Overwrite M by its Cholesky factor, in the triangle that is lower to Fortran."""
    size[0], size[2] = n, 0
    _dpotrf(code[1:].ctypes, size.ctypes, M.ctypes, size.ctypes, size[2:].ctypes)
    info: int = size[2]
    return info


@compiled_inside
def substitute(F: Array, right: Array, n: int, columns: int, code: Array, size: Array) -> None:
    """Solve with the factor of :func:`factorise`, for columns of Fortran."""
    size[0], size[1], size[2] = n, columns, 0
    _dpotrs(
        code[1:].ctypes,
        size.ctypes,
        size[1:].ctypes,
        F.ctypes,
        size.ctypes,
        right.ctypes,
        size.ctypes,
        size[2:].ctypes,
    )


@compiled_inside
def transposed_times(
    A: Array, B: Array, C: Array, n: int, code: Array, size: Array, one: Array
) -> None:
    """Write A'B to C, all n x n, C-contiguous."""
    size[0] = n
    _dgemm(
        code.ctypes,
        code[2:].ctypes,
        size.ctypes,
        size.ctypes,
        size.ctypes,
        one.ctypes,
        B.ctypes,
        size.ctypes,
        A.ctypes,
        size.ctypes,
        one[1:].ctypes,
        C.ctypes,
        size.ctypes,
    )


@compiled_inside
def inverse_factor(M: Array, G: Array, n: int, code: Array, size: Array) -> int:
    """Write the upper triangular G with M^-1 = G G' to G; not 0 where M is not definite."""
    for i in range(n * n):
        G[i] = M[i]
    size[0], size[1], size[2] = n, n, 0
    _dpotrf(code[1:].ctypes, size.ctypes, G.ctypes, size.ctypes, size[2:].ctypes)
    if size[2] == 0:
        _dtrtri(
            code[1:].ctypes,
            code.ctypes,
            size.ctypes,
            G.ctypes,
            size[1:].ctypes,
            size[2:].ctypes,
        )
    for r in range(n):
        for c in range(r):
            G[r * n + c] = 0.0
    info: int = size[2]
    return info


@compiled_inside
def largest_step(
    G: Array,
    step: Array,
    W: Array,
    V: Array,
    more: Array,
    n: int,
    code: Array,
    size: Array,
    one: Array,
) -> float:
    """Return the largest t up to 1 / SHORTEST with M + t step positive semidefinite.

    M is that of :func:`inverse_factor`, whose factor is G. G' step G is made tridiagonal, and its
    least eigenvalue is found by bisection with Sturm's counts, to within PRECISION from below. -1
    after a failure.
    """
    if n == 1:
        moved = G[0] * G[0] * step[0]
        return 1.0 / _SHORTEST if moved >= -_SHORTEST else -1.0 / moved
    multiply(step, G, V, n, code, size, one)
    transposed_times(G, V, W, n, code, size, one)
    size[0], size[1], size[2] = n, more.shape[0] - 3 * n, 0
    _dsytrd(
        code[1:].ctypes,
        size.ctypes,
        W.ctypes,
        size.ctypes,
        more.ctypes,
        more[n:].ctypes,
        more[2 * n :].ctypes,
        more[3 * n :].ctypes,
        size[1:].ctypes,
        size[2:].ctypes,
    )
    # Gershgorin's discs, and the square of what is beside the diagonal.
    low, beside = np.inf, 0.0
    for i in range(n):
        after = abs(more[n + i]) if i < n - 1 else 0.0
        low = min(low, more[i] - beside - after)
        beside = after
    if size[2] != 0 or low != low or not abs(low) < np.inf:
        return -1.0
    high = -_SHORTEST
    if low >= high or exceeds(more, n, high):
        return 1.0 / _SHORTEST
    while high - low > -_PRECISION * low:
        middle = 0.5 * (low + high)
        if exceeds(more, n, middle):
            low = middle
        else:
            high = middle
    return -1.0 / low


@compiled_inside
def exceeds(more: Array, n: int, value: float) -> bool:
    """Return whether all eigenvalues of a tridiagonal matrix exceed a value.

    Its diagonal, then what is beside it, are at the beginning of `more`.
    """
    pivot = more[0] - value
    for i in range(1, n):
        if not pivot > 0.0:
            return False
        pivot = more[i] - value - more[n + i - 1] * more[n + i - 1] / pivot
    return bool(pivot > 0.0)


@compiled_inside
def pull(
    M: Array,
    n: int,
    begin: int,
    end: int,
    var: Array,
    ptr: Array,
    places: Array,
    val: Array,
    sign: float,
    out: Array,
) -> None:
    """Add sign <A_j, M> to out for the members from begin to end of a block; M is symmetric."""
    for m in range(begin, end):
        total = 0.0
        for e in range(ptr[m], ptr[m + 1]):
            r, c = places[2 * e], places[2 * e + 1]
            v = val[e] * M[r * n + c]
            total += v if r == c else 2.0 * v
        out[var[m]] += sign * total


@compiled_inside
def push(
    x: Array,
    n: int,
    begin: int,
    end: int,
    var: Array,
    ptr: Array,
    places: Array,
    val: Array,
    out: Array,
) -> None:
    """Write sum_j x_j A_j to out."""
    for i in range(n * n):
        out[i] = 0.0
    for m in range(begin, end):
        own = x[var[m]]
        for e in range(ptr[m], ptr[m + 1]):
            out[places[2 * e] * n + places[2 * e + 1]] += own * val[e]
    for r in range(n):
        for c in range(r):
            out[c * n + r] = out[r * n + c]


@compiled_inside
def average(M: Array, n: int) -> None:
    """Replace M by the mean of it and its transpose."""
    for r in range(n):
        for c in range(r):
            M[r * n + c] = M[c * n + r] = 0.5 * (M[r * n + c] + M[c * n + r])


@compiled
def read_members(
    shape: Array,
    sizes: Array,
    col_ptr: Array,
    col_row: Array,
    col_val: Array,
    first: Array,
    var: Array,
    ptr: Array,
    kind: Array,
    places: Array,
    val: Array,
    vectors: Array,
) -> int:
    """Sort the constraints' entries by block and variable, and tell of which kind each matrix is.

    Parameters
    ----------
    shape, sizes, col_ptr, col_row, col_val
        As in :func:`interior_point`.
    first : int array of shape (blocks + 1,)
        Receives where the members of each block begin.
    var, ptr, kind : int arrays
        Receive the variable, the first entry and the kind of each member.
    places : int array, val : array
        Receive row and column (row >= column), and the value of each entry.
    vectors : array
        Receives alpha and a of each member of rank one, at the place of its number times
        (1 + the largest order).

    Returns
    -------
    int
        Number of members.
    """
    k, arrows, blocks = shape[0], shape[4], shape[4] + shape[5]
    widest = 1
    for t in range(blocks):
        widest = max(widest, sizes[t])
    at = np.empty(k, np.int64)
    for j in range(k):
        at[j] = col_ptr[j]
    members, entries, begin = 0, 0, 0
    first[0] = 0
    ptr[0] = 0
    for t in range(blocks):
        n = sizes[t]
        arrow = t < arrows
        end = begin + (n if arrow else n * (n + 1) // 2)
        for j in range(k):
            if at[j] == col_ptr[j + 1] or col_row[at[j]] >= end:
                continue
            start = entries
            # The column of a packed place, which only grows.
            c, head = 0, begin
            while at[j] < col_ptr[j + 1] and col_row[at[j]] < end:
                row, value = col_row[at[j]], col_val[at[j]]
                at[j] += 1
                if value == 0.0:
                    continue
                if arrow:
                    if row == begin:
                        for i in range(n):
                            places[2 * entries], places[2 * entries + 1] = i, i
                            val[entries] = value
                            entries += 1
                    else:
                        places[2 * entries], places[2 * entries + 1] = row - begin, 0
                        val[entries] = value
                        entries += 1
                    continue
                while row >= head + n - c:
                    head += n - c
                    c += 1
                r = c + row - head
                places[2 * entries], places[2 * entries + 1] = r, c
                val[entries] = value if r == c else value * _HALF_ROOT
                entries += 1
            count = entries - start
            if count == 0:
                continue
            var[members] = j
            ptr[members + 1] = entries
            kind[members] = SPARSE
            if count > 1 and count * _FEW > n:
                kind[members] = GENERAL
                # The largest diagonal entry's column over its root, if there is rank one.
                pivot, top = -1, 0.0
                for e in range(start, entries):
                    if places[2 * e] == places[2 * e + 1] and abs(val[e]) > top:
                        pivot, top = places[2 * e], abs(val[e])
                if pivot >= 0:
                    here = members * (1 + widest)
                    alpha = 1.0
                    for i in range(n):
                        vectors[here + 1 + i] = 0.0
                    root = sqrt(top)
                    filled = 0
                    for e in range(start, entries):
                        r, c2 = places[2 * e], places[2 * e + 1]
                        if r == pivot or c2 == pivot:
                            vectors[here + 1 + r + c2 - pivot] = val[e] / root
                            filled += 1
                            if r == c2:
                                alpha = 1.0 if val[e] > 0.0 else -1.0
                    if alpha < 0.0:
                        for i in range(n):
                            vectors[here + 1 + i] *= -1.0
                    fits = count == filled * (filled + 1) // 2
                    for e in range(start, entries):
                        product = vectors[here + 1 + places[2 * e]]
                        product *= alpha * vectors[here + 1 + places[2 * e + 1]]
                        fits = fits and abs(val[e] - product) <= 1e-13 * top
                    if fits:
                        kind[members] = RANK_ONE
                        vectors[here] = alpha
            members += 1
        first[t + 1] = members
        begin = end
    return members


@compiled
def schur(
    Z: Array,
    inverse: Array,
    n: int,
    begin: int,
    end: int,
    var: Array,
    ptr: Array,
    kind: Array,
    places: Array,
    val: Array,
    vectors: Array,
    width: int,
    k: int,
    H: Array,
) -> None:
    """Add <A_i, Z A_j S^-1> of one block to H, for i >= j.

    Parameters
    ----------
    Z, inverse : arrays of shape (n^2,)
        The multiplier and the inverse of S.
    begin, end : int
        The members.
    width : int
        Of the entries of `vectors`.
    H : array of shape (k^2,)
    """
    count = 0
    for m in range(begin, end):
        count += 1 if kind[m] == RANK_ONE else 0
    code, size, one = np.empty(3, np.uint8), np.empty(4, np.int32), np.empty(2)
    code[0], code[1], code[2] = 78, 76, 84
    one[0], one[1] = 1.0, 0.0
    ones = np.empty(max(count, 1), np.int64)
    stacked = np.empty(max(count, 1) * n)
    with_Z, with_inverse = np.empty(max(count, 1) * n), np.empty(max(count, 1) * n)
    p = 0
    for m in range(begin, end):
        if kind[m] == RANK_ONE:
            ones[p] = m
            for i in range(n):
                stacked[p * n + i] = vectors[m * width + 1 + i]
            p += 1
    if count:
        first, second = np.empty(count * count), np.empty(count * count)
        rows_times(stacked, Z, with_Z, count, n, code, size, one)
        rows_times(stacked, inverse, with_inverse, count, n, code, size, one)
        against(stacked, with_Z, first, count, n, code, size, one)
        against(stacked, with_inverse, second, count, n, code, size, one)
        for a in range(count):
            i, alpha = var[ones[a]], vectors[ones[a] * width]
            for c in range(a + 1):
                j, beta = var[ones[c]], vectors[ones[c] * width]
                H[i * k + j] += alpha * beta * first[a * count + c] * second[a * count + c]
    A, W, T = np.empty(n * n), np.empty(n * n), np.empty(n * n)
    for m in range(begin, end):
        j = var[m]
        if kind[m] == GENERAL:
            for i in range(n * n):
                A[i] = 0.0
            for e in range(ptr[m], ptr[m + 1]):
                r, c = places[2 * e], places[2 * e + 1]
                A[r * n + c] = A[c * n + r] = val[e]
            multiply(Z, A, W, n, code, size, one)
            multiply(W, inverse, T, n, code, size, one)
            for other in range(begin, end):
                # Pairs of two such matrices once.
                if kind[other] == GENERAL and other < m:
                    continue
                i = var[other]
                total = 0.0
                for e in range(ptr[other], ptr[other + 1]):
                    r, c = places[2 * e], places[2 * e + 1]
                    if r == c:
                        total += val[e] * T[r * n + r]
                    else:
                        total += val[e] * (T[r * n + c] + T[c * n + r])
                H[max(i, j) * k + min(i, j)] += total
        elif kind[m] == SPARSE:
            for p in range(count):
                i, alpha = var[ones[p]], vectors[ones[p] * width]
                total = 0.0
                for e in range(ptr[m], ptr[m + 1]):
                    r, c = p * n + places[2 * e], p * n + places[2 * e + 1]
                    if r == c:
                        total += val[e] * with_Z[r] * with_inverse[r]
                    else:
                        total += val[e] * (
                            with_Z[r] * with_inverse[c] + with_Z[c] * with_inverse[r]
                        )
                H[max(i, j) * k + min(i, j)] += alpha * total
            for other in range(begin, m + 1):
                if kind[other] != SPARSE:
                    continue
                total = 0.0
                for e in range(ptr[m], ptr[m + 1]):
                    r, c = places[2 * e], places[2 * e + 1]
                    part = 0.0
                    for f in range(ptr[other], ptr[other + 1]):
                        a, d = places[2 * f], places[2 * f + 1]
                        piece = Z[c * n + a] * inverse[d * n + r]
                        if r != c:
                            piece += Z[r * n + a] * inverse[d * n + c]
                        if a != d:
                            piece += Z[c * n + d] * inverse[a * n + r]
                            if r != c:
                                piece += Z[r * n + d] * inverse[a * n + c]
                        part += val[f] * piece
                    total += val[e] * part
                i = var[other]
                H[max(i, j) * k + min(i, j)] += total


@compiled
def interior_point(
    shape: Array,
    sizes: Array,
    row_ptr: Array,
    row_col: Array,
    row_val: Array,
    col_ptr: Array,
    col_row: Array,
    col_val: Array,
    b: Array,
    q: Array,
    settings: Array,
    state: Array,
    best: Array,
    report: Array,
    steps: int,
) -> None:
    """Take up to so many steps of the method, or all until it ends.

    Parameters
    ----------
    shape : int array
        See :data:`K`.
    sizes : int array of shape (blocks,)
        Orders of the second-order cones and of the matrices.
    row_ptr, row_col, row_val : arrays
        The linear rows: equations, inequalities, bounds; compressed rows.
    col_ptr, col_row, col_val : arrays
        The rows of cones and matrices, scaled as in a NodeProgram; compressed columns.
    b : array of shape (WHOLE,)
    q : array of shape (k,)
    settings : array
        See :data:`TOLERANCE`. LOOSE: a relative gap at which a node that will not reach the cutoff
        is left; 0 for none.
    state : array
        x, nu, s, z, then S of all blocks, then Z of all blocks; changed in place.
    best : array of shape (k + WHOLE,)
        Receives the best x and multipliers.
    report : array
        See :data:`WORD`.
    steps : int
    """
    k, zero, rows, bounds = shape[0], shape[1], shape[2], shape[3]
    arrows, blocks = shape[4], shape[4] + shape[5]
    linear = zero + rows
    area, widest, degree, heads = 0, 1, rows, 0
    for t in range(blocks):
        area += sizes[t] * sizes[t]
        widest = max(widest, sizes[t])
        degree += sizes[t]
        heads += sizes[t] if t < arrows else 0
    at_s, at_z = k + zero, k + zero + rows
    at_S, at_Z = k + zero + 2 * rows, k + zero + 2 * rows + area
    entries = col_val.shape[0] + heads * k
    first = np.empty(blocks + 1, np.int64)
    var, kind = np.empty(k * blocks + 1, np.int64), np.empty(k * blocks + 1, np.int64)
    ptr, places = np.empty(k * blocks + 2, np.int64), np.empty(2 * entries, np.int64)
    val, vectors = np.empty(entries), np.empty((k * blocks + 1) * (1 + widest))
    read_members(
        shape, sizes, col_ptr, col_row, col_val, first, var, ptr, kind, places, val, vectors
    )
    code, size, one = np.empty(3, np.uint8), np.empty(4, np.int32), np.empty(2)
    code[0], code[1], code[2] = 78, 76, 84
    one[0], one[1] = 1.0, 0.0
    low, high = np.full(k, -np.inf), np.full(k, np.inf)
    for i in range(linear - bounds, linear):
        e = row_ptr[i]
        end = b[i] / row_val[e]
        if row_val[e] < 0.0:
            low[row_col[e]] = end
        else:
            high[row_col[e]] = end
    x, nu = state[:k], state[k : k + zero]
    s, z = state[at_s:at_z], state[at_z:at_S]
    rd, re, rs = np.empty(k), np.empty(zero), np.empty(rows)
    right, dx, rest = np.empty(k), np.empty(k), np.empty(k)
    dnu, ds, dz = np.empty(zero), np.empty(rows), np.empty(rows)
    ds1, dz1 = np.empty(rows), np.empty(rows)
    target = np.empty(rows)
    B, R, inverse = np.empty(area), np.empty(area), np.empty(area)
    GS, GZ = np.empty(area), np.empty(area)
    dS, dZ, M = np.empty(area), np.empty(area), np.empty(area)
    dS1, dZ1 = np.empty(area), np.empty(area)
    W, V = np.empty(widest * widest), np.empty(widest * widest)
    more = np.empty(36 * widest)
    H, F = np.empty(k * k), np.empty(k * k)
    Y, K2 = np.empty(zero * k), np.empty(zero * zero)
    pulled, own, short = np.empty(k), np.empty(k), np.empty(max(zero, 1))
    # The constants of the blocks.
    at, row = 0, linear
    for t in range(blocks):
        n = sizes[t]
        for i in range(n * n):
            B[at + i] = 0.0
        if t < arrows:
            for i in range(n):
                B[at + i * n + i] = b[row]
            for i in range(1, n):
                B[at + i] = B[at + i * n] = b[row + i]
            row += n
        else:
            for c in range(n):
                for r in range(c, n):
                    v = b[row] if r == c else b[row] * _HALF_ROOT
                    B[at + r * n + c] = B[at + c * n + r] = v
                    row += 1
        at += n * n
    tolerance, cutoff, loose = settings[0], settings[1], settings[2]
    scale_q, scale_b, far = settings[3], settings[4], settings[5]
    best_error = report[2]
    word = _RUNNING
    for _ in range(steps):
        # ---- Residuals, and what the multipliers prove
        constant, terms = 0.0, 0.0
        for j in range(k):
            own[j] = 0.0
            pulled[j] = 0.0
        for i in range(linear):
            multiplier = nu[i] if i < zero else z[i - zero]
            value = 0.0
            for e in range(row_ptr[i], row_ptr[i + 1]):
                value += row_val[e] * x[row_col[e]]
            if i < zero:
                re[i] = b[i] - value
            else:
                rs[i - zero] = b[i] - value - s[i - zero]
            if i >= linear - bounds:
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    own[row_col[e]] += row_val[e] * multiplier
            else:
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    pulled[row_col[e]] += row_val[e] * multiplier
                constant -= b[i] * multiplier
                terms += abs(b[i] * multiplier)
        product, at = 0.0, 0
        for i in range(rows):
            product += s[i] * z[i]
        primal, dual_error = 0.0, 0.0
        for t in range(blocks):
            n = sizes[t]
            S, Zt = state[at_S + at : at_S + at + n * n], state[at_Z + at : at_Z + at + n * n]
            Rt = R[at : at + n * n]
            push(x, n, first[t], first[t + 1], var, ptr, places, val, Rt)
            inner = 0.0
            for i in range(n * n):
                Rt[i] = B[at + i] - Rt[i] - S[i]
                primal = max(primal, abs(Rt[i]))
                product += S[i] * Zt[i]
                inner += B[at + i] * Zt[i]
            constant -= inner
            terms += abs(inner)
            pull(Zt, n, first[t], first[t + 1], var, ptr, places, val, 1.0, pulled)
            at += n * n
        for i in range(zero):
            primal = max(primal, abs(re[i]))
        for i in range(rows):
            primal = max(primal, abs(rs[i]))
        value, charged, ray, size_of_pull = 0.0, 0.0, 0.0, 0.0
        ray_terms = terms
        for j in range(k):
            value += q[j] * x[j]
            r = pulled[j]
            rd[j] = -(q[j] + r + own[j])
            dual_error = max(dual_error, abs(rd[j]))
            size_of_pull = max(size_of_pull, abs(r + own[j]))
            end = low[j] if r > 0.0 else high[j]
            if abs(end) < 1e300:
                ray += r * end
                ray_terms += abs(r * end)
            elif r != 0.0:
                ray = -np.inf
            r += q[j]
            end = low[j] if r > 0.0 else high[j]
            if abs(end) < 1e300:
                charged += r * end
            elif abs(r) > 1e-9 * scale_q:
                charged = -np.inf
        dual_value = constant
        for i in range(linear - bounds, linear):
            dual_value -= b[i] * z[i - zero]
        primal /= scale_b
        dual_error /= scale_q
        mu = product / max(degree, 1)
        gap = abs(value - dual_value) / (1.0 + abs(value) + abs(dual_value))
        error = max(max(gap, product / (1.0 + abs(value))), max(dual_error, primal))
        proven = constant + charged
        disproof = constant + ray
        report[3], report[4] = dual_value, size_of_pull
        stop = 0
        if error != error:
            word = _TROUBLE
            break
        if proven > cutoff + SURPLUS * abs(cutoff):
            stop = _CUTOFF
        elif disproof > FARKAS * ray_terms and ray_terms < 1e300 and disproof > 1e-6 * scale_q:
            stop = _INFEASIBLE
        elif dual_value > 0.0 and size_of_pull <= 1e-10 * dual_value:
            stop = _INFEASIBLE
        elif error <= tolerance:
            stop = _OPTIMAL
        elif (
            loose > 0.0
            and primal <= 1e-7
            and value < cutoff
            and value - proven <= loose * min(1.0 + abs(value), cutoff - value)
        ):
            stop = _BRANCH
        if error < best_error or stop:
            best_error = min(error, best_error)
            for j in range(k):
                best[j] = x[j]
            for i in range(linear):
                best[k + i] = nu[i] if i < zero else z[i - zero]
            at, row = 0, k + linear
            for t in range(blocks):
                n = sizes[t]
                Zt = state[at_Z + at : at_Z + at + n * n]
                if t < arrows:
                    total = 0.0
                    for i in range(n):
                        total += Zt[i * n + i]
                        best[row + i] = 2.0 * Zt[i]
                    best[row] = total
                    row += n
                else:
                    for c in range(n):
                        for r2 in range(c, n):
                            v = Zt[c * n + r2]
                            best[row] = v if r2 == c else v / _HALF_ROOT
                            row += 1
                at += n * n
        elif error > 1e6 * best_error:
            word = _DIVERGED
            break
        if stop:
            word = stop
            break
        largest = 0.0
        for j in range(k):
            largest = max(largest, abs(x[j]))
        if largest > far * 1e-4 * scale_b and value < -1e-9 * largest:
            word = _UNBOUNDED
            for j in range(k):
                best[j] = x[j]
            break
        # ---- The Schur complement
        for i in range(k * k):
            H[i] = 0.0
        for i in range(rows):
            weight = z[i] / s[i]
            for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
                part = weight * row_val[e]
                i1 = row_col[e]
                for f in range(row_ptr[zero + i], e + 1):
                    j1 = row_col[f]
                    H[max(i1, j1) * k + min(i1, j1)] += part * row_val[f]
        at = 0
        failed = False
        for t in range(blocks):
            n = sizes[t]
            own_S, own_Z = GS[at : at + n * n], GZ[at : at + n * n]
            S, Zt = state[at_S + at : at_S + at + n * n], state[at_Z + at : at_Z + at + n * n]
            failed = failed or inverse_factor(S, own_S, n, code, size) != 0
            failed = failed or inverse_factor(Zt, own_Z, n, code, size) != 0
            against(own_S, own_S, inverse[at : at + n * n], n, n, code, size, one)
            if failed:
                break
            schur(
                Zt,
                inverse[at : at + n * n],
                n,
                first[t],
                first[t + 1],
                var,
                ptr,
                kind,
                places,
                val,
                vectors,
                1 + widest,
                k,
                H,
            )
            at += n * n
        if failed:
            word = _TROUBLE
            break
        top = 1e-300
        for j in range(k):
            top = max(top, H[j * k + j])
        for i in range(k):
            H[i * k + i] += 1e-15 * top
            for j in range(i):
                H[j * k + i] = H[i * k + j]
        for i in range(k * k):
            F[i] = H[i]
        if factorise(F, k, code, size) != 0:
            word = _TROUBLE
            break
        if zero:
            # E H^-1 E', with the rows of Y = H^-1 E'.
            for i in range(zero * k):
                Y[i] = 0.0
            for i in range(zero):
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    Y[i * k + row_col[e]] += row_val[e]
            substitute(F, Y, k, zero, code, size)
            for i in range(zero):
                for j in range(zero):
                    total = 0.0
                    for e in range(row_ptr[i], row_ptr[i + 1]):
                        total += row_val[e] * Y[j * k + row_col[e]]
                    K2[i * zero + j] = total
                K2[i * zero + i] *= 1.0 + 1e-14
            if factorise(K2, zero, code, size) != 0:
                word = _TROUBLE
                break
        # ---- Predictor, then corrector
        aim, primal_step, dual_step = 0.0, 1.0, 1.0
        for phase in range(2):
            for j in range(k):
                right[j] = rd[j]
            for i in range(rows):
                t1 = aim / s[i] - z[i] - z[i] * rs[i] / s[i]
                if phase:
                    t1 -= ds1[i] * dz1[i] / s[i]
                target[i] = t1
                for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
                    right[row_col[e]] -= row_val[e] * t1
            at = 0
            for t in range(blocks):
                n = sizes[t]
                Zt = state[at_Z + at : at_Z + at + n * n]
                It, Mt = inverse[at : at + n * n], M[at : at + n * n]
                multiply(Zt, R[at : at + n * n], W, n, code, size, one)
                if phase:
                    multiply(dZ1[at : at + n * n], dS1[at : at + n * n], V, n, code, size, one)
                    for i in range(n * n):
                        W[i] += V[i]
                multiply(W, It, Mt, n, code, size, one)
                for i in range(n * n):
                    Mt[i] = aim * It[i] - Zt[i] - Mt[i]
                average(Mt, n)
                pull(Mt, n, first[t], first[t + 1], var, ptr, places, val, -1.0, right)
                at += n * n
            for i in range(zero):
                dnu[i] = 0.0
            for j in range(k):
                dx[j] = 0.0
            # One solution and one refinement.
            for again in range(2):
                for j in range(k):
                    total = right[j]
                    if again:
                        for i in range(k):
                            total -= H[j * k + i] * dx[i]
                    rest[j] = total
                if zero:
                    for i in range(zero):
                        for e in range(row_ptr[i], row_ptr[i + 1]):
                            rest[row_col[e]] -= row_val[e] * dnu[i]
                    # The complement: E H^-1 E' y = E H^-1 rest - (re - E dx).
                    for i in range(zero):
                        total = -re[i]
                        for e in range(row_ptr[i], row_ptr[i + 1]):
                            total += row_val[e] * dx[row_col[e]]
                        for j in range(k):
                            total += Y[i * k + j] * rest[j]
                        short[i] = total
                    substitute(K2, short, zero, 1, code, size)
                    for i in range(zero):
                        dnu[i] += short[i]
                        for e in range(row_ptr[i], row_ptr[i + 1]):
                            rest[row_col[e]] -= row_val[e] * short[i]
                substitute(F, rest, k, 1, code, size)
                for j in range(k):
                    dx[j] += rest[j]
            primal_step, dual_step = 1.0 / _SHORTEST, 1.0 / _SHORTEST
            for i in range(rows):
                moved = 0.0
                for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
                    moved += row_val[e] * dx[row_col[e]]
                ds[i] = rs[i] - moved
                dz[i] = target[i] + z[i] / s[i] * moved
                if ds[i] < 0.0:
                    primal_step = min(primal_step, -s[i] / ds[i])
                if dz[i] < 0.0:
                    dual_step = min(dual_step, -z[i] / dz[i])
            at = 0
            for t in range(blocks):
                n = sizes[t]
                Zt, It = state[at_Z + at : at_Z + at + n * n], inverse[at : at + n * n]
                dSt, dZt = dS[at : at + n * n], dZ[at : at + n * n]
                push(dx, n, first[t], first[t + 1], var, ptr, places, val, V)
                multiply(Zt, V, W, n, code, size, one)
                multiply(W, It, dZt, n, code, size, one)
                average(dZt, n)
                for i in range(n * n):
                    dSt[i] = R[at + i] - V[i]
                    dZt[i] += M[at + i]
                room = largest_step(GS[at : at + n * n], dSt, W, V, more, n, code, size, one)
                dual_room = largest_step(GZ[at : at + n * n], dZt, W, V, more, n, code, size, one)
                failed = failed or room < 0.0 or dual_room < 0.0
                primal_step, dual_step = min(primal_step, room), min(dual_step, dual_room)
                at += n * n
            if failed:
                break
            if phase == 0:
                after = 0.0
                for i in range(rows):
                    after += (s[i] + primal_step * ds[i]) * (z[i] + dual_step * dz[i])
                    ds1[i], dz1[i] = ds[i], dz[i]
                for i in range(area):
                    after += (state[at_S + i] + primal_step * dS[i]) * (
                        state[at_Z + i] + dual_step * dZ[i]
                    )
                    dS1[i], dZ1[i] = dS[i], dZ[i]
                shorter = min(primal_step, dual_step)
                ratio = max(after, 0.0) / max(degree, 1) / mu
                centre = min(1.0, max(ratio ** max(1.0, 3.0 * shorter * shorter), 1e-6))
                aim = centre * mu
        if failed:
            word = _TROUBLE
            break
        share = 0.9 + 0.09 * min(primal_step, dual_step)
        primal_step, dual_step = min(1.0, share * primal_step), min(1.0, share * dual_step)
        for j in range(k):
            x[j] += primal_step * dx[j]
        for i in range(zero):
            nu[i] += dual_step * dnu[i]
        for i in range(rows):
            s[i] += primal_step * ds[i]
            z[i] += dual_step * dz[i]
        for i in range(area):
            state[at_S + i] += primal_step * dS[i]
            state[at_Z + i] += dual_step * dZ[i]
        report[1] += 1.0
        if not max(primal_step, dual_step) > 1e-7:
            word = _SLOW
            break
    report[0], report[2] = word, best_error
