r"""The interior-point method of :mod:`sparseopt.solvers.misdp.barrier` in compiled loops.

Everything is in flat arrays. The Schur complement :math:`H_{ij} = \langle A_i, Z A_j S^{-1}\rangle`
takes its entries by what the matrices are (Fujisawa, Kojima, Nakata 1997; DSDP's rank-one data):

- two of rank one, :math:`A_i = \alpha_i a_i a_i'`: :math:`\alpha_i \alpha_j (a_i'Z a_j)
  (a_i'S^{-1} a_j)`, two products of matrices for all of them;
- two with few entries: a sum over pairs of entries;
- any other, with :math:`T_j = Z A_j S^{-1}`: :math:`\langle A_i, T_j \rangle`.

Second-order cones add squares of their rows and one product of rank one
(:mod:`~sparseopt.solvers.misdp.cone_scaling`).

At each iterate the multipliers give a bound that holds whatever their errors are, since bounds of
the variables are charged for them: the method stops where that reaches the cutoff, or disproves
that anything is feasible; and, where it is asked to, as soon as a node is clearly to be branched.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import (
    compiled,
    compiled_inside,
    compiled_into,
)
from .blas import (
    Blas,
    against,
    blas_room,
    factorise,
    inverse_factor,
    multiply,
    substitute,
    transposed_times,
    tridiagonalise,
)
from .cone_scaling import (
    cone_norm,
    cone_step,
    scale_cone,
    second_order_term,
    unscale_twice,
)
from .flat import BOUNDS, CONES, ROWS, ZERO, FlatProgram, K


class Ended:
    """What ended the method, in `report[WORD]`."""

    RUNNING, OPTIMAL, CUTOFF, INFEASIBLE, UNBOUNDED, SLOW, TROUBLE, DIVERGED, BRANCH = range(9)


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


class Members(NamedTuple):
    """The matrices of the variables in each block: the members of the blocks.

    Attributes
    ----------
    first : int array of shape (blocks + 1,)
        Where the members of each block begin.
    var, ptr, kind : int arrays
        The variable, the first entry and the kind of each member.
    places : int array, val : array
        Row and column (row >= column), and the value of each entry.
    vectors : array of shape (members, 1 + largest order)
        alpha and a of each member of rank one.
    """

    first: Array
    var: Array
    ptr: Array
    kind: Array
    places: Array
    val: Array
    vectors: Array


class Sides(NamedTuple):
    """The constants B of all blocks, as squares, and the bounds of the variables."""

    B: Array
    low: Array
    high: Array


class Iterate(NamedTuple):
    """x, nu, s and z of inequalities and cones, S and Z of all blocks; or a step of them."""

    x: Array
    nu: Array
    s: Array
    z: Array
    S: Array
    Z: Array


class Residual(NamedTuple):
    """-(q + E'nu + G'z + <A, Z>), e - E x, h - G x - s, and B - A(x) - S of all blocks."""

    d: Array
    e: Array
    s: Array
    S: Array


class Factors(NamedTuple):
    """Of all blocks S^-1, and G with G G' the inverse of S or of Z; H and its Cholesky factor.

    With equations also the rows of Y = H^-1 E', and the factor of E H^-1 E'. Of cones, at the
    places of their slacks, w, and eta^2.
    """

    inverse: Array
    GS: Array
    GZ: Array
    H: Array
    F: Array
    Y: Array
    EHE: Array
    w: Array
    eta_squared: Array


class Room(NamedTuple):
    """Room for the vectors and matrices of one step.

    Attributes
    ----------
    own, pulled : arrays of shape (k,)
        Multipliers of the bounds of each variable, and the pull of all others.
    right, rest : arrays of shape (k,)
        Right-hand side of H dx, and what is left of it.
    short : array
        What is missing of the equations.
    target : array of the length of s, M : array
        The parts of dz and dZ that do not depend on dx.
    row_products : array of the length of s, products : array
        ds dz / s (of cones what stands for it) and dZ dS of the predictor.
    W, V, T : arrays
        Three matrices of the largest order.
    tridiagonal : array
        See :func:`largest_step`.
    ones : int array of shape (k,)
        Members of rank one.
    stacks, pairs : arrays of shapes (3, k times the largest order) and (2, k^2)
        Their vectors, these times Z and times S^-1, and both forms of each pair.
    cone : array of shape (3, length of s)
    """

    own: Array
    pulled: Array
    right: Array
    rest: Array
    short: Array
    target: Array
    M: Array
    row_products: Array
    products: Array
    W: Array
    V: Array
    T: Array
    tridiagonal: Array
    ones: Array
    stacks: Array
    pairs: Array
    cone: Array


class Measured(NamedTuple):
    """How far an iterate is.

    Attributes
    ----------
    product : float
        Complementarity, <s, z> + <S, Z>.
    primal : float
        The largest primal residual.
    constant, terms : float
        The constant of the dual function, bounds of variables left out, and the sum of the sizes of
        its terms.
    """

    product: float
    primal: float
    constant: float
    terms: float


@compiled_inside
def largest_step(
    G: Array, step: Array, W: Array, V: Array, more: Array, n: int, blas: Blas
) -> float:
    """Return the largest t up to 1 / SHORTEST with M + t step positive semidefinite.

    M is that of :func:`inverse_factor`, whose factor is G. G' step G is made tridiagonal, and its
    least eigenvalue is found by bisection with Sturm's counts, to within PRECISION from below. -1
    after a failure.
    """
    if n == 1:
        moved = G[0] * G[0] * step[0]
        return 1.0 / _SHORTEST if moved >= -_SHORTEST else -1.0 / moved
    multiply(step, G, V, n, n, blas)
    transposed_times(G, V, W, n, blas)
    failed = tridiagonalise(W, n, more, blas)
    # Gershgorin's discs, and the square of what is beside the diagonal.
    low, beside = np.inf, 0.0
    for i in range(n):
        after = abs(more[n + i]) if i < n - 1 else 0.0
        low = min(low, more[i] - beside - after)
        beside = after
    if failed != 0 or low != low or not abs(low) < np.inf:
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
def pull(M: Array, n: int, t: int, members: Members, sign: float, out: Array) -> None:
    """Add sign <A_j, M> to out for the members of block t; M is symmetric."""
    var, ptr, places, val = members.var, members.ptr, members.places, members.val
    for m in range(members.first[t], members.first[t + 1]):
        total = 0.0
        for e in range(ptr[m], ptr[m + 1]):
            r, c = places[2 * e], places[2 * e + 1]
            v = val[e] * M[r * n + c]
            total += v if r == c else 2.0 * v
        out[var[m]] += sign * total


@compiled_inside
def push(x: Array, n: int, t: int, members: Members, out: Array) -> None:
    """Write sum_j x_j A_j of block t to out."""
    var, ptr, places, val = members.var, members.ptr, members.places, members.val
    for i in range(n * n):
        out[i] = 0.0
    for m in range(members.first[t], members.first[t + 1]):
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


@compiled_inside(makes_arrays=True)
def read_members(program: FlatProgram) -> Members:
    """Sort the constraints' entries by block and variable, and say of which kind each matrix is."""
    k, cones, sizes = program.shape[K], program.shape[CONES], program.sizes
    col_ptr, col_row, col_val = program.col_ptr, program.col_row, program.col_val
    blocks, most, widest = sizes.shape[0], col_val.shape[0], 1
    for t in range(cones, blocks):
        widest = max(widest, sizes[t])
    numbers = np.empty((3, k * blocks + 2), np.int64)
    var, ptr, kind = numbers[0], numbers[1], numbers[2]
    places, val = np.empty(2 * most, np.int64), np.empty(most)
    first, vectors = np.empty(blocks + 1, np.int64), np.empty((k * blocks + 1, 1 + widest))
    members = Members(first, var, ptr, kind, places, val, vectors)
    # The next entry of each variable.
    at = col_ptr[:k].copy()
    count, entries, begin, ptr[0] = 0, 0, 0, 0
    for t in range(cones + 1):
        first[t] = 0
    for t in range(cones, blocks):
        n = sizes[t]
        end = begin + n * (n + 1) // 2
        for j in range(k):
            start = entries
            # The column of a packed place, which only grows.
            c, head = 0, begin
            while at[j] < col_ptr[j + 1] and col_row[at[j]] < end:
                row, value = col_row[at[j]], col_val[at[j]]
                at[j] += 1
                if value == 0.0:
                    continue
                while row >= head + n - c:
                    head += n - c
                    c += 1
                r = c + row - head
                places[2 * entries], places[2 * entries + 1] = r, c
                val[entries] = value if r == c else value * _HALF_ROOT
                entries += 1
            if entries > start:
                var[count] = j
                ptr[count + 1] = entries
                classify(members, count, n)
                count += 1
        first[t + 1] = count
        begin = end
    return members


