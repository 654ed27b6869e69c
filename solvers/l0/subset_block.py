"""Best subsets of a block of Gaussian nodes, compiled: from products of columns to tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .subset_lanes import LaneSpace, enumerate_subsets, first_entry
from .subset_tree import SearchSpace, finish, pursue, start

__all__ = ["enumerate_block", "product", "search_block"]

_SAFE = 1e-8
"""Squared sine of an angle between candidates below which a node is not enumerated."""


@compiled
def _dot(a: Array, b: Array) -> Any:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def product(rows: Array, known: Array, a: int, b: int) -> Any:
    """Return the inner product of two rows; each is computed once where it can be remembered."""
    if a > b:
        a, b = b, a
    if b - a >= known.shape[1]:
        return _dot(rows[a], rows[b])
    if np.isnan(known[a, b - a]):
        known[a, b - a] = _dot(rows[a], rows[b])
    return known[a, b - a]


@compiled
def _load(
    space: SearchSpace, rows: Array, known: Array, own: int, local: Array, shift: float
) -> Any:
    """Fill in the correlations of one node; return its squared norm."""
    d = len(local)
    norm = space.spare[0]
    yy = product(rows, known, own, own)
    for i in range(d):
        norm[i] = 1.0 / np.sqrt(product(rows, known, local[i], local[i]) + shift)
        space.c[i] = product(rows, known, local[i], own) * norm[i] / np.sqrt(yy)
        space.R[i, i] = 1.0
        for k in range(i):
            r = product(rows, known, local[i], local[k]) * norm[i] * norm[k]
            space.R[i, k] = r
            space.R[k, i] = r
    return yy


@compiled
def _load_lane(
    space: LaneSpace,
    lane: int,
    D: int,
    norm: Array,
    rows: Array,
    known: Array,
    own: int,
    local: Array,
    shift: float,
) -> Any:
    """Fill in the correlations of one lane, zeros beyond its candidates; return the squared norm.

    A candidate that is not there explains nothing.
    """
    d, M = len(local), space.matrix
    yy = product(rows, known, own, own)
    scale = 1.0 / np.sqrt(yy)
    for i in range(d):
        norm[i] = 1.0 / np.sqrt(product(rows, known, local[i], local[i]) + shift)
    entry = first_entry(D)
    for i in range(D):
        M[entry, lane] = 1.0
        for k in range(i + 1, D):
            r = 0.0
            if k < d:
                r = product(rows, known, local[i], local[k]) * norm[i] * norm[k]
            M[entry + k - i, lane] = r
        c = product(rows, known, local[i], own) * norm[i] * scale if i < d else 0.0
        M[entry + D - i, lane] = c
        entry += D + 1 - i
    M[entry, lane] = 1.0
    return yy


@compiled
def enumerate_block(
    space: LaneSpace,
    rows: Array,
    known: Array,
    own: Array,
    local: Array,
    ptr: Array,
    ridge: float,
    todo: Array,
    loss: Array,
    mask: Array,
    sine: Array,
) -> int:
    """Enumerate the subsets of some nodes of a block.

    Parameters
    ----------
    space : LaneSpace
    rows, known, own, local, ptr, ridge, loss, mask, sine
        As for :func:`search_block`.
    todo : int array, changed
        The nodes, by their place in the block, best sorted by their numbers of candidates. Those
        that are left to the tree come first afterwards.

    Returns
    -------
    int
        How many are left.
    """
    n, lanes = rows.shape[1], len(space.least)
    norm, null = np.empty(len(space.at)), np.empty(lanes)
    left = 0
    for begin in range(0, len(todo), lanes):
        count = min(lanes, len(todo) - begin)
        D = 0
        for v in range(count):
            b = todo[begin + v]
            D = max(D, ptr[b + 1] - ptr[b])
        for v in range(count):
            b = todo[begin + v]
            null[v] = _load_lane(
                space, v, D, norm, rows, known, own[b], local[ptr[b] : ptr[b + 1]], n * ridge
            )
        enumerate_subsets(space, D)
        for v in range(count):
            b = todo[begin + v]
            sine[b] = space.least[v]
            if not space.least[v] >= _SAFE:
                todo[left] = b
                left += 1
                continue
            first, d = ptr[b] + b, ptr[b + 1] - ptr[b]
            smallest, chosen = 1.0, 0
            for k in range(d + 1):
                if space.best[k, v] < smallest:
                    smallest, chosen = space.best[k, v], space.mask[k, v] & ((1 << d) - 1)
                loss[first + k] = null[v] / n * max(smallest, 0.0)
                mask[first + k] = chosen
    return left


@compiled
def search_block(
    space: SearchSpace,
    rows: Array,
    known: Array,
    own: Array,
    local: Array,
    ptr: Array,
    ridge: float,
    todo: Array,
    place: Array,
    quota: int,
    loss: Array,
    mask: Array,
    sine: Array,
) -> None:
    """Go on with the trees of some nodes of a block for about `quota` tree nodes.

    Parameters
    ----------
    space : SearchSpace
    rows, known, own, local, ptr, ridge
        As in :class:`~sparseopt.solvers.l0.blocks.BlockData`.
    todo : int array
        The nodes to be searched, by their place in the block.
    place : int array of shape (3,), changed
        The place in `todo`, whether the search of that node has begun, tree nodes visited.
    quota : int
    loss, mask : arrays of shape (ptr[B] + B,), changed
        The tables: the smallest loss of each size, and the subset that attains it.
    sine : array of shape (B,), changed
        How near each node's candidates are to dependence: the smallest squared sine of an angle.
    """
    n = rows.shape[1]
    left = quota
    while place[0] < len(todo) and left > 0:
        b = todo[place[0]]
        d = ptr[b + 1] - ptr[b]
        if place[1] == 0:
            yy = _load(space, rows, known, own[b], local[ptr[b] : ptr[b + 1]], n * ridge)
            # Kept in the table until the search ends: a search may take several calls.
            loss[ptr[b] + b] = yy / n
            start(space, d)
            sine[b] = space.floor[2] if space.state[3] == d else 0.0
            place[1] = 1
        before = space.state[1]
        if not pursue(space, left):
            place[2] += space.state[1] - before
            return
        finish(space, d)
        # Nodes without a tree cost something, too.
        left -= space.state[1] - before + 1
        place[2] += space.state[1] - before
        first = ptr[b] + b
        null = loss[first]
        for k in range(d + 1):
            loss[first + k] = null * space.best[k]
            mask[first + k] = space.mask[k]
        place[0] += 1
        place[1] = 0
