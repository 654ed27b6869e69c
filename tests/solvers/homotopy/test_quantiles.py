"""Quantile regression at all levels: the walk, and the checker that knows nothing of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from sparseopt.checking.parametric.quantiles import check_quantiles
from sparseopt.solvers.homotopy.quantiles import quantile_path


def data(seed, n=60, p=3, rounded=False, weighted=False):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(n, p)), rng.normal(size=n)
    if rounded:
        X, y = np.round(2.0 * X), np.round(2.0 * y)
    counts = rng.integers(1, 4, n).astype(float) if weighted else np.ones(n)
    return np.column_stack([X, np.ones(n)]), y, counts


def least(Z, y, counts, tau):
    """The value of the linear program by HiGHS."""
    n, p = Z.shape
    found = linprog(
        np.concatenate([np.zeros(p), tau * counts, (1.0 - tau) * counts]),
        A_eq=np.hstack([Z, np.eye(n), -np.eye(n)]),
        b_eq=y,
        bounds=[(None, None)] * p + [(0, None)] * (2 * n),
    )
    return found.fun


@pytest.mark.parametrize("rounded", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_all_levels_are_verified_and_those_of_highs(rounded, weighted):
    for seed in range(4):
        Z, y, counts = data(seed, rounded=rounded, weighted=weighted)
        path = quantile_path(Z, y, counts, list("abcd"))
        assert check_quantiles(path).verdict == "verified"
        for tau in (0.013, 0.4, 0.5, 0.97):
            nu = path.dual_at(tau)
            assert path.objective_at(tau) == pytest.approx(least(Z, y, counts, tau), rel=1e-9)
            assert path.objective_at(tau) == pytest.approx(y @ nu, rel=1e-9)
            np.testing.assert_allclose(Z.T @ nu, 0.0, atol=1e-9)


def test_columns_in_other_units_change_nothing_else():
    Z, y, counts = data(5)
    unit = np.array([1e-7, 1.0, 1e6, 1.0])
    one, two = (quantile_path(each, y, counts, list("abcd")) for each in (Z, Z * unit))
    assert check_quantiles(two).verdict == "verified"
    np.testing.assert_allclose(one.levels, two.levels, atol=1e-12)
    np.testing.assert_allclose(one.theta, two.theta * unit, rtol=1e-8, atol=1e-10)


def test_dependent_columns_and_few_rows_have_no_walk():
    Z, y, counts = data(6)
    assert quantile_path(Z[:4], y[:4], counts[:4], list("abcd")) is None
    twice = quantile_path(np.column_stack([Z, Z[:, 0]]), y, counts, list("abcde"))
    assert twice is None or check_quantiles(twice).verdict != "verified"
    assert quantile_path(*data(7, n=200), list("abcd"), stop=lambda: True) is None


def lies(path):
    """Yield paths that each state something false."""
    half = len(path.theta) // 2
    moved = path.levels.copy()
    moved[half] += 0.3 * (moved[half + 1] - moved[half])
    yield "a knot", replace(path, levels=moved)
    theta = path.theta.copy()
    theta[half, 0] += 1e-6
    yield "a coefficient", replace(path, theta=theta)
    above = path.above.copy()
    above[half] = not above[half]
    yield "a side", replace(path, above=above)
    bases = path.bases.copy()
    bases[half] = bases[half - 1]
    yield "a basis", replace(path, bases=bases)
    y = path.y.copy()
    y[path.bases[half, 0]] += 1e-3
    yield "a response", replace(path, y=y)
    yield "a weight", replace(path, counts=path.counts * np.linspace(1.0, 1.1, len(path.y)))
    few = slice(None, -1)
    yield "the end", replace(
        path, levels=path.levels[few], theta=path.theta[few],
        bases=path.bases[few], moves=path.moves[few],
    )  # fmt: skip
    yield "a hole", replace(
        path, levels=np.delete(path.levels, half), theta=np.delete(path.theta, half, 0),
        bases=np.delete(path.bases, half, 0), moves=np.delete(path.moves, half),
    )  # fmt: skip
    yield "the shape", replace(path, moves=path.moves[few])
    yield "an index", replace(path, leaving=path.leaving + len(path.y))


def test_lies_are_refuted():
    path = quantile_path(*data(8), list("abcd"))
    for what, lie in lies(path):
        assert check_quantiles(lie).verdict == "refuted", what


@pytest.mark.thorough
def test_ten_thousand_observations():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 20))
    y = X @ rng.normal(size=20) + (1.0 + 0.3 * np.abs(X[:, 0])) * rng.normal(size=10_000)
    Z = np.column_stack([X, np.ones(10_000)])
    path = quantile_path(Z, y, np.ones(10_000), [f"x{j}" for j in range(21)])
    assert check_quantiles(path).verdict == "verified"
    assert len(path.theta) > 20_000
