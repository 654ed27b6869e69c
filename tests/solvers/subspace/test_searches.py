"""Searches over subspaces: gradients, what they find, and samples without structure."""

import numpy as np
import pytest
from scipy.special import erf

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.checking.subspace.gradients import gradient_of
from sparseopt.problems import MMDSubspace, MomentSubspace, SufficientReduction
from sparseopt.solvers.subspace.objectives import objective_of
from sparseopt.solvers.subspace.scheme import AlternatingScheme, Atoms, Features
from sparseopt.solvers.subspace.sigmoids import Sigmoids

DESIGNS = [
    ("skewed-directions", {"N": 60, "n": 5}),
    ("bent-curve", {"N": 60, "curve": "cubic"}),
    ("index-model", {"N": 60, "model": "rational"}),
    ("index-model", {"N": 60, "model": "classes"}),
]
SCHEME = "alternating-scheme"
DEFAULTS = {name: option.default for name, option in AlternatingScheme.options.items()}


def basis(rng, n, k):
    return np.linalg.qr(rng.normal(size=(n, k)))[0]


def sine(W, x):
    """Return the sine of the largest angle between two subspaces."""
    return float(np.linalg.norm(W - x @ (x.T @ W), 2))


@pytest.mark.parametrize(("name", "settings"), DESIGNS)
@pytest.mark.parametrize("gradient", ["solver", "checker"])
def test_gradients_are_those_of_finite_differences(name, settings, gradient):
    problem = generators.generate(name, **settings)
    rng = np.random.default_rng(0)
    W = basis(rng, problem.X.shape[1], problem.k)
    exact = objective_of(problem)(W)[1] if gradient == "solver" else gradient_of(problem, W)
    for _ in range(3):
        D = rng.normal(size=W.shape)
        D -= W @ (W.T @ D)
        step = 1e-6 * D
        # Orthonormal to second order, which the differences do not see.
        ends = [np.linalg.qr(W + sign * step)[0] for sign in (1.0, -1.0)]
        difference = (problem.objective(ends[0]) - problem.objective(ends[1])) / 2e-6
        assert np.vdot(exact, D) == pytest.approx(difference, rel=1e-6)
    assert objective_of(problem)(W)[0] == pytest.approx(problem.objective(W), rel=1e-12)


@pytest.mark.parametrize(("name", "settings"), DESIGNS)
def test_gradients_of_functions_are_those_of_finite_differences(name, settings):
    problem = generators.generate(name, **settings)
    rng = np.random.default_rng(1)
    family = Sigmoids if isinstance(problem, SufficientReduction) else Atoms
    functions = family(problem, {**DEFAULTS, "size": 7})
    start = functions.start
    theta, before, d = (start + 0.3 * rng.normal(size=start.size) for _ in range(3))
    W = basis(rng, problem.X.shape[1], problem.k)
    exact = functions.value(theta, before, W @ W.T)[1] @ d
    ends = [functions.value(theta + sign * 1e-6 * d, before, W @ W.T)[0] for sign in (1.0, -1.0)]
    assert exact == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6)


def test_expectations_are_those_of_samples():
    rng = np.random.default_rng(2)
    problem = generators.generate("skewed-directions", N=30, n=3, k=1)
    atoms = Atoms(problem, {**DEFAULTS, "size": 5})
    shares, V = atoms.split(atoms.start)
    xi = DEFAULTS["width"] / atoms.unit * rng.normal(size=(60_000, 3))
    slopes = (np.exp(1j * xi @ V.T) * shares) @ (1j * V)
    sampled = (slopes.conj().T @ slopes).real / len(xi)
    np.testing.assert_allclose(atoms.gram(atoms.start), sampled, atol=0.03 * np.trace(sampled))

    response = generators.generate("index-model", N=30, n=3)
    features = Features(response, {**DEFAULTS, "size": 6})
    theta = rng.normal(size=features.start.shape)
    xi = DEFAULTS["width"] * rng.normal(size=(60_000, 3))
    slopes = -(np.sin(xi @ features.W.T + features.phases) * theta[:, 0]) @ features.W
    sampled = slopes.T @ slopes / len(xi)
    np.testing.assert_allclose(features.gram(theta), sampled, atol=0.03 * np.trace(sampled))

    layer = Sigmoids(response, {**DEFAULTS, "size": 6})
    theta, before = (layer.start + rng.normal(size=layer.start.shape) for _ in range(2))
    W = basis(rng, 3, 2)
    fields = []
    for each in (theta, before):
        c, V, b = layer.split(each)
        fields.append(np.exp(-((xi @ V.T + b) ** 2)) * c[:, 0] * 2.0 / np.sqrt(np.pi) @ V)
    sampled = fields[0].T @ fields[0] / len(xi)
    np.testing.assert_allclose(layer.gram(theta), sampled, atol=0.03 * np.trace(sampled))
    # The penalty is all that a larger weight adds, but for what does not depend on theta.
    P, heavy = W @ W.T, Sigmoids(response, {**DEFAULTS, "size": 6, "penalty": 2.0})
    added = heavy.value(theta, before, P)[0] - layer.value(theta, before, P)[0]
    across = float(np.mean(np.sum((fields[0] - fields[1] @ P) ** 2, axis=1)))
    without = float(np.mean(np.sum((fields[1] @ P) ** 2, axis=1)))
    assert added == pytest.approx(across - without, abs=0.03 * (across + without))


