"""What all formulations share: a solver as they see it, and the way from its answer to a result."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

from sparseopt.backend import Control
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Limit, Result, Status

from ...common.outcome import Answer, Outcome
from ...common.program import Program

ROUNDING = 1e-7
"""By how much a bound may exclude a point that the solver allows some violation."""
GAP = 0.5
"""Share of the asked gap that solvers are asked for: the rest is for translating back."""


class Solver(Protocol):
    """A solver of programs; see :class:`~sparseopt.solvers.adapters.adapter.Adapter`."""

    name: ClassVar[str]
    semidefinite: ClassVar[bool]
    convex_objectives: ClassVar[bool]
    indicators: ClassVar[bool]
    reach: ClassVar[float]

    def ask(
        self,
        program: Program,
        control: Control,
        options: Mapping[str, Any],
        *,
        rel_gap: float,
        abs_gap: float = 0.0,
        start: Array | None = None,
        spent: int = 0,
    ) -> Answer:
        """Solve a program."""


@dataclass(frozen=True)
class Formulation:
    """How the problems of one class become programs of a solver.

    Attributes
    ----------
    problem : type of Problem
    solve : callable
        Takes the problem, the solver, its options and the control; returns the result.
    refusal : callable, optional
        Takes the problem and the solver; returns why this one is not taken, "" if it is.
    chosen_up_to : pair of str and int, optional
        A dimension of `problem.size`, and its largest value for ``backend="auto"``: beyond it a
        tree search has little hope.
    """

    problem: type[Any]
    solve: Callable[[Any, Solver, Mapping[str, Any], Control], Result]
    refusal: Callable[[Any, Solver], str] = lambda problem, solver: ""
    chosen_up_to: tuple[str, int] | None = None


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