@compiled_into
def classify(members: Members, m: int, n: int) -> None:
    """Write of which kind member m is, of order n; of rank one, also alpha and a."""
    kind, places, val, vectors = members.kind, members.places, members.val, members.vectors
    start, end = members.ptr[m], members.ptr[m + 1]
    count = end - start
    kind[m] = SPARSE
    if count == 1 or count * _FEW <= n:
        return
    kind[m] = GENERAL
    # The largest diagonal entry's column over its root, if there is rank one.
    pivot, top = -1, 0.0
    for e in range(start, end):
        if places[2 * e] == places[2 * e + 1] and abs(val[e]) > top:
            pivot, top = places[2 * e], abs(val[e])
    if pivot < 0:
        return
    alpha, root, a = 1.0, sqrt(top), vectors[m, 1:]
    for i in range(n):
        a[i] = 0.0
    filled = 0
    for e in range(start, end):
        r, c = places[2 * e], places[2 * e + 1]
        if r == pivot or c == pivot:
            a[r + c - pivot] = val[e] / root
            filled += 1
            if r == c:
                alpha = 1.0 if val[e] > 0.0 else -1.0
    if alpha < 0.0:
        for i in range(n):
            a[i] *= -1.0
    if count != filled * (filled + 1) // 2:
        return
    for e in range(start, end):
        product = alpha * a[places[2 * e]] * a[places[2 * e + 1]]
        if not abs(val[e] - product) <= 1e-13 * top:
            return
    kind[m] = RANK_ONE
    vectors[m, 0] = alpha


