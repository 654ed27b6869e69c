"""The backend ``highs-knapsack``: a budget over tables as a mixed-integer program in HiGHS."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems.base import Array
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Certificate, Limit, Result, Status

from ..l0.budget_backend import BudgetBackend

__all__ = ["HighsKnapsack"]


class HighsKnapsack(BudgetBackend):
    r"""The multiple-choice knapsack as a mixed-integer linear program, one for each budget.

    .. math:: \min \sum_{j,k} L_j(k) y_{jk} \quad\text{subject to}\quad \sum_k y_{jk} = 1,\;
              \sum_{j,k} k\, y_{jk} \le K,\; y \in \{0, 1\}

    An outside check of the exact engines, for small tables.
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
            from ..l0.hull import solve_dual, warm_up

            warm_up()
        dual = solve_dual(tables, last)
        with control.building():
            program = _Program(tables, control)
        J = len(tables.ptr) - 1
        counts = np.zeros(J, dtype=np.int64)
        node: list[Array] = []
        count: list[Array] = []
        objective = np.empty(last + 1)
        bound = dual.bound.copy()
        limit: Limit | None = None
        for K in range(last + 1):
            solved = program.solve(K)
            if solved is None:
                limit = control.limit() or Limit.TIME
                objective[K:] = tables.objective(counts)
                node += [np.zeros(0, dtype=np.int64)] * (last + 1 - K)
                break
            changed = np.flatnonzero(solved[0] != counts)
            counts = solved[0]
            node.append(changed)
            count.append(counts[changed])
            objective[K] = tables.objective(counts)
            bound[K] = max(bound[K], solved[1])
            control.progress("budgets", fraction=(K + 1) / (last + 1))
        rounding = 1e-12 * np.abs(tables.values).sum()
        path = BudgetPath(
            budgets=np.arange(last + 1),
            objective=objective,
            bound=np.minimum(bound, objective),
            certified=objective - dual.bound <= rounding,
            changes=CountChanges(
                ptr=np.cumsum([0, *map(len, node)]),
                node=np.concatenate(node),
                count=np.concatenate([np.zeros(0, dtype=np.int64), *count]),
            ),
            nodes=J,
            stopped_by="budget" if limit is None else limit.value,
        )
        return Result(
            status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
            limit=limit,
            raw_status=program.raw,
            x=path.counts(last),
            objective=float(objective[-1]),
            bound=float(path.bound[-1]),
            path=path,
            certificate=Certificate("budget", {"multiplier": dual.multiplier}),
        )


class _Program:
    """The program in HiGHS; only the budget changes."""

    def __init__(self, tables: BudgetTables, control: Control) -> None:
        import highspy

        from ..common.outcome import Spent
        from .instance import Instance

        self.tables = tables
        self.control = control
        self.raw = "not started"
        params = control.params
        self.instance = Instance(control, "choose", 1e-9, Spent())
        self.instance.set_option("mip_rel_gap", min(params.rel_gap, 1e-9))
        self.instance.set_option("mip_abs_gap", params.abs_gap)
        self.instance.set_option("mip_feasibility_tolerance", 1e-9)

        def stop(event: Any) -> None:
            if control.limit() is not None:
                event.interrupt()

        self.instance.highs.cbMipInterrupt += stop
        N, J = len(tables.values), len(tables.ptr) - 1
        node = np.repeat(np.arange(J), np.diff(tables.ptr))
        k = np.arange(N) - tables.ptr[node]
        matrix = sp.csc_array(
            (
                np.append(np.ones(N), k.astype(float)),
                (np.append(node, np.full(N, J)), np.append(np.arange(N), np.arange(N))),
            ),
            shape=(J + 1, N),
        )
        ones = np.ones(J)
        # Losses of one size for all instances: the tolerances of HiGHS are absolute.
        self.size = max(float(np.abs(tables.values).max()), np.finfo(float).tiny)
        self.instance.call(
            "passModel",
            N,
            J + 1,
            matrix.nnz,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            tables.values / self.size,
            np.zeros(N),
            np.ones(N),
            np.append(ones, -np.inf),
            np.append(ones, 0.0),
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
            np.ones(N, dtype=np.int32),
        )

    def solve(self, K: int) -> tuple[Array, float] | None:
        """Return the counts and a proven bound at the budget K; None at a limit."""
        from ..common.outcome import Outcome

        J = len(self.tables.ptr) - 1
        self.instance.call("changeRowBounds", J, -np.inf, float(K))
        run = self.instance.run()
        self.raw = run.raw
        if run.outcome is not Outcome.OPTIMAL:
            return None
        chosen = np.array(self.instance.highs.getSolution().col_value) > 0.5
        node = np.repeat(np.arange(J), np.diff(self.tables.ptr))
        k = np.arange(len(node)) - self.tables.ptr[node]
        counts = np.bincount(node[chosen], weights=k[chosen], minlength=J).astype(np.int64)
        return counts, float(self.instance.highs.getInfo().mip_dual_bound) * self.size
