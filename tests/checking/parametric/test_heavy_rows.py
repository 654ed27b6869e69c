"""A row of great weight that is fitted exactly excuses no errors elsewhere."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sparseopt
from sparseopt import Verdict
from sparseopt.checking import check
from sparseopt.checking.parametric.evaluation.heavy import known_value
from sparseopt.checking.parametric.evaluation.point import objective_scales, primal_point
from sparseopt.problems import L1SVM, LADLasso, QuantileLasso

WEIGHTS = (1e6, 1e8, 1e10)
MODELS = ("weight", "scaled", "quantile", "svm")


def data(seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 3))
    return X, X @ [1.0, 2.0, 0.0] + rng.standard_normal(12)


def model(name, weight, seed=0):
    (X, y), weights = data(seed), np.append(weight, np.ones(11))
    if name == "weight":
        return LADLasso(X, y, sample_weights=weights)
    if name == "scaled":
        return LADLasso(weights[:, None] * X, weights * y)
    if name == "quantile":
        return QuantileLasso(X, y, tau=0.3, sample_weights=weights)
    return L1SVM(X, np.where(y > 0.0, 1.0, -1.0), sample_weights=weights)


def moved(name, x, step):
    """Return a point that fits the first row as well, up to its last digits."""
    (X, y), x = data(), x.copy()
    row, target = X[0], y[0]
    if name == "svm":
        row, target = np.append(row, 1.0), 1.0 if target > 0.0 else -1.0
    at = int(np.argmax(np.abs(row[1:]))) + 1
    x[0] += step
    for _ in range(4):
        rest = Fraction(target) - sum(
            Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)
        )
        x[at] += float(rest) / row[at]
    return x


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_worse_point_that_fits_the_heavy_row(name, weight):
    problem = model(name, weight)
    result = sparseopt.solve(problem, lam=1.0)
    least = sparseopt.solve(model(name, 1e3), lam=1.0).objective
    worse = 0
    for step in (-1.0, -1e-2, -1e-4, 1e-4, 1e-2, 1.0):
        x = moved(name, result.x, step)
        value = problem.objective(x, 1.0)
        if value < least * (1.0 + 5e-6):
            continue
        worse += 1
        claim = result.with_changes(x=x, objective=value, bound=value, trace=())
        assert check(problem, claim).verdict is not Verdict.VERIFIED
    assert worse > 0


@pytest.mark.parametrize("weight", WEIGHTS)
@pytest.mark.parametrize("name", MODELS)
def test_a_bound_beside_a_heavy_row(name, weight):
    problem = model(name, weight)
    result = sparseopt.solve(problem, lam=1.0)
    for share in (1e-5, 1e-3, 0.1):
        false = result.with_changes(bound=result.bound * (1.0 - share), trace=())
        assert check(problem, false).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("lam", [1.0, (1.0, 0.1, 0.01)])
@pytest.mark.parametrize("weight", [1e3, 1e6, 1e8])
@pytest.mark.parametrize("name", MODELS)
def test_own_answers_are_verified(name, weight, lam):
    for seed in range(3):
        result = sparseopt.solve(model(name, weight, seed), lam=lam)
        # at 1e8 the last digits of x alone may move a value by more than 1e-9 of it
        expected = {Verdict.VERIFIED, *([Verdict.UNPROVEN] if weight == 1e8 and lam != 1.0 else [])}
        assert result.verdict in expected


@pytest.mark.parametrize("name", ["weight", "scaled", "quantile"])
def test_the_value_of_a_heavy_row_is_exact(name):
    problem = model(name, 1e10)
    x = sparseopt.solve(problem, lam=1.0).x
    point = primal_point(problem.canonical(), x)
    given = problem.objective(x, 1.0)
    scales = objective_scales(point, 1.0, given)
    value, rounding = known_value(point, 1.0, given, scales)
    X, y = data()
    weights = np.append(1e10, np.ones(11))
    if name == "scaled":
        X, y, weights = weights[:, None] * X, weights * y, np.ones(12)
    low, high = (0.7, 0.3) if name == "quantile" else (1.0, 1.0)
    expected = sum(map(abs, map(Fraction, x)))
    for row, target, weight in zip(X, y, weights, strict=True):
        rest = Fraction(target) - sum(
            Fraction(a) * Fraction(b) for a, b in zip(row, x, strict=True)
        )
        expected += Fraction(weight) * Fraction(high if rest > 0 else low) * abs(rest)
    assert abs(value - float(expected)) <= rounding < 1e-3 * scales.rounding
