"""The support vector machine with an l1 penalty and the hinge loss."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.utils._param_validation import StrOptions

from sparseopt.estimators.common.base import BinaryClassifier, PathEstimator
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.classification import L1SVM


class L1SVC(BinaryClassifier):
    r"""The support vector machine with an l1 penalty and the hinge loss, for every lam at once.

    .. math:: \min_{\theta, \beta} \sum_i \big(1 - y_i (x_i'\theta + \beta)\big)_+
              + \lambda \sum_j s_j |\theta_j|

    lam is 1 / C of scikit-learn's LinearSVC, which takes the squared hinge loss with an l1 penalty
    and penalises its intercept. The other parameters and the attributes are those of
    :class:`~sparseopt.estimators.LADLasso`, with `coef_` of shape (1, d), `intercept_` of shape
    (1,), and `classes_`.

    Parameters
    ----------
    rule : {"cv", "1se", "theory"}, optional
        Default: "cv". The hinge loss is no likelihood, so there are no criteria.
    scoring : {"hinge", "misclassification", "accuracy"}, optional
        What cross-validation compares. Default: the hinge loss.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sparseopt.estimators import L1SVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = L1SVC(lam=5.0).fit(X[:80, :10], y[:80])
    >>> bool(model.score(X[:, :10], y) > 0.85), model.verdict_
    (True, 'verified')
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **PathEstimator._parameter_constraints,
        "rule": [StrOptions({"cv", "1se", "theory"}), None],
        "scoring": [StrOptions({"hinge", "misclassification", "accuracy"}), None],
    }

    def _problem(self, X: Array, y: Array, counts: Array | None, names: list[str] | None) -> Any:
        scales, box = self._scales(X, counts), self._box(X.shape[1])
        return L1SVM(X, y, self.fit_intercept, scales, names, counts, box)
