"""Several responses with sparse coefficients, under a bound on all residual correlations."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, _fit_context
from sklearn.utils.validation import validate_data

from sparseopt.estimators.base import LinearPrediction, PathEstimator
from sparseopt.estimators.columns import given_names, standardised
from sparseopt.problems.base import Array
from sparseopt.problems.fields import column_names
from sparseopt.problems.parametric import matrix_dantzig

__all__ = ["MatrixDantzig"]


class MatrixDantzig(MultiOutputMixin, LinearPrediction, PathEstimator):  # type: ignore[misc]
    r"""Sparse coefficients of several responses with one lam, for every lam at once.

    .. math:: \min_B \sum_{jk} |B_{jk}| \quad\text{subject to}\quad
              |(X'(Y - X B))_{jk}| \le \lambda \;\text{ for all } j, k

    on centred columns, which are divided by their spreads if `standardize`, as the responses are.

    Parameters
    ----------
    lam : float, optional
        Default: the knot with the smallest BIC, the errors of each response normal with a variance
        of their own.
    fit_intercept, standardize, backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (q, d), or (d,) for one response given as a vector
    intercept_ : array of shape (q,), or float
    lam_, objective_, bound_, gap_, path_, result_, verdict_, status_
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_linnerud
    >>> from sparseopt.estimators import MatrixDantzig
    >>> X, Y = load_linnerud(return_X_y=True)
    >>> MatrixDantzig(lam=2.0).fit(X, Y).coef_.shape
    (3, 3)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = PathEstimator._constraints(
        "lam", "fit_intercept", "standardize", "backend", "time_limit"
    )
    refit = False

    def __init__(
        self,
        *,
        lam: float | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Follow the path, and choose a value of lam.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n, q) or (n,)

        Returns
        -------
        self
        """
        responses = list(getattr(y, "columns", ()))
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            order="C",
            multi_output=True,
            y_numeric=True,
            ensure_min_samples=2,
        )
        self._single = y.ndim == 1
        Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        self._responses = [str(name) for name in responses or range(Y.shape[1])]
        Z, *self._columns = standardised(X, self.fit_intercept, self.standardize)
        T, *self._levels = standardised(Y, self.fit_intercept, self.standardize)
        self._follow(self._problem(Z, T, None, given_names(self)))
        self._choose(Z, T, None)
        return self

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        d, q = X.shape[1], y.shape[1]
        return matrix_dantzig.MatrixDantzig(
            X=X.T @ X,
            Z=np.eye(q),
            Y=X.T @ y,
            names=column_names(names, d),
            column_names=self._responses,
        )

    def _chosen(self, X: Array, y: Array, groups: Any) -> tuple[float, str]:
        problem, n = self.result_.problem, len(X)

        def bic(lam: float) -> float:
            B = problem.matrix(self.path_.at(lam))
            rss = np.maximum(((y - X @ B) ** 2).mean(axis=0), np.finfo(float).tiny)
            return float(n * np.log(rss).sum() + np.log(n) * np.count_nonzero(B))

        return float(min(self.path_.knots, key=bic)), "above"

    def _unpack(self, x: Array) -> None:
        (centre, units), (level, scale) = self._columns, self._levels
        coef = (self.result_.problem.matrix(x) / units[:, None] * scale).T
        intercept = level - coef @ centre
        self.coef_ = coef[0] if self._single else coef
        self.intercept_ = float(intercept[0]) if self._single else intercept

    def _coefficient_names(self) -> list[str]:
        """Return "column,response" for each coefficient and intercept of several responses."""
        if self._single:
            return super()._coefficient_names()
        intercepts = [f"intercept,{name}" for name in self._responses]
        return [*self.result_.problem.coefficient_names, *intercepts]
