"""Multipliers that rounding of the data has put outside their slopes."""

import tracemalloc
from fractions import Fraction

import numpy as np
import pytest
from multiplier_attacks import (
    at_the_ends,
    by_two_rows,
    growing,
    moved,
    multiplier_attacks,
    steeper,
)
from thorough import first

from sparseopt import generators, solve
from sparseopt.checking import check
from sparseopt.checking.parametric.evaluation.rational import Budget, solve_near
from sparseopt.checking.parametric.multipliers.pushed import Outside, pushed_inside
from sparseopt.checking.parametric.multipliers.reach import Charging, Span
from sparseopt.problems import ParametricLP, QuantileLasso
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.result import Verdict


@pytest.mark.parametrize("seed", [1928, 2240, 3104])
def test_paths_whose_basis_is_optimal_up_to_rounded_data_are_proven(seed):
    result = solve(generators.generate("parametric-lp", seed=seed, m=6, n=8))
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.parametrize("budget", [Budget(), None])
@pytest.mark.parametrize("lam", [0.0, np.inf])
@pytest.mark.parametrize(("slope", "inside"), [(1.0, [True, False, True]), (0.0, [False] * 3)])
def test_only_what_rounding_explains_is_pushed_inside(budget, lam, slope, inside):
    """The reduced cost of x is -miss, and may be moved by the row, if it has x with a slope."""
    problem = ParametricLP([[slope, 1.0]], [1.0], [0.0], [1.0, 1.0 - 2e-6], [1.0, 1.0 - 2e-6])
    program = problem.canonical()
    pieces = Pieces.concatenate(program.phi, program.psi)
    miss, needed = np.array([1e-15, 1e-7, 1e-14]), np.array([[True, False]] * 3)
    spans = [Span.one(lam, 0.0, enough) for enough in (1e-6, 1e-6, 1e-7)]
    ends = Outside(spans, np.full(3, lam), 1.0 - miss[:, None], needed)
    assert pushed_inside(program, pieces, ends, budget).tolist() == inside


def test_nothing_is_pushed_by_more_than_may_be_lost():
    """x is at its limit of 1e9, so that moving its multiplier by 1e-15 costs 1e-6."""
    problem = ParametricLP([[1.0, 1.0]], [1e9], [0.0], [1.0, 1.0 - 2e-6], [1.0, 1.0 - 2e-6])
    program = problem.canonical()
    pieces = Pieces.concatenate(program.phi, program.psi)
    spans = [Span.one(0.0, 0.0, enough) for enough in (1e-3, 1e-12)]
    needed, nu = np.array([[True, False]] * 2), np.full((2, 1), 1.0 - 1e-15)
    ends = Outside(spans, np.zeros(2), nu, needed)
    assert pushed_inside(program, pieces, ends).tolist() == [True, False]


def test_a_push_is_judged_where_it_is_charged():
    """At lam = 0 a step of 1e-15 costs 1e-15; in the middle of the range, half of it, 1e-3."""
    problem = ParametricLP([[1.0, 1.0]], [1.0], [2.0], [1.0, 1.0 - 2e-6], [1.0, 1.0 - 2e-6])
    program = problem.canonical()
    pieces = Pieces.concatenate(program.phi, program.psi)
    far = 1e12
    spans = [
        Span((0.0, far), (0.0, far / 2.0), (1.0, far), enough, 2.0 * far)
        for enough in [(1e-9, 1e3), (1e-9, 1e-9), (1e-22, 1e3)]
    ]
    nu, needed = np.full((3, 1), 1.0 - 1e-15), np.array([[True, False]] * 3)
    ends = Outside(spans, np.zeros(3), nu, needed)
    assert pushed_inside(program, pieces, ends).tolist() == [True, False, False]


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(2, range(20)))
def test_no_multiplier_that_is_off_a_little_hides_a_better_point(seed):
    kinds = set()
    for kind, problem, claim in multiplier_attacks(np.random.default_rng(seed)):
        kinds.add(kind)
        assert check(problem, claim).verdict is not Verdict.VERIFIED, kind
    assert len(kinds) == 6


@pytest.mark.parametrize(
    ("family", "lam"), [(at_the_ends, 0.5), (by_two_rows, 0.5), (growing, 1e10)]
)
def test_attacks_by_bounds_are_false(family, lam):
    """With the same y, x up to its limit and w = x earn a percent more at least."""
    problem, claim = family(np.random.default_rng(1))
    at = claim.path.at(lam)
    x = (problem.b + lam * problem.b_bar)[1:].min()
    better = at + np.array([0.0, x, x])
    assert max(problem.residuals(at, lam).values()) == 0.0
    assert max(problem.residuals(better, lam).values()) <= 1e-15 * x
    assert problem.objective(better, lam) > 1.01 * problem.objective(at, lam)


