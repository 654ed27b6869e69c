"""The backend ``highs-knapsack``: a budget over tables as a mixed-integer program in HiGHS."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.compiling import prepare
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Certificate, Limit, Result, Status

from ..adapters.formulations.budget import knapsack_program
from ..common.child import PYTHON
from ..common.outcome import Outcome
from ..common.served import needs
from ..l0.engines.budget_backend import BudgetBackend
from .instance import Instance

_WATCHED = 10_000
"""Entries from which each program runs in a child process: HiGHS 1.15.1 looks at no clock for
minutes in one program of 400,000, and can only be ended with its process."""
_TOLERANCE = 1e-9
"""Of feasibility, absolute in HiGHS: what each node adds to a bound may be off by so much."""
_SMALLER = 0.1
"""A program is solved again where its costs shrink to less than this part."""


class HighsKnapsack(BudgetBackend):
    r"""The multiple-choice knapsack as a mixed-integer linear program, one for each budget.

    .. math:: \min \sum_{j,k} L_j(k) y_{jk} \quad\text{subject to}\quad \sum_k y_{jk} = 1,\;
              \sum_{j,k} k\, y_{jk} \le K,\; y \in \{0, 1\}

    An outside check of the exact engines, for small tables. The tolerances of HiGHS are absolute.
    So each table's losses are counted from its least one, entries above what is known to suffice
    for all tables together are left out, and the rest is scaled; where the point found leaves out
    much more, the program is solved again. What the tolerances may hide is taken off the bounds:
    where this leaves more than the asked gap, the status is CONVERGED.
    """

    name: ClassVar[str] = "highs-knapsack"
    summary: ClassVar[str] = "HiGHS, one mixed-integer program for each budget; small tables"
    requires: ClassVar[tuple[str, ...]] = ("highspy",)
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.PATH,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    options: ClassVar[Mapping[str, Option]] = {
        **BudgetBackend.options,
        "max_budgets": Option(int, 100_000, "refuse to solve for more budgets than this", low=1),
    }

    def _spend(
        self,
        tables: BudgetTables,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        last = tables.last_budget(params.budget)
        if last + 1 > options["max_budgets"]:
            raise UnsupportedProblem(
                f"highs-knapsack would solve {last + 1} mixed-integer programs; its option "
                f"max_budgets allows {options['max_budgets']}: raise it, ask for a smaller budget, "
                "or take another backend"
            )
        with control.uncounted():
            from ..l0.budgets.hull import solve_dual, warm_up

            prepare(warm_up)
        dual = solve_dual(tables, last)
        with control.building():
            program = _Program(tables, control)
        bound = dual.bound.copy()
        objective, changes, limit = _solve_each(program, bound)
        bound = np.minimum(bound, objective)
        sizes = np.maximum(np.abs(objective), np.abs(bound))
        proven = objective - bound <= np.maximum(params.abs_gap, params.rel_gap * sizes)
        path = BudgetPath(
            budgets=np.arange(last + 1),
            objective=objective,
            bound=bound,
            certified=dual.certifies(objective, tables),
            changes=changes,
            nodes=len(tables.ptr) - 1,
            stopped_by="budget" if limit is None else limit.value,
        )
        finished = Status.OPTIMAL if proven.all() else Status.CONVERGED
        return Result(
            status=finished if limit is None else Status.FEASIBLE,
            limit=limit,
            raw_status=program.raw,
            x=path.counts(last),
            objective=float(objective[-1]),
            bound=float(path.bound[-1]),
            path=path,
            certificate=Certificate("budget", {"multiplier": dual.multiplier}),
        )


def _solve_each(program: _Program, bound: Array) -> tuple[Array, CountChanges, Limit | None]:
    """Solve for the budgets 0, 1, ..., and lift what bounds each; from a limit on nothing changes.

    Returns the objectives, how the counts change, and the limit.
    """
    tables, control, budgets = program.tables, program.control, len(bound)
    counts = np.zeros(len(tables.ptr) - 1, dtype=np.int64)
    node: list[Array] = []
    count: list[Array] = []
    objective = np.empty(budgets)
    limit: Limit | None = None
    for K in range(budgets):
        solved = program.solve(K)
        if solved is None:
            limit = control.limit() or Limit.TIME
            objective[K:] = tables.objective(counts)
            node += [np.zeros(0, dtype=np.int64)] * (budgets - K)
            break
        changed = np.flatnonzero(solved[0] != counts)
        counts = solved[0]
        node.append(changed)
        count.append(counts[changed])
        objective[K] = tables.objective(counts)
        bound[K] = max(bound[K], solved[1])
        control.progress("budgets", fraction=(K + 1) / budgets)
    changes = CountChanges(
        ptr=np.cumsum([0, *map(len, node)]),
        node=np.concatenate(node),
        count=np.concatenate([np.zeros(0, dtype=np.int64), *count]),
    )
    return objective, changes, limit


class _Program:
    """The program in HiGHS, for one budget after another, and the best counts so far.

    Attributes
    ----------
    losses : array of shape (N,)
        Of each entry, above the least of its table.
    counts : int array of shape (J,)
        They keep every budget that follows.
    size : float
        The largest loss that the program holds, and its unit.
    """

    def __init__(self, tables: BudgetTables, control: Control) -> None:
        from ..l0.budgets.hull import above_least

        self.tables = tables
        self.control = control
        self.raw = "not started"
        self.losses, self.least = above_least(tables)
        self.counts = np.zeros(len(tables.ptr) - 1, dtype=np.int64)
        self.size = np.inf
        self.instance: Instance | None = None
        if len(tables.values) < _WATCHED:
            self.instance = _loaded(tables, 0, control)

    def solve(self, K: int) -> tuple[Array, float] | None:
        """Return the counts and a proven bound at the budget K; None at a limit."""
        while (left := self._left()) > 0.0:
            if left < _SMALLER * self.size:
                self._shrink(left)
            found = self._solve_apart(K) if self.instance is None else self._solve_here(K)
            if found is None:
                return None
            counts, bound = found
            if self._excess(counts) < self._excess(self.counts):
                self.counts = counts
            if self._left() >= _SMALLER * self.size:
                hidden = _TOLERANCE * self.size * (len(counts) + 1)
                return self.counts, self.least + max(0.0, bound - hidden)
        return self.counts, self.least

    def _excess(self, counts: Array) -> float:
        """Return the losses of counts above the least of all."""
        return math.fsum(self.losses[self.tables.ptr[:-1] + counts].tolist())

    def _left(self) -> float:
        """Return the largest loss that a node may still have: no more than all together."""
        return float(self.losses[self.losses <= self._excess(self.counts)].max())

    def _shrink(self, size: float) -> None:
        self.size = size
        if self.instance is not None:
            _scale(self.instance, self.losses, size)

    def _solve_here(self, K: int) -> tuple[Array, float] | None:
        instance = self.instance
        assert instance is not None
        instance.call("changeRowBounds", len(self.tables.ptr) - 1, -np.inf, float(K))
        run = instance.run()
        self.raw = run.raw
        point = instance.point()
        if run.outcome is not Outcome.OPTIMAL or point is None:
            return None
        return self._counts(point), instance.tree_bound * self.size

    def _solve_apart(self, K: int) -> tuple[Array, float] | None:
        params = self.control.params
        found = PYTHON.run(
            solve_once,
            self.control,
            {"losses": self.losses, "ptr": self.tables.ptr},
            budget=K,
            size=self.size,
            params={
                name: getattr(params, name)
                for name in ("rel_gap", "abs_gap", "seed", "threads", "verbose")
            },
        )
        if isinstance(found, Limit):
            return None
        self.raw = str(found["raw"])
        return (self._counts(found["point"]), float(found["bound"])) if "point" in found else None

    def _counts(self, point: Array) -> Array:
        """Return how many each node has, of a point of the program."""
        J = len(self.tables.ptr) - 1
        chosen = point > 0.5
        node = np.repeat(np.arange(J), np.diff(self.tables.ptr))
        k = np.arange(len(node)) - self.tables.ptr[node]
        return np.bincount(node[chosen], weights=k[chosen], minlength=J).astype(np.int64)


def _loaded(tables: BudgetTables, budget: int, control: Control) -> Instance:
    """Return the program of the tables, its costs still zero."""
    instance = Instance(control, tolerance=_TOLERANCE)
    # HiGHS has none for a tree.
    instance.iteration_limit = None
    instance.load(knapsack_program(tables, budget, np.inf))
    return instance


def _scale(instance: Instance, losses: Array, size: float) -> None:
    """Set the costs to losses in the unit `size`, and leave out the entries above it."""
    params = instance.control.params
    instance.set_gaps(min(params.rel_gap, 1e-9), params.abs_gap / size)
    allowed = losses <= size
    instance.change_columns(np.zeros(len(losses)), allowed.astype(float))
    instance.change_cost(np.where(allowed, losses, 0.0) / size)


@needs("highspy", "scipy.sparse")
def solve_once(
    losses: Array, ptr: Array, *, budget: int, size: float, params: Mapping[str, Any]
) -> dict[str, Any]:
    """Solve one program from scratch; runs in a child process.

    Parameters
    ----------
    losses, ptr : arrays
        The tables, counted from the least loss of each.
    budget : int
    size : float
        What losses are divided by; those above are left out.
    params : mapping
        Parameters of the solve.

    Returns
    -------
    dict
        HiGHS' status "raw"; where it is optimal "point", and "bound", proven, in the losses' unit.
    """
    control = Control(SolveParams(**params))
    instance = _loaded(BudgetTables(losses, ptr), budget, control)
    _scale(instance, losses, size)
    run = instance.run()
    point = instance.point()
    found: dict[str, Any] = {"raw": run.raw}
    if run.outcome is Outcome.OPTIMAL and point is not None:
        found |= {"point": point, "bound": instance.tree_bound * size}
    return found
