"""The exact path over all budgets, with its bounds: the driver of the compiled core."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import BackendError
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Limit

from .core_path import (
    CHANGES,
    COUNT,
    DONE,
    MORE,
    NODE,
    ROOMS,
    SEGMENT,
    SPENT,
    SUMS,
    WIDEST,
    WRITTEN,
    BudgetAnswers,
    Core,
    core_memory,
    spend,
)
from .hull import BudgetDual, Hull, steepest_first
from .settings import FIRST_ROOMS, FIRST_SUMS, SEGMENTS_PER_CALL


@dataclass(frozen=True, eq=False)
class ExactPath:
    """A path, the multipliers that go with it, and what ended it early."""

    path: BudgetPath
    multiplier: Array
    limit: Limit | None


def exact_path(problem: BudgetTables, last: int, control: Control, threads: int = 1) -> ExactPath:
    """Solve for the budgets 0, ..., last; after a limit the others repeat the last solution.

    Parameters
    ----------
    problem : BudgetTables
    last : int
        The largest budget.
    control : Control
    threads : int, default 1
        Of the sorting of segments.

    Returns
    -------
    ExactPath
    """
    values, ptr = problem.values, problem.ptr
    J, widest = len(ptr) - 1, int(problem.sizes.max())
    hull = steepest_first(problem, threads)
    answer = _memory(last)
    answer.objective[0] = answer.bound[0] = values[ptr[:-1]].sum()
    answer.multiplier[0] = -hull.slope[0] if len(hull.slope) else 0.0
    answer.certified[0] = True
    core = core_memory(J, widest, FIRST_ROOMS, FIRST_SUMS)
    limit: Limit | None = None
    while (lacking := spend(core, hull, values, ptr, answer, last, SEGMENTS_PER_CALL)) != DONE:
        if lacking == CHANGES:
            room = answer.changes.shape[1] // 2 + 2 * len(core.entered) * (widest + 2)
            more = np.empty((2, room), dtype=np.int32)
            answer = answer._replace(changes=np.hstack([answer.changes, more]))
        elif lacking in (ROOMS, SUMS):
            core = _larger(core, J, widest, lacking)
        elif lacking != MORE:
            raise BackendError(f"the compiled core returned {lacking}")
        limit = control.limit()
        if limit is not None:
            _repeat_last(core, hull, last, answer)
            break
        control.progress("budgets", fraction=int(core.state[SPENT]) / max(last, 1))
    written = int(core.state[WRITTEN])
    # The segments' drops were added up: what cancels must not fall below what is possible.
    objective = np.maximum(answer.objective, np.minimum.reduceat(values, ptr[:-1]).sum())
    path = BudgetPath(
        budgets=np.arange(last + 1),
        objective=objective,
        # What was proven by the programs of the core; Everett's bound where a limit ended them.
        bound=objective if limit is None else answer.bound,
        certified=answer.certified,
        changes=CountChanges(
            answer.ptr, answer.changes[NODE, :written], answer.changes[COUNT, :written]
        ),
        nodes=J,
        stopped_by="budget" if limit is None else limit.value,
    )
    return ExactPath(path, answer.multiplier, limit)


def _memory(last: int) -> BudgetAnswers:
    """Return the memory for the budgets 0, ..., last, and for the changes of most problems."""
    return BudgetAnswers(
        objective=np.empty(last + 1),
        multiplier=np.empty(last + 1),
        bound=np.empty(last + 1),
        certified=np.zeros(last + 1, dtype=bool),
        ptr=np.zeros(last + 2, dtype=np.int64),
        changes=np.empty((2, last + last // 2 + 1024), dtype=np.int32),
    )


def _larger(core: Core, J: int, widest: int, lacking: int) -> Core:
    """Return the same state with room for more nodes, or wider sums, in the programs."""
    rooms, H = len(core.entered), len(core.price) // 2
    new = (
        core_memory(J, widest, 2 * rooms, H)
        if lacking == ROOMS
        else core_memory(J, widest, rooms, 2 * H)
    )
    new.state[:WIDEST] = core.state[:WIDEST]
    new.past[:, : core.past.shape[1]] = core.past
    return new._replace(stamp=core.stamp, counts=core.counts)


def _repeat_last(core: Core, hull: Hull, last: int, answer: BudgetAnswers) -> None:
    """Repeat the last solution for all budgets beyond it, with the dual's bounds."""
    e, K = int(core.state[SEGMENT]), int(core.state[SPENT])
    dual = BudgetDual.beyond(hull, e, K, float(answer.objective[K]), last)
    answer.objective[K + 1 :] = answer.objective[K]
    answer.multiplier[K + 1 :], answer.bound[K + 1 :] = dual.multiplier[1:], dual.bound[1:]
    answer.ptr[K + 2 :] = core.state[WRITTEN]


@cache
def warm_up() -> None:
    """Compile."""
    problem = BudgetTables([[3.0, 2.9, 0.0], [2.0, 1.0]])
    exact_path(problem, problem.total, Control(SolveParams()))
