"""What every result states, whatever its family: a point, its objective value, and a bound."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.parametric.point import objective_scale, primal_point
from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, SUM, UNSCALED
from sparseopt.errors import ProblemError, SparseOptError
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.result import Limit, Result, Status, relative_gap

__all__ = ["check_claims"]

_POINT = frozenset({Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.IMPRECISE})
"""Statuses that state a feasible point."""
_NO_POINT = frozenset({Status.INFEASIBLE, Status.UNBOUNDED, Status.INF_OR_UNB})


def check_claims(problem: Problem, result: Result, findings: Findings) -> None:
    """Check what the result states against the problem's own formulas.

    - A limit is stated exactly for FEASIBLE and NO_SOLUTION.
    - OPTIMAL, CONVERGED and FEASIBLE come with a point, and it is feasible.
    - The stated objective value is that of the point, to 1e-9 of the size of its terms.
    - The bound lies on the right side of the objective, and for OPTIMAL the two meet within the
      gap that was asked for.
    - INFEASIBLE does not come with a feasible point.
    """
    _check_limit(result, findings)
    _check_numbers(problem, result, findings)
    if result.x is None:
        if result.status in (Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE):
            findings.refute(f"the status is {result.status.value}, but there is no point x")
        return
    x = _point(result, findings)
    if x is None:
        return
    try:
        lam = _parameter(result)
        value = problem.objective(x, lam)
        violation, where = _violation(problem, x, lam, findings)
    except (SparseOptError, IndexError, TypeError, ValueError) as error:
        findings.refute(f"x cannot be evaluated: {error}")
        return
    _check_feasibility(result, findings, violation, where)
    if result.objective is None or math.isinf(result.objective):
        return
    size = max(abs(value), _size(problem, x, lam), np.finfo(float).tiny)
    difference = abs(result.objective - value) / size
    findings.measure("objective", difference)
    if not difference <= OBJECTIVE:
        findings.refute(
            f"the stated objective {result.objective:.17g} is not that of x, {value:.17g}"
        )


def _check_limit(result: Result, findings: Findings) -> None:
    limited = result.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    if limited != isinstance(result.limit, Limit):
        findings.refute(f"status {result.status.value} does not go with the limit {result.limit}")


def _check_numbers(problem: Problem, result: Result, findings: Findings) -> None:
    """Check objective and bound against each other and against the asked gap."""
    objective, bound = result.objective, result.bound
    for name, value in (("objective", objective), ("bound", bound)):
        if value is not None and math.isnan(value):
            findings.refute(f"the {name} is NaN")
            return
    if result.status not in _POINT:
        return
    if objective is not None and math.isinf(objective):
        findings.refute(f"the status is {result.status.value}, but the objective is {objective}")
        return
    if objective is None or bound is None:
        return
    excess = bound - objective if problem.sense == "min" else objective - bound
    size = _stated_size(problem, result)
    allowed = max(
        result.params.abs_gap,
        result.params.rel_gap * max(abs(objective), abs(bound), 1e-10 * problem.value_unit),
        SUM * size,
    )
    if excess > max(FEASIBILITY * size, allowed if result.status is Status.OPTIMAL else 0.0):
        side = "above" if problem.sense == "min" else "below"
        findings.refute(f"the bound {bound:.17g} lies {side} the objective {objective:.17g}")
    if result.status is Status.OPTIMAL and not abs(objective - bound) <= allowed:
        findings.refute(
            f"the status is optimal, but objective {objective:.17g} and bound {bound:.17g} have a "
            f"gap of {relative_gap(objective, bound, problem.value_unit):.3g} "
            f"(asked: {result.params.rel_gap:g})"
        )


def _stated_size(problem: Problem, result: Result) -> float:
    """Return the size of the objective's terms, or of the stated numbers where x is no help."""
    objective, bound = result.objective or 0.0, result.bound or 0.0
    size = max(abs(objective), abs(bound) if math.isfinite(bound) else 0.0)
    try:
        return max(size, _size(problem, np.asarray(result.x, float), _parameter(result)))
    except (SparseOptError, IndexError, TypeError, ValueError):
        return size


def _point(result: Result, findings: Findings) -> Array | None:
    x = np.asarray(result.x)
    if x.dtype.kind not in "biuf":
        findings.refute(f"x has the type {x.dtype}; expected real numbers")
        return None
    finite = np.isfinite(x)
    if not finite.all():
        at = tuple(int(i) for i in np.argwhere(~finite)[0])
        findings.refute(f"x[{', '.join(map(str, at))}] is {x[at]}")
        return None
    return x.astype(float)


def _parameter(result: Result) -> float | None:
    """Return the lam that x belongs to."""
    lam = result.last_lam
    if lam is not None and not math.isfinite(lam):
        raise ProblemError(f"the path ends at lam = {lam}")
    return lam


def _violation(
    problem: Problem, x: Array, lam: float | None, findings: Findings
) -> tuple[float, str]:
    """Return the largest violation in units of its tolerance, and what it violates."""
    if isinstance(problem, ParametricProblem):
        if lam is None:
            raise ProblemError("there is a point, but no single lam that it belongs to")
        point = primal_point(problem.canonical(), x)
        ratio, at = point.violation(lam)
        findings.measure("primal", ratio)
        return ratio / FEASIBILITY, f"{point.name(at)} by {ratio:.3g} of its scale"
    residuals = problem.residuals(x, lam)
    for name, value in residuals.items():
        findings.measure(name, value)
    worst = max(residuals, key=lambda name: residuals[name], default="")
    value = residuals.get(worst, 0.0)
    size = 1.0 + float(np.max(np.abs(x), initial=0.0))
    ratio = value / (UNSCALED * size)
    return (math.inf if math.isnan(ratio) else ratio), f"{worst} by {value:.3g}"


def _check_feasibility(result: Result, findings: Findings, violation: float, where: str) -> None:
    feasible = violation <= 1.0
    if result.status in _POINT and not feasible:
        findings.refute(f"x is infeasible: it violates {where}")
    elif result.status is Status.INFEASIBLE and feasible:
        findings.refute("the status is infeasible, but x is a feasible point")


def _size(problem: Problem, x: Array, lam: float | None) -> float:
    """Return the sum of the absolute values of the objective's terms."""
    if isinstance(problem, ParametricProblem) and lam is not None:
        return objective_scale(primal_point(problem.canonical(), x), lam)
    return problem.objective_scale(x, lam)
