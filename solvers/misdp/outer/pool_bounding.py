"""Lower bounds from linear programs over cuts, with the simplex method of HiGHS, kept warm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from ...common.outcome import Outcome
from ...common.program import Program
from ..bounding.lower_bounds import Box, ConicBounding, Relaxed
from ..settings import (
    INTEGRAL,
    LP_AGE,
    LP_BOX,
    LP_ENOUGH,
    LP_ITERATIONS,
    LP_PATIENCE,
    LP_ROUNDS,
    LP_ROUNDS_ALONE,
    LP_SLIP,
    LP_STEP,
    LP_TRIES,
)
from .cut_rows import CutRows
from .cuts import CutPool


class PoolBounding:
    """Relaxes a box by the rows and the cuts of a pool, to which violated ones are added.

    The multipliers of rows and cuts add up to multipliers of the problem, which the checker's
    arithmetic judges as it does those of a conic solver. With all integers fixed, and where the
    linear program proves too little, the conic relaxation is asked, whose multipliers are cuts.
    Cuts that stay slack leave the linear program, and come back when a point misses them.

    Parameters
    ----------
    pool : CutPool
    conic : ConicBounding
    control : Control

    Attributes
    ----------
    linear : bool
        Whether linear programs come first; without them it only fills the pool.
    alone : bool
        Whether boxes are branched on by the linear programs alone, as long as their optima are
        fractional.
    """

    def __init__(self, pool: CutPool, conic: ConicBounding, control: Control) -> None:
        from ...highs.instance import Instance

        self.pool = pool
        self.conic = conic
        self.linear = self.alone = False
        self._tried = self._closed = 0
        self.solves = 0
        self._control = control
        self._instance = Instance(control, "off")
        self._instance.iteration_limit = None
        self._instance.set_option("simplex_iteration_limit", LP_ITERATIONS)
        self._loaded = 0
        self._m = pool.problem.A.shape[0]
        self._rows = CutRows(self._instance, self._m, LP_AGE)
        self._load()

    def relax(
        self, box: Box, cutoff: float, *, loose: float = 0.0, start: Array | None = None
    ) -> Relaxed:
        """Bound by linear programs where these do often enough, else by the conic relaxation."""
        whole = self.pool.problem.integer
        fixed = bool((box[0][whole] == box[1][whole]).all())
        best = Relaxed(-np.inf)
        if self.linear and not fixed and (self.alone or self._worth):
            self._tried += 1
            best = self._approximate(box, cutoff)
            if best.infeasible or best.bound >= cutoff:
                self._closed += 1
                return best
            if self.alone and best.x is not None and np.isfinite(best.bound):
                values = best.x[whole]
                if (np.abs(values - np.rint(values)) > INTEGRAL).any():
                    return best
        conic = self._conic(box, cutoff)
        if conic.infeasible or conic.bound >= best.bound:
            return conic
        return replace(best, x=best.x if conic.x is None else conic.x)

    def _approximate(self, box: Box, cutoff: float) -> Relaxed:
        """Solve linear programs, adding cuts, until the bound does not grow or meets the cutoff."""
        best, stalled = Relaxed(-np.inf), 0
        for _ in range(LP_ROUNDS_ALONE if self.alone else LP_ROUNDS):
            found = self._solve(box)
            if found is None:
                break
            if found.infeasible or found.bound >= cutoff:
                return found
            grown = found.bound - best.bound
            if found.bound >= best.bound:
                best = found
            if found.x is None or self._control.limit() is not None:
                break
            stalled = stalled + 1 if grown <= LP_STEP * max(1.0, abs(best.bound)) else 0
            if stalled > (LP_PATIENCE if self.alone else 0):
                break
            if not self._rows.recall(found.x) + self.pool.separate(found.x):
                break
        return best

    def largest(self, form: Array, box: Box) -> float:
        """Return the largest value of a'x over rows, cuts and a box; inf without a bound."""
        self._append()
        self._instance.change_columns(*box)
        self._instance.change_cost(-form)
        known = self._instance.run().outcome is Outcome.OPTIMAL
        value = -self._instance.objective if known else np.inf
        self._instance.change_cost(self.conic.form.costs)
        return value + LP_SLIP * max(1.0, abs(value))

    def settle(
        self,
        box: Box,
        found: Relaxed,
        take: Callable[[Relaxed], None],
        enough: Callable[[float], bool],
    ) -> Relaxed:
        """Ask the conic solvers."""
        return self.conic.settle(box, found, take, enough)

    @property
    def _worth(self) -> bool:
        """Whether linear programs have closed boxes often enough so far."""
        return self._closed >= LP_ENOUGH * (self._tried - LP_TRIES)

    def _conic(self, box: Box, cutoff: float) -> Relaxed:
        found = self.conic.relax(box, cutoff)
        if found.multipliers is not None and (self.alone or self._worth or not self.linear):
            self.pool.add_multipliers(found.multipliers)
        return found

    def _solve(self, box: Box) -> Relaxed | None:
        """Solve one linear program; None where it proves nothing."""
        self._append()
        self._instance.change_columns(np.maximum(box[0], -LP_BOX), np.minimum(box[1], LP_BOX))
        run = self._instance.run()
        self.solves += 1
        dual = self._instance.row_duals() if run.outcome is Outcome.OPTIMAL else None
        if dual is not None:
            multipliers = self._multipliers(dual)
            bound = self.conic.judge.value(box, multipliers)
            x = self._instance.point()
            self._rows.age()
            return None if np.isinf(bound) else Relaxed(bound, multipliers, x=x, word="cuts")
        if run.outcome is Outcome.INFEASIBLE:
            ray = self._ray()
            if ray is not None:
                multipliers = self._multipliers(ray)
                if self.conic.judge.disproves(box, multipliers):
                    return Relaxed(np.inf, multipliers, True, word="cuts")
        return None

    def _ray(self) -> Array | None:
        answer: Any = self._instance.highs.getDualRay()
        values = answer[-1] if len(answer) > 2 else None
        if values is None or len(values) != self._m + len(self._rows) or not answer[1]:
            return None
        ray = np.array(values, dtype=float)
        size = float(np.abs(ray).max(initial=0.0))
        if size == 0.0 or not np.isfinite(size):
            return None
        # HiGHS leaves its sign open: cuts have nonnegative multipliers.
        cuts = ray[self._m :]
        sign = -1.0 if np.abs(cuts.min(initial=0.0)) > cuts.max(initial=0.0) else 1.0
        return sign * ray / size

    def _multipliers(self, dual: Array) -> Any:
        weights = np.zeros(len(self.pool))
        weights[self._rows.numbers] = np.maximum(dual[self._m :], 0.0)
        return self.pool.multipliers(dual[: self._m], weights)

    def _load(self) -> None:
        problem = self.pool.problem
        self._instance.load(
            Program(
                cost=self.conic.form.costs,
                low=np.maximum(problem.lower, -LP_BOX),
                high=np.minimum(problem.upper, LP_BOX),
                matrix=sp.csc_array(problem.A),
                row_low=problem.row_lower,
                row_high=problem.row_upper,
            )
        )

    def _append(self) -> None:
        """Pass the cuts that are new."""
        for k in range(self._loaded, len(self.pool)):
            self._rows.add(k, self.pool.rows[k], self.pool.sides[k])
        self._loaded = len(self.pool)
