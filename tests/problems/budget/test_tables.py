"""Budget tables: what is accepted, and the dynamic program against all choices."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sparseopt
from sparseopt import Limit, ParamError, ProblemError, Status, UnsupportedProblem, Verdict
from sparseopt.problems import BudgetTables

# Small integers tie everywhere: the case that Algorithm 1's backtracking gets wrong.
INTEGERS = st.lists(
    st.lists(st.integers(-3, 3).map(float), min_size=1, max_size=4), min_size=1, max_size=4
)
REALS = st.lists(
    st.lists(st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=4), min_size=1, max_size=4
)


def _all_choices(problem):
    value = np.full(problem.total + 1, np.inf)
    for counts in itertools.product(*(range(size + 1) for size in problem.sizes)):
        tail = value[sum(counts) :]
        np.minimum(tail, problem.objective(np.array(counts)), out=tail)
    return value


def _assert_optimal_everywhere(tables):
    problem = BudgetTables(tables)
    value = _all_choices(problem)
    tolerance = 1e-12 * (1.0 + np.abs(problem.values).sum())
    result = sparseopt.solve(problem, backend="knapsack-dp")
    path = result.path
    np.testing.assert_allclose(path.objective, value, atol=tolerance)
    for K in range(problem.total + 1):
        counts = path.at(K)
        assert counts.sum() <= K
        assert problem.objective(counts) == pytest.approx(value[K], abs=tolerance)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.thorough
@given(INTEGERS)
def test_ties(tables):
    _assert_optimal_everywhere(tables)


@pytest.mark.thorough
@given(REALS)
def test_real_losses(tables):
    _assert_optimal_everywhere(tables)


@pytest.mark.thorough
@given(INTEGERS)
def test_exactly_the_budgets_without_a_duality_gap_are_certified(tables):
    problem = BudgetTables(tables)
    path = sparseopt.solve(problem, backend="knapsack-dp").path
    slopes = {
        (table[a] - table[b]) / (b - a)
        for table in tables
        for a, b in itertools.combinations(range(len(table)), 2)
    }
    value = _all_choices(problem)
    for K in range(problem.total + 1):
        dual = max(
            sum(min(loss + lam * k for k, loss in enumerate(table)) for table in tables) - lam * K
            for lam in {0.0, *(slope for slope in slopes if slope > 0.0)}
        )
        assert path.certified[K] == (value[K] - dual <= 1e-9)


def test_a_budget_that_is_asked_for_ends_the_path():
    problem = BudgetTables([[3.0, 1.0, 0.0], [2.0, 0.0]])
    result = sparseopt.solve(problem, backend="knapsack-dp", budget=2)
    assert result.path.budgets.tolist() == [0, 1, 2]
    assert result.x.tolist() == [1, 1]
    assert (result.objective, result.path.stopped_by) == (1.0, "budget")


def test_the_budget_of_the_problem_limits_what_can_be_asked():
    problem = BudgetTables([[3.0, 1.0, 0.0], [2.0, 0.0]], budget=1)
    assert sparseopt.solve(problem, backend="knapsack-dp").path.budgets.tolist() == [0, 1]
    with pytest.raises(ParamError, match="budget is 2; this problem has budgets from 0 to 1"):
        sparseopt.solve(problem, backend="knapsack-dp", budget=2)


def test_a_time_limit_leaves_feasible_counts_and_proven_bounds():
    rng = np.random.default_rng(0)
    problem = BudgetTables([np.cumsum(-rng.exponential(size=6)) for _ in range(300)])
    full = sparseopt.solve(problem, backend="knapsack-dp").path
    result = sparseopt.solve(problem, backend="knapsack-dp", time_limit=0.0)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.path.stopped_by == "time"
    assert (result.path.bound <= full.objective + 1e-9).all()
    assert (result.path.objective >= full.objective - 1e-9).all()
    assert result.verdict is Verdict.VERIFIED


def test_too_many_cells_are_refused_by_number():
    problem = BudgetTables([[1.0, 0.0]] * 10)
    with pytest.raises(UnsupportedProblem, match="10 x 11 cells; its option max_cells allows 100"):
        sparseopt.solve(problem, backend="knapsack-dp", options={"max_cells": 100})


def test_lists_and_flat_arrays_are_the_same_problem():
    lists = BudgetTables([[3.0, 1.0], [2.0]])
    flat = BudgetTables(values=np.array([3.0, 1.0, 2.0]), ptr=np.array([0, 2, 3], dtype=np.int32))
    assert lists.fingerprint() == flat.fingerprint()
    assert [table.tolist() for table in map(flat.table, range(2))] == [[3.0, 1.0], [2.0]]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"values": []}, "values holds no table"),
        ({"values": [[1.0], []]}, r"values\[1\] is \[\]; expected the losses of node 1"),
        ({"values": [[1.0, np.nan]]}, r"values\[0\]\[1\] is nan"),
        ({"values": [["a"]]}, r"values\[0\] has the type"),
        ({"values": [[[1.0]]]}, r"values\[0\] has shape"),
        ({"values": [1.0, 2.0]}, r"values\[0\] is 1.0"),
        ({"values": np.ones(3)}, "give ptr"),
        ({"values": "abc"}, "values is a str"),
        ({"values": None}, "values is a NoneType"),
        ({"values": np.ones(3), "ptr": np.array([0, 2])}, r"values has shape \(3,\)"),
        ({"values": np.ones(2), "ptr": np.array([0, 2, 2])}, "ptr must start at 0 and rise"),
        ({"values": np.ones(2), "ptr": np.array([1, 2])}, "ptr must start at 0 and rise"),
        ({"values": np.ones(2), "ptr": np.array([0.0, 2.0])}, "ptr has the type float64"),
        ({"values": np.ones(2), "ptr": np.array([0])}, "ptr has the type"),
        ({"values": [[1.0, 0.0]], "budget": 2}, "budget is 2; the tables have room for 0 to 1"),
        ({"values": [[1.0, 0.0]], "budget": -1}, "budget is -1"),
        ({"values": [[1.0, 0.0]], "budget": 0.5}, "budget is 0.5; expected an integer"),
    ],
)
def test_bad_tables_say_what_is_wrong(given, words):
    with pytest.raises(ProblemError, match=words):
        BudgetTables(**given)


def test_residuals_measure_range_integrality_and_budget():
    problem = BudgetTables([[1.0, 0.0], [1.0, 0.0, 0.0]], budget=2)
    assert problem.residuals(np.array([1.0, 1.0])) == {"counts": 0.0, "budget": 0.0}
    assert problem.residuals(np.array([2.0, 0.0]))["counts"] == 1.0
    assert problem.residuals(np.array([-1.0, 0.0]))["counts"] == 1.0
    assert problem.residuals(np.array([0.5, 0.0]))["counts"] == 0.5
    assert problem.residuals(np.array([1.0, 2.0]))["budget"] == 1.0
    assert problem.residuals(np.array([1.0, 1.0]), lam=1.0)["budget"] == 1.0
