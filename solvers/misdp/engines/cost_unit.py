"""Costs so small that relaxations would take them for zero, solved in a unit of their own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Result

from ..settings import TINY_COSTS

_IN_COSTS = ("rows", "cones", "psd", "interior_rows", "interior_cones", "interior_psd")
_OBJECTIVES = ("pool_objective", "pool_bound")

Solve = Callable[[MISDP, SolveParams, Mapping[str, Any], Control], Result]


def unit_of_costs(problem: MISDP) -> float:
    """Return the power of two by which costs are to be divided, without rounding; 1 as a rule.

    It brings the largest cost between 1 and 2 where that is less than :data:`TINY_COSTS`: what a
    relaxation's solver leaves of its gap is not relative to costs below that. A quadratic objective
    has units in its own terms and is left as it is.

    Parameters
    ----------
    problem : MISDP
    """
    largest = float(np.abs(problem.c).max(initial=0.0))
    if problem.Q is not None or not 0.0 < largest < TINY_COSTS:
        return 1.0
    return float(np.exp2(np.floor(np.log2(largest))))


def in_unit_of_costs(
    solve: Solve,
    problem: MISDP,
    params: SolveParams,
    options: Mapping[str, Any],
    control: Control,
) -> Result:
    """Solve a problem with its costs divided by their unit; return the result in the user's.

    Parameters
    ----------
    solve : callable
        Solves the problem that is left.
    problem : MISDP
    params : SolveParams
    options : mapping
    control : Control

    Returns
    -------
    Result
    """
    unit = unit_of_costs(problem)
    if unit == 1.0:
        return solve(problem, params, options, control)
    divided = problem.with_changes(c=problem.c / unit, offset=problem.offset / unit)
    control.unit = unit
    control.params = asked = replace(params, abs_gap=params.abs_gap / unit)
    try:
        result = solve(divided, asked, options, control)
    finally:
        control.unit, control.params = 1.0, params
    certificate = result.certificate
    if certificate is not None:
        changed = {
            name: array * unit
            for name, array in certificate.arrays.items()
            if name in _OBJECTIVES or (name in _IN_COSTS and certificate.kind.endswith("leaves"))
        }
        certificate = replace(certificate, arrays={**certificate.arrays, **changed})
    return result.with_changes(
        objective=_times(result.objective, unit),
        bound=_times(result.bound, unit),
        trace=tuple((s, _times(o, unit), _times(b, unit)) for s, o, b in result.trace),
        certificate=certificate,
    )


def _times(value: float | None, unit: float) -> float | None:
    return None if value is None else value * unit
