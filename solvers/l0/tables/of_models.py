"""Tables of a graphical model: the smallest loss of every node for every number of neighbours.

Nodes are independent: threads search them here, or workers of joblib on other machines, too.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Limit
from sparseopt.workers import surviving

from ..settings import NODES_PER_RANGE, RANGES_PER_JOB

if TYPE_CHECKING:
    from .gaussian import NodeTables


@dataclass(frozen=True, eq=False)
class ModelTables:
    """The tables, and where they come from.

    Attributes
    ----------
    problem : BudgetTables
        The scaled losses.
    supports : int64 array
        Which candidates attain each entry, as bits.
    separated : bool array
        Entries whose loss has no minimum.
    done : bool array
        Entries that are the smallest losses: those of nodes whose search is complete, and those for
        no neighbours.
    least : float
        What no loss falls below.
    limit : Limit or None
    visited : int
        Subsets looked at.
    """

    problem: BudgetTables
    supports: Array
    separated: Array
    done: Array
    least: float
    limit: Limit | None
    visited: int


def model_tables(
    problem: L0GraphicalModel,
    params: SolveParams,
    control: Control,
    jobs: int = 1,
    engine: str = "",
) -> ModelTables:
    """Search the best subset of every size for every node.

    Parameters
    ----------
    problem, params, control
    jobs : int, default 1
        More than 1: ranges of nodes go to so many workers of joblib.
    engine : str, default ""
        Which of joblib's backends; the configured one by default.
    """
    control.progress("loading the engine (it is compiled at its first use on a machine)", 0.0)
    with control.uncounted():
        from . import gaussian, ising

        prepare((gaussian if problem.loss == "gaussian" else ising).warm_up)
    if jobs > 1:
        found = _pooled(problem, control, jobs, engine)
    else:
        found = _node_tables(problem, control, params.threads or cores())
    d = problem.X.shape[1]
    lengths = problem.candidates.sizes + 1
    ptr = problem.candidates.ptr + np.arange(d + 1)
    scaled = problem.scaled(found.loss, np.repeat(np.arange(d), lengths))
    done = np.repeat(found.done, lengths)
    done[ptr[:-1]] = True
    return ModelTables(
        problem=BudgetTables(scaled, ptr, problem.budget),
        supports=found.mask,
        separated=found.separated,
        done=done,
        least=-np.inf if problem.scaling == "nlogrss" else 0.0,
        limit=found.limit,
        visited=found.visited,
    )


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _node_tables(problem: L0GraphicalModel, control: Control, threads: int) -> NodeTables:
    """Search all nodes on this machine."""
    from .gaussian import gaussian_tables
    from .ising import ising_tables

    search = gaussian_tables if problem.loss == "gaussian" else ising_tables
    return search(problem, control, threads)


def _pooled(problem: L0GraphicalModel, control: Control, jobs: int, engine: str) -> NodeTables:
    """Search all nodes in ranges; each worker gets the columns that its range needs.

    A worker that is killed costs its range, see :func:`sparseopt.workers.surviving`.

    Parameters
    ----------
    problem : L0GraphicalModel
    control : Control
    jobs : int
        As joblib's ``n_jobs``.
    engine : str
        The name of a backend of joblib; "" for the one that is configured.

    Raises
    ------
    ParamError
        When joblib is not installed or has no such backend.
    """
    d, ptr = problem.X.shape[1], problem.candidates.ptr
    lengths = problem.candidates.sizes + 1
    start = np.concatenate([[0], np.cumsum(lengths)])
    loss = np.repeat(problem.null_losses(), lengths)
    mask = np.zeros(len(loss), dtype=np.int64)
    separated = np.zeros(len(loss), dtype=bool)
    done = np.zeros(d, dtype=bool)
    step = min(NODES_PER_RANGE, math.ceil(d / (RANGES_PER_JOB * jobs)))
    ranges = [(first, min(first + step, d)) for first in range(0, d, step)]

    def task(k: int) -> tuple[Any, ...] | None:
        if control.limit() is not None:
            return None
        first, last = ranges[k]
        index = problem.candidates.index[ptr[first] : ptr[last]]
        columns = np.union1d(index, np.arange(first, last))
        return (
            np.asarray(problem.X[:, columns]),
            np.searchsorted(columns, np.arange(first, last)),
            ptr[first : last + 1] - ptr[first],
            np.searchsorted(columns, index),
            problem.loss,
            problem.ridge,
            problem.sample_weights,
            control.remaining,
        )

    visited, nodes = 0, 0
    for k, found in surviving(_search_range, task, range(len(ranges)), jobs, engine):
        first, last = ranges[k]
        here = slice(int(start[first]), int(start[last]))
        loss[here], mask[here], separated[here] = found[0], found[1], found[2]
        done[first:last] = found[3]
        visited += found[4]
        nodes += last - first
        control.progress("tables", fraction=nodes / d)
    limit = None if done.all() else control.limit()
    from .gaussian import NodeTables

    return NodeTables(loss, mask, separated, done, limit, visited)


def _search_range(
    X: Array,
    own: Array,
    ptr: Array,
    index: Array,
    loss: str,
    ridge: float,
    weights: Array | None,
    time_limit: float | None,
) -> tuple[Array, Array, Array, Array, int]:
    """Search some nodes of a model whose other nodes have no candidates here."""
    sizes = np.zeros(X.shape[1], dtype=np.int64)
    sizes[own] = np.diff(ptr)
    candidates = Candidates(np.concatenate([[0], np.cumsum(sizes)]), index)
    how: dict[str, Any] = {"loss": loss, "ridge": ridge, "sample_weights": weights}
    part = L0GraphicalModel(X, candidates, **how)
    found = _node_tables(part, Control(SolveParams(time_limit=time_limit)), 1)
    kept = np.repeat(np.isin(np.arange(X.shape[1]), own), sizes + 1)
    return (
        found.loss[kept],
        found.mask[kept],
        found.separated[kept],
        found.done[own],
        found.visited,
    )
