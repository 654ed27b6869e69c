"""Numbers so large that products overflow, or that nothing chooses, prove nothing of the others."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from second_opinion import second_opinion

import sparseopt
from sparseopt import Certificate, ProblemError, Status, check
from sparseopt.problems import (
    BudgetTables,
    EmbeddingFit,
    KernelSelection,
    SparseLogisticRegression,
    SparseRegression,
)
from sparseopt.result import Verdict


def forged_tree(problem, S, x, length):
    """A tree of three nodes whose first dual vector is so long that prices are infinite."""
    p = problem.X.shape[1]
    wanted = np.isin(np.arange(p), S).astype(float)
    u = np.linalg.lstsq(np.asarray(problem.X).T, wanted, rcond=None)[0]
    arrays = {
        "parent": np.array([-1, 0, 0]),
        "variable": np.array([-1, S[0], S[0]]),
        "inside": np.array([0, 1, 0]),
        "dual": np.array([0, 1, -1]),
        "w_ptr": np.array([0, 0, 2]),
        "w_index": np.array(S),
        "w_value": x[list(S)],
        "r_vector": np.array([0]),
        "r_value": (u / np.linalg.norm(u) * length)[None],
    }
    return Certificate("subset-tree", arrays)


@pytest.mark.parametrize("length", [1e153, 1.2e154, 1e200, 1e308])
def test_infinite_prices_fix_nothing(tmp_path, length):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 6))
    y = 3.0 * X[:, 0] - 2.0 * X[:, 1] + 0.1 * rng.standard_normal(20)
    problem = SparseRegression(X, y, k=2, ridge=0.01)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    x = np.zeros(6)
    x[[4, 5]] = np.linalg.solve(X[:, 4:].T @ X[:, 4:] + 0.01 * np.eye(2), X[:, 4:].T @ y)
    value = problem.objective(x)
    assert value > 100.0 * result.objective
    certificate = forged_tree(problem, (4, 5), x, length)
    forged = result.with_changes(
        x=x, objective=value, bound=value, certificate=certificate, trace=()
    )
    assert check(problem, forged).verdict != Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, forged)[0] != "proven"


def test_infinite_prices_fix_nothing_of_logistic_models():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((20, 6))
    y = np.where(X[:, 0] + 0.1 * rng.standard_normal(20) > 0.0, 1.0, -1.0)
    problem = SparseLogisticRegression(X, y, k=2, ridge=0.01, fit_intercept=False)
    result = sparseopt.solve(problem)
    x = np.zeros(6)
    x[[4, 5]] = 0.1
    value = problem.objective(x)
    forged = result.with_changes(
        x=x,
        objective=value,
        bound=value,
        certificate=forged_tree(problem, (4, 5), x, 1.2e154),
        trace=(),
    )
    assert check(problem, forged).verdict != Verdict.VERIFIED


@pytest.mark.parametrize("large", [1e16, 1e28, 1e30, 1e40, 1e300])
def test_a_loss_that_nothing_chooses_measures_no_other(tmp_path, large):
    tables = [[5.0, large, 1.0], [3.0, 2.0, 0.0]]
    problem = BudgetTables(tables)
    result = sparseopt.solve(problem)
    best = [
        min(
            tables[0][i] + tables[1][j]
            for i, j in itertools.product(range(3), repeat=2)
            if i + j <= K
        )
        for K in range(5)
    ]
    assert result.path.objective.tolist() == best
    assert result.verdict is Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, result)[0] == "proven"
    none = type(result.path.changes)(
        ptr=np.zeros(6, dtype=int), node=np.zeros(0, dtype=int), count=np.zeros(0, dtype=int)
    )
    path = replace(
        result.path,
        objective=np.full(5, 8.0),
        bound=np.full(5, 8.0),
        changes=none,
        certified=np.ones(5, dtype=bool),
    )
    forged = result.with_changes(
        path=path,
        x=path.at(4),
        objective=8.0,
        bound=8.0,
        trace=(),
        certificate=Certificate("budget", {"multiplier": np.zeros(5)}),
    )
    assert check(problem, forged).verdict != Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, forged)[0] != "proven"


def test_losses_that_overflow_are_refused():
    with pytest.raises(ProblemError, match="the sum of the losses overflows"):
        BudgetTables([[1e308, 5.0, 1.0], [1e308, 3.0, 0.0]])


@pytest.mark.parametrize("height", [0.0, 1e-6])
def test_the_distance_of_a_fit_is_judged_by_itself(tmp_path, height):
    """The atoms (-1, h) and (1, h) beside 0: the least squared distance is h^2, far below 1."""
    problem = EmbeddingFit(Phi=[[1.0, height], [-1.0, height]], mu=[0.0, 0.0])
    result = sparseopt.solve(problem)
    assert result.objective == pytest.approx(height**2, rel=1e-9, abs=1e-30)
    assert result.verdict is Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, result)[0] == "proven"
    x = np.array([0.5 + 1.5e-5, 0.5 - 1.5e-5])
    value = problem.objective(x)
    forged = result.with_changes(x=x, objective=value, bound=value, trace=())
    assert check(problem, forged).verdict != Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, forged)[0] != "proven"


@pytest.mark.parametrize("scale", [1.0, 1e3, 1e6, 1e9, 1e12])
def test_the_bound_of_a_fit_holds_however_far_some_atoms_are(scale):
    X = np.random.default_rng(7).standard_normal((6, 3))
    result = sparseopt.solve(EmbeddingFit(Phi=np.vstack([scale * X, X]), mu=np.zeros(3)))
    assert result.verdict is Verdict.VERIFIED
    if scale > 1.0:
        # The optimum with the far atoms at infinity, from NNLS in units of their own.
        assert result.bound <= 0.006910320970079981 * (1.0 + 1e-3)
    if scale == 1e3:
        assert result.status is Status.OPTIMAL


@pytest.mark.thorough
@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_bounds_that_are_no_numbers_prove_nothing():
    rng = np.random.default_rng(0)
    x, y = np.zeros((8, 3)), np.zeros((8, 3))
    y[:, 0] = 1.0  # tells the samples apart
    x[:, 1:], y[:, 1:] = rng.standard_normal((8, 2)), rng.standard_normal((8, 2))
    problem = KernelSelection(1e90 * x, 1e90 * y, kernel="gaussian", d=2, lam=0.5, bandwidth=1e-140)
    first, both = np.eye(3)[0], np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0)
    value = problem.objective(both)
    assert value < problem.objective(first) - 1.0
    forged = sparseopt.solve(problem, check=False).with_changes(
        status=Status.OPTIMAL,
        limit=None,
        x=both,
        objective=value,
        bound=value,
        certificate=None,
        trace=(),
    )
    assert check(problem, forged).verdict != Verdict.VERIFIED
