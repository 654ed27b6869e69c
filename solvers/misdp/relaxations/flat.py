"""Node programs in flat arrays, as compiled loops cut them out of a problem and solve them."""

from __future__ import annotations

from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle_weights, unpack_symmetric

from ...common.compiled import compiled, compiled_inside, compiled_into
from ..settings import CLEARLY, DENSE_ENTRIES, FIXED
from .blas import Blas, blas_room, factorise

K, ZERO, ROWS, BOUNDS, CONES, MATRICES, WHOLE, ENTRIES, CELLS, MISSED = range(10)
"""Places of a program's shape: variables, equations, inequalities, of which bounds at their end,
second-order cones, matrices, and the length of b. :func:`cut_out` writes more: entries of cones and
matrices, of linear rows, and whether a constraint without free variables may be missed."""


@by_address
class FlatProgram(NamedTuple):
    """A program as :func:`~sparseopt.solvers.misdp.relaxations.interior.interior_point` takes it.

    Attributes
    ----------
    shape : int array
        See :data:`K`.
    sizes : int array of shape (blocks,)
        Orders of the second-order cones and of the matrices.
    row_ptr, row_col, row_val : arrays
        The rows of equations, inequalities, bounds and second-order cones; compressed rows.
    col_ptr, col_row, col_val : arrays
        The rows of matrices, scaled as in a NodeProgram; compressed columns.
    b : array of shape (WHOLE,)
    q : array of shape (k,)
    """

    shape: Array
    sizes: Array
    row_ptr: Array
    row_col: Array
    row_val: Array
    col_ptr: Array
    col_row: Array
    col_val: Array
    b: Array
    q: Array

    @classmethod
    def of(
        cls, C: Any, b: Array, q: Array, counts: tuple[int, int, int, int], sizes: list[int]
    ) -> FlatProgram:
        """Return the flat form of min q'x, b - C x in K.

        Parameters
        ----------
        C : array or csr array of shape (N, k)
        b : array of shape (N,)
        q : array of shape (k,)
        counts : tuple of int
            Equations, inequalities, of these bounds at their end, and second-order cones.
        sizes : list of int
            Lengths of the cones, then orders of the matrices.
        """
        rows, matrices = counts[0] + counts[1] + sum(sizes[: counts[3]]), len(sizes) - counts[3]
        return cls(
            np.array([len(q), *counts, matrices, len(b)], dtype=np.int64),
            np.array(sizes, dtype=np.int64),
            *_compressed(C[:rows]),
            *_compressed(C[rows:].T),
            np.ascontiguousarray(b),
            np.ascontiguousarray(q),
        )

    def matrix(self) -> sp.csr_array:
        """Return C."""
        k, whole, count = len(self.q), len(self.b), len(self.row_ptr) - 1
        rows = sp.csr_array((self.row_val, self.row_col, self.row_ptr), shape=(count, k))
        columns = sp.csc_array((self.col_val, self.col_row, self.col_ptr), shape=(whole - count, k))
        return sp.csr_array(sp.vstack([rows, columns], format="csr"))

    @property
    def work(self) -> float:
        """About how many multiplications a step takes."""
        k, zero = int(self.shape[K]), int(self.shape[ZERO])
        cubes = float((self.sizes[self.shape[CONES] :].astype(float) ** 3).sum())
        pairs = float((np.diff(self.row_ptr[zero:]).astype(float) ** 2).sum())
        return (k + zero) ** 3 / 3.0 + (20.0 + 4.0 * k) * cubes + 2.0 * pairs + 1e4

    def start(self) -> Array:
        """Begin at multiples of the identity that are large enough for the data."""
        k, rows = int(self.shape[K]), len(self.row_ptr) - 1
        zero = int(self.shape[ZERO])
        area = int((self.sizes[self.shape[CONES] :] ** 2).sum())
        state = np.zeros(k + zero + 2 * (rows - zero) + 2 * area)
        begin_at(self, state)
        return state


