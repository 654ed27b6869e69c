"""From a solver's answer about a program to the status of a problem with a tree search."""

from __future__ import annotations

from typing import Any

from sparseopt.backend import Control
from sparseopt.errors import ParamError
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Limit, Result, Status

from ..common.outcome import Outcome
from .answer import Answer

__all__ = ["GAP", "result_of", "warm_point"]

ROUNDING = 1e-7
"""By how much a bound may exclude a point that the solver allows some violation."""
GAP = 0.5
"""Share of the asked gap that solvers are asked for: the rest is for translating back."""


def result_of(
    problem: Problem,
    answer: Answer,
    x: Array | None,
    bound: float | None,
    scale: float,
    control: Control,
) -> Result:
    """Return the result for a point that was translated back, and a bound in the problem's units.

    Parameters
    ----------
    problem : Problem
        One that has an optimum.
    answer : Answer
    x : array or None
        A feasible point.
    bound : float or None
    scale : float
        Size of the objective's terms: 1e-9 of it counts as rounding.
    control : Control
    """
    common: dict[str, Any] = {
        "raw_status": answer.raw,
        "iterations": answer.iterations,
        "nodes": answer.nodes,
    }
    limit = answer.limit
    if x is None:
        if answer.outcome is not Outcome.LIMIT:
            return Result(status=Status.NUMERICAL_ERROR, **common)
        return Result(status=Status.NO_SOLUTION, limit=limit, bound=bound, **common)
    objective = problem.objective(x)
    sign = 1.0 if problem.sense == "min" else -1.0
    size = max(scale, abs(objective))
    if bound is not None and sign * (bound - objective) > ROUNDING * size:
        control.notes.append(
            f"the solver's bound {bound:.9g} excludes its own point, whose objective is "
            f"{objective:.9g}: the bound was dropped"
        )
        bound = None
    if bound is not None:
        bound = sign * min(sign * bound, sign * objective)
        params = control.params
        allowed = max(
            params.abs_gap,
            params.rel_gap * max(abs(objective), abs(bound)),
            1e-9 * scale,
        )
        if abs(objective - bound) <= allowed:
            return Result(status=Status.OPTIMAL, x=x, objective=objective, bound=bound, **common)
    if answer.outcome is not Outcome.LIMIT:
        limit = control.limit() or Limit.SLOW_PROGRESS
    return Result(
        status=Status.FEASIBLE, limit=limit, x=x, objective=objective, bound=bound, **common
    )


def warm_point(given: Any, length: int) -> Array | None:
    """Return the point of a warm start, a Result or an array.

    Raises
    ------
    ParamError
        When it has another length or is not finite.
    """
    import numpy as np

    point = given.x if isinstance(given, Result) else given
    if point is None:
        return None
    point = np.asarray(point, dtype=float)
    if point.shape != (length,) or not np.isfinite(point).all():
        raise ParamError(
            f"warm_start has a point of shape {point.shape}; expected ({length},), finite numbers"
        )
    return np.asarray(point)
