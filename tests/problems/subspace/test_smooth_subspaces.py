"""Moments, discrepancies and responses of subspaces: by their definitions, and what is refused."""

import numpy as np
import pytest

from sparseopt import ProblemError, generators
from sparseopt.problems import MMDSubspace, MomentSubspace, SufficientReduction


def basis(rng, n, k):
    return np.linalg.qr(rng.normal(size=(n, k)))[0]


def tensors(points, shares, orders):
    letters = "abcdef"[:orders]
    return np.einsum(
        ",".join(["z", *(f"z{letter}" for letter in letters)]) + "->" + letters,
        shares,
        *([points] * orders),
    )


def test_moments_are_those_of_the_tensors():
    rng = np.random.default_rng(0)
    X, W, weights = rng.normal(size=(9, 3)), basis(rng, 3, 2), np.array([0.5, 1.0, 2.0, 0.3])
    even = np.full(9, 1.0 / 9.0)
    problem = MomentSubspace(X, k=2, weights=weights)

    def distance(points, shares):
        return sum(
            weight / 3.0**s * np.sum((tensors(X, even, s) - tensors(points @ W.T, shares, s)) ** 2)
            for s, weight in enumerate(weights, start=1)
        )

    value = problem.objective(W)
    assert value == pytest.approx(distance(X @ W, even))
    for _ in range(50):
        points = X @ W + 0.1 * rng.normal(size=(9, 2))
        assert distance(points, rng.dirichlet(np.ones(9))) > value


def test_the_discrepancy_is_the_least_of_all_distributions():
    rng = np.random.default_rng(1)
    X, W, h = rng.normal(size=(8, 3)), basis(rng, 3, 1), 0.8
    problem = MMDSubspace(X, k=1, bandwidth=h)

    def kappa(U, V):
        apart = ((U[:, None] - V) ** 2).sum(axis=2)
        return np.exp(-apart / (4.0 * h**2))

    def discrepancy(places, shares):
        Y = places[:, None] * W.T
        return (
            kappa(X, X).mean()
            - 2.0 * shares @ kappa(Y, X).mean(axis=1)
            + shares @ kappa(Y, Y) @ shares
        )

    value, Z = problem.objective(W), (X @ W)[:, 0]
    off = np.sum((X - np.outer(Z, W[:, 0])) ** 2, axis=1)
    rho = np.exp(-off / (4.0 * h**2)) / 8.0
    assert value == pytest.approx(discrepancy(Z, rho))
    # The mass that is left, spread thinly and far away, costs less and less.
    excess = []
    for count in (10, 1000):
        far = 1e3 + 1e3 * np.arange(count)
        spread = np.full(count, (1.0 - rho.sum()) / count)
        excess.append(discrepancy(np.append(Z, far), np.append(rho, spread)) - value)
    assert 0.0 < excess[1] < 0.02 * excess[0]
    for _ in range(50):
        assert discrepancy(rng.normal(size=6), rng.dirichlet(np.ones(6))) > value


@pytest.mark.parametrize("task", ["regression", "classification"])
def test_the_reduction_is_the_least_penalised_error(task):
    rng = np.random.default_rng(2)
    X, W = rng.normal(size=(30, 4)), basis(rng, 4, 2)
    y = np.sign(X[:, 0]) if task == "classification" else X[:, 0] + rng.normal(size=30)
    problem = SufficientReduction(X, y, k=2, task=task, bandwidth=1.5, ridge=0.05)
    Z, Y = X @ W, problem.targets
    assert np.mean(np.sum(Y**2, axis=1)) == pytest.approx(1.0)
    K = np.exp(-((Z[:, None] - Z) ** 2).sum(axis=2) / (2.0 * 1.5**2))
    # min |Y - 1b' - KC|^2 / N + ridge tr C'KC, as one least-squares problem in b and C.
    factor = np.linalg.cholesky(K + 1e-12 * np.eye(30))
    design = np.hstack([np.ones((30, 1)), factor]) / np.sqrt(30.0)
    penalty = np.hstack([np.zeros((30, 1)), np.sqrt(0.05) * np.eye(30)])
    A, B = np.vstack([design, penalty]), np.vstack([Y / np.sqrt(30.0), np.zeros_like(Y)])
    rest = B - A @ np.linalg.lstsq(A, B, rcond=None)[0]
    assert problem.objective(W) == pytest.approx(np.sum(rest**2), rel=1e-6)


