"""A constant column is taken away whole by an intercept, in dense and sparse X alike."""

import numpy as np
import pytest
import scipy.sparse as sp

import sparseopt
from sparseopt.estimators import (
    DantzigSelector,
    DantzigSelectorCV,
    MatrixDantzig,
    QuantileProcess,
)
from sparseopt.problems import DantzigSelector as DantzigProblem
from sparseopt.result import Status, Verdict


def counts(seed, constant):
    """Return Poisson counts with one column that is constant, and a response."""
    rng = np.random.default_rng(seed)
    X = rng.poisson(1.0, size=(60, 5)).astype(float)
    X[:, 2] = constant
    return X, X[:, 0] + rng.normal(size=60)


@pytest.mark.parametrize("constant", [1.0, 0.1, 5.0])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("weighted", [False, True])
def test_its_centred_products_are_zero(seed, constant, weighted):
    X, y = counts(seed, constant)
    weights = np.random.default_rng(seed).integers(0, 3, 60).astype(float) if weighted else None
    if weighted:
        X[weights == 0.0, 2] += 1.0  # rows that do not count make no column vary
    found = []
    for form in (np.asarray, sp.csr_array):
        problem = DantzigProblem(form(X), y, fit_intercept=True, sample_weights=weights)
        assert problem.center[2] == 0.0
        assert not problem.matrix_map.matvec(np.eye(5)[2]).any()
        result = sparseopt.solve(problem)
        assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
        found.append(result.path.at(0.0))
    assert found[0][2] == found[1][2] == 0.0
    np.testing.assert_allclose(*found, atol=1e-9)


@pytest.mark.parametrize(
    "model", [DantzigSelector(), DantzigSelector(lam=0.0), DantzigSelectorCV()]
)
@pytest.mark.parametrize("seed", range(3))
def test_dantzig_selectors_leave_it_out(model, seed):
    X, y = counts(seed, 1.0)
    dense, sparse = (model.fit(form(X), y).coef_ for form in (np.asarray, sp.csr_array))
    assert sparse[2] == 0.0
    np.testing.assert_allclose(sparse, dense, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_matrix_dantzig_has_a_solution_at_zero(form):
    X, y = counts(0, 0.1)
    coef = MatrixDantzig(lam=0.0).fit(form(X), np.column_stack([y, -y])).coef_
    others = np.delete(np.arange(5), 2)
    least = np.linalg.lstsq(X[:, others] - X[:, others].mean(axis=0), y - y.mean(), rcond=None)[0]
    np.testing.assert_allclose(coef[0, others], least, atol=1e-8)
    np.testing.assert_allclose(coef[1], -coef[0], atol=1e-8)
    assert coef[0, 2] == 0.0


@pytest.mark.parametrize("constant", [5.0, 0.1])
def test_quantile_processes_leave_it_out(constant):
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(60, 3)), np.full(60, constant)])
    y = X[:, 0] - X[:, 1] + rng.normal(size=60)
    dense, sparse = (QuantileProcess().fit(form(X), y) for form in (np.asarray, sp.csr_array))
    for level in (0.1, 0.5, 0.9):
        assert sparse.at(level).coef_[3] == 0.0
        np.testing.assert_allclose(sparse.at(level).coef_, dense.at(level).coef_, atol=1e-9)
        other = np.zeros((1, 4))
        np.testing.assert_allclose(sparse.at(level).predict(other), dense.at(level).predict(other))
