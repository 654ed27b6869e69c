"""Precision matrices, their differences, several responses and the linear discriminant."""

import time

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.covariance import empirical_covariance
from sklearn.datasets import load_breast_cancer, load_iris, load_linnerud, load_wine
from sklearn.model_selection import GridSearchCV, StratifiedKFold

import sparseopt
from sparseopt import problems, solve
from sparseopt.errors import ParamError
from sparseopt.estimators import (
    CLIME,
    DantzigSelector,
    DifferentialNetwork,
    GaussianGraphL0,
    MatrixDantzig,
    SparseLDA,
    SparsePCA,
)

WINE = load_wine(as_frame=True)
IRIS = load_iris()
CANCER, MALIGN = load_breast_cancer(return_X_y=True)


def least_l1(A, centre, lam):
    """The least l1 norm of theta with |A theta - centre| <= lam, by HiGHS."""
    found = linprog(
        np.ones(2 * A.shape[1]),
        A_ub=np.block([[A, -A], [-A, A]]),
        b_ub=np.concatenate([centre + lam, lam - centre]),
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    return found.x[: A.shape[1]] - found.x[A.shape[1] :]


def smaller(matrix):
    return np.where(np.abs(matrix) <= np.abs(matrix.T), matrix, matrix.T)


@pytest.mark.parametrize("lam", [0.4, 0.1])
def test_clime_is_its_linear_programs(lam):
    frame = WINE.data.iloc[:, :6]
    model = CLIME(lam=lam).fit(frame)
    S = np.corrcoef(frame.T)
    omega = np.column_stack([least_l1(S, np.eye(6)[i], lam) for i in range(6)])
    units = frame.to_numpy().std(axis=0)
    expected = smaller(omega) / np.outer(units, units)
    np.testing.assert_allclose(model.precision_, expected, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(model.covariance_, empirical_covariance(frame.to_numpy()))
    assert model.verdict_ == "verified" and model.gap_ < 1e-9
    np.testing.assert_allclose(model.at(0.6).precision_, CLIME(lam=0.6).fit(frame).precision_)


def test_clime_on_the_identity_is_right():
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.standard_normal((50, 4)) - 0.0)[0]
    X = np.vstack([X, -X]) * np.sqrt(50)
    model = CLIME(lam=0.0).fit(X)
    np.testing.assert_allclose(model.precision_, np.eye(4), atol=1e-9)


@pytest.mark.thorough
def test_clime_chooses_lam_and_scores():
    chosen = CLIME().fit(WINE.data)
    assert 0.0 < chosen.lam_ < 1.0 and chosen.selection_.by == "ebic"
    assert CLIME(rule="theory").fit(WINE.data).lam_ > chosen.lam_
    search = GridSearchCV(CLIME(), {"lam": [0.05, 0.2, 0.6]}, cv=3).fit(WINE.data)
    assert np.isfinite(search.best_score_)


def test_the_differential_network_is_its_linear_program():
    X, y = IRIS.data[50:], IRIS.target[50:]
    model = DifferentialNetwork(lam=0.3, standardize=False).fit(X, y)
    one, two = (np.cov(X[y == c].T, bias=True) for c in (1, 2))
    delta = least_l1(np.kron(two, one), (one - two).ravel(order="F"), 0.3)
    assert model.objective_ == pytest.approx(np.abs(delta).sum(), rel=1e-8, abs=1e-10)
    model = DifferentialNetwork(lam=0.02, standardize=False).fit(X, y)
    delta = least_l1(np.kron(two, one), (one - two).ravel(order="F"), 0.02)
    assert model.objective_ == pytest.approx(np.abs(delta).sum(), rel=1e-7)
    np.testing.assert_allclose(
        model.difference_, smaller(delta.reshape(4, 4, order="F")), rtol=1e-6, atol=1e-7
    )
    assert DifferentialNetwork().fit(X, y).verdict_ == "verified"


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("value", [7.0, 7.1])
def test_a_constant_column_has_no_differences(value, standardize, form):
    Z = np.random.default_rng(0).normal(size=(60, 5))
    weights, classes = np.arange(60) % 7, np.arange(60) % 2
    Z[weights > 0, 2] = value
    model = DifferentialNetwork(standardize=standardize)
    model.fit(form(Z), classes, sample_weight=weights)
    assert model.verdict_ == "verified"
    assert not model.difference_[2].any() and not model.difference_[:, 2].any()
    assert not model.result_.problem.S_X[2].any()


def test_the_path_of_a_differential_network_ends_where_more_entries_cannot_pay():
    # All 30 columns are nearly dependent: the whole path takes minutes.
    X, malign = load_breast_cancer(return_X_y=True)
    model = DifferentialNetwork().fit(X[:, :14], malign)
    n, values = len(X), model.selection_.values
    assert model.path_.stopped_by == "max_nonzeros" and model.verdict_ == "verified"
    problem = model.result_.problem
    longer = solve(problem, max_nonzeros=150, check=False).path
    assert longer.low[-1] < 0.5 * model.path_.low[-1]
    of_all = [_bic(problem, longer.at(lam), n) for lam in longer.knots.tolist()]
    assert min(of_all) == pytest.approx(values.min(), rel=1e-9)


@pytest.mark.thorough
def test_the_time_limit_holds_for_all_paths_of_a_differential_network():
    X, malign = load_breast_cancer(return_X_y=True)
    began = time.process_time()
    model = DifferentialNetwork(time_limit=0.5).fit(X, malign)
    assert np.isfinite(model.difference_).all() and model.path_.knots[-1] < 0.4
    assert time.process_time() - began < 5.0


def _bic(problem, x, n):
    """Return n ||R||_F + |Delta|_0 log n, R the symmetrised residual (Zhao, Cai, Li 2014)."""
    delta = problem.matrix(x)
    product = problem.S_X @ delta @ problem.S_Y
    residual = (product + product.T) / 2.0 - (problem.S_X - problem.S_Y)
    return n * np.linalg.norm(residual) + np.count_nonzero(delta) * np.log(n)


def test_responses_are_dantzig_selectors():
    X, Y = load_linnerud(return_X_y=True)
    units = Y.std(axis=0)
    model = MatrixDantzig(lam=2.0).fit(X, Y)
    for k in range(3):
        one = DantzigSelector(lam=2.0 * units[k]).fit(X, Y[:, k])
        np.testing.assert_allclose(model.coef_[k], one.coef_, atol=1e-8)
        assert model.intercept_[k] == pytest.approx(one.intercept_, rel=1e-9)
    single = MatrixDantzig(lam=2.0).fit(X, Y[:, 0])
    np.testing.assert_allclose(single.coef_, model.coef_[0], atol=1e-9)
    assert MatrixDantzig().fit(X, Y).predict(X).shape == Y.shape


@pytest.mark.parametrize("lam", [0.5, 0.05])
def test_sparse_lda_is_the_linear_program(lam):
    X = CANCER[:, :7]
    model = SparseLDA(lam=lam).fit(X, MALIGN)
    means = [X[c == MALIGN].mean(axis=0) for c in (0, 1)]
    within = X - np.array(means)[MALIGN]
    units = within.std(axis=0)
    S = (within / units).T @ (within / units) / len(X)
    theta = least_l1(S, (means[1] - means[0]) / units, lam) / units
    np.testing.assert_allclose(model.coef_[0], theta, rtol=1e-7, atol=1e-8)
    middle = (means[0] + means[1]) / 2.0
    assert model.decision_function(middle[None])[0] == pytest.approx(0.0, abs=1e-8)


@pytest.mark.parametrize(
    ("model", "X", "y", "fitted"),
    [
        (DifferentialNetwork(lam=0.1), IRIS.data[50:], IRIS.target[50:], "difference_"),
        (MatrixDantzig(lam=0.5), *load_linnerud(return_X_y=True), "coef_"),
        (SparseLDA(lam=0.05), CANCER[:, :7], MALIGN, "coef_"),
    ],
)
def test_at_another_lam_is_a_fresh_fit(model, X, y, fitted):
    lam = 4.0 * model.lam
    other, fresh = model.fit(X, y).at(lam), clone(model).set_params(lam=lam).fit(X, y)
    np.testing.assert_allclose(getattr(other, fitted), getattr(fresh, fitted), rtol=1e-9, atol=1e-9)
    assert other.objective_ == pytest.approx(fresh.objective_, rel=1e-10)


@pytest.mark.thorough
def test_sparse_lda_compares_all_lam():
    X = CANCER[:, ::2]
    folds = StratifiedKFold(4)
    model = SparseLDA(cv=folds).fit(X, MALIGN)
    grid = np.geomspace(model.curve_.end + 1e-3, 2.0, 7)
    for lam in [*grid, model.lam_]:
        wrong = sum(
            (clone(model).set_params(lam=lam).fit(X[a], MALIGN[a]).predict(X[b]) != MALIGN[b]).sum()
            for a, b in folds.split(X, MALIGN)
        )
        assert float(model.curve_(lam)) == pytest.approx(wrong / len(MALIGN), abs=1e-12)
    assert model.score(X, MALIGN) > 0.95
    weights = np.random.default_rng(0).integers(0, 3, len(MALIGN))
    one = SparseLDA(lam=0.2).fit(X, MALIGN, sample_weight=weights)
    rows = np.repeat(np.arange(len(MALIGN)), weights)
    two = SparseLDA(lam=0.2).fit(X[rows], MALIGN[rows])
    np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-7, atol=1e-9)


