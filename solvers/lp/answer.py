"""Results from HiGHS' solutions: one value of lam, and a grid of values."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import ParamError
from sparseopt.paths.parametric import GridPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Certificate, Limit, Result, Status

from ..common.outcome import Outcome, Spent
from .basis import Solution
from .proof import Ended

_NO_OPTIMUM = (Outcome.INFEASIBLE, Outcome.UNBOUNDED, Outcome.UNDECIDED)


class Engine(Protocol):
    """What solves one program at one lam after another."""

    program: PiecewiseLinearProgram
    spent: Spent

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve at lam, from scratch or from the last solve."""

    def disprove(self, outcome: Outcome, lam: float) -> Ended | None:
        """Prove that there is no optimum at lam, as the last solve said; None where that fails."""


def single(problem: ParametricProblem, lam: float, engine: Engine, control: Control) -> Result:
    """Answer for one value of lam.

    Parameters
    ----------
    problem : ParametricProblem
    lam : float
    engine : Engine
    control : Control

    Returns
    -------
    Result
    """
    solution = engine.solve(lam)
    ended = None
    if solution.outcome in _NO_OPTIMUM:
        ended = engine.disprove(solution.outcome, lam)
    common: dict[str, Any] = {"raw_status": solution.raw, "iterations": engine.spent.iterations}
    if ended is not None:
        return without_optimum(ended, **common)
    if solution.outcome is Outcome.OPTIMAL and solution.nu is not None:
        return _optimal(problem, engine.program, solution, control, **common)
    limit = solution.limit
    if solution.outcome in _NO_OPTIMUM:
        limit = control.limit()
    if limit is None:
        return Result(status=Status.NUMERICAL_ERROR, **common)
    return _cut_short(problem, engine.program, solution, limit, **common)


def _optimal(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    solution: Solution,
    control: Control,
    **common: Any,
) -> Result:
    """Recompute objective and bound from the pair; HiGHS' own numbers are not used."""
    objective, bound = _values(problem, program, solution)
    params = control.params
    allowed = params.abs_gap + max(params.rel_gap, 1e-9) * max(abs(objective), abs(bound))
    proved = abs(objective - bound) <= allowed + 1e-9 * solution.scale
    return Result(
        status=Status.OPTIMAL if proved else Status.NUMERICAL_ERROR,
        x=solution.theta,
        objective=objective,
        bound=bound,
        **_multipliers(solution.nu),
        **common,
    )


def _cut_short(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    solution: Solution,
    limit: Limit,
    **common: Any,
) -> Result:
    """Keep what is known: a feasible point, multipliers that prove a bound."""
    known: dict[str, Any] = {}
    if solution.nu is not None:
        known = _multipliers(solution.nu)
        known["bound"] = problem.canonical_sign * program.dual_value(solution.nu, solution.lam)
    theta = solution.theta
    if theta is None or not _feasible(problem, theta, solution.lam):
        return Result(status=Status.NO_SOLUTION, limit=limit, **known, **common)
    return Result(
        status=Status.FEASIBLE,
        limit=limit,
        x=theta,
        objective=problem.objective(theta, solution.lam),
        **known,
        **common,
    )


def _multipliers(nu: Array | None) -> dict[str, Any]:
    assert nu is not None
    return {"duals": {"rows": nu}, "certificate": Certificate(kind="dual", arrays={"nu": nu})}


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


def without_optimum(ended: Ended, **common: Any) -> Result:
    """Answer that the problem is infeasible or unbounded, with the proof.

    Parameters
    ----------
    ended : Ended
    common : keyword arguments of Result

    Returns
    -------
    Result
        INFEASIBLE with the certificate "farkas", or UNBOUNDED with "ray".
    """
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


