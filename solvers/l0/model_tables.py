"""Tables of a graphical model: the smallest loss of every node for every number of neighbours."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Limit

__all__ = ["MOST", "ModelTables", "model_tables"]

MOST = 62
"""The largest number of candidates of one node: subsets are bits of an int64."""


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

        (gaussian if problem.loss == "gaussian" else ising).warm_up()
    if jobs > 1:
        from .pool import pooled_tables

        found = pooled_tables(problem, control, jobs, engine)
    else:
        search = gaussian.gaussian_tables if problem.loss == "gaussian" else ising.ising_tables
        found = search(problem, control, params.threads or _cores())
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


def _cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
