"""Least l1 norm under a bound on each residual."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from sklearn.utils._param_validation import StrOptions

from sparseopt.estimators.common.base import PathEstimator, PathRegressor
from sparseopt.estimators.common.columns import with_intercept
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import regression


class BasisPursuit(PathRegressor):
    r"""Least l1 norm under a bound on each residual, for every bound at once.

    .. math:: \min_{\theta, \beta} \sum_j s_j |\theta_j| \quad\text{subject to}\quad
              |y_i - x_i'\theta - \beta| \le \lambda \;\text{ for all } i

    lam is in the units of y. The other parameters and the attributes are those of
    :class:`~sparseopt.estimators.LADLasso`.

    Parameters
    ----------
    rule : {"least", "ebic", "bic", "aic", "cv", "1se"}, optional
        "least", the default, takes the smallest bound that can be met: 0, basis pursuit, where the
        columns reach y; the Chebyshev fit of least l1 norm elsewhere.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.estimators import BasisPursuit
    >>> X = np.random.default_rng(0).standard_normal((20, 50))
    >>> model = BasisPursuit().fit(X, X[:, 3] - 2 * X[:, 7] + 5.0)
    >>> np.flatnonzero(model.coef_).tolist(), model.lam_, round(model.intercept_, 9)
    ([3, 7], 0.0, 5.0)
    """

    _default_rule: ClassVar[str] = "least"
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PathEstimator._parameter_constraints,
        "rule": [StrOptions({"least", "ebic", "bic", "aic", "cv", "1se"}), None],
    }

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        scales, box = self._scales(X, counts), self._box(X.shape[1])
        if self.fit_intercept:
            X, scales, names = with_intercept(X, scales, names)
            box = None if box is None else np.column_stack([box, [-np.inf, np.inf]])
        return regression.CompressedSensing(X, y, scales, None, names, counts, box)

    def _choose(self, X: Array, y: Array, groups: Any) -> None:
        if self.lam is None and self.rule in (None, "least"):
            self._place(float(self.path_.knots[-1]), "above")
        else:
            super()._choose(X, y, groups)