def grid(
    problem: ParametricProblem,
    lams: tuple[float, ...],
    engine: Engine,
    control: Control,
    *,
    warm: bool,
) -> Result:
    """Answer for several values of lam, the largest first.

    With `warm` each starts from the solve before.

    Parameters
    ----------
    problem : ParametricProblem
    lams : tuple of float
        In any order.
    engine : Engine
    control : Control
    warm : bool
        Whether each solve starts from the one before.

    Returns
    -------
    Result
    """
    values = sorted(set(lams), reverse=True)
    done: list[Solution] = []
    stopped_by, limit, raw, ended = "grid", None, "", None
    for lam in values:
        control.progress(f"lam {lam:.4g}", fraction=len(done) / len(values))
        solution = engine.solve(lam, warm=bool(done) and warm)
        raw = solution.raw
        if solution.outcome is Outcome.OPTIMAL and solution.nu is not None:
            done.append(solution)
            continue
        limit = solution.limit
        if solution.outcome in _NO_OPTIMUM:
            ended = engine.disprove(solution.outcome, lam)
            limit = control.limit() if ended is None else None
        if ended is not None:
            stopped_by = f"{ended.outcome.value}_below"
        else:
            limit = limit or Limit.SLOW_PROGRESS
            stopped_by = limit.value
        break
    common: dict[str, Any] = {"raw_status": raw, "iterations": engine.spent.iterations}
    if not done:
        if ended is not None:
            return _nothing_on(values, ended, engine, control, problem, **common)
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    return _grid_result(problem, engine.program, done, stopped_by, limit, ended, **common)


def _grid_result(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    done: list[Solution],
    stopped_by: str,
    limit: Limit | None,
    ended: Ended | None,
    **common: Any,
) -> Result:
    values = np.array([_values(problem, program, solution) for solution in done])
    theta = np.array([solution.theta for solution in done])
    nu = np.array([solution.nu for solution in done])
    path = GridPath(
        knots=np.array([solution.lam for solution in done]),
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
        certificate=Certificate(kind="dual-grid", arrays=evidence(ended)),
        **common,
    )


def _nothing_on(
    values: list[float],
    first: Ended,
    engine: Engine,
    control: Control,
    problem: ParametricProblem,
    **common: Any,
) -> Result:
    """Answer for a grid whose largest value has no optimum, where no other value has one.

    The first proof may hold for all values; else each value gets its own, one row of the
    certificate's arrays.

    Raises
    ------
    ParamError
        When another value has an optimum, or none for another reason.
    """
    everywhere = all(first.proof.at(lam) < 0.0 for lam in values)
    if first.point is not None:
        everywhere &= all(_feasible(problem, first.point, lam) for lam in values)
    if everywhere:
        return without_optimum(first, **common)
    proofs = [without_optimum(first, **common)]
    for lam in values[1:]:
        found = single(problem, lam, engine, control)
        if found.status in (Status.NO_SOLUTION, Status.FEASIBLE, Status.NUMERICAL_ERROR):
            limit = found.limit or Limit.SLOW_PROGRESS
            return Result(status=Status.NO_SOLUTION, limit=limit, **common)
        if found.status is not proofs[0].status:
            falls = first.proof.rate < 0.0
            smaller = f"values below {first.proof.root:g}" if falls else "smaller values"
            raise ParamError(
                f"the problem is {first.outcome.value} at lam = {values[0]:g}, the largest value "
                f"of the grid, and {found.status.value} at lam = {lam:g}: ask for {smaller}, or "
                "for single ones"
            )
        proofs.append(found)
    certificates = [proof.certificate for proof in proofs if proof.certificate is not None]
    rows = {
        name: np.array([certificate.arrays[name] for certificate in certificates])
        for name in certificates[0].arrays
    }
    common["iterations"] = engine.spent.iterations
    return Result(
        status=proofs[0].status, certificate=Certificate(certificates[0].kind, rows), **common
    )


def evidence(ended: Ended | None, suffix: str = "") -> dict[str, Array]:
    """Name the vector that proves where a path or a grid ends.

    Parameters
    ----------
    ended : Ended or None
    suffix : str
        Added to the name. Default: none.

    Returns
    -------
    dict of str to array
        "farkas" (m,) or "ray" (p,), with the suffix; empty without a proof.
    """
    if ended is None:
        return {}
    name = "farkas" if ended.outcome is Outcome.INFEASIBLE else "ray"
    return {name + suffix: ended.proof.vector}
