"""Quantile regression at all levels: the walk, and the checker that knows nothing of it."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

import sparseopt
from sparseopt.checking.parametric.quantiles import check_quantiles
from sparseopt.errors import ParamError
from sparseopt.estimators import QuantileProcess
from sparseopt.io import load_result
from sparseopt.params import SolveParams
from sparseopt.problems import Pieces
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


@pytest.mark.thorough(after=1)
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


# ---- as the answer to a problem, and in a file


def process(seed=0):
    Z, y, _ = data(seed, n=30)
    return QuantileProcess().fit(Z[:, :3], y, sample_weight=np.arange(30) % 3)


def test_a_saved_path_comes_back_and_is_verified(tmp_path):
    model = process()
    model.result_.save(tmp_path / "r.json")
    sparseopt.save(model.result_.problem, tmp_path / "p.npz")
    problem = sparseopt.load(tmp_path / "p.npz")
    again = load_result(tmp_path / "r.json", problem)
    assert sparseopt.check(problem, again).verdict == "verified"
    for tau in (0.1, 0.5, 0.9):
        np.testing.assert_array_equal(again.path.at(tau), model.path_.at(tau))
        np.testing.assert_array_equal(again.path.dual_at(tau), model.path_.dual_at(tau))


@pytest.mark.parametrize(
    "change",
    [
        lambda path: {"y": path.y + 1.0},
        lambda path: {"design": path.design * 2.0, "theta": path.theta / 2.0},
        lambda path: {"counts": path.counts * 2.0},
        lambda path: {"levels": path.levels**1.01},
        lambda path: {"theta": path.theta[::-1].copy()},
        lambda path: {"bases": np.roll(path.bases, 1, axis=0)},
        lambda path: {"above": ~path.above},
        lambda path: {"stopped_by": "time"},
        lambda path: {"names": ["a", "b", "c", "d"]},
    ],
)
def test_a_path_of_other_data_or_with_other_segments_is_refuted(change):
    result = process().result_
    lie = result.with_changes(path=replace(result.path, **change(result.path)))
    assert sparseopt.check(result.problem, lie).verdict == "refuted"


def test_a_path_of_levels_answers_no_other_question():
    result = process().result_
    problem = result.problem
    for claim in (
        {"objective": 1e-3},
        {"bound": 1e-3},
        {"x": result.path.theta[1]},
        {"params": SolveParams(lam=0.5)},
    ):
        assert sparseopt.check(problem, result.with_changes(**claim)).verdict == "refuted"
    penalised = replace(problem, phi=Pieces.lam_absolute(np.ones(4)))
    lie = result.with_changes(problem=penalised, fingerprint=None)
    assert sparseopt.check(penalised, lie).verdict == "refuted"


def test_a_singular_basis_is_said():
    path = process().path_
    bases = path.bases.copy()
    bases[:, 1] = bases[:, 0]
    with pytest.raises(ParamError, match=r"basis at the level 0\.5 is singular"):
        replace(path, bases=bases).dual_at(0.5)


@pytest.mark.parametrize("power", [20, 60, 200])
def test_columns_in_other_units_cost_no_digits(power):
    rng = np.random.default_rng(0)
    X = np.column_stack([np.ones(20), rng.normal(size=(20, 3))])
    y = X @ [1.0, 2.0, 0.0, -1.0] + rng.normal(size=20)
    unit = np.exp2([0, power, -power, power // 2])
    plain, scaled = (quantile_path(Z, y, np.ones(20), list("abcd")) for Z in (X, X * unit))
    assert check_quantiles(scaled).verdict == "verified"
    assert np.array_equal(scaled.levels, plain.levels)
    assert np.array_equal(scaled.theta * unit, plain.theta)


@pytest.mark.parametrize("far", [1e6, 1e12, 1e15])
def test_an_observation_that_is_far_off_moves_no_others_apart(far):
    Z, y, counts = data(5, n=40)
    y[3] = far
    assert check_quantiles(quantile_path(Z, y, counts, list("abcd"))).verdict == "verified"


@pytest.mark.parametrize(("seed", "n", "near"), [(45, 8, 2.0**-31), (48, 4, 2.0**-30)])
def test_an_observation_that_is_far_off_hides_no_coefficients_that_cancel(seed, n, near):
    """All coefficients are moved so that the fit is wrong by more than the other observations."""
    rng = np.random.default_rng(seed)
    rng.integers(4, 9), rng.integers(28, 34)
    x = 2.0 ** rng.integers(0, 4, size=n) * rng.choice([-1.0, 1.0], n)
    other = rng.choice([-2.0, -1.0, 1.0, 2.0], n) * rng.choice([0.0, 1.0], n, p=[0.3, 0.7])
    y = rng.integers(-5, 6, size=n).astype(float)
    y[0] = 1e12
    path = quantile_path(np.column_stack([np.ones(n), x, other]), y, np.ones(n), list("abc"))
    a, b, c = path.theta.T
    path = replace(
        path,
        design=np.column_stack([np.ones(n), x, x + near * other]),
        theta=np.column_stack([a, b - c / near, c / near]),
    )
    assert check_quantiles(path).verdict != "refuted"
    moved = path.theta + 2.0**36 * np.array([0.0, 1.0, -1.0])
    assert np.abs(path.design @ (moved - path.theta)[0]).max() >= 64.0
    assert check_quantiles(replace(path, theta=moved)).verdict == "unproven"
