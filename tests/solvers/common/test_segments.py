"""From bases to a path, on a problem whose path is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from sparseopt.problems import DantzigSelector, ParametricLP, Pieces, PiecewiseLinearProgram
from sparseopt.solvers.common.segments import affine_solution, path_from_codes

Y = np.array([3.0, -2.0, 0.5])
"""With X = I the Dantzig selector is soft thresholding of y at lam."""


def soft_threshold(lam):
    return np.sign(Y) * np.maximum(np.abs(Y) - lam, 0.0)


def bases():
    """Variable j enters at lam = abs(y_j), to the side of y_j; its row goes to the kink there."""
    codes0 = np.array([1, 1, 1, 2, 2, 2], dtype=np.int16)
    changed = np.array([0, 3, 1, 4, 2, 5])
    change_code = np.array([2, 1, 0, 3, 2, 1], dtype=np.int16)
    return codes0, np.array([0, 0, 2, 4, 6]), changed, change_code


def path(count=4):
    codes0, ptr, changed, change_code = bases()
    low, high = np.array([3.0, 2.0, 0.5, 0.0]), np.array([np.inf, 3.0, 2.0, 0.5])
    end = ptr[count]
    return path_from_codes(
        DantzigSelector(np.eye(3), Y),
        low[:count],
        high[:count],
        codes0,
        ptr[: count + 1],
        changed[:end],
        change_code[:end],
        "lam_min",
    )


@pytest.mark.parametrize("lam", [7.0, 3.0, 2.5, 2.0, 1.0, 0.5, 0.2, 0.0])
def test_soft_thresholding(lam):
    found, _ = path()
    assert np.allclose(found.at(lam), soft_threshold(lam), rtol=0.0, atol=1e-15)
    assert found.objective_at(lam) == pytest.approx(np.abs(soft_threshold(lam)).sum(), abs=1e-15)
    # A row at its lower kink pushes theta up: nu = -sign(theta).
    inside = np.abs(Y) > lam
    assert np.array_equal(found.dual_at(lam), np.where(inside, -np.sign(Y), 0.0))


def test_a_segment_without_basic_variables():
    found, certificate = path(count=1)
    assert not found.at(3.0).any()
    assert found.theta.ptr.tolist() == [0, 0]
    assert certificate.arrays["change_ptr"].tolist() == [0, 0]


def test_a_coefficient_is_zero_where_the_next_segment_holds_it_there():
    """A knot that is off by one rounding leaves none behind in the coefficient."""
    problem = DantzigSelector(np.eye(3), np.array([0.1, 0.2, 0.3]))
    on, off = np.array([2, 1, 1, 1, 2, 2]), np.array([1, 1, 1, 2, 2, 2])
    knot = float(np.nextafter(0.1, 1.0))
    found, _ = path_from_codes(
        problem, [knot, 0.05], [1.0, knot], on, [0, 0, 2], [0, 3], off[[0, 3]], "lam_min"
    )
    assert found.at(knot)[0] == 0.0
    assert found.at(0.5)[0] == pytest.approx(0.1 - 0.5)


def test_the_affine_pair_of_a_basis():
    codes = np.array([2, 1, 1, 1, 2, 2])
    theta0, theta1, nu0, nu1 = affine_solution(DantzigSelector(np.eye(3), Y).canonical(), codes)
    assert theta0.tolist() == [3.0, 0.0, 0.0]
    assert theta1.tolist() == [-1.0, 0.0, 0.0]
    assert nu0.tolist() == [-1.0, 0.0, 0.0]
    assert nu1.tolist() == [0.0, 0.0, 0.0]


def test_the_objective_is_quadratic_where_kinks_and_slopes_move():
    """Maximise (1 + lam) x subject to x <= 2 + 3 lam."""
    problem = ParametricLP(np.ones((1, 1)), [2.0], [3.0], [1.0], [1.0])
    found, _ = path_from_codes(problem, [0.5], [4.0], [2, 1], [0, 0], [], [], "lam_min")
    for lam in (0.5, 1.0, 4.0):
        assert found.objective_at(lam) == pytest.approx((1 + lam) * (2 + 3 * lam), rel=1e-15)


def test_kinks_of_variables_and_slopes_of_rows_enter_the_kernel():
    """min abs(theta_0 - 1) + abs(theta_1) + 2 abs(r_0 - 4) + r_1, theta_0 held at its kink."""
    A = np.array([[1.0, 2.0], [1.0, -1.0]])
    program = PiecewiseLinearProgram(
        A,
        Pieces.uniform([np.array([1.0, 0.0])], [-1.0, 1.0], n=2),
        Pieces.uniform([np.array([4.0, 0.0])], [np.array([-2.0, 0.25]), np.array([2.0, 0.25])]),
    )
    codes = np.array([1, 2, 1, 0])
    theta, _, nu, _ = affine_solution(program, codes)
    assert theta.tolist() == [1.0, 1.5]
    # Stationarity of theta_1: 1 + 2 nu_0 - 0.25 = 0.
    assert nu.tolist() == [-0.375, 0.25]
    assert program.value(theta, 1.0) == pytest.approx(program.dual_value(nu, 1.0), rel=1e-15)


def test_a_singular_kernel_is_an_error():
    program = DantzigSelector(np.diag([1.0, 0.0, 1.0]), Y).canonical()
    with pytest.raises(np.linalg.LinAlgError, match="ingular"):
        affine_solution(program, np.array([1, 2, 1, 2, 1, 2]))


def test_a_wrong_number_of_kinks_is_an_error():
    program = DantzigSelector(np.eye(3), Y).canonical()
    with pytest.raises(np.linalg.LinAlgError, match="not exactly p"):
        affine_solution(program, np.array([2, 2, 1, 1, 2, 2]))


def test_evidence_for_the_ends_goes_into_the_certificate():
    problem = DantzigSelector(np.eye(3), Y)
    codes0 = bases()[0]
    _, certificate = path_from_codes(
        problem,
        [3.0],
        [5.0],
        codes0,
        [0, 0],
        [],
        [],
        "infeasible_below",
        farkas=np.ones(3),
        ray_above=np.zeros(3),
    )
    assert certificate.values == {"end": "infeasible_below"}
    assert certificate.arrays["farkas"].tolist() == [1.0, 1.0, 1.0]
    assert certificate.arrays["ray_above"].tolist() == [0.0, 0.0, 0.0]