@pytest.mark.parametrize(
    ("family", "lam", "ray"), [(moved, 0, [1, 1, 0, 0]), (steeper, 2**52, [0, 1, 1])]
)
def test_attacks_by_costs_are_false(family, lam, ray):
    """There is no optimum: the direction leaves all rows as they are, and earns something."""
    problem, _ = family(np.random.default_rng(1))
    assert not (problem.A @ np.array(ray)).any()
    costs = zip(problem.c.tolist(), problem.c_bar.tolist(), ray, strict=True)
    assert sum((Fraction(c) + lam * Fraction(rate)) * step for c, rate, step in costs) > 0


@pytest.mark.thorough
def test_a_check_holds_no_numbers_of_all_segments_and_coordinates_at_once():
    problem = generators.generate("dantzig-4.3", n=40, d=20_000, density=5e-4, seed=1)
    result = solve(problem, lam_min=0.0, max_knots=80, check=False)
    assert check(problem, result).verdict is Verdict.VERIFIED
    tracemalloc.start()
    try:
        check(problem, result)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < len(result.path.knots) * 2 * 20_000 * 8  # one number for each


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("seed", "degenerate"), [(0, False), (2, False), (3, False), (2, True), (4, True)]
)
def test_integers_put_multipliers_at_ends_exactly_also_where_slacks_set_them(seed, degenerate):
    # Costs are whole multiples of each other, so that reduced costs vanish on whole segments.
    rng = np.random.default_rng(seed)
    m, n = 20, 30
    A = np.rint(3.0 * rng.normal(size=(m, n)))
    x = rng.random(n) * (rng.random(n) < 0.5) if degenerate else rng.random(n)
    b = np.rint(A @ x + (rng.random(m) * (rng.random(m) < 0.6) if degenerate else rng.random(m)))
    b_bar, c = np.rint(3.0 * rng.random(m)), np.rint(3.0 * rng.normal(size=n))
    c_bar = np.rint(-2.0 * np.abs(rng.normal(size=n)))
    problem = ParametricLP(
        np.hstack([A, np.eye(m)]),
        b,
        b_bar,
        np.append(c, np.zeros(m)),
        np.append(c_bar, np.zeros(m)),
        form="equality",
    )
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.parametrize("max_knots", [2, 4, 5])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_the_multiplier_of_an_equality_changes_its_sign_is_a_knot(seed, max_knots):
    rng = np.random.default_rng(seed)
    A, x = rng.normal(size=(12, 24)), rng.random(24)
    costs = rng.normal(size=24), -np.abs(rng.normal(size=24))
    problem = ParametricLP(A, A @ x, np.zeros(12), *costs, form="equality")
    result = solve(problem, max_knots=max_knots)
    assert len(result.path.low) == max_knots
    assert result.verdict is Verdict.VERIFIED, result.check_messages


def test_a_fit_without_an_error_needs_no_multipliers():
    # Nothing costs less than nothing, whatever rounding does to the multiplier of the intercept.
    X = np.random.default_rng(0).normal(size=(32, 18))
    program = QuantileLasso(X, np.ones(32), tau=0.5, fit_intercept=True).canonical()
    excess = np.append(np.zeros(18), np.append(1e-12, np.zeros(32)))
    for value, cheap in ((1e-16, True), (1.0, False)):
        span = Span.one(0.5, value, 5e-15)
        charges = Charging(program, program.functions, span, 0.5).of(excess)
        assert (charges.sum() <= 5e-15) == cheap


def test_exact_equations_are_counted_as_the_work_that_they_are():
    # Ten milliseconds: a hundred steps of a ten-thousandth of a second each.
    rng = np.random.default_rng(20)
    matrix = rng.normal(size=(20, 20)) * 10.0 ** rng.integers(-2, 3, size=(1, 20))
    equations = [{j: Fraction(a) for j, a in enumerate(row)} for row in matrix.tolist()]
    budget = Budget()
    zeros = [Fraction(0)] * 20
    found = solve_near(equations, [[Fraction(1)] * 20], [zeros], budget)
    assert found is not None
    assert np.abs(matrix @ np.array(found[0], dtype=float) - 1.0).max() < 1e-9
    assert 0 < Budget().left - budget.left < 500
