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


@pytest.mark.thorough(after=1)
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


# ---- other implementations, straight from the definitions


def whitened(X):
    """Return Sigma^(-1/2) (x - mean) by Cholesky and a rotation, and Sigma^(-1/2)."""
    S = np.cov(X.T, bias=True)
    values, vectors = np.linalg.eigh(S)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    return (X - X.mean(axis=0)) @ root, root


def spanned(matrix, root, k):
    return root @ np.linalg.eigh(matrix)[1][:, -k:]


def test_directional_regression_is_the_mean_over_pairs_of_slices():
    """E (2 I - E((z - z')(z - z')' given y, y'))^2, definition (2) of Li and Wang (2007)."""
    problem = generators.generate("index-model", N=120, noise=0.3)
    Z, root = whitened(problem.X)
    n = Z.shape[1]
    slices = np.array_split(np.argsort(problem.y, kind="stable"), 6)
    total = np.zeros((n, n))
    for one in slices:
        for two in slices:
            apart = (Z[one][:, None] - Z[two][None]).reshape(-1, n)
            rest = 2.0 * np.eye(n) - apart.T @ apart / len(apart)
            total += len(one) * len(two) / len(Z) ** 2 * rest @ rest
    ours = sparseopt.solve(problem, backend="dr", options={"slices": 6})
    assert sine(spanned(total, root, problem.k), ours.x) < 1e-8


def kernel_weights(Z):
    """Gaussian in the distance, with the bandwidth 2.34 N^(-1/(d + 6)) of Xia and others (2002)."""
    N, d = Z.shape
    width = 2.34 * N ** (-1.0 / (d + 6))
    found = np.array([[np.exp(-0.5 * np.sum((a - b) ** 2) / width**2) for b in Z] for a in Z])
    return found / found.sum(axis=1)[:, None]


def gradients(Z, y, weights):
    """Intercepts and slopes of weighted least squares at each point."""
    found = []
    for j in range(len(Z)):
        root = np.sqrt(weights[j])
        design = np.column_stack([np.ones(len(Z)), Z - Z[j]]) * root[:, None]
        # The ridge 1e-6, as rows of the least squares problem.
        design = np.vstack([design, 1e-3 * np.eye(Z.shape[1] + 1)])
        right = np.append(y * root, np.zeros(Z.shape[1] + 1))
        found.append(np.linalg.lstsq(design, right, rcond=None)[0])
    found = np.array(found)
    return found[:, 0], found[:, 1:]


@pytest.mark.parametrize("passes", [1, 3])
def test_outer_products_of_gradients_are_those_of_plain_least_squares(passes):
    problem = generators.generate("index-model", N=50, noise=0.3)
    (Z, root), y, W = whitened(problem.X), problem.targets[:, 0], np.eye(problem.X.shape[1])
    for _ in range(passes):
        _, slopes = gradients(Z, y, kernel_weights(Z @ W))
        W = np.linalg.eigh(slopes.T @ slopes)[1][:, -problem.k :]
    ours = sparseopt.solve(problem, backend="opg", options={"passes": passes})
    assert sine(root @ W, ours.x) < 1e-6


@pytest.mark.parametrize("passes", [1, 2])
def test_minimum_average_variance_is_one_least_squares_problem_over_the_basis(passes):
    """sum_ij w_ij (y_i - a_j - b_j'W'(z_i - z_j))^2: all pairs are rows, and W is unknown."""
    problem = generators.generate("index-model", N=40, noise=0.3)
    (Z, root), y, k = whitened(problem.X), problem.targets[:, 0], problem.k
    _, slopes = gradients(Z, y, kernel_weights(Z))
    W = np.linalg.eigh(slopes.T @ slopes)[1][:, -k:]
    for _ in range(passes):
        weights = kernel_weights(Z @ W)
        levels, slopes = gradients(Z @ W, y, weights)
        rows, right = [], []
        for j in range(len(Z)):
            for i in range(len(Z)):
                root_w = np.sqrt(weights[j, i])
                rows.append(root_w * np.outer(Z[i] - Z[j], slopes[j]).ravel())
                right.append(root_w * (y[i] - levels[j]))
        found = np.linalg.lstsq(np.array(rows), np.array(right), rcond=None)[0]
        W = np.linalg.qr(found.reshape(-1, k))[0]
    ours = sparseopt.solve(problem, backend="mave", options={"passes": passes})
    assert sine(root @ W, ours.x) < 1e-6


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_kernel_dimension_reduction_is_stationary_and_best(task):
    """tr G_Y (G_W + N epsilon I)^-1 with centred Gaussian kernels, from the definition."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(60, 4))
    y = np.sin(2.0 * X[:, 0]) + 0.1 * rng.normal(size=60)
    y = (y > 0.0) * 1.0 if task == "classification" else y
    problem = SufficientReduction(X, y, k=1, task=task)
    N, H = len(X), np.eye(60) - 1.0 / 60
    apart = np.abs(y[:, None] - y)
    of_y = (apart == 0.0) * 1.0
    if task == "regression":
        of_y = np.exp(-0.5 * (apart / np.median(apart[apart > 0.0])) ** 2)

    def value(W):
        W = np.linalg.qr(W)[0]
        squared = ((X @ W)[:, None] - (X @ W)[None]) ** 2
        K = H @ np.exp(-0.5 * squared.sum(axis=2) / problem.bandwidth**2) @ H
        return np.trace(H @ of_y @ H @ np.linalg.inv(K + N * 0.01 * np.eye(N)))

    W = sparseopt.solve(problem, backend="kdr").x
    others = [rng.normal(size=(4, 1)) for _ in range(50)]
    others += [sparseopt.solve(problem, backend=name).x for name in ("sir", "save", "dr", "phd")]
    assert value(W) < min(map(value, others))
    steps = 1e-5 * np.eye(4)
    slope = [(value(W + s[:, None]) - value(W - s[:, None])) / 2e-5 for s in steps]
    assert np.abs(slope).max() < 1e-4 * value(W)
