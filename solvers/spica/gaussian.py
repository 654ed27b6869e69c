"""Tables of Gaussian nodes: the best subset of every size, in blocks of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit
from sparseopt.solvers.spica.subset_block import enumerate_block, search_block
from sparseopt.solvers.spica.subset_lanes import WIDEST, LaneSpace, lane_space
from sparseopt.solvers.spica.subset_tree import SearchSpace, search_space

__all__ = ["NodeTables", "gaussian_tables", "least_squares", "warm_up"]

_BLOCK = 512
"""Nodes at once; fewer where they have many candidates."""
_PRODUCTS = 1500 * 1500
"""Inner products of a block's columns that are remembered."""
_ENTRIES = 1 << 22
"""Entries of X that a block may hold."""
_QUOTA = 20_000
"""Tree nodes between two looks at the clock: some milliseconds."""
_PERFECT = 1e-5
"""Relative residuals below which losses are computed from X: in the Gram matrix they cancel."""
_NARROW = 1e-4
"""Squared sines of angles between candidates below which they are, too."""


@dataclass(frozen=True, eq=False)
class NodeTables:
    """What the search found.

    Attributes
    ----------
    loss : array
        For each node the smallest loss of 0, 1, ... neighbours, one after another.
    mask : int64 array of the same shape
        Which candidates attain them, as bits.
    separated : bool array of the same shape
        Where the loss has no minimum (Ising nodes).
    done : bool array of shape (d,)
        Whether the search of the node is complete; the others have their loss without neighbours
        in all places.
    limit : Limit or None
    visited : int
        Tree nodes, or fits.
    """

    loss: Array
    mask: Array
    separated: Array
    done: Array
    limit: Limit | None
    visited: int


def gaussian_tables(problem: L0GraphicalModel, control: Control, threads: int) -> NodeTables:
    """Search all nodes, each of which has at most 62 candidates."""
    d = problem.X.shape[1]
    loss = np.repeat(problem.null_losses(), problem.candidates.sizes + 1)
    mask = np.zeros(len(loss), dtype=np.int64)
    done = np.zeros(d, dtype=bool)
    widest = int(problem.candidates.sizes.max())
    blocks = iter(list(_blocks(problem)))
    visited = [0] * threads

    def work(worker: int) -> None:
        spaces = lane_space(min(widest, WIDEST)), search_space(widest)
        # The clock comes first: a block that was taken is a block that is searched.
        while control.limit() is None and (block := next(blocks, None)) is not None:
            visited[worker] += _search(problem, spaces, block, control, loss, mask, done)
            if threads == 1:
                control.progress("tables", fraction=block[1] / d)

    if threads == 1:
        work(0)
    else:
        with ThreadPoolExecutor(threads) as pool:
            for future in [pool.submit(work, worker) for worker in range(threads)]:
                future.result()
    limit = None if done.all() else control.limit()
    separated = np.zeros(len(loss), dtype=bool)
    return NodeTables(loss, mask, separated, done, limit, sum(visited))