@compiled_inside(once=True)
def add_schur(
    Z: Array,
    inverse: Array,
    n: int,
    t: int,
    members: Members,
    k: int,
    H: Array,
    room: Room,
    blas: Blas,
) -> None:
    """Add <A_i, Z A_j S^-1> of block t to H, for i >= j.

    Parameters
    ----------
    Z, inverse : arrays of shape (n^2,)
        The multiplier and the inverse of S.
    H : array of shape (k^2,)
    """
    var, ptr, kind = members.var, members.ptr, members.kind
    places, val, vectors = members.places, members.val, members.vectors
    ones, A, W, T = room.ones, room.V, room.W, room.T
    stacked, with_Z, with_inverse = room.stacks[0], room.stacks[1], room.stacks[2]
    first, second = room.pairs[0], room.pairs[1]
    begin, end = members.first[t], members.first[t + 1]
    count = 0
    for m in range(begin, end):
        if kind[m] == RANK_ONE:
            ones[count] = m
            for i in range(n):
                stacked[count * n + i] = vectors[m, 1 + i]
            count += 1
    if count:
        multiply(stacked, Z, with_Z, count, n, blas)
        multiply(stacked, inverse, with_inverse, count, n, blas)
        against(stacked, with_Z, first, count, n, blas)
        against(stacked, with_inverse, second, count, n, blas)
        for a in range(count):
            i, alpha = var[ones[a]], vectors[ones[a], 0]
            for c in range(a + 1):
                j, beta = var[ones[c]], vectors[ones[c], 0]
                H[i * k + j] += alpha * beta * first[a * count + c] * second[a * count + c]
    for m in range(begin, end):
        j = var[m]
        if kind[m] == GENERAL:
            for i in range(n * n):
                A[i] = 0.0
            for e in range(ptr[m], ptr[m + 1]):
                r, c = places[2 * e], places[2 * e + 1]
                A[r * n + c] = A[c * n + r] = val[e]
            multiply(Z, A, W, n, n, blas)
            multiply(W, inverse, T, n, n, blas)
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
                i, alpha = var[ones[p]], vectors[ones[p], 0]
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
            add_few_entries(Z, inverse, n, m, begin, members, k, H)


@compiled_inside(once=True)
def add_few_entries(
    Z: Array, inverse: Array, n: int, m: int, begin: int, members: Members, k: int, H: Array
) -> None:
    """Add the entries of member m and those before it to H, where both have few: pair by pair."""
    var, ptr, kind = members.var, members.ptr, members.kind
    places, val, j = members.places, members.val, members.var[m]
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
    program: FlatProgram,
    settings: Array,
    state: Array,
    best: Array,
    report: Array,
    steps: int,
) -> None:
    """Take up to so many steps of the method, or all until it ends.

    Parameters
    ----------
    program : FlatProgram
    settings : array
        See :data:`TOLERANCE`. LOOSE: a relative gap at which a node that will not reach the cutoff
        is left; 0 for none.
    state : array
        x, nu, s, z (inequalities, then cones), S of all matrices, Z of all; changed in place.
    best : array of shape (k + WHOLE,)
        Receives the best x and multipliers.
    report : array
        See :data:`WORD`.
    steps : int
    """
    degree = program.shape[ROWS] + program.shape[CONES]
    for t in range(program.shape[CONES], program.sizes.shape[0]):
        degree += program.sizes[t]
    iterate, step = split(state, program), split(np.empty_like(state), program)
    members, sides, blas = read_members(program), read_sides(program), blas_room()
    residual, factors, room = room_of(program)
    word = _RUNNING
    for _ in range(steps):
        measured = measure(program, sides, members, iterate, residual, room)
        word = judge(program, sides, iterate, residual, room, measured, settings, best, report)
        if word != _RUNNING:
            break
        word = _TROUBLE
        if not schur_complement(program, members, iterate, factors, room, blas):
            break
        mu = measured.product / max(degree, 1)
        forget_predictor(room)
        aim, primal_step, dual_step = 0.0, 1.0, 1.0
        for corrected in range(2):
            right_side(program, members, iterate, residual, factors, room, aim, blas)
            solve_refined(program, residual, factors, room, step, blas)
            complete(program, members, iterate, residual, factors, room, step, blas)
            primal_step, dual_step = lengths(program, iterate, factors, room, step, blas)
            if min(primal_step, dual_step) < 0.0:
                break
            if not corrected:
                after = keep_predictor(
                    program, iterate, factors, step, room, primal_step, dual_step, blas
                )
                shorter = min(primal_step, dual_step)
                ratio = max(after, 0.0) / max(degree, 1) / mu
                aim = mu * min(1.0, max(ratio ** max(1.0, 3.0 * shorter * shorter), 1e-6))
        if min(primal_step, dual_step) < 0.0:
            break
        share = 0.9 + 0.09 * min(primal_step, dual_step)
        primal_step, dual_step = min(1.0, share * primal_step), min(1.0, share * dual_step)
        move(iterate, step, primal_step, dual_step)
        report[ITERATIONS] += 1.0
        word = _RUNNING
        if not max(primal_step, dual_step) > 1e-7:
            word = _SLOW
            break
    report[WORD] = word


