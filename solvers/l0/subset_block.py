"""Best subsets of a block of Gaussian nodes, compiled: from products of columns to tables."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems.base import Array

from ..common.compiled import compiled
from .subset_lanes import LaneSpace, enumerate_subsets, first_entry
from .subset_tree import SearchSpace, finish, pursue, start

__all__ = ["enumerate_block", "search_block", "solve_block"]

_SAFE = 1e-8
"""Squared sine of an angle between candidates below which a node is not enumerated."""


@compiled
def _dot(a: Array, b: Array) -> Any:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _product(rows: Array, known: Array, a: int, b: int) -> Any:
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
    yy = _product(rows, known, own, own)
    for i in range(d):
        norm[i] = 1.0 / np.sqrt(_product(rows, known, local[i], local[i]) + shift)
        space.c[i] = _product(rows, known, local[i], own) * norm[i] / np.sqrt(yy)
        space.R[i, i] = 1.0
        for k in range(i):
            r = _product(rows, known, local[i], local[k]) * norm[i] * norm[k]
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
    yy = _product(rows, known, own, own)
    scale = 1.0 / np.sqrt(yy)
    for i in range(d):
        norm[i] = 1.0 / np.sqrt(_product(rows, known, local[i], local[i]) + shift)
    entry = first_entry(D)
    for i in range(D):
        M[entry, lane] = 1.0
        for k in range(i + 1, D):
            r = 0.0
            if k < d:
                r = _product(rows, known, local[i], local[k]) * norm[i] * norm[k]
            M[entry + k - i, lane] = r
        c = _product(rows, known, local[i], own) * norm[i] * scale if i < d else 0.0
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


@compiled
def solve_block(
    factor: Array,
    norm: Array,
    chosen: Array,
    rows: Array,
    known: Array,
    own: Array,
    local: Array,
    ptr: Array,
    ridge: float,
    selected: Array,
    x: Array,
    hard: Array,
) -> None:
    """Solve the normal equations of each node by Cholesky's method; flag those near dependence."""
    shift = rows.shape[1] * ridge
    for b in range(len(own)):
        k = 0
        for a in range(ptr[b], ptr[b + 1]):
            if selected[a]:
                chosen[k] = a
                k += 1
        for i in range(k):
            r = local[chosen[i]]
            norm[i] = 1.0 / np.sqrt(_product(rows, known, r, r) + shift)
            for j in range(i):
                factor[i, j] = _product(rows, known, r, local[chosen[j]]) * norm[i] * norm[j]
        for i in range(k):
            value = 1.0
            for j in range(i):
                entry = factor[i, j]
                for l in range(j):
                    entry -= factor[i, l] * factor[j, l]
                entry /= factor[j, j]
                factor[i, j] = entry
                value -= entry * entry
            if not value >= _SAFE:
                hard[b] = True
                break
            factor[i, i] = np.sqrt(value)
        if hard[b]:
            continue
        for i in range(k):
            entry = _product(rows, known, local[chosen[i]], own[b]) * norm[i]
            for l in range(i):
                entry -= factor[i, l] * x[chosen[l]]
            x[chosen[i]] = entry / factor[i, i]
        for i in range(k - 1, -1, -1):
            entry = x[chosen[i]]
            for l in range(i + 1, k):
                entry -= factor[l, i] * x[chosen[l]]
            x[chosen[i]] = entry / factor[i, i]
        for i in range(k):
            x[chosen[i]] *= norm[i]
