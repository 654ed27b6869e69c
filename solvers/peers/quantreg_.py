"""The R package quantreg: quantile lasso by Frisch-Newton, or by the simplex method."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.linalg

from sparseopt.backend import Availability, Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.regression import LADLasso, QuantileLasso
from sparseopt.result import Limit, Result

from ..common.child import R, r_package
from .pinball import Pinball
from .points import Point, answer

_SOURCE = r"""
quantile_lasso <- function(X, y, tau, cost, eps) {
  if (ncol(X) == 1) {
    # A single lambda would be taken for that of the columns after the first.
    X <- cbind(X, 0)
    cost <- c(cost, 1)
    return(list(theta = quantile_lasso(X, y, tau, cost, eps)$theta[1]))
  }
  fit <- function(eps) quantreg::rq.fit.lasso(X, y, tau = tau, lambda = 2 * cost, eps = eps)
  # Near the optimum its equations may become singular before a small eps is reached.
  found <- tryCatch(fit(eps), error = function(e) fit(1e-6))
  list(theta = found$coefficients, iterations = found$it[1])
}
quantile_simplex <- function(X, y, tau, cost, eps) {
  used <- which(cost > 0)
  rows <- diag(cost, nrow = length(cost))[used, , drop = FALSE]
  below <- rep(0, 2 * length(used))
  found <- quantreg::rq.fit.br(rbind(X, rows, -rows), c(y, below), tau = tau)
  list(theta = found$coefficients, scores = found$dual[seq_along(y)])
}
"""


class Quantreg(Backend):
    r"""LAD- and quantile lasso by ``rq.fit.lasso`` (default) or ``rq.fit.br``.

    The former's penalty is :math:`\frac12 \sum_j |\ell_j b_j|`, so its :math:`\ell_j` is
    :math:`2 c_j`; an interior-point method, whose answers are CONVERGED. The latter gets the
    penalty as two observations for each coefficient, :math:`\rho_\tau(-c_j b_j) +
    \rho_\tau(c_j b_j) = c_j |b_j|`, ends at a vertex, and gives the rank scores, which are
    multipliers and prove it. Both need columns of full rank where nothing is penalised: dependent
    ones get the coefficient 0.

    References
    ----------
    Portnoy, Koenker (1997): The Gaussian hare and the Laplacian tortoise. Koenker, d'Orey (1987):
    Computing regression quantiles.
    """

    name = "quantreg"
    summary = "R's quantreg (through Rscript): LAD- and quantile lasso at given lam"
    families = frozenset({"parametric"})
    features = frozenset({Feature.HEURISTIC, Feature.SINGLE, Feature.GRID})
    options: ClassVar[Mapping[str, Option]] = {
        "method": Option(
            str,
            "lasso",
            "rq.fit.lasso (interior point), or rq.fit.br (simplex).",
            choices=("lasso", "br"),
        ),
        "eps": Option(float, 1e-7, "rq.fit.lasso's tolerance; R's own default is 1e-6.", low=0.0),
    }

    def availability(self) -> Availability:
        """Ask for Rscript, and for the package."""
        return r_package("quantreg")

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take LAD- and quantile lasso."""
        if Pinball.covers(problem):
            return True, ""
        return False, f"{self.name} takes LADLasso, QuantileLasso; no sample_weights, no bounds"

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, LADLasso | QuantileLasso) and params.lam is not None

        def solve(lam: float) -> Point:
            return _fit(problem, lam, options, control)

        version = self.availability().version or ""
        result = answer(problem, params.lam, solve, control)
        return result.with_changes(versions={"quantreg (R)": version})


def _fit(problem: Problem, lam: float, options: Mapping[str, Any], control: Control) -> Point:
    asked = Pinball.at(problem, lam)
    method = options["method"]
    exact = method == "br"
    function = "quantile_simplex" if exact else "quantile_lasso"
    kept = _independent(asked)
    found = R.run(
        "quantreg",
        _SOURCE,
        function,
        control,
        X=asked.X[:, kept],
        y=asked.y,
        tau=asked.tau,
        cost=asked.cost[kept],
        eps=options["eps"],
    )
    if isinstance(found, Limit):
        return Point(lam, None, found.value, exact=exact, limit=found)
    nu = asked.row_multipliers(found["scores"]) if exact else None
    count = int(found["iterations"][0]) if "iterations" in found else None
    theta = np.zeros(asked.X.shape[1])
    theta[kept] = found["theta"]
    return Point(lam, theta, f"rq.fit.{method}", exact=exact, nu=nu, iterations=count)


def _independent(asked: Pinball) -> Array:
    """Return the columns without those, among the unpenalised, that depend on others of them."""
    free = np.flatnonzero(asked.cost == 0.0)
    if len(free) == 0:
        return np.arange(asked.X.shape[1])
    _, triangle, order = scipy.linalg.qr(asked.X[:, free], mode="economic", pivoting=True)
    size = np.abs(np.diag(triangle))
    rank = int(np.count_nonzero(size > 1e-12 * size[0]))
    return np.setdiff1d(np.arange(asked.X.shape[1]), free[order[rank:]])