def test_names_are_kept():
    model = CLIME(lam=0.3).fit(WINE.data)
    assert model.result_.problem.names == list(WINE.data.columns)
    assert isinstance(WINE.data, pd.DataFrame)
    component = SparsePCA(n_nonzeros=2).fit(WINE.data)
    shown = WINE.data.columns[component.components_[0] != 0.0]
    assert set(component.results_[0].coefficients.nonzero()) == set(shown)
    constant = WINE.data.assign(ash=1.0)
    graph = GaussianGraphL0(budget=4).fit(constant)
    assert graph.result_.problem.names == [name for name in constant if name != "ash"]


def test_responses_and_columns_keep_their_names(tmp_path):
    X, Y = load_linnerud(return_X_y=True, as_frame=True)
    model = MatrixDantzig(lam=2.0).fit(X, Y)
    for j, column in enumerate(X.columns):
        for k, response in enumerate(Y.columns):
            assert model.coefficients_[f"{column},{response}"] == model.coef_[k, j]
    assert model.coefficients_["intercept,Pulse"] == model.intercept_[2]
    problem = model.result_.problem
    assert problem.coefficient_names[:2] == ["Chins,Weight", "Situps,Weight"]
    sparseopt.save(problem, tmp_path / "responses.npz")
    again = sparseopt.load(tmp_path / "responses.npz")
    assert again.coefficient_names == problem.coefficient_names
    single = MatrixDantzig(lam=2.0).fit(X, Y["Pulse"]).coefficients_
    assert list(single) == [*X.columns, "intercept"]
    plain = MatrixDantzig(lam=2.0).fit(X.to_numpy(), Y.to_numpy())
    assert list(plain.coefficients_)[:2] == ["x0,0", "x1,0"]


