"""Tables of Ising nodes: the best subset of every size, node by node."""

from __future__ import annotations

from functools import cache

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

from ..settings import FITS_PER_CALL
from ..threads import in_threads
from .gaussian import NodeTables
from .ising_tree import FITS, ising_space, pursue


def ising_tables(problem: L0GraphicalModel, control: Control, threads: int) -> NodeTables:
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
    sizes, ptr = problem.candidates.sizes, problem.candidates.ptr
    loss = np.repeat(problem.null_losses(), sizes + 1)
    mask = np.zeros(len(loss), dtype=np.int64)
    separated = np.zeros(len(loss), dtype=bool)
    done = np.zeros(d, dtype=bool)
    nodes = iter(range(d))
    fits = [0] * threads

    def work(worker: int) -> None:
        while control.limit() is None and (j := next(nodes, None)) is not None:
            found = _search(problem, j, control)
            if found is None:
                return
            best, masks, flags, count = found
            here = slice(int(ptr[j]) + j, int(ptr[j + 1]) + j + 1)
            # A larger set never does worse; where its fit does by rounding, the smaller one stays.
            first = np.maximum.accumulate(
                np.where(best <= np.minimum.accumulate(best), np.arange(len(best)), 0)
            )
            loss[here], mask[here], separated[here] = best[first], masks[first], flags[first]
            done[j] = True
            fits[worker] += count
            if worker == 0:
                control.progress("tables", fraction=(j + 1) / d)

    in_threads(work, threads)
    limit = None if done.all() else control.limit()
    return NodeTables(loss, mask, separated, done, limit, sum(fits))


def _search(
    problem: L0GraphicalModel, node: int, control: Control
) -> tuple[Array, Array, Array, int] | None:
    """Return (losses, masks, separated, fits) of one node; None where a limit ended it."""
    X = problem.X
    Z = np.asarray(X[:, problem.candidates.of(node)], dtype=np.float64).T * X[:, node]
    space = ising_space(*_patterns(Z, problem.shares))
    while not pursue(space, problem.ridge, FITS_PER_CALL):
        if control.limit() is not None:
            return None
    return space.best, space.mask, space.separated, int(space.state[FITS])


def _patterns(Z: Array, shares: Array) -> tuple[Array, Array]:
    """Return the different columns of Z, and what share of the observations each one has."""
    code = (1 << np.arange(len(Z))) @ (Z > 0.0)
    _, first, place = np.unique(code, return_index=True, return_inverse=True)
    return Z[:, first], np.bincount(place, shares)


@cache
def warm_up() -> None:
    """Compile."""
    space = ising_space(np.array([[1.0, -1.0, 1.0, 1.0], [1.0, 1.0, -1.0, 1.0]]))
    pursue(space, 0.1, FITS_PER_CALL)
