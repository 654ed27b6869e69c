"""False paths of quantile regression over all levels, some made to be believed.

What is large hides the rest: one weight, or what all observations have in common.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from sparseopt import Result, Status
from sparseopt.estimators.parametric.levels import program_in_odds
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.solvers.homotopy.quantiles import solve_quantiles

Array = np.ndarray
Rng = np.random.Generator
Attack = tuple[str, Any, Result]


def quantile_attacks(rng: Rng) -> Iterator[Attack]:
    """Yield the kind, the problem and a path that is not its own."""
    yield heavy_weight(rng)
    yield large_offset(rng)
    problem = draw(rng)
    true = solve_quantiles(problem)
    if true is not None:
        yield from changed(problem, true, rng)


def draw(rng: Rng, offset: float = 0.0, weights: Array | None = None) -> Any:
    """Return a regression of 9 to 20 observations on one column, with an intercept."""
    n = int(rng.integers(9, 21)) if weights is None else len(weights)
    Z = np.column_stack([rng.normal(size=n), np.ones(n)])
    y = offset + 2.0 * Z[:, 0] + rng.normal(size=n)
    weights = rng.choice([1.0, 2.0, 0.5], n) if weights is None else weights
    return program_in_odds(Z, y, np.zeros(2), weights, None)


def heavy_weight(rng: Rng) -> Attack:
    """Return one basis for all levels: the heaviest observation and a light one, whichever."""
    weights = np.ones(9)
    weights[0] = 10.0 ** rng.uniform(10.5, 15.0)
    problem = draw(rng, weights=weights)
    Z, y = problem.A.as_array(), problem.psi.kink
    basis = np.array([0, int(rng.integers(1, 9))])
    theta = np.linalg.solve(Z[basis], y[basis])
    residual = y - Z @ theta
    residual[basis] = 0.0
    below = np.flatnonzero(residual < 0.0)
    path = QuantilePath(
        design=Z,
        y=y,
        counts=weights,
        levels=np.array([0.0, 1.0]),
        theta=theta[None],
        bases=basis[None],
        leaving=below,
        above=np.zeros(len(below), dtype=bool),
        moves=np.array([len(below)]),
        names=problem.coefficient_names,
    )
    return "a heavy weight", problem, claimed(problem, path)


def large_offset(rng: Rng) -> Attack:
    """Return the path of other observations, with the same offset."""
    offset, ones = 10.0 ** rng.uniform(9.7, 12.0), np.ones(12)
    drawn = draw(rng, offset, ones)
    y, far = drawn.psi.kink.copy(), np.zeros(12)
    # Half of the time the residual of one observation is larger than all others together.
    far[0] = offset * rng.choice([0.0, 1e3])
    problem, other = (
        program_in_odds(drawn.A, values + far, np.zeros(2), ones, None)
        for values in (y, y + rng.normal(size=12))
    )
    true = solve_quantiles(other)
    assert true is not None
    path = replace(true.path, y=problem.psi.kink)
    return "a large offset", problem, claimed(problem, path)


def changed(problem: Any, true: Result, rng: Rng) -> Iterator[Attack]:
    """Yield a true path with one of its arrays changed."""
    path: Any = true.path
    count = len(path.theta)
    s = int(rng.integers(1, count - 1))
    levels, theta, above = path.levels.copy(), path.theta.copy(), path.above.copy()
    step = levels[s + 1] - levels[s]
    levels[s] += rng.choice([-1.0, 1.0]) * min(0.5, 10.0 ** rng.uniform(-5.0, 0.0)) * step
    levels[s] = np.clip(levels[s], levels[s - 1] + 1e-6 * step, levels[s + 1] - 1e-6 * step)
    yield "levels moved", problem, claimed(problem, replace(path, levels=levels))
    theta[s] = theta[s - 1]
    yield "coefficients of another segment", problem, claimed(problem, replace(path, theta=theta))
    k = int(rng.integers(path.moves[-1]))
    above[k] = not above[k]
    yield "a side turned", problem, claimed(problem, replace(path, above=above))
    merged = {
        name: np.delete(getattr(path, name), s, axis=0) for name in ("theta", "bases", "moves")
    }
    merged["levels"] = np.delete(path.levels, s)
    yield "a segment left out", problem, claimed(problem, replace(path, **merged))
    for value in (np.nan, np.inf, 1e308):
        bad = path.theta.copy()
        bad[s, 0] = value
        yield "hostile numbers", problem, claimed(problem, replace(path, theta=bad))
        bad = path.levels.copy()
        bad[s] = value
        yield "hostile numbers", problem, claimed(problem, replace(path, levels=bad))


def claimed(problem: Any, path: QuantilePath) -> Result:
    """Return the result that states a path."""
    return Result(
        status=Status.OPTIMAL,
        x=path.theta[0],
        objective=0.0,
        bound=0.0,
        path=path,
        kind=problem.kind,
        problem=problem,
    )
