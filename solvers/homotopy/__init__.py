"""The backend ``homotopy``: the parametric simplex method on piecewise-linear programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature
from sparseopt.compiling import prepare
from sparseopt.params import SolveParams
from sparseopt.problems import ParametricProblem, Problem
from sparseopt.result import Result

__all__ = ["Homotopy"]


class Homotopy(Backend):
    """Our own engine for parametric problems: the whole path, with a certificate.

    Solves every problem of the family "parametric" for all values of lam at once (or for one, or
    for a grid, by following the path there). Exact: every segment carries its basis.

    References
    ----------
    Pang, Zhao, Vanderbei, Liu: A parametric simplex approach to statistical learning problems.
    """

    name: ClassVar[str] = "homotopy"
    summary: ClassVar[str] = "own parametric simplex engine, exact whole paths with certificates"
    families: ClassVar[frozenset[str]] = frozenset({"parametric"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.PATH,
            Feature.CALLBACK,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        control.progress("loading the engine (it is compiled at its first use on a machine)", 0.0)
        with control.uncounted():
            from .runs.solve import HomotopySolve, warm_up

            prepare(warm_up)
        run = HomotopySolve(problem, params, control)
        try:
            if params.lam is None:
                return run.path(params.lam_min or 0.0)
            if isinstance(params.lam, float):
                return run.single(params.lam)
            return run.grid(params.lam)
        except np.linalg.LinAlgError as error:
            return run.stopped(f"slow_progress: {error}")
