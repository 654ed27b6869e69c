"""MOSEK as a backend."""

from __future__ import annotations

import functools
import os
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import LicenseError, ParamError
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle_weights
from sparseopt.result import Limit

from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program
from ..common.watch import watched
from .adapter import Adapter

STATUS_MAP: Mapping[str, Outcome] = {
    "optimal": Outcome.OPTIMAL,
    "integer_optimal": Outcome.OPTIMAL,
    "prim_infeas_cer": Outcome.INFEASIBLE,
    "dual_infeas_cer": Outcome.UNBOUNDED,
}
"""MOSEK's status of a solution to ours; what is not here has failed, unless a limit ended it."""

LIMIT_MAP: Mapping[str, Limit] = {
    "trm_max_time": Limit.TIME,
    "trm_max_iterations": Limit.ITERATION,
    "trm_mio_num_branches": Limit.NODE,
    "trm_mio_num_relaxs": Limit.NODE,
    "trm_user_callback": Limit.INTERRUPTED,
    "trm_stall": Limit.SLOW_PROGRESS,
    "trm_lost_race": Limit.SLOW_PROGRESS,
}
"""MOSEK's code of a termination to ours."""


class Mosek(Adapter):
    """MOSEK: linear, conic and mixed-integer programs; it needs a licence file.

    Nonconvex quadratic programs such as STRS are beyond it.
    """

    name: ClassVar[str] = "mosek"
    summary: ClassVar[str] = "MOSEK; one lam, and budgets; needs a licence file"
    requires: ClassVar[tuple[str, ...]] = ("mosek",)
    extra: ClassVar[str | None] = "mosek"
    semidefinite: ClassVar[bool] = True
    families: ClassVar[frozenset[str]] = Adapter.families - {"strs", "subset"}

    def license_status(self) -> str:
        """Return whether there is a licence."""
        try:
            environment()
        except LicenseError as error:
            return str(error)
        return "licensed"

    def _load(self) -> None:
        environment()

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        import mosek

        asked = threading.Event()
        try:
            with environment().Task() as task:
                with control.building():
                    translate(task, program)
                    _configure(task, program, request, control)
                task.set_Progress(lambda _: int(asked.is_set()))
                code: list[Any] = []
                limit = watched(lambda: code.append(task.optimize()), asked.set, control)
                return _answer(task, program, code[0], limit)
        except mosek.Error as error:
            raise licence_error(error) or error from error


def environment() -> Any:
    """Return the one environment of this process, with a licence.

    Raises
    ------
    LicenseError
        When there is none.
    """
    found = _licensed(*_license_files())
    if isinstance(found, str):
        raise LicenseError(found)
    return found


def _license_files() -> tuple[str, float]:
    """Return where MOSEK looks for a licence, and of when the file is."""
    named = os.environ.get("MOSEKLM_LICENSE_FILE", "")
    try:
        return named, Path(named or Path.home() / "mosek" / "mosek.lic").stat().st_mtime
    except (OSError, RuntimeError):
        return named, 0.0


@functools.lru_cache(maxsize=1)
def _licensed(named: str, changed: float) -> Any:
    """Return an environment with a licence, or that there is no file.

    That is remembered, until there is one: MOSEK takes five seconds for every dozen of refusals.

    Raises
    ------
    LicenseError
        When there is a file, or a server, which refuses: it may not, later.
    """
    import mosek

    environment = mosek.Env()
    try:
        environment.checkoutlicense(mosek.feature.pts)
    except mosek.Error as error:
        refusal = licence_error(error)
        if "missing" in _word(error.errno):
            return str(refusal)
        raise refusal or error from error
    return environment


def licence_error(error: Any) -> LicenseError | None:
    """Return the error to raise where MOSEK's is about its licence.

    Parameters
    ----------
    error : mosek.Error

    Returns
    -------
    LicenseError or None
        None where the error is about something else.
    """
    if "license" not in _word(error.errno):
        return None
    return LicenseError(
        f"mosek: no licence ({_word(error.errno)} {error.msg}".rstrip() + "): put a licence file "
        "(free for academics, from mosek.com) where MOSEK looks for it, ~/mosek/mosek.lic, or name "
        "it in MOSEKLM_LICENSE_FILE; or take another backend"
    )


def translate(task: Any, program: Program) -> None:
    """Put a program into an empty task; needs no licence.

    Parameters
    ----------
    task : mosek.Task
    program : Program
    """
    import mosek

    m, n = program.matrix.shape
    task.appendvars(n)
    task.appendcons(m)
    task.putobjsense(mosek.objsense.minimize)
    task.putcslice(0, n, program.cost)
    task.putcfix(program.offset)
    low, high = program.low.copy(), program.high.copy()
    for cone in program.cones:
        heads = cone.columns[: 2 if cone.rotated else 1]
        low[heads] = np.maximum(low[heads], 0.0)
    task.putvarboundslice(0, n, *_bounds(low, high))
    if m:
        task.putconboundslice(0, m, *_bounds(program.row_low, program.row_high))
        entries = sp.coo_array(program.matrix)
        rows, columns = entries.coords
        task.putaijlist(rows.tolist(), columns.tolist(), entries.data.tolist())
    whole = program.integers
    if len(whole):
        task.putvartypelist(whole.tolist(), [mosek.variabletype.type_int] * len(whole))
    if program.quadratic is not None:
        # The objective is halved, and its lower triangle is given.
        lower = sp.coo_array(sp.tril(program.quadratic))
        rows, columns = lower.coords
        task.putqobj(rows.tolist(), columns.tolist(), (2.0 * lower.data).tolist())
    for cone in program.cones:
        size = len(cone.columns)
        domain = (
            task.appendrquadraticconedomain(size)
            if cone.rotated
            else task.appendquadraticconedomain(size)
        )
        own = sp.csr_array(sp.identity(n, format="csr"))[cone.columns]
        task.appendacc(domain, _affine(task, own, np.zeros(size)), None)
    for block in program.psd:
        # MOSEK packs matrices as we do, with the entries off the diagonal times sqrt(2).
        weight = np.sqrt(triangle_weights(block.size))
        matrix = sp.csr_array(sp.diags_array(weight) @ block.matrix)
        expressions = _affine(task, matrix, weight * block.constant)
        task.appendacc(task.appendsvecpsdconedomain(len(weight)), expressions, None)


