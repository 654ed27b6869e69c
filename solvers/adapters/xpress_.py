"""FICO Xpress as a backend."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import LicenseError, ParamError
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program, QuadraticRow
from ..common.watch import watched
from .adapter import Adapter

STATUS_MAP: Mapping[str, tuple[Outcome, Limit | None]] = {
    "COMPLETED OPTIMAL": (Outcome.OPTIMAL, None),
    "COMPLETED INFEASIBLE": (Outcome.INFEASIBLE, None),
    "COMPLETED UNBOUNDED": (Outcome.UNBOUNDED, None),
    "STOPPED TIMELIMIT": (Outcome.LIMIT, Limit.TIME),
    "STOPPED WORKLIMIT": (Outcome.LIMIT, Limit.TIME),
    "STOPPED NODELIMIT": (Outcome.LIMIT, Limit.NODE),
    "STOPPED ITERLIMIT": (Outcome.LIMIT, Limit.ITERATION),
    "STOPPED MEMORYERROR": (Outcome.LIMIT, Limit.MEMORY),
    "STOPPED SOLLIMIT": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "STOPPED MIPGAP": (Outcome.OPTIMAL, None),
    "STOPPED CTRLC": (Outcome.LIMIT, Limit.INTERRUPTED),
    "STOPPED USER": (Outcome.LIMIT, Limit.INTERRUPTED),
}
"""Xpress' solve status, with its solution or stop status, to ours; all else has failed."""

_TOO_LARGE = "too many rows and columns"


class Xpress(Adapter):
    """FICO Xpress: linear, mixed-integer and quadratic programs, also nonconvex ones.

    Without a licence of the user's own, the community licence inside the package takes up to 5000
    rows and columns together, and 200 where the program is nonconvex.
    """

    name: ClassVar[str] = "xpress"
    summary: ClassVar[str] = "Xpress; one lam, STRS and budgets as mixed-integer quadratic programs"
    requires: ClassVar[tuple[str, ...]] = ("xpress",)
    extra: ClassVar[str | None] = "xpress"
    vendor: ClassVar[str] = "FICO"
    # With a convex objective over a sphere its bound was too low by 3e-7 of the optimum.
    convex_objectives: ClassVar[bool] = False

    def license_status(self) -> str:
        """Return which licence Xpress uses."""
        return _initialised()

    def _load(self) -> None:
        _initialised()

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        import xpress

        try:
            with control.building():
                model = xpress.problem()
                model.setOutputEnabled(request.verbose)
                _translate(model, program)
                _configure(model, request, control)
                if request.start is not None and len(program.integers):
                    model.addMipSol(request.start.tolist())
            limit = watched(model.optimize, model.interrupt, control, takes_ctrl_c=True)
            return _answer(model, program, limit)
        except (xpress.ModelError, xpress.SolverError, xpress.InterfaceError) as error:
            if _TOO_LARGE in str(error):
                raise self.refused(program, error) from error
            raise


@functools.cache
def _initialised() -> str:
    """Acquire the licence once, without the warning about it; return which one it is."""
    import xpress

    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            xpress.init()
        except (xpress.ModelError, xpress.SolverError, xpress.InterfaceError) as error:
            raise LicenseError(f"xpress: no licence that can be used: {error}") from error
    community = any("ommunity" in str(warning.message) for warning in said)
    return "community licence, size-limited, from the package xpress" if community else "licensed"


def _translate(model: Any, program: Program) -> None:
    """Load the whole program at once; rows with a quadratic part come last."""
    import xpress

    types, sides, ranges = [], [], []
    curved = [*program.quadratic_rows, *(_cone_row(cone, program) for cone in program.cones)]
    m = program.matrix.shape[0]
    ends = [*zip(program.row_low.tolist(), program.row_high.tolist(), strict=True)]
    for low, high in [*ends, *((row.low, row.high) for row in curved)]:
        kind, side, width = "R", high, high - low
        if np.isinf(low) or np.isinf(high):
            kind = "N" if np.isinf(low) and np.isinf(high) else "L" if np.isinf(low) else "G"
            side, width = (low if kind == "G" else 0.0 if kind == "N" else high), 0.0
        elif low == high:
            kind = "E"
        types.append(kind)
        sides.append(side)
        ranges.append(width)
    stack: list[Any] = [program.matrix, *(row.a[None] for row in curved)]
    linear = sp.csc_array(sp.vstack(stack))
    quadratic = [_triangle(row.Q) for row in curved]
    objective = _triangle(program.quadratic) if program.quadratic is not None else None
    low, high = program.low.copy(), program.high.copy()
    for cone in program.cones:
        heads = cone.columns[: 2 if cone.rotated else 1]
        low[heads] = np.maximum(low[heads], 0.0)
    whole = program.integers.tolist()
    model.loadMIQCQP(
        probname="sparseopt",
        rowtype=types,
        rhs=sides,
        rng=ranges,
        objcoef=program.cost.tolist(),
        start=linear.indptr.tolist(),
        rowind=linear.indices.tolist(),
        rowcoef=linear.data.tolist(),
        lb=np.where(np.isinf(low), -xpress.infinity, low).tolist(),
        ub=np.where(np.isinf(high), xpress.infinity, high).tolist(),
        # Objectives are halved, constraints are not.
        objqcol1=objective[0] if objective else None,
        objqcol2=objective[1] if objective else None,
        objqcoef=[2.0 * value for value in objective[2]] if objective else None,
        qrowind=[m + k for k in range(len(curved))] or None,
        nrowqcoefs=[len(part[2]) for part in quadratic] or None,
        rowqcol1=[i for part in quadratic for i in part[0]] or None,
        rowqcol2=[j for part in quadratic for j in part[1]] or None,
        rowqcoef=[value for part in quadratic for value in part[2]] or None,
        coltype=["I"] * len(whole) or None,
        entind=whole or None,
    )
    model.chgObj([_CONSTANT], [-program.offset])


