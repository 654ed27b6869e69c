"""The convex integer program: a valid bound, whoever solves it, and what it is a bound of."""

import numpy as np
import pytest
from small_problems import small_problems

import sparseopt
from sparseopt import Status, Verdict, generators
from sparseopt.problems import STRS

pytest.importorskip("pyscipopt")


def solve(problem, **options):
    return sparseopt.solve(problem, backend="strs-cip", options=options)


@pytest.mark.thorough
def test_bounds_hold_on_small_problems_of_all_kinds():
    for kind, problem in small_problems(3, 11, 6):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        result = solve(problem)
        slack = 1e-12 * max(1.0, np.abs(problem.A).max(), np.abs(problem.linear).max())
        assert result.objective <= optimum + slack, kind
        assert result.bound >= optimum - slack, kind
        assert result.status in (Status.CONVERGED, Status.OPTIMAL), kind
        assert result.verdict is not Verdict.REFUTED, kind


@pytest.mark.thorough
def test_scip_and_gurobi_agree():
    pytest.importorskip("gurobipy")
    rng = np.random.default_rng(0)
    M = rng.normal(size=(8, 8))
    problem = STRS(A=M + M.T, a=rng.normal(size=8), d=3)
    scip, gurobi = solve(problem), solve(problem, solver="gurobi")
    assert scip.bound == pytest.approx(gurobi.bound, rel=1e-5)
    assert "directions" in scip.raw_status


@pytest.mark.thorough
def test_more_parts_are_tighter():
    M = np.random.default_rng(1).normal(size=(8, 8))
    problem = STRS(A=M + M.T, d=3)
    coarse, fine = solve(problem, parts=1), solve(problem, parts=6)
    assert fine.bound < coarse.bound - 1e-3


@pytest.mark.thorough
def test_it_is_a_relaxation_beside_the_semidefinite_one():
    """The bound of two-sample data is within a few percent, where no direction is convex."""
    problem = generators.generate("gaussian-mixture", D=20, d=5)
    result = solve(problem)
    best = sparseopt.solve(problem, backend="strs-bnb", check=False).objective
    assert "0 directions" in result.raw_status
    assert best <= result.bound <= 1.01 * best
    assert result.status is Status.CONVERGED