def _blocks(problem: L0GraphicalModel) -> Iterator[tuple[int, int]]:
    """Yield ranges of nodes whose columns fit into memory together."""
    n, d = problem.X.shape
    ptr = problem.candidates.ptr
    room = max(1, _ENTRIES // n)
    first = 0
    while first < d:
        # Each node brings itself and, at worst, all of its candidates.
        last = int(np.searchsorted(ptr + np.arange(d + 1), ptr[first] + first + room, "right")) - 1
        last = min(max(last, first + 1), first + _BLOCK, d)
        yield first, last
        first = last


def _search(
    problem: L0GraphicalModel,
    spaces: tuple[LaneSpace, SearchSpace],
    block: tuple[int, int],
    control: Control,
    loss: Array,
    mask: Array,
    done: Array,
) -> int:
    """Fill in the tables of a block; return the tree nodes visited."""
    first, last = block
    candidates = problem.candidates
    ptr = candidates.ptr[first : last + 1]
    nodes = np.arange(first, last)
    wanted = np.concatenate([candidates.index[ptr[0] : ptr[-1]], nodes])
    low, high = int(wanted.min()), int(wanted.max()) + 1
    if high - low <= 2 * (last - first) + 64:
        columns: slice | Array = slice(low, high)
        places = wanted - low
    else:
        columns, places = np.unique(wanted, return_inverse=True)
    rows = np.ascontiguousarray(np.asarray(problem.X[:, columns]).T, dtype=np.float64)
    local, own = places[: -len(nodes)], places[-len(nodes) :]
    known = _memory(len(rows), own, local, ptr - ptr[0])
    start, end = int(ptr[0]) + first, int(ptr[-1]) + last
    sine = np.ones(len(nodes))
    data = rows, known, own, local, ptr - ptr[0], problem.ridge
    tables = loss[start:end], mask[start:end], sine
    # Nodes of about the same size go together: all lanes take the time of the widest.
    order = np.argsort(np.diff(ptr), kind="stable")
    small = int((np.diff(ptr) <= WIDEST).sum())
    left = enumerate_block(spaces[0], *data, order[:small], *tables)
    todo = np.concatenate([order[:left], order[small:]])
    place = np.zeros(3, dtype=np.int64)
    while place[0] < len(todo) and control.limit() is None:
        search_block(spaces[1], *data, todo, place, _QUOTA, *tables)
    missing = todo[int(place[0]) :]
    finished = np.delete(nodes, missing)
    done[finished] = True
    _sharpen(problem, finished, np.delete(sine, missing), loss, mask)
    return small + int(place[2])


def _memory(columns: int, own: Array, local: Array, ptr: Array) -> Array:
    """Return room for inner products, as far from each row as any node needs, if it is not much."""
    low, high = own.copy(), own.copy()
    node = np.repeat(np.arange(len(own)), np.diff(ptr))
    np.minimum.at(low, node, local)
    np.maximum.at(high, node, local)
    reach = int((high - low).max()) + 1
    return np.full((columns, reach if columns * reach <= _PRODUCTS else 0), np.nan)


def _sharpen(
    problem: L0GraphicalModel, nodes: Array, sine: Array, loss: Array, mask: Array
) -> None:
    """Compute losses again from X itself where those from the Gram matrix are not exact enough."""
    candidates = problem.candidates
    starts = candidates.ptr[nodes] + nodes
    ends = candidates.ptr[nodes + 1] + nodes
    for j in nodes[(loss[ends] < _PERFECT * loss[starts]) | (sine < _NARROW)]:
        index = candidates.of(j)
        bits = np.arange(len(index))
        for at in range(int(candidates.ptr[j] + j), int(candidates.ptr[j + 1] + j) + 1):
            chosen = index[(mask[at] >> bits & 1).astype(bool)]
            loss[at] = least_squares(problem, int(j), chosen)[1]


def least_squares(problem: L0GraphicalModel, node: int, chosen: Array) -> tuple[Array, float]:
    """Return the coefficients of some neighbours and the loss, from X itself."""
    n = problem.X.shape[0]
    columns = np.asarray(problem.X[:, chosen], dtype=np.float64)
    target = np.asarray(problem.X[:, node], dtype=np.float64)
    if problem.ridge > 0.0:
        columns = np.vstack([columns, np.sqrt(n * problem.ridge) * np.eye(len(chosen))])
        target = np.append(target, np.zeros(len(chosen)))
    if len(chosen) == 0:
        return np.zeros(0), float(target @ target) / n
    # Columns of one length: else the small ones drown.
    length = np.linalg.norm(columns, axis=0)
    beta = np.linalg.lstsq(columns / length, target, rcond=None)[0] / length
    residual = target - columns @ beta
    return beta, float(residual @ residual) / n


@cache
def warm_up() -> None:
    """Compile."""
    rows = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    own, local, ptr = np.array([0]), np.array([1, 2]), np.array([0, 2])
    data = rows, np.full((3, 3), np.nan), own, local, ptr, 0.0
    tables = np.empty(3), np.empty(3, dtype=np.int64), np.empty(1)
    todo = np.zeros(1, dtype=np.int64)
    enumerate_block(lane_space(2), *data, todo, *tables)
    search_block(search_space(2), *data, todo, np.zeros(3, dtype=np.int64), _QUOTA, *tables)