@compiled_into
def split(state: Array, program: FlatProgram) -> Iterate:
    """Return the parts of a state."""
    at_nu, at_s = program.shape[K], program.shape[K] + program.shape[ZERO]
    length = program.row_ptr.shape[0] - 1 - program.shape[ZERO]
    at_z = at_s + length
    at_S = at_z + length
    at_Z = (at_S + state.shape[0]) // 2
    return Iterate(
        state[:at_nu],
        state[at_nu:at_s],
        state[at_s:at_z],
        state[at_z:at_S],
        state[at_S:at_Z],
        state[at_Z:],
    )


@compiled_inside(makes_arrays=True)
def read_sides(program: FlatProgram) -> Sides:
    """Return the constants of the blocks, and the bounds of the variables."""
    k, cones, sizes, b = program.shape[K], program.shape[CONES], program.sizes, program.b
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    linear, area = program.shape[ZERO] + program.shape[ROWS], 0
    for t in range(cones, sizes.shape[0]):
        area += sizes[t] * sizes[t]
    B, low, high = np.zeros(area), np.full(k, -np.inf), np.full(k, np.inf)
    for i in range(linear - program.shape[BOUNDS], linear):
        e = row_ptr[i]
        end = b[i] / row_val[e]
        if row_val[e] < 0.0:
            low[row_col[e]] = end
        else:
            high[row_col[e]] = end
    at, row = 0, row_ptr.shape[0] - 1
    for t in range(cones, sizes.shape[0]):
        n = sizes[t]
        for c in range(n):
            for r in range(c, n):
                v = b[row] if r == c else b[row] * _HALF_ROOT
                B[at + r * n + c] = B[at + c * n + r] = v
                row += 1
        at += n * n
    return Sides(B, low, high)


@compiled_inside(makes_arrays=True)
def room_of(program: FlatProgram) -> tuple[Residual, Factors, Room]:
    """Return room for the residuals, the factors and a step, so that the loops make no arrays."""
    k, zero, cones, area, widest = program.shape[K], program.shape[ZERO], program.shape[CONES], 0, 1
    for t in range(cones, program.sizes.shape[0]):
        n = program.sizes[t]
        area, widest = area + n * n, max(widest, n)
    length = program.row_ptr.shape[0] - 1 - zero
    of_k, of_zero, of_rows = np.empty((5, k)), np.empty((2, zero)), np.empty((7, length))
    areas, squares, schur = (
        np.empty((6, area)),
        np.empty((3, widest * widest)),
        np.empty((2, k * k)),
    )
    residual = Residual(of_k[0], of_zero[0], of_rows[0], areas[0])
    factors = Factors(
        areas[1],
        areas[2],
        areas[3],
        schur[0],
        schur[1],
        np.empty(zero * k),
        np.empty(zero * zero),
        of_rows[3],
        np.empty(cones),
    )
    room = Room(
        of_k[1],
        of_k[2],
        of_k[3],
        of_k[4],
        of_zero[1],
        of_rows[1],
        areas[4],
        of_rows[2],
        areas[5],
        squares[0],
        squares[1],
        squares[2],
        np.empty(36 * widest),
        np.empty(k, np.int64),
        np.empty((3, k * widest)),
        np.empty((2, k * k)),
        of_rows[4:],
    )
    return residual, factors, room


@compiled_inside(once=True)
def measure(
    program: FlatProgram,
    sides: Sides,
    members: Members,
    iterate: Iterate,
    residual: Residual,
    room: Room,
) -> Measured:
    """Write the primal residuals and what the multipliers pull; return how far the iterate is."""
    k, zero, sizes, b = program.shape[K], program.shape[ZERO], program.sizes, program.b
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    linear = zero + program.shape[ROWS]
    bounds = linear - program.shape[BOUNDS]
    x, nu, s, z = iterate.x, iterate.nu, iterate.s, iterate.z
    own, pulled = room.own, room.pulled
    product, primal, constant, terms = 0.0, 0.0, 0.0, 0.0
    for j in range(k):
        own[j] = 0.0
        pulled[j] = 0.0
    for i in range(row_ptr.shape[0] - 1):
        value = 0.0
        for e in range(row_ptr[i], row_ptr[i + 1]):
            value += row_val[e] * x[row_col[e]]
        missing = b[i] - value
        if i < zero:
            multiplier = nu[i]
            residual.e[i] = missing
        else:
            multiplier = z[i - zero]
            missing -= s[i - zero]
            residual.s[i - zero] = missing
            product += s[i - zero] * multiplier
        primal = max(primal, abs(missing))
        if bounds <= i < linear:
            own[row_col[row_ptr[i]]] += row_val[row_ptr[i]] * multiplier
        else:
            for e in range(row_ptr[i], row_ptr[i + 1]):
                pulled[row_col[e]] += row_val[e] * multiplier
            constant -= b[i] * multiplier
            terms += abs(b[i] * multiplier)
    at = 0
    for t in range(program.shape[CONES], sizes.shape[0]):
        n = sizes[t]
        B, R = sides.B[at : at + n * n], residual.S[at : at + n * n]
        S, Z = iterate.S[at : at + n * n], iterate.Z[at : at + n * n]
        push(x, n, t, members, R)
        inner = 0.0
        for i in range(n * n):
            R[i] = B[i] - R[i] - S[i]
            primal = max(primal, abs(R[i]))
            product += S[i] * Z[i]
            inner += B[i] * Z[i]
        constant -= inner
        terms += abs(inner)
        pull(Z, n, t, members, 1.0, pulled)
        at += n * n
    return Measured(product, primal, constant, terms)


@compiled_inside(once=True)
def judge(
    program: FlatProgram,
    sides: Sides,
    iterate: Iterate,
    residual: Residual,
    room: Room,
    measured: Measured,
    settings: Array,
    best: Array,
    report: Array,
) -> int:
    """Write the dual residual; keep the iterate where it is the best; return what it ends, if so.

    The multipliers y prove c + sum_j min over the bounds of (q_j + r_j) x_j, where c is the
    constant of the dual function and r their pull without the bounds' own; without q it is a
    disproof where it is positive (Neumaier and Shcherbina 2004).
    """
    k, q = program.shape[K], program.q
    linear = program.shape[ZERO] + program.shape[ROWS]
    x, z, rd = iterate.x, iterate.z, residual.d
    scale_q, scale_b = settings[SCALE_Q], settings[SCALE_B]
    cutoff, loose = settings[CUTOFF], settings[LOOSE]
    value, proven, disproof = 0.0, measured.constant, measured.constant
    dual_error, pull_size, terms, largest = 0.0, 0.0, measured.terms, 0.0
    for j in range(k):
        value += q[j] * x[j]
        largest = max(largest, abs(x[j]))
        r = room.pulled[j]
        rd[j] = -(q[j] + r + room.own[j])
        dual_error = max(dual_error, abs(rd[j]))
        pull_size = max(pull_size, abs(r + room.own[j]))
        end = sides.low[j] if r > 0.0 else sides.high[j]
        if abs(end) < 1e300:
            disproof += r * end
            terms += abs(r * end)
        elif r != 0.0:
            disproof = -np.inf
        r += q[j]
        end = sides.low[j] if r > 0.0 else sides.high[j]
        if abs(end) < 1e300:
            proven += r * end
        elif abs(r) > 1e-9 * scale_q:
            proven = -np.inf
    dual_value = measured.constant
    for i in range(linear - program.shape[BOUNDS], linear):
        dual_value -= program.b[i] * z[i - program.shape[ZERO]]
    report[DUAL_VALUE], report[PULLED] = dual_value, pull_size
    primal, dual_error = measured.primal / scale_b, dual_error / scale_q
    gap = abs(value - dual_value) / (1.0 + abs(value) + abs(dual_value))
    error = max(max(gap, measured.product / (1.0 + abs(value))), max(dual_error, primal))
    if error != error:
        return _TROUBLE
    word = _RUNNING
    if proven > cutoff + SURPLUS * abs(cutoff):
        word = _CUTOFF
    elif disproof > FARKAS * terms and terms < 1e300 and disproof > 1e-6 * scale_q:
        word = _INFEASIBLE
    elif dual_value > 0.0 and pull_size <= 1e-10 * dual_value:
        word = _INFEASIBLE
    elif error <= settings[TOLERANCE]:
        word = _OPTIMAL
    elif (
        loose > 0.0
        and primal <= 1e-7
        and value < cutoff
        and value - proven <= loose * min(1.0 + abs(value), cutoff - value)
    ):
        word = _BRANCH
    if error < report[BEST_ERROR] or word != _RUNNING:
        report[BEST_ERROR] = min(error, report[BEST_ERROR])
        keep_best(program, iterate, best)
    elif error > 1e6 * report[BEST_ERROR]:
        word = _DIVERGED
    if word == _RUNNING and largest > settings[FAR] * 1e-4 * scale_b and value < -1e-9 * largest:
        word = _UNBOUNDED
        for j in range(k):
            best[j] = x[j]
    return word


