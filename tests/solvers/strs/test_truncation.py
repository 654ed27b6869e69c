"""The heuristic: points that are feasible and good, bounds that hold."""

import itertools

import numpy as np
import pytest
from small_problems import small_problems

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.problems import STRS
from sparseopt.solvers.common.spheres import refit, swap, truncations

# Proven optima by enumeration and by a branch and bound of this suite's authors.
KNOWN = {
    ("load_wine", 5): 3.43977842,
    ("load_wine", 8): 4.29329653,
    ("load_breast_cancer", 5): 4.90477559,
    ("load_breast_cancer", 10): 8.55685479,
}


@pytest.mark.parametrize(("data", "d"), KNOWN)
def test_it_finds_the_known_optima(data, d):
    X = getattr(pytest.importorskip("sklearn.datasets"), data)().data
    result = sparseopt.solve(STRS.from_data(X, d), backend="truncation")
    assert result.objective == pytest.approx(KNOWN[data, d], abs=5e-9)
    assert (result.status, result.verdict) == (Status.CONVERGED, Verdict.VERIFIED)


@pytest.mark.thorough
def test_against_enumeration():
    missed = []
    for kind, problem in small_problems(seed=3, count=110, largest=8):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        result = sparseopt.solve(problem, backend="truncation")
        size = max(np.abs(problem.A).max(), np.abs(problem.linear).max())
        assert result.verdict is Verdict.VERIFIED, kind
        assert result.bound >= optimum - 1e-12 * size, kind
        assert result.objective <= optimum + 1e-12 * size, kind
        missed.append(result.objective < optimum - 1e-9 * size)
    assert sum(missed) <= 5


def test_without_a_limit_on_the_nonzeros_the_bound_is_attained():
    M = np.random.default_rng(0).normal(size=(6, 6))
    result = sparseopt.solve(STRS(A=M + M.T, a=M[0], d=6), backend="truncation")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_truncations_are_supports_of_full_size():
    M = np.random.default_rng(1).normal(size=(9, 9))
    supports = truncations(M + M.T, M[0], 4)
    assert supports.shape[1] == 4
    assert all(len(set(S)) == 4 for S in supports.tolist())
    assert len(np.unique(supports, axis=0)) == len(supports)
    # (I): the largest entries of the third column are one of them.
    column = np.abs((M + M.T)[:, 2])
    assert sorted(np.argsort(-column)[:4].tolist()) in supports.tolist()


def test_swaps_end_in_a_local_optimum():
    rng = np.random.default_rng(2)
    for _ in range(20):
        M = rng.normal(size=(8, 8))
        A, a = M + M.T, rng.normal(size=8)
        start = refit(A, a, np.array([[0, 1, 2]]))[0]
        end = swap(A, a, start)
        others = [
            np.setdiff1d(np.append(end.support, j), [i])
            for i in end.support
            for j in range(8)
            if j not in end.support
        ]
        assert end.value >= start.value
        assert end.value >= refit(A, a, np.array(others))[0].value - 1e-12
        assert end.value == pytest.approx(STRS(A, a, 3).objective(end.point(8)), rel=1e-13)


def test_a_time_limit_leaves_a_point_and_a_bound():
    M = np.random.default_rng(3).normal(size=(60, 60))
    result = sparseopt.solve(STRS(A=M + M.T, d=10), backend="truncation", time_limit=0.0)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("linear", [False, True])
def test_the_best_supports_alone_are_those_of_all(linear):
    rng = np.random.default_rng(3)
    G = rng.normal(size=(9, 9))
    A, a = G @ G.T, rng.normal(size=9) * linear
    supports = np.array(list(itertools.combinations(range(9), 4)))
    every = refit(A, a, supports)
    few = refit(A, a, supports, 5)
    assert [one.value for one in few] == pytest.approx([one.value for one in every[:5]])
    for one, other in zip(few, every, strict=False):
        np.testing.assert_array_equal(one.support, other.support)
        value = one.z @ A[np.ix_(one.support, one.support)] @ one.z + a[one.support] @ one.z
        assert value == pytest.approx(one.value)
