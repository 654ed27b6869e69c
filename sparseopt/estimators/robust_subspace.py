"""Subspaces as transformers: what they share, and the one that outliers do not turn."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sparseopt import problems
from sparseopt.api import solve
from sparseopt.problems.base import Array, Problem

__all__ = ["RobustSubspace", "SubspaceTransformer"]


class SubspaceTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A subspace with a centre, and the coordinates of points in it.

    A subclass has `fit`, which ends with :meth:`_adopt`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_components": [Interval(Integral, 1, None, closed="left")],
        "backend": [str, HasMethods("solve")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    }

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

    @property
    def _n_features_out(self) -> int:
        return len(self.components_)

    def transform(self, X: Any) -> Array:
        """Return the coordinates in the subspace, shape (n, n_components)."""
        return np.asarray(self._centred(X) @ self.components_.T)

    def inverse_transform(self, X: Any) -> Array:
        """Return the points of the subspace with coordinates X, shape (n, d)."""
        check_is_fitted(self)
        points = np.asarray(X, dtype=float) @ self.components_
        return np.asarray(points * getattr(self, "scale_", 1.0) + self.mean_)

    def score_samples(self, X: Any) -> Array:
        """Return minus the distance of each point from the subspace, shape (n,)."""
        centred = self._centred(X)
        across = centred - (centred @ self.components_.T) @ self.components_
        return np.asarray(-np.linalg.norm(across, axis=1))

    def score(self, X: Any, y: Any = None) -> float:
        """Return minus the mean distance of points X from the subspace; y is ignored."""
        return float(self.score_samples(X).mean())

    def _centred(self, X: Any) -> Array:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return np.asarray((X - self.mean_) / getattr(self, "scale_", 1.0))


class RobustSubspace(SubspaceTransformer):
    r"""The subspace with the least sum of distances, :math:`\min \sum_i \|(I - W'W)(x_i - c)\|`.

    Parameters
    ----------
    n_components : int, default 1
        Dimension of the subspace, less than the number of columns.
    norm : {"l2", "l1"}, default "l2"
        Of the distances: Euclidean ones bear points far off, sums of absolute coordinates bear
        single entries far off. `transform` projects orthogonally for both.
    fit_centre : bool, default True
        Whether the subspace may lie off 0.
    backend : str or Backend, default "auto"
    time_limit : float, optional
        In seconds.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Orthonormal rows, in the order of the points' mean absolute coordinates.
    mean_ : array of shape (d,)
        The centre; 0 without one.
    distances_ : array of shape (n,)
        Of the training points from the subspace: outliers have large ones.
    result_ : Result
        With `verdict_`, `status_`, `objective_`, `bound_` and `gap_` beside it.

    References
    ----------
    Lerman, Maunu: Fast, robust and non-convex subspace recovery (2018).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import RobustSubspace
    >>> X = np.array([[1.0, 1.0], [2.0, 2.0], [4.0, 4.0], [8.0, 8.0], [9.0, 9.0], [4.0, 9.0]])
    >>> RobustSubspace().fit(X).components_.round(3)
    array([[0.707, 0.707]])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SubspaceTransformer._parameter_constraints,
        "norm": [StrOptions({"l1", "l2"})],
        "fit_centre": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_components: int = 1,
        norm: str = "l2",
        fit_centre: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.norm = norm
        self.fit_centre = fit_centre
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the subspace of points X, shape (n, d); y is ignored."""
        X = validate_data(
            self, X, dtype=np.float64, order="C", ensure_min_samples=2, ensure_min_features=2
        )
        k, centre = int(self.n_components), "estimate" if self.fit_centre else None
        kind = problems.RobustSubspace if self.norm == "l2" else problems.L1Subspace
        problem = kind(X, k=k, centre=centre)
        W = self._solved(problem)
        self.mean_ = W[:, k].copy() if self.fit_centre else np.zeros(X.shape[1])
        self._adopt(W[:, :k], X - self.mean_)
        self.distances_ = problem.distances(W)
        return self
