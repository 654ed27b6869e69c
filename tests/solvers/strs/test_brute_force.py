"""Enumeration: published optima, and what is left when it is cut short."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, Status, UnsupportedProblem, Verdict
from sparseopt.problems import STRS

# Proven optima of the loadings of one sparse principal component. Wine: this suite's authors, by
# enumeration with SCIP and by a branch and bound of their own.
WINE = {5: 3.43977842, 8: 4.29329653}


@pytest.mark.parametrize("d", WINE)
def test_wine(d):
    X = pytest.importorskip("sklearn.datasets").load_wine().data
    result = sparseopt.solve(STRS.from_data(X, d), backend="brute-force")
    assert result.objective == pytest.approx(WINE[d], abs=5e-9)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.parametrize("d", range(3, 14))
def test_pitprops(d):
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    if folder is None:
        pytest.skip("SPARSEOPT_EXTRA_DATA is not set: the matrices live there")
    data = Path(folder) / "sparse-pca"
    with (data / "reference.csv").open() as stream:
        rows = csv.DictReader(stream)
        optimum = {int(r["d"]): float(r["optimal"]) for r in rows if r["matrix"] == "lx_pitprops"}
    S = np.loadtxt(data / "lx_pitprops.csv", delimiter=",")
    result = sparseopt.solve(STRS.from_covariance(S, d), backend="brute-force")
    assert result.objective == pytest.approx(optimum[d], abs=1e-6)
    assert result.verdict is Verdict.VERIFIED


@pytest.fixture(scope="module")
def problem() -> STRS:
    rng = np.random.default_rng(8)
    M = rng.normal(size=(16, 16))
    return STRS(A=M + M.T, a=rng.normal(size=16), d=8)


@pytest.fixture(scope="module")
def optimum(problem: STRS) -> float:
    return sparseopt.solve(problem, backend="brute-force").objective


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("nodes", [1, 2000, 7000, 12000])
def test_a_node_limit_leaves_a_proven_bound(problem, optimum, nodes):
    result = sparseopt.solve(problem, backend="brute-force", node_limit=nodes)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.NODE)
    assert result.nodes < 12870
    assert result.objective <= optimum <= result.bound
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_a_limit_at_the_last_support_is_no_limit(problem):
    result = sparseopt.solve(problem, backend="brute-force", node_limit=12870)
    assert (result.status, result.limit) == (Status.OPTIMAL, None)


def test_a_time_limit_of_zero_still_gives_a_point(problem, optimum):
    result = sparseopt.solve(problem, backend="brute-force", time_limit=0.0)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.objective <= optimum <= result.bound
    assert result.verdict is Verdict.VERIFIED


def test_too_many_supports_are_refused_by_number(problem):
    with pytest.raises(UnsupportedProblem, match=r"12870 supports.*max_supports allows 12869"):
        sparseopt.solve(problem, backend="brute-force", options={"max_supports": 12869})


def test_an_optimum_of_zero_by_cancellation_is_verified(problem, optimum):
    shifted = STRS(A=problem.A - optimum * np.eye(16), a=problem.linear, d=8)
    result = sparseopt.solve(shifted, backend="brute-force")
    assert abs(result.objective) <= 1e-12
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_supports_that_contain_others_are_not_needed():
    """With d = D - 1 zero entries help nobody, and the optimum may use fewer than d."""
    problem = STRS(A=np.diag([1.0, 9.0, 2.0]), d=2)
    result = sparseopt.solve(problem, backend="brute-force")
    assert result.objective == 9.0
    assert np.count_nonzero(result.x) == 1
