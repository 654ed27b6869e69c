"""The exact path over all budgets, with its bounds: the driver of the compiled core."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import BackendError
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Limit

from ..settings import (
    CANCELS,
    FEW_CHANGES,
    FIRST_ROOMS,
    FIRST_SUMS,
    SEGMENTS_PER_CALL,
    THREADED_SEGMENTS,
)
from ..threads import in_threads
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


@dataclass(frozen=True, eq=False)
class ExactPath:
    """A path, the multipliers that go with it, and what ended it early."""

    path: BudgetPath
    multiplier: Array
    limit: Limit | None


@dataclass(eq=False)
class _Stretch:
    """Budgets that are found by themselves, those of consecutive segments.

    Attributes
    ----------
    core : Core
        Its counts are those before the first segment, or where the search is.
    answer : BudgetAnswers
        The changes are this stretch's own, and ``ptr`` counts them; the other arrays are shared.
    last : int
        Its last budget.
    limit : Limit or None
        What ended it early.
    """

    core: Core
    answer: BudgetAnswers
    last: int
    limit: Limit | None = None


def exact_path(problem: BudgetTables, last: int, control: Control, threads: int = 1) -> ExactPath:
    """Solve for the budgets 0, ..., last; after a limit the others repeat the last solution.

    The counts at the end of a segment are known beforehand, so that threads start there.

    Parameters
    ----------
    problem : BudgetTables
    last : int
        The largest budget.
    control : Control
    threads : int, default 1
        At most; small problems take one.

    Returns
    -------
    ExactPath
    """
    values, ptr = problem.values, problem.ptr
    hull = steepest_first(problem, threads)
    answer = _memory(last)
    answer.objective[0] = answer.bound[0] = values[ptr[:-1]].sum()
    answer.multiplier[0] = -hull.slope[0] if len(hull.slope) else 0.0
    answer.certified[0] = True
    threads = threads if len(hull.slope) >= THREADED_SEGMENTS else 1
    stretches = _stretches(problem, hull, answer, last, threads)

    def work(worker: int) -> None:
        _follow(stretches[worker], problem, hull, control, report=worker == 0)

    in_threads(work, len(stretches))
    least = np.minimum.reduceat(values, ptr[:-1]).sum()
    changes, limit = _joined(stretches, hull, answer, last, least)
    # The segments' drops were added up: what cancels must not fall below what is possible.
    objective = answer.objective
    np.maximum(objective, least, out=objective)
    path = BudgetPath(
        budgets=np.arange(last + 1),
        objective=objective,
        # What was proven by the programs of the core; Everett's bound where a limit ended them.
        bound=objective if limit is None else answer.bound,
        certified=answer.certified,
        changes=CountChanges(answer.ptr, changes[NODE], changes[COUNT]),
        nodes=len(ptr) - 1,
        stopped_by="budget" if limit is None else limit.value,
    )
    if losses_cancel(problem, objective):
        objective = sums_of_losses(problem, path.changes)
        path = replace(path, objective=objective, bound=objective if limit is None else path.bound)
    return ExactPath(path, answer.multiplier, limit)


def losses_cancel(problem: BudgetTables, objective: Array) -> bool:
    """Return whether sums of losses are much smaller than their terms at some budget.

    Parameters
    ----------
    problem : BudgetTables
    objective : array of shape (K + 1,)
    """
    size = float(np.abs(problem.values[problem.ptr[:-1]]).sum())
    return bool(size * CANCELS > np.abs(objective).min())


def sums_of_losses(problem: BudgetTables, changes: CountChanges) -> Array:
    """Return the objective at every budget, also where losses cancel.

    Exactly rounded where there are few changes; otherwise with the digits of C's long double, 11
    more than those of a double with most compilers.

    Parameters
    ----------
    problem : BudgetTables
    changes : CountChanges
        The counts at the budgets 0, ..., K.

    Returns
    -------
    array of shape (K + 1,)
    """
    values = problem.values.astype(np.longdouble)
    if len(changes.node) <= FEW_CHANGES:
        values = np.array([Fraction(value) for value in problem.values.tolist()], dtype=object)
    return changes.sums(values, problem.ptr).astype(float)


def _memory(last: int) -> BudgetAnswers:
    """Return the memory for the budgets 0, ..., last, but for the changes."""
    return BudgetAnswers(
        objective=np.empty(last + 1),
        multiplier=np.empty(last + 1),
        bound=np.empty(last + 1),
        certified=np.zeros(last + 1, dtype=bool),
        ptr=np.zeros(last + 2, dtype=np.int64),
        changes=np.empty((2, 0), dtype=np.int32),
    )


def _stretches(
    problem: BudgetTables, hull: Hull, answer: BudgetAnswers, last: int, count: int
) -> list[_Stretch]:
    """Return so many stretches of about as many segments each, or fewer."""
    J, widest = len(problem.ptr) - 1, int(problem.sizes.max())
    S, stretches = len(hull.slope), []
    begin, spent, counts = 0, 0, np.zeros(J, dtype=np.int64)
    for end in (S * part // count for part in range(1, count + 1)):
        core = core_memory(J, widest, FIRST_ROOMS, FIRST_SUMS)
        core.state[SEGMENT], core.state[SPENT] = begin, spent
        core.counts[:] = counts
        following = spent + int(hull.width[begin:end].sum(dtype=np.int64))
        until = last if end == S else min(following, last)
        # Room for the changes of most problems.
        room = until - spent + (until - spent) // 2 + 1024
        own = answer._replace(changes=np.empty((2, room), dtype=np.int32))
        stretches.append(_Stretch(core, own, until))
        if until == last:
            break
        # Added one by one, as the loop does, so that threads change no digit.
        drops = np.append(answer.objective[spent], hull.drop[begin:end])
        answer.objective[following] = np.add.accumulate(drops)[-1]
        # A node's own segments are in their order, and the last one stays.
        counts[hull.node[begin:end]] = hull.start[begin:end] + hull.width[begin:end]
        begin, spent = end, following
    return stretches


def _follow(
    stretch: _Stretch, problem: BudgetTables, hull: Hull, control: Control, report: bool
) -> None:
    """Find the budgets of a stretch, or as many as a limit allows; the first one may report."""
    values, ptr = problem.values, problem.ptr
    J, widest = len(ptr) - 1, int(problem.sizes.max())
    core, answer, last = stretch.core, stretch.answer, stretch.last
    while (lacking := spend(core, hull, values, ptr, answer, last, SEGMENTS_PER_CALL)) != DONE:
        if lacking == CHANGES:
            room = answer.changes.shape[1] // 2 + 2 * len(core.entered) * (widest + 2)
            more = np.empty((2, room), dtype=np.int32)
            answer = answer._replace(changes=np.hstack([answer.changes, more]))
        elif lacking in (ROOMS, SUMS):
            core = _larger(core, J, widest, lacking)
        elif lacking != MORE:
            raise BackendError(f"the compiled core returned {lacking}")
        stretch.core, stretch.answer = core, answer
        stretch.limit = control.limit()
        if stretch.limit is not None:
            return
        if report:
            control.progress("budgets", fraction=int(core.state[SPENT]) / max(last, 1))


def _joined(
    stretches: list[_Stretch], hull: Hull, answer: BudgetAnswers, last: int, least: float
) -> tuple[Array, Limit | None]:
    """Return the changes of all stretches up to the first that was ended early, and its limit."""
    parts, written, limit = [], 0, None
    first = 0
    for stretch in stretches:
        # The entry before belongs to the stretch before.
        answer.ptr[first + 2 : stretch.last + 2] += written
        own = int(stretch.core.state[WRITTEN])
        parts.append(stretch.answer.changes[:, :own])
        written, first, limit = written + own, stretch.last, stretch.limit
        if limit is not None:
            _repeat_last(stretch.core, hull, last, answer, written, least)
            break
    return _beside(parts), limit


def _beside(parts: list[Array]) -> Array:
    """Return them side by side, each copied by a thread of its own."""
    if len(parts) == 1:
        return parts[0]
    ends = np.cumsum([part.shape[1] for part in parts])
    out = np.empty((len(parts[0]), ends[-1]), dtype=parts[0].dtype)

    def copy(at: int) -> None:
        out[:, ends[at] - parts[at].shape[1] : ends[at]] = parts[at]

    in_threads(copy, len(parts))
    return out


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


def _repeat_last(
    core: Core, hull: Hull, last: int, answer: BudgetAnswers, written: int, least: float
) -> None:
    """Repeat the last solution for all budgets beyond it, with the dual's bounds."""
    e, K = int(core.state[SEGMENT]), int(core.state[SPENT])
    dual = BudgetDual.beyond(hull, e, K, float(answer.objective[K]), least, last)
    answer.objective[K + 1 :] = answer.objective[K]
    answer.multiplier[K + 1 :], answer.bound[K + 1 :] = dual.multiplier[1:], dual.bound[1:]
    answer.certified[K + 1 :] = False
    answer.ptr[K + 2 :] = written


@cache
def warm_up() -> None:
    """Compile."""
    problem = BudgetTables([[3.0, 2.9, 0.0], [2.0, 1.0]])
    exact_path(problem, problem.total, Control(SolveParams()))
