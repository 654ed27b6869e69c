"""The outer approximation: cuts that are exact on their support, agreement, valid bounds."""

import itertools

import numpy as np
import pytest
from small_problems import small_problems

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.solvers.strs.incumbent import refit
from sparseopt.solvers.strs.multipliers import Multipliers, Proof
from sparseopt.solvers.strs.support_cuts import exact_pairs


def solve(problem, master="highs", **question):
    return sparseopt.solve(problem, backend="strs-oa", options={"master": master}, **question)


@pytest.mark.parametrize("linear", [True, False])
def test_cuts_are_exact_on_their_support_and_valid_on_all_others(linear):
    rng = np.random.default_rng(2)
    n, d = 8, 3
    M, a = rng.normal(size=(n, n)), rng.normal(size=n) * linear
    A = M + M.T
    S = np.array([1, 4, 6])
    pairs = exact_pairs(A, a, S)
    assert len(pairs) > 1
    for x in pairs:
        pair = Multipliers.of_point(A, a, np.arange(n), x)
        terms = Proof.at(pair, np.arange(n), np.arange(0), d).terms
        for T in itertools.combinations(range(n), d):
            value = refit(A, a, np.array([T]))[0].value
            bound = pair.spectral + terms[list(T)].sum()
            assert bound >= value
            if set(T) == set(S):
                assert bound == pytest.approx(value, rel=1e-10, abs=1e-10)


@pytest.mark.parametrize("master", ["highs", "scip"])
def test_agreement_with_enumeration(master):
    if master == "scip":
        pytest.importorskip("pyscipopt")
    for kind, problem in small_problems(7, 22, 8):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        result = solve(problem, master, rel_gap=1e-9)
        size = max(1.0, np.abs(problem.A).max(), np.abs(problem.linear).max())
        assert result.status is Status.OPTIMAL, kind
        assert result.objective == pytest.approx(optimum, abs=1e-8 * size), kind
        assert result.bound >= optimum - 1e-12 * size, kind
        assert result.verdict is Verdict.VERIFIED, kind


@pytest.mark.parametrize("master", ["highs", "scip"])
def test_masters_settle_what_the_root_leaves(master):
    if master == "scip":
        pytest.importorskip("pyscipopt")
    problem = generators.generate("mean-shift", D=20, d=5, seed=1)
    result = solve(problem, master)
    best = sparseopt.solve(problem, backend="strs-bnb", check=False)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best.objective, rel=1e-9)
    assert result.iterations > 0
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    "question", [{"time_limit": 0.0}, {"time_limit": 0.3}, {"iteration_limit": 2}]
)
def test_interrupted_bounds_hold(question):
    problem = generators.generate("mean-shift", D=40, d=5, seed=1)
    optimum = sparseopt.solve(problem, backend="strs-bnb", check=False).objective
    result = solve(problem, **question)
    assert result.status is Status.FEASIBLE
    assert result.limit is (Limit.TIME if "time_limit" in question else Limit.ITERATION)
    assert result.objective <= optimum + 1e-12
    assert result.bound >= optimum - 1e-12
