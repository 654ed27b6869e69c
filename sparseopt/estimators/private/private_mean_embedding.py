"""One private release of a mean embedding, as an estimator."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from sparseopt.private import FeatureMap, release
from sparseopt.private.features import as_table
from sparseopt.private.ledger import Ledger
from sparseopt.problems.base import Array

__all__ = ["PrivateMeanEmbedding"]


class PrivateMeanEmbedding(BaseEstimator):  # type: ignore[misc]
    """Release the mean embedding of a table once.

    There is no `random_state`: the noise is the operating system's. What `features` or `bounds` and
    `classes` say must be known without a look at the data. There are no sample weights: the noise
    hides one row that counts once.

    Parameters
    ----------
    features : FeatureMap, optional
    bounds, classes : optional
        In place of `features`: what each column and the label may hold, as for
        :meth:`sparseopt.private.FeatureMap.from_bounds`.
    epsilon : float, default 1
    delta : float, default 1e-6
    neighbours : {"replace-one", "add-remove"}
    ledger : Ledger, optional
        Refuses a fit that exceeds its budget.

    Attributes
    ----------
    mean_ : array of shape (dimension,)
        Of the features, with noise of the standard deviation `noise_` in each entry.
    noise_ : float
    statement_ : Statement
        What holds, for :func:`sparseopt.private.audit`.
    embedding_ : PrivateEmbedding

    See Also
    --------
    PrivateSynthesizer : The same release, and rows that are like it.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import PrivateMeanEmbedding
    >>> model = PrivateMeanEmbedding(bounds={"age": (0, 100)}, delta=1e-3)
    >>> model.fit({"age": np.array([23.0, 41.0, 57.0])}).statement_.delta
    0.001
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "features": [FeatureMap, None],
        "bounds": [dict, "array-like", None],
        "classes": ["array-like", None],
        "epsilon": [Interval(Real, 0, None, closed="neither")],
        "delta": [Interval(Real, 0, 1, closed="neither")],
        "neighbours": [StrOptions({"replace-one", "add-remove"})],
        "ledger": [Ledger, None],
    }

    def __init__(
        self,
        *,
        features: FeatureMap | None = None,
        bounds: Any = None,
        classes: Any = None,
        epsilon: float = 1.0,
        delta: float = 1e-6,
        neighbours: str = "replace-one",
        ledger: Ledger | None = None,
    ) -> None:
        self.features = features
        self.bounds = bounds
        self.classes = classes
        self.epsilon = epsilon
        self.delta = delta
        self.neighbours = neighbours
        self.ledger = ledger

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Release once.

        Parameters
        ----------
        X : data frame, mapping of str to array of shape (N,), or array of shape (N, columns)
        y : array_like of shape (N,), optional
            The label, where the features have one.
        """
        self.embedding_ = release(
            X,
            y,  # not as an array, whose type one value could change for all
            features=self.features,
            bounds=self.bounds,
            classes=self.classes,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
            ledger=self.ledger,
        )
        self.statement_ = self.embedding_.statement
        self.mean_, self.noise_ = self.embedding_.mean, self.embedding_.noise
        return self

    def score_samples(self, X: Any, y: Any = None) -> Array:
        """Return the inner products of rows with the release, shape (N,): where mass is.

        Without noise, the mean of the kernel between a row and those of the data. Rows of public
        data; the result is private as the release is.

        Parameters
        ----------
        X, y
            As for :meth:`fit`.
        """
        check_is_fitted(self)
        features = self.embedding_.map
        columns = as_table(X, features)
        table = {column.name: np.asarray(columns[column.name]) for column in features.columns}
        return np.asarray(
            features.features(table, None if y is None else np.asarray(y)) @ self.mean_
        )