def _compressed(C: Any) -> tuple[Array, Array, Array]:
    """Return pointers, columns and values of the rows."""
    if isinstance(C, np.ndarray):
        rows, columns = np.nonzero(C)
        ptr = np.zeros(len(C) + 1, dtype=np.int64)
        np.cumsum(np.bincount(rows, minlength=len(C)), out=ptr[1:])
        return ptr, np.ascontiguousarray(columns), C[rows, columns]
    sparse = sp.csr_array(C)
    sparse.sort_indices()
    indices = sparse.indptr.astype(np.int64), sparse.indices.astype(np.int64)
    return *indices, np.asarray(sparse.data)


@compiled
def begin_at(program: FlatProgram, state: Array) -> None:
    """Write the first iterate to `state`, which is zero.

    Parameters
    ----------
    program : FlatProgram
    state : array
        As in :func:`~sparseopt.solvers.misdp.relaxations.interior.interior_point`.
    """
    k, zero, rows = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    col_ptr, col_val, b, q = program.col_ptr, program.col_val, program.b, program.q
    row_ptr, row_val, sizes = program.row_ptr, program.row_val, program.sizes
    # All rows but those of matrices: the slacks and multipliers that are vectors.
    count, length = row_ptr.shape[0] - 1, row_ptr.shape[0] - 1 - zero
    most, ratio, largest = 0.0, 0.0, 0.0
    for i in range(count, b.shape[0]):
        largest += b[i] * b[i]
    largest = sqrt(largest)
    for j in range(k):
        norm = 0.0
        for e in range(col_ptr[j], col_ptr[j + 1]):
            norm += col_val[e] * col_val[e]
        norm = sqrt(norm)
        most = max(most, abs(q[j]))
        ratio = max(ratio, (1.0 + abs(q[j])) / (1.0 + norm))
        largest = max(largest, norm)
    for i in range(rows):
        norm = 0.0
        for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
            norm += row_val[e] * row_val[e]
        norm = sqrt(norm)
        state[k + zero + i] = max(10.0, norm, abs(b[zero + i]))
        state[k + zero + length + i] = max(10.0, (1.0 + most) / (1.0 + norm))
    head = rows
    for t in range(program.shape[CONES]):
        squares, constant = 0.0, 0.0
        for i in range(zero + head, zero + head + sizes[t]):
            constant += b[i] * b[i]
            for e in range(row_ptr[i], row_ptr[i + 1]):
                squares += row_val[e] * row_val[e]
        state[k + zero + head] = max(10.0, sqrt(squares), sqrt(constant))
        state[k + zero + length + head] = max(10.0, (1.0 + most) / (1.0 + sqrt(squares)))
        head += sizes[t]
    at = k + zero + 2 * length
    for of_dual in range(2):
        for t in range(program.shape[CONES], sizes.shape[0]):
            n = sizes[t]
            value = max(10.0, sqrt(n), n * ratio if of_dual else largest)
            for i in range(n):
                state[at + i * (n + 1)] = value
            at += n * n


@begin_at.in_numpy
def _(flat: FlatProgram, state: Array) -> None:
    k, zero, rows, _, cones, *_ = flat.shape.tolist()
    count = len(flat.row_ptr) - 1
    sizes = flat.sizes.tolist()
    number = np.repeat(np.arange(k), np.diff(flat.col_ptr))
    norms = np.sqrt(np.bincount(number, flat.col_val**2, minlength=k))
    top = np.abs(flat.q)
    ratio = float(((1.0 + top) / (1.0 + norms)).max(initial=0.0))
    constant = float(np.sqrt((flat.b[count:] ** 2).sum()))
    largest = max(float(norms.max(initial=0.0)), constant)
    row = np.repeat(np.arange(count), np.diff(flat.row_ptr))
    squares = np.bincount(row, flat.row_val**2, minlength=count)[zero:]
    constants = flat.b[zero:count] ** 2
    # Inequalities, then cones: of these only the head.
    heads = rows + np.cumsum([0, *sizes[:cones]])
    parts = np.concatenate([np.arange(rows), heads[:-1]]).astype(np.int64)
    at, both = k + zero + parts, np.zeros((2, len(parts)))
    if len(parts):
        both = np.sqrt([np.add.reduceat(part, parts) for part in (squares, constants)])
    state[at] = np.maximum(10.0, both.max(axis=0))
    state[at + count - zero] = np.maximum(10.0, (1.0 + top.max(initial=0.0)) / (1.0 + both[0]))
    at = k + zero + 2 * (count - zero)
    for of_dual in (False, True):
        for size in sizes[cones:]:
            least = max(10.0, sqrt(size))
            value = max(least, size * ratio if of_dual else largest)
            state[at : at + size * size : size + 1] = value
            at += size * size


