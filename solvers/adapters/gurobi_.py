"""Gurobi as a backend."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import LicenseError, ParamError
from sparseopt.result import Limit

from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program
from ..common.watch import watched
from .adapter import Adapter

STATUS_MAP: Mapping[str, tuple[Outcome, Limit | None]] = {
    "OPTIMAL": (Outcome.OPTIMAL, None),
    "INFEASIBLE": (Outcome.INFEASIBLE, None),
    "UNBOUNDED": (Outcome.UNBOUNDED, None),
    "INF_OR_UNBD": (Outcome.UNDECIDED, None),
    "TIME_LIMIT": (Outcome.LIMIT, Limit.TIME),
    "WORK_LIMIT": (Outcome.LIMIT, Limit.TIME),
    "NODE_LIMIT": (Outcome.LIMIT, Limit.NODE),
    "ITERATION_LIMIT": (Outcome.LIMIT, Limit.ITERATION),
    "MEM_LIMIT": (Outcome.LIMIT, Limit.MEMORY),
    "INTERRUPTED": (Outcome.LIMIT, Limit.INTERRUPTED),
    "SUBOPTIMAL": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "SOLUTION_LIMIT": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
}
"""Gurobi's status to ours; what is not here has failed."""

_TOO_LARGE = 10010
_LICENSE = (10009, 10032)
_MOST_SEED = 2_000_000_000


class Gurobi(Adapter):
    """Gurobi: linear, mixed-integer and quadratic programs, also nonconvex ones.

    Without a licence of the user's own, the one inside the package takes up to 2000 variables, 2000
    linear and 200 quadratic constraints.
    """

    name: ClassVar[str] = "gurobi"
    summary: ClassVar[str] = "Gurobi; one lam, STRS and budgets as mixed-integer quadratic programs"
    requires: ClassVar[tuple[str, ...]] = ("gurobipy",)
    extra: ClassVar[str | None] = "gurobi"
    vendor: ClassVar[str] = "gurobi.com"
    indicators: ClassVar[bool] = True

    def license_status(self) -> str:
        """Return which licence Gurobi uses, and until when."""
        import gurobipy

        model = gurobipy.Model(env=_environment())
        number = _environment().getParam("LicenseID")
        kind = f"licence {number}" if number else "size-limited, from the package gurobipy"
        day = str(model.getAttr("LicenseExpiration"))
        never = day == "99999999"
        return kind + ("" if never else f", until {day[:4]}-{day[4:6]}-{day[6:]}")

    def _load(self) -> None:
        _environment()

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        import gurobipy

        try:
            with control.building():
                model, x, rows = _translate(program)
                _configure(model, program, request, control)
            if request.start is not None:
                x.Start = request.start
            limit = watched(model.optimize, model.terminate, control)
            if model.Status == gurobipy.GRB.INF_OR_UNBD and limit is None:
                # Gurobi's own advice: without these reductions it reports which.
                model.setParam("DualReductions", 0)
                if control.remaining is not None:
                    model.setParam("TimeLimit", control.remaining)
                limit = watched(model.optimize, model.terminate, control)
            return _answer(model, x, rows, program, limit)
        except gurobipy.GurobiError as error:
            if error.errno in (_TOO_LARGE, *_LICENSE):
                size = "too large for this licence" if error.errno == _TOO_LARGE else "no licence"
                raise self.refused(program, error, size) from error
            raise


@functools.cache
def _environment() -> Any:
    """Return the one environment of this process; it prints a banner unless it is switched off."""
    import gurobipy

    try:
        return gurobipy.Env(params={"OutputFlag": 0})
    except gurobipy.GurobiError as error:
        raise LicenseError(f"gurobi: no licence that can be used: {error}") from error


