"""Feasible points: fix the integers, solve for the rest, and look at the residuals."""

from __future__ import annotations

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP

from .bounding import Box, ConicBounding, Relaxed
from .propagation import Propagation
from .rank_one import lower_rank

__all__ = ["Points"]

_GOOD = 1e-9
"""Residuals below this are left as they are."""
_ALLOWED = 4e-8
"""Residuals above this are no solution."""
_RANK = 4e-7
_NEAR = 1e-3
"""A continuous solution that is off by more than this is not worth repairing."""


class Points:
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
    """

    def __init__(
        self, problem: MISDP, propagation: Propagation, conic: ConicBounding, control: Control
    ) -> None:
        self.problem = problem
        self.best: Array | None = None
        self.value = np.inf
        self._propagation = propagation
        self._conic = conic
        self._control = control
        self._whole = problem.integer
        self._continuous = not bool(problem.integer.all())
        self._ranked = any(block.rank_one and block.size > 1 for block in problem.blocks)
        self._tried: set[bytes] = set()

    @property
    def cutoff(self) -> float | None:
        """The objective of the best point, in the problem's own sense."""
        return None if self.best is None else self.problem.objective(self.best)

    def offer(self, x: Array) -> bool:
        """Take x, whose integers are rounded, if it is feasible; True where it is the best."""
        x = np.clip(x, self.problem.lower, self.problem.upper)
        x[self._whole] = np.rint(x[self._whole])
        if not np.isfinite(x).all() or self._missed(x) > _ALLOWED:
            return False
        value = float(self._conic.form.costs @ x)
        if value >= self.value:
            return False
        self.best, self.value = x, value
        return True

    def complete(self, integers: Array, box: Box | None = None) -> Relaxed | None:
        """Fix the integers (q,), solve for the rest, and offer what comes out.

        Returns
        -------
        Relaxed or None
            What is known of the integers; None where they were tried before, or propagation leaves
            nothing.
        """
        key = (np.asarray(integers) + 0.0).tobytes()
        if key in self._tried:
            return None
        self._tried.add(key)
        low, high = (end.copy() for end in (box or (self.problem.lower, self.problem.upper)))
        low[self._whole] = high[self._whole] = integers
        tight = self._propagation.tighten(low, high, self.cutoff)
        if tight is None:
            return None
        if not self._continuous:
            self.offer(tight[0])
            return None
        found = self._conic.relax(tight, np.inf)
        self.take(found, tight)
        return found

    def take(self, found: Relaxed, box: Box) -> None:
        """Offer a solution of the relaxation whose integers are fixed, after repairing it."""
        if found.x is None:
            return
        x = found.x
        if self._ranked:
            low = lower_rank(self.problem, self._conic, x, box, found.bound, self._control)
            if low is None:
                return
            self.offer(low)
            return
        missed = self._missed(np.clip(x, self.problem.lower, self.problem.upper))
        if missed > _GOOD and missed <= _NEAR and self._control.limit() is None:
            # Off by the solver's tolerance: ask for a little more than is needed.
            inside = self._conic.relax(box, np.inf, margin=2.0 * missed)
            if inside.x is not None and self.offer(inside.x):
                return
        self.offer(x)

    def _missed(self, x: Array) -> float:
        """Return the largest residual; that of the rank on its own scale."""
        residuals = self.problem.residuals(x)
        rank = residuals.pop("rank_one", 0.0) * (_ALLOWED / _RANK)
        return max(rank, *residuals.values())
