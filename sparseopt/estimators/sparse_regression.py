"""The best few of many columns: one regression, or each column on all others, as a graph."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, RegressorMixin, _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sparseopt.api import solve
from sparseopt.problems.base import Array
from sparseopt.problems.subset import problem as subset
from sparseopt.result import Result, Verdict, relative_gap
from sparseopt.workers import surviving

__all__ = ["NeighbourhoodGraph", "SparseRegression"]

_CONSTRAINTS: dict[str, Any] = {
    "k": [Interval(Integral, 1, None, closed="left")],
    "ridge": [Interval(Real, 0, None, closed="left")],
    "bound": [Interval(Real, 0, None, closed="neither"), None],
    "penalty": [Interval(Real, 0, None, closed="left")],
    "backend": [str, HasMethods("solve")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
}
_CONSTANT = 1e-13
"""Deviations of this size, relative to the column's largest entry, are what rounding left."""
_NODES = 8
"""Columns that a worker takes at a time."""


def _unit_columns(X: Array, centre: Array) -> tuple[Array, Array]:
    """Return the centred columns with length 1, those that are constant 0, and their lengths."""
    rest = X - centre
    lengths = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    lengths[np.abs(rest).max(axis=0) <= _CONSTANT * np.abs(X).max(axis=0)] = 0.0
    rest *= np.where(lengths > 0.0, 1.0 / np.where(lengths > 0.0, lengths, 1.0), 0.0)
    return rest, lengths


