"""Mixed-integer conic and semidefinite programs for solvers that take them as they are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.indicators import IndicatorConstraint
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Limit, Result, Status

from ...common.misdp_standard_form import StandardForm, endless_indicators
from ...common.outcome import Answer, Outcome
from ...common.program import Cone, IndicatorRow, Program, PSDBlock
from ...common.warm_start import warm_point
from .base import GAP, Formulation, Solver, result_of

_NO_OPTIMUM: Mapping[Outcome, Status] = {
    Outcome.INFEASIBLE: Status.INFEASIBLE,
    Outcome.UNBOUNDED: Status.UNBOUNDED,
    Outcome.UNDECIDED: Status.INF_OR_UNB,
}


def _refusal(problem: MISDP, solver: Solver) -> str:
    """Return why a solver does not take the problem, "" if it does."""
    name = solver.name
    if any(block.rank_one for block in problem.blocks):
        return f"{name} does not ask matrices for rank one: use misdp-bnb or misdp-oa"
    if problem.blocks and not solver.semidefinite:
        return f"{name} takes no semidefinite blocks: use misdp-bnb or misdp-oa"
    if problem.blocks and problem.integer.any():
        return f"{name} takes no integers beside semidefinite blocks: use misdp-bnb or misdp-oa"
    endless = endless_indicators(problem)
    if endless and not solver.indicators:
        return (
            f"{name} is given indicators as rows with proven bounds, and the row of indicator "
            f"{endless[0]} has none: give its variables bounds, or use misdp-bnb or misdp-oa"
        )
    return ""


def solve_conic(
    problem: MISDP, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Solve the problem in its standard form; indicators stay where the solver has such rows.

    Parameters
    ----------
    problem : MISDP
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    with control.building():
        native = problem.indicators if solver.indicators else ()
        form = StandardForm(replace(problem, indicators=()) if native else problem)
        program = replace(conic_program(form.problem), indicators=tuple(map(_native, native)))
    return form.answer(_solve_standard(form, program, solver, options, control))


def _native(row: IndicatorConstraint) -> IndicatorRow:
    """Return an indicator of x, whose columns are the program's first ones."""
    return IndicatorRow(row.binary, row.a.indices, row.a.data, row.lower, row.upper)


def _solve_standard(
    form: StandardForm,
    program: Program,
    solver: Solver,
    options: Mapping[str, Any],
    control: Control,
) -> Result:
    """Solve the standard form."""
    params, problem = control.params, form.problem
    answer = solver.ask(
        program,
        control,
        options,
        rel_gap=GAP * params.rel_gap,
        abs_gap=GAP * params.abs_gap,
        start=_start(control.warm_start, form),
    )
    if answer.outcome in _NO_OPTIMUM and (
        answer.x is None or answer.outcome is not Outcome.INFEASIBLE
    ):
        return Result(
            status=_NO_OPTIMUM[answer.outcome],
            raw_status=answer.raw,
            iterations=answer.iterations,
            nodes=answer.nodes,
        )
    if _too_far(program, answer, solver.reach):
        control.notes.append(
            f"{solver.name} may not look beyond {solver.reach:g} for variables without a bound, "
            "and its optimum is there: give them bounds"
        )
        limit = answer.limit or Limit.SLOW_PROGRESS
        answer = replace(answer, outcome=Outcome.LIMIT, limit=limit, bound=None)
    sign = 1.0 if problem.sense == "min" else -1.0
    x = _point(problem, answer)
    bound = None if answer.bound is None else sign * answer.bound
    scale = 1.0 if x is None else problem.objective_scale(x)
    return result_of(problem, answer, x, bound, scale, control)


def _too_far(program: Program, answer: Answer, reach: float) -> bool:
    """Return whether a variable without a bound is so far away."""
    if answer.x is None or program.linear:
        return False
    above, below = np.isinf(program.high), np.isinf(program.low)
    return bool(((answer.x >= reach) & above | (answer.x <= -reach) & below).any())


def conic_program(problem: MISDP) -> Program:
    """Return the program; the columns are x, and u = F x + g of the cones one after the other.

    Parameters
    ----------
    problem : MISDP

    Returns
    -------
    Program
    """
    n = len(problem.c)
    sign = 1.0 if problem.sense == "min" else -1.0
    extra = sum(cone.dimension for cone in problem.cones)
    blocks: list[Any] = [sp.hstack([problem.A, sp.csr_array((problem.A.shape[0], extra))])]
    low, high = [problem.row_lower], [problem.row_upper]
    cones = []
    if problem.cones:
        F = sp.vstack([cone.F for cone in problem.cones])
        blocks.append(sp.hstack([F, -sp.identity(extra)]))
        sides = -np.concatenate([cone.g for cone in problem.cones])
        low.append(sides)
        high.append(sides)
        ends = n + np.cumsum([0, *(cone.dimension for cone in problem.cones)])
        cones = [
            Cone(np.arange(first, last), cone.rotated)
            for first, last, cone in zip(ends[:-1], ends[1:], problem.cones, strict=True)
        ]
    return Program(
        cost=np.append(sign * problem.c, np.zeros(extra)),
        low=np.append(problem.lower, np.full(extra, -np.inf)),
        high=np.append(problem.upper, np.full(extra, np.inf)),
        matrix=sp.csc_array(sp.vstack(blocks)),
        row_low=np.concatenate(low),
        row_high=np.concatenate(high),
        offset=sign * problem.offset,
        integer=np.append(problem.integer, np.zeros(extra, dtype=bool)),
        cones=tuple(cones),
        psd=tuple(
            PSDBlock(
                block.size,
                sp.csc_array(
                    sp.hstack([block.F, sp.csr_array((block.dimension, extra))])
                    if extra
                    else block.F
                ),
                block.F0,
            )
            for block in problem.blocks
        ),
    )


def _start(given: Any, form: StandardForm) -> Array | None:
    x = warm_point(given, len(form.given.c))
    if x is None:
        return None
    problem, x = form.problem, form.down(x)
    return np.concatenate([x, *(cone.value(x) for cone in problem.cones)])


def _point(problem: MISDP, answer: Answer) -> Array | None:
    """Return x with its integers rounded and its bounds kept."""
    if answer.x is None:
        return None
    x = np.clip(answer.x[: len(problem.c)], problem.lower, problem.upper)
    return np.where(problem.integer, np.rint(x), x)


CONIC = Formulation(MISDP, solve_conic, refusal=_refusal)
