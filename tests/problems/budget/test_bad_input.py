"""Every way in which input can be wrong or odd: a clear error, or the documented answer."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems import (
    BudgetTables,
    Candidates,
    ColumnBlocks,
    L0GraphicalModel,
    SparseLogisticRegression,
)

X = np.random.default_rng(0).normal(size=(30, 6))
SPINS = np.where(np.random.default_rng(1).random((40, 6)) < 0.5, -1, 1)
WINDOW = Candidates.window(6, 3)
BACKENDS = ("l0-tables", "spica", "knapsack-dp", "highs-knapsack")


@pytest.mark.parametrize("budget", [-1, 19, 2.5, "many", True])
def test_budgets_out_of_range(budget):
    with pytest.raises(ProblemError, match="budget"):
        L0GraphicalModel(X, WINDOW, budget=budget)
    with pytest.raises(ParamError, match="budget"):
        sparseopt.solve(L0GraphicalModel(X, WINDOW), budget=budget)
    with pytest.raises(ProblemError, match="budget"):
        BudgetTables([[1.0, 0.0]], budget=budget)


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_candidates_at_all(backend):
    model = L0GraphicalModel(X, np.zeros((6, 6)))
    result = sparseopt.solve(model, backend=backend)
    assert result.verdict is Verdict.VERIFIED
    assert result.path.budgets.tolist() == [0]
    assert result.objective == pytest.approx(6.0)
    assert result.path.graph(0).nnz == 0
    assert result.x.shape == (0,)


def test_a_budget_of_nothing():
    result = sparseopt.solve(L0GraphicalModel(X, WINDOW, budget=0))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert not result.x.any()


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", BACKENDS)
def test_copies_share_what_one_of_them_explains(backend):
    copies = X.copy()
    copies[:, 1], copies[:, 4] = copies[:, 0], -2.0 * copies[:, 3]
    result = sparseopt.solve(L0GraphicalModel(copies, Candidates.window(6, 5)), backend=backend)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    # Four nodes are copies of others: with one neighbour each they have no loss left.
    assert result.path.objective_at(4) == pytest.approx(2.0, abs=1e-9)
    for K in result.path.budgets:
        assert np.isfinite(result.path.at(K)).all()


@pytest.mark.parametrize("loss", ["gaussian", "ising"])
@pytest.mark.parametrize("wrap", [np.asarray, lambda a: ColumnBlocks([a[:, :2], a[:, 2:]])])
def test_what_is_not_finite_and_what_is_constant(loss, wrap):
    data = (X if loss == "gaussian" else SPINS).astype(float)
    for value in (np.nan, np.inf, -np.inf):
        wrong = data.copy()
        wrong[3, 4] = value
        with pytest.raises(ProblemError, match=r"X\[3, 4\] is .*finite"):
            L0GraphicalModel(wrap(wrong), WINDOW, loss=loss)
    wrong = data.copy()
    wrong[:, 5] = 1.0
    with pytest.raises(ProblemError, match="column 5 of X is constant"):
        L0GraphicalModel(wrap(wrong), WINDOW, loss=loss)


@pytest.mark.parametrize("value", [0, 2, 0.5])
def test_spins_are_minus_one_and_one(value):
    wrong = SPINS.astype(float)
    wrong[2, 1] = value
    with pytest.raises(ProblemError, match=r"X\[2, 1\] is .*needs -1 and 1"):
        L0GraphicalModel(wrong, WINDOW, loss="ising")
    with pytest.raises(ProblemError, match=r"2 \* X - 1"):
        L0GraphicalModel(SPINS > 0, WINDOW, loss="ising")


def test_weights_are_positive():
    X = np.random.default_rng(0).normal(size=(6, 3))
    for weights, words in (
        ([1, 1, 0, 1, 1, 1], r"sample_weights\[2\] is 0; .* leave out rows that do not count"),
        ([1, 1, 1, -2, 1, 1], r"sample_weights\[3\] is -2"),
        ([1, 1], "sample_weights has"),
    ):
        with pytest.raises(ProblemError, match=words):
            L0GraphicalModel(X, Candidates.window(3, 2), sample_weights=weights)
        with pytest.raises(ProblemError, match=words):
            SparseLogisticRegression(X, np.sign(X[:, 0]), ridge=1.0, sample_weights=weights)


@pytest.mark.thorough
def test_no_more_rows_than_candidates():
    with pytest.raises(ProblemError, match="has 3 rows, and node 0 has 3 candidates"):
        L0GraphicalModel(X[:3], WINDOW)
    ridged = sparseopt.solve(L0GraphicalModel(X[:3], WINDOW, ridge=0.1))
    assert ridged.verdict is Verdict.VERIFIED
    assert ridged.objective > 0.0
    spins = sparseopt.solve(L0GraphicalModel(SPINS[:6], Candidates.window(6, 5), loss="ising"))
    assert spins.status is Status.OPTIMAL
    assert spins.path.separated.any()
    assert any("separate" in note for note in spins.notes)
