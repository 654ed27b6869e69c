"""Entries of variables that no good support has make no room for a wrong maximum."""

import itertools

import numpy as np
import pytest
from second_opinion import second_opinion

import sparseopt
from sparseopt import Certificate, Limit, Result, Status
from sparseopt.problems import STRS

LARGE = (1e29, 1e32)


def matrix(large, seed=0):
    """Return six variables, of which the last is alone and as bad as it is large."""
    B = np.random.default_rng(seed).standard_normal((6, 6))
    A = (B + B.T) / 2.0
    A[5, :] = A[:, 5] = 0.0
    A[5, 5] = -large
    return A


def pair(large):
    """Return seven variables; the last two cancel each other, and have a value of 0."""
    A = np.zeros((7, 7))
    A[:6, :6] = matrix(large)
    A[6, 6] = -large
    A[5, 6] = A[6, 5] = large
    return STRS(A, d=2)


def bordered(large):
    """Return one whose large products with the others are worth no more than 1e-3."""
    A = matrix(1e3 * large**2)
    A[5, 0] = A[0, 5] = large
    return STRS(A, d=2)


def with_slope(large):
    a = np.zeros(6)
    a[5] = large
    return STRS(matrix(1e3 * large**2), a, d=2)


PROBLEMS = {
    "one": lambda large: STRS(matrix(large), d=2),
    "a pair": pair,
    "products": bordered,
    "a slope": with_slope,
}


def leaves(fixed, mu):
    """Return the leaves of [(fixed in, fixed out), ...], of one multiplier."""
    arrays = {"mu": np.full(len(fixed), mu)}
    for name, side in (("in", 0), ("out", 1)):
        rows = [list(leaf[side]) for leaf in fixed]
        arrays[f"{name}_ptr"] = np.cumsum([0, *map(len, rows)])
        arrays[f"{name}_index"] = np.array([i for row in rows for i in row], dtype=np.int64)
    return Certificate("leaves", arrays)


def maxima(problem, among):
    """Return the maximum on each support of the first variables, and its point."""
    found = {}
    for S in itertools.combinations(range(among), problem.d):
        values, vectors = np.linalg.eigh(problem.A[np.ix_(S, S)])
        found[S] = values[-1], np.zeros(len(problem.A))
        found[S][1][list(S)] = vectors[:, -1]
    return found


def claim(problem, x, certificate):
    value = problem.objective(x)
    return Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value,
        certificate=certificate,
        problem=problem,
        kind=problem.kind,
    )


def judged(folder, problem, result):
    """Return the verdicts of the checker and of the exact program."""
    verdict = sparseopt.check(problem, result).verdict.value
    return verdict, second_opinion(folder, problem, result)[0]


@pytest.mark.parametrize("proof", ["one leaf", "none"])
@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("kind", PROBLEMS)
def test_a_worse_support_is_not_the_maximum(tmp_path, kind, large, proof):
    problem = PROBLEMS[kind](large)
    found = maxima(problem, 5)
    least, x = min(found.values(), key=lambda each: each[0])
    assert max(value for value, _ in found.values()) > 1.2 + least
    certificate = leaves([((), ())], least) if proof == "one leaf" else None
    checked, exactly = judged(tmp_path, problem, claim(problem, x, certificate))
    assert checked != "verified"
    assert exactly != "proven"


def test_products_have_no_effect_on_a_single_variable(tmp_path):
    """At d = 1 the entry off the diagonal is in no value."""
    problem = STRS([[1.0, 1e29], [1e29, 2.0]], d=1)
    x = np.array([1.0, 0.0])
    false = claim(problem, x, leaves([((0,), ()), ((), (0,))], 1.0))
    checked, exactly = judged(tmp_path, problem, false)
    assert checked != "verified"
    assert exactly != "proven"
    none = false.with_changes(certificate=None)
    assert sparseopt.check(problem, none).verdict.value != "verified"


@pytest.mark.parametrize("alone", [1.0, -0.5])
@pytest.mark.parametrize("large", LARGE)
def test_variables_that_cancel_each_other_hide_no_value(tmp_path, large, alone):
    """(0, 1, 1) and the first variable have more than 3."""
    A = np.array([[alone, 3.0, 3.0], [3.0, -large, large], [3.0, large, -large]])
    problem = STRS(A, d=3)
    stopped = {"status": Status.FEASIBLE, "limit": Limit.TIME, "bound": 3.0}
    false = claim(problem, np.eye(3)[0], leaves([((), ())], 3.0)).with_changes(**stopped)
    assert np.linalg.eigvalsh([[alone, np.sqrt(18.0)], [np.sqrt(18.0), 0.0]])[-1] > 3.9
    checked, exactly = judged(tmp_path, problem, false)
    assert checked != "verified"
    assert exactly != "proven"


@pytest.mark.parametrize("large", [1e12, 1e20, *LARGE])
def test_the_true_maximum_is_verified_beside_it(tmp_path, large):
    """By all supports; and a bound above it by leaves, of which one is without the last."""
    problem = STRS(matrix(large), d=2)
    true = claim(problem, max(maxima(problem, 5).values(), key=lambda each: each[0])[1], None)
    assert sparseopt.check(problem, true).verdict.value == "verified"
    above = float(np.linalg.eigvalsh(problem.A[:5, :5])[-1])
    tree = [((), (5,)), *(((5, i), range(i)) for i in range(5))]
    stopped = {"status": Status.FEASIBLE, "limit": Limit.TIME, "bound": above}
    loose = true.with_changes(certificate=leaves(tree, above), **stopped)
    assert sparseopt.check(problem, loose).verdict.value == "verified"


@pytest.mark.parametrize("large", [1e2, 1e5, 1e8, 1e10])
def test_our_own_answers_stay_verified(tmp_path, large):
    problem = STRS(matrix(large), d=3)
    result = sparseopt.solve(problem)
    assert judged(tmp_path, problem, result) == ("verified", "proven")


@pytest.mark.parametrize("rows", [1.0, 2.0**10, 2.0**20])
def test_a_maximum_that_entries_cancel_to_stays_verified(tmp_path, rows):
    """It is 0, which all entries of a support cancel to."""
    v = np.array([3.0, 5.0 * rows, 7.0, 2.0, 9.0 * rows])
    problem = STRS(-np.outer(v, v), d=3)
    result = sparseopt.solve(problem)
    assert abs(result.objective) < 1e-15
    assert judged(tmp_path, problem, result) == ("verified", "proven")
