"""The variables in which two samples differ."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparseopt.api import with_verdict
from sparseopt.cards import NamedValues
from sparseopt.estimators.common.base import TwoClasses
from sparseopt.estimators.common.columns import as_dense, names_of, refuse_beyond
from sparseopt.problems.base import Array
from sparseopt.two_sample.selecting import Method, automatic_lam, choose


class TwoSampleSelector(TwoClasses, SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """The variables in which two classes differ most, as a transformer.

    There are no sample weights: kernels are averaged over pairs of different observations, and a
    repeated row is no other one.

    Parameters
    ----------
    n_variables : int, default 3
        The most that are chosen, no more than columns; with fewer than 3, the default is all.
    selection : {"strs", "quadratic", "gaussian"}, default "strs"
        The kernel of the squared MMD; "strs", the linear one, is solved to proven optimality.
    backend : str or Backend, default "auto"
    time_limit : float, default 60
        Seconds.
    random_state : int, default 0

    Attributes
    ----------
    weights_ : array of shape (d,)
    support_ : bool array of shape (d,)
    classes_ : array of shape (2,)
    result_, verdict_, status_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseopt.estimators import TwoSampleSelector
    >>> data = load_iris(as_frame=True)
    >>> two = data.target > 0
    >>> chosen = TwoSampleSelector(n_variables=2).fit(data.data[two], data.target[two])
    >>> chosen.get_feature_names_out().tolist(), chosen.verdict_
    (['petal length (cm)', 'petal width (cm)'], 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_variables": [Interval(Integral, 1, None, closed="left")],
        "selection": [StrOptions({"strs", "quadratic", "gaussian"})],
        "backend": [str, HasMethods("solve")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "random_state": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        *,
        n_variables: int = 3,
        selection: str = "strs",
        backend: Any = "auto",
        time_limit: float | None = 60.0,
        random_state: int = 0,
    ) -> None:
        self.n_variables = n_variables
        self.selection = selection
        self.backend = backend
        self.time_limit = time_limit
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the variables.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
            Two classes.

        Returns
        -------
        self
        """
        X, place = self._read_classes(X, y)
        X = as_dense(X)
        one, two = X[place == 0], X[place == 1]
        if min(len(one), len(two)) < 4:
            raise ValueError(
                f"the classes have {len(one)} and {len(two)} observations (n_samples={len(X)}, "
                f"n_features={X.shape[1]}); expected at least 4 of each class"
            )
        self._select(one, two)
        self.support_ = self.weights_ != 0.0
        return self

    def _select(self, one: Array, two: Array) -> None:
        if one.shape[1] < 2:
            raise ValueError("X has 1 feature(s): there is nothing to choose among")
        refuse_beyond(self, "n_variables", one.shape[1])
        size = min(int(self.n_variables), one.shape[1])
        method = Method(
            self.selection,
            backend=self.backend,
            time_limit=self.time_limit,
            seed=int(self.random_state),
        )
        chosen = choose(method, one, two, size, automatic_lam(method, one, two, size))
        assert chosen.result is not None
        self.result_ = with_verdict(chosen.result.problem, chosen.result)
        self.weights_ = chosen.z
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)

    @property
    def coefficients_(self) -> NamedValues:
        """The weights by name, as a table."""
        check_is_fitted(self)
        return NamedValues(names_of(self), self.weights_)

    def _get_support_mask(self) -> Array:
        check_is_fitted(self)
        return np.asarray(self.support_)