@compiled_inside
def keep_best(program: FlatProgram, iterate: Iterate, best: Array) -> None:
    """Write x and the multipliers to `best`."""
    k, zero = program.shape[K], program.shape[ZERO]
    for j in range(k):
        best[j] = iterate.x[j]
    for i in range(zero):
        best[k + i] = iterate.nu[i]
    row = k + zero
    for i in range(iterate.z.shape[0]):
        best[row] = iterate.z[i]
        row += 1
    at = 0
    for t in range(program.shape[CONES], program.sizes.shape[0]):
        n = program.sizes[t]
        Z = iterate.Z[at : at + n * n]
        for c in range(n):
            for r in range(c, n):
                v = Z[c * n + r]
                best[row] = v if r == c else v / _HALF_ROOT
                row += 1
        at += n * n


@compiled_inside(once=True)
def schur_complement(
    program: FlatProgram,
    members: Members,
    iterate: Iterate,
    factors: Factors,
    room: Room,
    blas: Blas,
) -> bool:
    """Write H = G' diag(z / s) G + <A_i, Z A_j S^-1> and the factors; False where one fails.

    With W^-2 in place of z / s in cones.
    """
    k, zero, rows = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    H, F, Y, EHE = factors.H, factors.F, factors.Y, factors.EHE
    s, z = iterate.s, iterate.z
    for i in range(k * k):
        H[i] = 0.0
    for i in range(rows):
        weight = z[i] / s[i]
        for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
            part = weight * row_val[e]
            for f in range(row_ptr[zero + i], e + 1):
                first, second = row_col[e], row_col[f]
                H[max(first, second) * k + min(first, second)] += part * row_val[f]
    if not add_cones(program, iterate, factors, room, H):
        return False
    at = 0
    for t in range(program.shape[CONES], program.sizes.shape[0]):
        n = program.sizes[t]
        S, Z = iterate.S[at : at + n * n], iterate.Z[at : at + n * n]
        GS, inverse = factors.GS[at : at + n * n], factors.inverse[at : at + n * n]
        if inverse_factor(S, GS, n, blas) != 0:
            return False
        if inverse_factor(Z, factors.GZ[at : at + n * n], n, blas) != 0:
            return False
        against(GS, GS, inverse, n, n, blas)
        add_schur(Z, inverse, n, t, members, k, H, room, blas)
        at += n * n
    top = 1e-300
    for j in range(k):
        top = max(top, H[j * k + j])
    for i in range(k):
        row, column = H[i * k : (i + 1) * k], H[i:]
        row[i] += 1e-15 * top
        for j in range(i):
            column[j * k] = row[j]
    for i in range(k * k):
        F[i] = H[i]
    if factorise(F, k, blas) != 0:
        return False
    if zero == 0:
        return True
    for i in range(zero * k):
        Y[i] = 0.0
    for i in range(zero):
        for e in range(row_ptr[i], row_ptr[i + 1]):
            Y[i * k + row_col[e]] += row_val[e]
    substitute(F, Y, k, zero, blas)
    for i in range(zero):
        for j in range(zero):
            total = 0.0
            for e in range(row_ptr[i], row_ptr[i + 1]):
                total += row_val[e] * Y[j * k + row_col[e]]
            EHE[i * zero + j] = total
        EHE[i * zero + i] *= 1.0 + 1e-14
    return bool(factorise(EHE, zero, blas) == 0)


@compiled_inside(once=True)
def add_cones(
    program: FlatProgram, iterate: Iterate, factors: Factors, room: Room, H: Array
) -> bool:
    """Add G'W^-2 G of the second-order cones to H, for i >= j, and write W; False outside of one.

    W^-2 = (2 (J w)(J w)' - J) / eta^2.
    """
    k, zero, begin = program.shape[K], program.shape[ZERO], program.shape[ROWS]
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    v, inside = room.rest, room.ones
    for t in range(program.shape[CONES]):
        end = begin + program.sizes[t]
        w = factors.w[begin:end]
        eta_squared = scale_cone(iterate.s[begin:end], iterate.z[begin:end], w)
        if not eta_squared < np.inf:
            return False
        factors.eta_squared[t] = eta_squared
        for j in range(k):
            v[j] = 0.0
        for i in range(begin, end):
            head = i == begin
            weight, own = (-1.0 if head else 1.0) / eta_squared, w[i - begin]
            for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
                first, value = row_col[e], row_val[e]
                v[first] += value * (own if head else -own)
                for f in range(row_ptr[zero + i], e + 1):
                    second = row_col[f]
                    product = weight * value * row_val[f]
                    H[max(first, second) * k + min(first, second)] += product
        count = 0
        for j in range(k):
            if v[j] != 0.0:
                inside[count] = j
                count += 1
        for a in range(count):
            i = inside[a]
            part = 2.0 / eta_squared * v[i]
            for c in range(a + 1):
                H[i * k + inside[c]] += part * v[inside[c]]
        begin = end
    return True


