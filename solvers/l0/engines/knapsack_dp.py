"""The dynamic program over budgets: the reference for all other solvers of budgets."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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

from .budget_backend import BudgetBackend


class KnapsackDP(BudgetBackend):
    r"""The multiple-choice knapsack for all budgets at once.

    With :math:`V_j(K)` the optimum over the first j nodes,

    .. math:: V_0(K) = 0, \qquad V_j(K) = \min_{0 \le k \le \min(d_j, K)} V_{j-1}(K - k) + L_j(k).

    The minimising k is kept for every j and K, the smallest one where several tie, so that a
    solution is read back without looking for it again. :math:`O(K \sum_j d_j)` time, vectorised
    over K, and one small integer of memory for each node and budget.

    References
    ----------
    Fang, Liu, Wang: SPICA, Algorithm 1, with k = 0 allowed in (2.4) and with choices stored: its
    backtracking compares rounded or tied sums and then leaves the optimum.
    """

    name: ClassVar[str] = "knapsack-dp"
    summary: ClassVar[str] = "dynamic program over all budgets; exact, the reference"
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
        "max_cells": Option(
            int, 300_000_000, "refuse problems with more nodes times budgets than this", low=1
        ),
    }

    def _spend(
        self,
        tables: BudgetTables,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        with control.uncounted():
            from ..budgets.exact_path import losses_cancel, sums_of_losses
            from ..budgets.hull import solve_dual, warm_up

            prepare(warm_up)
        last = tables.last_budget(params.budget)
        J = len(tables.ptr) - 1
        if J * (last + 1) > options["max_cells"]:
            raise UnsupportedProblem(
                f"knapsack-dp would fill {J} x {last + 1} cells; its option max_cells allows "
                f"{options['max_cells']}: raise it, or take another backend"
            )
        value = np.zeros(last + 1)
        choices: list[Array] = []
        limit: Limit | None = None
        for j in range(J):
            value, choice = _add_node(value, tables.table(j))
            choices.append(choice)
            control.progress("nodes", fraction=(j + 1) / J)
            limit = control.limit()
            if limit is not None and j + 1 < J:
                break
        else:
            limit = None
        dual = solve_dual(tables, last)
        # Nodes that a limit left out get no neighbours.
        changes = CountChanges.from_columns(last + 1, list(_backtrack(choices, last)))
        objective = value + tables.values[tables.ptr[len(choices) : -1]].sum()
        if losses_cancel(tables, objective):
            objective = sums_of_losses(tables, changes)
        bound = objective if limit is None else np.minimum(dual.bound, objective)
        path = BudgetPath(
            budgets=np.arange(last + 1),
            objective=objective,
            bound=bound,
            certified=dual.certifies(objective, tables),
            changes=changes,
            nodes=J,
            stopped_by="budget" if limit is None else limit.value,
        )
        return Result(
            status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
            limit=limit,
            raw_status=f"{len(choices)} of {J} nodes",
            x=path.at(last),
            objective=float(objective[-1]),
            bound=float(bound[-1]),
            path=path,
            certificate=Certificate("budget", {"multiplier": dual.multiplier}),
            iterations=len(choices),
        )


def _add_node(value: Array, table: Array) -> tuple[Array, Array]:
    """Return (V_j, choice) from V_{j-1}; both have one entry for each budget."""
    best = value + table[0]
    choice = np.zeros(len(value), dtype=np.min_scalar_type(len(table)))
    for k in range(1, min(len(table), len(value))):
        candidate = value[:-k] + table[k]
        better = candidate < best[k:]
        best[k:][better] = candidate[better]
        choice[k:][better] = k
    return best, choice


def _backtrack(choices: list[Array], last: int) -> Iterator[Array]:
    """Yield each node's counts for all budgets, the first node first."""
    left = np.arange(last + 1)
    columns = []
    for choice in reversed(choices):
        counts = choice[left]
        columns.append(counts)
        left = left - counts
    yield from reversed(columns)
