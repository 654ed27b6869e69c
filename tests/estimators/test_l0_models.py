"""Best subsets, graphs, sparse components and two samples, against brute force and the library."""

import re
from itertools import combinations

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.estimators import (
    L1SVC,
    BestSubset,
    GaussianGraphL0,
    IsingGraphL0,
    SparsePCA,
    TwoSampleSelector,
    TwoSampleTest,
)
from sparseopt.two_sample import two_sample_test

DIABETES = load_diabetes(as_frame=True, scaled=False)
WINE = load_wine(as_frame=True)


@pytest.mark.thorough
def test_best_subsets_of_every_size_are_those_of_all_subsets():
    X, y = DIABETES.data.to_numpy(), DIABETES.target.to_numpy()
    model = BestSubset().fit(DIABETES.data, y)
    ones = np.ones((len(y), 1))
    for size in range(11):
        least = min(
            np.linalg.lstsq(np.hstack([X[:, list(s)], ones]), y, rcond=None)[1].item()
            for s in combinations(range(10), size)
        )
        assert model.rss_[size] == pytest.approx(least, rel=1e-9)
        at = model.at(size)
        assert ((y - at.predict(DIABETES.data)) ** 2).sum() == pytest.approx(least, rel=1e-9)
        assert np.flatnonzero(at.coef_).tolist() == sorted(model.supports_[size])
    assert model.verdict_ == "verified" and model.selection_.by == "ebic"
    assert BestSubset(size=3).fit(X, y).coef_ == pytest.approx(model.at(3).coef_, rel=1e-9)
    assert BestSubset(rule="cv").fit(X, y).size_ >= 3


@pytest.mark.parametrize("rule", ["ebic", "cv"])
@pytest.mark.parametrize("unit", [1e-10, 1e10])
def test_the_unit_of_a_column_changes_no_model(unit, rule):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = 2.0 * X[:, 0] + rng.normal(size=100)
    one = BestSubset(rule=rule).fit(X, y)
    units = np.array([1.0, 1.0, unit])
    other = BestSubset(rule=rule).fit(X * units, y)
    assert other.size_ == one.size_ >= 1 and other.verdict_ == "verified"
    assert other.rss_ == pytest.approx(one.rss_, rel=1e-9)
    assert other.coef_ * units == pytest.approx(one.coef_, rel=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 0.1])
def test_the_unit_of_the_response_changes_no_model(ridge):
    y = DIABETES.target.to_numpy()
    one, other = (BestSubset(ridge=ridge).fit(DIABETES.data, unit * y) for unit in (1.0, 1e-9))
    assert other.size_ == one.size_ > 0
    assert 1e18 * other.rss_ == pytest.approx(one.rss_, rel=1e-9)
    assert ((y - one.predict(DIABETES.data)) ** 2).sum() == pytest.approx(
        one.rss_[one.size_] - ridge * len(y) * (one.coef_**2).sum(), rel=1e-9
    )


def test_a_model_without_residuals_is_taken():
    X = DIABETES.data.to_numpy()
    model = BestSubset().fit(X, X[:, 2] - 2.0 * X[:, 5] + 7.0)
    assert np.flatnonzero(model.coef_).tolist() == [2, 5]
    assert model.intercept_ == pytest.approx(7.0, abs=1e-8)


@pytest.mark.parametrize("size", [1, 3, 13])
def test_a_component_is_the_best_of_all(size):
    S = np.corrcoef(WINE.data.T)
    model = SparsePCA(n_nonzeros=size).fit(WINE.data)
    best = max(
        np.linalg.eigvalsh(S[np.ix_(s, s)])[-1] for s in map(list, combinations(range(13), size))
    )
    assert model.explained_variance_[0] == pytest.approx(best, rel=1e-8)
    assert model.bound_[0] == pytest.approx(best, rel=1e-5) and model.verdict_ == ["verified"]


@pytest.mark.parametrize("deflation", ["projection", "schur", "orthogonal"])
def test_dense_components_are_those_of_pca(deflation):
    X = StandardScaler().fit_transform(WINE.data)
    model = SparsePCA(n_components=3, n_nonzeros=13, deflation=deflation, standardize=False).fit(X)
    peer = PCA(3).fit(X)
    np.testing.assert_allclose(np.abs(model.components_), np.abs(peer.components_), atol=1e-6)
    np.testing.assert_allclose(model.explained_variance_, peer.explained_variance_, rtol=1e-8)
    np.testing.assert_allclose(model.adjusted_variance_, model.explained_variance_, rtol=1e-6)
    np.testing.assert_allclose(
        model.explained_variance_ratio_, peer.explained_variance_ratio_, rtol=1e-8
    )


def test_sparse_components_share_variance():
    model = SparsePCA(n_components=3, n_nonzeros=[2, 3, 4]).fit(WINE.data)
    assert (model.components_ != 0.0).sum(axis=1).tolist() == [2, 3, 4]
    assert (model.adjusted_variance_ <= model.explained_variance_ + 1e-12).all()
    scores = model.transform(WINE.data)
    variance = np.var(scores, axis=0)
    np.testing.assert_allclose(variance, model.explained_variance_, rtol=1e-10)
    Q, R = np.linalg.qr(scores)
    np.testing.assert_allclose(np.diag(R) ** 2 / len(Q), model.adjusted_variance_, rtol=1e-10)
    frame = model.set_output(transform="pandas").transform(WINE.data)
    assert list(frame.columns) == ["sparsepca0", "sparsepca1", "sparsepca2"]


