"""The subspace of least absolute deviations: regressions, values, and what is refused."""

import copy
import pickle

import numpy as np
import pytest
from scipy.optimize import linprog

import sparseopt
from sparseopt import ProblemError, io
from sparseopt.problems import L1Subspace, LADLasso, RobustSubspace
from sparseopt.problems.subspace.entrywise import least_absolute


def least(D, y):
    """Return the least sum of absolute residuals by a linear program."""
    m, k = D.shape
    cost = np.concatenate([np.zeros(k), np.ones(2 * m)])
    rows = np.hstack([D, np.eye(m), -np.eye(m)])
    return linprog(cost, A_eq=rows, b_eq=y, bounds=[(None, None)] * k + [(0, None)] * (2 * m)).fun


def designs():
    rng = np.random.default_rng(0)
    D, ties = rng.normal(size=(20, 3)), rng.integers(-2, 3, size=(25, 4)).astype(float)
    exact = rng.normal(size=(12, 3)) @ D.T
    exact[rng.random(exact.shape) < 0.2] += 9.0
    dependent = np.column_stack([D, D[:, 0] - D[:, 1]])
    return {
        "random": (D, rng.normal(size=(12, 20))),
        "one column": (D[:, :1], rng.normal(size=(12, 20))),
        "ties": (ties, rng.integers(-3, 4, size=(12, 25)).astype(float)),
        "nearly all fitted": (D, exact),
        "dependent columns": (dependent, rng.normal(size=(12, 20))),
        "no columns": (np.zeros((20, 2)), rng.normal(size=(12, 20))),
        "zero responses": (D, np.zeros((2, 20))),
        "few observations": (D[:4], rng.normal(size=(12, 4))),
        "far apart": (D * 1e100, rng.normal(size=(12, 20)) * 1e-100),
    }


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", designs())
def test_median_regressions_are_those_of_linear_programs(name):
    D, Y = designs()[name]
    Z, bases = least_absolute(D, Y)
    found = np.abs(Y - Z @ D.T).sum(axis=1)
    d, y = (np.abs(each).max() or 1.0 for each in (D, Y))
    expected = [y * least(D / d, row / y) for row in Y]
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9 * y)
    again, _ = least_absolute(D, Y, bases)
    np.testing.assert_allclose(np.abs(Y - again @ D.T).sum(axis=1), found, rtol=1e-9, atol=1e-9 * y)


def test_median_regressions_are_those_of_the_homotopy():
    D, Y = designs()["random"]
    Z, _ = least_absolute(D, Y)
    for z, y in zip(Z[:3], Y[:3], strict=True):
        exact = sparseopt.solve(LADLasso(D, y), lam=0.0, backend="homotopy")
        assert np.abs(y - D @ z).sum() == pytest.approx(exact.objective, rel=1e-9)


def test_a_start_from_a_singular_basis_is_replaced():
    D, Y = designs()["ties"]
    D[1] = D[0]
    singular = np.tile([0, 1, 2, 3], (len(Y), 1))
    Z, _ = least_absolute(D, Y, singular)
    best = [least(D, row) for row in Y]
    np.testing.assert_allclose(np.abs(Y - Z @ D.T).sum(axis=1), best, rtol=1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("unit", [1.0, 1e-150, 1e150])
@pytest.mark.parametrize("centre", [None, "estimate"])
def test_the_value_is_a_regression_for_each_point(centre, unit):
    rng = np.random.default_rng(1)
    X, W, c = rng.normal(size=(15, 5)), np.linalg.qr(rng.normal(size=(5, 2)))[0], np.arange(5.0)
    problem = L1Subspace(X * unit, k=2, centre=centre)
    x, shift = (W, 0.0) if centre is None else (np.column_stack([W, c * unit]), c)
    direct = [least(W, row) for row in X - shift]
    np.testing.assert_allclose(problem.distances(x), np.array(direct) * unit, rtol=1e-9)
    assert problem.objective(x) == pytest.approx(unit * sum(direct), rel=1e-9)
    assert problem.objective(x) <= problem.objective_scale(x) * 10.0
    turned = x.copy()
    turned[:, :2] = W @ np.linalg.qr(rng.normal(size=(2, 2)))[0]
    assert problem.objective(turned) == pytest.approx(problem.objective(x), rel=1e-9)


@pytest.mark.parametrize("centre", [None, "estimate"])
def test_the_norm_of_a_robust_subspace_chooses_the_problem(centre):
    X = np.random.default_rng(2).normal(size=(9, 4))
    plain = L1Subspace(X, k=2, centre=centre)
    for problem in (
        RobustSubspace(X, 2, "l1", centre),
        RobustSubspace(X, k=2, centre=centre, norm="l1"),
    ):
        for same in (problem, copy.deepcopy(problem), pickle.loads(pickle.dumps(problem))):
            assert type(same) is L1Subspace
            assert same.fingerprint() == plain.fingerprint()
    euclidean = RobustSubspace(X, 2, norm="l2", centre=centre)
    assert euclidean.fingerprint() == RobustSubspace(X, 2, centre=centre).fingerprint()
    assert pickle.loads(pickle.dumps(euclidean)).fingerprint() == euclidean.fingerprint()
    with pytest.raises(ProblemError, match="'l2' or 'l1'"):
        RobustSubspace(X, 2, norm="l3")


def test_files_hold_the_problem(tmp_path):
    problem = L1Subspace(np.arange(12.0).reshape(4, 3), k=1, centre="estimate")
    io.save_problem(problem, tmp_path / "p.npz")
    again = io.load_problem(tmp_path / "p.npz")
    assert isinstance(again, L1Subspace)
    assert again.fingerprint() == problem.fingerprint()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 4}, "from 1 to 3: X has 4 columns"),
        ({"k": 0}, "k is 0"),
        ({"centre": "median"}, "'estimate'"),
        ({"X": np.ones((2, 4)), "k": 2}, "at least 3 points"),
        ({"X": np.ones((3, 4)), "k": 2, "centre": "estimate"}, "at least 4 points"),
        ({"X": [[np.nan, 1.0], [1.0, 2.0]], "k": 1}, "X"),
    ],
)
def test_bad_input_is_refused(changes, words):
    fields = {"X": np.ones((9, 4)), "k": 2, **changes}
    with pytest.raises(ProblemError, match=words):
        L1Subspace(**fields)
