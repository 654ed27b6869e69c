"""A path without a certificate: what it states is compared with the problem's formulas."""

from __future__ import annotations

import numpy as np

from sparseopt.checking.evidence import same_numbers
from sparseopt.checking.parametric.dual import read_grid
from sparseopt.checking.parametric.layout import read_path
from sparseopt.checking.parametric.point import PrimalPoint, objective_scale, primal_point
from sparseopt.checking.parametric.range import check_range
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import COPY, FEASIBILITY, OBJECTIVE
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
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
            point = primal_point(program, path.theta[k])
            stated = float(path.values[k])
            _check(problem, point, stated, abs(stated), float(lam), findings)
        last = path.theta[-1]
    elif isinstance(path, ParametricPath):
        stored = read_path(program, path)
        check_range(program, result, None, stored, findings)
        for s, (low, high) in enumerate(zip(stored.low, stored.high, strict=True)):
            value, rate = stored.theta.dense(slice(s, s + 1))
            for lam in (low, high) if np.isfinite(high) else (low,):
                step = lam - low
                terms = np.abs(value[0]) + step * np.abs(rate[0])
                point = primal_point(program, value[0] + step * rate[0], terms)
                parts = stored.objective[s] * [1.0, step, step * step]
                total, size = float(parts.sum()), float(np.abs(parts).sum())
                _check(problem, point, total, size, float(lam), findings)
        last = stored.theta.dense(slice(len(stored.low) - 1, len(stored.low)))[0][0]
    else:
        findings.doubt(f"paths of the kind {type(path).__name__} are not known here")
        return
    if result.x is not None and not same_numbers(result.x, last, COPY):
        findings.refute("x of the result is not that of the path's end")


def _check(
    problem: ParametricProblem,
    point: PrimalPoint,
    stated: float,
    terms: float,
    lam: float,
    findings: Findings,
) -> None:
    """Check one point and its stated objective, which was added up from terms of that size."""
    violation, at = point.violation(lam)
    findings.measure("primal", violation)
    if not violation <= FEASIBILITY:
        findings.refute(
            f"the path at lam = {lam:g} is infeasible: it violates {point.name(at)} by "
            f"{violation:.3g} of its scale"
        )
    value = problem.objective(point.z[: point.program.A.shape[1]], lam)
    size = max(abs(value), terms, objective_scale(point, lam), np.finfo(float).tiny)
    error = abs(stated - value) / size
    findings.measure("objective", error)
    if not error <= OBJECTIVE:
        findings.refute(
            f"the path at lam = {lam:g} states {stated:.17g}; its objective is {value:.17g}"
        )
