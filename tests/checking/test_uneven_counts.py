"""A row that counts far more than the others makes no room for a worse support."""

import itertools

import numpy as np
import pytest
from scipy.optimize import minimize
from second_opinion import second_opinion

import sparseopt
from sparseopt.problems import SparseLogisticRegression

ROWS, COLUMNS = 16, 4


def regression(large, seed=1, *, intercept=False):
    """Return one whose first row the first column fits alone, and which counts that much."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((ROWS, COLUMNS))
    X[:, 0] = 0.0
    X[0] = [1000.0, 0.0, 0.0, 0.0]
    y = np.where(X[:, 1] + 0.7 * rng.standard_normal(ROWS) > 0.0, 1.0, -1.0)
    y[0] = 1.0
    counts = np.ones(ROWS)
    counts[0] = large
    options = {"ridge": 0.1, "fit_intercept": intercept, "sample_weights": counts}
    return SparseLogisticRegression(X, y, k=2, **options)


def fits(problem):
    """Return the points of all supports with the first column, best first."""
    found = []
    for j in range(1, COLUMNS):

        def point(b, j=j):
            return np.bincount([0, j], b, minlength=COLUMNS).astype(float)

        options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000}
        fit = minimize(
            lambda b, point=point: problem.objective(point(b)),
            [0.1, 0.1],
            method="Nelder-Mead",
            options=options,
        )
        found.append(point(fit.x))
    return sorted(found, key=problem.objective)


@pytest.mark.parametrize("large", [1e9, 1e12, 1e16, 1e20])
def test_the_second_best_support_is_not_the_best(tmp_path, large):
    problem = regression(large)
    best, second = fits(problem)[:2]
    value = problem.objective(second)
    assert value > 1.2 * problem.objective(best)
    result = sparseopt.solve(problem)
    false = result.with_changes(x=second, objective=value, bound=value, trace=())
    assert sparseopt.check(problem, false).verdict.value != "verified"
    assert second_opinion(tmp_path, problem, false)[0] != "proven"


@pytest.mark.parametrize("large", [1e16, 1e20])
def test_an_objective_is_measured_by_the_other_rows(tmp_path, large):
    """It is stated a tenth below that of its point."""
    problem = regression(large)
    result, x = sparseopt.solve(problem), fits(problem)[0]
    value = 0.9 * problem.objective(x)
    false = result.with_changes(x=x, objective=value, bound=min(value, result.bound), trace=())
    assert sparseopt.check(problem, false).verdict.value != "verified"
    assert second_opinion(tmp_path, problem, false)[0] != "proven"


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("large", [1e-6, 1.0, 1e6, 1e9])
def test_our_own_answers_stay_verified(tmp_path, large, intercept):
    problem = regression(large, intercept=intercept)
    result = sparseopt.solve(problem)
    assert result.verdict.value == "verified"
    assert second_opinion(tmp_path, problem, result)[0] == "proven"


def test_weights_of_all_sizes_stay_verified(tmp_path):
    rng = np.random.default_rng(7)
    for seed, count in itertools.product(range(3), (1e3, 1e9)):
        problem = regression(1.0, seed)
        weights = count ** rng.uniform(-1.0, 1.0, ROWS)
        options = {"ridge": 0.1, "sample_weights": weights}
        problem = SparseLogisticRegression(problem.X, problem.y, k=2, **options)
        result = sparseopt.solve(problem)
        assert result.verdict.value == "verified"
        assert second_opinion(tmp_path, problem, result)[0] == "proven"
