"""Each column regressed on the best few of all others, as a graph."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from joblib import effective_n_jobs
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils._param_validation import StrOptions

from sparseopt.estimators.budget.nodes import nodes_of
from sparseopt.estimators.common.base import AT_A_TIME
from sparseopt.estimators.common.columns import refuse_beyond
from sparseopt.estimators.common.observations import NO_TARGET, SparseData, observed
from sparseopt.estimators.common.supports import CONSTRAINTS, neighbours, unit_columns
from sparseopt.paths.graph import undirected
from sparseopt.problems.columns import mean
from sparseopt.result import Verdict
from sparseopt.workers import surviving

__all__ = ["NeighbourhoodGraph"]

_NODES = 8
"""Columns that a worker takes at a time."""


class NeighbourhoodGraph(SparseData, BaseEstimator):  # type: ignore[misc]
    """A graph whose nodes have the best few of all other columns as neighbours, each proven.

    Every column is regressed on all others as by :class:`~sparseopt.estimators.SparseRegression`,
    without a list of candidates. Where a list of up to 60 candidates will do,
    :class:`~sparseopt.estimators.GaussianGraphL0` needs no ridge, and shares one budget among the
    nodes.

    Parameters
    ----------
    k : int, default 5
        Neighbours of a node at most, of the other columns; of fewer than 5, the default is all.
    ridge, bound, lam0
        As for :class:`~sparseopt.estimators.SparseRegression`. A `lam0` lets nodes have fewer
        than k neighbours; without one every node has k.
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
    scale_ : array of shape (d,)
        Standard deviations of the columns; 1 where one is constant.
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
        **CONSTRAINTS,
        "edges": [StrOptions({"and", "or"})],
        "n_jobs": AT_A_TIME,
    }

    def __init__(
        self,
        *,
        k: int = 5,
        ridge: float = 0.1,
        bound: float | None = None,
        lam0: float = 0.0,
        edges: str = "or",
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.k = k
        self.ridge = ridge
        self.bound = bound
        self.lam0 = lam0
        self.edges = edges
        self.backend = backend
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the best neighbours of every column.

        Parameters
        ----------
        X : array_like of shape (n, d)
            A sparse one is made dense.
        y : ignored
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self
        """
        X, _, counts = observed(
            self, X, NO_TARGET, sample_weight, dense=True, ensure_min_features=2
        )
        d = X.shape[1]
        refuse_beyond(self, "k", d - 1)
        units, lengths = unit_columns(X, mean(X, counts), counts)
        vary = nodes_of(lengths > 0.0)
        units = np.ascontiguousarray(units[:, vary])
        units.flags.writeable = False
        asked = self.k, self.ridge, self.bound, self.lam0
        numbers, verified = np.zeros((3, d)), True
        coefficients = sp.lil_array((d, d))
        parts = np.array_split(np.arange(len(vary)), -(-len(vary) // _NODES))
        found = surviving(
            neighbours,
            lambda part: (units, parts[part], asked, self.backend, self.time_limit),
            range(len(parts)),
            effective_n_jobs(self.n_jobs),
        )
        for part, nodes in found:
            for node, (names, values, of_node, verdict) in zip(parts[part], nodes, strict=True):
                j, others = vary[node], vary[names]
                coefficients[j, others] = values * lengths[j] / lengths[others]
                numbers[:, j] = of_node
                verified &= verdict == Verdict.VERIFIED
        self.coef_ = sp.csr_array(coefficients)
        self.scale_ = np.where(lengths > 0.0, lengths / np.sqrt(counts.sum()), 1.0)
        self.objective_, self.bound_, self.gap_ = numbers
        self.verdict_ = "verified" if verified else "unproven"
        self.graph_ = undirected(self.coef_.astype(bool), self.edges)
        return self
