"""Quantile process, basis pursuit, l1 support vector machine and stability selection."""

import doctest
import importlib
import pkgutil
from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import linprog
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.linear_model import QuantileRegressor
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

from sparseopt import estimators
from sparseopt.errors import ProblemError
from sparseopt.estimators import (
    L1SVC,
    BasisPursuit,
    DantzigSelector,
    LADLasso,
    QuantileProcess,
    StabilitySelector,
)

FRAME = load_diabetes(as_frame=True, scaled=False)
DATA, TARGET = FRAME.data, FRAME.target
X, Y = DATA.to_numpy(), TARGET.to_numpy()


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("alpha", [0.0, 0.3])
def test_every_level_is_scikit_learns_quantile_regressor(alpha):
    rows, y = X[:120], Y[:120]
    process = QuantileProcess(lam=alpha * 120, standardize=False).fit(rows, y)
    assert process.verdict_ == "verified"
    for level in (0.02, 0.31, 0.77, 0.99):
        peer = QuantileRegressor(quantile=level, alpha=alpha).fit(rows, y)
        at = process.at(level)
        np.testing.assert_allclose(at.coef_, peer.coef_, atol=1e-8)
        np.testing.assert_allclose(at.predict(X), peer.predict(X), rtol=1e-8)
        assert at.gap_ < 1e-10 and at.quantile == level and at.lam_ == alpha * 120


def test_the_solution_changes_at_its_levels_alone():
    process = QuantileProcess().fit(X[:60, [2, 8]], Y[:60])
    levels = process.quantiles_
    assert (np.diff(levels) > 0.0).all() and 0.0 < levels[0] < levels[-1] < 1.0
    for low, high in pairwise(levels):
        left, right = (process.at(low + s * (high - low)) for s in (0.01, 0.99))
        np.testing.assert_array_equal(left.coef_, right.coef_)
    predicted = process.predict_quantiles(X[:60, [2, 8]], [0.1, 0.5, 0.9])
    assert (
        predicted.shape == (60, 3) and (predicted.mean(axis=0)[1:] > predicted.mean(0)[:-1]).all()
    )


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("lam", [0.0, 20.0])
def test_another_level_is_a_fresh_fit(lam):
    process = QuantileProcess(lam=lam).fit(X[:80, :3], Y[:80])
    other, fresh = process.at(0.83), QuantileProcess(lam=lam, quantile=0.83).fit(X[:80, :3], Y[:80])
    np.testing.assert_allclose(other.coef_, fresh.coef_, rtol=1e-12)
    assert other.objective_ == pytest.approx(fresh.objective_, rel=1e-12)
    assert other.bound_ == pytest.approx(other.objective_, rel=1e-9)


def test_weights_of_the_process_are_rows():
    rows, y = X[:60, :4], Y[:60]
    weights = np.random.default_rng(0).integers(0, 4, 60)
    one = QuantileProcess(quantile=0.3).fit(rows, y, sample_weight=weights)
    two = QuantileProcess(quantile=0.3)
    two.fit(np.repeat(rows, weights, axis=0), np.repeat(y, weights))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-8)


@pytest.mark.parametrize("intercept", [True, False])
def test_columns_that_add_nothing_are_left_out_of_the_process(intercept):
    rows, y = DATA.iloc[:80, [0, 2, 8]], Y[:80]
    city = np.eye(3)[np.arange(80) % 3]
    more = rows.assign(one=3.0, **{f"city {k}": city[:, k] for k in range(3)}, again=rows["bmi"])
    plain = rows.assign(**({} if intercept else {"one": 3.0}), a=city[:, 0], b=city[:, 1])
    found, fewer = (
        QuantileProcess(fit_intercept=intercept).fit(table, y) for table in (more, plain)
    )
    assert found.verdict_ == "verified"
    assert found.coefficients_["city 2"] == found.coefficients_["again"] == 0.0
    assert found.coefficients_["one"] == 0.0 or not intercept
    for level in (0.1, 0.5, 0.8):
        np.testing.assert_allclose(
            found.at(level).predict(more), fewer.at(level).predict(plain), rtol=1e-9
        )
        peer = QuantileRegressor(quantile=level, alpha=0.0, fit_intercept=intercept).fit(more, y)
        residual = y - peer.predict(more)
        loss = np.maximum(level * residual, (level - 1.0) * residual).sum()
        assert found.at(level).objective_ == pytest.approx(loss, rel=1e-7)


