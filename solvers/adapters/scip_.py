"""SCIP as a backend."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.outcome import Answer, Outcome, Request
from ..common.program import Cone, IndicatorRow, Program
from ..common.watch import Late, look, watched
from .adapter import Adapter

STATUS_MAP: Mapping[str, tuple[Outcome, Limit | None]] = {
    "optimal": (Outcome.OPTIMAL, None),
    "gaplimit": (Outcome.OPTIMAL, None),
    "infeasible": (Outcome.INFEASIBLE, None),
    "unbounded": (Outcome.UNBOUNDED, None),
    "inforunbd": (Outcome.UNDECIDED, None),
    "timelimit": (Outcome.LIMIT, Limit.TIME),
    "nodelimit": (Outcome.LIMIT, Limit.NODE),
    "totalnodelimit": (Outcome.LIMIT, Limit.NODE),
    "stallnodelimit": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "memlimit": (Outcome.LIMIT, Limit.MEMORY),
    "sollimit": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "bestsollimit": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "restartlimit": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "userinterrupt": (Outcome.LIMIT, Limit.INTERRUPTED),
    "terminate": (Outcome.LIMIT, Limit.INTERRUPTED),
}
"""SCIP's status to ours; what is not here has failed."""

_AS_IT_STANDS = {
    "presolving/maxrounds": 0,
    "separating/maxrounds": 0,
    "separating/maxroundsroot": 0,
    "propagating/maxrounds": 0,
    "propagating/maxroundsroot": 0,
}
"""A linear program is solved as it is, so that its rows have multipliers."""


class Scip(Adapter):
    """SCIP: linear programs and global mixed-integer quadratic programs, open source.

    References
    ----------
    Bolusani et al. (2024), The SCIP Optimization Suite 9.0.
    """

    name: ClassVar[str] = "scip"
    summary: ClassVar[str] = "SCIP; one lam, STRS and budgets as mixed-integer quadratic programs"
    requires: ClassVar[tuple[str, ...]] = ("pyscipopt",)
    extra: ClassVar[str | None] = "scip"
    indicators: ClassVar[bool] = True
    # A problem without an end got an optimum with the entries 5e6 and 1e7.
    reach: ClassVar[float] = 1e6

    def _load(self) -> None:
        import pyscipopt  # noqa: F401

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        # A limit before the search ends it: SCIP checks no limit while it presolves. With a first
        # solution there is something to return, if SCIP checks it.
        early = control if request.start is None else None
        try:
            with control.building():
                translated = _Translated(program, early)
                translated.configure(request, control)
                if request.start is not None:
                    translated.start(request.start)
            if early is not None:
                look(early)
        except Late as late:
            return Answer(outcome=Outcome.LIMIT, raw="not begun", limit=late.limit)
        model = translated.model

        def stop() -> None:
            # Before the search has begun, and after it, SCIP has nothing to interrupt.
            with contextlib.suppress(Warning, Exception):
                model.interruptSolve()

        limit = watched(model.optimizeNogil, stop, control)
        return translated.answer(limit)


