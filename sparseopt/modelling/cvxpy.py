"""CVXPY problems with semidefinite cones and integers, solved by our engines.

CVXPY takes such problems but has no solver for them::

    problem.solve(solver=sparseopt.cvxpy.MISDP())

:func:`from_cvxpy` and :func:`to_cvxpy` translate problems, without solving. Importing this module
imports CVXPY.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar

import cvxpy
import numpy as np
import scipy.sparse as sp
from cvxpy import settings
from cvxpy.constraints import PSD, SOC, NonNeg, Zero
from cvxpy.reductions.solvers.conic_solvers.conic_solver import ConicSolver

from sparseopt.api import solve
from sparseopt.backend import Backend, Progress
from sparseopt.errors import ParamError, ProblemError, UnsupportedProblem
from sparseopt.modelling.standard_form import StandardForm
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.misdp import problem as misdp
from sparseopt.problems.misdp.cones import triangle
from sparseopt.result import Result, Status

_CONES = (Zero, NonNeg, SOC, PSD)
_ASIDE = ("max_knots", "max_nonzeros", "lam", "lam_min", "budget", "verbose")
"""Parameters of other questions, and one that CVXPY passes by itself."""

STATUS_MAP: Mapping[Status, str] = {
    Status.OPTIMAL: settings.OPTIMAL,
    Status.CONVERGED: settings.OPTIMAL_INACCURATE,
    Status.FEASIBLE: settings.USER_LIMIT,
    Status.INFEASIBLE: settings.INFEASIBLE,
    Status.UNBOUNDED: settings.UNBOUNDED,
    Status.INF_OR_UNB: settings.INFEASIBLE_OR_UNBOUNDED,
}
"""Our statuses in CVXPY's words; the others are solver errors."""


