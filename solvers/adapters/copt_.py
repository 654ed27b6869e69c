"""COPT, the Cardinal Optimizer, as a backend."""

from __future__ import annotations

import functools
import os
import pickle
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import LicenseError, ParamError, SparseOptError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle
from sparseopt.result import Limit

from ..common.child import PythonChild
from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program, PSDBlock
from ..common.served import needs
from ..common.watch import watched
from .adapter import Adapter

STATUS_MAP: Mapping[str, tuple[Outcome, Limit | None]] = {
    "OPTIMAL": (Outcome.OPTIMAL, None),
    "INFEASIBLE": (Outcome.INFEASIBLE, None),
    "UNBOUNDED": (Outcome.UNBOUNDED, None),
    "INF_OR_UNB": (Outcome.UNDECIDED, None),
    "TIMEOUT": (Outcome.LIMIT, Limit.TIME),
    "NODELIMIT": (Outcome.LIMIT, Limit.NODE),
    "ITERLIMIT": (Outcome.LIMIT, Limit.ITERATION),
    "INTERRUPTED": (Outcome.LIMIT, Limit.INTERRUPTED),
    "UNFINISHED": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
    "IMPRECISE": (Outcome.LIMIT, Limit.SLOW_PROGRESS),
}
"""COPT's status to ours; what is not here has failed."""

_WORDS = (*STATUS_MAP, "NUMERICAL", "UNSTARTED", "LOCAL_OPTIMAL", "LOCAL_INFEASIBLE")
_LICENSE = 4


class Copt(Adapter):
    """COPT: linear, mixed-integer, quadratic and conic programs.

    Without a licence of the user's own, the package takes programs of limited size. COPT limits the
    iterations of its interior-point method, not those of the simplex method. While it solves, it
    holds Python's global lock: other threads wait, a first Ctrl-C reaches COPT itself, which stops,
    and a second one in the same solve ends the process.
    """

    name: ClassVar[str] = "copt"
    summary: ClassVar[str] = "COPT; one lam, STRS and budgets as mixed-integer quadratic programs"
    requires: ClassVar[tuple[str, ...]] = ("coptpy",)
    extra: ClassVar[str | None] = "copt"
    vendor: ClassVar[str] = "copt.de"
    semidefinite: ClassVar[bool] = True
    # At the root of a sparse regression of 60 columns it reacts to no limit for seconds.
    families: ClassVar[frozenset[str]] = Adapter.families - {"subset"}
    # Integers without a bound get this one, and an optimum there is called one.
    reach: ClassVar[float] = 1e8

    def license_status(self) -> str:
        """Return which licence COPT uses."""
        return _environment()[1]

    def _load(self) -> None:
        _environment()

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        if (program.psd or program.cones) and not len(program.integers):
            # The interior-point method of COPT 8.0.7 ends the process by an illegal instruction
            # where Gurobi 13 has run in it.
            return _in_child(program, request, control)
        return self.run_here(program, request, control)

    def run_here(self, program: Program, request: Request, control: Control) -> Answer:
        """Call COPT in this process."""
        import coptpy

        try:
            with control.building():
                model = _environment()[0].createModel("sparseopt")
                _configure(model, program, request, control)
                x, rows = _translate(model, program)
                if request.start is not None and len(program.integers):
                    model.setMipStart(x, request.start.tolist())
                    model.loadMipStart()
            limit = watched(model.solve, _brake(model, program), control, takes_ctrl_c=True)
            return _answer(model, x, rows, program, limit)
        except coptpy.CoptError as error:
            if error.retcode == _LICENSE:
                raise self.refused(program, error.message) from error
            raise


@contextmanager
def _captured_output() -> Iterator[list[str]]:
    """Keep what goes to the file descriptor 1 of this process, and give it as a list of one text.

    Other threads write to the same descriptor: hold it for moments only.
    """
    texts: list[str] = []
    if sys.stdout is not None:
        sys.stdout.flush()
    kept = os.dup(1)
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        try:
            yield texts
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            sink.seek(0)
            texts.append(sink.read().decode(errors="replace"))


