r"""Best subsets of many small Gaussian nodes at once by enumeration, compiled.

Every subset of up to D candidates is reached from one with fewer by adding a later candidate f: the
cross-products of what is left lose what f explains,

.. math:: G_{ij} \leftarrow G_{ij} - G_{fi} G_{fj} / G_{ff}

with the response as the last row. That is about :math:`4 \cdot 2^D` multiplications, the same ones
in every node, so that a vector register does them for several nodes: nodes lie side by side in the
last axis. Up to about 13 candidates this is faster than the tree of
:mod:`~sparseopt.solvers.l0.subset_tree`, which cuts most subsets but goes its own way in each
node.

A node whose candidates are nearly dependent is left to that tree.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled

__all__ = ["LANES", "WIDEST", "LaneSpace", "enumerate_subsets", "first_entry", "lane_space"]

LANES = 128
"""Nodes side by side: enough for the work on each row to outweigh its start."""
WIDEST = 13
"""The largest number of candidates for which this is the faster way."""


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
        The smallest squared sine of an angle between a candidate and those before it.
    factor : array of shape (2, LANES)
    at, size, stack, members : int arrays of shape (D + 1,)
        One entry for each level, by the level's u.
    """

    matrix: Array
    best: Array
    mask: Array
    least: Array
    factor: Array
    at: Array
    size: Array
    stack: Array
    members: Array


def lane_space(D: int) -> LaneSpace:
    """Return the memory for nodes of up to D candidates."""
    levels = D + 1
    return LaneSpace(
        matrix=np.zeros((levels * (levels + 1) * (levels + 2) // 6, LANES)),
        best=np.empty((levels, LANES)),
        mask=np.empty((levels, LANES), np.int64),
        least=np.empty(LANES),
        factor=np.empty((2, LANES)),
        at=np.empty(levels, np.int64),
        size=np.empty(levels, np.int64),
        stack=np.empty(levels, np.int64),
        members=np.empty(levels, np.int64),
    )


@compiled
def first_entry(u: int) -> int:
    """Return where the triangle of level u starts: behind those of 0, ..., u - 1."""
    return u * (u + 1) * (u + 2) // 6


@compiled
def enumerate_subsets(space: LaneSpace, D: int) -> None:
    """Find the best subset of every size of the nodes whose products are at level D of `space`.

    The diagonal is 1, also of the response: sums of squares are relative to that of no candidate.
    """
    M, best, mask, least = space.matrix, space.best, space.mask, space.least
    inverse, factor = space.factor[0], space.factor[1]
    at, size, stack, members = space.at, space.size, space.stack, space.members
    lanes = M.shape[1]
    best[1 : D + 1] = np.inf
    mask[: D + 1] = 0
    best[0], least[:] = 1.0, 1.0
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
        base, target = first_entry(u), first_entry(w)
        row = base + f * (u + 1) - f * (f - 1) // 2
        own, rest, left = row + w + 1, first_entry(u + 1) - 1, first_entry(w + 1) - 1
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
