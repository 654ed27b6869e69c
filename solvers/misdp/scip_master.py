"""The outer approximation in one tree: SCIP, with the cuts as lazy constraints."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyscipopt
import scipy.sparse as sp
from pyscipopt import SCIP_RESULT

from sparseopt.problems.base import Array
from sparseopt.result import Limit
from sparseopt.solvers.adapters.watch import watched
from sparseopt.solvers.misdp.bounding import Box
from sparseopt.solvers.misdp.cuts import CutPool
from sparseopt.solvers.misdp.search import Search

__all__ = ["LazyCuts"]

_FEASIBLE = 2e-8
"""Residuals up to which SCIP may take a point for feasible."""
_ROUNDING = 1e-9
_SNAP = 1e-7
"""How far a point may be from SCIP's bounds of its variables to be proposed to it."""
_SEPARATIONS = 10
"""Rounds of cuts at a node below the root, whose integers are not integral yet."""


class LazyCuts:
    """SCIP over the rows, with a constraint handler for matrices and cones.

    At a solution of the linear program with integral integers the conic problem is solved for the
    rest. Its point is offered to SCIP, its multipliers become cuts.

    Parameters
    ----------
    search : Search
    pool : CutPool
    box : tuple of arrays of shape (n,)
    record : callable
        Called with the bound now and then.
    """

    masters = 1

    def __init__(
        self, search: Search, pool: CutPool, box: Box, record: Callable[[float], None]
    ) -> None:
        self.search = search
        self.pool = pool
        self.model: Any = pyscipopt.Model()
        self.handler = _Handler(self)
        self.loaded = 0
        self.record = record
        self.bound = -np.inf
        self.slack: Callable[[], float] = lambda: 0.0
        self.given_up = np.inf
        """The least value of a node that was cut off though more was not known."""
        with search.control.building():
            self._build(box)

    @property
    def nodes(self) -> int:
        """Nodes of SCIP's tree."""
        return int(self.model.getNTotalNodes()) if self._ran else 0

    def run(self, slack: Callable[[], float]) -> Limit | None:
        """Solve; see :meth:`OuterApproximation.run`."""
        control, points = self.search.control, self.search.points
        self.slack = slack
        limit = control.limit()
        if limit is not None:
            return limit
        if control.remaining is not None:
            self.model.setParam("limits/time", control.remaining)
        if points.best is not None:
            self.propose(points.best)

        def stop() -> None:
            # Before the search has begun, and after it, SCIP has nothing to interrupt.
            with contextlib.suppress(Warning, Exception):
                self.model.interruptSolve()

        self._ran = True
        try:
            limit = watched(self.model.optimizeNogil, stop, control)
        except Exception as error:
            if not str(error).startswith("SCIP: "):
                raise
            # Its linear programs have failed: what is known so far stays, and its bound is nothing.
            control.notes.append(f"the master was given up: {error}")
            return control.limit()
        if self.handler.failure is not None:
            raise self.handler.failure
        status = str(self.model.getStatus())
        if limit is None and status == "timelimit":
            limit = Limit.TIME
        if limit is None and status in ("nodelimit", "totalnodelimit"):
            limit = Limit.NODE
        proven = points.value if status == "infeasible" else float(self.model.getDualbound())
        if abs(proven) >= self.model.infinity():
            proven = points.value if proven > 0.0 else -np.inf
        proven = min(proven, self.given_up)
        if np.isfinite(proven):
            size = max(float(np.abs(self.search.problem.c).max()), abs(proven))
            proven -= _ROUNDING * size
        self.bound = max(self.bound, proven)
        self.record(self.bound)
        return limit

    def values(self, solution: Any) -> Array:
        """Return a solution of SCIP's as a point."""
        return np.array([self.model.getSolVal(solution, v) for v in self.variables])

    def propose(self, x: Array) -> None:
        """Give SCIP a feasible point."""
        if self._ran:
            # SCIP refuses another value for a variable that it has fixed, however near.
            own = [self.model.getTransformedVar(variable) for variable in self.variables]
            inside = np.clip(x, [v.getLbGlobal() for v in own], [v.getUbGlobal() for v in own])
            if np.abs(inside - x).max() > _SNAP:
                return
            x = inside
        solution = self.model.createSol()
        for variable, value in zip(self.variables, x.tolist(), strict=True):
            self.model.setSolVal(solution, variable, value)
        if self._ran:
            self.model.trySol(solution, printreason=False)
        else:
            self.model.addSol(solution)

    def pass_cuts(self) -> int:
        """Add the pool's new cuts to SCIP's linear program; return how many."""
        model = self.model
        new = range(self.loaded, len(self.pool))
        for k in new:
            row = model.createEmptyRowUnspec(f"cut{k}", lhs=self.pool.sides[k], rhs=None)
            model.cacheRowExtensions(row)
            for j in np.flatnonzero(self.pool.rows[k]).tolist():
                variable = model.getTransformedVar(self.variables[j])
                model.addVarToRow(row, variable, float(self.pool.rows[k][j]))
            model.flushRowExtensions(row)
            model.addCut(row, forcecut=True)
            model.releaseRow(row)
        self.loaded = len(self.pool)
        return len(new)

    def _build(self, box: Box) -> None:
        search = self.search
        problem, params = search.problem, search.control.params
        self._ran = False
        model = self.model
        model.hideOutput(not params.verbose)
        whole = problem.integer.tolist()
        costs = search.conic.form.costs.tolist()
        self.variables = [
            model.addVar(lb=_end(low), ub=_end(high), obj=cost, vtype="I" if integer else "C")
            for low, high, cost, integer in zip(
                box[0].tolist(), box[1].tolist(), costs, whole, strict=True
            )
        ]
        A = sp.csr_array(problem.A)
        for i, (low, high) in enumerate(zip(problem.row_lower, problem.row_upper, strict=True)):
            here = slice(A.indptr[i], A.indptr[i + 1])
            self._add_row(A.indices[here], A.data[here], low, high)
        for row, side in zip(self.pool.rows, self.pool.sides, strict=True):
            places = np.flatnonzero(row)
            self._add_row(places, row[places], side, np.inf)
        self.loaded = len(self.pool)
        model.includeConshdlr(
            self.handler,
            "conic",
            "matrices and second-order cones by cuts",
            sepapriority=1,
            enfopriority=-1,
            chckpriority=-1,
            sepafreq=1,
            eagerfreq=-1,
            needscons=False,
        )
        model.setParam("misc/catchctrlc", False)
        model.setParam("misc/allowstrongdualreds", False)
        model.setParam("misc/allowweakdualreds", False)
        model.setParam("numerics/feastol", 1e-9)
        # Points are checked here. Where one misses a row by more SCIP asks its solver for another
        # thousandth of the tolerance, which that refuses, on standard error, and gives up.
        model.setParam("lp/checkprimfeas", False)
        model.setParam("limits/gap", 0.1 * params.rel_gap)
        model.setParam("limits/absgap", 0.5 * params.abs_gap)
        model.setParam("randomization/randomseedshift", params.seed % 2**31)
        # Multi-aggregated variables cannot stand in a row of the linear program.
        model.setParam("presolving/donotmultaggr", True)
        model.setParam("presolving/maxrestarts", 0)
        if params.threads is not None:
            model.setParam("lp/threads", params.threads)
        if params.node_limit is not None:
            model.setParam("limits/totalnodes", params.node_limit)

    def _add_row(self, places: Array, values: Array, low: float, high: float) -> None:
        if np.isinf(low) and np.isinf(high):
            return
        form = pyscipopt.quicksum(
            value * self.variables[j]
            for j, value in zip(places.tolist(), values.tolist(), strict=True)
        )
        if not len(places):
            return
        if low == high:
            self.model.addCons(form == float(low))
            return
        if np.isfinite(low):
            self.model.addCons(form >= float(low))
        if np.isfinite(high):
            self.model.addCons(form <= float(high))


