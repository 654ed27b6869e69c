"""Weights as repeated rows, and sparse data as dense ones, where the coefficients are no path's."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine

from sparseopt.estimators import (
    CLIME,
    BestSubset,
    DifferentialNetwork,
    GaussianGraphL0,
    IsingGraphL0,
    MatrixDantzig,
    MomentSubspace,
    NeighbourhoodGraph,
    RobustSubspace,
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


def assert_same(one, two):
    """Compare what is fitted, to 1e-8 of the largest entry."""
    compared = [name for name in FITTED if hasattr(two, name)]
    assert len(compared) > 1
    for name in compared:
        found, expected = (
            value.toarray() if sp.issparse(value := getattr(each, name)) else np.asarray(value)
            for each in (one, two)
        )
        assert found.shape == expected.shape
        assert np.abs(found - expected).max() <= 1e-8 * max(1.0, np.abs(expected).max()), name
    assert one.verdict_ == two.verdict_


@pytest.mark.parametrize("name", WEIGHED)
def test_weights_are_repeated_rows(name):
    model, data, target = WEIGHED[name]
    weights = np.random.default_rng(3).integers(0, 4, len(data))
    rows = np.repeat(np.arange(len(data)), weights)
    one = clone(model).fit(data, target, sample_weight=weights)
    two = clone(model).fit(data[rows], None if target is None else target[rows])
    assert_same(one, two)


@pytest.mark.parametrize("name", ["BestSubset", "GaussianGraphL0"])
def test_folds_keep_repeated_rows_together(name):
    model, data, target = WEIGHED[name]
    model = clone(model).set_params(rule="cv").fit(data, target, np.full(len(data), 3.0))
    for train, test in model.selection_.folds:
        assert not set(train // 3) & set(test // 3)
    assert sum(len(test) for _, test in model.selection_.folds) == 3 * len(data)


@pytest.mark.parametrize("name", ["BestSubset", "SparseLogisticRegression", "IsingGraphL0"])
def test_weights_that_are_no_whole_numbers_are_refused(name):
    model, data, target = WEIGHED[name]
    with pytest.raises(ValueError, match=r"sample_weight has 0\.5; .* whole numbers"):
        clone(model).fit(data, target, sample_weight=np.full(len(data), 0.5))
    with pytest.raises(ValueError, match="divide the weights by a common number"):
        clone(model).fit(data, target, sample_weight=np.full(len(data), 1e9))


def test_weights_of_any_size_are_relative_where_nothing_is_counted():
    one = SparseRegression(k=3).fit(X, Y, sample_weight=np.full(len(Y), 0.3))
    assert_same(one, SparseRegression(k=3).fit(X, Y))


def test_a_class_without_weight_is_named():
    for model in (SparseLogisticRegression(), DifferentialNetwork()):
        with pytest.raises(ValueError, match="class"):
            model.fit(TUMOURS, MALIGN, sample_weight=1 - MALIGN)


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


def test_what_would_not_fit_into_memory_is_refused_with_its_size():
    wide = sp.csr_array((1000, 10**6))
    with pytest.raises(ValueError, match=r"BestSubset needs it dense: .* 8 GB"):
        BestSubset().fit(wide, np.arange(1000.0))
    with pytest.raises(ValueError, match="SparsePCA needs it dense"):
        SparsePCA().fit(wide)


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
