"""The variables that most halves of the data choose."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_is_fitted

from sparseopt.estimators.common.base import AT_A_TIME, NeedsTarget, forget
from sparseopt.estimators.parametric.clime import CLIME
from sparseopt.estimators.parametric.differential_network import DifferentialNetwork
from sparseopt.estimators.parametric.lad_lasso import LADLasso
from sparseopt.estimators.parametric.matrix_dantzig import MatrixDantzig
from sparseopt.estimators.parametric.quantile_process import QuantileProcess
from sparseopt.estimators.parametric.sparse_lda import SparseLDA
from sparseopt.problems.base import Array
from sparseopt.selection.stability import stability_selection

_WITHOUT_HALVES = (CLIME, DifferentialNetwork, MatrixDantzig, QuantileProcess, SparseLDA)
"""Their paths are not over one coefficient for each variable, or not of observations."""


class StabilitySelector(NeedsTarget, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Stability selection over exact paths, as a transformer that keeps the stable variables.

    There are no sample weights: the bound on false choices is for halves that share no observation,
    and k repeated rows are in both.

    Parameters
    ----------
    estimator : BasisPursuit, DantzigSelector, LADLasso, QuantileLasso or L1SVC, optional
        Or one of your own with a path of such a problem. Its intercept and its scales are used; lam
        is not. Default: LADLasso().
    threshold : float, default 0.75
        Share of the halves that must choose a variable at some lam.
    false_choices : float, default 1.0
        Bound on the expected number of falsely chosen variables.
    pairs : int, default 50
        How often the observations are split into halves.
    random_state : int, default 0
    n_jobs : int, optional
        Halves that are followed at a time, by joblib. Default: 1.

    Attributes
    ----------
    frequency_ : array of shape (d,)
        Each variable's largest share.
    support_ : bool array of shape (d,)
    bound_ : float
        On the expected number of falsely chosen variables.
    result_ : StabilityResult
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import LADLasso, StabilitySelector
    >>> data = load_diabetes(as_frame=True, scaled=False)
    >>> StabilitySelector(pairs=20).fit(data.data, data.target).get_feature_names_out().tolist()
    ['bmi', 's5']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "estimator": [HasMethods(["_read", "_problem"]), None],
        "threshold": [Interval(Real, 0.5, 1, closed="right")],
        "false_choices": [Interval(Real, 0, None, closed="neither")],
        "pairs": [Interval(Integral, 1, None, closed="left")],
        "random_state": [Interval(Integral, 0, None, closed="left")],
        "n_jobs": AT_A_TIME,
    }

    def __init__(
        self,
        estimator: Any = None,
        *,
        threshold: float = 0.75,
        false_choices: float = 1.0,
        pairs: int = 50,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.threshold = threshold
        self.false_choices = false_choices
        self.pairs = pairs
        self.random_state = random_state
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Follow the paths of all halves.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)

        Returns
        -------
        self

        Raises
        ------
        TypeError
            When the halves of the data have no path of this estimator.
        """
        model = LADLasso() if self.estimator is None else clone(self.estimator)
        if isinstance(model, _WITHOUT_HALVES):
            raise TypeError(
                f"estimator is a {type(model).__name__}, whose path does not say which variables "
                "are chosen; expected BasisPursuit, DantzigSelector, LADLasso, QuantileLasso or "
                "L1SVC"
            )
        data, target = model._read(X, y)
        forget(self, "feature_names_in_")
        if hasattr(model, "feature_names_in_"):
            self.feature_names_in_ = model.feature_names_in_
        self.n_features_in_ = data.shape[1]
        problem = model._pose(data, target, None)
        self.result_ = stability_selection(
            problem,
            threshold=float(self.threshold),
            false_choices=float(self.false_choices),
            pairs=int(self.pairs),
            seed=int(self.random_state),
            backend=model.backend,
            n_jobs=effective_n_jobs(self.n_jobs),
        )
        self.frequency_ = self.result_.frequency[: self.n_features_in_]
        self.support_ = np.isin(np.arange(self.n_features_in_), self.result_.support)
        self.bound_ = self.result_.bound
        return self

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.support_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags
