r"""The step directions of a pivot, and how the kernel's inverse follows it.

With B = A[R, C], k x k, C the variables on pieces and R the rows at kinks. The functions come in
pairs: what one does with rows, A' and B^-1', the other does with columns, A and B^-1.
"""

from __future__ import annotations

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside, compiled_into
from .tableau import KERNEL, REFINED, DenseProgram, Tableau

# ---- products, four rows at a time


@compiled_inside
def add_rows(out: Array, weights: Array, matrix: Array, rows: Array, k: int) -> None:
    """Add sum_r weights[r] matrix[rows[r]] to out, r < k.

    Parameters
    ----------
    out : array of shape (q,)
        Changed in place.
    weights : array
        The first k entries count.
    matrix : array of shape (K, q)
    rows : int array
        The first k entries count.
    k : int
    """
    r = 0
    while r + 4 <= k:
        w0, w1, w2, w3 = weights[r], weights[r + 1], weights[r + 2], weights[r + 3]
        a0, a1 = matrix[rows[r]], matrix[rows[r + 1]]
        a2, a3 = matrix[rows[r + 2]], matrix[rows[r + 3]]
        for j in range(len(out)):
            out[j] += w0 * a0[j] + w1 * a1[j] + w2 * a2[j] + w3 * a3[j]
        r += 4
    while r < k:
        w0, a0 = weights[r], matrix[rows[r]]
        for j in range(len(out)):
            out[j] += w0 * a0[j]
        r += 1


@add_rows.in_numpy
def _(out: Array, weights: Array, matrix: Array, rows: Array, k: int) -> None:
    out += weights[:k] @ matrix[rows[:k]]


@compiled_inside
def multiply(matrix: Array, x: Array, k: int, out: Array) -> None:
    """Set out to matrix[:k, :k] x.

    Parameters
    ----------
    matrix : array of shape (cap, cap)
    x : array
        The first k entries count.
    k : int
    out : array
        Gets k entries; not x itself.
    """
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


@multiply.in_numpy
def _(matrix: Array, x: Array, k: int, out: Array) -> None:
    out[:k] = matrix[:k, :k] @ x[:k]


@compiled_inside
def multiply_transposed(matrix: Array, x: Array, k: int, out: Array) -> None:
    """Set out to matrix[:k, :k]' x.

    Parameters
    ----------
    matrix : array of shape (cap, cap)
    x : array
        The first k entries count.
    k : int
    out : array
        Gets k entries; not x itself.
    """
    _fill(out, k, 0.0)
    whole = k - k % 4
    for r in range(0, whole, 4):
        x0, x1, x2, x3 = x[r], x[r + 1], x[r + 2], x[r + 3]
        a0, a1, a2, a3 = matrix[r], matrix[r + 1], matrix[r + 2], matrix[r + 3]
        for c in range(k):
            out[c] += x0 * a0[c] + x1 * a1[c] + x2 * a2[c] + x3 * a3[c]
    for r in range(whole, k):
        row = matrix[r]
        for c in range(k):
            out[c] += x[r] * row[c]


@multiply_transposed.in_numpy
def _(matrix: Array, x: Array, k: int, out: Array) -> None:
    out[:k] = x[:k] @ matrix[:k, :k]


@compiled_inside
def _fill(out: Array, length: int, value: float) -> None:
    for i in range(length):
        out[i] = value


@_fill.in_numpy
def _(out: Array, length: int, value: float) -> None:
    out[:length] = value


@compiled_inside
def _add(out: Array, weight: float, other: Array, length: int) -> None:
    for i in range(length):
        out[i] += weight * other[i]


@_add.in_numpy
def _(out: Array, weight: float, other: Array, length: int) -> None:
    out[:length] += weight * other[:length]


@compiled_inside
def _copy(values: Array, length: int, out: Array) -> None:
    for i in range(length):
        out[i] = values[i]


@_copy.in_numpy
def _(values: Array, length: int, out: Array) -> None:
    out[:length] = values[:length]


# ---- step directions


