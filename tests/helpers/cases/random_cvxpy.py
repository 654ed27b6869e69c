"""Random CVXPY problems of small whole numbers, and their optima by enumeration and Clarabel."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import cvxpy as cp
import numpy as np

Discrete = tuple[Any, Sequence[int]]
"""A variable, and the values that its entries may have."""


def draw(seed: int) -> tuple[Any, list[Discrete]]:
    """Return a problem and its discrete variables.

    Boolean, integer and real variables, often a symmetric matrix; rows, norms, squares, quotients
    and matrix inequalities; some are infeasible, some unbounded.
    """
    rng = np.random.default_rng(seed)
    variables, discrete, constraints = [], [], []
    if count := int(rng.integers(0, 4)):
        boolean = cp.Variable(count, boolean=True)
        variables.append(boolean)
        discrete.append((boolean, (0, 1)))
    if rng.random() < 0.5:
        integer = cp.Variable(1, integer=True)
        variables.append(integer)
        discrete.append((integer, range(-2, 3)))
        constraints += [integer >= -2, integer <= 2]
    real = cp.Variable(int(rng.integers(1, 4)))
    variables.append(real)
    if rng.random() < 0.75:
        constraints += [real <= rng.integers(1, 6), real >= -rng.integers(0, 5)]
    x: Any = cp.hstack(variables)
    matrix = None
    if rng.random() < 0.4:
        k = int(rng.integers(2, 4))
        matrix = cp.Variable((k, k), PSD=True) if rng.random() < 0.5 else _symmetric(k)
        constraints += [cp.lambda_max(matrix) <= 4, cp.lambda_min(matrix) >= -3]
    constraints += [_constraint(rng, x) for _ in range(int(rng.integers(1, 4)))]
    objective = _objective(rng, x, matrix)
    sense = cp.Maximize(-objective) if rng.random() < 0.4 else cp.Minimize(objective)
    return cp.Problem(sense, constraints), discrete


def _symmetric(k: int) -> Any:
    return cp.Variable((k, k), symmetric=True)


def _whole(rng: np.random.Generator, *shape: int) -> Any:
    return np.round(2.0 * rng.normal(size=shape))


def _constraint(rng: np.random.Generator, x: Any) -> Any:
    kind, n = int(rng.integers(7)), x.shape[0]
    u = _whole(rng, 2, n) @ x + _whole(rng, 2)
    if kind == 0:
        return _whole(rng, n) @ x <= rng.integers(-1, 6)
    if kind == 1:
        return _whole(rng, n) @ x == rng.integers(-2, 3)
    if kind == 2:
        return cp.norm(u) <= rng.integers(1, 6) + (x[0] if rng.random() < 0.5 else 0)
    if kind == 3:
        return cp.sum_squares(u) <= rng.integers(1, 16)
    if kind == 4:
        return cp.quad_over_lin(u, x[n - 1] + 6) <= rng.integers(1, 9)
    if kind == 5:
        return cp.norm1(u) <= rng.integers(1, 8)
    parts = _whole(rng, n + 1, 3, 3)
    constant = parts[n] @ parts[n].T
    return sum(x[j] * (parts[j] + parts[j].T) for j in range(n)) + constant >> 0


def _objective(rng: np.random.Generator, x: Any, matrix: Any) -> Any:
    kind, n = int(rng.integers(5)), x.shape[0]
    objective = _whole(rng, n) @ x
    if matrix is not None:
        costs = _whole(rng, *matrix.shape)
        objective += cp.trace((costs + costs.T) @ matrix)
    u = _whole(rng, 2, n) @ x + _whole(rng, 2)
    more = (0.0, cp.sum_squares(u), cp.norm(u), cp.max(u), cp.norm1(u))
    return objective + more[kind]


def optimum(problem: Any, discrete: Sequence[Discrete]) -> tuple[str, float | None]:
    """Return the status and the value that Clarabel finds over all values of discrete variables.

    The status is "unknown" where Clarabel is in doubt about some of them.
    """
    stand_ins = {variable.id: cp.Variable(variable.shape) for variable, _ in discrete}
    fixed = [cp.Parameter(variable.shape) for variable, _ in discrete]

    def real(expression: Any) -> Any:
        if isinstance(expression, cp.Variable):
            return stand_ins.get(expression.id, expression)
        return (
            expression.copy([real(part) for part in expression.args])
            if expression.args
            else (expression)
        )

    equal = [stand_ins[v.id] == p for (v, _), p in zip(discrete, fixed, strict=True)]
    relaxed = cp.Problem(real(problem.objective), [*map(real, problem.constraints), *equal])
    sign = 1.0 if isinstance(problem.objective, cp.Minimize) else -1.0
    best, found = None, set()
    choices = [itertools.product(values, repeat=v.shape[0]) for v, values in discrete]
    for choice in itertools.product(*choices):
        for parameter, values in zip(fixed, choice, strict=True):
            parameter.value = np.array(values, dtype=float)
        try:
            relaxed.solve(solver=cp.CLARABEL)
        except cp.SolverError:
            return "unknown", None
        found.add(relaxed.status)
        if relaxed.status == "optimal":
            value = float(relaxed.value)
            best = value if best is None or sign * value < sign * best else best
    if "unbounded" in found:
        return "unbounded", None
    if found - {"optimal", "infeasible"}:
        return "unknown", None
    return ("infeasible", None) if best is None else ("optimal", best)