@compiled
def keep(
    program: FlatProgram, free: Array, taken: Array, state: Array, kept: Array, rows_of_stack: int
) -> None:
    """Write an iterate to `kept`, where :func:`resume` finds it for a box inside.

    Parameters
    ----------
    program : FlatProgram
    free, taken : int arrays
        See :class:`~sparseopt.solvers.misdp.relaxations.conic.NodeProgram`.
    state : array
        As in :func:`~sparseopt.solvers.misdp.relaxations.interior.interior_point`.
    kept : array of shape (5 n + 2 N,), single precision
        NaN. Receives x of all variables, slacks and multipliers of their lower bounds, of their
        upper bounds, and of all rows of the stack.
    rows_of_stack : int
        N.
    """
    k, zero, rows = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    sizes, others, N = program.sizes, rows - program.shape[BOUNDS], rows_of_stack
    n, length = (kept.shape[0] - 2 * N) // 5, row_ptr.shape[0] - 1 - zero
    at_s, at_z, own = k + zero, k + zero + length, 5 * n
    for p in range(k):
        kept[free[p]] = state[p]
    for i in range(zero):
        kept[own + N + taken[i]] = state[k + i]
    for i in range(others):
        kept[own + taken[zero + i]] = state[at_s + i]
        kept[own + N + taken[zero + i]] = state[at_z + i]
    for i in range(others, rows):
        e = row_ptr[zero + i]
        j = n + free[row_col[e]] + (0 if row_val[e] < 0.0 else 2 * n)
        kept[j] = state[at_s + i]
        kept[j + n] = state[at_z + i]
    at, p = at_z + length, zero + others
    for i in range(rows, length):
        kept[own + taken[p]], kept[own + N + taken[p]] = state[at_s + i], state[at_z + i]
        p += 1
    area = (state.shape[0] - at) // 2
    for t in range(program.shape[CONES], sizes.shape[0]):
        m = sizes[t]
        for c in range(m):
            for r in range(c, m):
                kept[own + taken[p]] = state[at + r * m + c]
                kept[own + N + taken[p]] = state[at + area + r * m + c]
                p += 1
        at += m * m


@compiled
def resume(
    program: FlatProgram,
    free: Array,
    taken: Array,
    kept: Array,
    rows_of_stack: int,
    lift: float,
    far: float,
    state: Array,
) -> bool:
    """Begin at what was kept of an iterate, drawn inside; False where that is of no use.

    Parameters
    ----------
    program, free, taken, kept, rows_of_stack
        As in :func:`keep`.
    lift : float
        Slacks and multipliers, of rows and of each matrix (on its diagonal), grow by this part of
        their mean; the heads of cones by this part of themselves.
    far : float
        By which factor the multipliers of a matrix may exceed those in `state`.
    state : array
        A first iterate, which is overwritten.
    """
    k, zero, rows = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    sizes, others, N = program.sizes, rows - program.shape[BOUNDS], rows_of_stack
    n, length = (kept.shape[0] - 2 * N) // 5, row_ptr.shape[0] - 1 - zero
    at_s, at_z, own = k + zero, k + zero + length, 5 * n
    if not _of_use(program, free, taken, kept, N, far, state):
        return False
    for p in range(k):
        state[p] = kept[free[p]]
    for i in range(zero):
        value = kept[own + N + taken[i]]
        state[k + i] = value if value == value else 0.0
    sum_s, sum_z = 0.0, 0.0
    for i in range(rows):
        if i < others:
            j = own + taken[zero + i]
            s, z = kept[j], kept[j + N]
        else:
            e = row_ptr[zero + i]
            j = n + free[row_col[e]] + (0 if row_val[e] < 0.0 else 2 * n)
            s, z = kept[j], kept[j + n]
        if s == s:
            state[at_s + i], state[at_z + i] = s, z
        sum_s += state[at_s + i]
        sum_z += state[at_z + i]
    for i in range(rows):
        state[at_s + i] += lift * sum_s / rows
        state[at_z + i] += lift * sum_z / rows
    p = zero + others
    for i in range(rows, length):
        state[at_s + i], state[at_z + i] = kept[own + taken[p]], kept[own + N + taken[p]]
        p += 1
    head = rows
    for t in range(program.shape[CONES]):
        # More than single precision takes from a point near the boundary.
        state[at_s + head] *= 1.0 + lift
        state[at_z + head] *= 1.0 + lift
        head += sizes[t]
    _resume_matrices(program, taken[p:], kept, N, lift, state)
    return True


