"""The problem L0GraphicalModel: its losses, what it refuses, and its file."""

import math

import numpy as np
import pytest

import sparseopt
from sparseopt import ParamError, ProblemError
from sparseopt.problems import Candidates, L0GraphicalModel


def sample(n=30, d=6, width=3, seed=0, **fields) -> L0GraphicalModel:
    X = np.random.default_rng(seed).normal(size=(n, d))
    return L0GraphicalModel(X, Candidates.window(d, width), **fields)


def spins(n=30, d=6, width=3, seed=0, **fields) -> L0GraphicalModel:
    X = np.random.default_rng(seed).choice([-1, 1], size=(n, d))
    return L0GraphicalModel(X, Candidates.window(d, width), loss="ising", **fields)


def point(problem: L0GraphicalModel, seed=1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return rng.normal(size=problem.total) * (rng.random(problem.total) < 0.6)


@pytest.mark.parametrize("scaling", ["standardised", "rss", "nlogrss"])
@pytest.mark.parametrize("ridge", [0.0, 0.3])
def test_the_gaussian_objective_is_the_formula(scaling, ridge):
    problem = sample(scaling=scaling, ridge=ridge)
    x, X = point(problem), problem.X
    value = 0.0
    for j in range(6):
        beta = x[3 * j : 3 * j + 3]
        residual = X[:, j] - X[:, problem.candidates.of(j)] @ beta
        loss = residual @ residual / 30 + ridge * beta @ beta
        value += {
            "standardised": loss / (X[:, j] @ X[:, j] / 30),
            "rss": loss,
            "nlogrss": 30 * math.log(loss),
        }[scaling]
    assert problem.objective(x) == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("scaling", ["standardised", "rss"])
def test_the_ising_objective_is_the_formula_of_the_paper(scaling):
    problem = spins(scaling=scaling, ridge=0.1)
    x, X = point(problem), problem.X
    value = 0.0
    for j in range(6):
        beta = x[3 * j : 3 * j + 3]
        odds = np.exp(X[:, j] * (X[:, problem.candidates.of(j)] @ beta))
        loss = -np.log(odds / (odds + 1)).mean() + 0.1 * beta @ beta
        value += loss if scaling == "rss" else loss / math.log(2)
    assert problem.objective(x) == pytest.approx(value, rel=1e-12)


def test_without_neighbours_the_standardised_loss_is_the_number_of_nodes():
    for problem in (sample(), spins()):
        assert problem.objective(np.zeros(problem.total)) == pytest.approx(6.0)


def test_the_residual_is_what_exceeds_the_budget():
    problem = sample(budget=2)
    x = np.zeros(problem.total)
    x[:4] = 1.0
    assert problem.residuals(x) == {"budget": 2.0}
    assert problem.residuals(x, 4) == {"budget": 0.0}


def test_blocks_of_columns_change_nothing(monkeypatch):
    from sparseopt.problems.budget import neighbourhoods

    problem = sample()
    x = point(problem)
    whole, null = problem.node_objectives(x), problem.null_losses()
    monkeypatch.setattr(neighbourhoods, "_BLOCK", 4)
    monkeypatch.setattr(neighbourhoods, "_ENTRIES", 70)
    np.testing.assert_allclose(problem.node_objectives(x), whole, rtol=1e-14)
    np.testing.assert_array_equal(problem.null_losses(), null)


def test_data_in_a_file_are_not_copied(tmp_path):
    data = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", np.float32, (20, 5))
    data[:] = np.random.default_rng(0).normal(size=(20, 5))
    problem = L0GraphicalModel(data, Candidates.window(5, 2))
    assert np.shares_memory(problem.X, data)
    assert problem.X.dtype == np.float32


def test_the_file_holds_the_same_problem(tmp_path):
    points = np.random.default_rng(3).random((6, 2))
    X = np.random.default_rng(0).normal(size=(30, 6))
    problem = L0GraphicalModel(
        X, Candidates.within(points, 0.5), budget=3, scaling="rss", ridge=0.5
    )
    sparseopt.save(problem, tmp_path / "model.npz")
    again = sparseopt.load(tmp_path / "model.npz")
    assert again.fingerprint() == problem.fingerprint()
    assert again.objective(point(problem)) == problem.objective(point(problem))
    np.testing.assert_array_equal(again.candidates.coordinates, points)


def test_budgets_beyond_the_candidates_are_refused():
    assert sample().last_budget() == 18
    assert sample(budget=7).last_budget() == 7
    with pytest.raises(ParamError, match="0 to 7"):
        sample(budget=7).last_budget(8)
    for budget in (-1, 19):
        with pytest.raises(ProblemError, match="room for 0 to 18"):
            sample(budget=budget)
    with pytest.raises(ProblemError, match="integer"):
        sample(budget=2.5)


def edited(array, place, value):
    out = np.array(array)
    out[place] = value
    return out


X = np.random.default_rng(0).normal(size=(30, 6))
WINDOW = Candidates.window(6, 3)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: L0GraphicalModel(edited(X, (4, 2), np.nan), WINDOW), r"X\[4, 2\] is nan"),
        (lambda: L0GraphicalModel(edited(X, (4, 2), np.inf), WINDOW), r"X\[4, 2\] is inf"),
        (lambda: L0GraphicalModel(edited(X, (..., 5), 3.0), WINDOW), "column 5 of X is constant"),
        (lambda: L0GraphicalModel(X[:, :5], WINDOW), "6 nodes; X has 5 columns"),
        (lambda: L0GraphicalModel(X[0], WINDOW), "n samples x d nodes"),
        (lambda: L0GraphicalModel(X.astype(str), WINDOW), "real numbers"),
        (lambda: L0GraphicalModel(X[:3], WINDOW), "3 rows, and node 0 has 3 candidates"),
        (lambda: L0GraphicalModel(X, WINDOW, loss="ising"), "needs -1 and 1"),
        (lambda: L0GraphicalModel(X, WINDOW, loss="poisson"), "one of"),
        (lambda: L0GraphicalModel(X, WINDOW, scaling="raw"), "one of"),
        (lambda: L0GraphicalModel(X, WINDOW, ridge=-1.0), ">= 0"),
        (lambda: L0GraphicalModel(X, WINDOW, ridge=math.nan), ">= 0"),
        (lambda: L0GraphicalModel(X, WINDOW, ridge="a"), ">= 0"),
        (
            lambda: L0GraphicalModel(np.sign(X), WINDOW, loss="ising", scaling="nlogrss"),
            "for loss 'gaussian'",
        ),
    ],
)
def test_bad_input_is_refused_with_a_reason(make, message):
    with pytest.raises(ProblemError, match=message):
        make()