class MISDP(ConicSolver):  # type: ignore[misc]
    """A solver for ``problem.solve(solver=...)``: linear, second-order, semidefinite, integers.

    After the solve, ``problem.solver_stats.extra_stats`` is our :class:`~sparseopt.Result`: bound,
    gap, the checker's verdict, nodes.

    Parameters
    ----------
    backend : str or Backend, default "auto"
        "misdp-bnb", "misdp-oa", or "auto": the first that fits.
    options : mapping, optional
        Of that backend.
    fixed_duals : bool, default False
        Give the constraints of a problem with integers the dual values that they have once the
        integers are fixed at the solution. A problem without integers has dual values anyway.
        Needs Clarabel.
    **params
        Fields of :class:`~sparseopt.SolveParams`: time_limit, rel_gap, node_limit, threads, ...
        They may also be given to ``problem.solve``.

    Raises
    ------
    ParamError
        When a parameter is unknown or out of range.

    Examples
    --------
    >>> import cvxpy as cp
    >>> from sparseopt.cvxpy import MISDP
    >>> X = cp.Variable((2, 2), symmetric=True)
    >>> k = cp.Variable(integer=True)
    >>> rows = [X >> 0, cp.diag(X) == 1, X[0, 1] == k / 4, k <= 10]
    >>> problem = cp.Problem(cp.Maximize(k + X[0, 1]), rows)
    >>> value = problem.solve(solver=MISDP())
    >>> round(float(value), 6), problem.status, round(float(k.value))
    (5.0, 'optimal', 4)
    """

    MIP_CAPABLE = True
    SUPPORTED_CONSTRAINTS: ClassVar[list[Any]] = list(_CONES)
    MI_SUPPORTED_CONSTRAINTS: ClassVar[list[Any]] = list(_CONES)

    def __init__(
        self,
        backend: str | Backend = "auto",
        *,
        options: Mapping[str, Any] | None = None,
        fixed_duals: bool = False,
        **params: Any,
    ) -> None:
        super().__init__()
        _check_names(params)
        self.backend = backend
        self.options = options
        self.fixed_duals = fixed_duals
        self.params = SolveParams(**params)

    def name(self) -> str:
        """Return the name that CVXPY shows."""
        return "SPARSEOPT_MISDP"

    def can_solve(self, problem_form: Any) -> bool:
        """Return that it can, or raise with the cones that it lacks.

        Raises
        ------
        cvxpy.SolverError
        """
        if super().can_solve(problem_form):
            return True
        lacking = sorted(cone.__name__ for cone in problem_form.cones() if cone not in _CONES)
        raise cvxpy.SolverError(
            f"{self.name()} takes linear constraints, second-order cones and semidefinite "
            f"matrices, with integers; this problem needs {', '.join(lacking) or 'others'} "
            "(exp, log, log_det, entropy and their like need ExpCone): write it without, or take "
            "another solver"
        )

    def import_solver(self) -> None:
        """Do nothing: it is here."""

    def cite(self, data: Any) -> str:
        """Return how to cite it."""
        return "@misc{sparseopt, title={sparseopt}, author={The sparseopt developers}}"

    def apply(self, problem: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the data in standard form, and what :meth:`invert` needs."""
        data, inverse = super().apply(problem)
        dims = data[self.DIMS]
        x = problem.x
        data["form"] = StandardForm(
            c=np.asarray(data[settings.C], dtype=float).ravel(),
            A=sp.csc_array(data[settings.A]),
            b=np.asarray(data[settings.B], dtype=float).ravel(),
            zero=int(dims.zero),
            nonnegative=int(dims.nonneg),
            orders=tuple(int(order) for order in dims.soc),
            sizes=tuple(int(size) for size in dims.psd),
            boolean=np.array([int(place[0]) for place in x.boolean_idx], dtype=np.int64),
            integer=np.array([int(place[0]) for place in x.integer_idx], dtype=np.int64),
        )
        data["offset"] = float(np.squeeze(inverse[settings.OFFSET]))
        data["start"] = _values(problem)
        return data, inverse

    def solve_via_data(
        self,
        data: Mapping[str, Any],
        warm_start: bool,
        verbose: bool,
        solver_opts: Mapping[str, Any],
        solver_cache: Any = None,
    ) -> tuple[Result, Any]:
        """Solve, and return our result with the multipliers."""
        given = {key: value for key, value in solver_opts.items() if key != "use_quad_obj"}
        backend = given.pop("backend", self.backend)
        options = given.pop("options", self.options)
        fixed_duals = given.pop("fixed_duals", self.fixed_duals)
        _check_names(given)
        form: StandardForm = data["form"]
        places = np.append(form.boolean, form.integer)
        discrete = len(places) > 0
        start = data["start"] if warm_start and discrete else None
        if start is not None and not np.isfinite(start[places]).all():
            start = None
        result = solve(
            form.misdp(),
            backend=backend,
            options=options,
            params=replace(self.params, verbose=bool(verbose), **given),
            # What CVXPY's reductions added has no values, and follows from the integers.
            warm_start=None if start is None else np.nan_to_num(start),
            on_progress=_tell if verbose else None,
        )
        if verbose:
            _tell_end(result)
        duals = None
        if result.status in (Status.OPTIMAL, Status.CONVERGED) and (fixed_duals or not discrete):
            assert result.x is not None
            whole = result.x.copy()
            whole[places] = np.rint(whole[places])
            duals = form.multipliers(whole)
        return result, duals

    def invert(self, solution: tuple[Result, Any], inverse_data: Any) -> Any:
        """Return CVXPY's solution: status, value, variables, dual values."""
        from cvxpy.reductions.solution import Solution, failure_solution
        from cvxpy.reductions.solvers.utilities import extract_dual_value, get_dual_values

        result, duals = solution
        status = STATUS_MAP.get(result.status, settings.SOLVER_ERROR)
        attributes = {
            settings.SOLVE_TIME: result.solve_time,
            settings.SETUP_TIME: result.build_time,
            settings.NUM_ITERS: result.iterations,
            settings.EXTRA_STATS: result,
        }
        if result.x is None or status not in settings.SOLUTION_PRESENT:
            return failure_solution(status, attributes)
        # None, not empty, where there are none: before 1.9 CVXPY looks up all or nothing.
        values: dict[Any, Any] | None = None
        if duals is not None:
            values = {}
            zero = inverse_data[self.DIMS].zero
            for part, key in ((duals[:zero], self.EQ_CONSTR), (duals[zero:], self.NEQ_CONSTR)):
                values |= get_dual_values(part, extract_dual_value, inverse_data[key])
        value = result.objective + inverse_data[settings.OFFSET]
        primal = {inverse_data[self.VAR_ID]: result.x}
        return Solution(status, value, primal, values, attributes)


def _values(problem: Any) -> Array:
    """Return the values that the variables of CVXPY's program have, NaN where they have none."""
    values = np.full(problem.x.size, np.nan)
    for variable in problem.variables:
        if variable.value is not None:
            begin = problem.var_id_to_col[variable.id]
            values[begin : begin + variable.size] = np.ravel(variable.value, order="F")
    return values


def _tell(progress: Progress) -> None:
    """Print a line about a running solve."""
    known = {"value": progress.objective, "bound": progress.bound}
    parts = [f"{name} {value:.8g}" for name, value in known.items() if value is not None]
    print(f"{progress.seconds:8.1f} s  {'  '.join([progress.text, *parts])}", flush=True)


def _tell_end(result: Result) -> None:
    parts = [f"{result.backend}: {result.status.value}"]
    parts += [f"({result.limit.value})"] if result.limit is not None else []
    parts += [f"bound {result.bound:.8g}"] if result.bound is not None else []
    parts += [f"gap {result.gap:.2g}"] if result.gap is not None else []
    parts += [f"{result.nodes} nodes"] if result.nodes is not None else []
    parts += [f"the checker says {result.verdict.value}"] if result.verdict is not None else []
    print(", ".join(parts), flush=True)


def _check_names(params: Mapping[str, Any]) -> None:
    known = [name for name in SolveParams.names() if name not in _ASIDE]
    unknown = sorted(set(params) - set(known))
    if unknown:
        raise ParamError(
            f"unknown parameter {unknown[0]!r}; there are: backend, options, fixed_duals, "
            f"{', '.join(known)}"
        )


def from_cvxpy(problem: cvxpy.Problem) -> misdp.MISDP:
    """Return a CVXPY problem in our form, after CVXPY's own reductions.

    Its variables are those of CVXPY's standard form: the problem's own, symmetric ones as one
    triangle, and whatever the reductions add. To get values back into the CVXPY problem, solve it
    with :class:`MISDP`.

    Parameters
    ----------
    problem : cvxpy.Problem

    Returns
    -------
    MISDP

    Raises
    ------
    ProblemError
        When the problem is not convex (DCP) up to its integers, or needs exponential or power
        cones.
    """
    try:
        data, _, _ = problem.get_problem_data(MISDP())
    except (cvxpy.error.DCPError, cvxpy.error.SolverError) as error:
        raise ProblemError(
            "the CVXPY problem is no mixed-integer semidefinite program: "
            f"{' '.join(str(error).split())}"
        ) from error
    if "form" not in data:
        raise ProblemError("the CVXPY problem has no variables")
    maximise = isinstance(problem.objective, cvxpy.Maximize)
    offset = -data["offset"] if maximise else data["offset"]
    return data["form"].misdp("max" if maximise else "min", offset)  # type: ignore[no-any-return]


def to_cvxpy(problem: misdp.MISDP) -> cvxpy.Problem:
    """Return the problem in CVXPY, over the variables "x" and "x_integer".

    They hold the continuous and the integer variables, each in the problem's order.

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    cvxpy.Problem

    Raises
    ------
    UnsupportedProblem
        When a matrix must have rank one, or there are indicators, which CVXPY cannot say.
    """
    if problem.indicators:
        raise UnsupportedProblem("CVXPY has no indicator constraints")
    x = _columns(problem.integer)
    low, high = np.isfinite(problem.lower), np.isfinite(problem.upper)
    rows: list[Any] = []
    if low.any():
        rows.append(x[low] >= problem.lower[low])
    if high.any():
        rows.append(x[high] <= problem.upper[high])
    A, equal = problem.A, problem.row_lower == problem.row_upper
    sides: tuple[tuple[Any, Any, Any], ...] = (
        (equal, problem.row_lower, lambda value, end: value == end),
        (~equal & np.isfinite(problem.row_lower), problem.row_lower, lambda v, end: v >= end),
        (~equal & np.isfinite(problem.row_upper), problem.row_upper, lambda v, end: v <= end),
    )
    for side, ends, relation in sides:
        if side.any():
            rows.append(relation(A[side] @ x, ends[side]))
    for cone in problem.cones:
        u = cone.F @ x + cone.g
        if cone.rotated:
            tail = cvxpy.hstack([u[0] - u[1], np.sqrt(2.0) * u[2:]])
            rows.append(cvxpy.SOC(u[0] + u[1], tail))
        else:
            rows.append(cvxpy.SOC(u[0], u[1:]) if cone.dimension > 1 else u[0] >= 0)
    for block in problem.blocks:
        if block.rank_one:
            raise UnsupportedProblem("a matrix must have rank one, which CVXPY cannot say")
        whole = _unpacking(block.size)
        entries = sp.csr_array(whole @ block.F) @ x + whole @ block.F0
        rows.append(cvxpy.reshape(entries, (block.size, block.size), order="F") >> 0)
    value = problem.c @ x + problem.offset
    if problem.Q is not None:
        sign = 1.0 if problem.sense == "min" else -1.0
        value += 0.5 * sign * cvxpy.quad_form(x, cvxpy.psd_wrap(sign * problem.Q))
    goal = cvxpy.Minimize(value) if problem.sense == "min" else cvxpy.Maximize(value)
    return cvxpy.Problem(goal, rows)


def _columns(integer: Any) -> Any:
    """Return the expression of all variables in the problem's order."""
    eye = sp.eye_array(len(integer), format="csc")
    parts = []
    for mask, name in ((~integer, "x"), (integer, "x_integer")):
        if mask.any():
            kind = {"integer": True} if name == "x_integer" else {}
            parts.append(eye[:, mask] @ cvxpy.Variable(int(mask.sum()), name=name, **kind))
    return sum(parts[1:], start=parts[0])


def _unpacking(size: int) -> sp.csr_array:
    """Return the map from the packed entries of a symmetric matrix to all of them."""
    rows, columns = triangle(size)
    place = np.arange(len(rows))
    off = rows != columns
    return sp.csr_array(
        (
            np.ones(len(rows) + int(off.sum())),
            (
                np.concatenate([rows + size * columns, (columns + size * rows)[off]]),
                np.concatenate([place, place[off]]),
            ),
        ),
        shape=(size * size, len(rows)),
    )
