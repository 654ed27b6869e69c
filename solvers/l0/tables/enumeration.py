r"""Best subsets of many small Gaussian nodes at once by enumeration, compiled.

Every subset of up to D candidates is reached from one with fewer by adding a later candidate f: the
cross-products of what is left lose what f explains,

.. math:: G_{ij} \leftarrow G_{ij} - G_{fi} G_{fj} / G_{ff}                          \tag{1}

with the response as the last row. That is about :math:`4 \cdot 2^D` multiplications, the same ones
in every node, so that a vector register does them for several nodes: nodes lie side by side in the
last axis. Up to about 13 candidates this is faster than the tree of
:mod:`~sparseopt.solvers.l0.tables.leaps_and_bounds`, which cuts most subsets but goes its own
way in each node.

A node whose candidates are nearly dependent is left to that tree.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place, compiled_inside
from ..settings import LANES, NOT_ENUMERATED
from .blocks import BlockData, independence, product
from .leaps_and_bounds import Tables

AT, SIZE, STACK, MEMBERS = range(4)
"""Rows of ``LaneSpace.level``: the candidate of a level to be added next, the size of its sets, the
stack of levels, and the members as bits."""

INVERSE, FACTOR, NULL = range(3)
"""Rows of ``LaneSpace.scratch``, one number for each lane; NULL is the squared norm of its node."""


@by_address
class LaneSpace(NamedTuple):
    """The memory of an enumeration, for nodes of up to D candidates.

    Attributes
    ----------
    matrix : array of shape (entries, LANES)
        For u = 0, ..., D candidates that are left, the upper triangle of the cross-products of them
        and the response, row by row.
    best : array of shape (D + 1, LANES)
        The smallest residual sum of squares of each size.
    mask : int64 array of the same shape
        The subsets that attain them.
    least : array of shape (LANES,)
        How near the candidates are to dependence, as in ``Tables.sine``.
    scratch : array of shape (3, LANES)
    norm : array of shape (D + 1,)
    triangle : array of shape (D + 1, D + 1)
    level : int64 array of shape (4, D + 1)
        By the level's u.
    """

    matrix: Array
    best: Array
    mask: Array
    least: Array
    scratch: Array
    norm: Array
    triangle: Array
    level: Array


def lane_space(D: int) -> LaneSpace:
    """Return the memory for nodes of up to D candidates.

    Parameters
    ----------
    D : int

    Returns
    -------
    LaneSpace
    """
    levels = D + 1
    return LaneSpace(
        matrix=np.zeros((levels * (levels + 1) * (levels + 2) // 6, LANES)),
        best=np.empty((levels, LANES)),
        mask=np.empty((levels, LANES), np.int64),
        least=np.empty(LANES),
        scratch=np.empty((3, LANES)),
        norm=np.empty(levels),
        triangle=np.empty((levels, levels)),
        level=np.empty((4, levels), np.int64),
    )


@compiled_in_place
def enumerate_block(space: LaneSpace, block: BlockData, todo: Array, tables: Tables) -> int:
    """Enumerate the subsets of some nodes of a block.

    Parameters
    ----------
    space : LaneSpace
    block : BlockData
    todo : int array, changed
        The nodes, by their place in the block, best sorted by their numbers of candidates. Those
        that are left to the tree come first afterwards.
    tables : Tables, changed

    Returns
    -------
    int
        How many are left.
    """
    n, ptr, lanes = block.rows.shape[1], block.ptr, len(space.least)
    left = 0
    for begin in range(0, len(todo), lanes):
        count = min(lanes, len(todo) - begin)
        D = _most_candidates(ptr, todo, begin, begin + count)
        for v in range(count):
            _load_lane(space, v, D, block, todo[begin + v])
        _enumerate(space, D)
        for v in range(count):
            b = todo[begin + v]
            space.least[v] = min(space.least[v], _independence(space, v, D))
            tables.sine[b] = space.least[v]
            if not space.least[v] >= NOT_ENUMERATED:
                todo[left] = b
                left += 1
                continue
            first, d = ptr[b] + b, ptr[b + 1] - ptr[b]
            smallest, chosen = 1.0, 0
            for k in range(d + 1):
                if space.best[k, v] < smallest:
                    smallest, chosen = space.best[k, v], space.mask[k, v] & ((1 << d) - 1)
                tables.loss[first + k] = space.scratch[NULL, v] / n * max(smallest, 0.0)
                tables.mask[first + k] = chosen
    return left


@compiled_inside
def _most_candidates(ptr: Array, todo: Array, begin: int, end: int) -> int:
    """Return the largest number of candidates of some nodes.

    A function of its own: with D = 0 at first the callers of D would be compiled for that 0, too.
    """
    most = 0
    for v in range(begin, end):
        most = max(most, ptr[todo[v] + 1] - ptr[todo[v]])
    return most


@compiled_inside
def _load_lane(space: LaneSpace, lane: int, D: int, block: BlockData, b: int) -> None:
    """Fill in the correlations of the b-th node, zeros beyond its candidates; O(n d^2).

    A candidate that is not there explains nothing.
    """
    rows, known, local, norm, M = block.rows, block.known, block.local, space.norm, space.matrix
    start, own, d = block.ptr[b], block.own[b], block.ptr[b + 1] - block.ptr[b]
    shift = rows.shape[1] * block.ridge
    yy = product(rows, known, own, own)
    space.scratch[NULL, lane] = yy
    scale = 1.0 / np.sqrt(yy)
    for i in range(d):
        a = local[start + i]
        norm[i] = 1.0 / np.sqrt(product(rows, known, a, a) + shift)
    entry = _first_entry(D)
    for i in range(D):
        M[entry, lane] = 1.0
        for k in range(i + 1, D):
            r = 0.0
            if k < d:
                r = product(rows, known, local[start + i], local[start + k]) * norm[i] * norm[k]
            M[entry + k - i, lane] = r
        c = product(rows, known, local[start + i], own) * norm[i] * scale if i < d else 0.0
        M[entry + D - i, lane] = c
        entry += D + 1 - i
    M[entry, lane] = 1.0


@compiled_inside
def _independence(space: LaneSpace, lane: int, D: int) -> Any:
    """Return how far a lane's candidates are from dependence, 0 if they are singular; O(D^3)."""
    M, L = space.matrix, space.triangle
    entry = _first_entry(D)
    for i in range(D):
        for k in range(i, D):
            L[k, i] = M[entry + k - i, lane]
        entry += D + 1 - i
    for i in range(D):
        for k in range(i):
            for j in range(k):
                L[i, k] -= L[i, j] * L[k, j]
            L[i, k] /= L[k, k]
            L[i, i] -= L[i, k] * L[i, k]
        if not L[i, i] > 0.0:
            return 0.0
        L[i, i] = np.sqrt(L[i, i])
    return independence(L, D)


