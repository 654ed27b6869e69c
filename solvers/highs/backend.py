"""HiGHS as a backend: one value of lam, a grid of values, and the path by ranging."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.result import Limit, Result, Status

from ..common.segments import path_from_codes
from ..lp.answer import evidence, grid, single, without_optimum
from .path import Ranging
from .run import Session

__all__ = ["Highs"]


class Highs(Backend):
    """The simplex method of HiGHS, with its basis solved again to full accuracy.

    References
    ----------
    Huangfu and Hall (2018), Parallelizing the dual revised simplex method.
    """

    name = "highs"
    summary = "the simplex method of HiGHS; the independent reference"
    requires = ("highspy",)
    families = frozenset({"parametric"})
    features = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.PATH,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    options: ClassVar[Mapping[str, Option]] = {
        "max_entries": Option(
            float, 5e7, "Largest number of matrix entries to form and to hand to HiGHS.", low=1.0
        ),
        "presolve": Option(
            str,
            "off",
            "HiGHS' presolve, for single values and grids.",
            choices=("off", "choose", "on"),
        ),
        "tolerance": Option(
            float, 1e-9, "Feasibility tolerances of HiGHS, in the data's scale.", low=1e-10
        ),
        "warm_start_grid": Option(
            bool, False, "Start each grid value from the basis of the one before."
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        with control.uncounted():
            import highspy  # noqa: F401
        if params.lam is None:
            return _path(problem, params, options, control)
        session = Session(problem.canonical(), control, options)
        if isinstance(params.lam, tuple):
            return grid(problem, params.lam, session, control, warm=options["warm_start_grid"])
        return single(problem, params.lam, session, control)


def _path(
    problem: ParametricProblem,
    params: SolveParams,
    options: Mapping[str, Any],
    control: Control,
) -> Result:
    program = problem.canonical()
    options = {**options, "presolve": "off"}
    session = Session(program, control, options)
    ranging = Ranging(
        program,
        session,
        control,
        lam_min=params.lam_min or 0.0,
        max_knots=params.max_knots,
        max_nonzeros=params.max_nonzeros,
    )
    ranging.run()
    common: dict[str, Any] = {
        "raw_status": ranging.stopped_by,
        "iterations": session.spent.iterations,
    }
    if not ranging.low:
        if ranging.end is not None and ranging.limit is None:
            return without_optimum(ranging.end, **common)
        limit = ranging.limit or Limit.SLOW_PROGRESS
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    change_ptr, changed, change_code = _changes(ranging.codes)
    path, certificate = path_from_codes(
        problem,
        np.array(ranging.low),
        np.array(ranging.high),
        ranging.codes[0],
        change_ptr,
        changed,
        change_code,
        ranging.stopped_by,
        **evidence(ranging.end),
        **evidence(ranging.ceiling, "_above"),
    )
    last = float(path.low[-1])
    theta, nu = path.at(last), path.dual_at(last)
    return Result(
        status=Status.OPTIMAL if ranging.limit is None else Status.FEASIBLE,
        limit=ranging.limit,
        x=theta,
        objective=path.objective_at(last),
        bound=problem.canonical_sign * program.dual_value(nu, last),
        duals={"rows": nu},
        path=path,
        certificate=certificate,
        **common,
    )


def _changes(codes: list[Array]) -> tuple[Array, Array, Array]:
    """Return (change_ptr, changed, change_code) of consecutive bases."""
    changed = [np.flatnonzero(new != old) for old, new in pairwise(codes)]
    new_codes = [new[where] for new, where in zip(codes[1:], changed, strict=True)]
    none = np.zeros(0, dtype=np.int64)
    return (
        np.cumsum([0, 0, *(len(where) for where in changed)]),
        np.concatenate([none, *changed]),
        np.concatenate([none, *new_codes]),
    )
