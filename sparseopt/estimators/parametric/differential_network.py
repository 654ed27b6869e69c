"""A sparse difference of two precision matrices."""

from __future__ import annotations

import time
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context

from sparseopt.estimators.common.base import PathEstimator, TwoClasses
from sparseopt.estimators.common.columns import covariance, given_names
from sparseopt.estimators.common.observations import weights_of
from sparseopt.problems.base import Array
from sparseopt.problems.columns import mean
from sparseopt.problems.parametric import networks
from sparseopt.selection.choice import KnotSelection

_AT_ONCE = 32
"""Nonzero entries up to which a path is followed before it is asked whether more may pay."""


class DifferentialNetwork(TwoClasses, PathEstimator):
    r"""The sparse difference of the precision matrices of two classes, for every lam at once.

    .. math:: \min_\Delta \sum_{ij} |\Delta_{ij}| \quad\text{subject to}\quad
              |(S_0 \Delta S_1 - (S_0 - S_1))_{ij}| \le \lambda \;\text{ for all } i, j

    estimates :math:`\Omega_1 - \Omega_0`, that of the second class less that of the first.

    Parameters
    ----------
    lam : float, optional
        On the scale of S_0 - S_1. Default: the knot with the smallest BIC of Zhao, Cai and Li,
        n times the Frobenius norm of the constraint's residual, symmetrised, plus log n for each
        nonzero entry.
    standardize : bool, default True
        Divide the columns by their pooled spread; the difference is brought back into their units.
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    difference_ : array of shape (d, d)
        Of opposite entries of the solution the smaller one.
    classes_ : array of shape (2,)
    lam_, objective_, bound_, gap_, path_, result_, verdict_, status_
    selection_ : KnotSelection
        The criterion at every knot, where `lam` is not given.
    n_features_in_, feature_names_in_

    Notes
    -----
    Where `lam` is not given, the path ends when the nonzero entries alone cost more than the best
    value so far: of nearly dependent columns it may have tens of thousands of knots beyond.

    References
    ----------
    Zhao, Cai, Li (2014): Direct estimation of differential networks.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseopt.estimators import DifferentialNetwork
    >>> X, y = load_iris(return_X_y=True)
    >>> DifferentialNetwork(lam=0.3).fit(X[y > 0], y[y > 0]).difference_.shape
    (4, 4)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = PathEstimator._constraints(
        "lam", "standardize", "backend", "time_limit"
    )
    fit_intercept = True
    refit = False

    def __init__(
        self,
        *,
        lam: float | None = None,
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.lam = lam
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Follow the path, and choose a value of lam.

        Parameters
        ----------
        X : array_like of shape (n, d)
        y : array_like of shape (n,)
            Two classes.
        sample_weight : array_like of shape (n,), optional
            How often each observation counts: weight k is k repeated rows.

        Returns
        -------
        self
        """
        X, place = self._read_classes(X, y)
        counts = weights_of(sample_weight, X)
        classes = [counts[place == c] for c in (0, 1)]
        if any(max(np.count_nonzero(own), own.sum()) < 2 for own in classes):
            raise ValueError("a class has n_samples=1; expected two observations of each")
        self._counts, self._units = counts, self._scales(X, counts)
        self._follow(self._problem(X, place, counts, given_names(self)))
        self._choose(X, y, None)
        return self

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        units = np.outer(self._units, self._units)
        parts = [(X[y == c], self._counts[y == c]) for c in (0, 1)]
        S = [covariance(rows, times, mean(rows, times)[None]) / units for rows, times in parts]
        return networks.DifferentialNetwork(S[0], S[1], names=names)

    def _follow(self, problem: Any, end: float | None = None) -> None:
        if self.lam is not None:
            super()._follow(problem, end)
            return
        began, most, left = time.monotonic(), _AT_ONCE, self.time_limit
        self._solve(problem, max_nonzeros=most)
        while self.path_.stopped_by == "max_nonzeros":
            chosen = self._selection()
            worth = int(chosen.value / np.log(self._counts.sum()))
            if self.time_limit is not None:
                left = self.time_limit - (time.monotonic() - began)
            if worth <= most or (left is not None and left <= 0.0):
                break
            most, before = min(worth, 2 * most), (self.result_, self.path_)
            self._solve(problem, max_nonzeros=most, time_limit=left)
            if self.path_.low[-1] > before[1].low[-1]:
                # the time did not suffice to come as far again
                self.result_, self.path_ = before
                break
        if self.path_.stopped_by == "max_nonzeros":
            self.selection_ = chosen

    def _selection(self) -> KnotSelection:
        problem, n = self.result_.problem, float(self._counts.sum())

        def bic(lam: float) -> float:
            delta = problem.matrix(self.path_.at(lam))
            product = problem.S_X @ delta @ problem.S_Y
            residual = (product + product.T) / 2.0 - (problem.S_X - problem.S_Y)
            return float(n * np.linalg.norm(residual) + np.log(n) * np.count_nonzero(delta))

        return KnotSelection.of(bic, "bic", self.result_)

    def _chosen(self, X: Array, y: Array, groups: Any) -> tuple[float, str]:
        return self._kept(getattr(self, "selection_", None) or self._selection())

    def _unpack(self, x: Array) -> None:
        self.difference_ = self.result_.problem.symmetrised(x) / np.outer(self._units, self._units)
