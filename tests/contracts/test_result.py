"""What holds of every result."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_backend import Scripted

import sparseopt
from sparseopt import Limit, Result, SolveParams, SparseOptError, Status
from sparseopt.problems import CLIME, STRS, BudgetTables, DantzigSelector, Problem
from sparseopt.result import relative_gap

LIMITED = {Status.FEASIBLE, Status.NO_SOLUTION}
ANSWERS = {
    Status.OPTIMAL,
    Status.CONVERGED,
    Status.FEASIBLE,
    Status.INFEASIBLE,
    Status.UNBOUNDED,
}


@pytest.mark.parametrize(("status", "limit"), list(itertools.product(Status, [None, *Limit])))
def test_a_limit_is_set_exactly_for_feasible_and_no_solution(status, limit):
    if (status in LIMITED) == (limit is not None):
        assert Result(status=status, limit=limit).limit is limit
    else:
        with pytest.raises(ValueError, match="limit is set exactly for"):
            Result(status=status, limit=limit)


@pytest.mark.parametrize("status", Status)
def test_raise_for_status_passes_answers_and_stops_the_rest(status):
    result = Result(status=status, limit=Limit.TIME if status in LIMITED else None, backend="b")
    if status in ANSWERS:
        assert result.raise_for_status() is result
    else:
        with pytest.raises(SparseOptError, match=f"b: {status.value}"):
            result.raise_for_status()


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300))
def test_the_gap_is_relative_and_symmetric(objective, bound):
    gap = relative_gap(objective, bound)
    assert gap == relative_gap(bound, objective)
    assert 0.0 <= gap <= 2.0
    assert (gap == 0.0) == (objective == bound)


def test_gaps_without_numbers():
    assert relative_gap(None, 1.0) is None
    assert relative_gap(1.0, None) is None
    assert relative_gap(1.0, np.inf) == np.inf
    assert relative_gap(np.inf, np.inf) == 0.0


def test_results_do_not_change():
    result = Result(status=Status.OPTIMAL)
    with pytest.raises(AttributeError):
        result.objective = 1.0
    assert result.with_changes(objective=1.0).objective == 1.0
    assert result.objective is None


def test_the_summary_is_ready_for_json():
    import json

    result = Result(status=Status.FEASIBLE, limit=Limit.NODE, objective=1.0, bound=np.inf)
    summary = json.loads(json.dumps(result.summary(), allow_nan=False))
    assert (summary["status"], summary["limit"], summary["bound"]) == ("feasible", "node", "inf")


def _arrays(value):
    """Yield every array that can be reached from a value, save those of problems."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict | list | tuple):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _arrays(part)
    elif hasattr(value, "__dict__") and not isinstance(value, type | Problem | SolveParams):
        yield from _arrays(vars(value))


EYE = np.eye(3)
SOLVED = {
    "path": (DantzigSelector(EYE, [3.0, 1.0, 2.0]), {}),
    "grid": (DantzigSelector(EYE, [3.0, 1.0, 2.0]), {"lam": [2.0, 1.0], "backend": "highs"}),
    "columns": (CLIME(EYE), {}),
    "supports": (STRS(np.diag([1.0, 3.0, 2.0]), d=1), {"size": [1, 2]}),
    "budget": (BudgetTables([[5.0, 1.0], [4.0, 3.0, 0.0]]), {}),
    "point": (STRS(np.diag([1.0, 3.0, 2.0]), d=1), {"check": False}),
}


@pytest.mark.parametrize("name", SOLVED)
def test_the_arrays_of_a_result_are_read_only_when_solve_returns_it(name):
    problem, question = SOLVED[name]
    result = sparseopt.solve(problem, **question)
    found = list(_arrays(vars(result)))
    assert any(array is result.x for array in found)
    assert not any(array.flags.writeable for array in found)
    with pytest.raises(ValueError, match="read-only"):
        result.x[...] = 0


def test_a_warm_start_stays_the_callers():
    start = np.array([1.0, 0.0, 0.0])
    given = Scripted(
        lambda *_: Result(status=Status.FEASIBLE, limit=Limit.TIME, x=start, objective=1.0)
    )
    result = sparseopt.solve(SOLVED["point"][0], backend=given, check=False)
    start[0] = 9.0
    assert result.x[0] == 1.0
