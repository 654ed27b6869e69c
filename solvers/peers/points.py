"""Results from what a peer finds at single values of lam."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.paths.parametric import GridPath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.result import Certificate, Limit, Result, Status


@dataclass(frozen=True)
class Point:
    """What a peer says at one lam.

    Attributes
    ----------
    lam : float
    theta : array or None
    raw : str
        Its own words.
    exact : bool
        Whether its method ends at an exact optimum, or near one.
    nu : array or None
        Row multipliers, of the few peers that give any.
    iterations : int or None
    limit : Limit or None
    """

    lam: float
    theta: Array | None
    raw: str
    exact: bool
    nu: Array | None = None
    iterations: int | None = None
    limit: Limit | None = None


def answer(
    problem: ParametricProblem,
    lam: float | tuple[float, ...],
    solve: Callable[[float], Point],
    control: Control,
) -> Result:
    """Answer for one value of lam, or for a grid, the largest first.

    Parameters
    ----------
    problem : ParametricProblem
    lam : float or tuple of float
    solve : callable
        Returns the Point of a value of lam.
    control : Control

    Returns
    -------
    Result
    """
    if isinstance(lam, float):
        return _single(problem, solve(lam))
    values = sorted(set(lam), reverse=True)
    done: list[Point] = []
    last = None
    for value in values:
        control.progress(f"lam {value:.4g}", fraction=len(done) / len(values))
        last = solve(value)
        if last.theta is None:
            break
        done.append(last)
    assert last is not None
    if not done:
        return _nothing(last)
    return _grid(problem, done, None if last.theta is not None else last)


def _single(problem: ParametricProblem, point: Point) -> Result:
    if point.theta is None:
        return _nothing(point)
    objective = problem.objective(point.theta, point.lam)
    # An exact method without multipliers claims that its objective is the optimum.
    known: dict[str, Any] = {"bound": objective} if point.exact else {}
    if point.nu is not None:
        bound = problem.canonical_sign * problem.canonical().dual_value(point.nu, point.lam)
        known = {
            "bound": bound,
            "duals": {"rows": point.nu},
            "certificate": Certificate("dual", {"nu": point.nu}),
        }
    return Result(
        status=Status.OPTIMAL if point.exact else Status.CONVERGED,
        raw_status=point.raw,
        x=point.theta,
        objective=objective,
        iterations=point.iterations,
        **known,
    )


def _nothing(point: Point) -> Result:
    if point.limit is None:
        return Result(status=Status.NUMERICAL_ERROR, raw_status=point.raw)
    return Result(status=Status.NO_SOLUTION, limit=point.limit, raw_status=point.raw)


def _grid(problem: ParametricProblem, done: list[Point], ended: Point | None) -> Result:
    """Collect the points; `ended` is the one that has no solution, after which there is no more."""
    program, sign = problem.canonical(), problem.canonical_sign
    # A peer without multipliers gets those that prove the least: zeros.
    nu = [np.zeros(program.A.shape[0]) if point.nu is None else point.nu for point in done]
    bounds = [sign * program.dual_value(v, p.lam) for v, p in zip(nu, done, strict=True)]
    proven = all(point.nu is not None for point in done)
    limit = None if ended is None else ended.limit or Limit.SLOW_PROGRESS
    status = Status.OPTIMAL if all(point.exact for point in done) else Status.CONVERGED
    path = GridPath(
        knots=np.array([point.lam for point in done]),
        theta=np.array([point.theta for point in done]),
        nu=np.array(nu),
        values=np.array([problem.objective(p.theta, p.lam) for p in done if p.theta is not None]),
        bounds=np.array(bounds),
        names=problem.coefficient_names,
        stopped_by="grid" if limit is None else limit.value,
    )
    known: dict[str, Any] = {"bound": float(path.values[-1])} if status is Status.OPTIMAL else {}
    if proven:
        known = {
            "bound": bounds[-1],
            "duals": {"rows": nu[-1]},
            "certificate": Certificate("dual-grid"),
        }
    counts = [point.iterations for point in done]
    return Result(
        status=status if limit is None else Status.FEASIBLE,
        limit=limit,
        raw_status=(ended or done[-1]).raw,
        x=path.theta[-1],
        objective=float(path.values[-1]),
        path=path,
        iterations=None if None in counts else sum(count or 0 for count in counts),
        **known,
    )
