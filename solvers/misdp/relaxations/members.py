"""The matrices of the variables in each block, as the compiled interior points take them."""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_inside, compiled_into
from .flat import CONES, FlatProgram, K

SPARSE, RANK_ONE, GENERAL = range(3)
"""Kinds of members, by which their entries of the Schur complement are computed."""
HALF_ROOT = sqrt(0.5)
"""Of an entry beside the diagonal in a row of a matrix, which is scaled by the root of 2."""
_FEW = 4
"""A matrix has few entries up to a fourth of its order."""


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
                val[entries] = value if r == c else value * HALF_ROOT
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
