"""pyprimal, the parametric simplex code of the paper's authors, as a backend."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, Problem, is_sparse
from sparseopt.problems.parametric.classification import L1SVM
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.problems.parametric.regression import (
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)
from sparseopt.result import Limit, Result, Status

from ..common.child import PYTHON
from . import jobs
from .knots import Knots, constrained, cut, norm_bounded, penalised
from .points import Point, answer

_KINDS = (DantzigSelector, CompressedSensing, LADLasso, QuantileLasso, L1SVM)


class PyPrimal(Backend):
    r"""The whole path by pyprimal (Zhao's group; the C++ code of the R package PRIMAL).

    Weights become scales of the columns, and of the rows; level and lam of the LAD-lasso are those
    of the quantile lasso, halved. Its SVM follows the bound of (2.12) from large to small;
    the penalised problem has the vertices of that path, with the slopes of the loss as lam.

    It gives no multipliers: its paths are ``unproven``, and their ``dual_at`` is zero, which proves
    as good as nothing.

    References
    ----------
    Pang, Zhao, Vanderbei, Liu: A parametric simplex approach to statistical learning problems.
    """

    name = "pyprimal"
    summary = "the paper's own code (PRIMAL): path of Dantzig, sensing, LAD, quantile, SVM"
    requires = ("pyprimal",)
    extra = "peers"
    families = frozenset({"parametric"})
    features = frozenset({Feature.EXACT, Feature.SINGLE, Feature.GRID, Feature.PATH})
    options: ClassVar[Mapping[str, Option]] = {
        "pivots": Option(
            int,
            5000,
            "Largest number of pivots; memory is set aside for their solutions.",
            low=1,
        )
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take five models, where weights are scales of columns and rows."""
        if not isinstance(problem, _KINDS):
            return False, f"{self.name} does not take {problem.kind}"
        if isinstance(problem, L1SVM):
            if not problem.fit_intercept:
                return False, f"{self.name} always fits an intercept in an L1SVM"
        elif isinstance(problem, LADLasso | QuantileLasso) and problem.fit_intercept:
            return False, f"{self.name} fits no intercept in a {problem.kind}"
        if getattr(problem, "sample_weights", None) is not None:
            return False, f"{self.name} takes no sample_weights"
        if problem.bounds is not None:
            return False, f"{self.name} takes no bounds"
        if is_sparse(problem.X):
            return False, f"{self.name} takes no sparse X"
        for name in ("weights", "row_weights"):
            weights = getattr(problem, name, None)
            if weights is not None and not (weights > 0.0).all():
                return False, f"{self.name} takes no {name} that are 0"
        if isinstance(problem, DantzigSelector):
            if problem.fit_intercept:
                return False, f"{self.name} fits no intercept in a {problem.kind}"
            ones = np.ones(problem.X.shape[1])
            first, second = (
                ones if w is None else w for w in (problem.weights, problem.row_weights)
            )
            if not np.array_equal(first, second):
                return False, f"{self.name} needs row_weights equal to the weights"
        return True, ""

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        if params.lam is None:
            return _path(problem, params, options["pivots"], control)
        least = params.lam if isinstance(params.lam, float) else min(params.lam)
        found = _follow(problem, least, options["pivots"], control)

        def solve(lam: float) -> Point:
            if isinstance(found, Limit):
                return Point(lam, None, found.value, exact=True, limit=found)
            if not found.low[-1] <= lam <= found.high[0]:
                return Point(lam, None, _OUT.format(lam), exact=True, limit=Limit.ITERATION)
            return Point(lam, found.at(lam), "path", exact=True, iterations=len(found.low) - 1)

        return answer(problem, params.lam, solve, control)


_OUT = "the path does not get to lam = {:g}"


def _path(problem: ParametricProblem, params: SolveParams, pivots: int, control: Control) -> Result:
    lam_min = params.lam_min or 0.0
    found = _follow(problem, lam_min, pivots, control)
    if isinstance(found, Limit):
        return Result(status=Status.NO_SOLUTION, limit=found, raw_status=found.value)
    path = cut(found, params.max_knots, params.max_nonzeros)
    complete = path.stopped_by in ("lam_min", "max_knots", "max_nonzeros")
    complete &= bool(np.isinf(path.high[0]))
    last = float(path.low[-1])
    objective = path.objective_at(last)
    return Result(
        status=Status.OPTIMAL if complete else Status.FEASIBLE,
        limit=None if complete else Limit.ITERATION,
        raw_status=f"{len(found.low) - 1} pivots",
        x=path.at(last),
        objective=objective,
        bound=objective if complete else None,
        path=path,
        iterations=len(found.low) - 1,
    )


def _follow(
    problem: ParametricProblem, stop: float, pivots: int, control: Control
) -> ParametricPath | Limit:
    """Run pyprimal down to `stop`, and a little below, since it stops at a knot."""
    with control.building():
        call = _Call.of(problem)
    found = PYTHON.run(
        jobs.pyprimal,
        control,
        {"X": call.X, "y": call.y},
        solver=call.solver,
        pivots=pivots,
        stop=0.0 if call.solver == "sparse_svm_solver" else stop / call.factor,
        **call.extra,
    )
    if isinstance(found, Limit):
        return found
    theta = found["theta"] * call.scale
    if not np.isfinite(theta).all():
        # Its bases become singular, which it does not notice.
        return Limit.SLOW_PROGRESS
    if "intercept" in found:
        theta = np.column_stack([theta, found["intercept"]])
    knots = Knots(problem, found["lam"] * call.factor, theta, out_of_pivots=len(theta) >= pivots)
    return call.read(knots, stop)


@dataclass(frozen=True, eq=False)
class _Call:
    """A problem in pyprimal's words: theta = scale * its solution, lam = factor * its lam."""

    solver: str
    X: Array
    y: Array
    scale: Array
    read: Callable[[Knots, float], ParametricPath]
    factor: float = 1.0
    extra: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, problem: Problem) -> _Call:
        """Translate."""
        assert isinstance(problem, _KINDS)
        d = problem.X.shape[1]
        scale = np.ones(d) if problem.weights is None else 1.0 / problem.weights
        X, y = problem.X * scale, problem.y
        if isinstance(problem, DantzigSelector):
            root = np.sqrt(problem.divisor)
            return cls("dantzig_solver", X / root, y / root, scale, constrained)
        if isinstance(problem, CompressedSensing):
            radius = problem.band_weights
            X, y = X / radius[:, None], y / radius
            return cls("compressed_sensing_solver", X, y, scale, constrained)
        if isinstance(problem, L1SVM):
            return cls("sparse_svm_solver", X, y, scale, norm_bounded)
        tau, factor = (0.5, 2.0) if isinstance(problem, LADLasso) else (problem.tau, 1.0)
        solver = "quantile_regression_solver"
        return cls(solver, X, y, scale, penalised, factor, {"tau": tau})
