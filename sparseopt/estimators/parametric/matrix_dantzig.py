"""Several responses with sparse coefficients, under a bound on all residual correlations."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import MultiOutputMixin, _fit_context

from sparseopt.estimators.common import columns
from sparseopt.estimators.common.base import LinearPrediction, PathEstimator
from sparseopt.estimators.common.observations import SparseData, observed
from sparseopt.problems.base import Array
from sparseopt.problems.fields import column_names
from sparseopt.problems.parametric import matrix_dantzig
from sparseopt.selection.choice import KnotSelection

__all__ = ["MatrixDantzig"]


class MatrixDantzig(SparseData, MultiOutputMixin, LinearPrediction, PathEstimator):  # type: ignore[misc]
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
    selection_ : KnotSelection
        The criterion at every knot, where `lam` is not given.
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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Follow the path, and choose a value of lam.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n, q) or (n,)
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self
        """
        responses = list(getattr(y, "columns", ()))
        X, y, counts = observed(self, X, y, sample_weight, multi_output=True)
        self._single, self._counts = y.ndim == 1, counts
        Y = y.reshape(len(y), -1)
        self._responses = [str(name) for name in responses or range(Y.shape[1])]
        self._columns = columns.location_and_scale(X, counts, self.fit_intercept, self.standardize)
        T, *self._levels = columns.standardised(Y, self.fit_intercept, self.standardize, counts)
        self._follow(self._problem(X, T, counts, columns.given_names(self)))
        self._choose(X, T, None)
        return self

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        centre, units = self._columns
        weighed = self._counts[:, None] * y
        inner = (X.T @ weighed - np.outer(centre, weighed.sum(axis=0))) / units[:, None]
        S = columns.covariance(X, self._counts, centre[None]) / np.outer(units, units)
        inner[np.diagonal(S) == 0.0] = 0.0  # what rounding leaves of constant columns
        return matrix_dantzig.MatrixDantzig(
            X=self._counts.sum() * S,
            Z=np.eye(y.shape[1]),
            Y=inner,
            names=column_names(names, X.shape[1]),
            column_names=self._responses,
        )

    def _chosen(self, X: Array, y: Array, groups: Any) -> tuple[float, str]:
        problem, counts, n = self.result_.problem, self._counts, float(self._counts.sum())
        centre, units = self._columns

        def bic(lam: float) -> float:
            B = problem.matrix(self.path_.at(lam)) / units[:, None]
            rss = counts @ (y - (X @ B - centre @ B)) ** 2 / n
            likelihood = n * np.log(np.maximum(rss, np.finfo(float).tiny)).sum()
            return float(likelihood + np.log(n) * np.count_nonzero(B))

        return self._kept(KnotSelection.of(bic, "bic", self.result_))

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
        last = super()._coefficient_names()[-1]
        intercepts = [f"{last},{name}" for name in self._responses]
        return [*self.result_.problem.coefficient_names, *intercepts]
