"""A whole linear program in HiGHS, solved at one lam after another."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

from ..common.outcome import Outcome, Run, Spent
from ..lp.basis import optimal_basis
from ..lp.form import LPForm
from ..lp.proof import Ended, disprove
from ..lp.solution import Solution
from .instance import DUAL, PRIMAL, Instance

__all__ = ["Session"]


class Session:
    """A HiGHS instance that holds one program; costs and bounds follow lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    control : Control
    options : mapping
        Of the backend.
    """

    def __init__(
        self, program: PiecewiseLinearProgram, control: Control, options: Mapping[str, Any]
    ) -> None:
        self.program = program
        self.control = control
        self.options = options
        self.spent = Spent()
        self._loaded: tuple[LPForm, Instance] | None = None

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve at lam, from the slack basis or from the basis of the last solve."""
        form, instance = self._form(lam)
        instance.change(form.bounds(lam))
        if not warm:
            instance.highs.clearSolver()
            if self.options["presolve"] == "off":
                instance.start_from(*form.first_basis())
        run = instance.run()
        if run.outcome is Outcome.FAILED:
            # HiGHS 1.15.1 ends some unbounded programs as "Unknown" by the dual method.
            instance.highs.clearSolver()
            instance.set_option("simplex_strategy", PRIMAL)
            run = instance.run()
            instance.set_option("simplex_strategy", DUAL)
        return self._read(form, instance, run, lam)

    def disprove(self, outcome: Outcome, lam: float) -> Ended | None:
        """Prove that there is no optimum at lam, as the last solve said; None where that fails."""

        def solve(program: PiecewiseLinearProgram) -> Solution:
            return Session(program, self.control, self.options).solve(0.0)

        return disprove(self.program, outcome, lam, solve)

    def _read(self, form: LPForm, instance: Instance, run: Run, lam: float) -> Solution:
        solution = instance.highs.getSolution()
        if run.outcome not in (Outcome.OPTIMAL, Outcome.LIMIT) or not solution.value_valid:
            return Solution(run.outcome, run.raw, lam, run.limit)
        scaling = form.scaling(lam)
        columns = np.array(solution.col_value)
        theta = form.theta(columns, scaling)
        if run.outcome is Outcome.LIMIT:
            return Solution(run.outcome, run.raw, lam, run.limit, theta)
        nu = form.nu(np.array(solution.row_dual), scaling, lam)
        basis = None
        basic = instance.basic()
        if basic is not None:
            codes = form.codes(basic, (columns, np.array(solution.row_value)), lam)
            if codes is not None:
                basis = optimal_basis(self.program, codes, nu, lam, scaling)
        if basis is not None:
            theta, nu = basis.theta[:, 0], basis.nu[:, 0]
        return Solution(run.outcome, run.raw, lam, None, theta, nu, basis, scaling.objective)

    def _form(self, lam: float) -> tuple[LPForm, Instance]:
        """Return the loaded form, after building another where slopes coincide at lam alone."""
        if self._loaded is None or not self._loaded[0].fits(lam):
            limit = self.options["max_entries"]
            with self.control.building():
                form = LPForm(self.program, None, limit)
                if not form.fits(lam):
                    form = LPForm(self.program, lam, limit)
                instance = Instance(
                    self.control, self.options["presolve"], self.options["tolerance"], self.spent
                )
                instance.load(form.matrix, form.bounds(lam))
                self._loaded = form, instance
        return self._loaded
