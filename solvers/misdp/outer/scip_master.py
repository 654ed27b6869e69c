"""The outer approximation in one tree: SCIP, with the cuts as lazy constraints."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import numpy as np
import pyscipopt
import scipy.sparse as sp

from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ...common.watch import watched
from ..bounding.lower_bounds import Box
from ..settings import MASTER_ROUNDING, SCIP_SNAP
from ..tree.search import MISDPSearch
from .cuts import CutPool, NewCuts
from .indicators import Indicators
from .scip_handler import ConicHandler


class LazyCuts:
    """SCIP over the rows, with a constraint handler for matrices and cones.

    At a solution of the linear program with integral integers the conic problem is solved for the
    rest. Its point is offered to SCIP, its multipliers become cuts.

    Parameters
    ----------
    search : MISDPSearch
    pool : CutPool
    indicators : Indicators
    box : tuple of arrays of shape (n,)
    record : callable
        Called with the bound now and then.
    """

    masters = 1

    def __init__(
        self,
        search: MISDPSearch,
        pool: CutPool,
        indicators: Indicators,
        box: Box,
        record: Callable[[float], None],
    ) -> None:
        self.search = search
        self.pool = pool
        self.indicators = indicators
        self.model: Any = pyscipopt.Model()
        self.handler = ConicHandler(self)
        self._new_cuts = NewCuts((pool, indicators), box)
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
            proven -= MASTER_ROUNDING * size
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
            if np.abs(inside - x).max() > SCIP_SNAP:
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
        count = 0
        for row, side in self._new_cuts.fresh():
            self._add_cut(row, side)
            count += 1
        return count

    def _add_cut(self, row: Array, side: float) -> None:
        model = self.model
        cut = model.createEmptyRowUnspec("cut", lhs=side, rhs=None)
        model.cacheRowExtensions(cut)
        for j in np.flatnonzero(row).tolist():
            model.addVarToRow(cut, model.getTransformedVar(self.variables[j]), float(row[j]))
        model.flushRowExtensions(cut)
        model.addCut(cut, forcecut=True)
        model.releaseRow(cut)

    def _build(self, box: Box) -> None:
        """Set up variables, rows, the cuts that are known, and the handler of the others."""
        problem, model = self.search.problem, self.model
        self._ran = False
        whole = problem.integer.tolist()
        costs = self.search.conic.form.costs.tolist()
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
        for row, side in self._new_cuts.fresh():
            places = np.flatnonzero(row)
            self._add_row(places, row[places], side, np.inf)
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
        self._set_params()

    def _set_params(self) -> None:
        """Set gaps, limits and tolerances, and turn off what cuts of a handler do not allow."""
        model, params = self.model, self.search.control.params
        model.hideOutput(not params.verbose)
        model.setParam("misc/catchctrlc", False)
        model.setParam("misc/allowstrongdualreds", False)
        model.setParam("misc/allowweakdualreds", False)
        model.setParam("numerics/feastol", 1e-9)
        # Points are checked here. Where one misses a row by more, SCIP asks its solver for another
        # thousandth of the tolerance; the solver rejects that on standard error, and stops.
        model.setParam("lp/checkprimfeas", False)
        # The same where its solver calls a basis unstable.
        model.setParam("lp/checkstability", False)
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


def _end(value: float) -> float | None:
    return None if np.isinf(value) else value