@compiled_into
def set_ray(i: int, program: DenseProgram, tableau: Tableau, ray: Array) -> None:
    """Set `ray` to the step direction of coordinate i, shape (n,), with its own entry 1.

    Algorithm 1's dual step direction where i is on a piece, its primal one where i is at a kink.

    Parameters
    ----------
    i : int
        A coordinate, 0 to n - 1.
    program : DenseProgram
    tableau : Tableau
    ray : array of shape (n,)
        Overwritten.
    """
    _fill(ray, len(ray), 0.0)
    if tableau.codes[i] & 1:
        _primal_ray(i, program, tableau, ray)
    else:
        _dual_ray(i, program, tableau, ray)
    ray[i] = 1.0


@compiled_inside
def _dual_ray(u: int, program: DenseProgram, tableau: Tableau, ray: Array) -> None:
    """Set `ray` to how the multipliers move when that of u, on a piece, grows by 1.

    All other coordinates on pieces keep theirs: B' step = -A[u, C]', or -e_u for a variable, are
    the multipliers of R, and -(A' nu)_j those of the variables at kinks. Delta z_N of the paper.
    """
    A, C, R = program.A, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    k, p = tableau.counters[KERNEL], A.shape[1]
    right, step, correction = tableau.work[0], tableau.work[1], tableau.work[2]
    if u < p:
        at = tableau.place[u]
        for c in range(k):
            right[c] = 0.0
            step[c] = -inverse[at, c]
        right[at] = -1.0
    else:
        for c in range(k):
            right[c] = -A[u - p, C[c]]
        multiply_transposed(inverse, right, k, step)
        _copy(A[u - p], p, ray)
    if tableau.counters[REFINED]:
        multiply_transposed(kernel, step, k, correction)
        _add(right, -1.0, correction, k)
        multiply_transposed(inverse, right, k, correction)
        _add(step, 1.0, correction, k)
    add_rows(ray[:p], step, A, R, k)
    for j in range(p):
        ray[j] = -ray[j]
    for c in range(k):
        ray[C[c]] = 0.0
    for r in range(k):
        ray[p + R[r]] = step[r]


@compiled_inside
def _primal_ray(v: int, program: DenseProgram, tableau: Tableau, ray: Array) -> None:
    """Set `ray` to how the values move when that of v, at a kink, grows by 1.

    All other coordinates at kinks stay there: B step = -A[R, v], or e_v for a row, are the values
    of C, and (A theta)_i those of the rows on pieces. Delta x_B of the paper.
    """
    AT, C, R = program.AT, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    k, p = tableau.counters[KERNEL], len(AT)
    right, step, correction = tableau.work[0], tableau.work[1], tableau.work[2]
    rows = ray[p:]
    if v >= p:
        at = tableau.place[v]
        for r in range(k):
            right[r] = 0.0
            step[r] = inverse[r, at]
        right[at] = 1.0
    else:
        for r in range(k):
            right[r] = -AT[v, R[r]]
        multiply(inverse, right, k, step)
        _copy(AT[v], len(rows), rows)
    if tableau.counters[REFINED]:
        multiply(kernel, step, k, correction)
        _add(right, -1.0, correction, k)
        multiply(inverse, right, k, correction)
        _add(step, 1.0, correction, k)
    add_rows(rows, step, AT, C, k)
    for r in range(k):
        rows[R[r]] = 0.0
    for c in range(k):
        ray[C[c]] = step[c]


# ---- the inverse after a pivot


@compiled_into
def exchange(u: int, v: int, program: DenseProgram, tableau: Tableau) -> None:
    """Take u out of the coordinates on pieces and v into them, in C, R, the kernel and its inverse.

    Algorithm 1's last line, in O(k^2). Each case is one of the rank-one formulas for an inverse.

    Parameters
    ----------
    u : int
        The coordinate that leaves its piece.
    v : int
        The coordinate that leaves its kink.
    program : DenseProgram
    tableau : Tableau
        Changed in place.
    """
    p = program.A.shape[1]
    if u < p and v < p:
        _replace_column(u, v, program, tableau)
    elif u >= p and v >= p:
        _replace_row(u, v, program, tableau)
    elif u < p:
        _shrink(u, v, program, tableau)
    else:
        _grow(u, v, program, tableau)


