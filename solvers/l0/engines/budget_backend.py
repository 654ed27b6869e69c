"""What all backends for budgets share: a model is its tables and a way to spend the budget."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Option
from sparseopt.params import SolveParams
from sparseopt.paths.budget import BudgetPath
from sparseopt.paths.graph import GraphPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Certificate, Result, Status

from ..settings import MOST_CANDIDATES
from ..tables.of_models import ModelTables, cores, model_tables


class BudgetBackend(Backend):
    """A backend for tables, and by their tables for models.

    A subclass writes :meth:`_spend`. The tables of a model (the best subset of every size of each
    node) are the same for all backends, and exact.
    """

    options: ClassVar[Mapping[str, Option]] = {
        "jobs": Option(
            int,
            1,
            "workers that search the nodes' neighbours through joblib; 1 for threads here",
            low=1,
        ),
        "joblib": Option(
            str,
            "",
            "which workers: 'loky', 'threading', 'dask', 'ray', ...; default: joblib's configured",
        ),
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take tables, and models of at most 62 candidates for each node."""
        if isinstance(problem, BudgetTables):
            return True, ""
        if not isinstance(problem, L0GraphicalModel):
            return False, f"{self.name} takes budget tables and graphical models"
        most = int(problem.candidates.sizes.max())
        if most > MOST_CANDIDATES:
            j = int(problem.candidates.sizes.argmax())
            return False, (
                f"node {j} has {most} candidates; {self.name} takes up to {MOST_CANDIDATES} for "
                "each node"
            )
        return True, ""

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        if isinstance(problem, BudgetTables):
            return self._spend(problem, params, options, control)
        assert isinstance(problem, L0GraphicalModel)
        problem.last_budget(params.budget)
        tables = self._tables(problem, params, options, control)
        answer = self._spend(tables.problem, params, options, control)
        return _result(problem, tables, answer, params.threads or cores())

    def _tables(
        self,
        problem: L0GraphicalModel,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> ModelTables:
        """Return the tables of a model."""
        return model_tables(problem, params, control, options["jobs"], options["joblib"])

    @abstractmethod
    def _spend(
        self,
        tables: BudgetTables,
        params: SolveParams,
        options: Mapping[str, Any],
        control: Control,
    ) -> Result:
        """Solve given tables: a BudgetPath, and the certificate "budget" with its multipliers."""


def _result(problem: L0GraphicalModel, tables: ModelTables, answer: Result, threads: int) -> Result:
    """Turn an answer about tables into one about the model; so many threads compute its point."""
    from ..tables.gaussian import gaussian_point

    found = answer.path
    assert isinstance(found, BudgetPath)
    assert answer.certificate is not None
    complete = tables.limit is None and bool(tables.done.all())
    bound = found.bound if complete else _bound_without(tables, found)
    path = GraphPath(
        budgets=found.budgets,
        objective=found.objective,
        bound=bound,
        certified=found.certified if complete else np.zeros_like(found.certified),
        changes=found.changes,
        nodes=found.nodes,
        stopped_by=found.stopped_by if tables.limit is None else tables.limit.value,
        supports=tables.supports,
        separated=tables.separated,
        candidates=problem.candidates,
        loss=problem.loss,
        scaling=problem.scaling,
        ridge=problem.ridge,
        problem=problem,
    )
    if problem.loss == "gaussian":
        x = gaussian_point(problem, path.chosen(np.asarray(answer.x, dtype=np.int64)), threads)
    else:
        x = path.at(path.budgets[-1])
    changes: dict[str, Any] = {}
    if tables.limit is not None:
        changes = {"status": Status.FEASIBLE, "limit": tables.limit}
    elif not complete and answer.limit is None:
        changes = {"status": Status.CONVERGED}
    notes = answer.notes
    if tables.separated.any():
        notes = (
            *notes,
            f"{int(tables.separated.sum())} sets of neighbours separate their node's values: their "
            "loss has an infimum, which is stated, and no minimum (a ridge > 0 gives it one)",
        )
    return answer.with_changes(
        x=x,
        bound=float(bound[-1]),
        path=path,
        certificate=Certificate(
            "budget", {**answer.certificate.arrays, "tables": tables.problem.values}
        )
        if complete
        else None,
        nodes=tables.visited,
        notes=notes,
        **changes,
    )


def _bound_without(tables: ModelTables, path: BudgetPath) -> Array:
    """Return Everett's bound when nodes whose search is not complete may have no loss at all."""
    from ..budgets.hull import solve_dual

    lower = np.where(tables.done, tables.problem.values, tables.least)
    if not np.isfinite(lower).all():
        return np.full(len(path.budgets), -np.inf)
    return solve_dual(BudgetTables(lower, tables.problem.ptr), int(path.budgets[-1])).bound
