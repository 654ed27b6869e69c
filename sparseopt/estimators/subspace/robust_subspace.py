"""The subspace that outliers do not turn, as a transformer."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from sparseopt import problems
from sparseopt.estimators.common.transformers import SubspaceTransformer

__all__ = ["RobustSubspace"]


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
        rows = X[self._times(X, sample_weight)]
        k, centre = int(self.n_components), "estimate" if self.fit_centre else None
        how: dict[str, Any] = {"k": k, "norm": self.norm, "centre": centre}
        W = self._solved(problems.RobustSubspace(rows, **how))
        self.mean_ = W[:, k].copy() if self.fit_centre else np.zeros(X.shape[1])
        self._adopt(W[:, :k], rows - self.mean_)
        self.distances_ = problems.RobustSubspace(X, **how).distances(W)
        return self
