"""HiGHS as a backend: one value of lam, a grid of values, and the path by ranging."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.path import GridPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Certificate, Limit, Result, Status
from sparseopt.solvers.highs_path import Ended, Ranging, disprove
from sparseopt.solvers.highs_run import Outcome, Session, Solution
from sparseopt.solvers.segments import path_from_codes

__all__ = ["Highs"]


class Highs(Backend):
    """The simplex method of HiGHS, with its basis solved again to full accuracy.

    References
    ----------
    Huangfu and Hall (2018), Parallelizing the dual revised simplex method.
    """

    name = "highs"
    summary = "the simplex method of HiGHS; the independent reference"
    requires = ("highspy",)
    features = frozenset(
        {
            Feature.PARAMETRIC,
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.PATH,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    options: ClassVar[Mapping[str, Option]] = {
        "max_entries": Option(
            float, 5e7, "Largest number of matrix entries to form and to hand to HiGHS.", low=1.0
        ),
        "presolve": Option(
            str,
            "off",
            "HiGHS' presolve, for single values and grids.",
            choices=("off", "choose", "on"),
        ),
        "tolerance": Option(
            float, 1e-9, "Feasibility tolerances of HiGHS, in the data's scale.", low=1e-10
        ),
        "warm_start_grid": Option(
            bool, False, "Start each grid value from the basis of the one before."
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        with control.uncounted():
            import highspy  # noqa: F401
        if params.lam is None:
            return _path(problem, params, options, control)
        if isinstance(params.lam, tuple):
            return _grid(problem, params.lam, options, control)
        return _single(problem, params.lam, options, control)


# ---- one value


def _single(
    problem: ParametricProblem, lam: float, options: Mapping[str, Any], control: Control
) -> Result:
    program = problem.canonical()
    session = Session(program, control, options)
    solution = session.solve(lam)
    if solution.outcome is Outcome.OPTIMAL and solution.nu is not None:
        return _optimal(problem, program, solution, control).with_changes(
            iterations=session.iterations
        )
    common: dict[str, Any] = {"raw_status": solution.raw, "iterations": session.iterations}
    if solution.outcome in _NO_OPTIMUM:
        ended = disprove(program, solution.outcome, lam, control, options)
        if ended is not None:
            return _without_optimum(ended, **common)
        limit = control.limit()
        if limit is not None:
            return Result(status=Status.NO_SOLUTION, limit=limit, **common)
        return Result(status=Status.NUMERICAL_ERROR, **common)
    if solution.limit is None:
        return Result(status=Status.NUMERICAL_ERROR, **common)
    if solution.theta is not None and _feasible(problem, solution.theta, lam):
        return Result(
            status=Status.FEASIBLE,
            limit=solution.limit,
            x=solution.theta,
            objective=problem.objective(solution.theta, lam),
            **common,
        )
    return Result(status=Status.NO_SOLUTION, limit=solution.limit, **common)


_NO_OPTIMUM = (Outcome.INFEASIBLE, Outcome.UNBOUNDED, Outcome.UNDECIDED)


def _optimal(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    solution: Solution,
    control: Control,
) -> Result:
    """Recompute objective and bound from the pair; HiGHS' own numbers are not used."""
    assert solution.theta is not None and solution.nu is not None
    objective, bound = _values(problem, program, solution)
    params = control.params
    allowed = params.abs_gap + max(params.rel_gap, 1e-9) * max(abs(objective), abs(bound))
    proved = abs(objective - bound) <= allowed + 1e-9 * solution.scale
    return Result(
        status=Status.OPTIMAL if proved else Status.NUMERICAL_ERROR,
        raw_status=solution.raw,
        x=solution.theta,
        objective=objective,
        bound=bound,
        duals={"rows": solution.nu},
        certificate=Certificate(kind="dual", arrays={"nu": solution.nu}),
    )


def _values(
    problem: ParametricProblem, program: PiecewiseLinearProgram, solution: Solution
) -> tuple[float, float]:
    assert solution.theta is not None and solution.nu is not None
    sign = problem.canonical_sign
    return (
        sign * program.value(solution.theta, solution.lam),
        sign * program.dual_value(solution.nu, solution.lam),
    )


def _feasible(problem: ParametricProblem, theta: Array, lam: float) -> bool:
    """HiGHS calls zeros a solution where it has none: look at the violations instead."""
    size = 1.0 + float(np.abs(theta).max(initial=0.0))
    return max(problem.residuals(theta, lam).values()) <= 1e-9 * size


def _without_optimum(ended: Ended, **common: Any) -> Result:
    if ended.outcome is Outcome.INFEASIBLE:
        return Result(
            status=Status.INFEASIBLE,
            certificate=Certificate(kind="farkas", arrays={"nu": ended.proof.vector}),
            **common,
        )
    assert ended.point is not None
    return Result(
        status=Status.UNBOUNDED,
        certificate=Certificate(kind="ray", arrays={"ray": ended.proof.vector, "x": ended.point}),
        **common,
    )


# ---- a grid


