"""Proven sparse principal components."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from sparseopt.api import solve
from sparseopt.estimators.common import columns
from sparseopt.estimators.common.observations import NO_TARGET, observed
from sparseopt.estimators.common.transformers import ComponentsTransformer, one_for_each
from sparseopt.problems.base import Array
from sparseopt.problems.component.deflation import deflated, variances
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.problems.strs.problem import STRS

_MANY = 1000
"""Features beyond which S is not formed: variables are eliminated from X itself."""


class SparsePCA(ComponentsTransformer):
    r"""Components of at most k variables each that explain as much variance as such ones can.

    .. math:: \max_v v'Sv \quad\text{subject to}\quad \|v\|_2 = 1,\; \|v\|_0 \le k

    with a proof of optimality. The next component maximises the same on S deflated by those before.
    Up to 1,000 features this is a :class:`~sparseopt.problems.STRS`; with more S is never formed,
    and the problem a :class:`~sparseopt.problems.SparseComponent` of the data.

    Parameters
    ----------
    n_components : int, default 1
    n_nonzeros : int or sequence of int, default 5
        k, the same or one for each component, no more than columns; with fewer than 5, the default
        is all.
    deflation : {"projection", "schur", "orthogonal"}, default "projection"
        (I - vv')S(I - vv'); S - Svv'S / v'Sv; the projection with v made orthogonal to those
        before. Mackey (2008).
    standardize : bool, default True
        S is the correlation matrix, else the covariance (divided by n - 1).
    backend, time_limit
        The limit, in seconds, is for each component.

    Attributes
    ----------
    components_ : array of shape (n_components, d)
        The largest loading of each is positive.
    explained_variance_ : array of shape (n_components,)
        v'Sv. Correlated components count twice what they share.
    adjusted_variance_ : array of shape (n_components,)
        What each explains beyond those before it: Zou, Hastie, Tibshirani (2006).
    explained_variance_ratio_, adjusted_variance_ratio_ : arrays of shape (n_components,)
        Both as shares of the trace of S.
    bound_, gap_ : arrays of shape (n_components,)
        The proven bound of each maximum, and the relative gap.
    verdict_, status_ : lists of str
    results_ : list of Result
    mean_, scale_ : arrays of shape (d,)
    n_features_in_, feature_names_in_

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_wine
    >>> from sparseopt.estimators import SparsePCA
    >>> model = SparsePCA(n_components=2, n_nonzeros=3).fit(load_wine().data)
    >>> [np.flatnonzero(v).tolist() for v in model.components_], model.verdict_
    ([[5, 6, 11], [0, 9, 12]], ['verified', 'verified'])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **ComponentsTransformer._parameter_constraints,
        "n_nonzeros": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "deflation": [StrOptions({"projection", "schur", "orthogonal"})],
        "standardize": ["boolean"],
    }

    def __init__(
        self,
        *,
        n_components: int = 1,
        n_nonzeros: Any = 5,
        deflation: str = "projection",
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.n_components = n_components
        self.n_nonzeros = n_nonzeros
        self.deflation = deflation
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the components one after another.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : ignored
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            When there are more components than columns, or n_nonzeros is not of whole numbers up to
            that of columns, one for each component.
        """
        X, _, counts = observed(self, X, NO_TARGET, sample_weight)
        n, d = float(counts.sum()), X.shape[1]
        if self.n_components > d:
            raise ValueError(f"n_components={self.n_components} is above n_features={d}")
        self.mean_, self.scale_ = columns.location_and_scale(X, counts, True, self.standardize)
        rows = columns.as_dense(X, type(self).__name__) if d > _MANY else X
        Z = columns.root_of_covariance(rows, counts, self.mean_, self.scale_)
        Z *= 1.0 if self.standardize else np.sqrt(n / (n - 1.0))
        sizes = one_for_each(self.n_nonzeros, self.n_components)
        columns.refuse_beyond(self, "n_nonzeros", d)
        names = columns.given_names(self)
        self.results_: list[Any] = []
        vectors: list[Array] = []
        left = Z
        for size in sizes:
            k = min(int(size), d)
            problem = (
                SparseComponent(X=left, d=k, names=names)
                if d > _MANY
                else STRS(A=left.T @ left, d=k, names=names)
            )
            result = solve(problem, backend=self.backend, time_limit=self.time_limit)
            result.raise_for_status()
            v = np.asarray(result.x)
            v = v * np.sign(v[np.abs(v).argmax()])
            self.results_.append(result)
            left = deflated(left, v, vectors, self.deflation)
            vectors.append(v)
        self.components_ = np.array(vectors)
        self.verdict_ = [str(result.verdict) for result in self.results_]
        self.status_ = [str(result.status) for result in self.results_]
        self.bound_ = np.array([result.bound for result in self.results_], dtype=float)
        self.gap_ = np.array([result.gap for result in self.results_], dtype=float)
        self.explained_variance_, self.adjusted_variance_ = variances(Z, self.components_)
        total = float(np.einsum("ij,ij->", Z, Z)) or 1.0
        self.explained_variance_ratio_ = self.explained_variance_ / total
        self.adjusted_variance_ratio_ = self.adjusted_variance_ / total
        return self