@compiled_inside
def _replace_column(u: int, v: int, program: DenseProgram, tableau: Tableau) -> None:
    """Replace column u of B by a = A[R, v].

    With x = B^-1 a and q the place of u: row q of the inverse becomes e_q' B^-1 / x_q, and every
    other row c loses x_c times the new row q.
    """
    C, R, place = tableau.C, tableau.R, tableau.place
    kernel, inverse, k = tableau.kernel, tableau.inverse, tableau.counters[KERNEL]
    x, column = tableau.work[0], tableau.work[1]
    q = place[u]
    for r in range(k):
        kernel[r, q] = column[r] = program.A[R[r], v]
    multiply(inverse, column, k, x)
    pivot, pivot_row = x[q], inverse[q]
    for r in range(k):
        pivot_row[r] /= pivot
    for c in range(k):
        if c != q and x[c] != 0.0:
            _add(inverse[c], -x[c], pivot_row, k)
    C[q] = v
    place[v], place[u] = q, -1


@compiled_inside
def _replace_row(u: int, v: int, program: DenseProgram, tableau: Tableau) -> None:
    """Replace row v of B by a' = A[u, C].

    With y = B^-1' a and q the place of v: column q of the inverse becomes B^-1 e_q / y_q, and every
    other column r loses y_r times the new column q.
    """
    A, C, R, place = program.A, tableau.C, tableau.R, tableau.place
    kernel, inverse, k = tableau.kernel, tableau.inverse, tableau.counters[KERNEL]
    y, row = tableau.work[0], tableau.work[1]
    q, i = place[v], u - A.shape[1]
    for c in range(k):
        kernel[q, c] = row[c] = A[i, C[c]]
    multiply_transposed(inverse, row, k, y)
    pivot = y[q]
    for c in range(k):
        scaled = inverse[c, q] / pivot
        _add(inverse[c], -scaled, y, k)
        inverse[c, q] = scaled
    R[q] = i
    place[u], place[v] = q, -1


@compiled_inside
def _shrink(u: int, v: int, program: DenseProgram, tableau: Tableau) -> None:
    """Take column u and row v out of B.

    With c and r their places: the inverse is B^-1 - (B^-1 e_r) (e_c' B^-1) / (B^-1)_cr without its
    row c and column r, whose places the last ones take.
    """
    C, R, place, p = tableau.C, tableau.R, tableau.place, program.A.shape[1]
    kernel, inverse, k = tableau.kernel, tableau.inverse, tableau.counters[KERNEL]
    at_c, at_r, last = place[u], place[v], k - 1
    pivot = inverse[at_c, at_r]
    for c in range(k):
        if c != at_c:
            _add(inverse[c], -inverse[c, at_r] / pivot, inverse[at_c], k)
    if at_c != last:
        _copy(inverse[last], k, inverse[at_c])
        for r in range(k):
            kernel[r, at_c] = kernel[r, last]
        C[at_c] = C[last]
        place[C[at_c]] = at_c
    if at_r != last:
        for c in range(last):
            inverse[c, at_r] = inverse[c, last]
        _copy(kernel[last], k, kernel[at_r])
        R[at_r] = R[last]
        place[p + R[at_r]] = at_r
    place[u], place[v] = -1, -1
    tableau.counters[KERNEL] = last


@compiled_inside
def _grow(u: int, v: int, program: DenseProgram, tableau: Tableau) -> None:
    """Border B with the row a' = A[u, C] and the column b = A[R, v].

    With x = B^-1 b, y = B^-1' a and the Schur complement s = A[u, v] - a' x: the inverse is that of
    B plus x y' / s, bordered with the row -y' / s, the column -x / s and the corner 1 / s.
    """
    A, C, R, place = program.A, tableau.C, tableau.R, tableau.place
    kernel, inverse, k = tableau.kernel, tableau.inverse, tableau.counters[KERNEL]
    x, column, y, row = tableau.work[0], tableau.work[1], tableau.work[2], tableau.work[3]
    i = u - A.shape[1]
    for r in range(k):
        kernel[r, k] = column[r] = A[R[r], v]
    for c in range(k):
        kernel[k, c] = row[c] = A[i, C[c]]
    multiply(inverse, column, k, x)
    multiply_transposed(inverse, row, k, y)
    s = kernel[k, k] = A[i, v]
    for c in range(k):
        s -= row[c] * x[c]
    for c in range(k):
        scaled = x[c] / s
        _add(inverse[c], scaled, y, k)
        inverse[c, k] = -scaled
    for r in range(k):
        inverse[k, r] = -y[r] / s
    inverse[k, k] = 1.0 / s
    C[k], R[k] = v, i
    place[v], place[u] = k, k
    tableau.counters[KERNEL] = k + 1
