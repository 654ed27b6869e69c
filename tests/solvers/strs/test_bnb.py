"""The branch and bound: optima that are known otherwise, proofs, limits, symmetries."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from against_enumeration import faults
from small_problems import small_problems
from test_truncation import KNOWN
from thorough import first

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.errors import ParamError
from sparseopt.problems import STRS


def solve(problem, **question):
    return sparseopt.solve(problem, backend="strs-bnb", **question)


def gaussian(D, d, seed=0, linear=True):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(D, D))
    return STRS(A=M + M.T, a=rng.normal(size=D) * linear, d=d)


def noise(D, n, d, seed=0):
    """Return a sample correlation matrix of independent variables: all supports are similar."""
    return STRS.from_data(np.random.default_rng(seed).normal(size=(n, D)), d)


@pytest.mark.thorough
def test_against_enumeration():
    """A part of what the script against_enumeration.py runs."""
    wrong = [(kind, p, found) for kind, p in small_problems(1, 55, 9) if (found := faults(p))]
    assert wrong == []


def test_auto_takes_it():
    assert sparseopt.solve(gaussian(5, 2)).backend == "strs-bnb"


@pytest.mark.parametrize(("data", "d"), KNOWN)
def test_known_optima(data, d):
    X = getattr(pytest.importorskip("sklearn.datasets"), data)().data
    result = solve(STRS.from_data(X, d))
    assert result.objective == pytest.approx(KNOWN[data, d], abs=5e-9)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-9


def _public():
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    if folder is None:
        return []
    with (Path(folder) / "sparse-pca" / "reference.csv").open() as stream:
        return [(r["matrix"], int(r["d"]), float(r["optimal"])) for r in csv.DictReader(stream)]


@pytest.mark.thorough(after=1)
@pytest.mark.skipif(not _public(), reason="SPARSEOPT_EXTRA_DATA is not set: the data live there")
@pytest.mark.parametrize(("matrix", "d", "optimum"), _public())
def test_public_matrices(matrix, d, optimum):
    folder = Path(os.environ["SPARSEOPT_EXTRA_DATA"]) / "sparse-pca"
    S = np.loadtxt(folder / f"{matrix}.csv", delimiter=",")
    result = solve(STRS.from_covariance(S, d))
    assert result.objective == pytest.approx(optimum, rel=2e-7)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-9


@pytest.mark.thorough
@pytest.mark.parametrize("linear", [True, False])
def test_row_bounds_prove_what_enumeration_could_not(linear):
    """Eighteen million supports."""
    result = solve(gaussian(40, 7, linear=linear))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-9
    assert (result.certificate.arrays["pair"] >= 0).any()


@pytest.mark.parametrize("nodes", first(1, [2, 1, 5, 20]))
def test_interrupted_bounds_hold(nodes):
    problem = noise(18, 60, 6)
    optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
    result = solve(problem, node_limit=nodes)
    assert result.objective <= optimum + 1e-12
    assert result.bound >= optimum - 1e-12
    assert result.verdict is Verdict.VERIFIED
    if result.status is not Status.OPTIMAL:
        assert (result.status, result.limit) == (Status.FEASIBLE, Limit.NODE)


@pytest.mark.thorough
@pytest.mark.parametrize("backend", ["strs-bnb", "strs-oa", "strs-admm"])
def test_progress_is_told_in_the_units_of_the_problem(backend):
    base = noise(50, 80, 20)
    problem = STRS(A=3e4 * base.A, d=20)
    told = []
    result = sparseopt.solve(
        problem, backend=backend, on_progress=told.append, time_limit=1.5, check=False
    )
    assert told
    for progress in told:
        assert 0.5 * result.objective <= progress.objective <= (1.0 + 1e-9) * result.objective
        assert (1.0 - 1e-9) * result.objective <= progress.bound <= 2.0 * result.objective


@pytest.mark.thorough
def test_time_limits_leave_valid_bounds():
    problem = noise(40, 80, 12)
    best = solve(problem, time_limit=0.5)
    for seconds in (0.0, 0.02, 0.1, 0.3):
        result = solve(problem, time_limit=seconds)
        assert result.verdict is Verdict.VERIFIED
        assert result.bound >= best.objective
        assert best.bound >= result.objective


def test_a_wide_gap_is_enough_where_it_was_asked_for():
    problem = noise(40, 80, 10)
    result = solve(problem, rel_gap=0.2)
    assert result.status is Status.OPTIMAL
    assert 1e-6 < result.gap <= 0.2
    assert result.verdict is Verdict.VERIFIED


def test_a_certificate_that_is_too_large_is_left_out_with_a_note():
    # More supports than the checker would look at by itself.
    result = solve(gaussian(24, 6), options={"certificate_numbers": 10})
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.UNPROVEN)
    assert any("certificate_numbers" in note for note in result.notes)


@pytest.mark.thorough
def test_a_warm_start_is_where_the_search_starts():
    """With a node limit of 1 and one truncation, the support that was given is not lost."""
    problem = noise(40, 80, 12)
    best = solve(problem, time_limit=1.0)
    for start in (best, best.x):
        assert solve(problem, warm_start=start, time_limit=0.0).objective >= best.objective - 1e-12
    with pytest.raises(ParamError, match=r"an array of shape \(40,\)"):
        solve(problem, warm_start=np.ones(3), time_limit=0.0)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("factor", [1e-200, 1e-8, 1e9, 1e200])
def test_scaling(factor):
    problem = gaussian(12, 4)
    scaled = STRS(A=problem.A * factor, a=problem.linear * factor, d=4)
    result = solve(scaled)
    assert result.objective / factor == pytest.approx(solve(problem).objective, rel=1e-12)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_symmetries():
    """Permutations, signs, a multiple of the identity, a variable that is never worth it."""
    problem = gaussian(14, 4)
    value = solve(problem).objective
    rng = np.random.default_rng(1)
    order, sign = rng.permutation(14), rng.choice([-1.0, 1.0], size=14)
    A = (problem.A * np.outer(sign, sign))[np.ix_(order, order)]
    a = (problem.linear * sign)[order]
    assert solve(STRS(A=A, a=a, d=4)).objective == pytest.approx(value, rel=1e-12)
    shifted = STRS(A=problem.A - 5.0 * np.eye(14), a=problem.linear, d=4)
    assert solve(shifted).objective == pytest.approx(value - 5.0, rel=1e-11)
    wider = np.zeros((15, 15))
    wider[:14, :14], wider[14, 14] = problem.A, -100.0
    more = STRS(A=wider, a=np.append(problem.linear, 0.0), d=4)
    assert solve(more).objective == pytest.approx(value, rel=1e-12)


def test_an_optimum_of_zero_by_cancellation_is_optimal():
    problem = gaussian(16, 5)
    value = solve(problem).objective
    result = solve(STRS(A=problem.A - value * np.eye(16), a=problem.linear, d=5))
    assert abs(result.objective) <= 1e-12 * value
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


def test_an_optimum_of_zero_without_terms_is_optimal():
    """All terms of the objective vanish there, so nothing but the data gives a scale."""
    A = np.array([[-4.0, 3.0, 2.0], [3.0, 0.0, 1.0], [2.0, 1.0, -2.0]])
    for problem in (STRS(A=A, d=1), STRS(A=np.pad(A, (0, 5), constant_values=-7.0), d=1)):
        result = solve(problem)
        assert result.objective == 0.0
        assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.parametrize("d", [1, 4, 7, 14])
def test_ties(d):
    """All supports are equally good."""
    for A in (np.ones((14, 14)), np.eye(14), np.zeros((14, 14)), -np.ones((14, 14))):
        result = solve(STRS(A=A, d=d))
        assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
