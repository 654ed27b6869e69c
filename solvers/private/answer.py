"""A distribution on the atoms as a result, with the bound that its gradient proves."""

from __future__ import annotations

import math

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Limit, Result, Status, relative_gap

_ROUNDED = 1e-15
"""Gap, relative to the squared distance of the nearest atom, that rounding alone explains."""

_MOVED = 1e-10
"""Change of that distance that is none: less than what the checker allows the data to be off by."""

_SUPPORT = 1e-6
"""Share of an atom, relative to the largest one, from which an interior solution means it."""


def closed(problem: EmbeddingFit, params: SolveParams, value: float, gap: float) -> bool:
    """Return whether a Frank-Wolfe gap is within the one that was asked for.

    Parameters
    ----------
    problem : EmbeddingFit
    params : SolveParams
        Its ``rel_gap`` and ``abs_gap``.
    value : float
        The objective of the point, at least 0.
    gap : float
        What the optimum is below it at most, in the unit of the objective.
    """
    relative = relative_gap(value, max(0.0, value - gap), problem.value_unit)
    within = relative is not None and relative <= params.rel_gap
    return within or min(gap, value) <= max(params.abs_gap, _negligible(problem, value))


def _negligible(problem: EmbeddingFit, value: float) -> float:
    """Return a gap that rounding may leave: atoms that are far away may have no effect."""
    nearest = problem.nearest_term
    return max(_ROUNDED * nearest, 2.0 * _MOVED * math.sqrt(value) * math.sqrt(nearest))


def as_result(
    problem: EmbeddingFit,
    params: SolveParams,
    x: Array,
    steps: int,
    limit: Limit | None,
    raw_status: str = "",
) -> Result:
    """Return the result of a distribution: OPTIMAL where its gap is closed.

    Parameters
    ----------
    problem : EmbeddingFit
    params : SolveParams
    x : array of shape (n,)
        A distribution.
    steps : int
        Iterations.
    limit : Limit, optional
        What ended the solve where the gap is open; CONVERGED without one.
    raw_status : str
    """
    objective, gradient = problem.objective(x), problem.gradient(x)
    gap = float(gradient @ x - gradient.min())
    bound = max(0.0, objective - gap)
    if objective - bound <= _negligible(problem, objective):
        bound = objective
    status = Status.OPTIMAL
    if not closed(problem, params, objective, gap):
        status = Status.CONVERGED if limit is None else Status.FEASIBLE
    return Result(
        status=status,
        limit=limit if status is Status.FEASIBLE else None,
        raw_status=raw_status,
        x=x,
        objective=objective,
        bound=bound,
        iterations=steps,
    )


def polished(problem: EmbeddingFit, x: Array) -> Array:
    """Return the distribution next to x, or the best affine one on its support if that is better.

    Parameters
    ----------
    problem : EmbeddingFit
    x : array of shape (n,)
        Of a solver that works to a tolerance.
    """
    a = np.maximum(x, 0.0)
    a /= a.sum()
    support = np.flatnonzero(a > _SUPPORT * a.max())
    first, rest = support[0], support[1:]
    edges = (problem.Phi[rest] - problem.Phi[first]).T
    share = np.linalg.lstsq(edges, problem.mu - problem.Phi[first], rcond=None)[0]
    best = np.zeros(len(a))
    best[rest], best[first] = share, 1.0 - share.sum()
    inside = best.min() >= 0.0 and problem.objective(best) <= problem.objective(a)
    return best if inside else a
