"""Bounds of coordinates by mixtures of a path's multipliers, and what they prove."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.optimize import linprog

import sparseopt
from sparseopt.checking.parametric.bases.layout import read_path
from sparseopt.checking.parametric.evaluation.singles import singles_of
from sparseopt.checking.parametric.multipliers.mixtures import Mixtures
from sparseopt.checking.parametric.multipliers.reach import Values, bounds_by_points, exact_margins
from sparseopt.problems import ParametricLP, Pieces, PiecewiseLinearProgram


def program(seed: int, m: int, n: int) -> ParametricLP:
    """Draw a program whose points are not bounded, and that has no optimum for small lam."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(m, n))
    b, b_bar = A @ rng.random(n) + rng.random(m), rng.random(m)
    return ParametricLP(A, b, b_bar, rng.normal(size=n), -np.abs(rng.normal(size=n)))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("seed", "m", "n"), [(0, 60, 90), (0, 120, 180), (1, 20, 30), (2, 60, 90), (3, 20, 30)]
)
def test_paths_are_proven_down_to_where_no_bound_is_left(seed, m, n):
    result = sparseopt.solve(program(seed, m, n))
    assert result.path.stopped_by == "unbounded_below"
    assert result.verdict == "verified", result.check_messages


def test_a_path_ends_just_above_the_last_lam_with_an_optimum():
    # min -x1 - x2 + lam (x1 + 2 x2) with x1 <= 1 + x2: bounded while 2 <= 3 lam.
    problem = ParametricLP([[1.0, -1.0]], [1.0], [0.0], [1.0, 1.0], [-1.0, -2.0])
    result = sparseopt.solve(problem)
    end = float(result.path.low[-1])
    assert result.path.stopped_by == "unbounded_below"
    assert 2.0 / 3.0 < end < 2.0 / 3.0 * (1.0 + 1e-9)
    assert result.verdict == "verified"
    assert result.objective == pytest.approx(1.0 - end, rel=1e-12)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("stated", [True, False])
def test_bounds_hold_whatever_the_multipliers_are(stated):
    """No point that is no worse than the optimum lies beyond, as linear programs say."""
    problem = program(2, 12, 18)
    result = sparseopt.solve(problem, check=False)
    canonical, path = problem.canonical(), result.path
    pieces, given = canonical.functions, read_path(canonical, path)
    if not stated:
        rng = np.random.default_rng(0)
        value = given.nu.value * (1.0 + 1e-4 * rng.normal(size=len(given.nu.value)))
        given = replace(given, nu=replace(given.nu, value=value))
    bounded = 0
    for s in range(2, len(path.low) - 2, 3):
        lams = float(path.low[s]), float(path.high[s])
        middle = 0.5 * sum(lams)
        low, mean, high = (-path.objective_at(lam) for lam in (lams[0], middle, lams[1]))
        values = Values((low, high), 2.0 * abs(low - 2.0 * mean + high))
        unknown = np.full(len(pieces), np.inf)
        bound = Mixtures(canonical, pieces, given).bounds(lams, values)(
            canonical, -unknown, unknown, unknown
        )
        for j in np.flatnonzero(np.isfinite(bound)):
            bounded += 1
            for lam in (lams[0], middle, lams[1]):
                c = problem.c + lam * problem.c_bar
                e = np.zeros(len(c))
                e[j] = -1.0
                farthest = linprog(
                    e,
                    A_ub=np.vstack([problem.A, -c]),
                    b_ub=np.append(problem.b + lam * problem.b_bar, 1e-9 - path.objective_at(lam)),
                )
                assert farthest.status == 0
                assert -farthest.fun <= bound[j] * (1.0 + 1e-9)
    assert bounded > 20


