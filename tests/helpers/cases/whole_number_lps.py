"""Parametric LPs of small whole numbers, where ranges of lam end, meet in a point, or are empty.

The feasible values of lam and those at which the dual is feasible are intervals; SciPy's linprog
finds their ends, with lam as one more variable. Where the two have a value in common, the problem
has an optimum there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import linprog

from sparseopt.problems import ParametricLP

Array = np.ndarray


def draw_whole(rng: np.random.Generator, form: Any) -> ParametricLP:
    """Return a small problem with whole coefficients, half of them zero now and then."""
    m = int(rng.integers(1, 4 if form == "equality" else 5))
    n = int(rng.integers(1, 6))
    shapes: list[Any] = [(m, n), m, m, n, n]
    return ParametricLP(*(whole_numbers(rng, shape) for shape in shapes), form=form)


def expected_status(problem: ParametricLP) -> str:
    """Return the status of the path from lam = 0 on."""
    feasible, dual = _feasible(problem), _dual(problem)
    if feasible is None:
        return "infeasible"
    if dual is None or max(feasible[0], dual[0]) > min(feasible[1], dual[1]) + 1e-9:
        return "unbounded"
    return "optimal"


def whole_numbers(rng: np.random.Generator, shape: Any, largest: int = 2) -> Array:
    """Return whole numbers up to some size, three times of ten about half of them zero."""
    numbers = rng.integers(-largest, largest + 1, shape).astype(float)
    return numbers * (rng.random(shape) < 0.5) if rng.random() < 0.3 else numbers


def _feasible(problem: ParametricLP) -> tuple[float, float] | None:
    matrix = np.column_stack([problem.A, -problem.b_bar])
    rows = ("A_eq", "b_eq") if problem.form == "equality" else ("A_ub", "b_ub")
    return _range(dict(zip(rows, (matrix, problem.b), strict=True)), [(0.0, None)] * len(problem.c))


def _dual(problem: ParametricLP) -> tuple[float, float] | None:
    matrix = np.column_stack([-problem.A.T, problem.c_bar])
    least = None if problem.form == "equality" else 0.0
    return _range({"A_ub": matrix, "b_ub": -problem.c}, [(least, None)] * len(problem.b))


def _range(rows: dict[str, Array], bounds: list[Any]) -> tuple[float, float] | None:
    ends = []
    for sign in (1.0, -1.0):
        cost = np.append(np.zeros(len(bounds)), sign)
        found = linprog(
            cost, **rows, bounds=[*bounds, (0.0, None)], method="highs", options={"presolve": False}
        )
        if found.status == 2:
            return None
        assert found.status in (0, 3)
        ends.append(float(found.x[-1]) if found.status == 0 else -sign * np.inf)
    return ends[0], ends[1]