@compiled_inside
def _first_entry(u: int) -> int:
    """Return where the triangle of level u starts: after those of 0, ..., u - 1."""
    return u * (u + 1) * (u + 2) // 6


@compiled_inside
def _enumerate(space: LaneSpace, D: int) -> None:
    """Find the best subset of every size of the nodes whose products are at level D; O(4 2^D).

    The diagonal is 1, also of the response: sums of squares are relative to that of no candidate.
    """
    M, best, mask, least = space.matrix, space.best, space.mask, space.least
    inverse, factor, lanes = space.scratch[INVERSE], space.scratch[FACTOR], M.shape[1]
    at, size, stack = space.level[AT], space.level[SIZE], space.level[STACK]
    members = space.level[MEMBERS]
    for v in range(lanes):
        least[v] = 1.0
        for k in range(D + 1):
            best[k, v], mask[k, v] = 1.0 if k == 0 else np.inf, 0
    stack[0], at[D], size[D], members[D] = D, 0, 0, 0
    top = 0
    while top >= 0:
        u = stack[top]
        f = at[u]
        if f == u:
            top -= 1
            continue
        at[u] = f + 1
        w, k = u - f - 1, size[u] + 1
        chosen = members[u] | 1 << (D - 1 - w)
        base, target = _first_entry(u), _first_entry(w)
        row = base + f * (u + 1) - f * (f - 1) // 2
        own, rest, left = row + w + 1, _first_entry(u + 1) - 1, _first_entry(w + 1) - 1
        for v in range(lanes):
            pivot = M[row, v]
            least[v] = min(least[v], pivot)
            inverse[v] = 1.0 / pivot
            rss = M[rest, v] - M[own, v] * M[own, v] * inverse[v]
            M[left, v] = rss
            old, held = best[k, v], mask[k, v]
            best[k, v] = rss if rss < old else old
            mask[k, v] = chosen if rss < old else held
        if w == 0:
            continue
        # (1) for the candidates after f, and the response.
        source = row + w + 2
        for i in range(w):
            other = row + 1 + i
            for v in range(lanes):
                factor[v] = M[other, v] * inverse[v]
            for j in range(w + 1 - i):
                for v in range(lanes):
                    M[target + j, v] = M[source + j, v] - factor[v] * M[other + j, v]
            source += w + 1 - i
            target += w + 1 - i
        at[w], size[w], members[w] = 0, k, chosen
        top += 1
        stack[top] = w
