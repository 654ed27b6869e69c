"""statsmodels' QuantReg as a backend: quantile regression without a penalty."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.parametric.regression import LADLasso, QuantileLasso
from sparseopt.result import Limit, Result

from ..common.child import PYTHON
from . import jobs
from .pinball import Pinball
from .points import Point, answer


class StatsmodelsQuantReg(Backend):
    """LAD and quantile regression by iteratively reweighted least squares; lam = 0 only.

    QuantReg has no l1 penalty, so it solves the problem where the penalty vanishes: at lam = 0, or
    where all weights are 0. An approximate method: its answers are CONVERGED, near an optimum.
    """

    name = "statsmodels"
    summary = "statsmodels' QuantReg: LAD and quantile regression without a penalty, approximately"
    requires = ("statsmodels",)
    extra = "peers"
    families = frozenset({"parametric"})
    features = frozenset({Feature.HEURISTIC, Feature.SINGLE})
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "tolerance": Option(float, 1e-6, "QuantReg's p_tol: change of the coefficients.", low=0.0)
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take LAD- and quantile lasso."""
        if Pinball.covers(problem):
            return True, ""
        return False, f"{self.name} takes LADLasso, QuantileLasso; no sample_weights, no bounds"

    def answers(self, problem: Problem, params: SolveParams) -> tuple[bool, str]:
        """Take questions in which nothing is penalised."""
        supported, reason = super().answers(problem, params)
        if supported and not _unpenalised(problem, params):
            return False, f"{self.name} has no l1 penalty: ask for lam = 0, or give weights of 0"
        return supported, reason

    def _check_question(self, problem: Problem, params: SolveParams) -> None:
        super()._check_question(problem, params)
        answered, reason = self.answers(problem, params)
        if not answered:
            raise UnsupportedProblem(reason)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, LADLasso | QuantileLasso) and params.lam is not None
        most = params.iteration_limit or 1000

        def solve(lam: float) -> Point:
            asked = Pinball.at(problem, lam)
            found = PYTHON.run(
                jobs.quant_reg,
                control,
                {"X": asked.X, "y": asked.y},
                tau=asked.tau,
                iterations=most,
                tolerance=options["tolerance"],
            )
            if isinstance(found, Limit):
                return Point(lam, None, found.value, exact=False, limit=found)
            iterations = int(found["iterations"])
            raw = str(found["warning"]) or "converged"
            return Point(lam, found["theta"], raw, exact=False, iterations=iterations)

        return answer(problem, params.lam, solve, control)


def _unpenalised(problem: Problem, params: SolveParams) -> bool:
    assert isinstance(problem, LADLasso | QuantileLasso)
    weights = problem.weights
    return params.lam == 0.0 or (weights is not None and not weights.any())
