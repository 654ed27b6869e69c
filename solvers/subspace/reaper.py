"""The convex relaxation over projections, rounded."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result

from .bounds import ProjectionRelaxation, Span
from .weighted import Distances, as_result


class Reaper(Distances):
    r"""Minimise :math:`\sum \|x_i - P x_i\|` over :math:`0 \preceq P \preceq I`, tr P = k.

    The answer is the subspace nearest to the relaxed projection; the bound is the relaxation's.

    Source: Lerman, McCoy, Tropp, Zhang: Robust computation of linear models by convex relaxation
    (2015).
    """

    name: ClassVar[str] = "reaper"
    summary: ClassVar[str] = "the convex relaxation over projections, rounded"
    factorises = True
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.RELAXATION, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 500, "iterations at most", low=1)
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, RobustSubspace)
        span = Span(problem)
        relaxation = ProjectionRelaxation(span.problem)
        relaxation.run(control, options["iterations"])
        return as_result(
            problem,
            span.lift(relaxation.flat()),
            params,
            proof=span.lifted(relaxation.proof),
            limit=control.limit(),
            iterations=relaxation.iterations,
        )
