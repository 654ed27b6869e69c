"""The path by ranging: solve inside a gap, take the optimal basis' whole range, go on downwards.

HiGHS gives a basis that is optimal at the lam that was asked. Its affine pair shows on which
interval it stays optimal. If that interval reaches up to where the path stands it is the next
segment; if it does not, something lies in between and the middle of the gap is asked next. Every
solve is strictly inside a gap, where bases are rarely degenerate, and finds a new interval.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Limit

from ..common.outcome import Outcome
from ..lp.answer import Engine
from ..lp.basis import ACCEPT, Basis
from ..lp.proof import Ended

_TRIES = 12
"""Values of lam that are tried in one gap before the path ends early."""
_TOP_TRIES = 400
_ROUNDING = 1e-12
"""A violation this small, in the data's scale, is rounding."""


@dataclass(frozen=True)
class _Interval:
    basis: Basis
    low: float
    high: float


@dataclass(frozen=True)
class _Stuck:
    reason: str
    limit: Limit


@dataclass
class Ranging:
    """One path, from the largest lam down to `lam_min`.

    Attributes
    ----------
    low, high : lists of float
        The segments so far, decreasing, without a hole.
    codes : list of int16 arrays
        Their bases.
    stopped_by : str
    limit : Limit or None
    end : Ended or None
        What ends the problem itself, at the last low (or everywhere, where there is no segment).
    ceiling : Ended or None
        Why there is nothing above the first high, where that is finite.
    others : tuple of Ended
        Where there is no segment: what proves for other lam that there is no optimum.
    """

    program: PiecewiseLinearProgram
    session: Engine
    control: Control
    lam_min: float
    max_knots: int | None = None
    max_nonzeros: int | None = None
    low: list[float] = field(default_factory=list)
    high: list[float] = field(default_factory=list)
    codes: list[Array] = field(default_factory=list)
    stopped_by: str = ""
    limit: Limit | None = None
    end: Ended | None = None
    ceiling: Ended | None = None
    others: tuple[Ended, ...] = ()

    def run(self) -> None:
        """Find the top, then tile downwards until something ends the path."""
        start = self._top()
        if not self.stopped_by:
            self._descend(start)

    # ---- the top

    def _top(self) -> float:
        """Start the path with the interval that is unbounded above; return its lower end.

        Where nothing is feasible (or bounded) at large lam, return the lam above which that is so.
        """
        lam = max(_large(self.program), 2.0 * self.lam_min)
        floor: Ended | None = None
        for _ in range(_TOP_TRIES):
            found = self._probe(lam)
            if isinstance(found, _Stuck):
                self._stop(found.reason, found.limit)
                return lam
            if isinstance(found, _Interval):
                if math.isinf(found.high):
                    self._append(found, math.inf)
                    return self.low[-1]
                if self.ceiling is not None:
                    return self.ceiling.proof.root
                lam = max(2.0 * found.high, 4.0 * lam)
                continue
            if found.proof.rate == 0.0:
                return self._nowhere(found)
            if found.proof.rate < 0.0:
                self.ceiling = found
                if found.proof.root < self.lam_min:
                    return self._nowhere(found)
            else:
                floor = found
            if self.ceiling is None:
                lam = max(2.0 * found.proof.root, 4.0 * lam)
            elif floor is None:
                lam = 0.5 * (self.lam_min + self.ceiling.proof.root)
            elif self._ends_at(floor, self.ceiling.proof.root):
                return self.ceiling.proof.root
            elif floor.proof.root < self.ceiling.proof.root:
                lam = 0.5 * (floor.proof.root + self.ceiling.proof.root)
            else:
                kinds = floor.outcome, self.ceiling.outcome
                if kinds == (Outcome.INFEASIBLE, Outcome.UNBOUNDED):
                    return self._nowhere(self.ceiling, floor)
                return self._nowhere(floor, self.ceiling)
        self._stop("slow_progress", Limit.SLOW_PROGRESS)
        return lam

    def _nowhere(self, end: Ended, *others: Ended) -> float:
        self.end, self.others = end, others
        self._stop(end.outcome.value)
        return math.nan

    # ---- the way down

    def _descend(self, frontier: float) -> None:
        found: list[_Interval] = []
        floor: Ended | None = None
        step = 0.05 * frontier
        tries = 0
        while True:
            if self._may_stop(frontier):
                return None
            self.control.progress(f"lam {frontier:.4g}, {len(self.low)} segments")
            while found and found[-1].low >= frontier:
                found.pop()
            if found and found[-1].basis.violation(frontier) <= ACCEPT:
                interval = found.pop()
                if self._too_many_nonzeros(interval, frontier):
                    return self._stop("max_nonzeros")
                self._append(interval, frontier)
                step = 0.5 * (frontier - interval.low)
                frontier, tries = interval.low, 0
                continue
            if floor is not None and not found and self._ends_at(floor, frontier):
                if not self._alone(frontier, floor):
                    self.end = floor
                    self._stop(f"{floor.outcome.value}_below")
                return None
            bottom = self.lam_min
            if found:
                bottom = max(bottom, found[-1].high)
            elif floor is not None:
                bottom = max(bottom, floor.proof.root)
            if tries >= _TRIES or bottom >= frontier:
                return self._stop("slow_progress", Limit.SLOW_PROGRESS)
            target = _inside(bottom, frontier, tries)
            if not found and floor is None and step > 0.0 and tries == 0:
                target = max(target, frontier - step)
            answer = self._probe(target, warm=tries == 0)
            if isinstance(answer, _Stuck):
                if answer.limit is not Limit.SLOW_PROGRESS:
                    return self._stop(answer.reason, answer.limit)
                tries += 1
            elif isinstance(answer, _Interval):
                if found and answer.high <= found[-1].high:
                    tries += 1
                else:
                    found.append(answer)
                    tries = 0
            elif answer.proof.rate > 0.0:
                if floor is None or answer.proof.root > floor.proof.root:
                    floor, tries = answer, 0
                else:
                    tries += 1
            elif answer.proof.rate < 0.0 and not self.low:
                # Nothing above the root: the path starts lower than it seemed.
                self.ceiling = answer
                frontier = answer.proof.root
            else:
                self._nowhere(answer)
                return

    def _may_stop(self, frontier: float) -> bool:
        """Stop where nothing more is asked, or a limit is reached; return whether."""
        limit = self.control.limit()
        if frontier <= self.lam_min:
            if not self._alone(self.lam_min):
                self._stop("lam_min")
        elif self.max_knots is not None and len(self.low) >= self.max_knots:
            self._stop("max_knots")
        elif limit is not None:
            self._stop(limit.value, limit)
        else:
            return False
        return True

    def _alone(self, lam: float, *floor: Ended) -> bool:
        """Let the path be one point, where lam alone has an optimum.

        Returns whether the path has ended without one: the problem is unbounded at lam, and what
        is given proves for smaller lam that there is no optimum.
        """
        if self.low or self.ceiling is None:
            return False
        found = self._probe(lam)
        if isinstance(found, _Interval) and found.basis.violation(lam) <= ACCEPT:
            self.low, self.high, self.codes = [lam], [lam], [found.basis.codes]
        elif isinstance(found, Ended) and found.outcome is Outcome.UNBOUNDED:
            self._nowhere(found, *floor, self.ceiling)
            return True
        return False

    def _ends_at(self, floor: Ended, frontier: float) -> bool:
        """Return whether the proof's root is where the path stands."""
        return abs(floor.proof.root - frontier) <= ACCEPT * max(1.0, frontier)

    def _too_many_nonzeros(self, interval: _Interval, frontier: float) -> bool:
        if self.max_nonzeros is None:
            return False
        middle = 0.5 * (interval.low + frontier) - interval.basis.lam
        theta = np.abs(interval.basis.theta @ np.array([1.0, middle]))
        return int(np.count_nonzero(theta > 1e-12 * theta.max(initial=0.0))) > self.max_nonzeros

    def _append(self, interval: _Interval, high: float) -> None:
        low = max(interval.low, self.lam_min)
        if self.codes and np.array_equal(self.codes[-1], interval.basis.codes):
            self.low[-1] = low
            return
        self.low.append(low)
        self.high.append(high)
        self.codes.append(interval.basis.codes)

    def _stop(self, reason: str, limit: Limit | None = None) -> None:
        self.stopped_by = reason
        self.limit = limit

    # ---- one solve

    def _probe(self, lam: float, *, warm: bool = False) -> _Interval | Ended | _Stuck:
        """Ask HiGHS at lam: an interval around it, a proof that there is nothing, or no answer."""
        for start in (True, False) if warm else (False,):
            solution = self.session.solve(lam, warm=start)
            if solution.limit is not None:
                return _Stuck(solution.limit.value, solution.limit)
            if solution.outcome is Outcome.OPTIMAL and solution.basis is not None:
                low, high = solution.basis.range()
                # A last knot that is apart from lam_min by rounding alone is none.
                if solution.basis.violation(self.lam_min) <= _ROUNDING:
                    low = min(low, self.lam_min)
                return _Interval(solution.basis, low, high)
        if solution.outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED, Outcome.UNDECIDED):
            ended = self.session.disprove(solution.outcome, lam)
            if ended is not None:
                return ended
        limit = self.control.limit()
        if limit is not None:
            return _Stuck(limit.value, limit)
        return _Stuck("slow_progress", Limit.SLOW_PROGRESS)


def _inside(low: float, high: float, tries: int) -> float:
    """Return the middle; where that led nowhere other values between, by golden sections."""
    return low + (0.618034 * tries % 1.0 if tries else 0.5) * (high - low)


def _large(program: PiecewiseLinearProgram) -> float:
    """Guess a lam beyond which nothing changes: where the rates outgrow the constants."""
    psi = program.psi
    steep = np.where(np.isfinite(psi.slope), np.abs(psi.slope), 0.0)
    pull = program.A.abs_rmatvec(np.maximum.reduceat(steep, psi.slope_ptr[:-1]))
    pull = np.repeat(pull, program.phi.counts + 1)
    ratios = [
        (np.abs(pieces.kink), np.abs(pieces.kink_rate)) for pieces in (program.phi, program.psi)
    ]
    ratios.append((pull, np.abs(program.phi.slope_rate)))
    largest = max(
        float(np.max(constant[rate > 0.0] / rate[rate > 0.0], initial=0.0))
        for constant, rate in ratios
    )
    return 2.0 * largest if 0.0 < largest < 1e100 else 1.0