def _translate(program: Program) -> tuple[Any, Any, Any]:
    """Return the model, its variables, and its rows A x - r = 0 with r between bounds."""
    import gurobipy
    from gurobipy import GRB

    model = gurobipy.Model(env=_environment())
    m, n = program.matrix.shape
    kinds = np.full(n, GRB.CONTINUOUS)
    kinds[program.integers] = GRB.INTEGER
    x = model.addMVar(n, program.low, program.high, program.cost, vtype=kinds)
    both = np.isfinite(program.row_low) & np.isfinite(program.row_high)
    ranged = np.flatnonzero(both & (program.row_low < program.row_high))
    r = model.addMVar(len(ranged), program.row_low[ranged], program.row_high[ranged])
    sense = np.where(np.isfinite(program.row_low), GRB.GREATER_EQUAL, GRB.LESS_EQUAL)
    sense[both] = GRB.EQUAL
    side = np.where(np.isfinite(program.row_low), program.row_low, program.row_high)
    side[ranged] = 0.0
    free = np.isneginf(program.row_low) & np.isposinf(program.row_high)
    side[free] = GRB.INFINITY
    slack = sp.csr_array(
        (-np.ones(len(ranged)), (ranged, np.arange(len(ranged)))), shape=(m, len(ranged))
    )
    rows = None
    if m:
        whole = sp.csr_array(sp.hstack([program.matrix, slack]))
        rows = model.addMConstr(whole, gurobipy.concatenate([x, r]), sense, side)
    model.ObjCon = program.offset
    if program.quadratic is not None:
        model.setMObjective(program.quadratic, program.cost, program.offset, xQ_L=x, xQ_R=x, xc=x)
    for row in program.quadratic_rows:
        for bound, word in ((row.low, GRB.GREATER_EQUAL), (row.high, GRB.LESS_EQUAL)):
            if row.low == row.high:
                word = GRB.EQUAL
            if np.isfinite(bound):
                model.addMQConstr(row.Q, row.a, word, bound, xQ_L=x, xQ_R=x, xc=x)
            if row.low == row.high:
                break
    for condition in program.indicators:
        columns = x[condition.columns].tolist()
        for sign, most in condition.sides:
            left = gurobipy.LinExpr(sign * condition.values, columns)
            binary = x[condition.binary].item()
            model.addGenConstrIndicator(binary, True, left, GRB.LESS_EQUAL, most)
    for cone in program.cones:
        head, tail = (2, 2) if cone.rotated else (1, 1)
        parts = x[cone.columns]
        left = 2 * parts[0] * parts[1] if cone.rotated else parts[0] * parts[0]
        model.addConstr((parts[tail:] * parts[tail:]).sum() <= left)
        for k in range(head):
            parts[k].LB = max(0.0, float(program.low[cone.columns[k]]))
    return model, x, (rows, r, ranged)


def _configure(model: Any, program: Program, request: Request, control: Control) -> None:
    import gurobipy

    tolerance = max(request.tolerance, 1e-9)
    chosen: dict[str, Any] = {
        "OutputFlag": int(request.verbose),
        # Ctrl-C is ours: Gurobi would print a line to it, verbose or not.
        "GURO_PAR_NOSIGNALS": 1,
        "Seed": request.seed % _MOST_SEED,
        "FeasibilityTol": tolerance,
        "OptimalityTol": tolerance,
        "IntFeasTol": tolerance,
        "BarConvTol": tolerance,
        "BarQCPConvTol": tolerance,
        "MIPGap": request.rel_gap,
        "MIPGapAbs": request.abs_gap,
    }
    if control.remaining is not None:
        chosen["TimeLimit"] = control.remaining
    if request.threads is not None:
        chosen["Threads"] = request.threads
    if request.node_limit is not None:
        chosen["NodeLimit"] = request.node_limit
    if request.iteration_limit is not None:
        chosen["IterationLimit"] = request.iteration_limit
    if program.linear:
        chosen["Method"] = 1
    for name, value in chosen.items():
        model.setParam(name, value)
    for name, value in request.settings.items():
        try:
            model.setParam(name, value)
        except gurobipy.GurobiError as error:
            raise ParamError(f"option settings: Gurobi refuses {name}={value}: {error}") from error


def _answer(model: Any, x: Any, rows: Any, program: Program, stopped: Limit | None) -> Answer:
    from gurobipy import GRB

    words = {getattr(GRB.Status, word): word for word in dir(GRB.Status) if word.isupper()}
    raw = words.get(model.Status, str(model.Status))
    outcome, limit = STATUS_MAP.get(raw, (Outcome.FAILED, None))
    if outcome is Outcome.LIMIT:
        limit = stopped or limit
    known: dict[str, Any] = {"iterations": int(model.IterCount)}
    if model.SolCount > 0:
        known["x"] = np.asarray(x.X)
    if model.IsMIP or model.IsQCP:
        known["nodes"] = int(model.NodeCount)
        # A convex program that has no optimum has no such attribute.
        bound = float(getattr(model, "ObjBound", np.nan))
        if np.isfinite(bound) and abs(bound) < GRB.INFINITY:
            known["bound"] = bound
    if program.linear and outcome is Outcome.OPTIMAL:
        constraints, r, ranged = rows
        basic_rows = np.zeros(len(program.row_low), dtype=bool)
        duals = np.zeros(0)
        if constraints is not None:
            basic_rows = np.asarray(constraints.CBasis) == 0
            basic_rows[ranged] |= np.asarray(r.VBasis) == 0
            duals = np.asarray(constraints.Pi)
        known["row_duals"] = duals
        known["basic"] = np.asarray(x.VBasis) == 0, basic_rows
    return Answer(outcome=outcome, raw=raw, limit=limit, **known)
