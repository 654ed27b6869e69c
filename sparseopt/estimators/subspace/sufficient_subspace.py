"""The subspace that a response depends on, as a transformer."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.model_selection import check_cv
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_y

from sparseopt import problems
from sparseopt.estimators.common.base import NeedsTarget
from sparseopt.estimators.common.columns import refuse_beyond
from sparseopt.estimators.common.observations import folds_of_repeated, observed, places_among
from sparseopt.estimators.common.transformers import SubspaceTransformer
from sparseopt.problems.base import Array
from sparseopt.selection.dimension import dimension_errors


class SufficientSubspace(NeedsTarget, SubspaceTransformer):
    """Directions whose coordinates explain a response, by kernel ridge regression.

    Parameters
    ----------
    n_components : int or "cv", default 1
        Dimension of the subspace, less than the number of columns; "cv" chooses it from 1 to
        `max_components` by the cross-validated error of the regression.
    task : {"regression", "classification"}, default "regression"
        Whether y has numbers or labels, which may be text.
    ridge : float, default 0.01
        Weight of the norm of the regression function.
    standardize : bool, default True
        Divide columns by their standard deviations.
    max_components : int, default 4
        Less than the number of columns; the default is cut down to that.
    cv : int, splitter or iterable, default 5
        Folds of "cv", as for scikit-learn: whole numbers are stratified for a classification, and
        in the order of the rows for a regression.
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
        "cv": ["cv_object"],
    }

    def __init__(
        self,
        *,
        n_components: int | str = 1,
        task: str = "regression",
        ridge: float = 0.01,
        standardize: bool = True,
        max_components: int = 4,
        cv: Any = 5,
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

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find the subspace that the response depends on.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
            Responses, or labels.
        sample_weight : array_like of shape (n,), optional
            Whole numbers: how often each point counts, in the folds too, which keep the copies of
            a point together. A fit takes the time of as many rows as their sum.
        """
        how: dict[str, Any] = {"numeric": self.task == "regression", "ensure_min_features": 2}
        X, y, _ = observed(self, X, y, dense=True, least=3, **how)
        rows = self._times(X, sample_weight)
        splits = check_cv(self.cv, y, classifier=self.task == "classification").split(X, y)
        X, y = X[rows], y[rows]
        if self.task == "classification":
            check_classification_targets(y)
            self.classes_ = np.unique(y)
        points, codes = self._standardised(X), self._codes(y)
        k = 1 if self.n_components == "cv" else int(self.n_components)
        problem = problems.SufficientReduction(points, codes, k, self.task, ridge=float(self.ridge))
        if self.n_components == "cv":
            refuse_beyond(self, "max_components", X.shape[1] - 1)
            most = min(int(self.max_components), X.shape[1] - 1)
            how = {"backend": self.backend, "time_limit": self.time_limit}
            folds = folds_of_repeated(rows, splits)
            self.errors_ = dimension_errors(problem, range(1, most + 1), folds, **how)
            problem = replace(problem, k=1 + int(np.argmin(self.errors_)), bandwidth=None)
        self._adopt(self._solved(problem), points)
        return self

    def score(self, X: Any, y: Any = None) -> float:
        """Return the share of y that the regression in the subspace explains.

        1 less the mean squared error over the variance, R2 for a regression; of a classification
        for the indicators of its classes.

        Raises
        ------
        ValueError
            When y has labels that the fit was not given.
        """
        points = self._centred(X)
        y = self._codes(_check_y(y, y_numeric=self.task == "regression", estimator=self))
        problem: Any = self.result_.problem
        return float(1.0 - problem.unexplained(self.result_.x, points, y))

    def _codes(self, y: Array) -> Array:
        """Return responses as numbers; a class as its place in `classes_`."""
        if self.task == "regression":
            return np.asarray(y, dtype=float)
        return places_among(self.classes_, y).astype(float)
