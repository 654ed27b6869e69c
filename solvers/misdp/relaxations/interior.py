"""The method of :mod:`sparseopt.solvers.misdp.relaxations.barrier` in compiled loops.

Everything is in flat arrays.

At each iterate the multipliers give a bound that holds whatever their errors are, since bounds of
the variables are charged for them: the method stops where that reaches the cutoff, or disproves
that anything is feasible; and, where it is asked to, as soon as a node is clearly to be branched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import (
    compiled,
    compiled_inside,
)
from .blas import (
    Blas,
    blas_room,
    multiply,
    substitute,
    transposed_times,
    tridiagonalise,
)
from .cone_scaling import (
    cone_norm,
    cone_step,
    second_order_term,
    unscale_twice,
)
from .flat import BOUNDS, CONES, ROWS, ZERO, FlatProgram, K
from .interior_state import (
    Factors,
    Iterate,
    Residual,
    Room,
    Sides,
    read_sides,
    room_of,
    split,
)
from .members import HALF_ROOT, Members, pull, push, read_members
from .schur import schur_complement


class Ended:
    """What ended the method, in `report[WORD]`."""

    RUNNING, OPTIMAL, CUTOFF, INFEASIBLE, UNBOUNDED, SLOW, TROUBLE, DIVERGED, BRANCH = range(9)


TOLERANCE, CUTOFF, LOOSE, SCALE_Q, SCALE_B, FAR = range(6)
"""Places of `settings`."""
WORD, ITERATIONS, BEST_ERROR, DUAL_VALUE, PULLED = range(5)
"""Places of `report`."""
_RUNNING, _OPTIMAL, _CUTOFF, _INFEASIBLE, _UNBOUNDED = 0, 1, 2, 3, 4
_SLOW, _TROUBLE, _DIVERGED, _BRANCH = 5, 6, 7, 8
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
def average(M: Array, n: int) -> None:
    """Replace M by the mean of it and its transpose."""
    for r in range(n):
        for c in range(r):
            M[r * n + c] = M[c * n + r] = 0.5 * (M[r * n + c] + M[c * n + r])


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
    scale_q, scale_b = settings[SCALE_Q], settings[SCALE_B]
    cutoff, loose = settings[CUTOFF], settings[LOOSE]
    proven, disproof, terms = _proofs(program, sides, room, measured, scale_q)
    value, largest, dual_error, pull_size = 0.0, 0.0, 0.0, 0.0
    for j in range(program.shape[K]):
        value += program.q[j] * iterate.x[j]
        largest = max(largest, abs(iterate.x[j]))
        pull = room.pulled[j] + room.own[j]
        residual.d[j] = -(program.q[j] + pull)
        dual_error = max(dual_error, abs(residual.d[j]))
        pull_size = max(pull_size, abs(pull))
    dual_value, linear = measured.constant, program.shape[ZERO] + program.shape[ROWS]
    for i in range(linear - program.shape[BOUNDS], linear):
        dual_value -= program.b[i] * iterate.z[i - program.shape[ZERO]]
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
        for j in range(program.shape[K]):
            best[j] = iterate.x[j]
    return word


@compiled_inside
def _proofs(
    program: FlatProgram, sides: Sides, room: Room, measured: Measured, scale_q: float
) -> tuple[float, float, float]:
    """Return what the multipliers prove, the same without q, and the size of the latter's terms."""
    proven, disproof, terms = measured.constant, measured.constant, measured.terms
    for j in range(program.shape[K]):
        r = room.pulled[j]
        end = sides.low[j] if r > 0.0 else sides.high[j]
        if abs(end) < 1e300:
            disproof += r * end
            terms += abs(r * end)
        elif r != 0.0:
            disproof = -np.inf
        r += program.q[j]
        end = sides.low[j] if r > 0.0 else sides.high[j]
        if abs(end) < 1e300:
            proven += r * end
        elif abs(r) > 1e-9 * scale_q:
            proven = -np.inf
    return proven, disproof, terms


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
                best[row] = v if r == c else v / HALF_ROOT
                row += 1
        at += n * n


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
