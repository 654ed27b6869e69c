"""Points that only rounding keeps from being feasible, and points that are not."""

import numpy as np
import pytest
import raw_data
from random_attacks import beyond_bounds

import sparseopt
from sparseopt.checking.parametric.evaluation.near import feasible_nearby
from sparseopt.checking.parametric.evaluation.point import primal_point
from sparseopt.problems import Pieces, PiecewiseLinearProgram

CANCELLING = [("lpd", "polynomial", 900_001), ("clime", "units", 900_004)]
LAM = 1e-10


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("model", "kind", "seed"), CANCELLING)
def test_values_of_lam_on_data_that_cancel_are_verified(model, kind, seed):
    """Their paths were, and the points at single lam were `unproven`."""
    problem, _ = raw_data.case(model, kind, seed)
    knots = np.asarray(sparseopt.solve(problem).path.knots)
    knots = knots[np.isfinite(knots) & (knots > 0.0)]
    lams = sorted(np.quantile(knots, [0.2, 0.5, 0.8]).tolist(), reverse=True)
    for asked in (lams, lams[-1]):
        result = sparseopt.solve(problem, lam=asked)
        assert result.verdict == "verified", result.check_messages
        for factor in (1.0 + 1e-6, 1.0 - 1e-6):
            lie = result.with_changes(x=result.x * factor)
            assert sparseopt.check(problem, lie).verdict != "verified"


def two_close_columns(rows, centre):
    A = np.array(rows, dtype=float)
    return PiecewiseLinearProgram(A, Pieces.absolute(np.ones(2)), Pieces.lam_band(np.array(centre)))


def test_a_point_whose_last_digits_alone_are_infeasible():
    """|1e8 (x_0 - x_1)| <= 1e-10 and |x_0 - 1/3| <= 1e-10: a last digit of x_1 is 5e-9."""
    program = two_close_columns([[1e8, -1e8], [1.0, 0.0]], [0.0, 1.0 / 3.0])
    x = np.array([1.0 / 3.0, np.nextafter(1.0 / 3.0, 1.0)])
    point = primal_point(program, x)
    cost = feasible_nearby(point, LAM)
    assert cost is not None
    assert 0.0 < cost < 1e-15


@pytest.mark.parametrize("apart", [1e-9, 1e-7])
def test_rows_that_exclude_each_other_have_no_point_nearby(apart):
    program = two_close_columns([[1e8, -1e8], [1e8, -1e8], [1.0, 0.0]], [0.0, apart, 1.0 / 3.0])
    point = primal_point(program, np.array([1.0 / 3.0, 1.0 / 3.0]))
    assert feasible_nearby(point, LAM) is None


def test_a_point_that_would_have_to_move_too_far_has_none_nearby():
    program = two_close_columns([[1e8, -1e8], [1.0, 0.0]], [0.0, 1.0 / 3.0])
    point = primal_point(program, np.array([1.0 / 3.0, 1.0 / 3.0 * (1.0 + 3e-9)]))
    assert feasible_nearby(point, LAM) is None


def test_a_coefficient_beyond_its_bound_is_not_rounding():
    """Beside two of 1e12 that cancel one is beyond its bound by 1e-6 of it, and no row minds."""
    phi = Pieces.absolute(np.ones(3)).within(np.full(3, -np.inf), np.array([1.0, np.inf, np.inf]))
    psi = Pieces.check_loss(np.array([3.0]))
    program = PiecewiseLinearProgram(np.array([[1.0, 1.0, -1.0]]), phi, psi)
    point = primal_point(program, np.array([1.0 + 1e-6, 1e12, 1e12]))
    assert feasible_nearby(point, 1.0) is None


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [0, 43, 299, 409])
def test_no_point_beyond_a_bound_is_verified(seed):
    for _, problem, false in beyond_bounds(np.random.default_rng(seed)):
        assert sparseopt.check(problem, false).verdict != "verified"


def test_coefficients_stay_in_their_domains():
    """The row asks for x_0 + x_1 = 2 + 1e-12, both are at most 1."""
    phi = Pieces.absolute(np.ones(2)).within(np.zeros(2), np.ones(2))
    psi = Pieces.lam_band(np.array([2.0 + 1e-12]), 0.0)
    program = PiecewiseLinearProgram(np.ones((1, 2)), phi, psi)
    point = primal_point(program, np.ones(2))
    assert feasible_nearby(point, 1.0) is None
