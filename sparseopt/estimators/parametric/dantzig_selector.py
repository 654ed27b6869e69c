"""Least l1 norm under a bound on the residual correlations."""

from __future__ import annotations

from typing import Any, ClassVar

from sparseopt.estimators.common.base import PathRegressor
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import regression


class DantzigSelector(PathRegressor):
    r"""Least l1 norm under a bound on the residual correlations, for every lam at once.

    .. math:: \min_{\theta, \beta} \sum_j s_j |\theta_j| \quad\text{subject to}\quad
              |X_j'(y - X\theta - \beta)| \le \lambda\, s_j \;\text{ for all } j, \qquad
              \sum_i (y_i - x_i'\theta - \beta) = 0

    lam is on the scale of X'(y - X theta), n times the alpha of scikit-learn's Lasso, of which this
    is the linear program. The parameters and attributes are those of
    :class:`~sparseopt.estimators.LADLasso`.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sparseopt.estimators import DantzigSelector
    >>> data = load_diabetes(as_frame=True, scaled=False)
    >>> model = DantzigSelector(rule="bic").fit(data.data, data.target)
    >>> data.feature_names[int(abs(model.coef_ * data.data.std()).argmax())]
    'bmi'
    """

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        scales = self._scales(X, counts)
        return regression.DantzigSelector(
            X, y, "none", scales, scales, names, counts, self.fit_intercept, self._box(X.shape[1])
        )

    def _pose(self, X: Any, y: Array, counts: Array | None) -> Any:
        problem = super()._pose(X, y, counts)
        # The problem centres the columns of a sparse X itself.
        (centre, level), (own, left) = self.origin_, problem.means()
        self.origin_ = (centre + own, level + left)
        return problem


class DantzigSelectorCV(DantzigSelector):
    """:class:`DantzigSelector` whose rule is "cv" by default: exact over all lam."""

    _default_rule: ClassVar[str] = "cv"
