"""Column and constraint generation on HiGHS as a backend: one value of lam, or a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Result

from ..common.outcome import Outcome, Spent
from ..common.warm_start import warm_vector
from ..lp.answer import Engine, grid, single
from ..lp.basis import Solution
from ..lp.proof import Ended, LPProof
from .ccg_loop import Generation, Guess


class HighsCCG(Backend):
    """HiGHS on the columns and rows that matter, found by pricing.

    References
    ----------
    Mazumder, Wright, Zheng (2019), Computing estimators of Dantzig selector type via column and
    constraint generation.
    """

    name = "highs-ccg"
    summary = "column and constraint generation on HiGHS, for single values of lam on large data"
    requires = ("highspy",)
    families = frozenset({"parametric"})
    features = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.WARM_START,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "start": Option(int, 100, "Columns, and rows, to start with.", low=1),
        "batch": Option(int, 30, "Columns, and rows, that a round adds at least.", low=1),
        "max_entries": Option(
            float, 5e7, "Largest number of matrix entries to hand to HiGHS.", low=1.0
        ),
        "tolerance": Option(
            float, 1e-9, "Feasibility tolerances of HiGHS, in the data's scale.", low=1e-10
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        with control.uncounted():
            import highspy  # noqa: F401
        program = problem.canonical()
        guess = _guess(program, control)
        engine: Engine = (
            ColumnGenerations(problem, control, options, guess)
            if isinstance(problem, ColumnwiseProblem)
            else Generation(program, control, options, guess)
        )
        if isinstance(params.lam, tuple):
            return grid(problem, params.lam, engine, control, warm=True)
        assert params.lam is not None
        return single(problem, params.lam, engine, control)


def _guess(program: PiecewiseLinearProgram, control: Control) -> Guess | None:
    """Take the support and the tight rows of the warm start: a result, or a point alone."""
    given = control.warm_start
    if given is None:
        return None
    x, nu = given, None
    if isinstance(given, Result):
        x, nu = given.x, given.duals.get("rows")
        if x is None:
            control.notes.append("the warm start has no point; it was ignored")
            return None
    theta = warm_vector("a point", x, program.A.shape[1])
    if nu is None:
        return Guess(np.flatnonzero(theta), np.zeros(0, dtype=np.int64))
    nu = warm_vector("row multipliers", nu, program.A.shape[0])
    return Guess(np.flatnonzero(theta), np.flatnonzero(nu), theta, nu)


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
            whole = LPProof(self._padded(proof.vector, i * m), proof.value, proof.rate)
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
