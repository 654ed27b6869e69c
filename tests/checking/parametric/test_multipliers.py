"""Multipliers that rounding of the data has put outside their slopes."""

import numpy as np
import pytest

from sparseopt import generators, solve
from sparseopt.checking.parametric.rational import Budget
from sparseopt.checking.parametric.reach import pushed_inside
from sparseopt.problems import ParametricLP
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.result import Verdict


@pytest.mark.parametrize("seed", [1928, 2240, 3104])
def test_paths_whose_basis_is_optimal_up_to_rounded_data_are_proven(seed):
    result = solve(generators.generate("parametric-lp", seed=seed, m=6, n=8))
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.parametrize("lam", [0.0, np.inf])
@pytest.mark.parametrize(
    ("miss", "slope", "inside"), [(1e-15, 1.0, True), (1e-7, 1.0, False), (1e-15, 0.0, False)]
)
def test_only_what_rounding_explains_is_pushed_inside(lam, miss, slope, inside):
    """The reduced cost of x is -miss, and may be moved by the row, if it has x with a slope."""
    problem = ParametricLP([[slope, 1.0]], [1.0], [0.0], [1.0, 1.0 - 2e-6], [1.0, 1.0 - 2e-6])
    program = problem.canonical()
    pieces = Pieces.concatenate(program.phi, program.psi)
    nu, needed = np.array([1.0 - miss]), np.array([True, False])
    assert pushed_inside(program, pieces, lam, nu, needed, 1e-6, Budget()) is inside
