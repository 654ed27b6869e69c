"""Products that nearly cancel, without rounding."""

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

from sparseopt import solve
from sparseopt.problems import DantzigSelector
from sparseopt.problems.parametric.sums import exact_where_cancelling
from sparseopt.result import Verdict


def exact(x, y, weights, centred):
    x, y, w = ([Fraction(value) for value in part.tolist()] for part in (x, y, weights))
    total = sum((a * b * c for a, b, c in zip(x, y, w, strict=True)), Fraction(0))
    if centred:
        means = [sum(a * c for a, c in zip(part, w, strict=True)) for part in (x, y)]
        total -= means[0] * means[1] / sum(w)
    return float(total)


@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_that_cancel_are_correctly_rounded(weighted, centred, wrap):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(9, 6)), rng.normal(size=9)
    weights = rng.integers(0, 3, size=9) + 0.3 if weighted else np.ones(9)
    for j in (0, 3):
        # the last entry makes the product vanish, up to rounding
        own = y - np.average(y, weights=weights) if centred else y
        X[-1, j] = -(weights[:-1] * own[:-1]) @ X[:-1, j] / (weights[-1] * own[-1])
    Z, z = (part - np.average(part, axis=0, weights=weights) * centred for part in (X, y))
    sums = (Z.T * weights) @ z
    sums[[0, 3]] += 1e-15
    found = exact_where_cancelling(sums, wrap(X), y, weights if weighted else None, centred)
    for j in (0, 3):
        assert found[j] == exact(X[:, j], y, weights, centred)
    others = [1, 2, 4, 5]
    assert (found[others] == sums[others]).all()


def test_sums_that_do_not_cancel_are_left_as_they_are():
    sums, y = np.array([3.0, 1e-12, 0.0]), np.ones(3)
    X = np.array([[1.0, 1e-12, 0.0], [1.0, 0.0, 0.0], [1.0, 0.0, 0.0]])
    assert exact_where_cancelling(sums, X, y, None, False) is sums
    assert exact_where_cancelling(np.zeros(0), np.zeros((3, 0)), y, None, False).shape == (0,)


@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("wrap", [np.asarray, sp.csr_array])
def test_counts_whose_product_is_zero_have_a_path_that_is_proven(wrap, fit_intercept):
    """Times root weights it was 3e-16, and its row, of a matrix of rank 3, in a unit of that."""
    X = wrap(
        np.array(
            [
                [1.0, -1.0, -1.0, 0.0, 2.0, 2.0],
                [1.0, 0.0, -2.0, 2.0, 0.0, 0.0],
                [1.0, -2.0, 1.0, 1.0, -1.0, 0.0],
                [1.0, -1.0, 2.0, 0.0, 1.0, 1.0],
            ]
        )
    )
    problem = DantzigSelector(
        X, [0.0, 2.0, -2.0, 0.0], sample_weights=[1.0, 2.0, 2.0, 0.0], fit_intercept=fit_intercept
    )
    assert fit_intercept or problem.center[0] == 0.0
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.thorough(after=10)
@pytest.mark.parametrize("seed", range(60))
def test_paths_of_small_whole_numbers_are_proven(seed):
    rng = np.random.default_rng(seed)
    n, d = rng.integers(2, 12), rng.integers(6, 15)
    X, y = rng.integers(-2, 3, size=(n, d)) * 1.0, rng.integers(-3, 4, size=n) * 1.0
    weights = np.append(1.0, rng.integers(0, 4, size=n - 1))
    problem = DantzigSelector(X, y, sample_weights=weights, fit_intercept=bool(seed % 2))
    result = solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
