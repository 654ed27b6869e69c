"""Ising nodes: against all subsets, with separation, and through the whole solve."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from thorough import first

import sparseopt
from sparseopt import SolveParams, Status, Verdict
from sparseopt.backend import Control
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.proofs.neighbours import logistic_fits
from sparseopt.solvers.l0.tables.ising import ising_tables


def spins(n: int, d: int, strength: float, seed: int) -> np.ndarray:
    """A chain of spins, by Gibbs sampling."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], size=(n, d))
    for _ in range(30):
        for j in range(d):
            field = strength * (X[:, max(j - 1, 0) : j].sum(1) + X[:, j + 1 : j + 2].sum(1))
            X[:, j] = np.where(rng.random(n) < 1 / (1 + np.exp(-field)), 1.0, -1.0)
    return X


def smallest_losses(problem: L0GraphicalModel, node: int) -> np.ndarray:
    X, candidates = np.asarray(problem.X, dtype=float), problem.candidates.of(node)
    Z = X[:, candidates] * X[:, [node]]

    def loss(beta: np.ndarray, columns: np.ndarray) -> tuple[float, np.ndarray]:
        m = columns @ beta
        slope = -columns.T @ (1 / (1 + np.exp(m))) / len(m)
        return (
            np.logaddexp(0, -m).mean() + problem.ridge * beta @ beta,
            slope + 2 * problem.ridge * beta,
        )

    best = np.full(len(candidates) + 1, math.log(2))
    for k in range(1, len(candidates) + 1):
        best[k] = min(
            minimize(
                loss, np.zeros(k), Z[:, chosen], jac=True, method="BFGS", options={"gtol": 1e-9}
            ).fun
            for chosen in map(list, itertools.combinations(range(len(candidates)), k))
        )
    return best


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("ridge", [0.0, 0.02])
@pytest.mark.parametrize("strength", first(1, [0.6, 1.5]))
def test_the_tables_are_those_of_all_subsets(strength, ridge):
    X = spins(80, 7, strength, 0)
    problem = L0GraphicalModel(X, Candidates.window(7, 5), loss="ising", ridge=ridge)
    found = ising_tables(problem, Control(SolveParams()), 1)
    for j in range(7):
        at = slice(6 * j, 6 * j + 6)
        np.testing.assert_allclose(found.loss[at], smallest_losses(problem, j), atol=2e-9)
        for k, mask in enumerate(found.mask[at]):
            assert int(mask).bit_count() <= k
    assert not found.separated.any()


@pytest.mark.parametrize("ridge", [0.0, 0.02])
def test_rows_with_weights_are_repeated_rows(ridge):
    X, counts = spins(70, 6, 1.0, 3), np.random.default_rng(0).integers(1, 30, 70)
    how = {"candidates": Candidates.window(6, 5), "loss": "ising", "ridge": ridge}
    one = L0GraphicalModel(X, sample_weights=counts, **how)
    two = L0GraphicalModel(np.repeat(X, counts, axis=0), **how)
    found, expected = (ising_tables(each, Control(SolveParams()), 1) for each in (one, two))
    np.testing.assert_allclose(found.loss, expected.loss, rtol=1e-12)
    np.testing.assert_array_equal(found.mask, expected.mask)
    x = np.random.default_rng(1).normal(size=one.total)
    np.testing.assert_allclose(one.node_losses(x), two.node_losses(x), rtol=1e-13)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["l0-tables", "knapsack-dp", "spica"])
@pytest.mark.parametrize("scaling", ["standardised", "rss"])
def test_solutions_have_the_stated_objective(backend, scaling):
    problem = L0GraphicalModel(
        spins(60, 10, 1.0, 1), Candidates.window(10, 4), loss="ising", scaling=scaling
    )
    result = sparseopt.solve(problem, backend=backend)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert result.status in (Status.OPTIMAL, Status.CONVERGED)
    for K in (0, 7, 20, 40):
        x = result.path.at(K)
        assert np.count_nonzero(x) <= K
        assert problem.objective(x) == pytest.approx(result.path.objective_at(K), rel=1e-9)


def separable() -> np.ndarray:
    X = spins(40, 6, 0.5, 2)
    X[:, 1] = X[:, 0]
    return X


def test_separated_nodes_are_flagged_and_their_loss_goes_to_zero():
    result = sparseopt.solve(L0GraphicalModel(separable(), Candidates.window(6, 3), loss="ising"))
    path = result.path
    assert path.separated[1]  # node 0 by its copy
    assert path.separated[5]  # node 1 by its copy
    assert not path.separated[0]
    assert any("separate" in note for note in result.notes)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert path.objective_at(2) == pytest.approx(4.0, abs=1e-9)
    assert np.isfinite(path.at(18)).all()


@pytest.mark.thorough
def test_sets_below_a_separated_one_are_fitted_from_where_there_is_curvature():
    # Warm starts from coefficients that separate used to end where they began.
    separated = 0
    for seed in range(15):
        rng = np.random.default_rng(seed)
        X = rng.choice([-1.0, 1.0], size=(int(rng.integers(8, 26)), 7))
        X[:, 2] = np.sign(X[:, 0] + X[:, 1] + X[:, 3] + 0.5)
        problem = L0GraphicalModel(X, Candidates.window(7, 5), loss="ising")
        found = ising_tables(problem, Control(SolveParams()), 1)
        separated += int(found.separated.sum())
        for j in (0, 2, 5):
            Z = X[:, problem.candidates.of(j)].T * X[:, j]
            for k in range(1, 6):
                sets = np.array(list(itertools.combinations(range(5), k)))
                best = logistic_fits(Z[sets], 0.0)[1].min()
                assert found.loss[6 * j + k] == pytest.approx(best, abs=1e-9)
    assert separated > 30


def test_a_ridge_leaves_nothing_separated():
    result = sparseopt.solve(
        L0GraphicalModel(separable(), Candidates.window(6, 3), loss="ising", ridge=0.01)
    )
    assert not result.path.separated.any()
    assert np.abs(result.x).max() < 20.0
    assert result.notes == () or not any("separate" in note for note in result.notes)


def test_threads_and_small_types_change_nothing():
    X = spins(50, 12, 0.8, 3)
    plain = L0GraphicalModel(X, Candidates.window(12, 5), loss="ising")
    small = L0GraphicalModel(X.astype(np.int8), plain.candidates, loss="ising")
    one = ising_tables(plain, Control(SolveParams()), 1)
    for other in (
        ising_tables(plain, Control(SolveParams()), 3),
        ising_tables(small, Control(SolveParams()), 1),
    ):
        np.testing.assert_array_equal(other.loss, one.loss)
        np.testing.assert_array_equal(other.mask, one.mask)


@pytest.mark.thorough
def test_a_limit_leaves_the_rest_without_neighbours():
    problem = L0GraphicalModel(spins(60, 400, 0.5, 4), Candidates.window(400, 12), loss="ising")
    found = ising_tables(problem, Control(SolveParams(time_limit=0.05)), 1)
    assert not found.done.all()
    left = ~found.done[np.repeat(np.arange(400), 13)]
    assert (found.mask[left] == 0).all()
    assert found.loss[left] == pytest.approx(math.log(2))