@compiled_inside
def _of_use(
    program: FlatProgram,
    free: Array,
    taken: Array,
    kept: Array,
    rows_of_stack: int,
    far: float,
    state: Array,
) -> bool:
    """Return whether all of a kept iterate is there, and its multipliers are not too large."""
    k, zero, rows = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    sizes, others, N = program.sizes, rows - program.shape[BOUNDS], rows_of_stack
    length, own = program.row_ptr.shape[0] - 1 - zero, kept.shape[0] - 2 * N
    at_z = k + zero + length
    at, p = at_z + length, zero + others
    area = (state.shape[0] - at) // 2
    for i in range(k):
        if kept[free[i]] != kept[free[i]]:
            return False
    for t in range(program.shape[CONES]):
        z = kept[own + N + taken[p]]
        if z != z or z > far * state[at_z + p - zero + rows - others]:
            return False
        p += sizes[t]
    for t in range(program.shape[CONES], sizes.shape[0]):
        m = sizes[t]
        trace = 0.0
        for c in range(m):
            for r in range(c, m):
                z = kept[own + N + taken[p]]
                if z != z:
                    return False
                if r == c:
                    trace += z
                p += 1
        # Multipliers grow without end where there is no interior, and no step is long from there.
        if trace > far * m * state[at + area]:
            return False
        at += m * m
    return True


@compiled_inside
def _resume_matrices(
    program: FlatProgram, taken: Array, kept: Array, rows_of_stack: int, lift: float, state: Array
) -> None:
    """Take over what was kept of matrices; `taken` begins at their first entry."""
    sizes, N = program.sizes, rows_of_stack
    length = program.row_ptr.shape[0] - 1 - program.shape[ZERO]
    at, own = program.shape[K] + program.shape[ZERO] + 2 * length, kept.shape[0] - 2 * N
    area, p = (state.shape[0] - at) // 2, 0
    for t in range(program.shape[CONES], sizes.shape[0]):
        m = sizes[t]
        sum_s, sum_z = 0.0, 0.0
        for c in range(m):
            for r in range(c, m):
                s, z = kept[own + taken[p]], kept[own + N + taken[p]]
                state[at + r * m + c] = state[at + c * m + r] = s
                state[at + area + r * m + c] = state[at + area + c * m + r] = z
                if r == c:
                    sum_s += s
                    sum_z += z
                p += 1
        for i in range(m):
            state[at + i * (m + 1)] += lift * sum_s / m
            state[at + area + i * (m + 1)] += lift * sum_z / m
        at += m * m


@resume.in_numpy
def _(*arguments: Any) -> bool:
    # In plain Python the loops take longer than the steps that they save.
    return False


@keep.in_numpy
def _(*arguments: Any) -> None:
    return None


