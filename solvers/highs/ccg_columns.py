"""Column and constraint generation for matrix problems: each column of the matrix by itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem

from ..common.outcome import Outcome, Spent
from ..lp.proof import Ended, Proof
from ..lp.solution import Solution
from .ccg_loop import Generation, Guess

__all__ = ["ColumnGenerations"]


class ColumnGenerations:
    """One :class:`~sparseopt.solvers.highs.ccg_loop.Generation` for each column of the solution.

    Parameters
    ----------
    problem : ColumnwiseProblem
    control : Control
    options : mapping
        Of the backend.
    guess : Guess, optional
        Of all columns, one after another.
    """

    def __init__(
        self,
        problem: ColumnwiseProblem,
        control: Control,
        options: Mapping[str, Any],
        guess: Guess | None,
    ) -> None:
        self.program = problem.canonical()
        self.spent = Spent()
        self._control = control
        self._ended: Ended | None = None
        programs = [problem.column(i).canonical() for i in range(problem.columns)]
        self._columns = [
            Generation(
                program, control, options, _part(guess, i, *program.A.shape), spent=self.spent
            )
            for i, program in enumerate(programs)
        ]

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve all columns at lam; the first one without an optimum ends it."""
        self._ended = None
        done: list[Solution] = []
        for i, column in enumerate(self._columns):
            self._control.progress(f"lam {lam:.4g}, column {i}", fraction=i / len(self._columns))
            solution = column.solve(lam, warm=warm)
            if solution.outcome is not Outcome.OPTIMAL:
                return self._stopped(done, solution)
            done.append(solution)
        return Solution(
            outcome=Outcome.OPTIMAL,
            raw=done[-1].raw,
            lam=lam,
            theta=_join([solution.theta for solution in done]),
            nu=_join([solution.nu for solution in done]),
            scale=max(solution.scale for solution in done),
        )

    def disprove(self, outcome: Outcome, lam: float) -> Ended | None:
        """Return the proof that the last solve has found: that of one column is one of the whole.

        What is unbounded needs a feasible point of all columns: this is left to others.
        """
        return self._ended

    def _stopped(self, done: list[Solution], last: Solution) -> Solution:
        i = len(done)
        m = self._columns[i].program.A.shape[0]
        ended = self._columns[i].disprove(last.outcome, last.lam)
        if ended is not None and ended.outcome is Outcome.INFEASIBLE:
            proof = ended.proof
            whole = Proof(self._padded(proof.vector, i * m), proof.value, proof.rate)
            self._ended = Ended(Outcome.INFEASIBLE, last.lam, whole)
        nu = None
        if last.nu is not None:
            # Columns have the same functions: where this one's multipliers can shrink to zero,
            # zeros prove something of the columns to come.
            nu = self._padded(_join([*(solution.nu for solution in done), last.nu]), 0)
        return Solution(last.outcome, last.raw, last.lam, last.limit, nu=nu)

    def _padded(self, part: Array, begin: int) -> Array:
        """Return row multipliers that are zero but for a part."""
        nu = np.zeros(self.program.A.shape[0])
        nu[begin : begin + len(part)] = part
        return nu


def _join(parts: list[Array | None]) -> Array:
    return np.concatenate([part for part in parts if part is not None])


def _part(guess: Guess | None, i: int, m: int, p: int) -> Guess | None:
    """Return column i's part of a guess."""
    if guess is None:
        return None
    rows, variables = slice(i * m, (i + 1) * m), slice(i * p, (i + 1) * p)
    return Guess(
        variables=guess.variables[guess.variables // p == i] - i * p,
        rows=guess.rows[guess.rows // m == i] - i * m,
        theta=None if guess.theta is None else guess.theta[variables],
        nu=None if guess.nu is None else guess.nu[rows],
    )
