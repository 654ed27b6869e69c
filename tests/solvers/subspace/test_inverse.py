"""Classical sufficient reduction: other implementations, degenerate columns, and what it finds."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Verdict, generators
from sparseopt.problems import SufficientReduction

METHODS = ("sir", "save", "dr", "phd", "opg", "mave", "kdr")


def sine(W, x):
    W = np.linalg.qr(W)[0]
    return float(np.linalg.norm(W - x @ (x.T @ W), 2))


@pytest.mark.parametrize("name", ["sir", "save", "phd"])
def test_statsmodels_finds_the_same(name):
    regression = pytest.importorskip("statsmodels.regression.dimred")
    problem = generators.generate("index-model", N=200, noise=0.5)
    X, y = problem.X, problem.y
    model = {
        "sir": lambda: regression.SlicedInverseReg(y, X).fit(slice_n=20),
        "save": lambda: regression.SlicedAverageVarianceEstimation(y, X).fit(slice_n=20),
        "phd": lambda: regression.PrincipalHessianDirections(y, X).fit(),
    }[name]()
    ours = sparseopt.solve(problem, backend=name)
    assert sine(np.asarray(model.params)[:, :2], ours.x) < 1e-6


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("task", ["regression", "classification"])
def test_a_single_index_is_found(name, task):
    rng = np.random.default_rng(0)
    N = 500 if name in ("phd", "save") else 150
    X = rng.normal(size=(N, 4)) @ np.array(
        [[1.0, 0.5, 0, 0], [0, 1.0, 0.5, 0], [0, 0, 1.0, 0.5], [0, 0, 0, 2.0]]
    )
    direction = np.array([[0.8], [0.0], [0.0], [-0.6]])
    u = X @ direction[:, 0]
    # phd sees curvature only.
    y = u**2 if name == "phd" else u
    y = (y > np.median(y)) * 1.0 if task == "classification" else y + 0.1 * rng.normal(size=N)
    result = sparseopt.solve(SufficientReduction(X, y, k=1, task=task), backend=name)
    assert result.verdict is Verdict.UNPROVEN
    assert sine(direction, result.x) < 0.35


@pytest.mark.parametrize("name", METHODS)
def test_constant_columns_and_repeated_points(name):
    rng = np.random.default_rng(1)
    X = np.repeat(rng.normal(size=(30, 4)), 2, axis=0)
    X[:, 2] = 7.0
    result = sparseopt.solve(SufficientReduction(X, X[:, 0] + X[:, 1] ** 2, k=2), backend=name)
    assert result.verdict is Verdict.UNPROVEN, result.check_messages
    assert abs(result.x[2]).max() < 1e-8


@pytest.mark.parametrize("name", METHODS)
def test_they_refuse_problems_without_a_response(name):
    problem = generators.generate("bent-curve", N=20)
    with pytest.raises(sparseopt.UnsupportedProblem, match="sufficient-reduction"):
        sparseopt.solve(problem, backend=name)
