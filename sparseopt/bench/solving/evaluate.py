"""Judges one answer in a process of its own: ``python -m sparseopt.bench.solving.evaluate FOLDER``.

Everything that a report says of an answer is computed here from the saved answer and the instance,
never taken from the solver: objective, violation, gap, verdict, metrics. What the solver stated is
compared with it and with reference values.
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.bench.solving.metrics import measure
from sparseopt.bench.solving.process import announce, begin, leave

if TYPE_CHECKING:
    from sparseopt.problems.base import Problem
    from sparseopt.result import Result

TOLERANCE = 1e-6
"""Relative to max(value_unit, |reference|): what counts as worse than a reference."""

_TRACE = 200
_CURVE = 17


def main() -> None:
    """Judge ``answer.json`` in the folder given, and leave ``evaluation.json`` there."""
    folder = Path(sys.argv[1])
    spec = begin(folder)
    announce("solve")
    leave(folder / "evaluation.json", evaluation(spec, folder / "answer.json"))


def evaluation(spec: Mapping[str, Any], answer: Path) -> dict[str, Any]:
    """Return what is found of an answer, ready for JSON.

    Parameters
    ----------
    spec : mapping
        "path" and "references" of the instance, "instance" with its metrics.
    answer : path
        The saved result.
    """
    from sparseopt.api import check, load
    from sparseopt.errors import SparseOptError
    from sparseopt.io import load_result
    from sparseopt.result import Verdict, relative_gap

    problem = load(spec["path"])
    try:
        result = load_result(answer)
    except SparseOptError as error:
        return {"unreadable": f"the answer cannot be read: {error}"[:2000]}
    if result.instance != problem.fingerprint():
        return {"unreadable": "the answer belongs to another instance"}
    result = result.with_changes(problem=problem)
    begun = time.perf_counter()
    report = check(problem, result)
    check_time = time.perf_counter() - begun
    objective, violation = _recomputed(problem, result)
    metrics: dict[str, Any] = {}
    curve: list[list[float]] = []
    names = tuple(spec["instance"]["metrics"])
    if report.verdict is Verdict.REFUTED:
        # How far off an answer is can be said of a wrong one, too; the rest would mean nothing.
        names = tuple(name for name in names if name == "feasibility")
    else:
        curve = _curve(problem, result)
    if names:
        metrics = measure(names, problem, result, spec["instance"])
    path = result.path
    return {
        "status": result.status.value,
        "limit": result.limit.value if result.limit else None,
        "raw_status": result.raw_status[:500],
        "verdict": report.verdict.value,
        "messages": [message[:500] for message in report.messages[:5]],
        "residuals": {k: _number(v) for k, v in report.residuals.items()},
        "contradictions": contradictions(problem, result, objective, spec["references"]),
        "objective": _number(objective),
        "value_unit": problem.value_unit,
        "violation": _number(violation),
        "claimed_objective": _number(result.objective),
        "bound": _number(result.bound),
        "gap": _number(relative_gap(objective, result.bound, problem.value_unit)),
        "at": _number(_at(result)),
        "curve": curve,
        "nonzeros": None if result.x is None else int(np.count_nonzero(result.x)),
        "knots": None if path is None else len(path),
        "stopped_by": None if path is None else path.stopped_by,
        "iterations": result.iterations,
        "nodes": result.nodes,
        "build_time": result.build_time,
        "solve_time": result.solve_time,
        "check_time": check_time,
        "trace": _thinned(result.trace),
        "versions": dict(result.versions),
        "notes": [note[:300] for note in result.notes[:5]],
        "metrics": metrics,
    }


def _at(result: Result) -> float | None:
    """Return the value of lam or of the budget that the point belongs to."""
    lam = result.last_lam
    if lam is None and result.params.budget is not None:
        return float(result.params.budget)
    return lam


def _curve(problem: Problem, result: Result) -> list[list[float]]:
    """Return (K, objective) at some budgets of a path over budgets, recomputed from its points."""
    path: Any = result.path
    if path is None or path.kind not in ("budget", "graph"):
        return []
    if path.kind == "graph":
        path = path.with_problem(problem)
    chosen = np.unique(np.linspace(0, len(path) - 1, _CURVE).round().astype(int))
    budgets = path.knots[chosen].tolist()
    return [[float(K), float(problem.objective(path.at(K)))] for K in budgets]


def _recomputed(problem: Problem, result: Result) -> tuple[float | None, float | None]:
    """Return objective and largest violation of the point, from the problem's data alone."""
    if result.x is None:
        return None, None
    lam = result.last_lam if problem.parameter in ("lam", "size") else None
    residuals = problem.residuals(result.x, lam)
    violation = max((abs(float(value)) for value in residuals.values()), default=0.0)
    return float(problem.objective(result.x, lam)), violation


def worse(
    value: float, reference: float, sense: str, tolerance: float = TOLERANCE, unit: float = 1.0
) -> bool:
    """Return whether a value is worse than a reference by more than the tolerance.

    Parameters
    ----------
    value, reference : float
    sense : {"min", "max"}
    tolerance : float
        Relative to the reference, or to the unit where that is larger.
    unit : float
        The problem's ``value_unit``.
    """
    slack = tolerance * max(unit, abs(reference))
    return value > reference + slack if sense == "min" else value < reference - slack


def contradictions(
    problem: Problem,
    result: Result,
    objective: float | None,
    references: list[Mapping[str, Any]],
) -> list[str]:
    """Return what a result states against reference values: a false optimum, a false bound.

    Parameters
    ----------
    problem : Problem
    result : Result
    objective : float or None
        That of the point, recomputed.
    references : list of mapping
        With "primal", the best value known, and "lam" where it belongs to one.

    Returns
    -------
    list of str
        One sentence each; empty where nothing contradicts.
    """
    found = []
    for reference in references:
        best = reference.get("primal")
        if not isinstance(best, int | float):
            continue
        lam = reference.get("lam")
        value, bound = _values_at(problem, result, objective, lam)
        where = "" if lam is None else f" at lam={lam:g}"
        if value is not None and result.status == "optimal":
            tolerance = max(TOLERANCE, result.params.rel_gap)
            if worse(value, best, problem.sense, tolerance, problem.value_unit):
                found.append(f"claims the optimum{where} at {value:.10g}, which is {best:.10g}")
        if bound is not None and worse(best, bound, problem.sense, unit=problem.value_unit):
            found.append(f"claims the bound {bound:.10g}{where}, but {best:.10g} is attained")
    return found


def _values_at(
    problem: Problem, result: Result, objective: float | None, lam: float | None
) -> tuple[float | None, float | None]:
    """Return the objective and the bound that a result states at a reference's lam."""
    path = result.path
    if lam is None or result.last_lam == lam:
        return objective, result.bound
    if path is None or path.kind not in ("parametric", "grid", "columnwise"):
        return None, None
    try:
        return float(problem.objective(path.at(lam), lam)), None
    except ValueError:
        return None, None


def _thinned(trace: tuple[tuple[float, float | None, float | None], ...]) -> list[list[Any]]:
    step = max(1, math.ceil(len(trace) / _TRACE))
    rows = [trace[k] for k in range(0, len(trace), step)]
    if trace and rows[-1] != trace[-1]:
        rows.append(trace[-1])
    return [[_number(value) for value in row] for row in rows]


def _number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


if __name__ == "__main__":
    main()
