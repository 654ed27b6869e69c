"""Weights on atoms: the exact nearest point, degenerate atoms, limits."""

import numpy as np
import pytest
from scipy.optimize import nnls

import sparseopt
from sparseopt import Limit, Status, Verdict, generators, private
from sparseopt.problems import EmbeddingFit


@pytest.mark.parametrize("seed", range(20))
def test_it_agrees_with_nonnegative_least_squares(seed):
    # The nearest point of a hull is proportional to a nonnegative least squares solution.
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 40), rng.integers(1, 12)
    problem = EmbeddingFit(rng.normal(size=(n, d)), rng.normal(size=d))
    points = (problem.Phi - problem.mu).T
    u = nnls(np.vstack([points, np.ones(n)]), np.append(np.zeros(d), 1.0))[0]
    expected = problem.objective(u / u.sum())
    result = sparseopt.solve(problem, rel_gap=1e-10)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(expected, rel=1e-8, abs=1e-12)
    assert result.x.min() >= 0.0 and abs(result.x.sum() - 1.0) < 1e-12


@pytest.mark.parametrize(
    ("Phi", "mu", "optimum"),
    [
        ([[1.0, 2.0]], [1.0, 0.0], 4.0),
        (np.ones((5, 3)), np.ones(3), 0.0),
        (np.ones((5, 3)), np.zeros(3), 3.0),
        (np.repeat(np.eye(3), 4, axis=0), np.full(3, 1.0 / 3.0), 0.0),
        ([[0.0], [1.0], [0.5], [0.25]], [2.0], 1.0),
        (1e-100 * np.eye(2), [0.0, 0.0], 5e-201),
        (1e100 * np.eye(2), [0.0, 0.0], 5e199),
    ],
    ids=["one atom", "on it", "equal atoms", "copies", "a line", "tiny", "huge"],
)
def test_degenerate_atoms(Phi, mu, optimum):
    result = sparseopt.solve(EmbeddingFit(Phi, mu))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(optimum, rel=1e-9, abs=1e-30 if optimum < 1 else 0.0)


def test_smooth_features_are_fitted_to_the_last_digit():
    x = np.linspace(-1.0, 1.0, 2000)
    Phi = np.cos(np.outer(x, np.arange(60)))
    problem = EmbeddingFit(Phi, Phi[::7].mean(axis=0) + 1e-4)
    result = sparseopt.solve(problem, rel_gap=1e-8)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_a_large_support_is_found_from_the_interior():
    rng = np.random.default_rng(0)
    names = [f"x{j}" for j in range(15)]
    features = private.FeatureMap(tuple(private.Number(name, -1.0, 1.0) for name in names))
    Phi = features.rows(private.atoms(features, 1024)[0])
    mu = Phi.T @ rng.dirichlet(np.full(1024, 0.3)) + 2e-5 * rng.normal(size=195)
    result = sparseopt.solve(EmbeddingFit(Phi, mu), rel_gap=1e-6)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert np.count_nonzero(result.x) > 150
    assert result.iterations < 200  # atom by atom 681


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(3))
def test_an_interior_point_that_is_worse_is_left(seed):
    # The target is inside the hull, where weights are not unique.
    rng = np.random.default_rng(seed)
    Phi = rng.normal(size=(400, 120))
    problem = EmbeddingFit(Phi, Phi[:120].mean(axis=0) + 0.02 * rng.normal(size=120))
    result = sparseopt.solve(problem, rel_gap=1e-8)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective < 1e-15 * problem.largest_term


def test_limits_end_the_solve():
    problem = generators.generate("embedding-fit", atoms=1500, features=100)
    few = sparseopt.solve(problem, options={"iterations": 3})
    assert (few.status, few.limit) == (Status.FEASIBLE, Limit.ITERATION)
    assert few.verdict is Verdict.VERIFIED and few.bound < few.objective
    assert sparseopt.solve(problem, time_limit=0.0).limit is Limit.TIME


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["cvxpy", "highs-qp"])
@pytest.mark.parametrize("seed", range(4))
def test_others_find_the_same_and_their_gradient_proves_it(seed, backend):
    if backend == "cvxpy":
        pytest.importorskip("cvxpy")
    rng = np.random.default_rng(seed)
    unit = 10.0 ** (3 * seed - 6)
    problem = EmbeddingFit(unit * rng.normal(size=(30, 8)), unit * rng.normal(size=8))
    result = sparseopt.solve(problem, backend=backend)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(sparseopt.solve(problem).objective, rel=1e-9)
    with pytest.raises(sparseopt.UnsupportedProblem, match="use nearest-point"):
        sparseopt.solve(problem, backend=backend, options={"max_entries": 100.0})


@pytest.mark.parametrize("backend", ["cvxpy", "highs-qp"])
@pytest.mark.parametrize("Phi", [np.ones((5, 3)), np.repeat(np.eye(3), 4, axis=0), [[1.0, 2.0]]])
def test_others_take_degenerate_atoms(Phi, backend):
    if backend == "cvxpy":
        pytest.importorskip("cvxpy")
    problem = EmbeddingFit(Phi, np.asarray(Phi)[0] + 0.5)
    result = sparseopt.solve(problem, backend=backend)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(sparseopt.solve(problem).objective, rel=1e-9)


def test_highs_is_ended_by_its_limits():
    problem = generators.generate("embedding-fit", atoms=1500, features=100)
    few = sparseopt.solve(problem, backend="highs-qp", iteration_limit=5)
    assert (few.status, few.limit) == (Status.FEASIBLE, Limit.ITERATION)
    assert few.verdict is Verdict.VERIFIED and few.bound < few.objective
    late = sparseopt.solve(problem, backend="highs-qp", time_limit=0.05)
    assert (late.status, late.limit) == (Status.NO_SOLUTION, Limit.TIME)


def test_highs_that_cycles_is_ended():
    rng = np.random.default_rng(21)
    rng.integers(3, 12), rng.integers(2, 7)
    Phi = rng.normal(size=(5, 5))
    Phi[rng.random(5) < 0.4] *= 10.0 ** rng.integers(2, 9)
    problem = EmbeddingFit(Phi, rng.normal(size=5))
    cycles = sparseopt.solve(problem, backend="highs-qp", time_limit=60.0)
    assert cycles.limit is None and cycles.iterations <= 100_000
    assert cycles.status in {Status.CONVERGED, Status.OPTIMAL}