class SparseRegression(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Least squares with the best k of up to 100,000 columns, held small by a ridge, proven.

    .. math:: \min_b \tfrac12 \|y - Xb\|_2^2 + \tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0
              \quad\text{subject to}\quad \|b\|_0 \le k,\; \|b\|_\infty \le M

    y and the columns of X are centred (with an intercept) and brought to length 1 first, so that
    all parameters are pure numbers. For models of every size of up to some 40 columns, without a
    ridge, take :class:`BestSubset`.

    Parameters
    ----------
    k : int, default 5
        Nonzero coefficients at most.
    ridge : float, default 0.1
        rho. Smaller ones shrink less and take longer to prove; 0 needs a `bound`.
    bound : float, optional
        M. Default: none.
    penalty : float, default 0
        lambda_0: a column has to explain twice this share of y's sum of squares.
    fit_intercept : bool, default True
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    coef_ : array of shape (d,)
        For the columns as given.
    intercept_ : float
    support_ : int array
        The columns with nonzero coefficients.
    objective_, bound_, gap_ : float
        In units of y's sum of squares.
    result_, verdict_, status_, n_features_in_, feature_names_in_

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import SparseRegression
    >>> data = load_diabetes(as_frame=True)
    >>> model = SparseRegression(k=3).fit(data.data, data.target)
    >>> [data.feature_names[j] for j in model.support_], model.verdict_
    (['bmi', 'bp', 's5'], 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "fit_intercept": ["boolean"],
    }

    def __init__(
        self,
        *,
        k: int = 5,
        ridge: float = 0.1,
        bound: float | None = None,
        penalty: float = 0.0,
        fit_intercept: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.bound = bound
        self.penalty = penalty
        self.fit_intercept = fit_intercept
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any) -> Self:
        """Find the best columns.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)

        Returns
        -------
        self
        """
        X, y = validate_data(
            self, X, y, dtype=np.float64, order="C", y_numeric=True, ensure_min_samples=2
        )
        y = np.asarray(y, dtype=np.float64)[:, None]
        centre, level = np.zeros(X.shape[1]), np.zeros(1)
        if self.fit_intercept:
            centre, level = X.mean(axis=0), y.mean(axis=0)
        units, lengths = _unit_columns(X, centre)
        response, size = _unit_columns(y, level)
        if size[0] == 0.0:
            raise ValueError("y is constant: there is nothing to explain")
        asked = self.k, self.ridge, self.bound, self.penalty
        self.result_ = _best(units, response[:, 0], asked, self.backend, self.time_limit)
        self.verdict_, self.status_ = str(self.result_.verdict), str(self.result_.status)
        x = np.asarray(self.result_.x)
        self.coef_ = np.where(lengths > 0.0, x * size[0] / np.where(lengths > 0.0, lengths, 1), 0.0)
        self.support_ = np.flatnonzero(self.coef_)
        self.intercept_ = float(level[0] - centre @ self.coef_)
        self.objective_, self.bound_, self.gap_ = _numbers(self.result_)
        return self

    def predict(self, X: Any) -> Array:
        """Return X coef_ + intercept_, shape (n,)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False)
        return np.asarray(X @ self.coef_ + self.intercept_)


def _best(X: Array, y: Array, asked: tuple[Any, ...], backend: Any, time_limit: Any) -> Result:
    k, ridge, bound, penalty = asked
    problem = subset.SparseRegression(
        X, y, min(int(k), X.shape[1]), float(ridge), bound, float(penalty)
    )
    return solve(problem, backend=backend, time_limit=time_limit).raise_for_status()


def _numbers(result: Result) -> tuple[float, float, float]:
    """Return objective, bound and gap."""
    assert result.objective is not None
    assert result.bound is not None
    gap = relative_gap(result.objective, result.bound) or 0.0
    return float(result.objective), float(result.bound), gap


class NeighbourhoodGraph(BaseEstimator):  # type: ignore[misc]
    """A graph whose nodes have the best few of all other columns as neighbours, each proven.

    Every column is regressed on all others as by :class:`SparseRegression`, without a list of
    candidates. Where a list of up to 60 candidates will do, :class:`GaussianGraphL0` needs no
    ridge, and shares one budget among the nodes.

    Parameters
    ----------
    k : int, default 5
        Neighbours of a node at most.
    ridge, bound, penalty
        As for :class:`SparseRegression`. A `penalty` lets nodes have fewer than k neighbours;
        without one every node has k.
    edges : {"or", "and"}, default "or"
        Whether one end of an edge must choose the other, or both.
    backend
        As for :class:`~sparseopt.estimators.LADLasso`.
    time_limit : float, optional
        Seconds for each node.
    n_jobs : int, optional
        Nodes are searched by so many of joblib's workers, which may be killed; Dask's inside
        ``joblib.parallel_config("dask")``.

    Attributes
    ----------
    graph_ : sparse bool array of shape (d, d), symmetric
    coef_ : sparse array of shape (d, d)
        Row j has the coefficients of column j's neighbours, for the columns as given.
    objective_, bound_, gap_ : arrays of shape (d,)
        Of each node, in units of its sum of squares; a column that is constant has 0.
    verdict_ : str
        "verified" where every node is proven as the best, or "unproven".
    n_features_in_, feature_names_in_

    References
    ----------
    Meinshausen, Buehlmann (2006), Annals of Statistics 34: neighbourhoods, by the lasso.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sparseopt.estimators import NeighbourhoodGraph
    >>> model = NeighbourhoodGraph(k=2, edges="and").fit(load_wine().data)
    >>> model.graph_.nnz // 2, model.verdict_
    (7, 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_CONSTRAINTS,
        "edges": [StrOptions({"and", "or"})],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        *,
        k: int = 5,
        ridge: float = 0.1,
        bound: float | None = None,
        penalty: float = 0.0,
        edges: str = "or",
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.bound = bound
        self.penalty = penalty
        self.edges = edges
        self.backend = backend
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find the best neighbours of every column.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        X = validate_data(
            self, X, dtype=np.float64, order="C", ensure_min_samples=2, ensure_min_features=2
        )
        d = X.shape[1]
        units, lengths = _unit_columns(X, X.mean(axis=0))
        vary = np.flatnonzero(lengths > 0.0)
        if len(vary) < 2:
            raise ValueError("fewer than two columns of X vary: there is no graph")
        units = np.ascontiguousarray(units[:, vary])
        units.flags.writeable = False
        asked = self.k, self.ridge, self.bound, self.penalty
        numbers, verified = np.zeros((3, d)), True
        coefficients = sp.lil_array((d, d))
        parts = range(0, len(vary), _NODES)
        found = surviving(
            _neighbours,
            lambda part: (
                units,
                parts[part],
                min(parts[part] + _NODES, len(vary)),
                asked,
                self.backend,
                self.time_limit,
            ),
            range(len(parts)),
            effective_n_jobs(self.n_jobs),
        )
        for part, nodes in found:
            for node, (names, values, of_node, verdict) in enumerate(nodes, parts[part]):
                j, others = vary[node], vary[names]
                coefficients[j, others] = values * lengths[j] / lengths[others]
                numbers[:, j] = of_node
                verified &= verdict == Verdict.VERIFIED
        self.coef_ = sp.csr_array(coefficients)
        self.objective_, self.bound_, self.gap_ = numbers
        self.verdict_ = "verified" if verified else "unproven"
        chosen: Any = self.coef_.astype(bool)
        either = chosen + chosen.T if self.edges == "or" else chosen.multiply(chosen.T)
        self.graph_ = sp.csr_array(either, dtype=bool)
        return self


def _neighbours(
    X: Array, first: int, last: int, asked: tuple[Any, ...], backend: Any, time_limit: Any
) -> list[tuple[Array, Array, tuple[float, float, float], Verdict | None]]:
    """Return the neighbours of some columns, their coefficients, the numbers and the verdicts."""
    found = []
    for j in range(first, last):
        others = np.delete(np.arange(X.shape[1]), j)
        rest = X[:, others]
        rest.flags.writeable = False
        result = _best(rest, X[:, j], asked, backend, time_limit)
        x = np.asarray(result.x)
        chosen = np.flatnonzero(x)
        found.append((others[chosen], x[chosen], _numbers(result), result.verdict))
    return found
