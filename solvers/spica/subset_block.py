"""Best subsets of a block of Gaussian nodes, one node after another, compiled."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.solvers.compiled import compiled
from sparseopt.solvers.spica.subset_tree import SearchSpace, finish, pursue, start

__all__ = ["search_block"]


@compiled
def _dot(a: Array, b: Array) -> Any:
    total = 0.0
    for i in range(len(a)):
        total += a[i] * b[i]
    return total


@compiled
def _product(rows: Array, known: Array, a: int, b: int) -> Any:
    """Return the inner product of two rows; each is computed once where it can be remembered."""
    if len(known) == 0:
        return _dot(rows[a], rows[b])
    if a > b:
        a, b = b, a
    if np.isnan(known[a, b]):
        known[a, b] = _dot(rows[a], rows[b])
    return known[a, b]


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
def search_block(
    space: SearchSpace,
    rows: Array,
    known: Array,
    own: Array,
    local: Array,
    ptr: Array,
    ridge: float,
    place: Array,
    quota: int,
    loss: Array,
    mask: Array,
    sine: Array,
) -> None:
    """Go on with a block for about `quota` tree nodes.

    Parameters
    ----------
    space : SearchSpace
    rows : array of shape (columns, n)
        The columns of X that the block needs, as rows.
    known : array of shape (columns, columns) or (0, 0)
        Inner products found so far, NaN elsewhere.
    own, ptr : int arrays of shapes (B,) and (B + 1,)
        The row of each node, and where its candidates start in `local`.
    local : int array
        Rows of the candidates.
    ridge : float
    place : int array of shape (3,), changed
        The node in hand, whether its search has begun, tree nodes visited.
    quota : int
    loss, mask : arrays of shape (ptr[B] + B,), changed
        The tables: the smallest loss of each size, and the subset that attains it.
    sine : array of shape (B,), changed
        How near each node's candidates are to dependence: the smallest squared sine of an angle.
    """
    n = rows.shape[1]
    left = quota
    while place[0] < len(own) and left > 0:
        b = place[0]
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
