"""How values and multipliers move in one pivot, and how the kernel's inverse follows."""

from __future__ import annotations

from sparseopt.problems.base import Array

from ..common.compiled import compiled_in_place
from .tableau import DenseProgram, Tableau

__all__ = ["add_rows", "dual_ray", "exchange", "primal_ray"]


@compiled_in_place
def _copy(values: Array, length: int, out: Array) -> None:
    for i in range(length):
        out[i] = values[i]


@compiled_in_place
def add_rows(out: Array, weights: Array, matrix: Array, rows: Array, k: int, length: int) -> None:
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


@compiled_in_place
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


@compiled_in_place
def _multiply_transposed(matrix: Array, x: Array, k: int, out: Array) -> None:
    """Set out to matrix[:k, :k]' x."""
    out[:k] = 0.0
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


@compiled_in_place
def dual_ray(
    u: int, program: DenseProgram, tableau: Tableau, k: int, refined: bool, ray: Array
) -> None:
    """Set `ray` to how the multipliers move when that of u, on a piece, grows by 1.

    All other coordinates on pieces keep theirs: B' step = -(row of u), or -e_u for a variable.
    """
    A, C, R = program.A, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    p = A.shape[1]
    right, step, correction = tableau.work[0], tableau.work[1], tableau.work[2]
    ray[:] = 0.0
    if u < p:
        right[:k] = 0.0
        right[tableau.where[u]] = -1.0
        at = tableau.where[u]
        for c in range(k):
            step[c] = -inverse[at, c]
    else:
        for c in range(k):
            right[c] = -A[u - p, C[c]]
        _multiply_transposed(inverse, right, k, step)
        _copy(A[u - p], p, ray)
    if refined:
        _multiply_transposed(kernel, step, k, correction)
        for c in range(k):
            right[c] -= correction[c]
        _multiply_transposed(inverse, right, k, correction)
        for c in range(k):
            step[c] += correction[c]
    add_rows(ray, step, A, R, k, p)
    for j in range(p):
        ray[j] = -ray[j]
    for c in range(k):
        ray[C[c]] = 0.0
    for r in range(k):
        ray[p + R[r]] = step[r]
    ray[u] = 1.0


@compiled_in_place
def primal_ray(
    w: int, program: DenseProgram, tableau: Tableau, k: int, refined: bool, ray: Array
) -> None:
    """Set `ray` to how the values move when that of w, at a kink, grows by 1.

    All other coordinates at kinks stay there: B step = -(column of w), or e_w for a row.
    """
    AT, C, R = program.AT, tableau.C, tableau.R
    kernel, inverse = tableau.kernel, tableau.inverse
    p = len(AT)
    right, step, correction = tableau.work[0], tableau.work[1], tableau.work[2]
    ray[:] = 0.0
    rows = ray[p:]
    if w >= p:
        at = tableau.where[w]
        right[:k] = 0.0
        right[at] = 1.0
        for c in range(k):
            step[c] = inverse[c, at]
    else:
        for r in range(k):
            right[r] = -AT[w, R[r]]
        _multiply(inverse, right, k, step)
        _copy(AT[w], len(rows), rows)
    if refined:
        _multiply(kernel, step, k, correction)
        for c in range(k):
            right[c] -= correction[c]
        _multiply(inverse, right, k, correction)
        for c in range(k):
            step[c] += correction[c]
    add_rows(rows, step, AT, C, k, len(rows))
    for r in range(k):
        rows[R[r]] = 0.0
    for c in range(k):
        ray[C[c]] = step[c]
    ray[w] = 1.0


@compiled_in_place
def _subtract(row: Array, weight: float, other: Array, k: int) -> None:
    for r in range(k):
        row[r] -= weight * other[r]


@compiled_in_place
def exchange(u: int, w: int, program: DenseProgram, tableau: Tableau, k: int) -> int:
    """Take u out of the coordinates on pieces and w into them; return the new kernel size."""
    A, C, R, where = program.A, tableau.C, tableau.R, tableau.where
    kernel, inverse = tableau.kernel, tableau.inverse
    p = A.shape[1]
    if u < p and w < p:
        at = where[u]
        image, column = tableau.work[0], tableau.work[1]
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
        image, row = tableau.work[0], tableau.work[1]
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
            _copy(inverse[last], k, inverse[at_c])
            for r in range(k):
                kernel[r, at_c] = kernel[r, last]
            C[at_c] = C[last]
            where[C[at_c]] = at_c
        if at_r != last:
            for c in range(last):
                inverse[c, at_r] = inverse[c, last]
            _copy(kernel[last], k, kernel[at_r])
            R[at_r] = R[last]
            where[p + R[at_r]] = at_r
        where[u], where[w] = -1, -1
        return last
    image, column = tableau.work[0], tableau.work[1]
    coimage, row = tableau.work[2], tableau.work[3]
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
