"""Rows at ends of their slopes that give way to what rounding of the data leaves."""

from fractions import Fraction

import numpy as np
import pytest

from sparseopt import Verdict, solve
from sparseopt.checking.parametric.multipliers.giving_way import giving_way
from sparseopt.problems import L1SVM, LADLasso, ParametricLP


def centred_machine(seed):
    """Whole numbers less their means, of which many rows are at one margin."""
    rng = np.random.default_rng(seed)
    m, p = rng.integers(5, 40), rng.integers(1, 8)
    X = rng.integers(-2, 3, size=(m, p)).astype(float)
    labels = rng.choice([-1.0, 1.0], size=m)
    labels[:2] = 1.0, -1.0
    return L1SVM(X - X.mean(axis=0), labels)


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("question", [{"lam": 0.0}, {}])
def test_machines_of_whole_numbers_are_proven_without_a_penalty(seed, question):
    """Of all multipliers at 0 and -1 the sums of products are zero up to rounding alone."""
    result = solve(centred_machine(seed), **question)
    assert result.verdict is Verdict.VERIFIED, result.check_messages


def lad():
    """Three residuals of each sign; the one variable is in all rows, the second in none."""
    X = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0], [-1.0, 0.0]])
    return LADLasso(X, np.array([1.0, 2.0, 3.0, 4.0])).canonical()


def rows(nu, needed=(True, False), lam=0.0):
    program = lad()
    low, high = program.psi.slope_range(lam)
    nu = np.where(np.array(nu) > 0, high, low) * np.abs(nu)
    found = giving_way(program, program.functions, lam, nu, np.array(needed))
    return None if found is None else np.flatnonzero(found).tolist()


def test_a_row_that_may_move_inwards_is_found():
    # 1 + 2 - 1 - 1 = 1 too much: the second row moves by a half, or the others
    assert rows([1.0, 1.0, -1.0, 1.0]) in ([0], [1], [3])


def test_no_row_is_found_where_none_may_move_or_none_needs_to():
    assert rows([1.0, -1.0, 1.0, 0.0]) is None
    assert rows([1.0, 1.0, 1.0, 1.0], needed=(False, False)) is None
    # the second variable is in no row, and its multiplier is 0 anyway
    assert rows([1.0, 1.0, 1.0, 1.0], needed=(False, True)) is None


@pytest.mark.parametrize("costs", [[1.0, 1.0], [1.0, 1.0 + 1e-15]])
def test_variables_with_one_slope_only_have_rows_that_give_way_too(costs):
    """Two equal columns of three rows, each of which is at 0 or 1/3 of what they cost."""
    A = np.array([[3.0, 3.0], [5.0, 5.0], [7.0, 7.0]])
    problem = ParametricLP(A, np.ones(3), np.zeros(3), costs, np.zeros(2))
    program = problem.canonical()
    nu, needed = np.array([1.0 / 3.0, 0.0, 0.0]), np.array([True, False])
    off = 3 * Fraction(nu[0]) - 1
    found = giving_way(program, program.functions, 0.0, nu, needed)
    assert found is not None and found.sum() == 1 and off != 0