@pytest.mark.parametrize("lam", [0.0, 1.0])
@pytest.mark.parametrize("size", [1e100, 1e200])
def test_the_process_calls_the_data_by_their_name(lam, size):
    data = np.random.default_rng(0).normal(size=(20, 2))
    data[3, 1] = size
    with pytest.raises(ProblemError, match="X has the entry"):
        QuantileProcess(lam=lam).fit(data, data[:, 0])


@pytest.mark.thorough
def test_the_process_of_a_constant_response_is_that_constant(recwarn):
    found = QuantileProcess().fit(DATA.iloc[:60], np.full(60, 7.0))
    assert found.verdict_ == "verified" and not recwarn.list
    np.testing.assert_allclose(found.at(0.3).predict(DATA), 7.0)


def test_basis_pursuit_is_the_linear_program():
    rows, y = X[:8], Y[:8]
    model = BasisPursuit(standardize=False).fit(rows, y)
    assert model.lam_ == 0.0 and model.verdict_ == "verified"
    np.testing.assert_allclose(model.predict(rows), y, rtol=1e-10)
    ones = np.ones((8, 1))
    found = linprog(
        np.append(np.ones(20), 0.0),
        A_eq=np.hstack([rows, -rows, ones]),
        b_eq=y,
        bounds=[(0, None)] * 20 + [(None, None)],
    )
    np.testing.assert_allclose(model.coef_, found.x[:10] - found.x[10:20], atol=1e-8)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)


def test_where_y_is_out_of_reach_basis_pursuit_is_the_chebyshev_fit():
    model = BasisPursuit().fit(X, Y)
    n, d = X.shape
    A = np.hstack([X - X.mean(axis=0), np.ones((n, 1))])
    least = linprog(
        np.append(np.zeros(d + 1), 1.0),
        A_ub=np.vstack([np.hstack([s * A, -np.ones((n, 1))]) for s in (1.0, -1.0)]),
        b_ub=np.concatenate([Y, -Y]),
        bounds=(None, None),
    )
    assert model.lam_ == pytest.approx(least.fun, rel=1e-8)
    assert np.abs(Y - model.predict(X)).max() == pytest.approx(least.fun, rel=1e-8)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("lam", [20.0, 2.0])