class _Handler(pyscipopt.Conshdlr):  # type: ignore[misc]
    """Asks after every solution whether matrices and cones agree.

    Exceptions must not leave a callback: they are kept, and SCIP is told to stop.
    """

    def __init__(self, owner: LazyCuts) -> None:
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
        """Tell whether a point of SCIP's meets all constraints."""
        x = self.owner.values(solution)
        good = self._missed(x) <= _FEASIBLE
        return {"result": SCIP_RESULT.FEASIBLE if good else SCIP_RESULT.INFEASIBLE}

    def conssepalp(self, constraints: Any, nusefulconss: int) -> dict[str, Any]:
        """Cut off a solution of the linear program."""
        node = int(self.owner.model.getCurrentNode().getNumber())
        self._rounds[node] = self._rounds.get(node, 0) + 1
        if node > 1 and self._rounds[node] > _SEPARATIONS:
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
        """Tell SCIP that both directions of every variable may lose feasibility."""
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
        owner.pool.separate(owner.values(None))
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
        value = float(model.getLPObjVal())
        if value >= search.points.value - owner.slack():
            owner.given_up = min(owner.given_up, value)
            return SCIP_RESULT.CUTOFF
        if owner.pass_cuts():
            return SCIP_RESULT.SEPARATED
        if self._missed(x) <= _FEASIBLE:
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
        search.points.complete(integers)
        problem = search.problem
        low, high = problem.lower.copy(), problem.upper.copy()
        low[problem.integer] = high[problem.integer] = integers
        tight = search.propagation.tighten(low, high)
        if tight is not None:
            found = search.conic.relax(tight, np.inf)
            if found.multipliers is not None:
                owner.pool.add_multipliers(found.multipliers)
            if not found.infeasible:
                search.points.take(found, tight)
        if search.points.value < value and search.points.best is not None:
            owner.propose(search.points.best)

    def _missed(self, x: Array) -> float:
        problem = self.owner.search.problem
        residuals = problem.residuals(x)
        # That of the rank is for the completed points.
        return max(residuals.get("psd", 0.0), residuals.get("cones", 0.0))


def _end(value: float) -> float | None:
    return None if np.isinf(value) else value
