"""The robust subspace problem: its values by the definition, and what it refuses."""

import numpy as np
import pytest

from sparseopt import ProblemError, io
from sparseopt.problems import RobustSubspace


def basis(rng, n, k):
    return np.linalg.qr(rng.normal(size=(n, k)))[0]


@pytest.mark.parametrize("unit", [1.0, 1e-200, 1e200])
def test_the_objective_is_the_sum_of_distances(unit):
    rng = np.random.default_rng(0)
    X, W, c = rng.normal(size=(30, 5)), basis(rng, 5, 2), rng.normal(size=5)
    P = np.eye(5) - W @ W.T
    problem = RobustSubspace(X * unit, k=2)
    assert problem.objective(W) == pytest.approx(unit * np.linalg.norm(X @ P, axis=1).sum())
    moved = RobustSubspace(X * unit, k=2, centre="estimate")
    x = np.column_stack([W, c * unit])
    direct = unit * np.linalg.norm((X - c) @ P, axis=1).sum()
    assert moved.objective(x) == pytest.approx(direct)
    along = np.column_stack([W, (c + W @ [1e3, -1e3]) * unit])
    assert moved.objective(along) == pytest.approx(direct)


@pytest.mark.thorough
def test_a_large_sample_is_evaluated_in_blocks():
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(30_000, 80)), basis(rng, 80, 3)
    problem = RobustSubspace(X, k=3)
    assert sum(1 for _ in problem.blocks()) > 2
    direct = np.linalg.norm(X - X @ W @ W.T, axis=1)
    np.testing.assert_allclose(problem.distances(W), direct, rtol=1e-12)
    assert problem.spread == pytest.approx(np.linalg.norm(X, axis=1).sum(), rel=1e-12)


def test_residuals_measure_orthonormality():
    problem = RobustSubspace(np.random.default_rng(2).normal(size=(9, 4)), k=2)
    W = np.eye(4)[:, :2]
    assert problem.residuals(W)["orthonormality"] == 0.0
    assert problem.residuals(2.0 * W)["orthonormality"] == 3.0
    assert problem.residuals(W[:, [0, 0]])["orthonormality"] == 1.0


def test_files_hold_the_problem(tmp_path):
    problem = RobustSubspace(np.arange(12.0).reshape(4, 3), k=1, centre="estimate")
    io.save_problem(problem, tmp_path / "p.npz")
    again = io.load_problem(tmp_path / "p.npz")
    assert again.fingerprint() == problem.fingerprint()
    assert (again.k, again.centre) == (1, "estimate")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"k": 4}, "from 1 to 3: X has 4 columns"),
        ({"k": 0}, "k is 0"),
        ({"k": 1.5}, "k is 1.5; expected the dimension"),
        ({"k": True}, "k is True"),
        ({"centre": "mean"}, "'estimate'"),
        ({"X": np.ones((2, 4)), "k": 2}, "at least 3 points"),
        ({"X": np.ones((3, 4)), "k": 2, "centre": "estimate"}, "at least 4 points"),
        ({"X": [[np.nan, 1.0], [1.0, 2.0]], "k": 1}, "X"),
    ],
)
def test_bad_input_is_refused(changes, words):
    fields = {"X": np.ones((9, 4)), "k": 2, **changes}
    with pytest.raises(ProblemError, match=words):
        RobustSubspace(**fields)


def test_points_of_another_shape_are_refused():
    problem = RobustSubspace(np.ones((9, 4)), k=2)
    with pytest.raises(ProblemError, match=r"expected \(4, 2\)"):
        problem.objective(np.ones((4, 3)))
