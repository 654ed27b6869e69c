"""Integers with bounds of a million and more, or none."""

import importlib.util
import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict, check
from sparseopt.problems import MISDP, MISDPBuilder

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)

BACKENDS = ["misdp-bnb", "misdp-oa"]
BIG = [1e6, 1e9, np.inf]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("big", BIG)
def test_the_nearest_point_of_a_lattice(big, backend):
    target = np.array([123456.3, -77.6, 31415.9])
    model = MISDPBuilder("min")
    k = model.variables(3, lower=-big, upper=big, integer=True)
    distance = model.variable()
    rows = [[(distance, 1.0)], *([(j, 1.0)] for j in k)]
    model.cone(rows, constant=np.append(0.0, -target))
    model.row((k, np.array([1.0, 2.0, -1.0])), lower=5.0)
    model.objective((distance, 1.0))
    result = sparseopt.solve(model.build(), backend=backend)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    np.testing.assert_array_equal(result.x[:3], np.rint(target))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("big", BIG)
def test_a_quadratic_objective_far_from_the_origin(big, backend):
    H, c = np.array([[2.0, 0.5], [0.5, 3.0]]), np.array([-3e5 + 0.5, 2.3e6])
    problem = MISDP(c=c, Q=H, integer=[0, 1], lower=[-big, -big], upper=[big, big])
    centre = np.rint(np.linalg.solve(H, -c))
    around = (centre + step for step in itertools.product(range(-3, 4), repeat=2))
    best = min(problem.objective(np.array(point)) for point in around)
    result = sparseopt.solve(problem, backend=backend)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    assert result.objective == best


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(6))
def test_far_minima_do_not_hang_on_the_last_digits_of_relaxations(seed, backend):
    """Costs of 1e12 hide some hundred units of the integers from a relaxation's tolerance."""
    rng = np.random.default_rng(seed)
    root = np.array([[2.0, 0.0], [0.5, 3.0]]) + 0.1 * rng.normal(size=(2, 2))
    H, c = root @ root.T, np.array([-3e5 + 0.5, 2.3e6]) + np.round(rng.normal(size=2) * 1e4, 3)
    problem = MISDP(c=c, Q=H, integer=[0, 1], lower=[-1e9, -1e9], upper=[1e9, 1e9])
    centre = np.rint(np.linalg.solve(H, -c))
    around = (centre + step for step in itertools.product(range(-3, 4), repeat=2))
    best = min(problem.objective(np.array(point)) for point in around)
    result = sparseopt.solve(problem, backend=backend)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    assert abs(result.objective - best) <= 1e-15 * abs(best)


@pytest.mark.parametrize("backend", BACKENDS)
def test_matrices_of_large_integers_are_judged_exactly(backend):
    """The largest k with k^2 <= 3.7e11 - j, and j of a thousandth: j at its bound."""
    model = MISDPBuilder("max")
    k, j = model.variables(2, lower=0.0, upper=1e6, integer=True)
    off, corner = np.array([[0.0, 1.0], [1.0, 0.0]]), np.diag([-1.0, 0.0])
    model.semidefinite((k, off), (j, corner), constant=np.diag([3.7e11, 1.0]))
    model.objective((k, 1.0), (j, 1e-3))
    problem = model.build()
    result = sparseopt.solve(problem, backend=backend, rel_gap=0.0)
    assert result.verdict is Verdict.VERIFIED and result.x.tolist() == [608275.0, 1e6]
    wrong = result.with_changes(x=np.array([608276.0, 1e6]), objective=609276.0, bound=609276.0)
    assert 608276**2 > 370_000_000_000 - 1_000_000
    assert check(problem, wrong).verdict is not Verdict.VERIFIED