@functools.cache
def _environment() -> tuple[Any, str]:
    """Return the one environment of this process, and which licence it found."""
    import coptpy

    config = coptpy.EnvrConfig()
    config.set("nobanner", "1")
    # Where COPT looks for a licence it prints to standard output, whatever its settings.
    with _captured_output() as said:
        try:
            environment = coptpy.Envr(config)
        except coptpy.CoptError as error:
            raise LicenseError(f"copt: no licence that can be used: {error.message}") from error
    if any("size limitations" in text for text in said):
        return environment, "none: size-limited, from the package coptpy, not for commercial use"
    return environment, "licensed"


_CHILD = PythonChild()


def _in_child(program: Program, request: Request, control: Control) -> Answer:
    """Call COPT in a process of its own; a limit ends it, and no answer is known then.

    Raises
    ------
    SparseOptError
        What COPT raised there.
    """
    job = np.frombuffer(pickle.dumps((program, request)), np.uint8)
    found = _CHILD.run(solve_pickled, control, {"job": job}, remaining=control.remaining)
    if isinstance(found, Limit):
        return Answer(outcome=Outcome.LIMIT, raw="ended", limit=found)
    answer = pickle.loads(found["answer"].tobytes())
    if isinstance(answer, SparseOptError):
        raise answer
    assert isinstance(answer, Answer)
    return answer


@needs("coptpy")
def solve_pickled(job: Array, remaining: float | None) -> dict[str, Any]:
    """Run in the child: answer a pickled program and request by a pickled answer, or error.

    Parameters
    ----------
    job : uint8 array
        The pickled pair (Program, request).
    remaining : float or None
        Seconds that are left.

    Returns
    -------
    dict
        "answer": the pickled Answer or SparseOptError, as a uint8 array.
    """
    program, request = pickle.loads(job.tobytes())
    answer: Answer | SparseOptError
    try:
        control = Control(params=SolveParams(time_limit=remaining))
        answer = Copt().run_here(program, request, control)
    except SparseOptError as error:
        answer = error
    return {"answer": np.frombuffer(pickle.dumps(answer), np.uint8)}


def _brake(model: Any, program: Program) -> Callable[[], object]:
    """Return what stops the solver; a tree search reacts at its nodes only."""
    if len(program.integers) == 0 and not program.quadratic_rows:
        left = [model.interrupt]
        # Once: COPT takes a second interruption for an order to end the process.
        return lambda: left and left.pop()()
    import coptpy

    class Brake(coptpy.CallbackBase):  # type: ignore[misc]
        asked = False

        def press(self) -> None:
            self.asked = True

        def callback(self) -> None:
            if self.asked:
                self.interrupt()

    brake = Brake()
    model.setCallback(brake, coptpy.COPT.CBCONTEXT_MIPRELAX | coptpy.COPT.CBCONTEXT_MIPNODE)
    # COPT holds no reference to it; this bound method does.
    press: Callable[[], object] = brake.press
    return press


def _configure(model: Any, program: Program, request: Request, control: Control) -> None:
    import coptpy

    chosen: dict[str, Any] = {
        "Logging": int(request.verbose),
        "FeasTol": request.tolerance,
        "DualTol": request.tolerance,
        "IntTol": request.tolerance,
        # Global optima: by default nonconvex programs without integers are solved locally.
        "NonConvex": 2,
        "RelGap": request.rel_gap,
        "AbsGap": request.abs_gap,
        # Not among the documented ones, but read and kept.
        "RandSeed": request.seed,
    }
    if control.remaining is not None:
        chosen["TimeLimit"] = control.remaining
    if request.threads is not None:
        chosen["Threads"] = request.threads
    if request.node_limit is not None:
        chosen["NodeLimit"] = request.node_limit
    if request.iteration_limit is not None:
        if program.linear or len(program.integers):
            control.notes.append("copt has no limit of simplex iterations; it was ignored")
        else:
            chosen["BarIterLimit"] = request.iteration_limit
    for name, value in chosen.items():
        model.setParam(name, value)
    for name, text in request.settings.items():
        try:
            kind = float if isinstance(model.getParam(name), float) else int
            model.setParam(name, kind(text))
        except (coptpy.CoptError, AttributeError, ValueError) as error:
            raise ParamError(f"option settings: COPT refuses {name}={text}: {error}") from error


