"""Quantile regression at every level at once."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from sparseopt.api import solve
from sparseopt.errors import ParamError
from sparseopt.estimators.base import PathRegressor
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.l1 import ones_or
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

__all__ = ["QuantileProcess"]


class QuantileProcess(PathRegressor):
    r"""Quantile regression at every level tau at once, exactly.

    .. math:: \min_{\theta, \beta} \sum_i \rho_\tau(y_i - x_i'\theta - \beta)
              + \lambda \sum_j s_j |\theta_j| \quad\text{for all } 0 < \tau < 1

    Divided by 1 - tau, the slopes of the loss are minus the odds tau / (1 - tau), and 1: a linear
    program whose parameter is the odds, so that one path has every level. The solution is constant
    between the levels `quantiles_`.

    Parameters
    ----------
    quantile : float, default 0.5
        The level of `coef_` and `predict`; :meth:`at` reads off another one.
    lam : float, default 0
        Of the penalty, the same for all levels; n times the alpha of scikit-learn's
        QuantileRegressor.
    fit_intercept, standardize, backend, time_limit
        As for :class:`~sparseopt.estimators.LADLasso`.

    Attributes
    ----------
    quantiles_ : array of shape (K,)
        The levels at which the solution changes, increasing.
    coef_, intercept_, objective_, bound_, gap_
        At `quantile`.
    path_ : ParametricPath
        Over the odds.
    result_, verdict_, status_, n_features_in_, feature_names_in_

    References
    ----------
    Koenker, d'Orey (1987): Computing regression quantiles.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import QuantileProcess
    >>> X, y = load_diabetes(return_X_y=True)
    >>> process = QuantileProcess().fit(X[:100, [2, 3]], y[:100])
    >>> process.verdict_, bool(process.at(0.9).intercept_ > process.intercept_)
    ('verified', True)
    """

    lam: float
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "quantile": [Interval(Real, 0, 1, closed="neither")],
        "lam": [Interval(Real, 0, None, closed="left")],
        **{
            name: PathRegressor._parameter_constraints[name]
            for name in ("fit_intercept", "standardize", "backend", "time_limit")
        },
    }
    refit = False

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        lam: float = 0.0,
        fit_intercept: bool = True,
        standardize: bool = True,
        backend: Any = "auto",
        time_limit: float | None = None,
    ) -> None:
        self.quantile = quantile
        self.lam = lam
        self.fit_intercept = fit_intercept
        self.standardize = standardize
        self.backend = backend
        self.time_limit = time_limit

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        price = float(self.lam) * self._scales(X, counts)
        if self.fit_intercept:
            X, price = np.column_stack([X, np.ones(len(X))]), np.append(price, 0.0)
            names = None if names is None else [*names, "intercept"]
        times = ones_or(counts, len(y))
        # All is divided by 1 - tau = 1 / (1 + odds).
        phi = Pieces.uniform([0.0], [-price, price], slope_rates=[-price, price], n=len(price))
        psi = Pieces.uniform([y], [0.0, times], slope_rates=[-times, 0.0], n=len(y))
        return PiecewiseLinearProgram(X, phi, psi, names=names)

    def _follow(self, problem: Any, end: float | None = None) -> None:
        asked = SolveParams(time_limit=self.time_limit)
        self.result_ = solve(problem, backend=self.backend, params=asked).raise_for_status()
        self.path_ = self.result_.path

    def _choose(self, X: Array, y: Array, groups: Any) -> None:
        odds = self.path_.knots[::-1]
        self.quantiles_ = odds[odds > 0.0] / (1.0 + odds[odds > 0.0])
        self._read_off(float(self.quantile))

    def _read_off(self, quantile: float) -> None:
        self._place(quantile / (1.0 - quantile), "above")
        self.lam_ = float(self.lam)
        self.objective_, self.bound_ = (
            (1.0 - quantile) * value for value in (self.objective_, self.bound_)
        )

    def at(self, quantile: float) -> Self:
        """Return the estimator as fitted at another level, read off the path: nothing is solved.

        Parameters
        ----------
        quantile : float
            Strictly between 0 and 1.

        Returns
        -------
        estimator
            A fitted copy; this one stays as it is.
        """
        check_is_fitted(self)
        if not 0.0 < quantile < 1.0:
            raise ParamError(f"quantile is {quantile!r}; expected a level between 0 and 1")
        other = copy.copy(self)
        other.quantile = float(quantile)
        other._read_off(float(quantile))
        return other

    def predict_quantiles(self, X: Any, quantiles: Any) -> Array:
        """Return the predictions at several levels, shape (n, len(quantiles)).

        Parameters
        ----------
        X : array_like of shape (n, d)
        quantiles : array_like
            Levels, each strictly between 0 and 1.
        """
        return np.column_stack([self.at(float(level)).predict(X) for level in quantiles])
