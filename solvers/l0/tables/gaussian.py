"""Tables of Gaussian nodes: the best subset of every size, in blocks of nodes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit

from ..settings import (
    NO_DIGITS,
    REFITTED_BY_LOSS,
    REFITTED_BY_SINE,
    SEARCHED_AGAIN,
    SECOND_SEARCH,
    SHARING,
    TREE_NODES_PER_CALL,
    WIDEST_LANE,
)
from ..threads import in_threads
from .blocks import block_data, node_blocks, solve_block
from .enumeration import LaneSpace, enumerate_block, lane_space
from .leaps_and_bounds import NODE, TOTAL, SearchSpace, Tables, search_block, search_space
from .orthogonal_search import improve


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
    """Search all nodes, each of which has at most 62 candidates.

    Parameters
    ----------
    problem : L0GraphicalModel
    control : Control
    threads : int

    Returns
    -------
    NodeTables
    """
    d = problem.X.shape[1]
    loss = np.repeat(problem.null_losses(), problem.candidates.sizes + 1)
    mask = np.zeros(len(loss), dtype=np.int64)
    done = np.zeros(d, dtype=bool)
    widest = int(problem.candidates.sizes.max())
    blocks = iter(list(node_blocks(problem)))
    visited = [0] * threads

    def work(worker: int) -> None:
        spaces = lane_space(min(widest, WIDEST_LANE)), search_space(widest)
        # The clock comes first: a block that was taken is a block that is searched.
        while control.limit() is None and (block := next(blocks, None)) is not None:
            visited[worker] += _search(problem, spaces, block, control, loss, mask, done)
            if worker == 0:
                control.progress("tables", fraction=block[1] / d)

    in_threads(work, threads)
    limit = None if done.all() else control.limit()
    separated = np.zeros(len(loss), dtype=bool)
    return NodeTables(loss, mask, separated, done, limit, sum(visited))


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
    nodes = np.arange(first, last)
    data = block_data(problem, first, last)
    start = int(problem.candidates.ptr[first]) + first
    end = int(problem.candidates.ptr[last]) + last
    sine = np.ones(len(nodes))
    tables = Tables(loss[start:end], mask[start:end], sine)
    # Nodes of about the same size go together: all lanes take the time of the widest.
    order = np.argsort(np.diff(data.ptr), kind="stable")
    small = int((np.diff(data.ptr) <= WIDEST_LANE).sum())
    left = enumerate_block(spaces[0], data, order[:small], tables)
    todo = np.concatenate([order[:left], order[small:]])
    progress = np.zeros(3, dtype=np.int64)
    while progress[NODE] < len(todo) and control.limit() is None:
        search_block(spaces[1], data, todo, progress, TREE_NODES_PER_CALL, tables)
    missing = todo[int(progress[NODE]) :]
    finished = np.delete(nodes, missing)
    done[finished] = True
    _sharpen(problem, finished, np.delete(sine, missing), loss, mask)
    return small + int(progress[TOTAL])


def _sharpen(
    problem: L0GraphicalModel, nodes: Array, sine: Array, loss: Array, mask: Array
) -> None:
    """Compute losses again from X itself where those from the Gram matrix are not exact enough."""
    candidates = problem.candidates
    starts = candidates.ptr[nodes] + nodes
    ends = candidates.ptr[nodes + 1] + nodes
    for j in nodes[(loss[ends] < REFITTED_BY_LOSS * loss[starts]) | (sine < REFITTED_BY_SINE)]:
        index = candidates.of(j)
        bits = np.arange(len(index))
        for at in range(int(candidates.ptr[j] + j), int(candidates.ptr[j + 1] + j) + 1):
            chosen = index[(mask[at] >> bits & 1).astype(bool)]
            loss[at] = least_squares(problem, int(j), chosen)[1]
    for j in nodes[sine < SEARCHED_AGAIN]:
        here = slice(int(candidates.ptr[j] + j), int(candidates.ptr[j + 1] + j) + 1)
        _improve(problem, int(j), loss[here], mask[here])


def _improve(problem: L0GraphicalModel, node: int, loss: Array, mask: Array) -> None:
    """Search the subsets of nearly dependent candidates again, without inner products."""
    columns, target = _stacked(problem, node, problem.candidates.of(node))
    null = float(target @ target)
    columns = columns / np.linalg.norm(columns, axis=0)
    R, c = columns.T @ columns, columns.T @ target
    near = _copies(columns, R)
    V = np.linalg.inv(R + SHARING * np.eye(len(R)))
    order = np.argsort(-np.square(V @ c) / np.diag(V), kind="stable")
    order = order[~near[order]]
    triangle = np.linalg.qr(np.column_stack([columns[:, order], target / np.sqrt(null)]), mode="r")
    rows = np.ascontiguousarray(np.asarray(triangle).T)
    n, d = problem.X.shape[0], len(order)
    best, found = loss[: d + 1] * (n / null), np.full(d + 1, -1)
    improve(rows, best, found, SECOND_SEARCH)
    for k in range(1, len(loss)):
        if k <= d and found[k] >= 0:
            chosen = np.sort(order[(found[k] >> np.arange(d) & 1).astype(bool)])
            mask[k] = int(sum(1 << int(i) for i in chosen))
            loss[k] = least_squares(problem, node, problem.candidates.of(node)[chosen])[1]
        if loss[k] > loss[k - 1]:
            loss[k], mask[k] = loss[k - 1], mask[k - 1]


def _copies(columns: Array, R: Array) -> Array:
    """Return which candidates are copies of others before them, up to their sign and rounding."""
    copy = np.zeros(len(R), dtype=bool)
    for i, k in np.argwhere(np.tril(1.0 - np.square(R) < REFITTED_BY_SINE, -1)):
        # The inner product has no digits left for the angle; the difference has.
        rest = columns[:, i] - np.sign(R[i, k]) * columns[:, k]
        copy[i] |= float(rest @ rest) < NO_DIGITS
    return copy


def gaussian_point(problem: L0GraphicalModel, selected: Array, threads: int = 1) -> Array:
    """Return the coefficients of the selected candidates, shape (total,); zero elsewhere.

    Parameters
    ----------
    problem : L0GraphicalModel
    selected : bool array of shape (total,)
        One entry for each candidate of each node.
    threads : int, default 1
        Workers that take blocks of nodes.

    Returns
    -------
    array of shape (total,)
    """
    x = np.zeros(problem.total)
    hard = np.zeros(problem.X.shape[1], dtype=bool)
    D = int(problem.candidates.sizes.max(initial=0)) + 1
    every = list(node_blocks(problem))
    blocks = iter(every)

    def work(_: int) -> None:
        factor, norm, chosen = np.empty((D, D)), np.empty(D), np.empty(D, dtype=np.int64)
        while (block := next(blocks, None)) is not None:
            first, last = block
            data = block_data(problem, first, last)
            here = slice(problem.candidates.ptr[first], problem.candidates.ptr[last])
            solve_block(factor, norm, chosen, data, selected[here], x[here], hard[first:last])

    in_threads(work, min(threads, len(every)))
    for j in np.flatnonzero(hard):
        here = slice(problem.candidates.ptr[j], problem.candidates.ptr[j + 1])
        chosen = problem.candidates.of(j)[selected[here]]
        x[here][selected[here]] = least_squares(problem, int(j), chosen)[0]
    return x


def least_squares(problem: L0GraphicalModel, node: int, chosen: Array) -> tuple[Array, float]:
    """Return the coefficients of some neighbours and the loss, from X itself.

    Parameters
    ----------
    problem : L0GraphicalModel
    node : int
    chosen : int array of shape (k,)
        Columns of X.

    Returns
    -------
    beta : array of shape (k,)
    loss : float
        With the ridge; the mean over n observations.
    """
    n = problem.X.shape[0]
    columns, target = _stacked(problem, node, chosen)
    if len(chosen) == 0:
        return np.zeros(0), float(target @ target) / n
    # Columns of one length: else the small ones are lost in rounding.
    length = np.linalg.norm(columns, axis=0)
    beta = np.linalg.lstsq(columns / length, target, rcond=None)[0] / length
    residual = target - columns @ beta
    return beta, float(residual @ residual) / n


def _stacked(problem: L0GraphicalModel, node: int, chosen: Array) -> tuple[Array, Array]:
    """Return the columns of some neighbours and of the node, with the rows of the ridge."""
    columns, target = problem.columns(chosen), problem.columns(node)
    if problem.ridge > 0.0:
        shift = np.sqrt(problem.X.shape[0] * problem.ridge)
        columns = np.vstack([columns, shift * np.eye(len(chosen))])
        target = np.append(target, np.zeros(len(chosen)))
    return columns, target


@cache
def warm_up() -> None:
    """Compile."""
    problem = L0GraphicalModel(
        np.array([[1.0, 0, 1], [0, 1, 1], [1, 1, 0]]), ~np.eye(3, dtype=bool)
    )
    data = block_data(problem, 0, 1)
    tables = Tables(np.empty(3), np.empty(3, dtype=np.int64), np.empty(1))
    todo, progress = np.zeros(1, dtype=np.int64), np.zeros(3, dtype=np.int64)
    enumerate_block(lane_space(2), data, todo, tables)
    search_block(search_space(2), data, todo, progress, TREE_NODES_PER_CALL, tables)
    improve(np.eye(3), np.ones(3), np.zeros(3, dtype=np.int64), 1.0)
    gaussian_point(problem, np.ones(6, dtype=bool))
