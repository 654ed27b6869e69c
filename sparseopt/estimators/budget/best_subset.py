"""The best linear model of every size."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context

from sparseopt.estimators.budget.every_size import BudgetEstimator
from sparseopt.estimators.common.base import LinearPrediction
from sparseopt.estimators.common.columns import names_of, refuse_beyond
from sparseopt.estimators.common.observations import SparseData
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.columns import mean

__all__ = ["BestSubset"]

_MOST = 62
"""Variables up to which the subsets of all sizes are looked at."""
_EXACT = 1e-14
"""A loss of this size, relative to that of no variables, is rounding."""


class BestSubset(SparseData, LinearPrediction, BudgetEstimator):
    r"""Least squares with the best k variables, for every k at once, proven.

    .. math:: \min_{\theta, \beta} \|y - X\theta - \beta\|_2^2 \quad\text{subject to}\quad
              \|\theta\|_0 \le k

    Parameters
    ----------
    size : int, optional
        k. Default: chosen by `rule`.
    rule : {"ebic", "bic", "aic", "cv"}, default "ebic"
        A size without residuals is taken by every rule, the smallest one.
    ridge : float, default 0
        Adds n ridge times the squared norm of theta; needed where n is not above the number of
        variables. Those are at most 62; SparseRegression takes more.
    fit_intercept : bool, default True
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (d,)
    intercept_ : float
    size_ : int
    supports_ : list of d + 1 int arrays
        The variables of every size.
    rss_ : array of shape (d + 1,)
        The least loss of every size, the ridge's term with it.
    result_, path_, verdict_, status_, selection_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import BestSubset
    >>> data = load_diabetes(as_frame=True)
    >>> model = BestSubset().fit(data.data, data.target)
    >>> [data.feature_names[j] for j in model.supports_[model.size_]], model.verdict_
    (['sex', 'bmi', 'bp', 's3', 's5'], 'verified')
    """

    _budget = "size"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BudgetEstimator._parameter_constraints,
        "size": BudgetEstimator._count,
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        size: int | None = None,
        rule: str = "ebic",
        ridge: float = 0.0,
        fit_intercept: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.size = size
        self.rule = rule
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best models of all sizes, and choose a size.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            When y, or every column of X, is constant: the rules compare logarithms of losses, and
            there is none without a loss.
        """
        X, y, counts = self._rows(X, y, sample_weight, least=3)
        d = X.shape[1]
        refuse_beyond(self, "size", d)
        means = (mean(X, counts), float(np.average(y, weights=counts)))
        self._means = means if self.fit_intercept else (np.zeros(d), 0.0)
        data = np.column_stack([y - self._means[1], X - self._means[0]])
        size = np.abs(np.column_stack([y, X])).max(axis=0)
        # The deviations of a constant column are what rounding left.
        kept = np.flatnonzero(np.ptp(data, axis=0) > 1e-13 * size)
        self._kept = kept[kept > 0] - 1
        if len(kept) < 2 or kept[0] > 0:
            raise ValueError("y, or every column of X, is constant: there is nothing to choose")
        if len(self._kept) > _MOST:
            raise ValueError(
                f"X has {len(self._kept)} columns that vary; BestSubset takes at most {_MOST}: "
                "SparseRegression(k=...) finds the best k of up to 100,000"
            )
        mask = np.zeros((len(kept), len(kept)), dtype=bool)
        mask[0, 1:] = True
        names = ["y", *np.array(names_of(self), dtype=object)[self._kept]]
        how: dict[str, Any] = {"ridge": float(self.ridge), "names": names}
        problem = L0GraphicalModel(data[:, kept], mask, sample_weights=counts, **how)
        self._follow(problem)
        path = self.path_
        # The path's objective is a sum over all columns, in which y's loss may be lost.
        columns, thetas = problem.columns(slice(None)), np.array([path.at(k) for k in path.budgets])
        means = ((columns[:, :1] - columns[:, 1:] @ thetas.T) ** 2).mean(axis=0)
        self.rss_ = problem.observations * (means + self.ridge * (thetas**2).sum(axis=1))
        self.supports_ = [self._kept[path.selected(int(k))] for k in path.budgets]
        exact = np.flatnonzero(self.rss_ <= _EXACT * self.rss_[0])
        if self.size is not None:
            self._place(min(int(self.size), len(kept) - 1))
        elif len(exact):
            self._place(int(exact[0]))
        else:
            self._place(self._selected())
        return self

    def _place(self, budget: int) -> None:
        self.size_ = budget
        self.coef_ = np.zeros(self.n_features_in_)
        self.coef_[self._kept] = self.path_.at(budget)
        centre, level = self._means
        self.intercept_ = float(level - centre @ self.coef_)
