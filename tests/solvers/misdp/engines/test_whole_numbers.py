"""Problems of small whole numbers: optima of zero, indicators without ends, cones at their tips."""

import numpy as np
import pytest
from whole_number_misdps import draw_whole_misdp

from sparseopt import Status, Verdict, solve
from sparseopt.problems import MISDP, IndicatorConstraint, SecondOrderCone, SemidefiniteBlock


@pytest.mark.parametrize("begin", [0, pytest.param(60, marks=pytest.mark.thorough)])
def test_random_ones_are_solved_and_proven(begin):
    open_ = []
    for seed in range(begin, 60 + 5 * begin):
        result = solve(draw_whole_misdp(np.random.default_rng([2611, seed])))
        decided = result.status in (Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED)
        if not decided or result.verdict is not Verdict.VERIFIED:
            open_.append((seed, result.status.value, result.verdict.value))
    assert open_ == []


@pytest.mark.parametrize("cost", [0.0, 1.0])
def test_an_optimum_of_zero_has_no_gap(cost):
    # x >= -1 + y, y >= 1 in a cone: the least x is 0.
    problem = MISDP(
        c=[cost, 0.0],
        lower=[-3.0, 1.0],
        upper=[3.0, 3.0],
        blocks=[SemidefiniteBlock(np.array([[1.0, -1.0]]), F0=np.array([1.0]))],
    )
    result = solve(problem)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    assert result.bound == pytest.approx(0.0, abs=1e-9)


def test_what_costs_nothing_needs_no_multipliers():
    # Nothing is in the interior of the cone, and the relaxation proves nothing.
    cone = SecondOrderCone([[2.0], [2.0], [-1.0], [2.0]], [2.0, 2.0, -1.0, 0.0], rotated=True)
    result = solve(MISDP(c=[0.0], lower=[0.0], cones=[cone]))
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED


def test_a_disproof_has_as_few_digits_as_its_data():
    # 2 x + 2 y is at most -2, and at least 0; x and y have one end each.
    problem = MISDP(
        c=[-2.0, 0.0],
        A=[[2.0, 2.0]],
        row_lower=[-3.0],
        row_upper=[-2.0],
        lower=[-2.0, -np.inf],
        upper=[np.inf, 2.0],
        integer=[True, False],
        blocks=[SemidefiniteBlock(np.array([[2.0, 2.0]]))],
    )
    result = solve(problem)
    assert result.status is Status.INFEASIBLE and result.verdict is Verdict.VERIFIED


def test_a_gap_that_is_no_rounding_stays_one():
    # Costs of 1e-9 beside no others: a bound of -1e-9 is not 0.
    problem = MISDP(c=[1e-9], lower=[-1.0], upper=[0.0])
    result = solve(problem)
    assert result.objective == pytest.approx(-1e-9, rel=1e-6)
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("row", [(-4.0, -2.0), (1.0, 2.0)])
def test_what_an_indicator_leaves_without_an_end_is_unbounded(row):
    problem = MISDP(
        c=[-1.0, -1.0],
        lower=[0.0, -1.0],
        upper=[1.0, np.inf],
        integer=[True, True],
        indicators=[IndicatorConstraint(0, [0.0, 2.0], *row)],
    )
    result = solve(problem, time_limit=20.0)
    assert result.status is Status.UNBOUNDED and result.verdict is Verdict.VERIFIED


def test_unbounded_where_the_indicator_must_be_on():
    problem = MISDP(
        c=[0.0, -1.0],
        lower=[1.0, -1.0],
        upper=[1.0, np.inf],
        integer=[True, False],
        indicators=[IndicatorConstraint(0, [0.0, 2.0], lower=1.0)],
    )
    result = solve(problem, time_limit=20.0)
    assert result.status is Status.UNBOUNDED and result.verdict is Verdict.VERIFIED


def test_a_ray_whose_continuous_variables_move_further_than_its_integers():
    problem = MISDP(
        c=[-1.0, 0.0],
        A=[[7.0, -1.0]],
        row_upper=[-2.0],
        lower=[-1.0, 0.0],
        integer=[True, False],
    )
    result = solve(problem, time_limit=20.0)
    assert result.status is Status.UNBOUNDED and result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("rotated", [False, True])
def test_a_point_at_the_tip_of_a_cone_is_in_it(rotated):
    problem = MISDP(
        c=[1.0, 1.0, 1.0],
        lower=[-1.0] * 3,
        upper=[2.0] * 3,
        integer=[True] * 3,
        cones=[SecondOrderCone(3.0 * np.eye(3), [3.0, 3.0, 3.0], rotated=rotated)],
    )
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED and np.array_equal(result.x, [-1.0, -1.0, -1.0])


BOUNDARY = [
    [3903, 2481],
    [3903, 3644],
    [3904, 427],
    [3905, 236],
    [3905, 3331],
    [3906, 2131],
    [3908, 1313],
    [3908, 2079],
]
"""Infeasible: the only multipliers that prove it are on the boundary of their cones."""


@pytest.mark.parametrize("seed", BOUNDARY)
def test_multipliers_on_the_boundary_of_their_cones_prove_what_whole_numbers_ask(seed):
    """A variable without an end leaves no room for a shift by rounding; fractions need none."""
    result = solve(draw_whole_misdp(np.random.default_rng(seed)))
    assert result.status is Status.INFEASIBLE and result.verdict is Verdict.VERIFIED
