"""Paths over budgets, and the checker that judges them."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import sparseopt
from sparseopt import Certificate, ParamError, Result, Status, Verdict
from sparseopt.paths.budget import BudgetPath, CountChanges
from sparseopt.problems import BudgetTables


@pytest.mark.thorough
@given(
    arrays(np.int64, st.tuples(st.integers(1, 6), st.integers(1, 4)), elements=st.integers(0, 3))
)
def test_changes_hold_any_sequence_of_counts(counts):
    places, J = counts.shape
    changes = CountChanges.from_columns(places, list(counts.T))
    np.testing.assert_array_equal([changes.dense(i, J) for i in range(places)], counts)


@pytest.fixture
def problem() -> BudgetTables:
    # Budget 1 has a duality gap: the second table drops by 4 at once, for two units.
    return BudgetTables([[3.0, 2.5, 2.0], [5.0, 5.0, 1.0]])


@pytest.fixture
def result(problem: BudgetTables) -> Result:
    return sparseopt.solve(problem, backend="knapsack-dp")


def test_the_path_tells_what_is_certified(result: Result):
    path = result.path
    assert path.objective.tolist() == [8.0, 7.5, 4.0, 3.5, 3.0]
    assert path.certified.tolist() == [True, False, True, True, True]
    assert (path.gap == 0.0).all()
    assert path.objective_at(2) == 4.0
    assert len(path) == 5


@pytest.mark.parametrize("K", [-1, 5, 0.5, np.nan])
def test_other_budgets_are_not_on_the_path(result, K):
    with pytest.raises(ParamError, match="integers from 0 to 4"):
        result.path.at(K)


def test_the_table_has_one_row_for_each_budget(result):
    frame = result.path.to_frame()
    assert list(frame.columns) == ["budget", "objective", "bound", "gap", "certified"]
    assert frame["budget"].tolist() == [0, 1, 2, 3, 4]


def _changed(result: Result, **fields: object) -> Result:
    return result.with_changes(path=replace(result.path, **fields))


def _edited(array, index, value):
    out = np.array(array)
    out[index] = value
    return out


LIES = {
    "objective": lambda r: _changed(r, objective=_edited(r.path.objective, 2, 3.9)),
    "bound above the optimum": lambda r: _changed(r, bound=_edited(r.path.bound, 1, 7.6)),
    "bound that leaves a gap": lambda r: _changed(r, bound=_edited(r.path.bound, 1, 7.0)),
    "certified": lambda r: _changed(r, certified=np.ones(5, dtype=bool)),
    "counts over the budget": lambda r: _changed(
        r, changes=CountChanges.from_columns(5, [np.full(5, 2), np.full(5, 2)])
    ),
    "counts out of range": lambda r: _changed(
        r, changes=replace(r.path.changes, count=r.path.changes.count + 5)
    ),
    "node out of range": lambda r: _changed(
        r, changes=replace(r.path.changes, node=r.path.changes.node + 5)
    ),
    "worse counts": lambda r: _changed(
        r, changes=CountChanges.from_columns(5, [np.zeros(5, int), np.zeros(5, int)])
    ),
    "a budget is missing": lambda r: _changed(
        r,
        budgets=r.path.budgets[:4],
        objective=r.path.objective[:4],
        bound=r.path.bound[:4],
        certified=r.path.certified[:4],
        changes=replace(r.path.changes, ptr=r.path.changes.ptr[:5]),
    ),
    "NaN": lambda r: _changed(r, bound=_edited(r.path.bound, 3, np.nan)),
    "last point": lambda r: r.with_changes(x=np.array([2, 1])),
    "last objective": lambda r: r.with_changes(objective=2.9),
    "last bound": lambda r: r.with_changes(bound=2.0),
    "negative multipliers": lambda r: r.with_changes(
        certificate=Certificate("budget", {"multiplier": -np.ones(5)})
    ),
    "no multipliers": lambda r: r.with_changes(certificate=Certificate("budget")),
    "status": lambda r: r.with_changes(status=Status.INFEASIBLE),
}


@pytest.mark.parametrize("lie", LIES)
def test_lies_are_refuted(problem, result, lie):
    assert result.verdict is Verdict.VERIFIED
    report = sparseopt.check(problem, LIES[lie](result))
    assert report.verdict is Verdict.REFUTED, report.messages


def test_useless_multipliers_refute_what_they_are_said_to_certify(problem, result):
    zero = Certificate("budget", {"multiplier": np.zeros(5)})
    report = sparseopt.check(problem, result.with_changes(certificate=zero))
    assert report.verdict is Verdict.REFUTED
    assert "called certified" in report.messages[0]


def test_without_multipliers_the_bounds_are_unproven(problem, result):
    report = sparseopt.check(problem, result.with_changes(certificate=None))
    assert report.verdict is Verdict.UNPROVEN


def test_bounds_that_are_too_many_to_recompute_are_unproven(problem, result, monkeypatch):
    monkeypatch.setattr("sparseopt.checking.budget.tables._STEPS", 10)
    report = sparseopt.check(problem, result)
    assert report.verdict is Verdict.UNPROVEN
    assert "1 of 5 bounds" in report.messages[0]


def test_saved_paths_come_back(result, problem, tmp_path):
    from sparseopt.io.results import load_result

    result.save(tmp_path / "result.json")
    again = load_result(tmp_path / "result.json")
    assert isinstance(again.path, BudgetPath)
    for K in range(5):
        np.testing.assert_array_equal(again.path.at(K), result.path.at(K))
    assert sparseopt.check(problem, again).verdict is Verdict.VERIFIED