@by_address
class FlatStack(NamedTuple):
    """The constraints of a problem in flat arrays, in the order of a :class:`ConicForm`'s stack.

    Attributes
    ----------
    shape : int array
        See :data:`K`; without bounds.
    sizes : int array
        Lengths of the cones, orders of the matrices.
    col_ptr, col_row, col_val : arrays
        The columns of all constraints.
    row_ptr, row_col, row_val : arrays
        The linear rows, then those of the cones.
    b : array
    square_ptr, square_place, square_val : arrays
        The sum over all matrices of A_j^2 / |A_j|^2, for each variable: places in all matrices
        behind each other, as squares; lower triangles.
    norms : array
        |A_j| for each variable and matrix, shape (n, matrices).
    """

    shape: Array
    sizes: Array
    col_ptr: Array
    col_row: Array
    col_val: Array
    row_ptr: Array
    row_col: Array
    row_val: Array
    b: Array
    square_ptr: Array
    square_place: Array
    square_val: Array
    norms: Array

    @classmethod
    def of(
        cls, C: Any, b: Array, zero: int, nonnegative: int, orders: list[int], sizes: list[int]
    ) -> FlatStack | None:
        """Return the flat form; None where the squares of the matrices would take too many numbers.

        Parameters
        ----------
        C : array or csc array of shape (N, n)
        b : array of shape (N,)
        zero, nonnegative : int
            Numbers of the linear rows.
        orders, sizes : list of int
            Of the cones and the matrices.
        """
        linear, n = zero + nonnegative, C.shape[1]
        columns = sp.csc_array(C)
        columns.eliminate_zeros()
        columns.sort_indices()
        at = linear + sum(orders)
        norms, squares, area, entries = np.zeros((n, len(sizes))), [], 0, 0
        for t, size in enumerate(sizes):
            length = size * (size + 1) // 2
            part = sp.csc_array(columns[at : at + length])
            at += length
            norms[:, t] = np.sqrt(np.asarray(part.multiply(part).sum(axis=0)).reshape(-1))
            inside = np.flatnonzero(norms[:, t])
            entries += len(inside) * size * size
            if entries > DENSE_ENTRIES:
                return None
            dense = part[:, inside].toarray().T / norms[inside, t][:, None]
            A = unpack_symmetric(dense / np.sqrt(triangle_weights(size)), size)
            found = np.zeros((n, size * size))
            found[inside] = np.tril(A @ A).reshape(-1, size * size)
            squares.append(sp.csr_array(found))
            area += size * size
        none = sp.csr_array((n, 0))
        square = sp.csr_array(sp.hstack([none, *squares], format="csr"))
        return cls(
            np.array([n, zero, nonnegative, 0, len(orders), len(sizes)], dtype=np.int64),
            np.array([*orders, *sizes], dtype=np.int64),
            *_compressed(sp.csr_array(columns.T)),
            *_compressed(sp.csr_array(columns[: linear + sum(orders)])),
            b,
            *_compressed(square),
            norms,
        )


