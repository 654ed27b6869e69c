"""Parametric problems at one lam, or at several: a linear program for an outside solver."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Result

from ...common.outcome import Answer, Outcome, Spent
from ...lp.answer import grid, single
from ...lp.basis import Solution, optimal_basis
from ...lp.form import LPForm
from ...lp.layout import Bounds
from ...lp.proof import Ended, disprove
from .base import Formulation, Solver

_INSIDE = 1e-7
"""Distance from its bounds, in the data's scale, from which on a value is taken for basic."""


def solve_parametric(
    problem: ParametricProblem, solver: Solver, options: Mapping[str, Any], control: Control
) -> Result:
    """Answer for one value of lam, or for a grid.

    Parameters
    ----------
    problem : ParametricProblem
    solver : Solver
    options : mapping
        Of the backend.
    control : Control

    Returns
    -------
    Result
    """
    if control.warm_start is not None:
        control.notes.append(f"{solver.name} takes no warm start for parametric problems")
    engine = LPEngine(problem.canonical(), solver, options, control)
    lam = control.params.lam
    if isinstance(lam, tuple):
        return grid(problem, lam, engine, control, warm=False)
    assert lam is not None
    return single(problem, lam, engine, control)


class LPEngine:
    """A solver on the linear program of a parametric problem, at one lam after another.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    solver : Solver
    options : mapping
        Of the backend.
    control : Control
    """

    def __init__(
        self,
        program: PiecewiseLinearProgram,
        solver: Solver,
        options: Mapping[str, Any],
        control: Control,
    ) -> None:
        self.program = program
        self.solver = solver
        self.options = options
        self.control = control
        self.spent = Spent()
        self._form: LPForm | None = None

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve at lam."""
        with self.control.building():
            form = self._form_at(lam)
            bounds = form.bounds(lam)
        return self._read(form, bounds, self._ask(form, bounds, warm), lam)

    def _ask(self, form: LPForm, bounds: Bounds, warm: bool) -> Answer:
        """Solve the program with these costs and bounds; with `warm` from the last solve."""
        answer = self.solver.ask(
            bounds.program(form.matrix),
            self.control,
            self.options,
            rel_gap=self.control.params.rel_gap,
            spent=self.spent.iterations,
        )
        self.spent.iterations += answer.iterations or 0
        return answer

    def disprove(self, outcome: Outcome, lam: float) -> Ended | None:
        """Prove that there is no optimum at lam, as the last solve said; None where that fails."""

        def solve(program: PiecewiseLinearProgram) -> Solution:
            return LPEngine(program, self.solver, self.options, self.control).solve(0.0)

        return disprove(self.program, outcome, lam, solve)

    def _form_at(self, lam: float) -> LPForm:
        """Return the form, built anew where slopes coincide at lam alone."""
        if self._form is None or not self._form.fits(lam):
            limit, name = self.options["max_entries"], self.solver.name
            self._form = LPForm(self.program, None, limit, name)
            if not self._form.fits(lam):
                self._form = LPForm(self.program, lam, limit, name)
        return self._form

    def _read(self, form: LPForm, bounds: Bounds, answer: Answer, lam: float) -> Solution:
        known = answer.x is not None and answer.outcome in (Outcome.OPTIMAL, Outcome.LIMIT)
        if not known or answer.x is None:
            return Solution(answer.outcome, answer.raw, lam, answer.limit)
        theta = form.theta(answer.x, bounds.scaling)
        if answer.outcome is Outcome.LIMIT or answer.row_duals is None:
            return Solution(answer.outcome, answer.raw, lam, answer.limit, theta)
        nu = form.nu(answer.row_duals, bounds.scaling, lam)
        rows = form.matrix @ answer.x
        basis = None
        for basic in (answer.basic, _guess(answer.x, rows, bounds)):
            if basic is not None and basis is None:
                codes = form.codes(basic, (answer.x, rows), lam)
                if codes is not None:
                    basis = optimal_basis(self.program, codes, nu, lam, bounds.scaling)
        if basis is not None:
            theta, nu = basis.theta[:, 0], basis.nu[:, 0]
        return Solution(
            answer.outcome, answer.raw, lam, None, theta, nu, basis, bounds.scaling.objective
        )


def _guess(columns: Array, rows: Array, bounds: Bounds) -> tuple[Array, Array] | None:
    """Take the values between their bounds for the basic ones, if there are so many."""
    inside = [
        (value - low > _INSIDE) & (high - value > _INSIDE)
        for value, low, high in (
            (columns, bounds.column_low, bounds.column_high),
            (rows, bounds.row_low, bounds.row_high),
        )
    ]
    if sum(int(np.count_nonzero(part)) for part in inside) != len(rows):
        return None
    return inside[0], inside[1]


PARAMETRIC = Formulation(ParametricProblem, solve_parametric)
