"""Blocks of Gaussian nodes: the part of X that a block needs, so that X is never read as a whole.

X may be a memory-mapped file, or anything else that gives columns. A block holds its own columns
and those of its candidates, and room for their inner products.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

__all__ = ["BlockData", "block_data", "node_blocks"]

_BLOCK = 512
"""Nodes at once; fewer where they have many candidates."""
_ENTRIES = 1 << 22
"""Entries of X that a block may hold."""
_PRODUCTS = 1500 * 1500
"""Inner products of a block's columns that are remembered."""


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
    """Yield ranges of nodes whose columns fit into memory together."""
    n, d = problem.X.shape
    room = max(1, _ENTRIES // n)
    # Each node brings itself and, at worst, all of its candidates.
    columns = problem.candidates.ptr + np.arange(d + 1)
    first = 0
    while first < d:
        last = int(np.searchsorted(columns, columns[first] + room, "right")) - 1
        last = min(max(last, first + 1), first + _BLOCK, d)
        yield first, last
        first = last


def block_data(problem: L0GraphicalModel, first: int, last: int) -> BlockData:
    """Read the columns that the nodes first, ..., last - 1 need."""
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
    rows = np.ascontiguousarray(np.asarray(problem.X[:, columns]).T, dtype=np.float64)
    local, own = places[: len(index)], places[len(index) :]
    return BlockData(rows, _memory(len(rows), own, local, ptr), own, local, ptr, problem.ridge)


def _memory(columns: int, own: Array, local: Array, ptr: Array) -> Array:
    """Return room for inner products, as far from each row as any node needs, if it is not much."""
    low, high = own.copy(), own.copy()
    node = np.repeat(np.arange(len(own)), np.diff(ptr))
    np.minimum.at(low, node, local)
    np.maximum.at(high, node, local)
    reach = int((high - low).max()) + 1
    return np.full((columns, reach if columns * reach <= _PRODUCTS else 0), np.nan)
