"""Quantile regression with an l1 penalty."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

from sklearn.utils._param_validation import Interval

from sparseopt.estimators.common.base import PathEstimator, PathRegressor
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import regression


class QuantileLasso(PathRegressor):
    r"""Quantile regression with an l1 penalty, for every lam at once.

    .. math:: \min_{\theta, \beta} \sum_i \rho_\tau(y_i - x_i'\theta - \beta)
              + \lambda \sum_j s_j |\theta_j|

    lam is n times the alpha of scikit-learn's QuantileRegressor. The other parameters and the
    attributes are those of :class:`~sparseopt.estimators.LADLasso`.

    Parameters
    ----------
    quantile : float, default 0.5
        The level tau, strictly between 0 and 1.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import QuantileLasso
    >>> X, y = load_diabetes(return_X_y=True, scaled=False)
    >>> low = QuantileLasso(quantile=0.1).fit(X, y)
    >>> bool(abs((y < low.predict(X)).mean() - 0.1) < 0.02)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PathEstimator._parameter_constraints,
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def __init__(
        self,
        *,
        quantile: float = 0.5,
        lam: float | None = None,
        rule: str | None = None,
        cv: Any = None,
        scoring: str | None = None,
        fit_intercept: bool = True,
        standardize: bool = True,
        refit: bool = False,
        positive: bool = False,
        bounds: Any = None,
        backend: Any = "auto",
        time_limit: float | None = None,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            lam=lam,
            rule=rule,
            cv=cv,
            scoring=scoring,
            fit_intercept=fit_intercept,
            standardize=standardize,
            refit=refit,
            positive=positive,
            bounds=bounds,
            backend=backend,
            time_limit=time_limit,
            n_jobs=n_jobs,
        )
        self.quantile = quantile

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        scales, tau = self._scales(X, counts), float(self.quantile)
        return regression.QuantileLasso(
            X, y, tau, self.fit_intercept, scales, names, counts, self._box(X.shape[1])
        )


class QuantileLassoCV(QuantileLasso):
    """:class:`QuantileLasso` whose rule is "cv" by default: exact over all lam."""

    _default_rule: ClassVar[str] = "cv"
