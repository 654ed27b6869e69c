"""Two engines on two cores: the first proof ends both."""

from __future__ import annotations

import threading
import time

import pytest

import sparseopt
from sparseopt import Cancel, Limit, Status, Verdict
from sparseopt.generators.misdp import clustering, k_partitioning
from sparseopt.solvers.misdp.engines import race
from sparseopt.solvers.misdp.tree.integer_tree import IntegerTree

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


@pytest.fixture
def problem():
    return clustering(seed=1, points=8, size=2)


def _wait(tree):
    """Stand for a search that finds nothing."""
    while tree.control.limit() is None:
        time.sleep(0.01)
    return tree.control.limit()


@pytest.fixture
def _endless(monkeypatch):
    monkeypatch.setattr(race, "RACE_AFTER", 0.0)
    monkeypatch.setattr(IntegerTree, "run", _wait)


@pytest.mark.thorough
@pytest.mark.usefixtures("_endless")
def test_a_proof_by_outer_approximation_ends_the_search(problem, monkeypatch):
    result = sparseopt.solve(problem, backend="misdp-bnb", threads=2, time_limit=60)
    monkeypatch.undo()
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.backend == "misdp-bnb"
    assert any("misdp-oa" in note for note in result.notes)
    expected = sparseopt.solve(problem, backend="misdp-bnb")
    assert not any("misdp-oa" in note for note in expected.notes)
    assert result.objective == pytest.approx(expected.objective, rel=1e-6)
    assert result.trace[-1][0] <= result.solve_time + result.build_time
    assert result.params.threads == 2


@pytest.mark.thorough(after=1)
@pytest.mark.usefixtures("_endless")
@pytest.mark.parametrize("question", [{}, {"threads": 1}, {"threads": 2, "node_limit": 5}])
def test_nothing_runs_beside_it_unless_two_threads_are_asked_for(problem, question, monkeypatch):
    monkeypatch.setattr(race, "PythonChild", None)
    result = sparseopt.solve(problem, backend="misdp-bnb", time_limit=0.5, **question)
    assert result.limit is Limit.TIME


@pytest.mark.thorough
@pytest.mark.usefixtures("_endless")
def test_a_token_ends_both():
    problem, token = k_partitioning(seed=0, nodes=20, k=5), Cancel()
    timer = threading.Timer(1.0, token.cancel)
    timer.start()
    begun = time.perf_counter()
    result = sparseopt.solve(problem, backend="misdp-bnb", threads=2, cancel=token)
    timer.join()
    assert result.limit is Limit.INTERRUPTED
    assert time.perf_counter() - begun < 20.0


def test_a_search_that_ends_first_ends_the_child(monkeypatch):
    monkeypatch.setattr(race, "RACE_AFTER", 0.0)
    ended = []

    class Slow:
        """A child that runs until it is cancelled."""

        def run(self, function, control, arrays):
            while control.limit() is None:
                time.sleep(0.01)
            return control.limit()

        def end(self):
            ended.append(True)

    monkeypatch.setattr(race, "PythonChild", Slow)
    problem = k_partitioning(seed=1, nodes=7, k=2)
    result = sparseopt.solve(problem, backend="misdp-bnb", threads=2, time_limit=60)
    assert result.verdict is Verdict.VERIFIED
    assert not any("misdp-oa" in note for note in result.notes)
    assert ended == [True]


def test_a_child_that_fails_is_not_missed(monkeypatch):
    class Broken:
        def run(self, function, control, arrays):
            raise sparseopt.BackendError("it died")

        def end(self):
            pass

    monkeypatch.setattr(race, "RACE_AFTER", 0.0)
    monkeypatch.setattr(race, "PythonChild", Broken)
    result = sparseopt.solve(k_partitioning(seed=1, nodes=7, k=2), backend="misdp-bnb", threads=2)
    assert result.verdict is Verdict.VERIFIED
