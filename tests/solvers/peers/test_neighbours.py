"""Peers for graphical models: exact subsets are ours, heuristic ones never better."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, UnsupportedProblem, Verdict
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.registry import get_backend


def need(name):
    availability = get_backend(name).availability()
    if not availability.available:
        pytest.skip(f"{name}: {availability.reason}")


def gaussian(seed=0, n=40, d=9):
    X = np.random.default_rng(seed).normal(size=(n, d))
    X[:, 1:] += 0.7 * X[:, :-1]
    return X - X.mean(axis=0)


def spins(seed=0):
    rng = np.random.default_rng(seed)
    return np.where(rng.normal(size=(60, 7)) + rng.normal(size=(60, 1)) > 0.0, 1, -1)


MODELS = {
    "gaussian": L0GraphicalModel(gaussian(), Candidates.window(9, 6)),
    "ridge": L0GraphicalModel(gaussian(), Candidates.window(9, 6), ridge=0.3, scaling="rss"),
    "wide": L0GraphicalModel(gaussian(1, n=5), Candidates.window(9, 6), ridge=0.1, budget=12),
    "logarithms": L0GraphicalModel(gaussian(), Candidates.window(9, 4), scaling="nlogrss"),
    "copies": L0GraphicalModel(
        np.hstack([gaussian()[:, :4], gaussian()[:, :2]]), Candidates.window(6, 5)
    ),
    "perfect fit": L0GraphicalModel(
        np.hstack([gaussian()[:, :4], gaussian()[:, :1]]),
        Candidates.from_mask(np.eye(5, k=1) + np.eye(5, k=2) + np.eye(5, k=4) > 0.0),
    ),
    "ising": L0GraphicalModel(spins(), Candidates.window(7, 4), loss="ising", ridge=0.01),
}


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["leaps", "abess", "sklearn-lars", "sklearn-glasso"])
@pytest.mark.parametrize("name", MODELS)
def test_tables_of_a_peer(name, backend):
    need(backend)
    problem = MODELS[name]
    taken, reason = get_backend(backend).supports(problem)
    if not taken:
        assert problem.loss == "ising" and "'ising'" in reason
        return
    if (backend, name) == ("leaps", "copies"):
        with pytest.raises(UnsupportedProblem, match="node 0 are linearly dependent"):
            sparseopt.solve(problem, backend=backend)
        return
    exact = sparseopt.solve(problem).path
    result = sparseopt.solve(problem, backend=backend)
    path = result.path
    rounding = 1e-9 * (1.0 + np.abs(exact.objective))
    assert (path.objective >= exact.objective - rounding).all()
    assert (path.bound <= exact.objective + rounding).all()
    for K in (0, 3, len(path) - 1):
        assert np.count_nonzero(path.at(K)) <= K
    if backend == "leaps":
        assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
        np.testing.assert_allclose(path.objective, exact.objective, rtol=1e-9, atol=1e-9)
    else:
        assert (result.status, result.verdict) == (Status.CONVERGED, Verdict.UNPROVEN)
        assert not path.certified.any()
        # The empty and the full graph leave no choice.
        if problem.budget is None:
            assert path.objective[[0, -1]] == pytest.approx(exact.objective[[0, -1]])


def test_splicing_finds_strong_neighbours():
    need("abess")
    X = np.random.default_rng(3).normal(size=(200, 8))
    X[:, 0] = X[:, 2] - 2.0 * X[:, 5] + 0.1 * X[:, 0]
    problem = L0GraphicalModel(X, Candidates.window(8, 7))
    exact = sparseopt.solve(problem).path
    path = sparseopt.solve(problem, backend="abess").path
    assert path.objective_at(2) == pytest.approx(exact.objective_at(2))


@pytest.mark.thorough
def test_a_precision_matrix_finds_a_chain():
    need("sklearn-glasso")
    rng = np.random.default_rng(5)
    X = np.empty((400, 6))
    X[:, 0] = rng.normal(size=400)
    for j in range(1, 6):
        X[:, j] = 0.7 * X[:, j - 1] + rng.normal(size=400)
    problem = L0GraphicalModel(X - X.mean(axis=0), Candidates.window(6, 5))
    path = sparseopt.solve(problem, backend="sklearn-glasso").path
    chosen = path.at(10) != 0.0
    node = np.repeat(np.arange(6), problem.candidates.sizes)
    edges = set(zip(node[chosen], problem.candidates.index[chosen], strict=True))
    assert edges == {(i, j) for i in range(6) for j in range(6) if abs(i - j) == 1}
    assert path.objective_at(10) == pytest.approx(sparseopt.solve(problem).path.objective_at(10))
    wide = L0GraphicalModel(rng.normal(size=(20, 1001)), Candidates.window(1001, 1))
    taken, reason = get_backend("sklearn-glasso").supports(wide)
    assert not taken
    assert "at most 1000 nodes, not 1001" in reason


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["leaps", "abess"])
def test_a_limit_leaves_the_empty_graph(backend):
    need(backend)
    X = gaussian(4, n=200, d=60)
    problem = L0GraphicalModel(X, Candidates.window(60, 40))
    # The first solve starts the process, which is not counted.
    sparseopt.solve(MODELS["gaussian"], backend=backend)
    result = sparseopt.solve(problem, backend=backend, time_limit=0.05)
    assert result.status is Status.FEASIBLE
    assert result.limit is sparseopt.Limit.TIME
    assert result.verdict is not Verdict.REFUTED, result.check_messages
