r"""The Schur complement :math:`H_{ij} = \langle A_i, Z A_j S^{-1}\rangle` of the interior points.

Its entries are computed by what the matrices are (Fujisawa, Kojima, Nakata 1997; DSDP's rank-one
data):

- two of rank one, :math:`A_i = \alpha_i a_i a_i'`: :math:`\alpha_i \alpha_j (a_i'Z a_j)
  (a_i'S^{-1} a_j)`, two products of matrices for all of them;
- two with few entries: a sum over pairs of entries;
- any other, with :math:`T_j = Z A_j S^{-1}`: :math:`\langle A_i, T_j \rangle`.

Second-order cones add squares of their rows and one product of rank one
(:mod:`~sparseopt.solvers.misdp.relaxations.cone_scaling`).
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside
from .blas import Blas, against, factorise, inverse_factor, multiply, substitute
from .cone_scaling import scale_cone
from .flat import CONES, ROWS, ZERO, FlatProgram, K
from .interior_state import Factors, Iterate, Room
from .members import GENERAL, RANK_ONE, SPARSE, Members


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