def test_the_rule_leaves_its_table_over_lam():
    X, malign = load_breast_cancer(return_X_y=True)
    X, malign = X[:150, :6], malign[:150]
    lda = SparseLDA(cv=3).fit(X, malign)
    table = lda.selection_.to_frame()
    assert lda.selection_.value == table["error"].min() == float(lda.curve_(lda.lam_))
    np.testing.assert_allclose(lda.cv_results_["mean_test_error"], table["error"])
    models = [
        DifferentialNetwork().fit(X, malign),
        MatrixDantzig().fit(*load_linnerud(return_X_y=True)),
    ]
    for model in models:
        table = model.selection_.to_frame()
        assert model.lam_ == table["lam"][table["bic"].idxmin()]
        assert len(repr(model.selection_).splitlines()) == 1
        assert len(str(model.selection_).splitlines()) <= 10
        assert model.selection_.plot().get_ylabel() == "BIC"
        assert not hasattr(model.at(2.0 * model.lam_), "selection_")


@pytest.mark.thorough
@pytest.mark.parametrize(("n", "d"), [(15, 30), (10, 40)])
def test_clime_of_fewer_observations_than_columns_says_what_there_is(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    for rule in ("ebic", "bic"):
        model = CLIME(rule=rule).fit(X)
        assert model.verdict_ == "verified"
        assert np.linalg.eigvalsh(model.precision_)[0] > 0.1
        assert np.abs(model.precision_).max() < 10.0
    with pytest.raises(ValueError, match=rf"lam is 0\.01; for {d} columns of {n} .* Give a larger"):
        CLIME(lam=0.01).fit(X)
    assert CLIME(lam=0.6).fit(X).verdict_ == "verified"


@pytest.mark.thorough
def test_clime_says_where_theory_asks_for_nothing():
    X = np.random.default_rng(0).normal(size=(10, 40))
    with pytest.raises(ValueError, match=r"'theory' asks for lam = 1\.215 .* Give lam"):
        CLIME(rule="theory").fit(X)


def test_no_definite_estimate_says_why_and_what_to_do():
    problem = problems.CLIME(np.array([[1.0, 1.0], [1.0, 1.0]]))
    with pytest.raises(ParamError, match=r"2 variables from 5 observations .* more observations"):
        sparseopt.select(problem, "bic", n=5)


@pytest.mark.thorough
def test_a_discriminant_of_few_observations_follows_the_path_as_far_as_it_is_of_use():
    # 20 observations of 25 normal columns: the covariance is singular, so that the path goes on to
    # coefficients that no rule chooses.
    X, y = np.random.default_rng(1).normal(size=(20, 25)), np.arange(20) % 2
    model = SparseLDA(cv=3).fit(X, y)
    whole = sparseopt.solve(model.result_.problem, check=False).path
    assert whole.objective[-1, 0] > 1e8
    assert model.verdict_ == "verified" and model.path_.objective[-1, 0] < 101.0
    for lam in (model.lam_, model.path_.low[-1]):
        assert model.at(lam).objective_ == pytest.approx(whole.objective_at(lam), rel=1e-9)
    # In units that make them small, plain coefficients are large from the beginning.
    plain = SparseLDA(cv=3, standardize=False)
    tiny, same = plain.fit(1e-3 * X, y).lam_, plain.fit(X, y).lam_
    assert tiny == pytest.approx(1e-3 * same, rel=1e-6)
