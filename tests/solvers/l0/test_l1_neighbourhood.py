"""The lasso at every node: a heuristic path of graphs that says so."""

import subprocess
import sys

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.errors import UnsupportedProblem
from sparseopt.generators import graph_sample
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel

linear_model = pytest.importorskip("sklearn.linear_model", reason="needs scikit-learn")


@pytest.fixture(scope="module")
def sample():
    return graph_sample("band", n=60, d=30, d0=6, rho=0.5)


@pytest.fixture(scope="module")
def result(sample):
    return sparseopt.solve(sample.model, backend="l1-neighbourhood")


def test_it_claims_no_optimum(result):
    assert result.status is Status.CONVERGED
    assert result.verdict is Verdict.UNPROVEN
    assert not result.path.certified.any()
    assert (result.path.bound == 0.0).all()


def test_every_budget_is_kept_and_has_the_stated_objective(sample, result):
    path = result.path
    exact = sparseopt.solve(sample.model, backend="l0-tables", check=False).path
    assert (path.objective >= exact.objective - 1e-9).all()
    assert (np.diff(path.objective) <= 1e-12).all()
    for K in range(0, sample.model.total + 1, 13):
        x = path.at(K)
        assert np.count_nonzero(x) <= K
        assert sample.model.objective(x) == pytest.approx(path.objective_at(K), rel=1e-9)
    # Without a constraint both fit everything.
    assert path.objective[-1] == pytest.approx(exact.objective[-1], rel=1e-9)


def test_the_order_is_that_of_one_common_penalty(sample, result):
    X, path = np.asarray(sample.model.X), result.path
    unit = X / np.linalg.norm(X, axis=0)
    for K in (20, 60):
        chosen = path.neighbours(K).toarray()
        entered, left = [], []
        for j in range(30):
            own = sample.model.candidates.of(j)
            lam, _, beta = linear_model.lars_path(
                unit[:, own], unit[:, j], method="lasso", return_path=True
            )
            inside = chosen[j, own]
            size = int(inside.sum())
            ranks = [np.count_nonzero(beta[:, s]) for s in range(beta.shape[1])]
            if size:
                entered.append(lam[ranks.index(size) - 1])
            if size < len(own):
                left.append(lam[ranks.index(size + 1) - 1])
            if size:
                step = ranks.index(size)
                np.testing.assert_array_equal(beta[:, step] != 0.0, inside)
        assert min(entered) >= max(left)


def test_raw_columns_prefer_the_large_ones():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 8))
    X[:, 4:] = 30.0 * (X[:, :4] + 0.5 * X[:, 4:])
    model = L0GraphicalModel(X, Candidates.window(8, 7))
    raw = sparseopt.solve(
        model, backend="l1-neighbourhood", options={"columns": "raw"}, check=False
    )
    assert (raw.path.neighbours(6).toarray()[:4].sum(), raw.path.neighbours(6).nnz) == (0, 6)
    unit = sparseopt.solve(model, backend="l1-neighbourhood", check=False)
    assert unit.path.neighbours(6).toarray()[:4].sum() > 0


def test_nodes_without_candidates_and_copies_are_answered():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(20, 5))
    X[:, 3] = X[:, 2]
    mask = np.zeros((5, 5), dtype=bool)
    mask[0, 1:], mask[2, 3] = True, True
    result = sparseopt.solve(L0GraphicalModel(X, mask), backend="l1-neighbourhood")
    assert result.status is Status.CONVERGED
    assert result.verdict is not Verdict.REFUTED
    assert result.path.neighbours(1).toarray()[2, 3]


def test_what_it_does_not_take():
    with pytest.raises(UnsupportedProblem, match="tables"):
        sparseopt.solve(BudgetTables([[1.0, 0.0]]), backend="l1-neighbourhood")
    spins = np.array([[1, -1], [-1, -1], [1, 1]])
    with pytest.raises(UnsupportedProblem, match="gaussian"):
        sparseopt.solve(
            L0GraphicalModel(spins, Candidates.window(2, 1), loss="ising"),
            backend="l1-neighbourhood",
        )


SOLVE_AND_COMPARE = """
import random
import numpy as np
import sparseopt
from sparseopt.problems import Candidates, L0GraphicalModel

X = np.random.default_rng(0).standard_normal((30, 6))
X[:, 5] = X[:, 0]
before, numpy_before = random.getstate(), np.random.get_state()
sparseopt.solve(L0GraphicalModel(X, Candidates.window(6, 5)), backend="l1-neighbourhood")
after = np.random.get_state()
assert random.getstate() == before, "Python's generator has moved"
assert after[2:] == numpy_before[2:] and (after[1] == numpy_before[1]).all(), "NumPy's has moved"
"""


@pytest.mark.thorough
def test_the_global_random_states_stay_where_they_are_even_at_the_first_import():
    subprocess.run([sys.executable, "-c", SOLVE_AND_COMPARE], check=True, timeout=120)
