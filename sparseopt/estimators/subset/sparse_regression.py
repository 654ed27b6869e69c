"""The best few of many columns."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context

from sparseopt.estimators.common.base import LinearPrediction
from sparseopt.estimators.common.columns import given_names, location_and_scale, refuse_beyond
from sparseopt.estimators.common.observations import SparseData, observed
from sparseopt.estimators.common.supports import CONSTRAINTS, best_columns, numbers_of, unit_columns

__all__ = ["SparseRegression"]


class SparseRegression(SparseData, LinearPrediction, BaseEstimator):  # type: ignore[misc]
    r"""Least squares with the best k of up to 100,000 columns, held small by a ridge, proven.

    .. math:: \min_b \tfrac12 \|y - Xb\|_2^2 + \tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0
              \quad\text{subject to}\quad \|b\|_0 \le k,\; \|b\|_\infty \le M

    y and the columns of X are centred (with an intercept) and brought to length 1 first, so that
    all parameters are pure numbers. For models of every size of up to some 40 columns, without a
    ridge, take :class:`BestSubset`.

    Parameters
    ----------
    k : int, default 5
        Nonzero coefficients at most, no more than columns; with fewer than 5, the default is all.
    ridge : float, default 0.1
        rho. Smaller ones shrink less and take longer to prove; 0 needs a `bound`.
    bound : float, optional
        M. Default: none, as is inf.
    lam0 : float, default 0
        A column has to explain twice this share of y's sum of squares.
    fit_intercept : bool, default True
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (d,)
        For the columns as given.
    intercept_ : float
    support_ : int array
        The columns with nonzero coefficients.
    objective_, bound_, gap_ : float
        In units of y's sum of squares; 0 of a constant y, which the intercept explains alone.
    result_, verdict_, status_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import SparseRegression
    >>> data = load_diabetes(as_frame=True)
    >>> model = SparseRegression(k=3).fit(data.data, data.target)
    >>> [data.feature_names[j] for j in model.support_], model.verdict_
    (['bmi', 'bp', 's5'], 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        k: int = 5,
        ridge: float = 0.1,
        bound: float | None = None,
        lam0: float = 0.0,
        fit_intercept: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.bound = bound
        self.lam0 = lam0
        self.fit_intercept = fit_intercept
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the best columns.

        Parameters
        ----------
        X : array_like of shape (n, d)
            A sparse one is made dense.
        y : array_like of shape (n,)
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self
        """
        X, y, counts = observed(self, X, y, sample_weight, dense=True)
        refuse_beyond(self, "k", X.shape[1])
        y = y[:, None]
        centre, _ = location_and_scale(X, counts, self.fit_intercept, False)
        level, _ = location_and_scale(y, counts, self.fit_intercept, False)
        units, lengths = unit_columns(X, centre, counts)
        response, size = unit_columns(y, level, counts)
        asked = self.k, self.ridge, self.bound, self.lam0
        how = self.backend, self.time_limit, given_names(self)
        self.result_ = best_columns(units, response[:, 0], asked, *how)
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        x = np.asarray(self.result_.x)
        self.coef_ = np.where(lengths > 0.0, x * size[0] / np.where(lengths > 0.0, lengths, 1), 0.0)
        self.support_ = np.flatnonzero(self.coef_)
        self.intercept_ = float(level[0] - centre @ self.coef_)
        self.objective_, self.bound_, self.gap_ = numbers_of(self.result_)
        return self
