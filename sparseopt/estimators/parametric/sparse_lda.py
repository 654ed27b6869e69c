"""A sparse linear discriminant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils._param_validation import StrOptions

from sparseopt.estimators.common import base
from sparseopt.estimators.common.columns import covariance
from sparseopt.problems.base import Array
from sparseopt.problems.columns import mean
from sparseopt.problems.parametric.classification import LPD
from sparseopt.selection.cross_validation import chosen_by_folds
from sparseopt.selection.losses import MISCLASSIFICATION
from sparseopt.selection.path_loss import Rows, path_loss
from sparseopt.selection.solving import solve_paths


class SparseLDA(base.BinaryClassifier):
    r"""A sparse linear discriminant, for every lam at once.

    .. math:: \min_\theta \sum_j s_j |\theta_j| \quad\text{subject to}\quad
              |(S\theta - (\bar x_1 - \bar x_0))_j| \le \lambda\, s_j \;\text{ for all } j

    with the pooled covariance S; an observation z belongs to the second class where
    :math:`(z - (\bar x_0 + \bar x_1) / 2)'\theta > 0`.

    Parameters
    ----------
    lam : float, optional
        In pooled standard deviations if `standardize`, else on the scale of the means. Default:
        chosen by `rule`.
    rule : {"cv"}, optional
        The smallest misclassification rate of the folds, exact over all lam.
    standardize : bool, default True
        Count each coefficient in units of its column's pooled deviation. Unlike that of the
        regressions, cross-validation takes means and deviations of each fold's own training part:
        they are the model itself, and lam is a number of such deviations.
    cv, backend, time_limit, n_jobs
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (1, d)
    intercept_ : array of shape (1,)
    classes_ : array of shape (2,)
    lam_, objective_, bound_, gap_, path_, result_, verdict_, status_
    selection_ : CVResult
        Of the rule, where `lam` is not given: the rate of misclassification at every lam.
    cv_results_, curve_
        Its errors at the knots, and as a function of lam.
    n_features_in_, feature_names_in_

    Notes
    -----
    With fewer observations than columns, `lam` not given and standardised columns, the path ends
    where the coefficients add up to 100: beyond they grow without bounds, and no rule chooses them.

    References
    ----------
    Cai, Liu (2011): A direct estimation approach to sparse linear discriminant analysis.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparseopt.estimators import SparseLDA
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = SparseLDA(lam=0.3).fit(X, y)
    >>> bool(model.score(X, y) > 0.9), int((model.coef_ != 0).sum()) < 15
    (True, True)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rule": [StrOptions({"cv"}), None],
        **base.PathEstimator._constraints(
            "lam", "cv", "standardize", "backend", "time_limit", "n_jobs"
        ),
    }
    fit_intercept = True
    refit = False

    def __init__(
        self,
        *,
        lam: float | None = None,
        rule: str | None = None,
        cv: Any = None,
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.lam = lam
        self.rule = rule
        self.cv = cv
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        times = np.ones(len(y)) if counts is None else counts
        means = np.array([mean(X[y == c], times[y == c]) for c in (-1.0, 1.0)])
        self.origin_ = (means.mean(axis=0) + self.origin_[0], 0.0)
        S = covariance(X, times, means, (y > 0.0).astype(int))
        self._singular = self.standardize and X.shape[0] - 2 < X.shape[1]
        scales = np.sqrt(np.diag(S)) if self.standardize else np.ones(X.shape[1])
        scales[scales == 0.0] = 1.0
        return LPD(S, means[1] - means[0], scales, scales, names)

    def _follow(self, problem: Any, end: float | None = None) -> None:
        if self.lam is None and self._singular:
            end = base.useful_to(problem, self.backend, self.time_limit)
        super()._follow(problem, end)
        if self.lam is None and base.trusted_down_to(self.path_) > self.path_.low[-1]:
            super()._follow(problem, base.trusted_down_to(self.path_))

    def _chosen(self, X: Array, y: Array, groups: Any) -> tuple[float, str]:
        folds, whole, origin = self._folds(X, y, groups), self.path_, self.origin_
        times = np.ones(len(y)) if self._counts is None else self._counts
        centres: list[Array] = []

        def tasks() -> Iterator[tuple[Any, str, dict[str, Any]]]:
            for train, _ in folds:
                problem = self._pose(X[train], y[train], times[train])
                centres.append(self.origin_[0])
                yield problem, "a fold", {"lam_min": float(whole.low[-1])}

        curves, end = [], base.trusted_down_to(whole)
        paths = solve_paths(tasks(), self.backend, None, effective_n_jobs(self.n_jobs))
        for k, path in enumerate(paths):
            test = folds[k][1]
            end = max(end, base.trusted_down_to(path))
            rows = Rows(X[test], centres[k])
            curves.append(path_loss(path, rows, y[test], MISCLASSIFICATION, times[test]))
        self.origin_ = origin
        about = {"loss": MISCLASSIFICATION.name, "problem": self.result_.problem, "rule": "min"}
        chosen = chosen_by_folds(curves, folds, times, self.result_, end, **about)
        self.curve_ = chosen.curve
        return self._kept(chosen)
