"""The paper's algorithm and an outside solver against the exact engine."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, UnsupportedProblem, Verdict
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel


def tables(seed: int, J: int = 12, size: int = 7) -> BudgetTables:
    rng = np.random.default_rng(seed)
    return BudgetTables([np.sort(rng.exponential(size=size))[::-1] for _ in range(J)])


@pytest.mark.parametrize("seed", range(4))
def test_spica_is_exact_where_the_dual_is_and_bounds_the_rest(seed):
    problem = tables(seed, J=40)
    exact = sparseopt.solve(problem, backend="l0-tables").path
    result = sparseopt.solve(problem, backend="spica")
    path = result.path
    assert result.status is Status.CONVERGED
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert exact.certified.any()
    np.testing.assert_array_equal(path.certified, exact.certified)
    np.testing.assert_allclose(path.objective[path.certified], exact.objective[path.certified])
    assert (path.bound <= exact.objective + 1e-12).all()
    assert (path.objective >= exact.objective - 1e-12).all()
    for K in path.budgets:
        assert path.at(K).sum() <= K


def test_the_gap_of_spica_is_at_most_the_largest_loss_of_a_node():
    problem = tables(5, J=60)
    path = sparseopt.solve(problem, backend="spica").path
    most = max(t[0] - t.min() for t in map(problem.table, range(60)))
    assert (path.objective - path.bound).max() <= most


def test_a_coarse_search_still_keeps_every_budget():
    problem = tables(6, J=30)
    result = sparseopt.solve(problem, backend="spica", options={"epsilon": 0.1})
    assert result.verdict is Verdict.VERIFIED
    for K in result.path.budgets:
        assert result.path.at(K).sum() <= K


def test_spica_takes_models():
    X = np.random.default_rng(0).normal(size=(30, 10))
    problem = L0GraphicalModel(X, Candidates.window(10, 4))
    result = sparseopt.solve(problem, backend="spica")
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert np.count_nonzero(result.path.at(7)) <= 7


def test_highs_finds_the_same_values():
    problem = tables(7)
    exact = sparseopt.solve(problem, backend="l0-tables").path
    result = sparseopt.solve(problem, backend="highs-knapsack", budget=25)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    np.testing.assert_allclose(result.path.objective, exact.objective[:26], rtol=1e-9)


def test_highs_refuses_too_many_budgets():
    with pytest.raises(UnsupportedProblem, match="max_budgets"):
        sparseopt.solve(tables(8), backend="highs-knapsack", options={"max_budgets": 5})


def test_large_programs_run_in_a_child(monkeypatch):
    from sparseopt.solvers.highs import knapsack

    problem = tables(9)
    here = sparseopt.solve(problem, backend="highs-knapsack", budget=3)
    monkeypatch.setattr(knapsack, "_WATCHED", 1)
    apart = sparseopt.solve(problem, backend="highs-knapsack", budget=3)
    assert apart.verdict is Verdict.VERIFIED, apart.check_messages
    np.testing.assert_allclose(apart.path.objective, here.path.objective, rtol=1e-12)


def beside_large_losses(seed: int, large: list[float]) -> BudgetTables:
    rng = np.random.default_rng(seed)
    return BudgetTables([large, *rng.normal(size=(4, 4))])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("size", [1e9, 1e12, 1e18])
@pytest.mark.parametrize("large", [[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [1.0, 0.999, 0.3]])
@pytest.mark.parametrize("backend", ["highs-knapsack", "knapsack-dp"])
def test_choices_beside_much_larger_losses_are_optimal(backend, large, size, seed):
    problem = beside_large_losses(seed, [size * loss for loss in large])
    exact = sparseopt.solve(problem, backend="l0-tables").path
    result = sparseopt.solve(problem, backend=backend)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    # A few units in the last place of the largest loss at each budget.
    rounding = 8.0 * np.spacing(np.abs(exact.objective))
    assert (np.abs(result.path.objective - exact.objective) <= rounding).all()


def test_highs_calls_nothing_optimal_that_its_tolerances_leave_open():
    # At budget 1 the losses of 1e12 cancel, but none of the choices can be left out.
    problem = BudgetTables([[1e12, 5e11, -1e12], [-5e11], [0.7, 0.4, 0.3], [1.0, 0.8]])
    result = sparseopt.solve(problem, backend="highs-knapsack")
    assert result.status is Status.CONVERGED
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    optimum = sparseopt.solve(problem, backend="l0-tables").path.objective
    assert (result.path.bound <= optimum).all()
