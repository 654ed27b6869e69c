"""The best few of many columns to tell two classes apart."""

from __future__ import annotations

import math
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context

from sparseopt.api import solve
from sparseopt.estimators.common.base import LinearClassification, refuse_one_class
from sparseopt.estimators.common.columns import (
    as_dense,
    given_names,
    location_and_scale,
    refuse_beyond,
)
from sparseopt.estimators.common.observations import weights_of
from sparseopt.estimators.common.supports import CONSTRAINTS, numbers_of, unit_columns
from sparseopt.problems.base import Array
from sparseopt.problems.subset import logistic


class SparseLogisticRegression(LinearClassification, BaseEstimator):  # type: ignore[misc]
    r"""Logistic regression with the best k of many columns, held small by a ridge, proven.

    .. math:: \min_{b, \beta} \tfrac1n \sum_i \log\bigl(1 + e^{-y_i (x_i'b + \beta)}\bigr)
              + \tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0
              \quad\text{subject to}\quad \|b\|_0 \le k,\; \|b\|_\infty \le M

    The columns of X are centred (with an intercept) and brought to variance 1 first, so that all
    parameters are pure numbers.

    Parameters
    ----------
    k : int, default 5
        Nonzero coefficients at most, no more than columns; with fewer than 5, the default is all.
    ridge : float, default 0.02
        rho, 1 / (n C) of scikit-learn. Smaller ones shrink less and take longer to prove; 0 needs a
        `bound`.
    bound : float, optional
        M. Default: none, as is inf.
    lam0 : float, default 0
        A column has to lower the mean loss by this.
    fit_intercept : bool, default True
        The intercept is free of ridge and bound.
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (1, d)
        For the columns as given.
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    support_ : int array
        The columns with nonzero coefficients.
    objective_, bound_, gap_ : float
        Of the mean.
    result_, verdict_, status_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparseopt.estimators import SparseLogisticRegression
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseLogisticRegression(k=3).fit(X, y)
    >>> model.support_.tolist(), model.verdict_, bool(model.score(X, y) > 0.95)
    ([20, 21, 27], 'verified', True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **CONSTRAINTS,
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        k: int = 5,
        ridge: float = 0.02,
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
            Two classes, of which the second in order is the positive one.
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self
        """
        X, place = self._read_classes(X, y)
        X = as_dense(X, type(self).__name__)
        refuse_beyond(self, "k", X.shape[1])
        counts = weights_of(sample_weight, X)
        X, place, counts = (each[counts > 0.0] for each in (X, place, counts))
        refuse_one_class(place)
        n, d = float(counts.sum()), X.shape[1]
        centre, _ = location_and_scale(X, counts, self.fit_intercept, False)
        _, lengths = unit_columns(X, centre, counts)
        root = math.sqrt(n)
        # Constant columns become 0.
        units = np.divide(root, lengths, out=np.zeros(d), where=lengths > 0.0)
        problem = logistic.SparseLogisticRegression(
            (X - centre) * units,
            2.0 * place - 1.0,
            min(int(self.k), d),
            n * float(self.ridge),
            self.bound,
            n * float(self.lam0),
            self.fit_intercept,
            None if sample_weight is None else counts,
            names=given_names(self),
        )
        solved = solve(problem, backend=self.backend, time_limit=self.time_limit)
        self.result_ = solved.raise_for_status()
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        x = np.asarray(self.result_.x)
        coef = x[:d] * units
        self.coef_, self.support_ = coef[None], np.flatnonzero(coef)
        level = float(x[d] - centre @ coef) if self.fit_intercept else 0.0
        self.intercept_ = np.array([level])
        objective, bound, self.gap_ = numbers_of(self.result_)
        self.objective_, self.bound_ = objective / n, bound / n
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of both classes, shape (n, 2)."""
        positive = 0.5 + 0.5 * np.tanh(0.5 * self.decision_function(X))
        return np.column_stack([1.0 - positive, positive])
