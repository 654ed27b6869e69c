"""A chosen budget of a graph, and what belongs to it: :class:`GraphSelection`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.api import solve
from sparseopt.backend import Backend
from sparseopt.cards import Card
from sparseopt.errors import BackendError, ParamError
from sparseopt.paths.graph import GraphPath, Rule
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.result import Limit, Result
from sparseopt.sketch import curves
from sparseopt.verbs import borrows

if TYPE_CHECKING:
    import pandas as pd


@borrows
@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class GraphSelection(Card):
    """The budget that a rule chose.

    Attributes
    ----------
    by : str
        The rule.
    budget : int
        The chosen K.
    budgets, values : arrays of shape (B,)
        All budgets that were compared, and the criterion at each.
    result : Result
        The path of the whole data.
    problem : L0GraphicalModel
    notes : tuple of str
        Remarks for the person.
    """

    by: str
    budget: int
    budgets: Array
    values: Array
    result: Result
    problem: L0GraphicalModel
    notes: tuple[str, ...] = ()

    @property
    def path(self) -> GraphPath:
        """The path of the whole data."""
        assert isinstance(self.result.path, GraphPath)
        return self.result.path.with_problem(self.problem)

    @property
    def value(self) -> float:
        """The criterion at the chosen budget."""
        return float(self.values[np.searchsorted(self.budgets, self.budget)])

    @property
    def x(self) -> Array:
        """The coefficients of all candidates, shape (total,)."""
        return self.path.at(self.budget)

    @property
    def support(self) -> Array:
        """Which candidates are chosen, as places in ``candidates.index``."""
        return np.flatnonzero(self.path.selected(self.budget))

    @property
    def nonzeros(self) -> int:
        """Number of chosen neighbours, counted over nodes."""
        return len(self.support)

    def graph(self, rule: Rule = "or") -> sp.csr_array:
        """Return the chosen graph; see :meth:`GraphPath.graph`."""
        return self.path.graph(self.budget, rule)

    def to_frame(self) -> pd.DataFrame:
        """Return one row for each budget: budget, criterion (needs pandas)."""
        import pandas as pd

        return pd.DataFrame({"budget": self.budgets, self.by: self.values})

    folded: ClassVar[frozenset[str]] = frozenset({"budgets", "backend", "notes"})

    def sketch(self) -> str:
        """Return a small picture of the criterion over the budgets."""
        return curves(self.budgets, {self.by: self.values}, "budget")

    def facts(self) -> Mapping[str, Any]:
        """Return what a person reads first, by name."""
        summary = self.summary()
        notes = "; ".join(summary.pop("notes", ())) or None
        summary.pop("instance", None)
        return {**summary, "notes": notes}

    def summary(self) -> dict[str, Any]:
        """Return the facts that a person or a script asks for first, ready for JSON."""
        return {
            "by": self.by,
            "budget": self.budget,
            "value": self.value,
            "budgets": len(self.budgets),
            "neighbours": self.nonzeros,
            "edges_or": self.graph("or").nnz // 2,
            "edges_and": self.graph("and").nnz // 2,
            "backend": self.result.backend,
            "verdict": self.result.verdict.value if self.result.verdict else None,
            "notes": list(self.notes),
            "instance": self.result.instance,
        }

    if TYPE_CHECKING:  # lent by the top of the package, see sparseopt.verbs

        def plot(self, ax: Any = None, **style: Any) -> Any: ...


def graph_model(problem: Problem) -> L0GraphicalModel:
    """Return the problem as a graphical model.

    Parameters
    ----------
    problem : Problem

    Returns
    -------
    L0GraphicalModel

    Raises
    ------
    ParamError
        When it has no data, as tables have none.
    """
    if not isinstance(problem, L0GraphicalModel):
        raise ParamError(
            f"a budget is chosen for graphical models, which have data; this is a {problem.kind}"
        )
    return problem


def rows_of(model: L0GraphicalModel, rows: Array) -> L0GraphicalModel:
    """Return the model of some observations, with their weights.

    Parameters
    ----------
    model : L0GraphicalModel
    rows : int array

    Raises
    ------
    ProblemError
        When these are no data for the candidates.
    """
    weights = None if model.sample_weights is None else model.sample_weights[rows]
    return replace(model, X=np.asarray(model.X[rows]), sample_weights=weights)


def graph_path(
    problem: L0GraphicalModel,
    what: str,
    backend: str | Backend,
    options: Mapping[str, Any] | None,
    budget: int | None = None,
) -> Result:
    """Solve for a path of graphs, without the checker.

    Parameters
    ----------
    problem : L0GraphicalModel
    what : str
        Whose path it is, for messages.
    backend : str or Backend
    options : mapping, optional
        Of the backend.
    budget : int, optional
        The largest budget. Default: all.

    Returns
    -------
    Result

    Raises
    ------
    BackendError
        When there is none; `what` says whose.
    """
    result = solve(problem, backend=backend, options=options, check=False, budget=budget)
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    if not isinstance(result.path, GraphPath):
        raise BackendError(f"{what} has no path of graphs: {result.backend} gave none")
    return result


def graph_result(
    problem: L0GraphicalModel,
    result: Result | None,
    backend: str | Backend,
    options: Mapping[str, Any] | None,
) -> Result:
    """Return the path of the whole data: the one that is given, or a new one.

    Parameters
    ----------
    problem : L0GraphicalModel
    result : Result, optional
        With the problem's path.
    backend : str or Backend
    options : mapping, optional
        Of the backend.

    Returns
    -------
    Result
    """
    if result is None:
        return graph_path(problem, "the problem", backend, options)
    path = result.path
    if not isinstance(path, GraphPath):
        held = "no path" if path is None else f"a {path.kind} path"
        raise ParamError(f"the result holds {held}; expected the path of a graphical model")
    own = problem.candidates
    same = np.array_equal(path.candidates.ptr, own.ptr) and np.array_equal(
        path.candidates.index, own.index
    )
    if not same or (result.instance and result.instance != problem.fingerprint()):
        raise ParamError("the result belongs to another problem: solve this one first")
    return result