def _word(value: Any) -> str:
    """Return the name of one of MOSEK's enumerated values."""
    return str(value).rpartition(".")[2]


def _bounds(low: Array, high: Array) -> tuple[list[Any], Array, Array]:
    """Return MOSEK's keys, with bounds."""
    from mosek import boundkey

    below, above = np.isfinite(low), np.isfinite(high)
    keys = np.select(
        [below & above & (low == high), below & above, below, above],
        [boundkey.fx, boundkey.ra, boundkey.lo, boundkey.up],
        boundkey.fr,
    )
    return (
        [boundkey(int(key)) for key in keys],
        np.where(below, low, 0.0),
        np.where(above, high, 0.0),
    )


def _affine(task: Any, matrix: sp.csr_array, constant: Array) -> list[int]:
    """Append affine expressions; return their indices."""
    first, count = task.getnumafe(), len(constant)
    task.appendafes(count)
    entries = sp.coo_array(matrix)
    task.putafefentrylist(
        (first + entries.coords[0]).tolist(), entries.coords[1].tolist(), entries.data.tolist()
    )
    rows = list(range(first, first + count))
    task.putafeglist(rows, constant.tolist())
    return rows


def _configure(task: Any, program: Program, request: Request, control: Control) -> None:
    import mosek

    d, k = mosek.dparam, mosek.iparam
    if request.verbose:
        task.set_Stream(mosek.streamtype.log, sys.stdout.write)
    reals = {
        d.basis_tol_x: request.tolerance,
        d.basis_tol_s: request.tolerance,
        d.mio_tol_feas: request.tolerance,
        d.mio_tol_abs_relax_int: request.tolerance,
        d.mio_tol_rel_gap: request.rel_gap,
        d.mio_tol_abs_gap: request.abs_gap,
    }
    if control.remaining is not None:
        reals[d.optimizer_max_time] = control.remaining
    numbers = {k.mio_seed: request.seed}
    if request.threads is not None:
        numbers[k.num_threads] = request.threads
    if request.node_limit is not None:
        numbers[k.mio_max_num_branches] = request.node_limit
    if request.iteration_limit is not None:
        numbers[k.sim_max_iterations] = request.iteration_limit
    if program.linear:
        numbers[k.optimizer] = mosek.optimizertype.free_simplex
    for name, real in reals.items():
        task.putdouparam(name, real)
    for name, number in numbers.items():
        task.putintparam(name, number)
    for word, text in request.settings.items():
        try:
            task.putparam(word, text)
        except mosek.Error as error:
            why = f"option settings: MOSEK refuses {word}={text}: {error.msg}"
            raise ParamError(why) from error
    if request.start is not None and len(program.integers):
        task.putxxslice(mosek.soltype.itg, 0, len(program.cost), request.start)


def _answer(task: Any, program: Program, code: Any, stopped: Limit | None) -> Answer:
    import mosek

    kind = mosek.soltype.itr
    if program.linear:
        kind = mosek.soltype.bas
    elif len(program.integers):
        kind = mosek.soltype.itg
    limit = LIMIT_MAP.get(_word(code))
    status = _word(task.getsolsta(kind)) if task.solutiondef(kind) else "unknown"
    outcome = STATUS_MAP.get(status, Outcome.FAILED)
    if limit is not None and outcome is Outcome.FAILED:
        outcome, limit = Outcome.LIMIT, stopped or limit
    known: dict[str, Any] = {}
    if status in ("optimal", "integer_optimal", "prim_feas", "prim_and_dual_feas"):
        known["x"] = np.array(task.getxx(kind))
    if kind == mosek.soltype.itg:
        known["nodes"] = int(task.getintinf(mosek.iinfitem.mio_num_branch))
        known["bound"] = float(task.getdouinf(mosek.dinfitem.mio_obj_bound))
    elif status == "optimal":
        known["bound"] = float(task.getdualobj(kind))
    if program.linear and outcome is Outcome.OPTIMAL:
        basic = mosek.stakey.bas
        known["row_duals"] = np.array(task.gety(kind))
        known["basic"] = (
            np.array([key == basic for key in task.getskx(kind)], dtype=bool),
            np.array([key == basic for key in task.getskc(kind)], dtype=bool),
        )
    return Answer(
        outcome=outcome,
        raw=f"{status}, {_word(code)}",
        limit=limit if outcome is Outcome.LIMIT else None,
        **known,
    )
