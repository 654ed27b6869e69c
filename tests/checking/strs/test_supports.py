"""Bounds without a certificate: the checker looks at all supports, where these are few."""

from dataclasses import replace

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Result, Status, Verdict
from sparseopt.problems import STRS


def problem_of(seed, D, d, linear=True):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(D, D))
    return STRS(A=M + M.T, a=rng.normal(size=D) if linear else None, d=d)


def bare(problem):
    """What an outside solver would say."""
    return replace(sparseopt.solve(problem, backend="strs-bnb"), certificate=None)


@pytest.mark.parametrize(
    ("D", "d", "linear"), [(7, 3, True), (9, 2, False), (5, 5, True), (6, 1, True), (1, 1, True)]
)
def test_an_optimum_without_a_certificate_is_verified(D, d, linear):
    problem = problem_of(D, D, d, linear)
    assert sparseopt.check(problem, bare(problem)).verdict is Verdict.VERIFIED


@pytest.mark.parametrize("a", [np.array([0.0, 0.0, 0.0, 0.3]), np.zeros(4)])
def test_hard_cases(a):
    """No linear term along the top eigenvectors, which are two."""
    problem = STRS(A=np.diag([2.0, 2.0, 1.0, -1.0]), a=a, d=3)
    result = bare(problem)
    assert sparseopt.check(problem, result).verdict is Verdict.VERIFIED
    lower = Result(status=Status.NO_SOLUTION, limit=Limit.TIME, bound=result.bound - 0.01)
    assert sparseopt.check(problem, lower).verdict is Verdict.REFUTED


def test_a_bound_below_the_optimum_is_refuted():
    problem = problem_of(1, 8, 3)
    best = bare(problem)
    order = np.argsort(-np.abs(problem.A).sum(axis=1))
    x = np.zeros(8)
    x[order[-1]] = 1.0
    lie = Result(status=Status.OPTIMAL, x=x, objective=problem.objective(x))
    lie = replace(lie, bound=lie.objective, backend="outside")
    assert lie.objective < best.objective - 0.1
    report = sparseopt.check(problem, lie)
    assert report.verdict is Verdict.REFUTED
    assert any("is false: on the support" in text for text in report.messages)


def test_a_bound_a_little_too_low_is_not_proven():
    problem = problem_of(2, 7, 2)
    best = bare(problem)
    report = sparseopt.check(problem, replace(best, bound=best.bound - 1e-8))
    assert report.verdict is Verdict.UNPROVEN


def test_too_many_supports_stay_unproven():
    problem = problem_of(3, 24, 10)
    x = np.zeros(24)
    x[0] = 1.0
    value = problem.objective(x)
    result = Result(status=Status.FEASIBLE, limit=Limit.TIME, x=x, objective=value, bound=1e3)
    report = sparseopt.check(problem, result)
    assert report.verdict is Verdict.UNPROVEN
    assert any("no certificate" in text for text in report.messages)


@pytest.mark.thorough
def test_outside_solvers_are_verified():
    pytest.importorskip("pyscipopt", reason="pyscipopt is not installed: sparseopt[scip]")
    result = sparseopt.solve(problem_of(4, 6, 2), backend="scip")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
