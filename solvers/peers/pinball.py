r"""LAD- and quantile lasso as the one problem that quantile regression packages solve.

.. math:: factor \cdot \Big( \sum_i \rho_\tau(y_i - x_i'b) + \sum_j c_j |b_j| \Big)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array, Problem, is_sparse
from sparseopt.problems.parametric.regression import LADLasso, QuantileLasso


@dataclass(frozen=True, eq=False)
class Pinball:
    """The problem at one lam.

    Attributes
    ----------
    X : array of shape (n, p)
        With a last column of ones where an intercept is fitted.
    y : array of shape (n,)
    tau : float
    cost : array of shape (p,)
        The c_j.
    factor : float
        2 for the LAD-lasso, whose loss abs(r) is twice the check function of the level 1/2.
    intercept : bool
    """

    X: Array
    y: Array
    tau: float
    cost: Array
    factor: float
    intercept: bool

    @classmethod
    def at(cls, problem: Problem, lam: float) -> Pinball:
        """Translate a LADLasso or QuantileLasso."""
        assert isinstance(problem, LADLasso | QuantileLasso)
        tau, factor = (0.5, 2.0) if isinstance(problem, LADLasso) else (problem.tau, 1.0)
        return cls(
            X=problem.design.toarray() if is_sparse(problem.design) else problem.design,
            y=problem.y,
            tau=tau,
            cost=lam / factor * problem.penalty_weights,
            factor=factor,
            intercept=problem.fit_intercept,
        )

    @staticmethod
    def covers(problem: Problem) -> bool:
        """Return whether it is such a problem, without weights of observations or bounds."""
        return (
            isinstance(problem, LADLasso | QuantileLasso)
            and problem.sample_weights is None
            and problem.bounds is None
        )

    def row_multipliers(self, scores: Array) -> Array:
        """Return nu from regression rank scores in [0, 1]: 1 where y lies above the fit."""
        return np.asarray(self.factor * (1.0 - self.tau - np.clip(scores, 0.0, 1.0)))