def test_few_rows_are_allowed_with_a_ridge_and_for_ising():
    L0GraphicalModel(X[:3], WINDOW, ridge=0.1)
    L0GraphicalModel(edited(np.sign(X[:3]), 0, -np.sign(X[1])), WINDOW, loss="ising")


def test_vanishing_residuals_have_no_logarithm():
    doubled = X.copy()
    doubled[:, 1] = doubled[:, 0]
    problem = L0GraphicalModel(doubled, WINDOW, scaling="nlogrss")
    x = np.zeros(problem.total)
    x[0] = 1.0  # node 0 by its copy, node 1
    with pytest.raises(ProblemError, match="residuals of node 0 vanish"):
        problem.objective(x)
    x[0] = 1.0 + 1e-9  # nor has what rounding leaves of them
    with pytest.raises(ProblemError, match="residuals of node 0 vanish"):
        problem.objective(x)


@pytest.mark.parametrize("scaling", ["standardised", "rss"])
def test_the_size_of_the_terms_stays_that_of_the_data_where_nodes_fit_exactly(scaling):
    exact = X.copy()
    exact[:, 1] = exact[:, 0]
    problem = L0GraphicalModel(exact, WINDOW, scaling=scaling)
    x = np.zeros(problem.total)
    without = problem.objective(x)
    x[0] = 1.0
    assert problem.objective(x) < without
    assert problem.objective_scale(x) == pytest.approx(without)


def test_nodes_without_candidates_are_allowed():
    mask = np.zeros((6, 6), dtype=bool)
    mask[1, [0, 4]] = True
    problem = L0GraphicalModel(X, mask)
    assert problem.total == 2
    assert problem.objective(np.zeros(2)) == pytest.approx(6.0)
