"""Column and constraint generation on HiGHS as a backend: one value of lam, or a grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.result import Result

from ..lp.answer import Engine, grid, single
from .ccg_columns import ColumnGenerations
from .ccg_loop import Generation, Guess

__all__ = ["HighsCCG"]


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
    options: ClassVar[Mapping[str, Option]] = {
        "start": Option(int, 100, "Columns, and rows, to start with.", low=1),
        "batch": Option(int, 30, "Columns, and rows, that one round lets in at least.", low=1),
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
    theta = _vector("a point", x, program.A.shape[1])
    if nu is None:
        return Guess(np.flatnonzero(theta), np.zeros(0, dtype=np.int64))
    nu = _vector("row multipliers", nu, program.A.shape[0])
    return Guess(np.flatnonzero(theta), np.flatnonzero(nu), theta, nu)


def _vector(name: str, given: Any, length: int) -> Array:
    try:
        vector = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ParamError(
            f"warm_start is {type(given).__name__}; expected a Result or an array of {length} "
            "numbers"
        ) from error
    if vector.shape != (length,) or not np.isfinite(vector).all():
        raise ParamError(
            f"warm_start has {name} of shape {vector.shape}; expected ({length},), finite numbers"
        )
    return vector
