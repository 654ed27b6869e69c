"""Graphs whose nodes choose the best neighbours under one budget, Gaussian or of spins."""

from __future__ import annotations

from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from sparseopt.estimators.budget.every_size import BudgetEstimator
from sparseopt.estimators.budget.nodes import candidates_among, in_all_columns, nodes_of
from sparseopt.estimators.common.columns import given_names, spread
from sparseopt.estimators.common.observations import NO_TARGET, SparseData
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.columns import mean

__all__ = ["GaussianGraphL0", "GraphL0", "IsingGraphL0"]


class GraphL0(SparseData, BudgetEstimator):
    """Graphs whose nodes choose the best neighbours under one budget, for every budget at once.

    See :class:`~sparseopt.problems.L0GraphicalModel`. This is the base of the two models.

    Parameters
    ----------
    budget : int, optional
        The number of neighbours of all nodes together, an edge whose ends choose each other counted
        twice. Default: chosen by `rule`.
    rule : {"ebic", "bic", "aic", "cv"}, default "ebic"
        See :func:`sparseopt.selection.select_graph`.
    candidates : int or bool array of shape (d, d), default 10
        Who may choose whom: so many of the other columns, those that a column is correlated with
        most (all, where there are fewer), or a mask.
    edges : {"or", "and"}, default "or"
        Whether one end of an edge must choose the other, or both.
    ridge : float, default 0
    backend, time_limit, n_jobs
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    graph_ : sparse bool array of shape (d, d), symmetric
    coef_ : sparse array of shape (d, d)
        Row j has the coefficients of column j's neighbours.
    scale_ : array of shape (d,)
        What a coefficient is relative to: the standard deviations of Gaussian columns, 1 of spins
        and of columns that are constant.
    budget_ : int
    path_ : GraphPath
        The graphs of all budgets.
    objective_, bound_ : float
    result_, verdict_, status_, selection_, n_features_in_, feature_names_in_
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BudgetEstimator._parameter_constraints,
        "budget": BudgetEstimator._count,
        "candidates": [Interval(Integral, 1, 60, closed="both"), "array-like"],
        "edges": [StrOptions({"and", "or"})],
        "n_jobs": BudgetEstimator._jobs,
    }
    _loss: ClassVar[Any]

    def __init__(
        self,
        *,
        budget: int | None = None,
        rule: str = "ebic",
        candidates: Any = 10,
        edges: str = "or",
        ridge: float = 0.0,
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        self.budget = budget
        self.rule = rule
        self.candidates = candidates
        self.edges = edges
        self.ridge = ridge
        self.backend = backend
        self.time_limit = time_limit
        self.n_jobs = n_jobs

    def _columns(self, X: Array, means: Array) -> Array:
        """Return the data as the model takes them, and of the same shape."""
        raise NotImplementedError

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Find the best neighbours for every budget, and choose a budget.

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
            When fewer than two columns vary, or a mask of candidates has another shape than (d, d).
        """
        X, _, counts = self._rows(X, NO_TARGET, sample_weight, least=4, ensure_min_features=2)
        data = self._columns(X, mean(X, counts))
        # Nothing can be learned about a constant column; it stays without neighbours.
        self._kept = nodes_of((data != data[0]).any(axis=0))
        self.scale_ = spread(data, np.ones(len(data)) if counts is None else counts, False)
        data, d = data[:, self._kept], self.n_features_in_
        allowed = candidates_among(data, self.candidates, self._kept, counts, d)
        how = {"loss": self._loss, "ridge": float(self.ridge), "sample_weights": counts}
        names = given_names(self, self._kept)
        self._follow(L0GraphicalModel(data, allowed, **how, names=names))
        budget = self.budget
        if budget is None:
            jobs = {"n_jobs": effective_n_jobs(self.n_jobs)} if self.rule == "cv" else {}
            budget = self._selected(**jobs)
        self._place(int(budget))
        return self

    def _place(self, budget: int) -> None:
        self.budget_, d = budget, self.n_features_in_
        place = int(np.searchsorted(self.path_.budgets, budget))
        found = self.path_.coefficients(budget), self.path_.graph(budget, self.edges)
        self.coef_, self.graph_ = (in_all_columns(each, self._kept, d) for each in found)
        self.objective_ = float(self.path_.objective[place])
        self.bound_ = float(self.path_.bound[place])


class GaussianGraphL0(GraphL0):
    """A Gaussian graph of the best neighbours under one budget; see :class:`GraphL0`.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sparseopt.estimators import GaussianGraphL0
    >>> model = GaussianGraphL0(budget=20, edges="and").fit(load_wine().data)
    >>> model.graph_.nnz // 2, model.verdict_
    (5, 'verified')
    """

    _loss = "gaussian"

    def _columns(self, X: Array, means: Array) -> Array:
        return np.where(np.ptp(X, axis=0) > 0.0, X - means, 0.0)


class IsingGraphL0(GraphL0):
    """An Ising graph of the best neighbours under one budget; see :class:`GraphL0`.

    Values above the mean of their column are spins 1, others -1.
    """

    _loss = "ising"

    def _columns(self, X: Array, means: Array) -> Array:
        return np.where(means < X, 1.0, -1.0)