@compiled
def cut_out(
    stack: FlatStack,
    lower: Array,
    upper: Array,
    costs: Array,
    margin: float,
    fixed: Array,
    free: Array,
    used: Array,
    taken: Array,
    program: FlatProgram,
) -> bool:
    """Write the program over the box, matrices without the lines that are zero in all of them.

    Parameters
    ----------
    stack : FlatStack
    lower, upper, costs : arrays of shape (n,)
    margin : float
        What is asked of the eigenvalues of the matrices, relative to their size.
    fixed : array of shape (n,)
        Receives the fixed variables' values.
    free : int array of shape (n,)
        Receives the free variables.
    used : int array
        Receives for each linear row, cone and matrix whether a free variable is in it.
    taken : int array
        Receives the rows of the stack that are in the program, without bounds.
    program : FlatProgram
        Receives the program, at the beginning of its arrays; its shape has :data:`MISSED`.

    Returns
    -------
    bool
        False where a matrix is to be reduced to a range in general.
    """
    shape, sizes, b, blas = program.shape, program.sizes, program.b, blas_room()
    linear, cones = stack.shape[ZERO] + stack.shape[ROWS], stack.shape[CONES]
    side, place = stack.b.copy(), np.full(stack.b.shape[0], -1)
    k = fix_variables(stack, lower, upper, costs, side, fixed, free, used, program.q)
    shape[K], shape[MISSED] = k, 0
    number, kept = cut_rows(stack, lower, upper, side, free, used, taken, program)
    rows, row, area = shape[ZERO] + shape[ROWS], linear, 0
    for t in range(kept):
        rows += sizes[t]
    for t in range(cones):
        row += stack.sizes[t]
    first, conic = row, rows
    for t in range(cones, stack.sizes.shape[0]):
        m = stack.sizes[t]
        length = m * (m + 1) // 2
        if not used[linear + t]:
            shape[MISSED] = 1
        else:
            lines = np.empty(m, np.int64)
            order = lines_in_use(stack, t, row, area, side, free[:k], lines, blas)
            if order < 0:
                return False
            most, head = 1.0, conic
            for a in range(order):
                c = lines[a]
                begin = row + c * m - c * (c - 1) // 2 - c
                for d in range(a, order):
                    i = begin + lines[d]
                    place[i], taken[number] = conic - rows, i
                    b[conic] = side[i]
                    most = max(most, abs(side[i]))
                    number, conic = number + 1, conic + 1
            if margin != 0.0:
                for a in range(order):
                    b[head] -= margin * most
                    head += order - a
            sizes[kept] = order
            kept += 1
        row, area = row + length, area + m * m
    at = 0
    program.col_ptr[0] = 0
    for p in range(k):
        for e in range(stack.col_ptr[free[p]], stack.col_ptr[free[p] + 1]):
            i = stack.col_row[e]
            if i >= first and place[i] >= 0:
                program.col_row[at], program.col_val[at] = place[i], stack.col_val[e]
                at += 1
        program.col_ptr[p + 1] = at
    shape[WHOLE], shape[MATRICES] = conic, kept - shape[CONES]
    shape[ENTRIES] = at
    return True


