"""A path without a certificate: what it states is compared with the problem's formulas."""

from __future__ import annotations

import numpy as np

from sparseopt.checking.dual import read_grid
from sparseopt.checking.evidence import same_numbers
from sparseopt.checking.layout import read_path
from sparseopt.checking.point import objective_scale, primal_point
from sparseopt.checking.range import check_range
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, FEASIBILITY, OBJECTIVE
from sparseopt.path import GridPath, ParametricPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Result

__all__ = ["check_stated_path"]


def check_stated_path(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    result: Result,
    findings: Findings,
) -> None:
    """Check that the solutions of a path are feasible where it states them, with the value stated.

    Raises
    ------
    Malformed
    """
    path = result.path
    if isinstance(path, GridPath):
        knots = read_grid(program, path)
        for k, lam in enumerate(knots):
            _check(problem, program, path.theta[k], float(path.values[k]), float(lam), findings)
        last = path.theta[-1]
    elif isinstance(path, ParametricPath):
        stored = read_path(program, path)
        check_range(program, result, None, stored, findings)
        for s, (low, high) in enumerate(zip(stored.low, stored.high, strict=True)):
            value, rate = stored.theta.dense(slice(s, s + 1))
            for lam in (low, high) if np.isfinite(high) else (low,):
                step = lam - low
                o = stored.objective[s]
                stated = float(o[0] + step * (o[1] + step * o[2]))
                theta = value[0] + step * rate[0]
                _check(problem, program, theta, stated, float(lam), findings)
        last = stored.theta.dense(slice(len(stored.low) - 1, len(stored.low)))[0][0]
    else:
        findings.doubt(f"paths of the kind {type(path).__name__} are not known here")
        return
    if result.x is not None and not same_numbers(result.x, last, COPY):
        findings.refute("x of the result is not that of the path's end")


def _check(
    problem: ParametricProblem,
    program: PiecewiseLinearProgram,
    theta: Array,
    stated: float,
    lam: float,
    findings: Findings,
) -> None:
    point = primal_point(program, theta)
    violation, at = point.violation(lam)
    findings.measure("primal", violation)
    if not violation <= FEASIBILITY:
        findings.refute(
            f"the path at lam = {lam:g} is infeasible: it violates {point.name(at)} by "
            f"{violation:.3g} of its scale"
        )
    value = problem.objective(theta, lam)
    size = max(abs(value), objective_scale(point, lam), np.finfo(float).tiny)
    error = abs(stated - value) / size
    findings.measure("objective", error)
    if not error <= OBJECTIVE:
        findings.refute(
            f"the path at lam = {lam:g} states {stated:.17g}; its objective is {value:.17g}"
        )
