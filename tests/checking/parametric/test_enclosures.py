"""Solutions that are enclosed: what they prove, and where they leave it to exact arithmetic."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sparseopt import check, solve
from sparseopt.checking.parametric.ends.rays import _Images
from sparseopt.checking.parametric.evaluation.rational import Budget, solve_near
from sparseopt.checking.parametric.evaluation.verified_equations import enclose, entries_are_exact
from sparseopt.checking.parametric.multipliers.enclosed import enclosed_inside
from sparseopt.problems import L1SVM, ParametricLP, Pieces, PiecewiseLinearProgram
from sparseopt.problems.parametric.kronecker import KroneckerMap
from sparseopt.problems.parametric.maps import GramMap, StackedMap, as_linear_map
from sparseopt.proofs.double_double import DoubleDouble
from sparseopt.result import Verdict


def fractions(values):
    return [Fraction(value) for value in np.asarray(values, float).tolist()]


@pytest.mark.parametrize("scale", [0, 6])
@pytest.mark.parametrize("seed", range(10))
def test_the_exact_solution_is_within_the_radius(seed, scale):
    rng = np.random.default_rng(seed)
    q = int(rng.integers(1, 8))
    E = rng.normal(size=(q, q)) * 10.0 ** rng.uniform(-scale, scale, size=(q, 1))
    b, x = rng.normal(size=q), rng.normal(size=q)
    found = enclose(DoubleDouble(E), DoubleDouble(b), DoubleDouble(x), np.arange(q))
    rows = [dict(enumerate(fractions(row))) for row in E]
    (exact,) = solve_near(rows, [fractions(b)], [fractions(x)], Budget())
    for value, high, low, radius in zip(
        exact, found.x.high, found.x.low, found.radius, strict=True
    ):
        assert abs(value - Fraction(high) - Fraction(low)) <= Fraction(radius)
        assert radius <= 1e-24 * max(abs(high), np.abs(found.x.high).max() * 1e-3)


@pytest.mark.parametrize("seed", range(5))
def test_of_more_unknowns_than_equations_some_solution_is_within_the_radius(seed):
    """The others fixed where they are, the first q entries solve the equations exactly, nearby."""
    rng = np.random.default_rng(seed)
    q, k, unknown = 4, 9, np.array([0, 2, 3, 5, 8])
    E, x = rng.normal(size=(q, k)), rng.normal(size=k)
    b = E @ x
    found = enclose(DoubleDouble(E), DoubleDouble(b), DoubleDouble(x), unknown)
    fixed = np.setdiff1d(np.arange(k), unknown)
    assert (found.x.high[fixed] == x[fixed]).all() and (found.radius[fixed] == 0.0).all()
    assert np.abs(found.x.high - x).max() < 1e-14
    values = [Fraction(h) + Fraction(w) for h, w in zip(found.x.high, found.x.low, strict=True)]
    for row, right in zip(E, b, strict=True):
        rest = sum((Fraction(a) * v for a, v in zip(row, values, strict=True)), -Fraction(right))
        assert abs(rest) <= Fraction(float(np.abs(row) @ found.radius))


@pytest.mark.parametrize(
    ("matrix", "unknown"),
    [
        ([[1.0, 1.0], [1.0, 1.0]], [0, 1]),
        ([[1.0, 1.0], [1.0, 1.0 + 2.0**-50]], [0, 1]),
        ([[1.0, 0.0], [0.0, 1.0]], [0]),
        ([[0.0, 0.0]], [0, 1]),
        ([[np.nan, 1.0]], [0, 1]),
    ],
)
def test_equations_near_singular_ones_are_left_to_exact_arithmetic(matrix, unknown):
    E = DoubleDouble(np.array(matrix))
    b, x = DoubleDouble(np.ones(len(matrix))), DoubleDouble(np.ones(2))
    with np.errstate(all="ignore"):
        assert enclose(E, b, x, np.array(unknown)) is None


def test_a_right_side_that_is_not_known_exactly_widens_the_radius():
    E, b, x = DoubleDouble(np.eye(2)), DoubleDouble(np.ones(2)), DoubleDouble(np.ones(2))
    found = enclose(E, b, x, np.arange(2), spread=np.array([0.0, 1e-3]))
    assert (found.radius >= 1e-3).all()


def test_which_entries_have_no_rounding_errors():
    dense, gram = as_linear_map(np.eye(2)), GramMap(np.eye(2))
    assert entries_are_exact(StackedMap(dense, dense))
    assert entries_are_exact(KroneckerMap(dense, dense))
    for rounded in (gram, StackedMap(dense, gram), KroneckerMap(gram, dense)):
        assert not entries_are_exact(rounded)


@pytest.mark.parametrize(("seed", "n", "p"), [(3, 300, 100), (7, 300, 100), (1, 120, 40)])
def test_paths_of_machines_whose_last_kernel_is_large_are_proven(seed, n, p):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    y = np.where(X[:, 0] + 0.5 * X[:, 1] + rng.normal(size=n) > 0.0, 1.0, -1.0)
    result = solve(L1SVM(X, y))
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.parametrize(
    ("costs", "free", "found"),
    [
        ([1.0, 1.0], [True, True], True),
        ([1.0, 1.0], [True, False], False),
        ([1.0, 1.0], [False, False], False),
        ([1.0, 4.0], [True, True], False),
    ],
)
def test_multipliers_are_moved_inside_where_rows_may_move_them(costs, free, found):
    """Both variables cost 1, 1/4 of each row; at costs of 1 and 4 a row would leave its slopes."""
    problem = ParametricLP([[3.0, 1.0], [1.0, 3.0]], [1.0, 1.0], [0.0] * 2, costs, [0.0] * 2)
    program = problem.canonical()
    needed, none = np.array([True, True]), np.zeros(2, dtype=bool)
    nu, given = np.array([0.25 - 1e-15, 0.25]), (program, program.functions, 1.0)
    inside = enclosed_inside(*given, nu, needed, needed, np.array(free), 0.0)
    assert (inside.nu is not None) == found
    if found:
        assert inside.known and inside.nu.tolist() == [0.25, 0.25]
    # without equations they are only looked at
    judged = enclosed_inside(*given, nu, needed, none, None, 0.0)
    assert judged.known and judged.nu is None


def absolute_less_linear(more):
    """Return abs(theta) - (1 + more) theta: unbounded where more is positive."""
    one = np.ones(1)
    steep = Pieces.uniform([0.0 * one], [-(1.0 + more) * one, -(1.0 + more) * one])
    return PiecewiseLinearProgram(
        A=np.eye(1), phi=steep, psi=Pieces.uniform([0.0 * one], [-one, one])
    )


@pytest.mark.parametrize("lam", [1.0, None])
@pytest.mark.parametrize("more", [1e-15, 1e-10])
def test_no_multipliers_are_inside_slopes_that_contradict_each_other(more, lam):
    problem = absolute_less_linear(more)
    claimed = solve(absolute_less_linear(0.0), lam=lam)
    assert claimed.verdict is Verdict.VERIFIED
    claimed = replace(claimed, problem=problem, fingerprint=problem.fingerprint())
    assert check(problem, claimed).verdict is not Verdict.VERIFIED


def test_numbers_that_overflow_in_106_bits_prove_nothing():
    """lam theta, whose multiplier is 1e302: -1 is far from it."""
    zero, one = np.zeros(1), np.ones(1)
    linear = Pieces(np.array([0, 1]), zero, zero, slope=np.zeros(2), slope_rate=np.ones(2))
    program = replace(
        absolute_less_linear(0.0), phi=linear, psi=Pieces.uniform([zero], [-one, one])
    )
    needed, none = np.array([True]), np.array([False])
    with np.errstate(all="ignore"):
        inside = enclosed_inside(
            program, program.functions, 1e302, np.ones(1), needed, none, None, 0.0
        )
    assert not inside.known


def test_a_direction_is_known_to_its_last_digits_or_left_to_exact_arithmetic():
    """Beside the smallest normal numbers an enclosure has few digits."""
    for size, found in ((1.0, True), (1e-148, False)):
        images = _Images(as_linear_map(np.array([[1.0, -1.0]]) * size))
        x = np.array([size, size * (1.0 + 1e-15)])
        assert (images._enclosed(np.zeros(1, np.int64), np.arange(2), x) is not None) == found
        given, _ = images._vanishing(np.zeros(1, np.int64), np.arange(2), x, Budget())
        assert given[0] == given[1]
