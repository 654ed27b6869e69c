"""A sparse precision matrix by constrained l1 minimisation."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.covariance import log_likelihood
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from sparseopt.estimators.base import PathEstimator
from sparseopt.estimators.columns import covariance, given_names, location_and_scale, names_of
from sparseopt.estimators.observations import NO_TARGET, SparseData, observed
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import networks
from sparseopt.result import Verdict
from sparseopt.selection.rules import select

_LARGEST = 1e8
"""Entries of this size, in units of the data, follow the rounding errors of a singular S."""


def _end(path: ColumnwisePath) -> float:
    """Return the smallest lam down to which all columns are more than rounding errors."""
    ends = [float(path.low[-1])]
    for column in path.columns:
        segment = np.repeat(np.arange(len(column.low)), np.diff(column.theta.ptr))
        large = segment[np.abs(column.theta.value) > _LARGEST]
        ends += [float(column.high[large[0]])] if len(large) else []
    return max(ends)


class CLIME(SparseData, PathEstimator):
    r"""A sparse precision matrix, for every lam at once.

    .. math:: \min_\Omega \sum_{ij} |\Omega_{ij}| \quad\text{subject to}\quad
              |(S\Omega - I)_{ij}| \le \lambda \;\text{ for all } i, j

    Parameters
    ----------
    lam : float, optional
        A pure number, 0 to 1. Default: chosen by `rule`.
    rule : {"ebic", "bic", "aic", "theory"}, optional
        Default: "ebic"; see :func:`sparseopt.selection.network_criterion`.
    standardize : bool, default True
        S is the correlation matrix; the precision is brought back into the units of the data.
    backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    precision_ : array of shape (d, d)
        Of opposite entries of the solution the smaller one, as the paper has it.
    covariance_ : array of shape (d, d)
        The empirical one.
    location_ : array of shape (d,)
    lam_, objective_, bound_, gap_, path_, result_, verdict_, status_, selection_
    n_features_in_, feature_names_in_

    References
    ----------
    Cai, Liu, Luo (2011).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sparseopt.estimators import CLIME
    >>> model = CLIME(lam=0.2).fit(load_iris().data)
    >>> model.precision_.shape, model.verdict_
    ((4, 4), 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rule": [StrOptions({"aic", "bic", "ebic", "theory"}), None],
        **PathEstimator._constraints("lam", "standardize", "backend", "time_limit"),
    }
    fit_intercept = True
    refit = False

    def __init__(
        self,
        *,
        lam: float | None = None,
        rule: str | None = None,
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.lam = lam
        self.rule = rule
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Follow the paths of all columns, and choose a value of lam.

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
            When no matrix meets the constraints at `lam`, as with fewer observations than columns,
            or the rule finds no lam; the message says from which lam on there is an estimate.
        """
        X, _, counts = observed(self, X, NO_TARGET, sample_weight)
        self._counts = counts
        self.location_, self._units = location_and_scale(X, counts, True, self.standardize)
        self._follow(self._problem(X, X, counts, given_names(self)))
        self.covariance_ = self.result_.problem.S * np.outer(self._units, self._units)
        self._choose(X, X, None)
        return self

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        S = covariance(X, self._counts, self.location_[None])
        self._refuse_constants(S)
        return networks.CLIME(S / np.outer(self._units, self._units), names=names)

    def _refuse_constants(self, S: Array) -> None:
        """Say which columns are constant where lam is to be chosen: no precision is near then."""
        constant = np.diag(S) <= 1e-20 * self.location_**2
        if self.lam is None and constant.any():
            found = ", ".join(np.array(names_of(self), dtype=object)[constant][:5])
            raise ValueError(
                f"no precision matrix can be chosen: X is constant in {found}. Leave such columns "
                "out, or give lam (1 and above)"
            )

    def _follow(self, problem: Any, end: float | None = None) -> None:
        super()._follow(problem, end)
        if self.lam is None and self.result_.verdict is not Verdict.VERIFIED:
            super()._follow(problem, _end(self.path_))

    def _choose(self, X: Array, y: Array, groups: Any) -> None:
        n, d = max(2, round(float(self._counts.sum()))), X.shape[1]
        if self.lam is not None:
            if self.lam < self.path_.low[-1]:
                raise ValueError(
                    f"lam is {self.lam:g}; for {d} columns of {n} observations expected at least "
                    f"{self.path_.low[-1]:.4g}: no matrix meets the constraints below. Give a "
                    "larger lam, or None to have it chosen"
                )
            self._place(float(self.lam), "above")
            return
        rule = self.rule or self._default_rule
        self.selection_ = select(self.result_.problem, rule, result=self.result_, n=n)
        if self.selection_.lam >= 1.0:
            raise ValueError(
                f"rule {rule!r} asks for lam = {self.selection_.lam:.4g} for {d} columns of {n} "
                "observations, and from 1 on the precision is 0. Give lam, or another rule"
            )
        self._place(self.selection_.lam, self.selection_.side)

    def _unpack(self, x: Array) -> None:
        omega = self.result_.problem.symmetrised(x)
        self.precision_ = omega / np.outer(self._units, self._units)

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean Gaussian log-likelihood of data, minus infinity if not definite."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, order="C", reset=False) - self.location_
        if np.linalg.eigvalsh(self.precision_)[0] <= 0.0:
            return -np.inf
        return float(log_likelihood(X.T @ X / len(X), self.precision_))