def test_noise_gives_sigmoids_the_error_of_their_mean():
    rng = np.random.default_rng(5)
    response = generators.generate("index-model", N=12, n=3)
    layer = Sigmoids(response, {**DEFAULTS, "size": 5, "penalty": 0.0, "noise": 0.7})
    theta = layer.start + rng.normal(size=layer.start.shape)
    c, W, b = layer.split(theta)
    noisy = layer.X[:, None] + 0.7 * rng.normal(size=(12, 40_000, 3))
    means = erf(noisy @ W.T + b).mean(axis=1) @ c
    error = means - layer.Y
    expected = float(np.mean((error - error.mean()) ** 2))
    assert layer.value(theta, theta, np.eye(3))[0] == pytest.approx(expected, rel=0.02)


def test_principal_components_are_moments_of_order_2():
    X = np.random.default_rng(3).normal(size=(50, 5)) * [3.0, 2.0, 1.0, 0.5, 0.2]
    problem = MomentSubspace(X, k=2, weights=[0.0, 1.0])
    pca = sparseopt.solve(problem, backend="pca")
    found = sparseopt.solve(problem)
    assert found.backend == "stiefel" and sine(found.x, pca.x) < 1e-6
    assert found.objective == pytest.approx(pca.objective, rel=1e-9)


@pytest.mark.thorough
def test_skewed_directions_are_found_and_principal_components_are_not():
    problem = generators.generate("skewed-directions", N=100, n=4, k=1)
    truth = np.eye(4)[:, :1]
    errors = {
        name: sine(truth, sparseopt.solve(problem, backend=name).x)
        for name in ("stiefel", "alternating-scheme", "pca")
    }
    assert max(errors["stiefel"], errors["alternating-scheme"]) < 0.4 < 0.6 < errors["pca"]


def test_figure_1a():
    """A small bandwidth finds the tangent, and one of two directions; PCA finds neither."""

    def angle(problem, backend):
        x = sparseopt.solve(problem, backend=backend).x[:, 0]
        return float(np.degrees(np.arctan2(x[1], x[0])) % 180.0)

    cubic = generators.generate("bent-curve", curve="cubic", bandwidth=0.2)
    tangent = float(np.degrees(np.arctan(2.0)))
    assert abs(angle(cubic, "stiefel") - tangent) < 5.0 < 40.0 < abs(angle(cubic, "pca") - tangent)
    two = generators.generate("two-directions")
    found = angle(two, "stiefel")
    assert min(abs(found - 30.0), abs(found - 150.0)) < 2.0
    assert min(angle(two, "pca"), 180.0 - angle(two, "pca")) < 10.0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("backend", "options"),
    [
        ("stiefel", {}),
        ("alternating-scheme", {}),
        ("alternating-scheme", {"functions": "sigmoids"}),
    ],
    ids=["stiefel", "cosines", "sigmoids"],
)
@pytest.mark.parametrize("model", ["rational", "quadratic", "classes"])
def test_responses_reveal_their_directions(backend, options, model):
    problem = generators.generate("index-model", N=150, model=model)
    result = sparseopt.solve(problem, backend=backend, options=options)
    assert (result.status, result.verdict) == (Status.CONVERGED, Verdict.UNPROVEN)
    assert sine(np.eye(6)[:, :2], result.x) < 0.4


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["stiefel", "alternating-scheme", "pca"])
@pytest.mark.parametrize(
    "X", [np.zeros((6, 3)), np.ones((6, 3)), np.eye(6)[:, :3]], ids=["zero", "one", "units"]
)
def test_samples_without_structure(backend, X):
    problems = [MomentSubspace(X, k=1), MMDSubspace(X, k=1, bandwidth=1.0)]
    for problem in [*problems, SufficientReduction(X, np.arange(6.0), k=1)]:
        for options in [{}, *([{"functions": "sigmoids"}] if backend == SCHEME else [])]:
            result = sparseopt.solve(problem, backend=backend, options=options)
            assert result.status is Status.CONVERGED
            assert result.verdict is Verdict.UNPROVEN, result.check_messages


def test_a_warm_start_is_where_the_search_begins():
    problem = generators.generate("two-directions", N=80)
    for degrees in (25.0, 155.0):
        angle = np.deg2rad(degrees)
        start = np.array([[np.cos(angle)], [np.sin(angle)]])
        found = sparseopt.solve(problem, warm_start=start).x[:, 0]
        near = np.degrees(np.arctan2(found[1], found[0])) % 180.0
        assert abs(near - degrees) < 8.0


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["stiefel", "alternating-scheme"])
def test_a_time_limit_ends_the_search(backend, in_time):
    problem = MomentSubspace(np.random.default_rng(0).normal(size=(1000, 60)), k=5)
    result = in_time(
        4.0, lambda: sparseopt.solve(problem, backend=backend, time_limit=0.2, check=False)
    )
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.x.shape == (60, 5)
