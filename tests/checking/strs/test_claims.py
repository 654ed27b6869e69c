"""Statements beside the bound: whatever a result claims is proven, refuted, or left out by name."""

from dataclasses import replace

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.problems import STRS, KernelSelection, STRSPath


def strs():
    rng = np.random.default_rng(5)
    M = rng.normal(size=(7, 7))
    return STRS(A=M + M.T, a=rng.normal(size=7), d=3)


def selection(kernel="linear"):
    x, y = np.random.default_rng(6).normal(size=(2, 12, 5))
    y[:, 1] += 1.0
    return KernelSelection(x, y, kernel, d=2, lam=0.5)


@pytest.fixture(scope="module", params=["strs", "sizes", "linear", "gaussian"])
def answered(request):
    problem = selection(request.param) if request.param in ("linear", "gaussian") else strs()
    question = {"size": (1, 2, 4)} if request.param == "sizes" else {}
    options = {"restarts": 1, "iterations": 2} if request.param == "gaussian" else {}
    return problem, sparseopt.solve(problem, options=options, **question)


def verdict(problem, result):
    return sparseopt.check(problem, result).verdict


@pytest.mark.thorough(after=1)
def test_the_true_answer_is_not_refuted(answered):
    _, result = answered
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough(after=1)
def test_a_missing_or_impossible_statement_is_refuted(answered):
    problem, result = answered
    worst = np.zeros(len(result.x))
    worst[0] = 1.0
    for changes in (
        {"objective": None},
        {"objective": None, "x": worst},
        {"x": None},
        {"status": Status.INFEASIBLE, "limit": None},
        {"status": Status.INFEASIBLE, "limit": None, "x": None, "objective": None, "path": None},
        {"status": Status.UNBOUNDED, "limit": None},
        {"status": Status.NO_SOLUTION, "limit": Limit.TIME},
        {"x": result.x * (1.0 + 1e-5)},
        {"trace": ((0.1, result.objective + 1.0, result.objective),)},
    ):
        report = sparseopt.check(problem, result.with_changes(**changes))
        # Without any bound, a trace that claims a better value contradicts nothing.
        if "trace" in changes and result.bound is None:
            assert report.verdict is Verdict.UNPROVEN
        else:
            assert report.verdict is Verdict.REFUTED, changes


def test_what_nothing_here_checks_is_never_verified(answered):
    problem, result = answered
    for changes in (
        {"duals": {"rows": np.ones(3)}},
        {"status": Status.ERROR, "limit": None, "x": None, "objective": None, "path": None},
        {"status": Status.NO_SOLUTION, "limit": Limit.TIME, "x": None, "objective": None},
        {"status": Status.IMPRECISE, "limit": None},
    ):
        assert verdict(problem, result.with_changes(**changes)) is not Verdict.VERIFIED, changes


def test_a_length_within_tolerance_gains_nothing():
    """A vector of length 1 + 5e-7 has a value that no unit vector attains."""
    problem = strs()
    result = sparseopt.solve(problem, rel_gap=0.0)
    x = result.x * (1.0 + 5e-7)
    value = problem.objective(x)
    lie = result.with_changes(x=x, objective=value, bound=value)
    assert value > result.objective
    assert verdict(problem, lie) is Verdict.REFUTED


def test_a_path_that_was_not_asked_for_is_refuted():
    problem = strs()
    one = sparseopt.solve(problem)
    path = sparseopt.solve(problem, size=(1, 3)).path
    assert verdict(problem, one.with_changes(path=path)) is Verdict.REFUTED
    other = sparseopt.solve(selection())
    assert verdict(selection(), other.with_changes(path=path)) is not Verdict.VERIFIED


def test_a_path_of_other_sizes_or_with_false_words_is_refuted():
    problem = strs()
    result = sparseopt.solve(problem, size=(1, 2, 4))
    path = result.path
    none = np.zeros(3, dtype=bool)
    foreign = sparseopt.solve(problem.with_changes(A=problem.A + np.eye(7)), size=(1, 2, 4)).path
    for changes in (
        {"path": replace(path, stopped_by="time")},
        {"path": replace(path, certified=none)},
        {"path": replace(path, sizes=np.array([1, 2, 5]))},
        {"path": replace(path, sizes=np.array([1, 3, 4]))},
        {"path": foreign},
        {"path": None},
        {"params": replace(result.params, size=(1, 2, 3))},
        {"params": replace(result.params, size=(1, 2, 4, 5))},
        {"params": replace(result.params, size=4)},
    ):
        assert verdict(problem, result.with_changes(**changes)) is Verdict.REFUTED, changes


def test_the_value_of_a_relaxation_is_left_out_by_name():
    result = sparseopt.solve(strs(), backend="strs-admm")
    assert any("relaxation" in message for message in result.check_messages)


@pytest.mark.parametrize("off", [1e-4, 5e-4])
def test_no_size_of_a_path_is_off_by_what_cancels(off):
    """The entries are 1e6, the optimum of two variables or more is 2."""
    A = -(2.0**20) * np.eye(4)
    A[0, 1] = A[1, 0] = 2.0**20 + 2.0
    problem = STRSPath(A, d_max=3)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    objective, bound = result.path.objective.copy(), result.path.bound.copy()
    objective[1] += off
    bound[1] += off
    path = replace(result.path, objective=objective, bound=bound)
    claim = result.with_changes(path=path, trace=())
    assert sparseopt.check(problem, claim).verdict is not Verdict.VERIFIED
