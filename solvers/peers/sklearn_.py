"""scikit-learn's QuantileRegressor as a backend."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.parametric.regression import LADLasso, QuantileLasso
from sparseopt.result import Limit, Result

from ..common.child import PYTHON
from . import jobs
from .pinball import Pinball
from .points import Point, answer


class SklearnQuantile(Backend):
    r"""LAD- and quantile lasso by scikit-learn's linear program, which HiGHS solves.

    Its objective is a mean: :math:`\frac1n \sum_i \rho_\tau(y_i - x_i'b) + \alpha \|b\|_1`, so that
    :math:`\alpha = \lambda / n` for the quantile lasso and :math:`\lambda / 2n` for the LAD-lasso.
    Weights become scales of the columns. It gives no multipliers: what it calls optimal is
    ``unproven``.
    """

    name = "sklearn-quantile"
    summary = "scikit-learn's QuantileRegressor (by HiGHS): LAD- and quantile lasso, given lam"
    requires = ("sklearn",)
    distribution = "scikit-learn"
    extra = "peers"
    families = frozenset({"parametric"})
    features = frozenset({Feature.EXACT, Feature.SINGLE, Feature.GRID})
    options: ClassVar[Mapping[str, Option]] = {
        "solver": Option(
            str,
            "highs",
            "QuantileRegressor's solver.",
            choices=("highs", "highs-ds", "highs-ipm", "interior-point"),
        )
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take LAD- and quantile lasso whose coefficients are all penalised, or none."""
        if not isinstance(problem, LADLasso | QuantileLasso):
            return False, f"{self.name} takes LADLasso and QuantileLasso, not {problem.kind}"
        if problem.sample_weights is not None:
            return False, f"{self.name} takes no sample_weights here"
        if problem.bounds is not None:
            return False, f"{self.name} takes no bounds"
        free = problem.weights is not None and (problem.weights == 0.0)
        if np.any(free) and not np.all(free):
            return False, f"{self.name} penalises all coefficients; some weights are 0"
        return True, ""

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, LADLasso | QuantileLasso) and params.lam is not None

        def solve(lam: float) -> Point:
            return _fit(problem, lam, options["solver"], control)

        return answer(problem, params.lam, solve, control)


def _fit(problem: Problem, lam: float, solver: str, control: Control) -> Point:
    asked = Pinball.at(problem, lam)
    d = asked.X.shape[1] - asked.intercept
    cost = asked.cost[:d]
    largest = float(cost.max())
    scale = largest / cost if largest > 0.0 else np.ones(d)
    found = PYTHON.run(
        jobs.quantile_regressor,
        control,
        {"X": asked.X[:, :d] * scale, "y": asked.y},
        tau=asked.tau,
        alpha=largest / len(asked.y),
        intercept=asked.intercept,
        solver=solver,
    )
    if isinstance(found, Limit):
        return Point(lam, None, found.value, exact=True, limit=found)
    raw = str(found["warning"])
    if raw:
        return Point(lam, None, raw, exact=True)
    theta = found["theta"] * np.append(scale, np.ones(int(asked.intercept)))
    return Point(lam, theta, "success", exact=True, iterations=int(found["iterations"]))
