"""What every result states, whatever its family: a point, its objective value, and a bound."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.checking.report import Findings
from sparseopt.checking.tolerances import FEASIBILITY, OBJECTIVE, SUM
from sparseopt.checking.verifiers import Evaluation, evaluate
from sparseopt.errors import ProblemError, SparseOptError
from sparseopt.params import QUESTIONS
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Limit, Result, Status, relative_gap

_POINT = frozenset({Status.OPTIMAL, Status.CONVERGED, Status.FEASIBLE, Status.IMPRECISE})
"""Statuses that state a feasible point."""
_NOTHING = frozenset({Status.NO_SOLUTION, Status.NUMERICAL_ERROR, Status.ERROR})
"""Statuses that answer nothing."""
_PROBLEM_ENDS = {Status.INFEASIBLE: 1.0, Status.UNBOUNDED: -1.0}
"""The only value of a minimisation that objective and bound may have, as the sign of infinity."""


def check_claims(problem: Problem, result: Result, findings: Findings) -> None:
    """Check what the result states against the problem's own formulas.

    - The question is one about the problem's own parameter.
    - A limit is stated exactly for FEASIBLE and NO_SOLUTION.
    - OPTIMAL, CONVERGED and FEASIBLE come with a point and its objective value; the point is
      feasible, and the value is that of the point, to 1e-9 of the size of its terms.
    - The bound lies on the right side of the objective, and for OPTIMAL the two meet within the
      gap that was asked for.
    - INFEASIBLE and UNBOUNDED come without a path and without numbers that contradict them.
    - Nothing in the trace is better than the bound.
    - Times and counts are possible.

    Parameters
    ----------
    problem : Problem
    result : Result
    findings : Findings
        Gets what was found.
    """
    _check_limit(result, findings)
    if result.status in _NOTHING or result.status is Status.IMPRECISE:
        findings.doubt(f"the status {result.status.value} claims nothing that could be proven")
    _check_question(problem, result, findings)
    evaluation = None if result.x is None else _evaluate(problem, result, findings)
    _check_numbers(problem, result, evaluation, findings)
    _check_other_claims(problem, result, findings)
    _check_trace(problem, result, evaluation, findings)
    _check_counts(result, findings)
    if result.x is None and result.status in _POINT - {Status.IMPRECISE}:
        findings.refute(f"the status is {result.status.value}, but there is no point x")
    if evaluation is None:
        return
    _check_feasibility(result, evaluation, findings)
    if result.objective is None or math.isinf(result.objective):
        return
    value = evaluation.value
    size = max(abs(value), evaluation.size, np.finfo(float).tiny)
    data_size = min(evaluation.size, evaluation.data_size)
    difference = abs(result.objective - value) / size
    findings.measure("objective", difference)
    if not difference <= OBJECTIVE:
        findings.refute(
            f"the stated objective {result.objective:.17g} is not that of x, {value:.17g}"
        )
    elif not difference * size <= OBJECTIVE * max(abs(value), data_size, np.finfo(float).tiny):
        findings.doubt(
            f"the stated objective {result.objective:.17g} is that of x, {value:.17g}, only up to "
            "the size of terms that cancel",
            about="objective of x",
        )
    elif not evaluation.rounding <= OBJECTIVE * max(abs(value), data_size, np.finfo(float).tiny):
        findings.doubt(
            f"the objective of x, {value:.17g}, is known up to {evaluation.rounding:.3g} only: its "
            "terms cancel",
            about="objective of x",
        )


def _check_question(problem: Problem, result: Result, findings: Findings) -> None:
    """Refute an answer to a question about a parameter that the problem has not."""
    for parameter, names in QUESTIONS.items():
        for name in names:
            value = getattr(result.params, name)
            if parameter != problem.parameter and value is not None:
                findings.refute(f"{name} = {value} was asked, which {problem.kind} has not")


def _evaluate(problem: Problem, result: Result, findings: Findings) -> Evaluation | None:
    """Evaluate x; None after refuting it."""
    x = _point(result, findings)
    if x is None:
        return None
    try:
        evaluation = evaluate(problem, x, _parameter(result))
    except (SparseOptError, IndexError, TypeError, ValueError) as error:
        findings.refute(f"x cannot be evaluated: {error}")
        return None
    for name, value in evaluation.residuals.items():
        findings.measure(name, value)
    return evaluation


def _check_limit(result: Result, findings: Findings) -> None:
    limited = result.status in (Status.FEASIBLE, Status.NO_SOLUTION)
    if limited != isinstance(result.limit, Limit):
        findings.refute(f"status {result.status.value} does not go with the limit {result.limit}")


def _check_numbers(
    problem: Problem, result: Result, evaluation: Evaluation | None, findings: Findings
) -> None:
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
    if objective is None and result.status is not Status.IMPRECISE:
        findings.refute(f"the status is {result.status.value}, but no objective is stated")
    if bound is None and result.status is Status.OPTIMAL:
        findings.refute("the status is optimal, but no bound is stated")
    if objective is None or bound is None:
        return
    if result.status is Status.OPTIMAL and math.isinf(bound):
        findings.refute(f"the status is optimal, but the bound is {bound}")
        return
    excess = bound - objective if problem.sense == "min" else objective - bound
    size, data_size = _stated_sizes(result, evaluation)
    asked = max(
        result.params.abs_gap,
        result.params.rel_gap * max(abs(objective), abs(bound), 1e-10 * problem.value_unit),
    )
    allowed = max(asked, SUM * size)
    if excess > max(FEASIBILITY * size, allowed if result.status is Status.OPTIMAL else 0.0):
        side = "above" if problem.sense == "min" else "below"
        findings.refute(f"the bound {bound:.17g} lies {side} the objective {objective:.17g}")
    if result.status is Status.OPTIMAL and not abs(objective - bound) <= allowed:
        findings.refute(
            f"the status is optimal, but objective {objective:.17g} and bound {bound:.17g} have a "
            f"gap of {relative_gap(objective, bound, problem.value_unit):.3g} "
            f"(asked: {result.params.rel_gap:g})"
        )
    elif result.status is Status.OPTIMAL and abs(objective - bound) > max(asked, SUM * data_size):
        findings.doubt("objective and bound meet only up to the size of terms that cancel")


def _stated_sizes(result: Result, evaluation: Evaluation | None) -> tuple[float, float]:
    """Return the size of the objective's terms, and what the data explain of it.

    Those of the stated numbers where x is no help.
    """
    objective, bound = result.objective or 0.0, result.bound or 0.0
    stated = max(abs(value) for value in (objective, bound, 0.0) if math.isfinite(value))
    if evaluation is None:
        return stated, stated
    data_size = min(evaluation.size, evaluation.data_size)
    return max(stated, evaluation.size), max(stated, data_size)


def _check_other_claims(problem: Problem, result: Result, findings: Findings) -> None:
    """Refute what goes with no status but those that state a point."""
    word = result.status.value
    if result.status in _POINT:
        return
    if result.path is not None:
        findings.refute(f"the status is {word}, but there is a path")
    if result.status in _NOTHING:
        if result.x is not None or result.objective is not None:
            findings.refute(f"the status is {word}, but there is a point or its objective")
        return
    end = _PROBLEM_ENDS.get(result.status)
    allowed = [None] if end is None else [None, math.inf * end * _sign(problem)]
    stated = {"bound": result.bound}
    if result.x is None:
        stated["objective"] = result.objective
    for name, value in stated.items():
        if value not in allowed:
            findings.refute(f"the status is {word}, but the {name} is {value}")


def _sign(problem: Problem) -> float:
    """Return 1 for a minimisation and -1 for a maximisation."""
    return 1.0 if problem.sense == "min" else -1.0


def _check_trace(
    problem: Problem, result: Result, evaluation: Evaluation | None, findings: Findings
) -> None:
    """Refute a trace that runs backwards or contradicts what is stated at the end.

    The points and multipliers behind its values are not stored, so the verdict leaves it out.
    """
    if not result.trace:
        return
    sign = _sign(problem)
    size, _ = _stated_sizes(result, evaluation)
    before = 0.0
    for entry in result.trace:
        seconds, objective, bound = entry
        given = [value for value in (objective, bound) if value is not None]
        if not before <= seconds < math.inf or any(math.isnan(value) for value in given):
            findings.refute(f"the trace has the entry {entry}, which cannot be")
            return
        before = seconds
        for value, limit, name in (
            (objective, result.bound, "objective"),
            (result.objective, bound, "bound"),
        ):
            if value is None or limit is None:
                continue
            if sign * (limit - value) > FEASIBILITY * size:
                findings.refute(
                    f"the {name} of the trace at {seconds:g} s contradicts what is stated at the "
                    "end"
                )
                return
    findings.leave_out("trace")


def _check_counts(result: Result, findings: Findings) -> None:
    """Refute times and counts that cannot be; whether they are those of the run nobody knows."""
    for name in ("build_time", "solve_time", "check_time", "iterations", "nodes"):
        value = getattr(result, name)
        if value is not None and not 0 <= value < math.inf:
            findings.refute(f"{name} is {value}")


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


def _check_feasibility(result: Result, evaluation: Evaluation, findings: Findings) -> None:
    feasible = evaluation.violation <= 1.0
    if result.status in _POINT or result.status is Status.UNBOUNDED:
        if not feasible:
            findings.refute(f"x is infeasible: it violates {evaluation.where}")
        elif evaluation.doubt:
            findings.doubt(evaluation.doubt, about="feasibility of x")
    elif result.status is Status.INFEASIBLE:
        findings.refute(
            "the status is infeasible, but x is a feasible point"
            if feasible
            else "the status is infeasible, but there is a point x"
        )
