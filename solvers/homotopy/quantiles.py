r"""Quantile regression at all levels: from tau = 0 to 1 over bases of p observations.

The dual of quantile regression is, with u_i = w_i a_i,

    max y'u   subject to   Z'u = (1 - tau) Z'w,   0 <= u_i <= w_i:

u_i = w_i above the fit, 0 below it, and of the p observations h in the basis
u_h = B^-T ((1 - tau) Z'w - sum_above w_i z_i) with B = Z_h, linear in tau. At the level where one
of them meets 0 or w_i that observation leaves to one side of the fit, along the column of B^-1
that keeps the others on it, and the first one that the fit then meets enters (Koenker, d'Orey:
Computing regression quantiles, 1987). A pivot costs one product with Z and O(p^2).

This is the parametric simplex method of :mod:`.pivots.core` for a tall dense program of which only
p multipliers change with the parameter: nothing else is stored for a segment.
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
    rng = np.random.default_rng(0)
    # Powers of two, so that columns in other units cost no digits.
    largest = np.abs(design).max(axis=0)
    unit = np.exp2(np.ceil(np.log2(np.where(largest > 0.0, largest, 1.0))))
    given, design = design, design / unit
    total = counts @ design
    size = np.abs(y)
    # the median: a response that is far off must not move the others apart
    typical = float(np.median(size[size > 0.0])) if size.any() else 1.0
    apart = y + _OFFSET * np.maximum(size, typical) * rng.uniform(-1.0, 1.0, n)
    turned = total + _OFFSET * (counts @ np.abs(design)) * rng.uniform(-1.0, 1.0, p)
    try:
        basis = _start(design, apart, turned)
        if basis is None:
            return None
        walk = _Walk(design, counts, (apart, total, turned), basis)
        with np.errstate(divide="ignore", invalid="ignore"):  # the fit may meet two at once
            path = _walk(walk, y, names, stop)
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


class _Walk:
    """The pivots from the basis at tau = 0 to tau = 1.

    With Z the design, B = Z[basis], `total` = sum_i w_i z_i and `above` its part over the
    observations above the fit, the multipliers of the basis at the level tau are
    B^-T (tau total - above), and each lies between 0 and its weight until it leaves.

    Parameters
    ----------
    design : array, shape (n, p)
    counts : array, shape (n,)
        The weights w.
    perturbed : tuple of array
        The observations moved apart, shape (n,); `total` and the turned one, shape (p,).
    basis : array, shape (p,)
        At tau = 0; changed in place.

    Attributes
    ----------
    side : array, shape (n,)
        1 above the fit, -1 below, 0 in the basis.
    rows : array, shape (n, p)
        side_i z_i: the distances |y_i - z_i'theta| shrink where its product with the direction is
        positive.
    inverse : array, shape (p, p)
        B^-1.
    """

    def __init__(
        self, design: Array, counts: Array, perturbed: tuple[Array, Array, Array], basis: Array
    ) -> None:
        self.design, self.counts, self.basis = design, counts, basis
        self.apart, self.total, self.turned = perturbed
        n = len(design)
        self.side = np.ones(n)
        self.side[basis] = 0.0
        self.rows = np.asfortranarray(design * self.side[:, None])
        self._speed, self._ratio = np.empty(n), np.empty(n)
        self.refresh()

    def refresh(self) -> None:
        """Compute B^-1, the distances from the fit (1 in the basis) and sum_above w_i z_i anew."""
        self.inverse = np.linalg.inv(self.design[self.basis])
        theta = self.inverse @ self.apart[self.basis]
        distance = np.abs(self.apart - self.design @ theta)
        self.distance = np.maximum(distance, np.finfo(float).tiny)
        self.distance[self.basis] = 1.0
        self.above = (self.counts * (self.side > 0.0)) @ self.design

    def event(self, tau: float) -> tuple[int, bool, float]:
        """Return which place of the basis leaves, whether to below, and at which level.

        The first multiplier that meets 0 or its weight, by the turned total; the level is that of
        the total itself, and 1 where none meets its end before.
        """
        fall, value = self.turned @ self.inverse, (self.turned - self.above) @ self.inverse
        limit = np.where(fall > 0.0, 0.0, self.counts[self.basis])
        moving = np.abs(fall) > _STILL * np.abs(fall).max()
        ends = np.where(moving, (value - limit) / np.where(moving, fall, 1.0), np.inf)
        j = int(np.argmin(ends))
        down = bool(fall[j] > 0.0)
        if ends[j] >= 1.0 - 1e-12:
            return j, down, 1.0
        column = self.inverse[:, j].copy()
        rate = float(self.total @ column)
        if not rate:
            return j, down, 1.0
        exact = (float((self.total - self.above) @ column) - float(limit[j])) / rate
        return j, down, min(max(exact, tau), 1.0)

    def pivot(self, j: int, down: bool) -> bool:
        """Turn the fit away from the place j of the basis, up to the first observation it meets.

        Return whether there is one.
        """
        out, column = int(self.basis[j]), self.inverse[:, j].copy()
        speed, ratio = self._speed, self._ratio
        np.dot(self.rows, column if down else -column, out=speed)
        np.divide(speed, self.distance, out=ratio)
        entering = int(np.argmax(ratio))
        if not ratio[entering] > 0.0:
            return False
        step = self.distance[entering] / speed[entering]
        np.multiply(speed, step, out=ratio)
        self.distance -= ratio
        self._cross(out, entering, down, max(step, 0.0))
        self._exchange(j, entering, column)
        return True

    def _cross(self, out: int, entering: int, down: bool, step: float) -> None:
        """Move one observation off the fit, to a distance of `step`, and another one onto it."""
        design, counts, side = self.design, self.counts, self.side
        if side[entering] > 0.0:
            self.above = self.above - counts[entering] * design[entering]
        if not down:
            self.above = self.above + counts[out] * design[out]
        side[out], side[entering] = -1.0 if down else 1.0, 0.0
        self.distance[out], self.distance[entering] = step, 1.0
        self.rows[out], self.rows[entering] = side[out] * design[out], 0.0

    def _exchange(self, j: int, entering: int, column: Array) -> None:
        """Replace the row j of B: B^-1 less (column j) (z'B^-1 - e_j) / (z'B^-1)_j."""
        change = self.design[entering] @ self.inverse
        pivot = change[j]
        change[j] -= 1.0
        self.inverse -= np.outer(column / pivot, change)
        self.basis[j] = entering


def _walk(
    walk: _Walk, y: Array, names: Sequence[str], stop: Callable[[], bool]
) -> QuantilePath | None:
    """Pivot from tau = 0 to tau = 1, and record the fit of each range of levels."""
    theta, bases, levels, moves = [], [], [0.0], []
    leaving: list[int] = []
    up: list[bool] = []
    tau = 0.0
    while True:
        j, down, reached = walk.event(tau)
        if reached - tau > _STILL:
            theta.append(walk.inverse @ y[walk.basis])
            bases.append(walk.basis.copy())
            moves.append(len(leaving))
            levels.append(reached)
            tau = reached
        if reached == 1.0:
            break
        leaving.append(int(walk.basis[j]))
        up.append(not down)
        if not walk.pivot(j, down):
            return None
        if len(leaving) % _REFRESH == 0:
            if len(leaving) > _PIVOTS * len(y) or stop():
                return None
            walk.refresh()
    levels[-1] = 1.0  # the last range ends there, or just below
    return QuantilePath(
        design=walk.design,
        y=y,
        counts=walk.counts,
        levels=np.array(levels),
        theta=np.array(theta),
        bases=np.array(bases),
        leaving=np.array(leaving, dtype=np.int64),
        above=np.array(up, dtype=bool),
        moves=np.array(moves, dtype=np.int64),
        names=list(names),
    )