@pytest.mark.parametrize("sparse", [False, True])
def test_slacks_let_the_multipliers_of_their_rows_be_what_they_may_be_themselves(sparse):
    A = np.array([[2.0, 1.0, 3.0, 0.0], [1.0, -1.0, 0.0, -4.0]])
    problem = ParametricLP(
        sp.csr_array(A) if sparse else A,
        [1.0, 2.0],
        [0.0, 0.0],
        [-1.0, 1.0, -1.0, 2.0],
        [0.0, 0.0, 0.0, 0.0],
        form="equality",
    )
    # 3 is no power of two. Costs of -2 for the last: v <= -2 where v = 4 nu.
    found = singles_of(problem.canonical())
    assert found.columns.tolist() == [3]
    assert found.low.tolist() == [-np.inf, -np.inf]
    assert found.high.tolist() == [np.inf, -0.5]


@pytest.mark.parametrize("miss", [2.0**-60, 0.0, -(2.0**-60)])
def test_margins_of_106_bits_have_the_right_sign(miss):
    """Costs 1 + miss against v = 1, where one end of the slopes is infinite."""
    problem = ParametricLP([[1.0, 2.0]], [1.0], [0.0], [-1.0, 1.0], [miss, -miss])
    canonical = problem.canonical()
    pieces = canonical.functions
    v, margin = exact_margins(canonical, pieces, 1.0, np.array([-1.0]), np.array([0, 1]))
    assert v.tolist() == [1.0, 2.0]
    low, high = (pieces.slope[at] for at in (pieces.slope_ptr[:2], pieces.slope_ptr[1:3] - 1))
    assert np.isinf(low).all() != np.isinf(high).all()
    assert margin[0] == pytest.approx(-miss, rel=1e-8)
    assert margin[1] == pytest.approx(-3.0)


def with_slacks(given: ParametricLP) -> ParametricLP:
    """Return the same in equality form."""
    m = len(given.b)
    return ParametricLP(
        np.hstack([given.A, np.eye(m)]),
        given.b,
        given.b_bar,
        np.append(given.c, np.zeros(m)),
        np.append(given.c_bar, np.zeros(m)),
        form="equality",
    )


def with_moving_rows(given: ParametricLP) -> ParametricLP:
    """Return one whose right-hand sides rise and fall with lam."""
    b_bar = np.random.default_rng(7).normal(size=len(given.b))
    return ParametricLP(given.A, given.b, b_bar, given.c, given.c_bar)


def with_costs_alone(given: ParametricLP) -> ParametricLP:
    """Return one whose right-hand sides stay."""
    return ParametricLP(given.A, given.b, 0.0 * given.b_bar, given.c, given.c_bar)


def with_equations(given: ParametricLP) -> ParametricLP:
    """Return one without slacks."""
    rng = np.random.default_rng(9)
    b, b_bar = (given.A @ rng.random((given.A.shape[1], 2))).T
    return ParametricLP(given.A, b, 0.1 * b_bar, given.c, given.c_bar, form="equality")


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [2, 4, 8])
@pytest.mark.parametrize(
    "change", [with_slacks, with_moving_rows, with_costs_alone, with_equations]
)
def test_paths_of_other_forms_are_proven(change, seed):
    result = sparseopt.solve(change(program(300 + seed, 30, 45)))
    assert result.verdict == "verified", result.check_messages


def test_rounding_errors_of_large_multipliers_count_in_what_they_bound():
    """x3 = x1 / 4 with x1 = x2 in [0, 4], no costs: beside 2^53 the multiplier 1/4 is lost."""
    A = np.array([[-1.0, 1.0, 0.0], [-1.0, 0.0, 4.0], [1.0, -1.0, 0.0]])
    phi = Pieces.free(3).within(np.zeros(3), np.array([4.0, 4.0, np.inf]))
    problem = PiecewiseLinearProgram(A, phi, Pieces.free(3).within(np.zeros(3), np.zeros(3)))
    assert (A @ [4.0, 4.0, 1.0] == 0.0).all()
    known = np.array([4.0, 4.0, np.inf, 0.0, 0.0, 0.0])
    for large in (0.0, 2.0**20, 2.0**53):
        points = [(1.0, np.array([large, 0.25, large]))]
        bounds = bounds_by_points(problem, problem.functions, points, Values((0.0,)), known)
        assert bounds[2] >= 1.0, large
        assert np.isfinite(bounds[2])