class _Translated:
    """A program in SCIP: `variables` and `rows` in its order, and `helpers` of the objective.

    Parameters
    ----------
    program : Program
    control : Control or None
        Whose limits end the translation.
    """

    def __init__(self, program: Program, control: Control | None) -> None:
        import pyscipopt

        self.program = program
        self.allowed: _IterationLimit | None = None
        self.model: Any = pyscipopt.Model()
        self.model.hideOutput()

        def watching(values: list[Any]) -> Iterator[Any]:
            for value in values:
                if control is not None:
                    look(control)
                yield value

        whole = program.integer if program.integer is not None else np.zeros(len(program.cost))
        self.variables = [
            self.model.addVar(lb=low, ub=high, obj=cost, vtype="I" if integer else "C")
            for low, high, cost, integer in zip(
                *(_finite(a) for a in (program.low, program.high)),
                watching(program.cost.tolist()),
                whole.tolist(),
                strict=True,
            )
        ]
        self.terms = [pyscipopt.scip.Term(variable) for variable in self.variables]
        matrix = sp.csr_array(program.matrix)
        self.rows = [
            self._row(
                dict(zip(matrix.indices[a:b].tolist(), matrix.data[a:b].tolist(), strict=True)),
                low,
                high,
            )
            for a, b, low, high in zip(
                watching(matrix.indptr[:-1].tolist()),
                matrix.indptr[1:].tolist(),
                program.row_low.tolist(),
                program.row_high.tolist(),
                strict=True,
            )
        ]
        self.helpers: list[tuple[Any, Callable[..., float]]] = []
        self.model.addObjoffset(program.offset)
        if program.quadratic is not None:
            self._bend(program.quadratic)
        for row in program.quadratic_rows:
            self._add(self._form(row.Q, row.a), row.low, row.high)
        for condition in program.indicators:
            self._require(condition)
        for cone in program.cones:
            self._enclose(cone)

    def _require(self, condition: IndicatorRow) -> None:
        """Add a'x in its range where the binary is 1, one side after the other."""
        from pyscipopt.scip import Expr, ExprCons

        a = dict(zip(condition.columns.tolist(), condition.values.tolist(), strict=True))
        for sign, side in condition.sides:
            expression = Expr({self.terms[j]: sign * value for j, value in a.items()})
            binary = self.variables[condition.binary]
            self.model.addConsIndicator(ExprCons(expression, None, side), binary)

    def _enclose(self, cone: Cone) -> None:
        """Add the squares of a second-order cone, whose heads are not negative."""
        from pyscipopt import quicksum

        parts = [self.variables[j] for j in cone.columns.tolist()]
        if cone.rotated:
            left, tail = 2.0 * parts[0] * parts[1], parts[2:]
        else:
            left, tail = parts[0] * parts[0], parts[1:]
        for head in parts[: len(parts) - len(tail)]:
            self.model.chgVarLb(head, max(0.0, head.getLbOriginal()))
        self.model.addCons(quicksum(part * part for part in tail) - left <= 0.0)

    def _bend(self, Q: sp.csc_array) -> None:
        """Add x'Qx to the objective, which is linear in SCIP.

        A convex form is cut into squares, each below a variable of its own: SCIP's cuts for single
        squares are much better than those for their sum.
        """
        used = np.flatnonzero(np.diff(Q.indptr))
        try:
            root = np.linalg.cholesky(Q[:, used][used].toarray())
        except np.linalg.LinAlgError:
            height = self._helper(lambda x: float(x @ (Q @ x)), obj=1.0)
            self.model.addCons(self._form(Q, np.zeros(len(self.variables))) - height <= 0.0)
            return
        for column in root.T:
            row = np.zeros(len(self.variables))
            row[used] = column
            side = self._helper(lambda x, row=row: float(row @ x))
            height = self._helper(lambda x, row=row: float(row @ x) ** 2, obj=1.0)
            self._add(self._form(sp.csc_array(Q.shape), row) - side, 0.0, 0.0)
            self.model.addCons(side * side - height <= 0.0)

    def _helper(self, value: Callable[..., float], obj: float = 0.0) -> Any:
        """Add a free variable that has the given value at a point x."""
        variable = self.model.addVar(lb=None, ub=None, obj=obj)
        self.helpers.append((variable, value))
        return variable

    def _row(self, entries: Mapping[int, float], low: float, high: float) -> Any:
        from pyscipopt.scip import Expr

        return self._add(Expr({self.terms[j]: a for j, a in entries.items()}), low, high)

    def _add(self, expression: Any, low: float, high: float) -> Any:
        from pyscipopt.scip import ExprCons

        if np.isneginf(low) and np.isposinf(high):
            return None
        return self.model.addCons(
            ExprCons(
                expression,
                None if np.isneginf(low) else low,
                None if np.isposinf(high) else high,
            )
        )

    def _form(self, Q: sp.csc_array, a: Array) -> Any:
        """Return the expression x'Qx + a'x."""
        from pyscipopt.scip import Expr, Term

        upper = sp.coo_array(sp.triu(Q))
        terms = {self.terms[j]: a[j] for j in np.flatnonzero(a).tolist()}
        for i, j, q in zip(*(v.tolist() for v in (*upper.coords, upper.data)), strict=True):
            if q != 0.0:
                terms[Term(self.variables[i], self.variables[j])] = q if i == j else 2.0 * q
        return Expr(terms)

    def configure(self, request: Request, control: Control) -> None:
        """Set limits, tolerances and the seed."""
        model, program = self.model, self.program
        model.hideOutput(not request.verbose)
        tolerance = max(request.tolerance, 1e-9 if program.linear else 1e-8)
        chosen: dict[str, Any] = {
            # Ctrl-C is ours: see watched.
            "misc/catchctrlc": False,
            "numerics/feastol": tolerance,
            # Where SCIP finds a linear program solved too roughly it asks SoPlex for a thousandth
            # of the tolerance, and below 1e-10 SoPlex warns on standard error. Points, and
            # multipliers of linear programs, are checked here.
            "numerics/dualfeastol": tolerance if program.linear else 1e-7,
            "lp/checkprimfeas": False,
            "lp/checkdualfeas": not program.linear,
            "limits/gap": request.rel_gap,
            "limits/absgap": request.abs_gap,
            "randomization/randomseedshift": request.seed,
        }
        if program.linear:
            chosen |= _AS_IT_STANDS
        if control.remaining is not None:
            chosen["limits/time"] = control.remaining
        if request.threads is not None:
            chosen["lp/threads"] = request.threads
        if request.node_limit is not None:
            chosen["limits/totalnodes"] = request.node_limit
        if request.iteration_limit is not None:
            self.allowed = _IterationLimit(model, program.linear, request.iteration_limit)
            chosen |= self.allowed.parameters
        model.setParams(chosen)
        for name, value in request.settings.items():
            try:
                model.setParam(name, type(model.getParam(name))(value))
            except Exception as error:
                raise ParamError(
                    f"option settings: SCIP refuses {name}={value}: {error}"
                ) from error

    def start(self, x: Array) -> None:
        """Give SCIP a first solution, whose feasibility it checks itself."""
        solution = self.model.createSol()
        for variable, value in zip(self.variables, x.tolist(), strict=True):
            self.model.setSolVal(solution, variable, value)
        for variable, value in self.helpers:
            self.model.setSolVal(solution, variable, value(x))
        self.model.addSol(solution)

    def answer(self, stopped: Limit | None) -> Answer:
        """Translate back."""
        model = self.model
        raw = model.getStatus()
        outcome, limit = STATUS_MAP.get(raw, (Outcome.FAILED, None))
        if outcome is Outcome.LIMIT:
            spent = self.allowed is not None and self.allowed.reached(raw)
            limit = stopped or (Limit.ITERATION if spent else limit)
        known: dict[str, Any] = {
            "iterations": int(model.getNLPIterations()),
            "nodes": int(model.getNTotalNodes()),
        }
        if model.getNSols() > 0:
            best = model.getBestSol()
            known["x"] = np.array([model.getSolVal(best, v) for v in self.variables])
        bound = float(model.getDualbound())
        if abs(bound) < model.infinity():
            known["bound"] = bound
        if self.program.linear and outcome is Outcome.OPTIMAL:
            duals = [0.0 if row is None else model.getDualsolLinear(row) for row in self.rows]
            known["row_duals"] = _with_single_entries(self.program, known["x"], np.array(duals))
        return Answer(outcome=outcome, raw=raw, limit=limit, **known)


