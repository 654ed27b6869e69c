"""Feasible points: fix the integers, solve for the rest, and look at the residuals."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import SecondOrderCone, unpack_symmetric
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Box, ConicBounding, Relaxed
from ..reductions.propagation import Propagation
from ..settings import (
    INTEGER_ROW,
    POINT_ALLOWED,
    POINT_BOUGHT,
    POINT_GOOD,
    POINT_NEAR,
    RANK_ALLOWED,
)
from .rank_one import lower_rank

__all__ = ["IncumbentFinder"]


class IncumbentFinder:
    """Finds feasible points and keeps the best one.

    Parameters
    ----------
    problem : MISDP
    propagation : Propagation
    conic : ConicBounding
        Solves for the continuous variables.
    control : Control

    Attributes
    ----------
    best : array of shape (n,) or None
    value : float
        Costs of `best` as a minimisation, without the offset; inf without a point.
    count : int
        How many choices of the integers are looked for.
    """

    def __init__(
        self, problem: MISDP, propagation: Propagation, conic: ConicBounding, control: Control
    ) -> None:
        self.problem = problem
        self.best: Array | None = None
        self.value = np.inf
        self.count = 1
        self._propagation = propagation
        self._conic = conic
        self._control = control
        self._whole = problem.integer
        self._continuous = not bool(problem.integer.all())
        self._ranked = any(block.rank_one and block.size > 1 for block in problem.blocks)
        self._residuals = Residuals(problem)
        self._tried: set[bytes] = set()

    @property
    def cutoff(self) -> float | None:
        """An objective, in the problem's own sense, that all points better than the best reach."""
        if self.best is None:
            return None
        return self._conic.judge.better_than(self.problem.objective(self.best))

    @property
    def threshold(self) -> float:
        """From which costs on a box holds nothing better, if they bound it."""
        return self._conic.judge.threshold(self.value)

    def offer(self, x: Array) -> bool:
        """Take x, whose integers are rounded, if it is feasible; True where it is kept."""
        x = np.clip(x, self.problem.lower, self.problem.upper)
        x[self._whole] = np.rint(x[self._whole])
        if not np.isfinite(x).all():
            return False
        missed, costs = self._missed(x), self._conic.form.costs
        if missed > POINT_ALLOWED:
            return False
        value = float(costs @ x)
        if missed > POINT_GOOD:
            # A better point of these integers is not given up for what a violation gains.
            bought = POINT_BOUGHT * missed * float(np.abs(costs) @ np.abs(x))
            if value >= self._value_of(x[self._whole]) - bought:
                return False
        return self._keep(x, value)

    def goal(self, integers: Array) -> float:
        """Return the costs from which on a bound settles these integers (q,)."""
        return self.value

    def _value_of(self, integers: Array) -> float:
        """Return the costs of the point of these integers that is kept, inf without one."""
        same = self.best is not None and np.array_equal(self.best[self._whole], integers)
        return self.value if same else np.inf

    def _keep(self, x: Array, value: float) -> bool:
        if value >= self.value:
            return False
        self.best, self.value = x, value
        return True

    def complete(self, integers: Array, box: Box | None = None, start: Array | None = None) -> None:
        """Fix the integers (q,), solve for the rest, and offer what comes out.

        Parameters
        ----------
        integers : array of shape (q,)
        box : tuple of arrays, optional
        start : array, optional
            What was found of the box.
        """
        key = (np.asarray(integers) + 0.0).tobytes()
        if key in self._tried:
            return
        self._tried.add(key)
        low, high = (end.copy() for end in (box or (self.problem.lower, self.problem.upper)))
        low[self._whole] = high[self._whole] = integers
        tight = self._propagation.tighten(low, high, self.cutoff)
        if tight is None:
            return
        if not self._continuous:
            self.offer(tight[0])
            return
        found = self._conic.relax(tight, self.value, start=start)
        if found.bound < self.value:
            self.take(found, tight)

    def take(self, found: Relaxed, box: Box) -> None:
        """Offer a solution of the relaxation whose integers are fixed, after repairing it."""
        if found.x is None:
            return
        x = found.x
        if self._ranked:
            low = lower_rank(
                self.problem, self._conic, x, box, found.bound, self.value, self._control
            )
            if low is None:
                return
            self.offer(low)
            return
        missed = self._missed(np.clip(x, self.problem.lower, self.problem.upper))
        if missed > POINT_GOOD and missed <= POINT_NEAR and self._control.limit() is None:
            # Off by the solver's tolerance: ask for a little more than is needed.
            inside = self._conic.relax(box, np.inf, margin=2.0 * missed)
            if inside.x is not None and self.offer(inside.x):
                return
        self.offer(x)

    def _missed(self, x: Array) -> float:
        """Return the largest residual; that of the rank on its own scale."""
        return self._residuals.largest(x)