@compiled_inside(once=True)
def right_side(
    program: FlatProgram,
    members: Members,
    iterate: Iterate,
    residual: Residual,
    factors: Factors,
    room: Room,
    aim: float,
    blas: Blas,
) -> None:
    """Write what dx does not change of dz and dZ, and the right-hand side r of H dx + E'dnu = r.

    target = aim / s - z - z r_s / s - ds dz / s, or aim s^-1 - z - W^-2 r_s less the second-order
    term of a cone, and M = aim S^-1 - Z - (Z R + dZ dS) S^-1 made
    symmetric, with the predictor's ds dz and dZ dS; r = r_d - G'target - <A, M>.
    """
    k, zero, sizes = program.shape[K], program.shape[ZERO], program.sizes
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    s, z, rs = iterate.s, iterate.z, residual.s
    right, target, W = room.right, room.target, room.W
    for j in range(k):
        right[j] = residual.d[j]
    for i in range(program.shape[ROWS]):
        target[i] = aim / s[i] - z[i] - z[i] * rs[i] / s[i] - room.row_products[i]
    begin = program.shape[ROWS]
    for t in range(program.shape[CONES]):
        end = begin + sizes[t]
        cone = target[begin:end]
        unscale_twice(factors.w[begin:end], factors.eta_squared[t], rs[begin:end], cone)
        size = cone_norm(s[begin:end])
        for i in range(begin, end):
            inverse_s = (s[i] if i == begin else -s[i]) / (size * size)
            target[i] = aim * inverse_s - z[i] - target[i] - room.row_products[i]
        begin = end
    for i in range(begin):
        for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
            right[row_col[e]] -= row_val[e] * target[i]
    at = 0
    for t in range(program.shape[CONES], sizes.shape[0]):
        n = sizes[t]
        Z, inverse = iterate.Z[at : at + n * n], factors.inverse[at : at + n * n]
        M, second = room.M[at : at + n * n], room.products[at : at + n * n]
        multiply(Z, residual.S[at : at + n * n], W, n, n, blas)
        for i in range(n * n):
            W[i] += second[i]
        multiply(W, inverse, M, n, n, blas)
        for i in range(n * n):
            M[i] = aim * inverse[i] - Z[i] - M[i]
        average(M, n)
        pull(M, n, t, members, -1.0, right)
        at += n * n


@compiled_inside(once=True)
def solve_refined(
    program: FlatProgram,
    residual: Residual,
    factors: Factors,
    room: Room,
    step: Iterate,
    blas: Blas,
) -> None:
    """Solve H dx + E'dnu = right, E dx = r_e, and refine the solution once.

    dnu comes from E H^-1 E' dnu = E H^-1 rest - (r_e - E dx).
    """
    k, zero = program.shape[K], program.shape[ZERO]
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    dx, dnu, rest, short = step.x, step.nu, room.rest, room.short
    H, Y = factors.H, factors.Y
    for i in range(zero):
        dnu[i] = 0.0
    for j in range(k):
        dx[j] = 0.0
    for again in range(2):
        for j in range(k):
            total, row = room.right[j], H[j * k : (j + 1) * k]
            if again:
                for i in range(k):
                    total -= row[i] * dx[i]
            rest[j] = total
        if zero:
            for i in range(zero):
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    rest[row_col[e]] -= row_val[e] * dnu[i]
            for i in range(zero):
                total = -residual.e[i]
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    total += row_val[e] * dx[row_col[e]]
                for j in range(k):
                    total += Y[i * k + j] * rest[j]
                short[i] = total
            substitute(factors.EHE, short, zero, 1, blas)
            for i in range(zero):
                dnu[i] += short[i]
                for e in range(row_ptr[i], row_ptr[i + 1]):
                    rest[row_col[e]] -= row_val[e] * short[i]
        substitute(factors.F, rest, k, 1, blas)
        for j in range(k):
            dx[j] += rest[j]


@compiled_inside(once=True)
def complete(
    program: FlatProgram,
    members: Members,
    iterate: Iterate,
    residual: Residual,
    factors: Factors,
    room: Room,
    step: Iterate,
    blas: Blas,
) -> None:
    """Write ds = r_s - G dx, dz = target + z / s G dx, dS = R - A(dx), dZ = M + Z A(dx) S^-1.

    With W^-2 in place of z / s in cones.
    """
    zero, sizes, dx = program.shape[ZERO], program.sizes, step.x
    row_ptr, row_col, row_val = program.row_ptr, program.row_col, program.row_val
    V, W = room.V, room.W
    for i in range(step.s.shape[0]):
        moved = 0.0
        for e in range(row_ptr[zero + i], row_ptr[zero + i + 1]):
            moved += row_val[e] * dx[row_col[e]]
        step.s[i], step.z[i] = residual.s[i] - moved, moved
    begin = program.shape[ROWS]
    for i in range(begin):
        step.z[i] *= iterate.z[i] / iterate.s[i]
    for t in range(program.shape[CONES]):
        end = begin + sizes[t]
        moved_z = step.z[begin:end]
        unscale_twice(factors.w[begin:end], factors.eta_squared[t], moved_z, moved_z)
        begin = end
    for i in range(begin):
        step.z[i] += room.target[i]
    at = 0
    for t in range(program.shape[CONES], sizes.shape[0]):
        n = sizes[t]
        dS, dZ = step.S[at : at + n * n], step.Z[at : at + n * n]
        R, M = residual.S[at : at + n * n], room.M[at : at + n * n]
        push(dx, n, t, members, V)
        multiply(iterate.Z[at : at + n * n], V, W, n, n, blas)
        multiply(W, factors.inverse[at : at + n * n], dZ, n, n, blas)
        average(dZ, n)
        for i in range(n * n):
            dS[i] = R[i] - V[i]
            dZ[i] += M[i]
        at += n * n


