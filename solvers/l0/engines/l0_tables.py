"""The backend ``l0-tables``: exact tables, and the exact path over all budgets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Control, Feature
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Certificate, Result, Status

from ..tables.of_models import cores
from .budget_backend import BudgetBackend


class L0Tables(BudgetBackend):
    """Our own engine for budgets: every K at once, exactly.

    The best subset of every size of each node comes from leaps and bounds
    (:mod:`~sparseopt.solvers.l0.tables.leaps_and_bounds`), the path over all budgets from the
    sorted slopes of the tables' hulls and, where these leave a gap, from small dynamic programs
    over the few nodes that can close it (:mod:`~sparseopt.solvers.l0.budgets.core_path`).

    References
    ----------
    Furnival, Wilson (1974): Regressions by leaps and bounds. Pisinger (1995): A minimal algorithm
    for the multiple-choice knapsack problem.
    """

    name: ClassVar[str] = "l0-tables"
    summary: ClassVar[str] = "own engine for budgets: exact subsets of all sizes, exact for every K"
    families: ClassVar[frozenset[str]] = frozenset({"budget"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.PATH,
            Feature.CALLBACK,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )

    def _spend(
        self,
        tables: BudgetTables,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        with control.uncounted():
            from ..budgets.exact_path import exact_path, warm_up

            prepare(warm_up)
        last = tables.last_budget(params.budget)
        found = exact_path(tables, last, control, params.threads or cores())
        path = found.path
        return Result(
            status=Status.OPTIMAL if found.limit is None else Status.FEASIBLE,
            limit=found.limit,
            raw_status=path.stopped_by,
            x=path.counts(last),
            objective=float(path.objective[-1]),
            bound=float(path.bound[-1]),
            path=path,
            certificate=Certificate("budget", {"multiplier": found.multiplier}),
        )