@compiled_into
def fix_variables(
    stack: FlatStack,
    lower: Array,
    upper: Array,
    costs: Array,
    side: Array,
    fixed: Array,
    free: Array,
    used: Array,
    q: Array,
) -> int:
    """Write the fixed values, the free variables with their costs, and what these are in.

    `side` is what is left of b. Returns the number of free variables.
    """
    linear = stack.shape[ZERO] + stack.shape[ROWS]
    for i in range(used.shape[0]):
        used[i] = 0
    # The number of its cone or matrix for each row after the linear ones.
    owner = np.empty(side.shape[0], np.int64)
    row = linear
    for t in range(stack.sizes.shape[0]):
        m = stack.sizes[t]
        for _ in range(m if t < stack.shape[CONES] else m * (m + 1) // 2):
            owner[row] = linear + t
            row += 1
    k = 0
    for j in range(lower.shape[0]):
        size = max(1.0, min(abs(lower[j]), abs(upper[j])))
        fixed[j] = 0.0
        if size < np.inf and upper[j] - lower[j] <= FIXED * size:
            value = min(max(0.0, lower[j]), upper[j])
            fixed[j] = value
            if value != 0.0:
                for e in range(stack.col_ptr[j], stack.col_ptr[j + 1]):
                    side[stack.col_row[e]] -= stack.col_val[e] * value
        else:
            free[k] = j
            q[k] = costs[j]
            k += 1
            for e in range(stack.col_ptr[j], stack.col_ptr[j + 1]):
                i = stack.col_row[e]
                used[i if i < linear else owner[i]] = 1
    return k


@compiled_into
def cut_rows(
    stack: FlatStack,
    lower: Array,
    upper: Array,
    side: Array,
    free: Array,
    used: Array,
    taken: Array,
    program: FlatProgram,
) -> tuple[int, int]:
    """Write the linear rows with a free variable, its bounds, then the cones with one.

    Returns how many rows were taken, and of how many cones.
    """
    shape, k, b = program.shape, program.shape[K], program.b
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    zero = stack.shape[ZERO]
    where = np.full(lower.shape[0], -1)
    for p in range(k):
        where[free[p]] = p
    number, equations, at = 0, 0, 0
    row_ptr[0] = 0
    for i in range(zero + stack.shape[ROWS]):
        if used[i]:
            for e in range(stack.row_ptr[i], stack.row_ptr[i + 1]):
                c = where[stack.row_col[e]]
                if c >= 0:
                    row_col[at], row_val[at] = c, stack.row_val[e]
                    at += 1
            taken[number] = i
            b[number] = side[i]
            number += 1
            equations += 1 if i < zero else 0
            row_ptr[number] = at
        elif side[i] < 0.0 or (i < zero and side[i] != 0.0):
            shape[MISSED] = 1
    rows = number
    for high in range(2):
        for p in range(k):
            end = upper[free[p]] if high else -lower[free[p]]
            if abs(end) < np.inf:
                b[rows] = end
                row_col[at], row_val[at] = p, 1.0 if high else -1.0
                at += 1
                rows += 1
                row_ptr[rows] = at
    shape[ZERO], shape[ROWS], shape[BOUNDS] = equations, rows - equations, rows - number
    kept, begin, linear = 0, zero + stack.shape[ROWS], zero + stack.shape[ROWS]
    for t in range(stack.shape[CONES]):
        end = begin + stack.sizes[t]
        if not used[linear + t]:
            shape[MISSED], begin = 1, end
            continue
        for i in range(begin, end):
            for e in range(stack.row_ptr[i], stack.row_ptr[i + 1]):
                c = where[stack.row_col[e]]
                if c >= 0:
                    row_col[at], row_val[at] = c, stack.row_val[e]
                    at += 1
            taken[number], b[rows] = i, side[i]
            number, rows = number + 1, rows + 1
            row_ptr[rows] = at
        program.sizes[kept] = stack.sizes[t]
        kept, begin = kept + 1, end
    shape[CONES], shape[CELLS] = kept, at
    return number, kept


@compiled_into
def lines_in_use(
    stack: FlatStack,
    t: int,
    row: int,
    area: int,
    side: Array,
    free: Array,
    lines: Array,
    blas: Blas,
) -> int:
    """Write the lines of matrix t that are not zero in all members; return their number.

    -1 where the sum of squares of the members, in these lines, is not clearly definite: then their
    common range is smaller. `row` and `area` are where the matrix begins in the stack, packed and
    as a square.
    """
    m, matrix = stack.sizes[t], t - stack.shape[CONES]
    B, gram = np.empty(m * m), np.zeros(m * m)
    total, head = 0.0, row
    for c in range(m):
        for r in range(c, m):
            v = side[head] if r == c else side[head] * sqrt(0.5)
            B[r * m + c] = B[c * m + r] = v
            total += side[head] * side[head]
            head += 1
    biggest = sqrt(total)
    for p in range(free.shape[0]):
        biggest = max(biggest, stack.norms[free[p], matrix])
    terms = 0
    if sqrt(total) > FIXED * biggest:
        terms = 1
        for r in range(m):
            for c in range(r + 1):
                value = 0.0
                for i in range(m):
                    value += B[r * m + i] * B[c * m + i]
                gram[r * m + c] = value / total
    for p in range(free.shape[0]):
        j = free[p]
        if stack.norms[j, matrix] <= FIXED * biggest:
            continue
        terms += 1
        for e in range(stack.square_ptr[j], stack.square_ptr[j + 1]):
            i = stack.square_place[e] - area
            if i >= 0 and i < m * m:
                gram[i] += stack.square_val[e]
    order = 0
    for i in range(m):
        if gram[i * m + i] != 0.0:
            lines[order] = i
            order += 1
    for a in range(order):
        for c in range(a + 1):
            value = gram[lines[a] * m + lines[c]]
            B[a * order + c] = B[c * order + a] = value
    if factorise(B, order, blas) != 0:
        return -1
    for a in range(order):
        if B[a * order + a] <= CLEARLY * sqrt(terms):
            return -1
    return order


@cut_out.in_numpy
def _(*arguments: Any) -> bool:
    # The caller takes the way by arrays, then.
    return False
