"""The constraint handler of SCIP's tree: matrices and second-order cones, by cuts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
import pyscipopt
from pyscipopt import SCIP_RESULT

from sparseopt.problems.base import Array

from ..settings import SCIP_FEASIBLE, SCIP_SEPARATIONS
from ..tree.search import MISDPSearch
from .cuts import CutPool
from .indicators import Indicators


class Owner(Protocol):
    """The tree that the handler belongs to."""

    search: MISDPSearch
    pool: CutPool
    indicators: Indicators
    model: Any
    variables: list[Any]
    slack: Callable[[], float]
    record: Callable[[float], None]
    given_up: float

    def values(self, solution: Any) -> Array:
        """Return a solution of SCIP's as a point."""

    def propose(self, x: Array) -> None:
        """Give SCIP a feasible point."""

    def pass_cuts(self) -> int:
        """Add the pool's new cuts; return how many."""


class ConicHandler(pyscipopt.Conshdlr):  # type: ignore[misc]
    """Asks after every solution whether matrices and cones agree.

    Exceptions must not leave a callback: they are kept, and SCIP is stopped.

    Parameters
    ----------
    owner : Owner

    Attributes
    ----------
    failure : BaseException or None
    """

    def __init__(self, owner: Owner) -> None:
        self.owner = owner
        self.failure: BaseException | None = None
        self._tried: set[bytes] = set()
        self._rounds: dict[int, int] = {}

    def conscheck(
        self,
        constraints: Any,
        solution: Any,
        checkintegrality: bool,
        checklprows: bool,
        printreason: bool,
        completely: bool,
        **_: Any,
    ) -> dict[str, Any]:
        """Return whether a point of SCIP's meets all constraints."""
        x = self.owner.values(solution)
        good = self._missed(x) <= SCIP_FEASIBLE
        return {"result": SCIP_RESULT.FEASIBLE if good else SCIP_RESULT.INFEASIBLE}

    def conssepalp(self, constraints: Any, nusefulconss: int) -> dict[str, Any]:
        """Cut off a solution of the linear program."""
        node = int(self.owner.model.getCurrentNode().getNumber())
        self._rounds[node] = self._rounds.get(node, 0) + 1
        if node > 1 and self._rounds[node] > SCIP_SEPARATIONS:
            return {"result": SCIP_RESULT.DIDNOTRUN}
        return self._guarded(self._separate, SCIP_RESULT.DIDNOTFIND)

    def consenfolp(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool
    ) -> dict[str, Any]:
        """Cut off a solution whose integers are integral, and learn from them."""
        return self._guarded(self._enforce, SCIP_RESULT.INFEASIBLE)

    def consenfops(
        self, constraints: Any, nusefulconss: int, solinfeasible: bool, objinfeasible: bool
    ) -> dict[str, Any]:
        """Have the linear program solved where SCIP has only a pseudo solution."""
        return {"result": SCIP_RESULT.SOLVELP}

    def conslock(self, constraint: Any, locktype: int, nlockspos: int, nlocksneg: int) -> None:
        """Declare to SCIP that both directions of every variable may lose feasibility."""
        model = self.owner.model
        for variable in self.owner.variables:
            model.addVarLocks(variable, nlockspos + nlocksneg, nlockspos + nlocksneg)

    def _guarded(self, work: Callable[[], Any], otherwise: Any) -> dict[str, Any]:
        if self.failure is None and self.owner.search.control.limit() is None:
            try:
                return {"result": work()}
            except BaseException as error:
                self.failure = error
        self.owner.model.interruptSolve()
        return {"result": otherwise}

    def _separate(self) -> Any:
        owner = self.owner
        x = owner.values(None)
        owner.pool.separate(x)
        owner.indicators.separate(x)
        owner.record(-np.inf)
        return SCIP_RESULT.SEPARATED if owner.pass_cuts() else SCIP_RESULT.DIDNOTFIND

    def _enforce(self) -> Any:
        owner = self.owner
        search, model = owner.search, owner.model
        x = owner.values(None)
        whole = search.problem.integer
        x[whole] = np.rint(x[whole])
        key = x[whole].tobytes()
        if key not in self._tried:
            self._tried.add(key)
            self._complete(x[whole])
        owner.pool.separate(x)
        owner.indicators.separate(x)
        value = float(model.getLPObjVal())
        if value >= search.points.value - owner.slack():
            owner.given_up = min(owner.given_up, value)
            return SCIP_RESULT.CUTOFF
        if owner.pass_cuts():
            return SCIP_RESULT.SEPARATED
        if self._missed(x) <= SCIP_FEASIBLE:
            return SCIP_RESULT.FEASIBLE
        fixed = all(
            v.getLbLocal() > v.getUbLocal() - 0.5
            for v, integer in zip(owner.variables, whole.tolist(), strict=True)
            if integer
        )
        if fixed:
            owner.given_up = min(owner.given_up, value)
            return SCIP_RESULT.CUTOFF
        return SCIP_RESULT.INFEASIBLE

    def _complete(self, integers: Array) -> None:
        """Solve for the continuous variables; keep the point and the cuts."""
        owner = self.owner
        search = owner.search
        value = search.points.value
        owner.pool.complete(search, integers)
        if search.points.value < value and search.points.best is not None:
            owner.propose(search.points.best)

    def _missed(self, x: Array) -> float:
        problem = self.owner.search.problem
        residuals = problem.residuals(x)
        # That of the rank is for the completed points.
        return max(residuals.get("psd", 0.0), residuals.get("cones", 0.0))
