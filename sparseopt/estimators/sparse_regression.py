"""The best few of many columns."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import validate_data

from sparseopt.api import solve
from sparseopt.estimators.base import LinearPrediction
from sparseopt.problems.base import Array
from sparseopt.problems.subset import problem as subset
from sparseopt.result import Result, relative_gap

__all__ = ["CONSTRAINTS", "SparseRegression", "best_columns", "numbers_of", "unit_columns"]

CONSTRAINTS: dict[str, Any] = {
    "k": [Interval(Integral, 1, None, closed="left")],
    "ridge": [Interval(Real, 0, None, closed="left")],
    "bound": [Interval(Real, 0, None, closed="neither"), None],
    "penalty": [Interval(Real, 0, None, closed="left")],
    "backend": [str, HasMethods("solve")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
}
_CONSTANT = 1e-13
"""Deviations of this size, relative to the column's largest entry, are what rounding left."""


def unit_columns(X: Array, centre: Array) -> tuple[Array, Array]:
    """Return the centred columns with length 1, those that are constant 0, and their lengths.

    Parameters
    ----------
    X : array of shape (n, d)
    centre : array of shape (d,)
        What is subtracted from each column.

    Returns
    -------
    array of shape (n, d), array of shape (d,)
    """
    rest = X - centre
    lengths = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    lengths[np.abs(rest).max(axis=0) <= _CONSTANT * np.abs(X).max(axis=0)] = 0.0
    rest *= np.where(lengths > 0.0, 1.0 / np.where(lengths > 0.0, lengths, 1.0), 0.0)
    return rest, lengths


class SparseRegression(LinearPrediction, BaseEstimator):  # type: ignore[misc]
    r"""Least squares with the best k of up to 100,000 columns, held small by a ridge, proven.

    .. math:: \min_b \tfrac12 \|y - Xb\|_2^2 + \tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0
              \quad\text{subject to}\quad \|b\|_0 \le k,\; \|b\|_\infty \le M

    y and the columns of X are centred (with an intercept) and brought to length 1 first, so that
    all parameters are pure numbers. For models of every size of up to some 40 columns, without a
    ridge, take :class:`BestSubset`.

    Parameters
    ----------
    k : int, default 5
        Nonzero coefficients at most.
    ridge : float, default 0.1
        rho. Smaller ones shrink less and take longer to prove; 0 needs a `bound`.
    bound : float, optional
        M. Default: none.
    penalty : float, default 0
        lambda_0: a column has to explain twice this share of y's sum of squares.
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
        In units of y's sum of squares.
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
        penalty: float = 0.0,
        fit_intercept: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.bound = bound
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Find the best columns.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        y = np.asarray(y, dtype=np.float64)[:, None]
        centre, level = np.zeros(X.shape[1]), np.zeros(1)
        if self.fit_intercept:
            centre, level = X.mean(axis=0), y.mean(axis=0)
        units, lengths = unit_columns(X, centre)
        response, size = unit_columns(y, level)
        if size[0] == 0.0:
            raise ValueError("y is constant: there is nothing to explain")
        asked = self.k, self.ridge, self.bound, self.penalty
        self.result_ = best_columns(units, response[:, 0], asked, self.backend, self.time_limit)
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        x = np.asarray(self.result_.x)
        self.coef_ = np.where(lengths > 0.0, x * size[0] / np.where(lengths > 0.0, lengths, 1), 0.0)
        self.support_ = np.flatnonzero(self.coef_)
        self.intercept_ = float(level[0] - centre @ self.coef_)
        self.objective_, self.bound_, self.gap_ = numbers_of(self.result_)
        return self


def best_columns(
    X: Array, y: Array, asked: tuple[Any, ...], backend: Any, time_limit: float | None
) -> Result:
    """Solve for the best columns of X, of shape (n, d), to explain y by, of shape (n,).

    Parameters
    ----------
    X, y : arrays
        Of unit_columns.
    asked : tuple
        k, of which more than d is d; ridge, bound and penalty.
    backend, time_limit
        Of the estimator.

    Raises
    ------
    SparseOptError
        When there is no answer.
    """
    k, ridge, bound, penalty = asked
    problem = subset.SparseRegression(
        X, y, min(int(k), X.shape[1]), float(ridge), bound, float(penalty)
    )
    return solve(problem, backend=backend, time_limit=time_limit).raise_for_status()


def numbers_of(result: Result) -> tuple[float, float, float]:
    """Return the objective, the bound and the relative gap of a result.

    Parameters
    ----------
    result : Result
        With a point.

    Returns
    -------
    float, float, float
    """
    assert result.objective is not None
    assert result.bound is not None
    gap = relative_gap(result.objective, result.bound) or 0.0
    return float(result.objective), float(result.bound), gap
