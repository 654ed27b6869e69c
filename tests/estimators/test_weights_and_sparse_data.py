"""Weights as repeated rows, and sparse data as dense ones, where the coefficients are no path's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression

import sparseopt
from sparseopt.estimators import (
    CLIME,
    L1SVC,
    BestSubset,
    DifferentialNetwork,
    GaussianGraphL0,
    IsingGraphL0,
    MatrixDantzig,
    MomentSubspace,
    NeighbourhoodGraph,
    RobustSubspace,
    SparseLDA,
    SparseLogisticRegression,
    SparsePCA,
    SparseRegression,
    SufficientSubspace,
)

X, Y = load_diabetes(return_X_y=True, scaled=False)
X, Y = X[:90, :6], Y[:90]
TUMOURS, MALIGN = load_breast_cancer(return_X_y=True)
TUMOURS, MALIGN = TUMOURS[:90, :5], MALIGN[:90]
WINE = load_wine().data[::2, :6]
TWO = np.column_stack([Y, Y**2])

WEIGHED = {
    "BestSubset": (BestSubset(), X, Y),
    "BestSubset without an intercept": (BestSubset(fit_intercept=False, ridge=0.1), X, Y),
    "SparseRegression": (SparseRegression(k=3), X, Y),
    "SparseRegression without an intercept": (SparseRegression(k=3, fit_intercept=False), X, Y),
    "SparseLogisticRegression": (SparseLogisticRegression(k=2), TUMOURS, MALIGN),
    "GaussianGraphL0": (GaussianGraphL0(), WINE, None),
    "IsingGraphL0": (IsingGraphL0(candidates=3), WINE, None),
    "NeighbourhoodGraph": (NeighbourhoodGraph(k=2), WINE, None),
    "CLIME": (CLIME(), WINE, None),
    "CLIME of covariances": (CLIME(standardize=False, lam=0.4), WINE, None),
    "MatrixDantzig": (MatrixDantzig(), X, TWO),
    "MatrixDantzig without an intercept": (MatrixDantzig(fit_intercept=False), X, TWO),
    "DifferentialNetwork": (DifferentialNetwork(), TUMOURS, MALIGN),
    "SparsePCA": (SparsePCA(n_components=2, n_nonzeros=3), WINE, None),
    "SparsePCA of covariances": (SparsePCA(n_nonzeros=3, standardize=False), WINE, None),
}
FITTED = (
    *("coef_", "intercept_", "precision_", "covariance_", "difference_", "components_"),
    *("explained_variance_", "adjusted_variance_", "mean_", "scale_", "lam_", "size_", "budget_"),
    *("objective_", "rss_"),
)


def assert_same(one, two, left_out=()):
    """Compare what is fitted, to 1e-8 of the largest entry."""
    compared = [name for name in FITTED if hasattr(two, name) and name not in left_out]
    assert len(compared) > 1
    for name in compared:
        found, expected = (
            value.toarray() if sp.issparse(value := getattr(each, name)) else np.asarray(value)
            for each in (one, two)
        )
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max()), name
    assert one.verdict_ == two.verdict_


def weighed_and_repeated(model, data, target, weights):
    """Fit with weights, and with rows repeated as often; return both, and the rows."""
    rows = np.repeat(np.arange(len(data)), weights)
    one = clone(model).fit(data, target, sample_weight=weights)
    two = clone(model).fit(data[rows], None if target is None else target[rows])
    return one, two, rows


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_are_repeated_rows(name):
    model, data, target = WEIGHED[name]
    weights = np.random.default_rng(3).integers(0, 4, len(data))
    one, two, _ = weighed_and_repeated(model, data, target, weights)
    assert_same(one, two)


CROSS_VALIDATED = {
    "BestSubset": (BestSubset(rule="cv", ridge=0.01), X, Y),
    "GaussianGraphL0": (GaussianGraphL0(rule="cv", ridge=0.01), WINE, None),
    # Two spins that may choose each other gain the same: which one does would be up to rounding,
    # as it is where pairs agree equally often, with small weights.
    "IsingGraphL0": (
        IsingGraphL0(rule="cv", candidates=np.triu(np.ones((6, 6), dtype=bool), 1), ridge=0.02),
        WINE,
        None,
    ),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", CROSS_VALIDATED)
def test_weights_are_repeated_rows_in_cross_validation(name):
    model, data, target = CROSS_VALIDATED[name]
    weights = np.random.default_rng(4).integers(1, 60, len(data))
    one, two, rows = weighed_and_repeated(model, data, target, weights)
    chosen = one.selection_
    folds = [tuple(np.flatnonzero(np.isin(rows, part)) for part in fold) for fold in chosen.folds]
    again = sparseopt.select(two.result_, by="cv", folds=folds)
    for name in ("values", "fold_errors", "standard_errors"):
        np.testing.assert_allclose(getattr(chosen, name), getattr(again, name), 1e-7, 1e-12)
    assert (chosen.budget, chosen.budget_1se) == (again.budget, again.budget_1se)


FRACTIONS = {
    "BestSubset": (BestSubset(size=3), X, Y),
    "SparseRegression": (SparseRegression(k=3), X, Y),
    "SparseLogisticRegression": (SparseLogisticRegression(k=2), TUMOURS, MALIGN),
    "GaussianGraphL0": (GaussianGraphL0(budget=6, candidates=3), WINE, None),
    "IsingGraphL0": (IsingGraphL0(budget=6, candidates=3), WINE, None),
    "NeighbourhoodGraph": (NeighbourhoodGraph(k=2), WINE, None),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", FRACTIONS)
def test_weights_are_relative_where_nothing_is_counted(name):
    model, data, target = FRACTIONS[name]
    weights = np.random.default_rng(5).integers(1, 5, len(data))
    one = clone(model).fit(data, target, sample_weight=weights / 4.0)
    two = clone(model).fit(data, target, sample_weight=weights)
    assert_same(one, two, left_out=("rss_",))


def test_the_best_column_with_fractional_weights_is_that_of_scikit_learn():
    weights = np.random.default_rng(6).uniform(0.1, 2.0, len(MALIGN))
    model = SparseLogisticRegression(k=1).fit(TUMOURS, MALIGN, sample_weight=weights)
    centre = np.average(TUMOURS, axis=0, weights=weights)
    units = np.sqrt(np.average((TUMOURS - centre) ** 2, axis=0, weights=weights))
    values = []
    for j in range(TUMOURS.shape[1]):
        column = ((TUMOURS - centre) / units)[:, [j]]
        fit = LogisticRegression(C=1 / (weights.sum() * model.ridge), tol=1e-12, max_iter=1000)
        fit.fit(column, MALIGN, sample_weight=weights)
        margins = (2 * MALIGN - 1) * fit.decision_function(column)
        loss = np.average(np.logaddexp(0, -margins), weights=weights)
        values.append(loss + 0.5 * model.ridge * fit.coef_[0, 0] ** 2)
        if j == model.support_[0]:
            expected = fit.coef_[0, 0] / units[j]
            np.testing.assert_allclose(model.coef_[0, j], expected, rtol=1e-5)
    assert model.support_.tolist() == [np.argmin(values)]
    assert model.objective_ == pytest.approx(min(values), rel=1e-9)


def test_few_heavy_rows_are_as_many_as_they_weigh():
    weights = np.full(8, 4.0)
    rows = np.repeat(np.arange(8), 4)
    one = BestSubset().fit(X[:8], Y[:8], sample_weight=weights)
    assert_same(one, BestSubset().fit(X[rows], Y[rows]))
    one = GaussianGraphL0(budget=8).fit(WINE[:8], sample_weight=weights)
    two = GaussianGraphL0(budget=8).fit(WINE[rows])
    assert one.path_.candidates.total == two.path_.candidates.total == 30
    assert_same(one, two)


def test_a_class_without_weight_is_named():
    for model in (SparseLogisticRegression(), DifferentialNetwork(), L1SVC(), SparseLDA()):
        with pytest.raises(ValueError, match="class"):
            model.fit(TUMOURS, MALIGN, sample_weight=1 - MALIGN)
    with pytest.raises(ValueError, match="one class has no weight; expected observations of both"):
        L1SVC(lam=1.0).fit(TUMOURS, MALIGN, sample_weight=MALIGN)


SPARSE = {
    **{name: case for name, case in WEIGHED.items() if "without" not in name},
    "RobustSubspace": (RobustSubspace(), WINE, None),
    "MomentSubspace": (MomentSubspace(), WINE, None),
    "SufficientSubspace": (SufficientSubspace(), X[:40, :3], Y[:40]),
}


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_data_are_as_dense_ones(name):
    model, data, target = SPARSE[name]
    data = np.where(np.random.default_rng(0).random(data.shape) < 0.2, 0.0, data)
    one = clone(model).fit(sp.csc_array(data), target)
    two = clone(model).fit(data, target)
    assert_same(one, two)
    for method in ("predict", "transform"):
        if hasattr(two, method):
            found, expected = getattr(one, method)(sp.csr_matrix(data)), getattr(two, method)(data)
            np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", SPARSE)
def test_sparse_data_outside_their_shape_are_refused(name):
    model, data, target = SPARSE[name]
    wrong = sp.csr_array(data)
    wrong.indices[1] = data.shape[1] + 3
    fitted = clone(model).fit(data, target)
    message = r"X.indices has .*; expected 0 to .* build it anew"
    with pytest.raises(ValueError, match=message):
        clone(model).fit(wrong, target)
    for method in ("predict", "transform"):
        if hasattr(fitted, method):
            with pytest.raises(ValueError, match=message):
                getattr(fitted, method)(wrong)


def test_clime_scores_sparse_data_as_dense_ones():
    data = np.where(np.random.default_rng(0).random(WINE.shape) < 0.3, 0.0, WINE)
    model = CLIME(lam=0.1).fit(data)
    for form in (sp.csr_array, sp.csc_matrix):
        assert model.score(form(data)) == pytest.approx(model.score(data), rel=1e-12)


def test_what_would_not_fit_into_memory_is_refused_with_its_size():
    wide = sp.csr_array((1000, 10**6))
    with pytest.raises(ValueError, match=r"BestSubset needs it dense: .* 8 GB"):
        BestSubset().fit(wide, np.arange(1000.0))
    with pytest.raises(ValueError, match="SparsePCA needs it dense"):
        SparsePCA().fit(wide)


@pytest.mark.thorough
def test_components_of_many_sparse_rows_take_no_dense_copy():
    long = sp.random_array((600_000, 500), density=1e-3, rng=np.random.default_rng(0)).tocsr()
    model = SparsePCA(n_nonzeros=1, standardize=False).fit(long)
    mean = long.mean(axis=0)
    variance = (long.multiply(long).mean(axis=0) - mean**2) * (600_000 / 599_999)
    assert model.explained_variance_[0] == pytest.approx(variance.max(), rel=1e-10)
    assert model.transform(long).shape == (600_000, 1)


def test_clime_names_a_constant_column():
    import pandas as pd

    frame = pd.DataFrame(WINE, columns=list("abcdef")).assign(c=13.7)
    with pytest.raises(
        ValueError, match=r"X is constant in c\. Leave such columns out, or give lam"
    ):
        CLIME().fit(frame)
    assert CLIME(lam=1.0).fit(frame).precision_.shape == (6, 6)


def test_results_name_the_columns_that_were_chosen():
    diabetes, tumours = load_diabetes(as_frame=True), load_breast_cancer(as_frame=True)
    frame, names = diabetes.data, list(diabetes.data.columns)
    model = SparseRegression(k=3).fit(frame, diabetes.target)
    assert model.result_.problem.names == names
    assert set(model.result_.coefficients.nonzero()) == {names[j] for j in model.support_}
    two = SparseLogisticRegression(k=2).fit(tumours.data.iloc[:, :5], tumours.target)
    chosen = {tumours.data.columns[j] for j in two.support_} | {"intercept"}
    assert set(two.result_.coefficients.nonzero()) == chosen
    subset = BestSubset(size=2).fit(frame, diabetes.target)
    assert subset.result_.problem.names == ["y", *names]


def test_a_fold_without_weight_is_left_out():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(18, 3))
    y = np.where(X[:, 0] + rng.normal(size=18) > 0.0, "yes", "no")
    # Two of the ten folds that stratify 18 observations have these only.
    weights = np.array([2, 3, 0, 3, 1, 2, 2, 1, 3, 0, 1, 1, 2, 1, 0, 0, 0, 0], dtype=float)
    for order in range(20):
        shuffled = np.random.default_rng(order).permutation(weights)
        model = L1SVC(refit=True).fit(X, y, sample_weight=shuffled)
        assert np.isfinite(model.lam_)


def test_a_decision_of_zero_is_the_first_class():
    X, y = np.array([[-1.0], [1.0], [-1.0], [1.0]]), np.array(["a", "b", "a", "b"])
    model = L1SVC(lam=1.0, fit_intercept=False).fit(X, y)
    assert model.decision_function([[0.0]]) == 0.0
    assert model.predict([[0.0]]) == "a"
