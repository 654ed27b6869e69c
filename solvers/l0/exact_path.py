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
    DONE,
    MORE,
    ROOMS,
    SUMS,
    Core,
    Hull,
    core_memory,
    hull_segments,
    spend,
)

__all__ = ["ExactPath", "exact_path", "warm_up"]

_QUOTA = 20_000
"""Segments between two looks at the clock."""
_ROOMS, _SUMS = 64, 256
"""First sizes of the small dynamic programs: nodes, and sums to either side."""


@dataclass(frozen=True, eq=False)
class ExactPath:
    """A path, the multipliers that go with it, and what ended it early."""

    path: BudgetPath
    multiplier: Array
    limit: Limit | None


def exact_path(problem: BudgetTables, last: int, control: Control) -> ExactPath:
    """Solve for the budgets 0, ..., last; after a limit the others repeat the last solution."""
    values, ptr = problem.values, problem.ptr
    J = len(ptr) - 1
    hull = _steepest_first(hull_segments(values, ptr))
    objective, bound, multiplier = np.empty(last + 1), np.empty(last + 1), np.zeros(last + 1)
    objective[0] = bound[0] = values[ptr[:-1]].sum()
    if len(hull.slope):
        multiplier[0] = -hull.slope[0]
    certified = np.zeros(last + 1, dtype=bool)
    certified[0] = True
    change_ptr = np.zeros(last + 2, dtype=np.int64)
    room = last + last // 2 + 1024
    node, count = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.int32)
    widest = int(problem.sizes.max())
    core = core_memory(J, widest, _ROOMS, _SUMS)
    limit: Limit | None = None
    while True:
        told = spend(
            core,
            hull,
            values,
            ptr,
            last,
            _QUOTA,
            objective,
            multiplier,
            bound,
            certified,
            change_ptr,
            node,
            count,
        )
        if told == DONE:
            break
        if told == CHANGES:
            more = len(node) // 2 + 2 * len(core.entered) * (widest + 2)
            node, count = (np.append(a, np.empty(more, dtype=np.int32)) for a in (node, count))
        elif told in (ROOMS, SUMS):
            core = _larger(core, J, widest, told)
        elif told != MORE:
            raise BackendError(f"the compiled core returned {told}")
        limit = control.limit()
        if limit is not None:
            _stay(core, hull, last, objective, multiplier, bound, change_ptr)
            break
        control.progress("budgets", fraction=int(core.state[1]) / max(last, 1))
    # The segments' drops were added up: what cancels must not fall below what is possible.
    objective = np.maximum(objective, np.minimum.reduceat(values, ptr[:-1]).sum())
    written = int(core.state[2])
    path = BudgetPath(
        budgets=np.arange(last + 1),
        objective=objective,
        # What was proven by the programs of the core; Everett's bound where a limit ended them.
        bound=objective if limit is None else bound,
        certified=certified,
        changes=CountChanges(change_ptr, node[:written], count[:written]),
        nodes=J,
        stopped_by="budget" if limit is None else limit.value,
    )
    return ExactPath(path, multiplier, limit)


def _steepest_first(hull: Hull) -> Hull:
    """Sort the segments by slope; those of one node stay in order."""
    # A stable sort is several times slower. Two nodes that explain each other tie, so ties are
    # there, but few: they are put in order afterwards.
    order = np.argsort(hull.slope)
    slope = hull.slope[order]
    again = slope[1:] == slope[:-1]
    tied = np.flatnonzero(np.append(again, False) | np.append(False, again))
    segment = order[tied]
    order[tied] = segment[np.lexsort((segment, slope[tied]))]
    return Hull(*(array[order] for array in hull))


def _larger(core: Core, J: int, widest: int, told: int) -> Core:
    """Return the same state with room for more nodes, or wider sums, in the programs."""
    rooms, H = len(core.entered), len(core.price) // 2
    new = (
        core_memory(J, widest, 2 * rooms, H)
        if told == ROOMS
        else core_memory(J, widest, rooms, 2 * H)
    )
    new.state[:5] = core.state[:5]
    new.past[:, : core.past.shape[1]] = core.past
    return new._replace(stamp=core.stamp, counts=core.counts)


def _stay(
    core: Core,
    hull: Hull,
    last: int,
    objective: Array,
    multiplier: Array,
    bound: Array,
    change_ptr: Array,
) -> None:
    """Repeat the last solution for all budgets beyond it, with the dual's bounds."""
    e, K0 = int(core.state[0]), int(core.state[1])
    slope, width = hull.slope[e:], hull.width[e:]
    spent = np.append(K0, K0 + np.cumsum(width))
    value = objective[K0] + np.append(0.0, np.cumsum(slope * width))
    K = np.arange(K0 + 1, last + 1)
    hand = np.searchsorted(spent, K, side="left") - 1
    rate = np.append(slope, 0.0)[hand]
    objective[K] = objective[K0]
    multiplier[K] = -rate
    bound[K] = value[hand] + rate * (K - spent[hand])
    change_ptr[K0 + 2 :] = core.state[2]


@cache
def warm_up() -> None:
    """Compile."""
    problem = BudgetTables([[3.0, 2.9, 0.0], [2.0, 1.0]])
    exact_path(problem, problem.total, Control(SolveParams()))
