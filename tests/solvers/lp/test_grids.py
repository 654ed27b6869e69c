"""Grids of lam without an optimum, and grids of matrix problems, by every backend of LPs."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import CLIME, CompressedSensing, ParametricLP
from sparseopt.registry import get_backend

BACKENDS = ["homotopy", "highs", "highs-ccg", "scip", "gurobi", "copt", "xpress", "cvxpy"]
NOWHERE = {
    # Unbounded at every lam, from points that are feasible at one lam only.
    "points apart": (
        ParametricLP([[1.0, -1.0]], [1.0], [-2.0], [-1.0, 2.0], [0.0, 0.0], form="equality"),
        [3.0, 0.9, 0.0],
        Status.UNBOUNDED,
    ),
    "unbounded": (
        ParametricLP([[-1.0]], [0.0], [0.0], [1.0], [0.0]),
        [3.0, 1.0],
        Status.UNBOUNDED,
    ),
    "infeasible": (CompressedSensing([[0.0]], [1.0]), [0.5, 0.2], Status.INFEASIBLE),
    # Feasible between 1 and 2 alone: no one multiplier is a proof for both values.
    "infeasible on both sides": (
        ParametricLP([[1.0], [1.0]], [2.0, -1.0], [-1.0, 1.0], [-1.0], [0.0]),
        [3.0, 0.5],
        Status.INFEASIBLE,
    ),
}


@pytest.fixture(params=BACKENDS)
def backend(request):
    """The name of each backend; one that is not available is skipped with the reason."""
    availability = get_backend(request.param).availability()
    if not availability.available:
        pytest.skip(availability.reason)
    return request.param


@pytest.mark.parametrize("name", NOWHERE)
def test_a_grid_without_an_optimum_is_proven_so(backend, name):
    problem, lam, status = NOWHERE[name]
    result = sparseopt.solve(problem, backend=backend, lam=lam)
    assert result.status is status
    assert result.verdict is Verdict.VERIFIED


def test_a_proof_for_each_value_of_a_grid_is_checked_for_each():
    problem, lam, _ = NOWHERE["points apart"]
    result = sparseopt.solve(problem, backend="highs", lam=lam)
    arrays = {name: rows.copy() for name, rows in result.certificate.arrays.items()}
    assert arrays["x"].shape == (3, 2)
    assert sparseopt.check(problem, result).verdict is Verdict.VERIFIED
    for name, row in (("x", 1), ("ray", 2)):
        wrong = {**arrays, name: arrays[name].copy()}
        wrong[name][row] = 0.0
        forged = result.with_changes(certificate=sparseopt.Certificate("ray", wrong))
        assert sparseopt.check(problem, forged).verdict is Verdict.REFUTED
    short = {name: rows[:2] for name, rows in arrays.items()}
    forged = result.with_changes(certificate=sparseopt.Certificate("ray", short))
    assert sparseopt.check(problem, forged).verdict is Verdict.REFUTED


@pytest.mark.parametrize("lam", [[0.5], [0.9, 0.5, 0.1]])
def test_clime_on_a_grid(lam):
    S = np.array([[1.0, 0.5, 0.2], [0.5, 1.0, 0.3], [0.2, 0.3, 1.0]])
    ours = sparseopt.solve(CLIME(S), lam=lam)
    assert ours.status is Status.OPTIMAL
    assert ours.verdict is Verdict.VERIFIED
    assert ours.path.knots.tolist() == lam
    other = sparseopt.solve(CLIME(S), lam=lam, backend="highs")
    np.testing.assert_allclose(ours.path.values, other.path.values, rtol=1e-9)


def test_clime_on_a_grid_that_ends_before_its_last_value():
    problem = CLIME(np.ones((2, 2)))
    result = sparseopt.solve(problem, lam=[0.9, 0.7, 0.2])
    assert result.verdict is Verdict.VERIFIED
    assert result.path.knots.tolist() == [0.9, 0.7]
    assert result.path.stopped_by == "infeasible_below"
    below = sparseopt.solve(problem, lam=[0.3, 0.2])
    assert (below.status, below.verdict) == (Status.INFEASIBLE, Verdict.VERIFIED)