@compiled_inside(once=True)
def lengths(
    program: FlatProgram,
    iterate: Iterate,
    factors: Factors,
    room: Room,
    step: Iterate,
    blas: Blas,
) -> tuple[float, float]:
    """Return how far slacks and multipliers may go, up to 1 / SHORTEST; -1 after a failure."""
    s, z, ds, dz = iterate.s, iterate.z, step.s, step.z
    W, V, more = room.W, room.V, room.tridiagonal
    primal_step, dual_step = 1.0 / _SHORTEST, 1.0 / _SHORTEST
    for i in range(program.shape[ROWS]):
        if ds[i] < 0.0:
            primal_step = min(primal_step, -s[i] / ds[i])
        if dz[i] < 0.0:
            dual_step = min(dual_step, -z[i] / dz[i])
    begin = program.shape[ROWS]
    for t in range(program.shape[CONES]):
        end = begin + program.sizes[t]
        primal_step = min(primal_step, cone_step(s[begin:end], ds[begin:end], 1.0 / _SHORTEST))
        dual_step = min(dual_step, cone_step(z[begin:end], dz[begin:end], 1.0 / _SHORTEST))
        begin = end
    at = 0
    for t in range(program.shape[CONES], program.sizes.shape[0]):
        n = program.sizes[t]
        GS, dS = factors.GS[at : at + n * n], step.S[at : at + n * n]
        GZ, dZ = factors.GZ[at : at + n * n], step.Z[at : at + n * n]
        primal_step = min(primal_step, largest_step(GS, dS, W, V, more, n, blas))
        dual_step = min(dual_step, largest_step(GZ, dZ, W, V, more, n, blas))
        at += n * n
    return primal_step, dual_step


@compiled_inside
def forget_predictor(room: Room) -> None:
    """Set the products of the predictor's steps to zero."""
    for i in range(room.row_products.shape[0]):
        room.row_products[i] = 0.0
    for i in range(room.products.shape[0]):
        room.products[i] = 0.0


@compiled_inside(once=True)
def keep_predictor(
    program: FlatProgram,
    iterate: Iterate,
    factors: Factors,
    step: Iterate,
    room: Room,
    primal_step: float,
    dual_step: float,
    blas: Blas,
) -> float:
    """Write the products of the predictor's steps; return the complementarity at its end."""
    s, z, ds, dz = iterate.s, iterate.z, step.s, step.z
    S, Z, dS, dZ = iterate.S, iterate.Z, step.S, step.Z
    after, at = 0.0, 0
    for i in range(s.shape[0]):
        after += (s[i] + primal_step * ds[i]) * (z[i] + dual_step * dz[i])
    begin = program.shape[ROWS]
    for i in range(begin):
        room.row_products[i] = ds[i] * dz[i] / s[i]
    for t in range(program.shape[CONES]):
        end = begin + program.sizes[t]
        second_order_term(
            factors.w[begin:end],
            factors.eta_squared[t],
            z[begin:end],
            ds[begin:end],
            dz[begin:end],
            room.cone,
            room.row_products[begin:end],
        )
        begin = end
    for i in range(S.shape[0]):
        after += (S[i] + primal_step * dS[i]) * (Z[i] + dual_step * dZ[i])
    for t in range(program.shape[CONES], program.sizes.shape[0]):
        n = program.sizes[t]
        products = room.products[at : at + n * n]
        multiply(dZ[at : at + n * n], dS[at : at + n * n], products, n, n, blas)
        at += n * n
    return after


@compiled_inside(once=True)
def move(iterate: Iterate, step: Iterate, primal_step: float, dual_step: float) -> None:
    """Take the step."""
    for j in range(step.x.shape[0]):
        iterate.x[j] += primal_step * step.x[j]
    for i in range(step.nu.shape[0]):
        iterate.nu[i] += dual_step * step.nu[i]
    for i in range(step.s.shape[0]):
        iterate.s[i] += primal_step * step.s[i]
        iterate.z[i] += dual_step * step.z[i]
    for i in range(step.S.shape[0]):
        iterate.S[i] += primal_step * step.S[i]
        iterate.Z[i] += dual_step * step.Z[i]
