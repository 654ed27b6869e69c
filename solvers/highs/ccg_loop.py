r"""Column and constraint generation for one program, at one lam after another.

A column that is out rests at a kink of its variable; a row that is out has no multiplier, as if it
were sure to stay where it costs nothing. The loop solves the restricted problem, prices all
columns with one product :math:`A'\nu` and all rows with one product :math:`A\theta`, lets the most
violated ones in, and ends when none is violated.

Where the restricted problem is infeasible (unbounded) the same loop solves the program of the least
violation (of the steepest descent), which always has an optimum: see
:mod:`~sparseopt.solvers.lp.proof`. Either that proves the same of the whole problem, or it names
columns (rows) with which the restricted problem is feasible (bounded) for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram
from sparseopt.result import Limit

from ..common.outcome import Outcome, Run, Spent
from ..lp.basis import Solution, optimal_basis
from ..lp.layout import LPLayout
from ..lp.proof import Ended, farkas_proof, phase_one, ray_proof, recession
from .ccg_master import Pair, RestrictedMaster
from .ccg_rest import Rest, first_working_set, largest
from .instance import DUAL, PRIMAL, Instance

_GROWTH = 0.25
"""A round adds at most this share of what is in, or the option `batch` where that is more."""


@dataclass(frozen=True)
class Guess:
    """Variables and rows to start with, and the pair whose basis to start from, if there is one."""

    variables: Array
    rows: Array
    theta: Array | None = None
    nu: Array | None = None


class Generation:
    """A restricted problem that grows until it answers for the whole one.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    control : Control
    options : mapping
        Of the backend.
    guess : Guess, optional
        Instead of screening.
    spent : Spent, optional
        To share with other generations of the same solve.
    repairs : bool, default True
        Whether the program may be infeasible or unbounded.
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        control: Control,
        options: Mapping[str, Any],
        guess: Guess | None = None,
        *,
        spent: Spent | None = None,
        repairs: bool = True,
    ) -> None:
        self.program = program
        self.control = control
        self.options = options
        self.spent = spent or Spent()
        self._guess = guess
        self._repairs = repairs
        self._master: RestrictedMaster | None = None
        self._ended: Ended | None = None
        self._point: Array | None = None
        self._pair: Pair | None = None

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve at lam; with `warm` from the working set and the basis of the last solve."""
        with self.control.building():
            master = self._at(lam, warm)
        self._ended = self._point = self._pair = None
        fresh = False
        while True:
            run = self._run(master, master.feasible or fresh)
            if run.outcome is Outcome.OPTIMAL:
                self._pair = pair = master.read()
                if not pair.row_violation.max(initial=0.0) > self.options["tolerance"]:
                    self._point = pair.theta
                if self._let_in(master, pair):
                    continue
                solution = self._finished(master, pair, run)
                if solution.basis is not None or fresh:
                    return solution
            elif run.outcome is not Outcome.LIMIT and self._repairs:
                ended = self._repair(master, run)
                if ended is None:
                    continue
                run = ended
            if run.outcome is Outcome.LIMIT:
                return self._cut_short(master, run)
            if run.outcome in (Outcome.INFEASIBLE, Outcome.UNBOUNDED) or fresh:
                return Solution(run.outcome, run.raw, lam)
            # HiGHS failed: once, start again from the slack basis, by the other method.
            master.instance.forget()
            fresh = True

    def disprove(self, outcome: Outcome, lam: float) -> Ended | None:
        """Return the proof that the last solve has found, that there is no optimum."""
        return self._ended

    # ---- the working set

    def _at(self, lam: float, warm: bool) -> RestrictedMaster:
        """Return the restricted problem at lam: the last one, or a new one."""
        last = self._master
        if last is not None and warm and last.layout.fits(lam):
            last.move(lam)
            return last
        layout = LPLayout(self.program, None)
        if not layout.fits(lam):
            layout = LPLayout(self.program, lam)
        instance = Instance(self.control, "off", self.options["tolerance"], self.spent)
        # The layout is scaled already.
        instance.set_option("simplex_scale_strategy", 0)
        master = RestrictedMaster(layout, Rest.of(layout, lam), instance, lam)
        guess = self._guess
        if last is not None and warm:
            guess = Guess(last.variables(), last.rows)
        count = 0 if guess is not None else self.options["start"]
        columns, rows = first_working_set(layout, master.rest, master.bounds, lam, count)
        master.add(columns, rows)
        if guess is not None:
            master.add(master.columns_of(guess.variables), guess.rows)
            if guess.theta is not None and guess.nu is not None:
                master.start_from(guess.theta, guess.nu)
        if not len(master.columns):
            # HiGHS ignores the rows of a model without columns.
            master.add(master.columns_of(np.zeros(1, dtype=np.int64)), np.zeros(0, dtype=np.int64))
        self._master = master
        return master

    def _let_in(self, master: RestrictedMaster, pair: Pair) -> bool:
        """Add the most violated columns and rows; return whether there were any."""
        tolerance = self.options["tolerance"]
        rows = self._most(pair.row_violation, tolerance, len(master.rows))
        columns = self._most(pair.column_violation, tolerance, len(master.columns))
        if self.program.A.symmetric:
            own = master.rest.next_column(rows, pair.upwards[rows])
            columns = np.concatenate([columns, own[own >= 0]])
        return master.add(columns, rows)

    def _most(self, violation: Array, tolerance: float, present: int) -> Array:
        count = max(self.options["batch"], int(_GROWTH * present))
        return largest(np.where(violation > tolerance, violation, 0.0), count)

    # ---- one round

    def _run(self, master: RestrictedMaster, primal: bool) -> Run:
        if master.entries > self.options["max_entries"]:
            return Run(Outcome.LIMIT, "max_entries", Limit.MEMORY)
        self.control.progress(f"{len(master.rows)} rows, {len(master.columns)} columns")
        master.instance.set_option("simplex_strategy", PRIMAL if primal else DUAL)
        return master.run()

    def _repair(self, master: RestrictedMaster, run: Run) -> Run | None:
        """Find columns (rows) without which the restricted problem has no optimum.

        Returns None where the working set has grown, else how the solve ends.
        """
        lam = master.lam
        if run.outcome is not Outcome.UNBOUNDED:
            stopped, grown = self._make_feasible(master)
            if stopped is not None or grown:
                return stopped
            if run.outcome is Outcome.INFEASIBLE:
                return Run(Outcome.FAILED, run.raw)
        second = self._solve_beside(recession(self.program, lam), master)
        if second.outcome is not Outcome.OPTIMAL:
            return Run(second.outcome, second.raw, second.limit)
        assert second.theta is not None and second.nu is not None
        proof = ray_proof(self.program, second.theta, lam)
        if proof is None:
            grown = master.add(np.zeros(0, dtype=np.int64), np.flatnonzero(second.nu))
            return None if grown else Run(Outcome.FAILED, run.raw)
        if self._point is None:
            stopped, _ = self._make_feasible(master)
            if stopped is not None:
                return stopped
        self._ended = Ended(Outcome.UNBOUNDED, lam, proof, self._point)
        return Run(Outcome.UNBOUNDED, "Unbounded")

    def _make_feasible(self, master: RestrictedMaster) -> tuple[Run | None, bool]:
        """Find a feasible point and add its columns; return whether any were missing.

        Where there is none, or a limit is reached, return how the solve ends.
        """
        lam = master.lam
        first = self._solve_beside(phase_one(self.program, lam), master)
        if first.outcome is not Outcome.OPTIMAL:
            return Run(first.outcome, first.raw, first.limit), False
        assert first.theta is not None and first.nu is not None
        proof = farkas_proof(self.program, first.nu, lam)
        if proof is not None:
            self._ended = Ended(Outcome.INFEASIBLE, lam, proof)
            return Run(Outcome.INFEASIBLE, "Infeasible"), False
        self._point = first.theta
        return None, master.add(master.columns_towards(first.theta), np.zeros(0, dtype=np.int64))

    def _solve_beside(self, program: PiecewiseLinearProgram, master: RestrictedMaster) -> Solution:
        """Solve another program on the same map, from the same working set, at its lam = 0."""
        guess = Guess(master.variables(), master.rows)
        beside = Generation(
            program, self.control, self.options, guess, spent=self.spent, repairs=False
        )
        return beside.solve(0.0)

    # ---- the answer

    def _finished(self, master: RestrictedMaster, pair: Pair, run: Run) -> Solution:
        """Solve the kernel of the last basis to full accuracy."""
        lam, scaling = master.lam, master.bounds.scaling
        theta, nu, basis = pair.theta, pair.nu, None
        codes = master.codes(pair)
        if codes is not None:
            basis = optimal_basis(self.program, codes, nu, lam, scaling)
        if basis is not None:
            theta, nu = basis.theta[:, 0], basis.nu[:, 0]
        return Solution(run.outcome, run.raw, lam, None, theta, nu, basis, scaling.objective)

    def _cut_short(self, master: RestrictedMaster, run: Run) -> Solution:
        """Return the last point that may be feasible, and multipliers that prove a bound."""
        nu = _proving(self.program, self._pair, master.lam)
        theta = self._point
        if theta is None:
            theta = self.program.phi.kinks_at(master.lam)[master.rest.kink]
        return Solution(run.outcome, run.raw, master.lam, run.limit, theta, nu)


def _proving(program: PiecewiseLinearProgram, pair: Pair | None, lam: float) -> Array | None:
    """Shrink multipliers until they prove a bound for the whole problem.

    Columns that are out may have multipliers beyond their slopes. Where zero multipliers prove
    something (no slope range excludes 0) a multiple of the pair's does, too; None elsewhere.
    """
    m, p = program.A.shape
    v, nu = (np.zeros(p), np.zeros(m)) if pair is None else (pair.v, pair.nu)
    share = 1.0
    for multipliers, pieces in ((v, program.phi), (nu, program.psi)):
        low, high = pieces.slope_range(lam)
        if (low > 0.0).any() or (high < 0.0).any():
            return None
        size = np.abs(multipliers)
        end = np.abs(np.where(multipliers > 0.0, high, low))
        beyond = size > end + 1e-12 * size.max(initial=0.0)
        share = min(share, float(np.min(end[beyond] / size[beyond], initial=1.0)))
    return share * nu