PROBLEMS = [
    ("skewed-directions", {"N": 40, "n": 5}),
    ("bent-curve", {"N": 40}),
    ("two-directions", {"N": 40}),
    ("index-model", {"N": 40, "model": "rational"}),
    ("index-model", {"N": 40, "model": "quadratic"}),
    ("index-model", {"N": 40, "model": "classes"}),
]


@pytest.mark.parametrize(("name", "settings"), PROBLEMS)
def test_every_basis_of_a_subspace_has_its_value(name, settings):
    problem = generators.generate(name, **settings)
    rng = np.random.default_rng(3)
    W, Q = basis(rng, problem.X.shape[1], problem.k), basis(rng, problem.k, problem.k)
    value = problem.objective(W)
    assert problem.objective(W @ Q) == pytest.approx(value, rel=1e-12)
    assert 0.0 <= value <= problem.objective_scale(W) * (1.0 + 1e-12)
    assert problem.residuals(2.0 * W) == {"orthonormality": pytest.approx(3.0)}


@pytest.mark.parametrize("curve", ["parabola", "sine", "cubic"])
def test_curves_go_through_0(curve):
    X = generators.generate("bent-curve", N=2000, curve=curve).X
    slope = {"parabola": 0.0, "sine": 4.0 / 3.0, "cubic": 2.0}[curve]
    near = X[np.abs(X[:, 0]) < 0.5]
    assert np.abs(near[:, 1] - slope * near[:, 0]).max() < 1.0


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda X: MomentSubspace(X, k=4), "from 1 to 3: X has 4 columns"),
        (lambda X: MMDSubspace(X[:2], k=2, bandwidth=1.0), "at least 3 points"),
        (lambda X: MomentSubspace(np.where(X > 0.0, np.nan, X), k=2), "X"),
        (lambda X: MomentSubspace(X, k=2, weights=[0.0, 0.0]), "not all 0"),
        (lambda X: MomentSubspace(X, k=2, weights=[1.0, -1.0]), "nonnegative"),
        (lambda X: MomentSubspace(X, k=2, weights=np.ones(9)), "at most 8"),
        (lambda X: MomentSubspace(X * 1e100, k=2), "divide X by a unit"),
        (lambda X: MMDSubspace(X, k=2), "bandwidth is 0.0"),
        (lambda X: MMDSubspace(X, k=2, bandwidth=np.inf), "bandwidth is inf"),
        (lambda X: SufficientReduction(X, X[:, 0], k=0), "k is 0"),
        (lambda X: SufficientReduction(X, X[:5, 0], k=2), "expected"),
        (lambda X: SufficientReduction(X, np.full(9, 2.0), k=2), "y is 2 everywhere"),
        (lambda X: SufficientReduction(X, np.full(9, np.nan), k=2), "y"),
        (lambda X: SufficientReduction(X, X[:, 0], k=2, task="ranking"), "'classification'"),
        (lambda X: SufficientReduction(X, X[:, 0], k=2, task="classification"), "9 labels"),
        (lambda X: SufficientReduction(X, X[:, 0], k=2, ridge=0.0), "ridge is 0.0"),
        (lambda X: SufficientReduction(X, X[:, 0], k=2, bandwidth=True), "bandwidth is True"),
    ],
)
def test_bad_input_is_refused(make, words):
    with pytest.raises(ProblemError, match=words):
        make(np.random.default_rng(4).normal(size=(9, 4)))