_CONSTANT = -1
"""The column whose cost is minus the objective's constant."""


def _triangle(Q: sp.csc_array) -> tuple[list[int], list[int], list[float]]:
    """Return the entries of the upper triangle."""
    upper = sp.coo_array(sp.triu(Q))
    return upper.coords[0].tolist(), upper.coords[1].tolist(), upper.data.tolist()


def _cone_row(cone: Any, program: Program) -> QuadraticRow:
    """Write a cone, whose heads are nonnegative, as a quadratic row."""
    n, columns = len(program.cost), cone.columns
    tail = columns[2:] if cone.rotated else columns[1:]
    rows, cols = [*tail], [*tail]
    values = [1.0] * len(tail)
    first, second = columns[0], columns[1 if cone.rotated else 0]
    rows += [first, second]
    cols += [second, first]
    values += [-1.0, -1.0] if cone.rotated else [-0.5, -0.5]
    Q = sp.csc_array((values, (rows, cols)), shape=(n, n))
    return QuadraticRow(Q, np.zeros(n), -np.inf, 0.0)


def _configure(model: Any, request: Request, control: Control) -> None:
    chosen: dict[str, Any] = {
        "FEASTOL": request.tolerance,
        "OPTIMALITYTOL": request.tolerance,
        "MIPTOL": request.tolerance,
        "NLPVALIDATIONTOL_A": request.tolerance,
        "NLPVALIDATIONTOL_R": request.tolerance,
        "MIPRELSTOP": request.rel_gap,
        "MIPABSSTOP": request.abs_gap,
        # By default Xpress drops what is better by less than 1e-5.
        "MIPADDCUTOFF": 0.0,
        "MIPRELCUTOFF": 0.0,
        "RANDOMSEED": request.seed,
    }
    if control.remaining is not None:
        chosen["TIMELIMIT"] = max(control.remaining, 1e-3)
    if request.threads is not None:
        chosen["THREADS"] = request.threads
    if request.node_limit is not None:
        chosen["MAXNODE"] = request.node_limit
    if request.iteration_limit is not None:
        chosen["LPITERLIMIT"] = request.iteration_limit
    for name, value in chosen.items():
        model.setControl(name, value)
    for name, text in request.settings.items():
        try:
            now = model.getControl(name)
            kind = int if isinstance(now, int) else float if isinstance(now, float) else str
            model.setControl(name, kind(text))
        except Exception as error:
            raise ParamError(f"option settings: Xpress refuses {name}={text}: {error}") from error


def _answer(model: Any, program: Program, stopped: Limit | None) -> Answer:
    import xpress

    solve = xpress.SolveStatus(model.attributes.solvestatus).name
    solution = xpress.SolStatus(model.attributes.solstatus).name
    stop = xpress.StopType(model.attributes.stopstatus).name
    raw = f"{solve} {solution if solve == 'COMPLETED' else stop}"
    outcome, limit = STATUS_MAP.get(raw, (Outcome.FAILED, None))
    if outcome is Outcome.LIMIT:
        limit = stopped or limit
    known: dict[str, Any] = {"iterations": int(model.attributes.simplexiter)}
    if solution in ("OPTIMAL", "FEASIBLE"):
        known["x"] = np.array(model.getSolution())
    if not program.linear:
        known["nodes"] = int(model.attributes.nodes)
        bound = float(
            model.attributes.bestbound
            if len(program.integers) or program.quadratic_rows
            else model.attributes.objval
        )
        if abs(bound) < xpress.infinity:
            known["bound"] = bound
    if program.linear and outcome is Outcome.OPTIMAL:
        known["row_duals"] = np.array(model.getDuals(), dtype=float).reshape(-1)
        known["basic"] = _basis(model)
    return Answer(outcome=outcome, raw=raw, limit=limit, **known)


def _basis(model: Any) -> tuple[Array, Array]:
    rows, columns = model.getBasis()
    return np.array(columns) == 1, np.array(rows) == 1
