r"""The homotopy: from one optimal basis to the next as lam decreases.

A basis says for every coordinate whether it is at a kink or on a piece; its values are affine in
lam (:class:`~sparseopt.solvers.homotopy.candidates.basis.AffineBasis`). It is optimal while every
value on a piece stays between its kinks and every multiplier at a kink between that kink's slopes.
The first to leave is the next event:

- **primal event**: a value on a piece reaches a kink. It stays there, its multiplier moves
  towards the kink's other slope, and the first multiplier of another coordinate that meets a
  slope on the way sends that coordinate onto a piece. If the other slope is met first, the
  coordinate passes through its kink and the basis stays (a flip).
- **dual event**: a multiplier at a kink reaches a slope. The coordinate leaves its kink, and the
  first value that meets a kink on the way stays there. If that is the coordinate's own next kink,
  the basis stays (a flip).

The pivots are made by :mod:`..pivots.core` on a dense program of candidate rows and variables
(:mod:`..candidates.program`); a small program is its own candidate set. Ties are broken by a
symbolic random perturbation of kinks and slopes: positions on the path are pairs lam + eps delta,
compared lexicographically, so that no basis comes back.

Source: Pang, Zhao, Vanderbei, Liu, section 3.2 and Algorithm 1, on piecewise-linear functions.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from sparseopt.problems.base import Array

from ..candidates.basis import AffineBasis
from ..candidates.choice import Choice
from ..candidates.products import kept_product
from ..candidates.program import CandidateProgram, Finding
from ..pivots import core
from ..pivots.state import SegmentRecords, SingularKernel, State
from ..settings import (
    BATCH,
    BATCH_AT_MOST,
    BLOCKERS,
    DRIFT_CALM,
    DRIFT_RETAKES,
    LOOK_ENTRIES,
    PERTURBATIONS,
    RAY_NOISE,
    RECENTRED,
    REFRESH_AFTER,
    REFRESH_CAREFULLY,
    SMALLEST_PIVOT,
    STALL,
    STEEP,
    VISIT,
)
from .recorder import Changes, Recorder


@dataclass(frozen=True)
class Ending:
    """Why and where the homotopy ended.

    `reason` is "end" (the asked end is reached), "infeasible_below", "unbounded_below",
    "slow_progress", "max_knots", "max_nonzeros", or what `stop` returned. `codes` are
    those of a basis that is optimal at `lam`. `ray` holds the scaled dual ray (n,) of
    "infeasible_below" or the primal one of "unbounded_below". `doubt` is the largest sign that
    digits were lost (see :mod:`..pivots.tableau`).
    """

    reason: str
    lam: float
    codes: Array
    pivots: int
    ray: Array | None = None
    doubt: float = 0.0


def follow(
    basis: AffineBasis,
    lam: float,
    end: float,
    *,
    rng: np.random.Generator,
    top: float | None = None,
    stop: Callable[[], str | None] = lambda: None,
    recorder: Recorder | None = None,
) -> Ending:
    """Follow the optimal bases from `lam` down to `end`.

    Parameters
    ----------
    basis : AffineBasis
        Optimal at `lam`.
    lam, end : float
        `end` may be -inf.
    rng : Generator
        Draws the symbolic perturbation.
    top : float, optional
        Upper end of the first segment, default `lam`.
    stop : callable
        Asked every few hundredths of a second; a reason ends the path where it is.
    recorder : Recorder, optional
        Collects every segment, and holds the rules of the user.
    """
    walk = _Walk(basis, lam, end, rng, lam if top is None else top, recorder or Recorder())
    try:
        while True:
            outcome = walk.step(stop)
            if outcome is not None:
                return outcome
    except SingularKernel:
        return walk.outcome("slow_progress")


class _Walk:
    """One run of :func:`follow`: the candidates, the dense state on them, and where it stands."""

    def __init__(
        self,
        basis: AffineBasis,
        lam: float,
        end: float,
        rng: np.random.Generator,
        top: float,
        recorder: Recorder,
    ) -> None:
        self.program = program = basis.program
        self.codes = basis.codes.copy()
        self.lam, self.top, self.end = lam, top, end
        self.rng = rng
        self.recorder = recorder
        self.pivots = 0
        self.doubt = 0.0
        self.drawn = 0
        self.progress = 0
        self.seconds_each = 0.0
        self.interval = REFRESH_AFTER
        self.refined = False
        self.centre = 0.0
        self.retaken = 0
        self.pending: Changes = []
        self.longest = int(np.clip(LOOK_ENTRIES // program.n, 4, BATCH_AT_MOST))
        if self.longest < BATCH_AT_MOST:
            products = [kept_product(program, primal) for primal in (False, True)]
            if all(product is not None and product.in_pieces for product in products):
                self.longest = BATCH_AT_MOST
        self.batch = min(BATCH, self.longest)
        self.origin = basis
        self.choice = Choice(program, self.origin, lam)
        self._settle()

    def _settle(self) -> None:
        """Build the dense state on the chosen candidates at the current basis."""
        rows, columns = self.choice.rows, self.choice.columns
        # No method of this walk: a cycle would keep the matrix in single precision.
        rough = partial(kept_product, self.program)
        self.candidates = CandidateProgram(self.origin, rows, columns, rough)
        dense = self.candidates.dense(self.choice.block, self.centre)
        self.state = State(
            dense,
            self.codes[self.candidates.inside],
            self.lam - self.centre,
            self.top - self.centre,
            recorded=self.recorder.count,
            refined=self.refined,
        )
        self.state.perturb(self.rng)

    def outcome(self, reason: str, ray: Array | None = None) -> Ending:
        """Describe where the walk stands."""
        doubt = max(self.doubt, self.state.doubt)
        return Ending(reason, self.top, self.codes, self._pivots(), ray, doubt)

    def _pivots(self) -> int:
        return self.pivots + self.state.pivots

    def step(self, stop: Callable[[], str | None]) -> Ending | None:
        """Pivot for a while, check all coordinates, and record what is proven."""
        if self._pivots() - self.progress > STALL * PERTURBATIONS + self.program.n:
            return self.outcome("slow_progress")
        code, reason = self._pivot(stop)
        segments = self._take()
        if self._drifted():
            return None if reason is None else self.outcome(reason)
        if len(segments):
            self.drawn = 0
        if not self.candidates.all and len(segments):
            finding = self.candidates.look(segments)
            if finding.good < len(segments):
                self._rewind(segments, finding)
                return None if reason is None else self.outcome(reason)
            self._record(segments)
            paused = code in (core.PAUSED, core.FULL) and reason is None
            if paused and self.choice.extend(finding.slack, self.state.k, finding.needed):
                self._resettle()
                return None
        else:
            self._record(segments)
        paused = code in (core.PAUSED, core.FULL, core.DRIFTED)
        if paused and abs(self.centre) > 2.0 * abs(self.lam):
            # far from the centre, values that vanish with lam would be differences of large ones
            self.centre = 0.0
            self._resettle()
            return None if reason is None else self.outcome(reason)
        return self._react(code) if reason is None else self.outcome(reason)

    def _pivot(self, stop: Callable[[], str | None]) -> tuple[int, str | None]:
        """Pivot until there is something to do; return the core's code and the clock's reason."""
        state = self.state
        batch = self.interval if self.candidates.all else min(self.interval, self.batch)
        left = max(1, batch - state.pivots_since_refresh)
        while True:
            by_time = VISIT / self.seconds_each if self.seconds_each > 0.0 else 16
            begin, before = time.perf_counter(), state.pivots
            code = state.advance(
                self.end - self.centre,
                self.centre,
                int(np.clip(by_time, 1, left)),
                self.recorder.max_segments,
                self.recorder.nonzeros_left(self.candidates),
            )
            done = state.pivots - before
            left -= done
            if done:
                self.seconds_each = (time.perf_counter() - begin) / done
            reason = stop()
            if code != core.PAUSED or left <= 0 or reason is not None:
                return code, reason

    def _take(self) -> SegmentRecords:
        """Return the segments since the last time, in terms of lam."""
        segments = self.state.take_segments()
        if self.centre == 0.0 or len(segments) == 0:
            return segments
        last = segments.low == self.end - self.centre
        low = np.where(last, self.end, segments.low + self.centre)
        # lam is rounded here; where rates are large, values must move with it
        return replace(
            segments.moved(low - self.centre - segments.low),
            low=low,
            high=np.append(self.top, low[:-1]),
        )

    def _drifted(self) -> bool:
        """Factor the kernel again; where the values had drifted, go back and take more care.

        The segments since the last look are then not to be kept.

        Values are kept as those at the centre and their rates. Near the end of a path that becomes
        infeasible the rates may grow until such sums lose their digits: the centre is then moved.
        """
        drift = self.state.refresh()
        steep = np.isfinite(self.end) and self.state.steepness() > STEEP
        if steep and self.retaken < RECENTRED:
            self.retaken += 1
            if self.centre == self.lam:
                self.interval = max(self.interval // 4, 1)
            self.centre = self.lam
            self._resettle()
            return True
        if drift <= DRIFT_RETAKES or (self.refined and self.interval <= REFRESH_CAREFULLY):
            if drift <= DRIFT_CALM:
                self.interval = min(2 * self.interval, REFRESH_AFTER)
            return False
        if self.refined:
            self.interval = max(self.interval // 4, REFRESH_CAREFULLY)
        self.refined = True
        self._resettle()
        return True

    def _record(self, segments: SegmentRecords) -> None:
        """Keep segments that are proven, and stand at the end of the last one."""
        if len(segments) == 0:
            return
        self.retaken, self.progress = 0, self._pivots()
        self.recorder.add(self.candidates, segments, self.codes, self.pending)
        self.pending = []
        # of several codes of one coordinate the last one is assigned last
        self.codes[self.candidates.inside[segments.change_index]] = segments.change_code
        self.lam = self.top = float(segments.low[-1])

    def _rewind(self, segments: SegmentRecords, finding: Finding) -> None:
        """Keep the good segments, and walk on from there with the coordinates that were needed."""
        self._record(segments.head(finding.good))
        if not finding.at_high:
            index, code = segments.changes(finding.good)
            self.pending.append((self.candidates.inside[index], code))
            self.codes[self.candidates.inside[index]] = code
        self.batch = max(4, self.batch // 2)
        self.choice.extend(finding.slack, self.state.k, finding.needed)
        self._resettle()

    def _add(self, coordinates: Array) -> None:
        p = self.program.p
        self.choice.add(coordinates[coordinates >= p] - p, coordinates[coordinates < p])

    def _resettle(self) -> None:
        self.pivots += self.state.pivots
        self.doubt = max(self.doubt, self.state.doubt)
        self._settle()

    def _react(self, code: int) -> Ending | None:
        """Do what the pivots paused for."""
        if code == core.END:
            return self.outcome("end")
        if code == core.KNOTS:
            return self.outcome("max_knots")
        if code == core.NONZEROS:
            return self.outcome("max_nonzeros")
        if code in (core.INFEASIBLE, core.UNBOUNDED):
            return self._unblocked(code)
        if code == core.STALLED:
            self.drawn += 1
            if self.drawn > PERTURBATIONS:
                return self.outcome("slow_progress")
            self.state.perturb(self.rng)
        self.batch = min(2 * self.batch, self.longest)
        return None

    def _unblocked(self, code: int) -> Ending | None:
        """Nothing among the candidates blocks a ray: look whether a resting coordinate does."""
        program, candidates = self.program, self.candidates
        ray = np.zeros(program.n)
        ray[candidates.inside] = self.state.ray
        p = program.p
        if code == core.INFEASIBLE:
            moved = np.flatnonzero(ray[p:])
            full = -program.transpose_times(moved, ray[p + moved])
            ray[:p] = np.where(candidates.resting[:p], full, ray[:p])
            reason = "infeasible_below"
        else:
            moved = np.flatnonzero(ray[:p])
            full = program.times(moved, ray[moved])
            ray[p:] = np.where(candidates.resting[p:], full, ray[p:])
            reason = "unbounded_below"
        limit = np.where(ray > 0.0, candidates.high[0], candidates.low[0])
        size = np.abs(ray)
        blocks = candidates.resting & np.isfinite(limit) & (size > SMALLEST_PIVOT * size.max())
        if not blocks.any():
            return self.outcome(reason, np.where(size > RAY_NOISE * size.max(), ray, 0.0))
        found = np.flatnonzero(blocks)
        self._add(found[np.argsort(-size[found])[:BLOCKERS]])
        self._resettle()
        return None
