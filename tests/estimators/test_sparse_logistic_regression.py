"""The best few columns for two classes as an estimator: against scikit-learn on all supports."""

from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from sparseopt.estimators import SparseLogisticRegression

CANCER = load_breast_cancer()
X, Y = CANCER.data[:120, :6], np.where(CANCER.target[:120] == 1, "benign", "malignant")


def test_it_is_the_best_of_all_supports_and_predicts():
    model = SparseLogisticRegression(k=2, ridge=0.05).fit(X, Y)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    y = np.where(Y == "malignant", 1.0, -1.0)
    fits = {}
    for support in combinations(range(6), 2):
        fit = LogisticRegression(C=1.0 / (0.05 * 120), tol=1e-10, solver="newton-cholesky")
        fit.fit(Z[:, support], Y)
        margins = y * fit.decision_function(Z[:, support])
        value = np.logaddexp(0.0, -margins).mean() + 0.025 * float((fit.coef_**2).sum())
        fits[support] = value, fit
    best = min(fits, key=lambda support: fits[support][0])
    assert tuple(model.support_) == best
    assert model.objective_ == pytest.approx(fits[best][0], rel=1e-8)
    assert (model.verdict_, model.classes_.tolist()) == ("verified", ["benign", "malignant"])
    assert model.gap_ < 1e-6 and model.bound_ <= model.objective_
    expected = fits[best][1].predict_proba(Z[:, best])
    assert model.predict_proba(X) == pytest.approx(expected, abs=1e-6)
    assert (model.predict(X) == fits[best][1].predict(Z[:, best])).all()


@pytest.mark.thorough
def test_units_do_not_matter_and_constant_columns_are_left_out():
    one = SparseLogisticRegression(k=2).fit(X, Y)
    scales = 10.0 ** np.arange(-3, 3)
    other = SparseLogisticRegression(k=7).fit(np.c_[X * scales, np.full(120, 7.0)], Y)
    assert other.coef_[0, 6] == 0.0
    again = SparseLogisticRegression(k=2).fit(X * scales + 5.0, Y)
    assert again.coef_ == pytest.approx(one.coef_ / scales, rel=1e-4)
    assert again.predict_proba(X * scales + 5.0) == pytest.approx(one.predict_proba(X), abs=1e-6)


@pytest.mark.thorough
def test_without_an_intercept_nothing_is_centred_and_a_price_leaves_columns_out():
    through_zero = SparseLogisticRegression(k=1, fit_intercept=False).fit(X, Y)
    assert through_zero.intercept_.tolist() == [0.0]
    priced = SparseLogisticRegression(k=6, lam0=0.05).fit(X, Y)
    assert 1 <= len(priced.support_) < 6
    bounded = SparseLogisticRegression(k=2, ridge=0.0, bound=0.3).fit(X, Y)
    assert np.abs(bounded.coef_[0] * X.std(axis=0)).max() == pytest.approx(0.3)
