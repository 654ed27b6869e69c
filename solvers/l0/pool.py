"""Tables of a model by several processes or machines: ranges of nodes through joblib."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

from .gaussian import NodeTables, gaussian_tables
from .ising import ising_tables

__all__ = ["pooled_tables"]

_RANGES = 4
"""Ranges for each job: the last ones to end should not keep the others waiting for long."""
_MOST = 1 << 14
"""The most nodes in a range: what is sent at once stays small."""


def pooled_tables(
    problem: L0GraphicalModel, control: Control, jobs: int, engine: str
) -> NodeTables:
    """Search all nodes in ranges; each worker gets the columns that its range needs.

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
        When joblib is not installed or knows no such backend.
    """
    try:
        from joblib import Parallel, delayed
    except ImportError:
        raise ParamError("jobs > 1 needs joblib: pip install 'sparseopt[bench]'") from None
    d, ptr = problem.X.shape[1], problem.candidates.ptr
    lengths = problem.candidates.sizes + 1
    start = np.concatenate([[0], np.cumsum(lengths)])
    loss = np.repeat(problem.null_losses(), lengths)
    mask = np.zeros(len(loss), dtype=np.int64)
    separated = np.zeros(len(loss), dtype=bool)
    done = np.zeros(d, dtype=bool)
    step = min(_MOST, math.ceil(d / (_RANGES * jobs)))
    ranges = [(first, min(first + step, d)) for first in range(0, d, step)]

    def tasks() -> Iterator[Any]:
        for first, last in ranges:
            if control.limit() is not None:
                return
            index = problem.candidates.index[ptr[first] : ptr[last]]
            columns = np.union1d(index, np.arange(first, last))
            yield delayed(_search_range)(
                np.asarray(problem.X[:, columns]),
                np.searchsorted(columns, np.arange(first, last)),
                ptr[first : last + 1] - ptr[first],
                np.searchsorted(columns, index),
                problem.loss,
                problem.ridge,
                control.remaining,
            )

    chosen: dict[str, Any] = {"backend": engine} if engine else {}
    try:
        Parallel(n_jobs=jobs, **chosen)
    except ValueError as error:
        raise ParamError(f"joblib has no backend {engine!r}: {error}") from None
    visited = 0
    answers = _answers(tasks(), jobs, chosen)
    for (first, last), found in zip(ranges, answers, strict=False):
        here = slice(int(start[first]), int(start[last]))
        loss[here], mask[here], separated[here] = found[0], found[1], found[2]
        done[first:last] = found[3]
        visited += found[4]
        control.progress("tables", fraction=last / d)
    limit = None if done.all() else control.limit()
    return NodeTables(loss, mask, separated, done, limit, visited)


def _answers(tasks: Iterator[Any], jobs: int, chosen: dict[str, Any]) -> Iterator[Any]:
    """Yield what the tasks return; few of them, and so few ranges' columns, are made at a time."""
    from joblib import Parallel

    try:
        run = Parallel(n_jobs=jobs, return_as="generator", **chosen)
    except ValueError:
        # Ray's workers answer all at once.
        run = Parallel(n_jobs=jobs, **chosen)
        while wave := list(islice(tasks, jobs)):
            yield from run(wave)
        return
    yield from run(tasks)


def _search_range(
    X: Array,
    own: Array,
    ptr: Array,
    index: Array,
    loss: str,
    ridge: float,
    time_limit: float | None,
) -> tuple[Array, Array, Array, Array, int]:
    """Search some nodes of a model whose other nodes have no candidates here."""
    sizes = np.zeros(X.shape[1], dtype=np.int64)
    sizes[own] = np.diff(ptr)
    candidates = Candidates(np.concatenate([[0], np.cumsum(sizes)]), index)
    part = L0GraphicalModel(X, candidates, loss=loss, ridge=ridge)  # type: ignore[arg-type]
    search = gaussian_tables if loss == "gaussian" else ising_tables
    found = search(part, Control(SolveParams(time_limit=time_limit)), 1)
    kept = np.repeat(np.isin(np.arange(X.shape[1]), own), sizes + 1)
    return (
        found.loss[kept],
        found.mask[kept],
        found.separated[kept],
        found.done[own],
        found.visited,
    )