@pytest.mark.parametrize(("cls", "loss"), [(GaussianGraphL0, "gaussian"), (IsingGraphL0, "ising")])
def test_a_graph_is_the_librarys(cls, loss):
    X = WINE.data.to_numpy()
    model = cls(candidates=4).fit(WINE.data)
    data = X - X.mean(axis=0) if loss == "gaussian" else np.where(X.mean(axis=0) < X, 1.0, -1.0)
    candidates = sparseopt.problems.Candidates.correlated(data, 4)
    problem = sparseopt.problems.L0GraphicalModel(data, candidates, loss=loss)
    own = sparseopt.select(problem, "ebic")
    assert model.budget_ == own.budget
    assert (model.graph_ != own.graph("or")).nnz == 0
    assert model.verdict_ == "verified"
    assert model.at(6).coef_.nnz <= 6
    np.testing.assert_allclose(
        model.at(6).coef_.toarray(), cls(candidates=4, budget=6).fit(X).coef_.toarray(), atol=1e-9
    )


@pytest.mark.thorough
def test_graphs_of_every_budget_are_those_of_all_neighbourhoods():
    X = WINE.data.to_numpy()[:, :4]
    centred, spins = X - X.mean(axis=0), np.where(X.mean(axis=0) < X, 1.0, -1.0)
    others = [[k for k in range(4) if k != j] for j in range(4)]

    def share(j, S):
        rest = centred[:, j] - centred[:, S] @ np.linalg.lstsq(centred[:, S], centred[:, j])[0]
        return rest @ rest / (centred[:, j] @ centred[:, j])

    def logistic(j, S):
        if not S:
            return 1.0
        peer = LogisticRegression(C=np.inf, fit_intercept=False, tol=1e-12, max_iter=1000)
        logits = spins[:, j] * peer.fit(spins[:, S], spins[:, j]).decision_function(spins[:, S])
        return np.logaddexp(0.0, -logits).mean() / np.log(2.0)

    for cls, loss in ((GaussianGraphL0, share), (IsingGraphL0, logistic)):
        best = np.array([0.0] + [np.inf] * 12)
        for j in range(4):
            tables = [min(loss(j, list(S)) for S in combinations(others[j], k)) for k in range(4)]
            best = np.array(
                [
                    min(best[K - k] + tables[k] if k <= K else np.inf for k in range(4))
                    for K in range(13)
                ]
            )
        model = cls(candidates=3, budget=0).fit(X)
        found = np.array([model.at(K).objective_ for K in range(13)])
        np.testing.assert_allclose(found, np.minimum.accumulate(best), rtol=1e-8)


def test_a_constant_column_has_no_neighbours():
    X = np.column_stack([WINE.data.to_numpy()[:, :5], np.full(len(WINE.data), 3.0)])
    for cls in (GaussianGraphL0, IsingGraphL0):
        model = cls(budget=8).fit(X)
        assert model.graph_.shape == (6, 6) and model.graph_[[5]].nnz == 0
        assert model.graph_.nnz > 0


@pytest.mark.thorough
@pytest.mark.parametrize("shape", [(14, 14), (5, 5), (13,), (13, 14), (1, 13)])
def test_a_mask_of_other_columns_is_refused(shape):
    with pytest.raises(ValueError, match=rf"has shape {re.escape(str(shape))}; X has 13 columns"):
        GaussianGraphL0(candidates=np.ones(shape, dtype=bool)).fit(WINE.data)


def test_a_single_variable_can_be_tested_and_not_chosen():
    X, y = load_iris(return_X_y=True)
    X, y = X[y > 0, 2:3], y[y > 0]
    for selection in ("strs", "gaussian", "none"):
        test = TwoSampleTest(selection=selection).fit(X, y)
        assert test.reject_ and test.support_.tolist() == [True]
    with pytest.raises(ValueError, match="there is nothing to choose among"):
        TwoSampleSelector().fit(X, y)
    with pytest.raises(ParamError, match="backend is for the selections strs"):
        TwoSampleTest(selection="none", backend="nonsense").fit(X, y)


def test_two_samples():
    X, y = load_iris(return_X_y=True, as_frame=True)
    X, y = X[y > 0], y[y > 0]
    test = TwoSampleTest(n_variables=2, random_state=4).fit(X, y)
    own = two_sample_test(X[y == 1], X[y == 2], d=2, seed=4)
    assert (test.pvalue_, test.statistic_) == (own.p_value, own.statistic)
    assert test.get_feature_names_out().tolist() == sorted(own.selected_names, key=list(X).index)
    assert test.reject_
    data, target = load_breast_cancer(return_X_y=True, as_frame=True)
    model = make_pipeline(TwoSampleSelector(n_variables=4), L1SVC(lam=50.0))
    model.set_output(transform="pandas").fit(data[:150], target[:150])
    assert len(model[-1].feature_names_in_) == 4 and model.score(data, target) > 0.85
