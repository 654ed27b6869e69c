"""Paths of quantile regression over all levels, true ones and false ones."""

import numpy as np
import pytest
import raw_data
from quantile_attacks import draw, large_offset, quantile_attacks
from thorough import first

from sparseopt import Verdict
from sparseopt.checking import check
from sparseopt.estimators.parametric.levels import program_in_odds
from sparseopt.solvers.homotopy.quantiles import solve_quantiles


@pytest.mark.parametrize("seed", first(3, range(40)))
def test_no_false_path_over_levels_is_verified(seed):
    kinds = set()
    for kind, problem, claim in quantile_attacks(np.random.default_rng(seed)):
        kinds.add(kind)
        assert check(problem, claim).verdict is not Verdict.VERIFIED, kind
    assert len(kinds) == 7


@pytest.mark.parametrize("seed", [1413, 2277, 100_290])
def test_an_observation_that_is_far_off_excuses_no_error_of_the_others(seed):
    """Its rounding errors, 8 of 8e14, covered residuals of 1.6 at fits that do not touch it."""
    _, problem, claim = large_offset(np.random.default_rng(seed))
    assert check(problem, claim).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("size", [1.0, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
def test_weights_and_offsets_of_ordinary_sizes_are_verified(size, weighted):
    weights = np.ones(30)
    weights[: 3 if weighted else 0] = size
    problem = draw(np.random.default_rng(0), 0.0 if weighted else size, weights)
    assert check(problem, solve_quantiles(problem)).verdict is Verdict.VERIFIED


def test_the_last_range_of_levels_ends_at_one():
    """Its beginning is 1 up to rounding."""
    rng = np.random.default_rng([7, list(raw_data.KINDS).index("collinear"), 9])
    n, d = int(rng.integers(20, 60)), int(rng.integers(2, 7))
    X = raw_data.KINDS["collinear"](rng, n, d)
    y = raw_data._response(rng, X)
    weights = rng.uniform(0.2, 2.0, n)
    A = np.column_stack([X, np.ones(n)])
    problem = program_in_odds(A, y, np.zeros(d + 1), weights, None)
    result = solve_quantiles(problem)
    assert result.path.levels[-1] == 1.0
    assert check(problem, result).verdict is Verdict.VERIFIED
