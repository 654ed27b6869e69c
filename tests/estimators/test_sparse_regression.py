"""The best few of many columns as estimators: against enumeration, in workers, proven."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes

from sparseopt.estimators import NeighbourhoodGraph, SparseLogisticRegression, SparseRegression
from sparseopt.generators.networks import gaussian_chain

DIABETES = load_diabetes()


def by_enumeration(X, y, k, ridge):
    """Return the best support and its value for columns and y of length 1."""
    values = {}
    for support in combinations(range(X.shape[1]), k):
        A = X[:, support]
        b = np.linalg.solve(A.T @ A + ridge * np.eye(k), A.T @ y)
        values[support] = 0.5 * ((y - A @ b) @ (y - A @ b) + ridge * b @ b)
    best = min(values, key=values.get)
    return list(best), values[best]


def unit(X):
    X = X - X.mean(axis=0)
    return X / np.linalg.norm(X, axis=0)


def test_it_is_the_best_of_all_and_predicts():
    X, y = 3.0 * DIABETES.data + 1.0, DIABETES.target
    model = SparseRegression(k=3, ridge=0.05).fit(X, y)
    support, value = by_enumeration(unit(X), unit(y), 3, 0.05)
    assert model.support_.tolist() == support
    assert model.objective_ == pytest.approx(value, rel=1e-9)
    assert model.gap_ < 1e-6
    assert model.verdict_ == "verified"
    assert model.predict(X).mean() == pytest.approx(y.mean())
    small = SparseRegression(k=3, ridge=1e-6, bound=5.0).fit(X, y)
    free = np.linalg.lstsq(np.c_[X[:, small.support_], np.ones(len(y))], y)[0]
    assert small.coef_[small.support_] == pytest.approx(free[:-1], rel=1e-3)
    through_zero = SparseRegression(k=1, fit_intercept=False).fit(X, y)
    assert through_zero.intercept_ == 0.0


def test_units_do_not_matter_and_constant_columns_are_left_out():
    X, y = DIABETES.data[:60], DIABETES.target[:60]
    one = SparseRegression(k=2).fit(X, y)
    scales = 10.0 ** np.arange(-5, 5)
    other = SparseRegression(k=2).fit(np.c_[X * scales, np.full(60, 7.0)], 100.0 * y)
    assert other.coef_[:10] == pytest.approx(100.0 * one.coef_ / scales, rel=1e-6)
    assert other.coef_[10] == 0.0
    assert other.objective_ == pytest.approx(one.objective_)
    priced = SparseRegression(k=10, lam0=0.05).fit(X, y)
    assert 1 <= len(priced.support_) < 10


@pytest.mark.parametrize("model", [SparseRegression(k=2), SparseLogisticRegression(k=2)])
def test_an_infinite_bound_is_none(model):
    X, y = DIABETES.data, DIABETES.target > 150.0
    free = clone(model).set_params(bound=np.inf).fit(X, y)
    np.testing.assert_array_equal(free.coef_, model.fit(X, y).coef_)


@pytest.mark.parametrize("value", [0.0, 7.0, 0.1])
def test_a_constant_response_is_the_intercept(value):
    model = SparseRegression(k=2).fit(DIABETES.data[:60], np.full(60, value))
    assert model.intercept_ == pytest.approx(value, rel=1e-15)
    assert not model.coef_.any() and model.verdict_ == "verified"
    assert (model.objective_, model.bound_, model.gap_) == (0.0, 0.0, 0.0)


@pytest.mark.thorough
def test_every_node_has_its_best_neighbours():
    X = gaussian_chain(n=40, d=7, seed=2)
    X = np.c_[X[:, :3], np.zeros(40), 5.0 * X[:, 3:]]
    model = NeighbourhoodGraph(k=2, edges="and").fit(X)
    Z = unit(gaussian_chain(n=40, d=7, seed=2))
    names = np.array([0, 1, 2, 4, 5, 6, 7])
    for j in range(7):
        others = np.delete(np.arange(7), j)
        support, value = by_enumeration(Z[:, others], Z[:, j], 2, 0.1)
        assert model.coef_[[names[j]]].indices.tolist() == names[others[support]].tolist()
        assert model.objective_[names[j]] == pytest.approx(value, rel=1e-9)
    assert model.verdict_ == "verified"
    graph = model.graph_.toarray()
    chosen = model.coef_.toarray() != 0.0
    np.testing.assert_array_equal(graph, chosen & chosen.T)
    either = NeighbourhoodGraph(k=2).fit(X).graph_.toarray()
    np.testing.assert_array_equal(either, chosen | chosen.T)
    assert not graph[3].any()
    whole = np.linalg.lstsq(X[:, model.coef_[[0]].indices], X[:, 0] - X[:, 0].mean())[0]
    assert np.sign(model.coef_[[0]].data).tolist() == np.sign(whole).tolist()


@pytest.mark.thorough
def test_a_chain_is_found_without_candidates():
    X = gaussian_chain(n=200, d=30, seed=1)
    model = NeighbourhoodGraph(k=4, lam0=0.03).fit(X)
    i, j = model.graph_.nonzero()
    assert sorted(set(np.abs(i - j).tolist())) == [1]
    assert model.graph_.nnz == 2 * 29
    assert model.verdict_ == "verified"


def test_workers_find_the_same():
    from joblib import parallel_config

    X = gaussian_chain(n=50, d=20, seed=3)
    here = NeighbourhoodGraph(k=2).fit(X)
    with parallel_config("threading"):
        there = NeighbourhoodGraph(k=2, n_jobs=2).fit(X)
    np.testing.assert_array_equal(there.coef_.toarray(), here.coef_.toarray())
    np.testing.assert_array_equal(there.bound_, here.bound_)
