"""Alternating median regressions: what they recover, stationarity, and never a proof."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.problems import L1Subspace, RobustSubspace


def error(x, truth):
    k = truth.shape[1]
    return float(np.linalg.norm(x[:, :k] @ x[:, :k].T - truth @ truth.T))


def drawn(share, n=20, k=2, seed=0):
    problem = generators.generate("corrupted-entries", n=n, k=k, share=share, seed=seed)
    clean = generators.generate("corrupted-entries", n=n, k=k, share=0.0, seed=seed)
    return problem, np.linalg.svd(clean.X, full_matrices=False)[2][:k].T


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("share", [0.05, 0.3])
def test_corrupted_entries_do_not_turn_it(share):
    problem, truth = drawn(share)
    result = sparseopt.solve(problem)
    assert (result.backend, result.status) == ("l1-alternating", Status.CONVERGED)
    assert result.verdict is Verdict.UNPROVEN and result.bound is None
    assert error(result.x, truth) < 1e-9
    # Neither principal components nor distances of whole points find it.
    others = [sparseopt.solve(problem, backend="pca").x]
    others += [sparseopt.solve(RobustSubspace(problem.X, 2)).x] if share == 0.3 else []
    assert all(problem.objective(x) > 1.05 * result.objective for x in others)


@pytest.mark.thorough
def test_an_affine_subspace_is_found():
    problem, truth = drawn(0.1)
    moved = L1Subspace(problem.X + 7.0, k=2, centre="estimate")
    result = sparseopt.solve(moved)
    assert error(result.x, truth) < 1e-9
    across = result.x[:, 2] - 7.0
    np.testing.assert_allclose(across - truth @ (truth.T @ across), 0.0, atol=1e-9)
    assert result.objective == pytest.approx(sparseopt.solve(problem).objective, rel=1e-9)


def test_its_end_is_stationary_and_its_beginning_is_not():
    rng = np.random.default_rng(3)
    problem = L1Subspace(rng.normal(size=(60, 5)), k=2)
    end = sparseopt.check(problem, sparseopt.solve(problem)).residuals["stationarity"]
    start = sparseopt.check(problem, sparseopt.solve(problem, backend="pca"))
    assert end < 1e-12 < 1e-3 < start.residuals["stationarity"]
    assert start.verdict is Verdict.UNPROVEN


def test_lies_are_refuted():
    problem, _ = drawn(0.1)
    result = sparseopt.solve(problem)
    turned = np.linalg.qr(result.x + 0.1)[0]
    lies = (
        result.with_changes(x=turned),
        result.with_changes(x=1.5 * result.x),
        result.with_changes(x=result.x[:, :1]),
        result.with_changes(objective=0.9 * result.objective),
        result.with_changes(bound=1.1 * result.objective),
        result.with_changes(status=Status.INFEASIBLE, x=None, objective=None),
    )
    assert {sparseopt.check(problem, lie).verdict for lie in lies} == {Verdict.REFUTED}
    claimed = result.with_changes(status=Status.OPTIMAL, bound=result.objective)
    assert sparseopt.check(problem, claimed).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize("centre", [None, "estimate"])
@pytest.mark.parametrize(
    "X",
    [
        np.zeros((6, 3)),
        np.ones((6, 3)),
        np.eye(6)[:, :3],
        np.outer(np.arange(6.0), [1.0, 2.0, 3.0]),
        np.column_stack([np.arange(6.0), np.full(6, 3.0), np.arange(6.0) ** 2]),
    ],
    ids=["zero", "one point", "unit vectors", "a line", "a constant column"],
)
def test_degenerate_samples(centre, X):
    result = sparseopt.solve(L1Subspace(X, k=1, centre=centre))
    assert result.status is Status.CONVERGED
    assert result.verdict is Verdict.UNPROVEN, result.check_messages


def test_a_warm_start_is_where_it_begins():
    problem, truth = drawn(0.2)
    result = sparseopt.solve(problem, warm_start=truth)
    assert result.iterations <= 3 and error(result.x, truth) < 1e-9


def test_a_time_limit_ends_the_solve(in_time):
    problem = L1Subspace(np.random.default_rng(0).normal(size=(2000, 40)), k=5)
    result = in_time(1.5, lambda: sparseopt.solve(problem, time_limit=0.1, check=False))
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.x.shape == (40, 5)
