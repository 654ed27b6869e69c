"""Local search on the integers of the incumbent: one variable by one, and exchanges of two."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from .points import Points

__all__ = ["improve"]


def improve(
    points: Points, costs: Array, control: Control, budget: int, enough: Callable[[], bool]
) -> int:
    """Move to better neighbours of the incumbent until there is none, or the budget is spent.

    Parameters
    ----------
    points : Points
    costs : array of shape (n,)
        Of the minimisation.
    control : Control
    budget : int
        Choices of the integers that may be tried.
    enough : callable
        Whether the incumbent is good enough to stop.

    Returns
    -------
    int
        How many were tried.
    """
    problem = points.problem
    whole = problem.integer
    low, high, c = problem.lower[whole], problem.upper[whole], costs[whole]
    mixed = bool(costs[~whole].any())
    tried = 0
    random = np.random.default_rng(control.params.seed)
    moved = True
    while moved and points.best is not None:
        moved = False
        current = points.best[whole]
        for neighbour in _neighbours(current, low, high, c, mixed, random):
            if tried >= budget or control.limit() is not None:
                return tried
            tried += 1
            value = points.value
            points.complete(neighbour)
            if points.value < value:
                moved = not enough()
                break
    return tried


def _neighbours(
    current: Array, low: Array, high: Array, c: Array, mixed: bool, random: np.random.Generator
) -> Iterator[Array]:
    """Return neighbours, those that save most by the integers' costs first.

    Where the continuous variables have costs, neighbours that cost more are among them.
    """
    q = len(current)
    steps = [
        (float(c[j] * step), j, step)
        for j in range(q)
        for step in (-1.0, 1.0)
        if low[j] <= current[j] + step <= high[j] and (mixed or c[j] * step < 0.0)
    ]
    for _, j, step in sorted(steps, key=lambda move: move[0]):
        neighbour = current.copy()
        neighbour[j] += step
        yield neighbour
    every = [
        (j, step)
        for j in range(q)
        for step in (-1.0, 1.0)
        if low[j] <= current[j] + step <= high[j]
    ]
    pairs = [
        (c[j] * a + c[k] * b, j, a, k, b)
        for t, (j, a) in enumerate(every)
        for k, b in every[t + 1 :]
        if j != k and (mixed or c[j] * a + c[k] * b < 0.0)
    ]
    for t in random.permutation(len(pairs)).tolist():
        _, j, a, k, b = pairs[t]
        neighbour = current.copy()
        neighbour[j] += a
        neighbour[k] += b
        yield neighbour