def _translate(model: Any, program: Program) -> tuple[Any, Any]:
    """Load the program; return its variables and its linear rows."""
    from coptpy import COPT

    low, high = program.low.copy(), program.high.copy()
    for cone in program.cones:
        heads = cone.columns[: 2 if cone.rotated else 1]
        low[heads] = np.maximum(low[heads], 0.0)
    kinds = np.full(len(low), COPT.CONTINUOUS)
    kinds[program.integers] = COPT.INTEGER
    model.loadMatrix(
        program.cost,
        sp.csc_matrix(program.matrix),
        _bounded(program.row_low),
        _bounded(program.row_high),
        _bounded(low),
        _bounded(high),
        kinds.tolist(),
    )
    x, rows = model.getVars(), model.getConstrs()
    model.setObjConst(program.offset)
    if program.quadratic is not None:
        model.setObjective(_form(x, program.quadratic, program.cost) + program.offset)
    for row in program.quadratic_rows:
        form = _form(x, row.Q, row.a)
        if row.low == row.high:
            model.addQConstr(form == row.high)
            continue
        if np.isfinite(row.low):
            model.addQConstr(form >= row.low)
        if np.isfinite(row.high):
            model.addQConstr(form <= row.high)
    for cone in program.cones:
        kind = COPT.CONE_RQUAD if cone.rotated else COPT.CONE_QUAD
        model.addCone([x[j] for j in cone.columns.tolist()], kind)
    for block in program.psd:
        _add_block(model, x, block)
    return x, rows


def _add_block(model: Any, x: Any, block: PSDBlock) -> None:
    """Add a matrix variable that equals the block, entry by entry."""
    import coptpy

    X = model.addPsdVar(block.size)
    matrix = sp.csr_array(block.matrix)
    for k, (i, j) in enumerate(zip(*(a.tolist() for a in triangle(block.size)), strict=True)):
        # The inner product counts an entry off the diagonal twice.
        entry = model.addSparseMat(block.size, [i], [j], [1.0 if i == j else 0.5])
        here = slice(matrix.indptr[k], matrix.indptr[k + 1])
        side = coptpy.LinExpr(0.0)
        for column, value in zip(
            matrix.indices[here].tolist(), matrix.data[here].tolist(), strict=True
        ):
            side.addTerm(x[column], -value)
        model.addConstr(entry * X + side == float(block.constant[k]))


def _bounded(values: Any) -> Any:
    from coptpy import COPT

    return np.clip(values, -COPT.INFINITY, COPT.INFINITY)


def _form(x: Any, Q: sp.csc_array, a: Any) -> Any:
    """Return the expression x'Qx + a'x."""
    import coptpy

    form = coptpy.QuadExpr(0.0)
    upper = sp.coo_array(sp.triu(Q))
    for i, j, q in zip(*(v.tolist() for v in (*upper.coords, upper.data)), strict=True):
        form.addTerm(q if i == j else 2.0 * q, x[i], x[j])
    for j in np.flatnonzero(a).tolist():
        form.addTerm(float(a[j]), x[j])
    return form


def _answer(model: Any, x: Any, rows: Any, program: Program, stopped: Limit | None) -> Answer:
    from coptpy import COPT

    words = {getattr(COPT, word): word for word in _WORDS}
    raw = words.get(model.status, str(model.status))
    outcome, limit = STATUS_MAP.get(raw, (Outcome.FAILED, None))
    if outcome is Outcome.LIMIT:
        limit = stopped or limit
    whole = len(program.integers) > 0
    tree = whole or len(program.quadratic_rows) > 0
    known: dict[str, Any] = {"iterations": int(model.SimplexIter) + int(model.BarrierIter)}
    if model.HasMipSol or model.HasLpSol:
        known["x"] = np.array(model.getInfo(COPT.Info.Value, x), dtype=float)
    if tree:
        known["nodes"] = int(model.NodeCnt)
        bound = float(model.BestBnd)
        if abs(bound) < COPT.INFINITY:
            known["bound"] = bound
    elif outcome is Outcome.OPTIMAL:
        # An interior point method that has converged, in its own words.
        known["bound"] = float(model.LpObjVal)
    if program.linear and outcome is Outcome.OPTIMAL:
        known["row_duals"] = np.array(
            model.getInfo(COPT.Info.Dual, rows) if len(program.row_low) else [], dtype=float
        )
        known["basic"] = (
            np.array([v.basis for v in x]) == COPT.BASIS_BASIC,
            np.array([row.basis for row in rows]) == COPT.BASIS_BASIC,
        )
    return Answer(outcome=outcome, raw=raw, limit=limit, **known)
