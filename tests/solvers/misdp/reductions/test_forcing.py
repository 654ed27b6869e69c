"""Integers that a matrix forces: what is cut off holds no feasible point, as the checker sees."""

import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.generators.misdp import k_partitioning, network_design, truss_topology
from sparseopt.generators.misdp_graphs import line_switching
from sparseopt.problems import MISDPBuilder
from sparseopt.solvers.misdp.bounding.lower_bounds import Judge
from sparseopt.solvers.misdp.bounds import ConicMultipliers
from sparseopt.solvers.misdp.reductions.forcing import Forcing
from sparseopt.solvers.misdp.tree.integer_tree import IntegerTree

pytest.importorskip("clarabel", reason="Clarabel is not installed: sparseopt[misdp]")


def held_up(seed, q=5, size=3):
    """Integers from 0 to 2 (two of them from -1 to 0, taken away), so many that M is definite."""
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(q, size))
    sign = np.where(np.arange(q) < 2, -1.0, 1.0)
    model = MISDPBuilder("min")
    x = [
        model.variable(lower=-1.0 if s < 0 else 0.0, upper=0.0 if s < 0 else 2.0, integer=True)
        for s in sign
    ]
    units = [s * np.outer(v, v) for s, v in zip(sign, vectors, strict=True)]
    most = sum(u * (2.0 if s > 0 else -1.0) for u, s in zip(units, sign, strict=True))
    # A part of what all of them hold up together.
    level = 0.6 * np.linalg.eigvalsh(most)[0]
    model.semidefinite(*zip(x, units, strict=True), constant=-level * np.eye(size))
    model.objective(*((v, s) for v, s in zip(x, sign.tolist(), strict=True)))
    return model.build()


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(8))
def test_what_is_cut_off_holds_no_point(seed):
    problem, cuts = held_up(seed), 0
    forcing, judge = Forcing(problem), Judge(problem)
    ranges = [np.arange(a, b + 1.0) for a, b in zip(problem.lower, problem.upper, strict=True)]
    points = np.array(list(itertools.product(*ranges)))
    feasible = np.array([problem.residuals(x)["psd"] <= 1e-9 for x in points])
    for cut in forcing.cuts((problem.lower, problem.upper)):
        cuts += 1
        inside = (points[:, cut.column] >= cut.lower) & (points[:, cut.column] <= cut.upper)
        assert inside.any() and not (inside & feasible).any()
        low, high = problem.lower.copy(), problem.upper.copy()
        low[cut.column], high[cut.column] = cut.lower, cut.upper
        none = np.zeros((1, 0))
        assert judge.disproves((low, high), ConicMultipliers(none, none, cut.psd[None]))
    assert cuts


@pytest.mark.parametrize("seed", range(4))
def test_no_more_is_cut_off_than_one_step(seed):
    """One step nearer to the better end the matrix is semidefinite for some choice of the rest."""
    problem = held_up(seed)
    for cut in Forcing(problem).cuts((problem.lower, problem.upper)):
        best = np.where(problem.lower < 0.0, problem.lower, problem.upper)
        up = cut.upper < problem.upper[cut.column]
        best[cut.column] = cut.upper + 1.0 if up else cut.lower - 1.0
        assert problem.residuals(best)["psd"] <= 1e-9


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [0, 36, 75, 135, 141])
def test_leaves_cover_what_propagation_cuts_off_beside_it(seed):
    """At all but the first a bound that was derived is in the way of what is forced."""
    problem = held_up(seed)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    ranges = [np.arange(a, b + 1.0) for a, b in zip(problem.lower, problem.upper, strict=True)]
    points = [np.array(x) for x in itertools.product(*ranges)]
    least = min(problem.objective(x) for x in points if problem.residuals(x)["psd"] <= 1e-9)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(least)


def test_matrices_without_a_sign_force_nothing():
    problem = k_partitioning(seed=0, nodes=6)
    assert not list(Forcing(problem).cuts((problem.lower, problem.upper)))


def test_ends_that_are_not_known_force_nothing():
    problem = network_design(seed=0)
    box = np.where(problem.integer, problem.lower, -np.inf), problem.upper
    assert not list(Forcing(problem).cuts(box))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    "problem",
    [
        network_design(seed=1, nodes=8, candidates=15, k=9),
        line_switching(seed=1, nodes=7),
        truss_topology(seed=1, columns=3, rows=3),
    ],
    ids=["network", "lines", "truss"],
)
def test_trees_are_smaller_with_it(problem, monkeypatch):
    found = sparseopt.solve(problem, backend="misdp-bnb")
    assert (found.status, found.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    monkeypatch.setattr(IntegerTree, "_without_forced", lambda self, node, box: box)
    plain = sparseopt.solve(problem, backend="misdp-bnb")
    assert plain.objective == pytest.approx(found.objective, rel=1e-6)
    assert found.nodes < 0.9 * plain.nodes