def test_l1_svc_is_the_linear_program(lam):
    rows, y = load_breast_cancer(return_X_y=True)
    rows, y = rows[:150, :8], y[:150]
    signs, scales = np.where(y == 1, 1.0, -1.0), rows.std(axis=0)
    n, d = rows.shape
    model = L1SVC(lam=lam).fit(rows, np.array(["malign", "benign"])[(signs < 0).astype(int)])
    margin = signs[:, None] * np.hstack([rows / scales, -rows / scales, np.ones((n, 1))])
    found = linprog(
        np.concatenate([np.full(2 * d, lam), [0.0], np.ones(n)]),
        A_ub=-np.hstack([margin, np.eye(n)]),
        b_ub=-np.ones(n),
        bounds=[(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n,
    )
    assert model.objective_ == pytest.approx(found.fun, rel=1e-9)
    np.testing.assert_allclose(
        model.coef_[0], (found.x[:d] - found.x[d : 2 * d]) / scales, rtol=1e-8, atol=1e-8
    )
    assert model.classes_.tolist() == ["benign", "malign"]
    assert model.coef_.shape == (1, d) and model.intercept_.shape == (1,)
    np.testing.assert_allclose(model.at(2 * lam).coef_, L1SVC(lam=2 * lam).fit(rows, y).coef_)


@pytest.mark.parametrize("C", [0.05, 1.0])
def test_l1_svc_in_the_units_of_linear_svc_is_as_good(C):
    # Where |theta_j| is divided by that of LinearSVC, the subgradients of both penalties agree.
    rows, y = load_breast_cancer(return_X_y=True)
    rows, y = rows[:150, :6], y[:150]
    rows = (rows - rows.mean(axis=0)) / rows.std(axis=0)
    plain = {"fit_intercept": False}
    peer = LinearSVC(C=C, loss="hinge", tol=1e-10, max_iter=10**6, **plain).fit(rows, y)
    signs, size = np.where(y == 1, 1.0, -1.0), np.abs(peer.coef_[0])
    value = np.maximum(1.0 - signs * peer.decision_function(rows), 0.0).sum() + size @ size / C
    model = L1SVC(lam=1.0 / C, standardize=False, **plain).fit(rows / size, y)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    assert model.bound_ == pytest.approx(value, rel=1e-8)


@pytest.mark.thorough
def test_the_limits_of_l1_svc():
    data, y = load_breast_cancer(return_X_y=True)
    rows, y, signs = data[:150, :3], y[:150], np.where(y[:150] == 1, 1.0, -1.0)
    # From some lam on only the larger class is seen; at 0 nothing is but the loss.
    large = L1SVC(lam=1e9).fit(rows, y)
    assert not large.coef_.any() and large.objective_ == 2.0 * min(
        (signs > 0).sum(), (signs < 0).sum()
    )
    margin = signs[:, None] * np.hstack([rows, np.ones((150, 1))])
    free = [(None, None)] * 4 + [(0, None)] * 150
    cost = np.append(np.zeros(4), np.ones(150))
    least = linprog(cost, A_ub=-np.hstack([margin, np.eye(150)]), b_ub=-np.ones(150), bounds=free)
    assert L1SVC(lam=0.0).fit(rows, y).objective_ == pytest.approx(least.fun, rel=1e-8)
    # Separable classes: the largest margin in the norm of the largest coordinate.
    iris = load_iris()
    rows, signs = iris.data[:100], np.where(iris.target[:100] == 1, 1.0, -1.0)
    model = L1SVC(lam=1e-6, standardize=False).fit(rows, signs)
    margin = signs[:, None] * np.hstack([rows, -rows, np.ones((100, 1))])
    widest = linprog(
        np.append(np.ones(8), 0.0),
        A_ub=-margin,
        b_ub=-np.ones(100),
        bounds=[(0, None)] * 8 + [(None, None)],
    )
    assert np.abs(model.coef_).sum() == pytest.approx(widest.fun, rel=1e-8)
    assert model.score(rows, signs) == 1.0


def test_stability_selection_is_the_librarys():
    stable = StabilitySelector(DantzigSelector(), pairs=10, random_state=3).fit(DATA, TARGET)
    assert stable.bound_ <= 1.0
    assert (stable.frequency_[stable.support_] >= 0.75).all()
    names = stable.get_feature_names_out()
    assert "bmi" in names and set(names) <= set(DATA.columns)
    kept = make_pipeline(stable, LADLasso()).fit(DATA, TARGET)
    assert len(kept[-1].coef_) == len(names)


@pytest.mark.parametrize(
    "name", ["CLIME", "DifferentialNetwork", "MatrixDantzig", "QuantileProcess", "SparseLDA"]
)
def test_stability_selection_names_the_estimators_that_it_takes(name):
    with pytest.raises(TypeError, match=rf"is a {name}, .* expected BasisPursuit, Dantzig.* L1SVC"):
        StabilitySelector(getattr(estimators, name)()).fit(DATA, TARGET.mean() < TARGET)


@pytest.mark.thorough(after=6)
@pytest.mark.parametrize(
    "module", [each.name for each in pkgutil.iter_modules(estimators.__path__)]
)
def test_examples(module):
    found = doctest.testmod(importlib.import_module(f"sparseopt.estimators.{module}"))
    assert found.failed == 0
