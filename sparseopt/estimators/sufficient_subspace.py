"""The subspace that a response depends on, as a transformer."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import KFold
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y, check_is_fitted, validate_data

from sparseopt import problems
from sparseopt.api import solve
from sparseopt.estimators.base import spread
from sparseopt.estimators.robust_subspace import SubspaceTransformer
from sparseopt.problems.base import Array

__all__ = ["SufficientSubspace"]


class SufficientSubspace(SubspaceTransformer):
    """Directions whose coordinates explain a response, by kernel ridge regression.

    Parameters
    ----------
    n_components : int or "cv", default 1
        Dimension of the subspace, less than the number of columns; "cv" chooses it from 1 to
        `max_components` by the cross-validated error of the regression.
    task : {"regression", "classification"}, default "regression"
    ridge : float, default 0.01
        Weight of the norm of the regression function.
    standardize : bool, default True
        Divide columns by their standard deviations.
    max_components : int, default 4
    cv : int, default 5
        Folds, in the order of the rows.
    backend : str or Backend, default "auto"
        "sir", "save", "dr", "phd", "opg", "mave" and "kdr" are classical methods.
    time_limit : float, optional
        In seconds.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Orthonormal rows, in the order of the points' mean absolute coordinates.
    classes_ : array
        Of a classification.
    errors_ : array of shape (max_components,)
        Cross-validated shares of y left unexplained, for "cv".
    mean_, scale_ : arrays of shape (d,)
    result_ : Result
        With `verdict_`, `status_`, `objective_`, `bound_` and `gap_` beside it.

    References
    ----------
    Fukumizu, Bach, Jordan: Kernel dimension reduction in regression, Annals of Statistics 37
    (2009).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import SufficientSubspace
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> model = SufficientSubspace().fit(X, X[:, 1] ** 2)
    >>> bool(abs(model.components_[0, 1]) > 0.98)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SubspaceTransformer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"cv"})],
        "task": [StrOptions({"regression", "classification"})],
        "ridge": [Interval(Real, 0, None, closed="neither")],
        "standardize": ["boolean"],
        "max_components": [Interval(Integral, 1, None, closed="left")],
        "cv": [Interval(Integral, 2, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_components: int | str = 1,
        task: str = "regression",
        ridge: float = 0.01,
        standardize: bool = True,
        max_components: int = 4,
        cv: int = 5,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.task = task
        self.ridge = ridge
        self.standardize = standardize
        self.max_components = max_components
        self.cv = cv
        self.backend = backend
        self.time_limit = time_limit

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Find the subspace for points X, shape (n, d), and responses or labels y, shape (n,)."""
        X, y = validate_data(
            self,
            X,
            y,
            dtype=np.float64,
            order="C",
            ensure_min_samples=3,
            ensure_min_features=2,
            y_numeric=self.task == "regression",
        )
        if self.task == "classification":
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        self.mean_ = X.mean(axis=0)
        self.scale_ = spread(X, np.ones(len(X)), True) if self.standardize else np.ones(X.shape[1])
        points, codes = (X - self.mean_) / self.scale_, self._codes(y)
        k = self.n_components
        if k == "cv":
            asked = range(1, min(int(self.max_components), X.shape[1] - 1) + 1)
            self.errors_ = np.array([self._error(points, codes, size) for size in asked])
            k = 1 + int(np.argmin(self.errors_))
        problem = self._problem(points, codes, int(k))
        self._adopt(self._solved(problem), points)
        self._reduced, self._response = points @ self.components_.T, codes
        self._width = float(problem.bandwidth or 1.0)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of y that the regression in the subspace explains.

        1 less the mean squared error over the variance, R2 for a regression; of a classification
        for the indicators of its classes.
        """
        check_is_fitted(self)
        Z = self.transform(X)
        y = self._codes(_check_y(y, y_numeric=self.task == "regression", estimator=self))
        return 1.0 - self._unexplained(self._reduced, self._response, Z, y, self._width)

    def _codes(self, y: Array) -> Array:
        """Return responses as numbers; a class as its place in `classes_`."""
        if self.task == "regression":
            return np.asarray(y, dtype=float)
        return np.searchsorted(self.classes_, y).astype(float)

    def _problem(self, X: Array, y: Array, k: int) -> problems.SufficientReduction:
        return problems.SufficientReduction(X, y, k=k, task=self.task, ridge=float(self.ridge))

    def _error(self, X: Array, y: Array, k: int) -> float:
        """Return the mean share left unexplained in folds that were left out."""
        errors = []
        for train, left in KFold(self.cv).split(X):
            problem = self._problem(X[train], y[train], k)
            W = solve(problem, backend=self.backend, time_limit=self.time_limit, check=False).x
            assert W is not None
            width = float(problem.bandwidth or 1.0)
            errors.append(self._unexplained(X[train] @ W, y[train], X[left] @ W, y[left], width))
        return float(np.mean(errors))

    def _unexplained(self, Z: Array, y: Array, left: Array, truth: Array, width: float) -> float:
        """Return the squared error of kernel ridge regression elsewhere, over the variance."""
        values = np.unique(y)
        if self.task == "classification":
            Y, Y_left = (1.0 * (each[:, None] == values) for each in (y, truth))
        else:
            Y, Y_left = y[:, None], truth[:, None]

        def kernel(U: Array, V: Array) -> Array:
            apart = np.sum(U**2, axis=1)[:, None] + np.sum(V**2, axis=1) - 2.0 * U @ V.T
            return np.asarray(np.exp(-np.maximum(apart, 0.0) / (2.0 * width**2)))

        K, across, middle = kernel(Z, Z), kernel(left, Z), Y.mean(axis=0)
        means = K.mean(axis=0)
        centred = K - means - means[:, None] + means.mean()
        dual = np.linalg.solve(centred + len(Z) * self.ridge * np.eye(len(Z)), Y - middle)
        rest = Y_left - middle - (across - means) @ dual
        total = float(np.sum((Y_left - Y_left.mean(axis=0)) ** 2))
        return float(np.sum(rest**2)) / max(total, np.finfo(float).tiny)