def _finite(values: Array) -> list[float | None]:
    """Return None for infinities, as SCIP expects them."""
    return [None if np.isinf(value) else float(value) for value in values]


def _with_single_entries(program: Program, x: Array, duals: Array) -> Array:
    """Give rows of one entry their multipliers: SCIP makes bounds of them, and reports zeros."""
    matrix = sp.csr_array(program.matrix)
    single = np.flatnonzero(np.diff(matrix.indptr) == 1)
    if len(single) == 0:
        return duals
    reduced = program.cost - matrix.T @ duals
    size = 1e-9 * (1.0 + np.abs(x).max())
    for i in single.tolist():
        j, a = int(matrix.indices[matrix.indptr[i]]), float(matrix.data[matrix.indptr[i]])
        # At an optimum a variable with a positive reduced cost is at a lower bound: its own, or
        # one that comes from such a row.
        own = program.low[j] if reduced[j] > 0.0 else program.high[j]
        up = (reduced[j] > 0.0) == (a > 0.0)
        side = program.row_low[i] if up else program.row_high[i]
        if reduced[j] != 0.0 and abs(x[j] - own) > size and abs(a * x[j] - side) <= abs(a) * size:
            duals[i] += reduced[j] / a
            reduced[j] = 0.0
    return duals


class _IterationLimit:
    """Ends a solve after so many simplex iterations.

    SCIP's own limits are those of each linear program: a tree search goes on without the bound of
    one that they end. So a tree search is ended from outside, after the linear program in which the
    iterations ran out; where there is but one linear program, SCIP's limits do.

    Parameters
    ----------
    model : pyscipopt.Model
        Before its solve.
    linear : bool
        Whether it is one linear program.
    most : int

    Attributes
    ----------
    parameters : dict
        To be set in the model.
    """

    def __init__(self, model: Any, linear: bool, most: int) -> None:
        self.parameters: dict[str, Any] = {}
        self._meter: Any = None
        if linear:
            self.parameters = {
                "lp/iterlim": most,
                "lp/rootiterlim": most,
                # Else it begins anew in a node below.
                "limits/totalnodes": 1,
            }
        else:
            self._meter = _meter(most)
            model.includeEventhdlr(self._meter, "meter", "ends the search by its iterations")

    def reached(self, raw: str) -> bool:
        """Return whether it has ended the solve, whose status in SCIP's words is given."""
        return raw == "totalnodelimit" if self._meter is None else bool(self._meter.spent)


def _meter(most: int) -> Any:
    from pyscipopt import SCIP_EVENTTYPE, Eventhdlr

    class Meter(Eventhdlr):  # type: ignore[misc]
        spent = False

        def eventinit(self) -> None:
            self.model.catchEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexit(self) -> None:
            self.model.dropEvent(SCIP_EVENTTYPE.LPSOLVED, self)

        def eventexec(self, event: Any) -> None:
            if self.model.getNLPIterations() >= most:
                self.spent = True
                self.model.interruptSolve()

    return Meter()
