"""Blocks of Gaussian nodes: the part of X that a block needs, and its inner products.

X is never read as a whole: it may be a memory-mapped file, or anything else that gives columns. A
block holds its own columns and those of its candidates, and room for their inner products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from sparseopt.compiling import by_address
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

from ...common.compiled import compiled_in_place
from ..settings import BLOCK_ENTRIES, BLOCK_NODES, BLOCK_PRODUCTS, NOT_ENUMERATED


@by_address
class BlockData(NamedTuple):
    """What the compiled loops need of a block of B nodes.

    Attributes
    ----------
    rows : array of shape (columns, n)
        Columns of X, as rows.
    known : array of shape (columns, reach)
        Inner products of each row with itself and the following ones found so far, NaN elsewhere.
    own, ptr : int arrays of shapes (B,) and (B + 1,)
        The row of each node, and where its candidates start in `local`.
    local : int array of shape (ptr[B],)
        Rows of the candidates.
    ridge : float
    """

    rows: Array
    known: Array
    own: Array
    local: Array
    ptr: Array
    ridge: float


def node_blocks(problem: L0GraphicalModel) -> Iterator[tuple[int, int]]:
    """Yield ranges of nodes whose columns fit into memory together.

    Parameters
    ----------
    problem : L0GraphicalModel

    Returns
    -------
    iterator of (int, int)
        First node, and last one (excluded).
    """
    n, d = problem.X.shape
    room = max(1, BLOCK_ENTRIES // n)
    # Each node brings itself and, at worst, all of its candidates.
    columns = problem.candidates.ptr + np.arange(d + 1)
    first = 0
    while first < d:
        last = int(np.searchsorted(columns, columns[first] + room, "right")) - 1
        last = min(max(last, first + 1), first + BLOCK_NODES, d)
        yield first, last
        first = last


def block_data(problem: L0GraphicalModel, first: int, last: int) -> BlockData:
    """Read the columns that the nodes first, ..., last - 1 need.

    Parameters
    ----------
    problem : L0GraphicalModel
    first, last : int

    Returns
    -------
    BlockData
    """
    candidates = problem.candidates
    ptr = candidates.ptr[first : last + 1] - candidates.ptr[first]
    index = candidates.index[candidates.ptr[first] : candidates.ptr[last]]
    wanted = np.concatenate([index, np.arange(first, last)])
    low, high = int(wanted.min()), int(wanted.max()) + 1
    if high - low <= 2 * (last - first) + 64:
        columns: slice | Array = slice(low, high)
        places = wanted - low
    else:
        columns, places = np.unique(wanted, return_inverse=True)
    rows = np.ascontiguousarray(problem.columns(columns).T).view()
    # Where nothing was copied X is read-only: one type, and one compiled form, for both.
    rows.setflags(write=False)
    local, own = places[: len(index)], places[len(index) :]
    return BlockData(rows, _memory(len(rows), own, local, ptr), own, local, ptr, problem.ridge)


def _memory(columns: int, own: Array, local: Array, ptr: Array) -> Array:
    """Return room for inner products, as far from each row as any node needs, if it is not much."""
    low, high = own.copy(), own.copy()
    node = np.repeat(np.arange(len(own)), np.diff(ptr))
    np.minimum.at(low, node, local)
    np.maximum.at(high, node, local)
    reach = int((high - low).max()) + 1
    return np.full((columns, reach if columns * reach <= BLOCK_PRODUCTS else 0), np.nan)


@compiled_in_place
def product(rows: Array, known: Array, a: int, b: int) -> Any:
    """Return the inner product of two rows; each is computed once where it can be remembered.

    Parameters
    ----------
    rows : array of shape (columns, n)
    known : array of shape (columns, width)
        Entry (a, b - a) is the product of rows a and b, or NaN; filled in.
    a, b : int

    Returns
    -------
    float
    """
    if a > b:
        a, b = b, a
    far = b - a >= known.shape[1]
    if not far and not np.isnan(known[a, b - a]):
        return known[a, b - a]
    total = 0.0
    for i in range(rows.shape[1]):
        total += rows[a, i] * rows[b, i]
    if not far:
        known[a, b - a] = total
    return total


@compiled_in_place
def independence(L: Array, k: int) -> Any:
    """Return how far k columns are from dependence: 2 / tr(R^-1) for R = L L', their correlations.

    The squared sine of the angle between two, and in general of the size of R's smallest
    eigenvalue. The trace is the sum of the squared entries of L^-1; O(k^3).

    Parameters
    ----------
    L : array of shape (D, D), its last column changed
        Lower triangular up to k, which is less than D.
    k : int

    Returns
    -------
    float
        At most 1.
    """
    trace, column = 0.0, L.shape[1] - 1
    for j in range(k):
        L[j, column] = 1.0 / L[j, j]
        trace += L[j, column] * L[j, column]
        for i in range(j + 1, k):
            value = 0.0
            for m in range(j, i):
                value -= L[i, m] * L[m, column]
            L[i, column] = value / L[i, i]
            trace += L[i, column] * L[i, column]
    return 2.0 / max(trace, 2.0)


@compiled_in_place
def solve_block(
    factor: Array,
    norm: Array,
    chosen: Array,
    block: BlockData,
    selected: Array,
    x: Array,
    hard: Array,
) -> None:
    """Solve the normal equations of each node by Cholesky's method; flag those near dependence.

    Parameters
    ----------
    factor, norm, chosen : arrays of shapes (D, D), (D,), (D,)
        Scratch for up to D neighbours.
    block : BlockData
    selected : bool array of shape (ptr[B],)
        The neighbours of each node.
    x : array of shape (ptr[B],), changed
        Their coefficients.
    hard : bool array of shape (B,), changed
        Nodes whose equations are nearly dependent: they get no coefficients here.
    """
    rows, known, local, ptr = block.rows, block.known, block.local, block.ptr
    shift = rows.shape[1] * block.ridge
    for b in range(len(block.own)):
        k = 0
        for a in range(ptr[b], ptr[b + 1]):
            if selected[a]:
                chosen[k] = a
                k += 1
        for i in range(k):
            r = local[chosen[i]]
            norm[i] = 1.0 / np.sqrt(product(rows, known, r, r) + shift)
            for j in range(i):
                factor[i, j] = product(rows, known, r, local[chosen[j]]) * norm[i] * norm[j]
        for i in range(k):
            value = 1.0
            for j in range(i):
                entry = factor[i, j]
                for l in range(j):
                    entry -= factor[i, l] * factor[j, l]
                entry /= factor[j, j]
                factor[i, j] = entry
                value -= entry * entry
            if not value >= NOT_ENUMERATED:
                hard[b] = True
                break
            factor[i, i] = np.sqrt(value)
        hard[b] = hard[b] or not independence(factor, k) >= NOT_ENUMERATED
        if hard[b]:
            continue
        for i in range(k):
            entry = product(rows, known, local[chosen[i]], block.own[b]) * norm[i]
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