class Residuals:
    """Residuals of points with integral integers, relative to what those leave of a constraint.

    In y <= M k with k = 0 a y of 1 is all that is left of the row, however large M is.

    Parameters
    ----------
    problem : MISDP
    """

    def __init__(self, problem: MISDP) -> None:
        self._problem = problem
        self._whole = problem.integer
        self._parts = [
            _ByIntegers(
                part.F, self._whole, part.g if isinstance(part, SecondOrderCone) else part.F0
            )
            for part in (*problem.cones, *problem.blocks)
        ]
        self._rows = _ByIntegers(problem.A, self._whole, np.zeros(problem.A.shape[0]))
        self._absolute_rows = abs(problem.A)
        self._conditional = [(row, abs(row.a)) for row in problem.indicators]

    def largest(self, x: Array) -> float:
        """Return the largest residual; ranks and rows of integers are on their own scale.

        Matrices are left out where the rest is beyond repair.
        """
        problem = self._problem
        outside = np.maximum(np.maximum(problem.lower - x, x - problem.upper), 0.0)
        near = self._nearest_ends(x)
        found = [float((outside / np.maximum(1.0, np.abs(x))).max()), self._of_rows(x, near)]
        if max(found) > POINT_NEAR:
            return max(found)
        for part, split in zip((*problem.cones, *problem.blocks), self._parts, strict=True):
            value, left, size = split.evaluate(x, near)
            size = np.maximum(size, np.abs(left))
            if isinstance(part, SecondOrderCone):
                found.append(_beyond(part, value, size))
                continue
            # Each line of a matrix has its own scale.
            root = np.sqrt(unpack_symmetric(size, part.size).max(axis=1))
            root[root == 0.0] = 1.0
            values = np.linalg.eigvalsh(unpack_symmetric(value, part.size) / root / root[:, None])
            found.append(-float(values[0]))
            if part.rank_one and part.size > 1:
                found.append(float(values[-2]) * (POINT_ALLOWED / RANK_ALLOWED))
        for row, absolute in self._conditional:
            if x[row.binary] == 1.0:
                at = float((row.a @ x)[0])
                terms = max(float((absolute @ np.abs(x))[0]), float(absolute.max()))
                found.append(max(row.lower - at, at - row.upper) / terms)
        return max(found)

    def _nearest_ends(self, x: Array) -> Array:
        """Return x with continuous variables at the bounds next to them, 0 without any, (n,)."""
        low, high = self._problem.lower, self._problem.upper
        ends = np.where(np.abs(x - low) <= np.abs(high - x), low, high)
        return np.where(self._whole, x, np.where(np.isfinite(ends), ends, 0.0))

    def _of_rows(self, x: Array, near: Array) -> float:
        problem = self._problem
        if not problem.A.shape[0]:
            return 0.0
        value, left, size = self._rows.evaluate(x, near)
        low, high = problem.row_lower, problem.row_upper
        missed = np.maximum(np.maximum(low - value, value - high), 0.0)
        end = np.where(value < low, low, np.where(value > high, high, 0.0))
        scale = np.maximum(size, np.abs(end - left))
        only = ~self._rows.moving
        if only.any():
            terms = self._absolute_rows @ np.abs(x) + np.abs(end)
            scale = np.where(only, terms * (INTEGER_ROW / POINT_ALLOWED), scale)
        return float(np.max(missed / np.where(scale > 0.0, scale, 1.0)))


def _beyond(cone: SecondOrderCone, u: Array, size: Array) -> float:
    """Return which part of its size (k,) each entry of u must give for u to be in the cone."""
    head, length = cone.head_and_norm(u)
    if cone.rotated:
        scale = (size[0] + size[1]) / np.sqrt(2.0)
        u = np.concatenate([[head, (u[0] - u[1]) / np.sqrt(2.0)], u[2:]])
        size = np.concatenate([[scale, scale], size[2:]])
    gives = float(size[0])
    if length > 0.0:
        gives += float(np.abs(u[1:]) @ size[1:]) / length
    return max(0.0, length - head) / (gives or 1.0)


class _ByIntegers:
    """F x + constant in the parts of the integer and the continuous variables."""

    def __init__(self, F: sp.csr_array, whole: Array, constant: Array) -> None:
        self._all, self._absolute = F, abs(F)
        self._constant, self._size = constant, np.abs(constant)
        rest = abs(sp.csr_array(F[:, ~whole]))
        self._empty = not rest.nnz
        largest = np.zeros(F.shape[0]) if self._empty else rest.max(axis=1).toarray()
        self._largest = np.reshape(largest, -1)
        self.moving = self._largest > 0.0

    def evaluate(self, x: Array, near: Array) -> tuple[Array, Array, Array]:
        """Return the value at x, that with the variables at ends, and the size of what they move.

        Parameters
        ----------
        x, near : array of shape (n,)
            The point, and with its continuous variables at the bounds next to them.
        """
        left = self._all @ near + self._constant
        # What cancels up to rounding errors of the data is zero.
        left[np.abs(left) <= INTEGER_ROW * (self._absolute @ np.abs(near) + self._size)] = 0.0
        if self._empty:
            return left, left, self._largest
        # One unit of a variable counts where there is no constant beside it.
        unit = np.where(left != 0.0, np.minimum(self._largest, np.abs(left)), self._largest)
        moves = x - near
        return self._all @ moves + left, left, np.maximum(self._absolute @ np.abs(moves), unit)
