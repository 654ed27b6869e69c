"""What the estimators of components and of subspaces share: a centre, coordinates, distances."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import HasMethods, Interval
from sklearn.utils.validation import check_array, check_is_fitted

from sparseopt.api import solve
from sparseopt.estimators.common.columns import as_dense, standardised
from sparseopt.estimators.common.observations import SparseData, observed, repeated, validated
from sparseopt.problems.base import Array, Problem, is_sparse


def one_for_each(n_nonzeros: Any, components: int) -> list[int]:
    """Return how many nonzero entries each component may have.

    Parameters
    ----------
    n_nonzeros : int, or sequence of int
        The same for all components, or one for each.
    components : int

    Raises
    ------
    ValueError
    """
    sizes = [n_nonzeros] * components if isinstance(n_nonzeros, Integral) else list(n_nonzeros)
    whole = all(isinstance(size, Integral) and int(size) >= 1 for size in sizes)
    if not whole or len(sizes) != components:
        raise ValueError(
            f"n_nonzeros is {n_nonzeros!r}; expected a whole number of 1 or more, or a list of "
            f"{components}, one for each of n_components"
        )
    return [int(size) for size in sizes]


class ComponentsTransformer(
    SparseData,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """A centre, the scales of the columns, and directions: the coordinates of points along them."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "backend": [str, HasMethods("solve")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

    def _standardised(self, X: Array) -> Array:
        """Return centred points, divided by the columns' deviations where that is asked for."""
        points, self.mean_, self.scale_ = standardised(X, True, self.standardize)
        return points

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Return the coordinates in the subspace, shape (n, n_components)."""
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        along = (self.components_ / getattr(self, "scale_", 1.0)).T
        if is_sparse(X):
            return np.asarray(X @ along - self.mean_ @ along)
        return np.asarray((X - self.mean_) @ along)

    def _centred(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validated(self, X, reset=False)
        X = as_dense(X, type(self).__name__)
        return np.asarray((X - self.mean_) / getattr(self, "scale_", 1.0))


class SubspaceTransformer(ComponentsTransformer):
    """A subspace with a centre: the directions are orthonormal.

    A subclass has `fit`, which ends with :meth:`_adopt`.
    """

    def _points(self, X: Any) -> Array:
        """Return validated points."""
        return np.asarray(observed(self, X, dense=True, ensure_min_features=2)[0])

    def _times(self, X: Array, sample_weight: Any) -> Array:
        """Return the rows that a fit is of, each as often as it weighs."""
        return repeated(X, sample_weight, type(self).__name__)

    def _solved(self, problem: Problem) -> Array:
        """Return the answer of a problem, and keep what is known of it."""
        self.result_ = solve(problem, backend=self.backend, time_limit=self.time_limit)
        self.result_.raise_for_status()
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        self.objective_, self.bound_ = self.result_.objective, self.result_.bound
        self.gap_ = self.result_.gap
        return np.asarray(self.result_.x)

    def _adopt(self, W: Array, points: Array) -> None:
        """Keep a basis (d, k), in the order of the points' mean absolute coordinates in it."""
        order = np.argsort(-np.abs(points @ W).mean(axis=0), kind="stable")
        components = W.T[order]
        # The sign is that which makes the largest entry positive.
        largest = np.take_along_axis(components, np.abs(components).argmax(1)[:, None], axis=1)
        self.components_: Array = components * np.where(largest < 0.0, -1.0, 1.0)

    def inverse_transform(self, X: Any) -> Array:
        """Return the points of the subspace with coordinates X, shape (n, d).

        Parameters
        ----------
        X : array_like of shape (n, n_components)

        Raises
        ------
        ValueError
            When X has another number of columns.
        """
        check_is_fitted(self)
        X, k = check_array(X, dtype=np.float64), len(self.components_)
        if X.shape[1] != k:
            raise ValueError(
                f"X has {X.shape[1]} columns; expected {k}, the coordinates that transform "
                "returns: one for each component"
            )
        points = X @ self.components_
        return np.asarray(points * getattr(self, "scale_", 1.0) + self.mean_)

    def score_samples(self, X: Any) -> Array:
        """Return minus the distance of each point from the subspace, shape (n,)."""
        centred = self._centred(X)
        across = centred - (centred @ self.components_.T) @ self.components_
        return np.asarray(-np.linalg.norm(across, axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean distance of points X from the subspace; y is ignored."""
        return float(self.score_samples(X).mean())
