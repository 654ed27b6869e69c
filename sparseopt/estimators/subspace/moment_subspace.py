"""The subspace of the distribution whose moments are next to the sample's, as a transformer."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from sparseopt import problems
from sparseopt.estimators.common.transformers import SubspaceTransformer
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.distributions import pairs


class MomentSubspace(SubspaceTransformer):
    """Directions in which moments up to an order are large, not only variances.

    Parameters
    ----------
    n_components : int or "profile", default 1
        Dimension of the subspace, less than the number of columns; "profile" ends it at the largest
        ratio between two eigenvalues in a row of `eigenvalues_`.
    weights : array_like, default (1, 1, 1, 1)
        Of the moments of order 1, 2, ...; the first is 0 for centred points.
    standardize : bool, default True
        Divide columns by their standard deviations.
    backend : str or Backend, default "auto"
    time_limit : float, optional
        In seconds.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        Orthonormal rows, in the order of the points' mean absolute coordinates.
    eigenvalues_ : array of shape (d,)
        Of the mean of x_i x_j' times the weighted powers of x_i'x_j, decreasing: the sum of the
        largest k bounds what k directions can have of the moments.
    mean_, scale_ : arrays of shape (d,)
    result_ : Result
        With `verdict_`, `status_`, `objective_`, `bound_` and `gap_` beside it.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (7).

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import MomentSubspace
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=300), rng.exponential(size=300)])
    >>> model = MomentSubspace(weights=(0, 0, 1)).fit(X)
    >>> bool(abs(model.components_[0, 1]) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SubspaceTransformer._parameter_constraints,
        "n_components": [Interval(Integral, 1, None, closed="left"), StrOptions({"profile"})],
        "weights": ["array-like"],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_components: int | str = 1,
        weights: Any = (1.0, 1.0, 1.0, 1.0),
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.weights = weights
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the subspace of points X, shape (n, d); y is ignored.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : ignored
        sample_weight : array_like of shape (n,), optional
            Whole numbers: how often each point counts. A fit takes the time of as many rows as
            their sum.
        """
        X = self._points(X)
        X = X[self._times(X, sample_weight)]
        points = self._standardised(X)
        problem = problems.MomentSubspace(points, k=1, weights=self.weights)
        self.eigenvalues_ = _profile(points, np.asarray(problem.weights))
        k = self.n_components
        if k == "profile":
            values = np.maximum(self.eigenvalues_, 1e-12 * self.eigenvalues_[0])
            k = 1 + int(np.argmax(values[:-1] / values[1:])) if values[0] > 0.0 else 1
        W = self._solved(replace(problem, k=int(k)))
        self._adopt(W, points)
        return self


def _profile(X: Array, weights: Array) -> Array:
    """Return the eigenvalues of sum_s weights_s / n^s mean x_i x_j' (x_i'x_j)^(s - 1)."""
    N, n = X.shape
    matrix = np.zeros((n, n))
    for rows in pairs(N):
        products = X[rows] @ X.T / n
        powers = np.zeros_like(products)
        for weight in weights[::-1]:
            powers = powers * products + weight
        matrix += X[rows].T @ powers @ X
    return np.asarray(np.linalg.eigvalsh(matrix / (n * N**2))[::-1])
