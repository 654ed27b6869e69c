"""The relaxation of robust subspaces by CVXPY: the same value and bound as our own engine's."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict, generators
from sparseopt.problems import MomentSubspace, RobustSubspace

pytest.importorskip("cvxpy")


def relaxed(problem, **more):
    return sparseopt.solve(problem, backend="cvxpy-relaxation", **more)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("centre", [None, "estimate"])
@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e5])
def test_value_and_bound_are_those_of_reaper(centre, unit):
    noisy = generators.generate("haystack", N=60, n=6, k=2, noise=0.1, inliers=0.7)
    problem = RobustSubspace(unit * (noisy.X + 1.0), k=2, centre=centre)
    ours, other = sparseopt.solve(problem, backend="reaper"), relaxed(problem)
    assert (other.status, other.verdict) == (Status.CONVERGED, Verdict.VERIFIED)
    assert other.objective == pytest.approx(ours.objective, rel=1e-4)
    assert other.bound == pytest.approx(ours.bound, rel=1e-4)
    assert other.bound < other.objective


@pytest.mark.thorough
def test_exact_inliers_are_proven():
    rng = np.random.default_rng(3)
    W = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    X = np.vstack([rng.normal(size=(40, 2)) @ W.T, rng.normal(size=(8, 6))])
    result = relaxed(RobustSubspace(X, k=2))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert np.linalg.norm(result.x @ result.x.T - W @ W.T) < 1e-7


def test_other_and_larger_problems_are_refused():
    X = np.random.default_rng(0).normal(size=(900, 50))
    for problem, word in ((RobustSubspace(X, k=2), "reaper"), (MomentSubspace(X, k=2), "stiefel")):
        with pytest.raises(sparseopt.UnsupportedProblem, match=f"use {word}"):
            relaxed(problem)
