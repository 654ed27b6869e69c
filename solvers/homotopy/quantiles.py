r"""Quantile regression at all levels: from tau = 0 to 1 over bases of p observations.

The dual of quantile regression is, with u_i = w_i a_i,

    max y'u   subject to   Z'u = (1 - tau) Z'w,   0 <= u_i <= w_i:

u_i = w_i above the fit, 0 below it, and of the p observations h in the basis
u_h = B^-T ((1 - tau) Z'w - sum_above w_i z_i) with B = Z_h, linear in tau. At the level where one
of them meets 0 or w_i that observation leaves to one side of the fit, along the column of B^-1
that keeps the others on it, and the first one that the fit then meets enters (Koenker, d'Orey:
Computing regression quantiles, 1987). A pivot costs one product with Z and O(p^2).

This is the parametric simplex method of :mod:`.core` for a tall dense program of which only p
multipliers change with the parameter: nothing else is stored for a segment.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import linprog

from sparseopt.paths.quantiles import QuantilePath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Result, Status

__all__ = ["quantile_path", "solve_quantiles"]

_OFFSET = 1e-11
"""Size of the random offsets that decide ties, relative to the responses, and to the terms of Z'w:
a hundredth of what the checker allows, and far above rounding."""

_STILL = 1e-13
"""Difference of levels that is none, and rates of multipliers that are zero, relative."""

_REFRESH = 100
"""Pivots between two factorizations, and between two looks at the clock."""

_PIVOTS = 100
"""Pivots for each observation after which the walk is given up. There are about 3 in practice."""


def quantile_path(
    design: Array,
    y: Array,
    counts: Array,
    names: Sequence[str],
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> QuantilePath | None:
    """Follow quantile regression over all levels.

    Parameters
    ----------
    design : array of shape (n, p)
        With n > p, and of rank p.
    y, counts : arrays of shape (n,)
        The responses, and weights > 0.
    names : sequence of p str
    seed : int, default 0
        Of the offsets that decide ties.
    stop : callable
        Returns whether to give up.

    Returns
    -------
    QuantilePath or None
        None where the walk has no start (the design has dependent columns, or no fit has all
        observations above it), breaks down, or is stopped.
    """
    n, p = design.shape
    if n <= p:
        return None
    rng = np.random.default_rng(seed)
    # Powers of two, so that columns in other units cost no digits.
    largest = np.abs(design).max(axis=0)
    unit = np.exp2(np.ceil(np.log2(np.where(largest > 0.0, largest, 1.0))))
    given, design = design, design / unit
    total = counts @ design
    size = np.abs(y)
    apart = y + _OFFSET * np.maximum(size, size.mean()) * rng.uniform(-1.0, 1.0, n)
    turned = total + _OFFSET * (counts @ np.abs(design)) * rng.uniform(-1.0, 1.0, p)
    try:
        basis = _start(design, apart, turned)
        if basis is None:
            return None
        path = _walk(design, y, counts, names, (apart, total, turned), basis, stop)
    except np.linalg.LinAlgError:
        return None
    return None if path is None else replace(path, design=given, theta=path.theta / unit)


def solve_quantiles(
    problem: PiecewiseLinearProgram, time_limit: float | None = None
) -> Result | None:
    """Follow the levels of a quantile regression without a penalty.

    Parameters
    ----------
    problem : PiecewiseLinearProgram
        Whose parameter is the odds of the level: min sum_i w_i (r_i)+ + odds w_i (-r_i)+ with
        r = A theta - y.
    time_limit : float, optional
        In seconds.

    Returns
    -------
    Result or None
        Unchecked; None as in :func:`quantile_path`.
    """
    counts = problem.psi.slope[1::2]
    rows = counts > 0.0
    begin = time.perf_counter()
    path = quantile_path(
        problem.A.as_array()[rows],
        problem.psi.kink[rows],
        counts[rows],
        problem.coefficient_names,
        stop=lambda: time_limit is not None and time.perf_counter() - begin > time_limit,
    )
    if path is None:
        return None
    return Result(
        status=Status.OPTIMAL,
        raw_status=path.stopped_by,
        path=path,
        x=path.theta[0],
        objective=0.0,  # at the level 0 no observation lies below the fit
        bound=0.0,
        solve_time=time.perf_counter() - begin,
        iterations=len(path.leaving),
        backend="homotopy",
        problem=problem,
        kind=problem.kind,
    )


def _start(design: Array, y: Array, total: Array) -> Array | None:
    """Return the basis at tau = 0: all on or above the fit, and it as high as possible.

    HiGHS finds it up to its tolerance; dual simplex steps put what is below the fit by less right.
    """
    n, p = design.shape
    found = linprog(-total, A_ub=design, b_ub=y, bounds=(None, None), method="highs-ds")
    if found.status != 0:
        return None
    size = np.abs(found.ineqlin.marginals)
    order = found.ineqlin.residual / np.abs(y).max() - size / size.max()
    basis = np.argsort(order, kind="stable")[:p]
    for _ in range(n):
        inverse = np.linalg.inv(design[basis])
        residual = y - design @ (inverse @ y[basis])
        residual[basis] = 0.0
        price = total @ inverse
        if (price < -1e-9 * np.abs(price).max()).any():
            return None
        entering = int(np.argmin(residual))
        if residual[entering] >= 0.0:
            return basis
        row = design[entering] @ inverse
        if not (row > 0.0).any():
            return None
        ways = np.where(row > 1e-12, np.maximum(price, 0.0) / np.maximum(row, 1e-300), np.inf)
        basis[int(np.argmin(ways))] = entering
    return None


def _walk(
    design: Array,
    y: Array,
    counts: Array,
    names: Sequence[str],
    perturbed: tuple[Array, Array, Array],
    basis: Array,
    stop: Callable[[], bool],
) -> QuantilePath | None:
    """Pivot from the basis at tau = 0 to tau = 1."""
    n = len(design)
    apart, total, turned = perturbed
    side = np.ones(n)
    side[basis] = 0.0
    rows = np.asfortranarray(design * side[:, None])  # side_i z_i: distances shrink where it grows
    speed, ratio = np.empty(n), np.empty(n)
    inverse, distance, above = _refresh(design, apart, counts, basis, side)
    theta, bases, levels, moves = [], [], [0.0], []
    leaving: list[int] = []
    up: list[bool] = []
    tau, pivots = 0.0, 0
    while True:
        # where each multiplier of the basis meets 0 or its weight
        fall, value = turned @ inverse, (turned - above) @ inverse
        limit = np.where(fall > 0.0, 0.0, counts[basis])
        moving = np.abs(fall) > _STILL * np.abs(fall).max()
        ends = np.where(moving, (value - limit) / np.where(moving, fall, 1.0), np.inf)
        j = int(np.argmin(ends))
        out, down = int(basis[j]), bool(fall[j] > 0.0)
        column = inverse[:, j].copy()
        rate = float(total @ column)
        exact = (float((total - above) @ column) - float(limit[j])) / rate if rate else np.inf
        last = ends[j] >= 1.0 - 1e-12
        reached = 1.0 if last else min(max(exact, tau), 1.0)
        if reached - tau > _STILL:
            theta.append(inverse @ y[basis])
            bases.append(basis.copy())
            moves.append(len(leaving))
            levels.append(reached)
            tau = reached
        if last:
            break
        # the fit turns away from it, up to the first observation that it meets
        np.dot(rows, column if down else -column, out=speed)
        np.divide(speed, distance, out=ratio)
        entering = int(np.argmax(ratio))
        if not ratio[entering] > 0.0:
            return None
        step = distance[entering] / speed[entering]
        np.multiply(speed, step, out=ratio)
        distance -= ratio
        if side[entering] > 0.0:
            above = above - counts[entering] * design[entering]
        if not down:
            above = above + counts[out] * design[out]
        leaving.append(out)
        up.append(not down)
        side[out], side[entering] = -1.0 if down else 1.0, 0.0
        distance[out], distance[entering] = max(step, 0.0), 1.0
        rows[out], rows[entering] = side[out] * design[out], 0.0
        # B^-1 with one row of B replaced
        change = design[entering] @ inverse
        pivot = change[j]
        change[j] -= 1.0
        inverse -= np.outer(column / pivot, change)
        basis[j] = entering
        pivots += 1
        if pivots % _REFRESH == 0:
            if pivots > _PIVOTS * n or stop():
                return None
            inverse, distance, above = _refresh(design, apart, counts, basis, side)
    return QuantilePath(
        design=design,
        y=y,
        counts=counts,
        levels=np.array(levels),
        theta=np.array(theta),
        bases=np.array(bases),
        leaving=np.array(leaving, dtype=np.int64),
        above=np.array(up, dtype=bool),
        moves=np.array(moves, dtype=np.int64),
        names=list(names),
    )


def _refresh(
    design: Array, y: Array, counts: Array, basis: Array, side: Array
) -> tuple[Array, Array, Array]:
    """Return B^-1, the distances from the fit (1 in the basis), and sum_above w_i z_i."""
    inverse = np.linalg.inv(design[basis])
    distance = np.abs(y - design @ (inverse @ y[basis]))
    distance = np.maximum(distance, np.finfo(float).tiny)
    distance[basis] = 1.0
    return inverse, distance, (counts * (side > 0.0)) @ design
