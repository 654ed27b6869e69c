"""Convex pursuits: what they recover, and limits of theirs."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.problems import RobustSubspace


def error(problem, inliers, x):
    k = problem.k
    W = np.linalg.svd(problem.X[:inliers], full_matrices=False)[2][:k].T
    return float(np.linalg.norm(x[:, :k] @ x[:, :k].T - W @ W.T))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("backend", "outliers"),
    [
        ("outlier-pursuit", "independent"),
        ("outlier-pursuit", "repeated"),
        ("principal-component-pursuit", "independent"),
    ],
)
def test_the_largest_weight_of_rank_k_recovers_the_subspace(backend, outliers):
    problem = generators.generate("outlier-columns", N=100, n=50, k=3, delta=0.1, outliers=outliers)
    result = sparseopt.solve(problem, backend=backend)
    assert (result.status, result.verdict) == (Status.CONVERGED, Verdict.UNPROVEN)
    assert "rank 3" in result.raw_status
    assert error(problem, 90, result.x) < 1e-6


def test_the_pursuit_is_that_of_a_conic_solver():
    cp = pytest.importorskip("cvxpy")
    problem = generators.generate("outlier-columns", N=20, n=6, k=2, delta=0.2)
    X, weight = problem.X / problem.unit, 0.4
    L = cp.Variable(X.shape)
    norms = {"outlier-pursuit": cp.norm(X - L, 2, axis=1), "principal-component-pursuit": X - L}
    for backend, part in norms.items():
        value = cp.norm(L, "nuc") + weight * cp.sum(cp.abs(part))
        cp.Problem(cp.Minimize(value)).solve(solver="CLARABEL")
        W = np.linalg.svd(L.value)[2][:2].T
        found = sparseopt.solve(problem, backend=backend, options={"weight": weight}).x
        np.testing.assert_allclose(found @ found.T, W @ W.T, atol=1e-3)


@pytest.mark.parametrize("backend", ["outlier-pursuit", "principal-component-pursuit"])
@pytest.mark.parametrize("X", [np.zeros((6, 3)), np.ones((6, 3)), np.eye(6)[:, :3]])
@pytest.mark.parametrize("centre", [None, "estimate"])
def test_samples_without_structure(backend, X, centre):
    result = sparseopt.solve(RobustSubspace(X, k=1, centre=centre), backend=backend)
    assert result.verdict is not Verdict.REFUTED, result.check_messages


def test_a_time_limit_ends_the_search(in_time):
    problem = RobustSubspace(np.random.default_rng(0).normal(size=(1000, 200)), k=5)
    result = in_time(
        1.5,
        lambda: sparseopt.solve(problem, backend="outlier-pursuit", time_limit=0.1, check=False),
    )
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