def _grid(
    problem: ParametricProblem,
    lams: tuple[float, ...],
    options: Mapping[str, Any],
    control: Control,
) -> Result:
    program = problem.canonical()
    session = Session(program, control, options)
    grid = sorted(set(lams), reverse=True)
    done: list[Solution] = []
    stopped_by, limit, raw, ended = "grid", None, "", None
    for lam in grid:
        control.progress(f"lam {lam:.4g}", fraction=len(done) / len(grid))
        solution = session.solve(lam, warm=bool(done) and options["warm_start_grid"])
        raw = solution.raw
        if solution.outcome is Outcome.OPTIMAL and solution.nu is not None:
            done.append(solution)
            continue
        limit = solution.limit
        if solution.outcome in _NO_OPTIMUM:
            ended = disprove(program, solution.outcome, lam, control, options)
            limit = control.limit() if ended is None else None
        if ended is not None:
            stopped_by = f"{ended.outcome.value}_below"
        else:
            limit = limit or Limit.SLOW_PROGRESS
            stopped_by = limit.value
        break
    common: dict[str, Any] = {"raw_status": raw, "iterations": session.iterations}
    if not done:
        if ended is not None:
            return _nothing_on(grid, ended, problem, **common)
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    values = np.array([_values(problem, program, solution) for solution in done])
    theta = np.array([solution.theta for solution in done])
    nu = np.array([solution.nu for solution in done])
    path = GridPath(
        knots=np.array(grid[: len(done)]),
        theta=theta,
        nu=nu,
        values=values[:, 0],
        bounds=values[:, 1],
        names=problem.coefficient_names,
        stopped_by=stopped_by,
    )
    return Result(
        status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
        limit=limit,
        x=theta[-1],
        objective=float(values[-1, 0]),
        bound=float(values[-1, 1]),
        duals={"rows": nu[-1]},
        path=path,
        certificate=Certificate(kind="dual-grid", arrays=_evidence(ended)),
        **common,
    )


def _nothing_on(
    grid: list[float], ended: Ended, problem: ParametricProblem, **common: Any
) -> Result:
    """Answer for a grid whose largest value has no optimum, if the proof covers all values."""
    covered = all(ended.proof.at(lam) < 0.0 for lam in grid)
    if ended.point is not None:
        covered &= all(_feasible(problem, ended.point, lam) for lam in grid)
    if not covered:
        raise ParamError(
            f"the problem is {ended.outcome.value} at lam = {grid[0]:g}, the largest value of the "
            f"grid, and not proven so at all others: ask for values below {ended.proof.root:g}, or "
            "for single values"
        )
    return _without_optimum(ended, **common)


def _evidence(ended: Ended | None, suffix: str = "") -> dict[str, Array]:
    """Name the vector that proves where a path or a grid ends."""
    if ended is None:
        return {}
    name = "farkas" if ended.outcome is Outcome.INFEASIBLE else "ray"
    return {name + suffix: ended.proof.vector}


# ---- the path


def _path(
    problem: ParametricProblem,
    params: SolveParams,
    options: Mapping[str, Any],
    control: Control,
) -> Result:
    program = problem.canonical()
    options = {**options, "presolve": "off"}
    session = Session(program, control, options)
    ranging = Ranging(
        program,
        session,
        control,
        options,
        lam_min=params.lam_min or 0.0,
        max_knots=params.max_knots,
        max_nonzeros=params.max_nonzeros,
    )
    ranging.run()
    common: dict[str, Any] = {
        "raw_status": ranging.stopped_by,
        "iterations": session.iterations,
    }
    if not ranging.low:
        if ranging.end is not None and ranging.limit is None:
            return _without_optimum(ranging.end, **common)
        limit = ranging.limit or Limit.SLOW_PROGRESS
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    change_ptr, changed, change_code = _changes(ranging.codes)
    path, certificate = path_from_codes(
        problem,
        np.array(ranging.low),
        np.array(ranging.high),
        ranging.codes[0],
        change_ptr,
        changed,
        change_code,
        ranging.stopped_by,
        **_evidence(ranging.end),
        **_evidence(ranging.ceiling, "_above"),
    )
    last = float(path.low[-1])
    theta, nu = path.at(last), path.dual_at(last)
    return Result(
        status=Status.OPTIMAL if ranging.limit is None else Status.FEASIBLE,
        limit=ranging.limit,
        x=theta,
        objective=path.objective_at(last),
        bound=problem.canonical_sign * program.dual_value(nu, last),
        duals={"rows": nu},
        path=path,
        certificate=certificate,
        **common,
    )


def _changes(codes: list[Array]) -> tuple[Array, Array, Array]:
    """Return (change_ptr, changed, change_code) of consecutive bases."""
    changed = [np.flatnonzero(new != old) for old, new in pairwise(codes)]
    new_codes = [new[where] for new, where in zip(codes[1:], changed, strict=True)]
    none = np.zeros(0, dtype=np.int64)
    return (
        np.cumsum([0, 0, *(len(where) for where in changed)]),
        np.concatenate([none, *changed]),
        np.concatenate([none, *new_codes]),
    )
