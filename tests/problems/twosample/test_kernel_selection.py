"""KernelSelection: derivatives, the equivalent subproblem, kernels that users bring, files."""

import numpy as np
import pytest

import sparseopt
from sparseopt.errors import ProblemError
from sparseopt.problems import KernelSelection, register_kernel
from sparseopt.problems.twosample.statistics import user_kernels
from sparseopt.problems.twosample.statistics.pairs import PairObjective


def samples(n=8, m=8, D=4, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)), 1.3 * rng.normal(size=(m, D)) + 0.5


def product(u, v):
    return (u @ v.T + 1.0) ** 2


class Gaussian:
    """The built-in kernel with sigma^2 = 2, written by a user."""

    def gram(self, z, u, v):
        return np.exp(-(((u[:, None] - v[None]) * z) ** 2).sum(axis=-1) / 4.0)


class GaussianWithSlopes(Gaussian):
    def gram_gradient(self, z, u, v):
        return -self.gram(z, u, v)[..., None] * (u[:, None] - v[None]) ** 2 * z / 2.0


KERNELS = ["linear", "quadratic", "gaussian", product, Gaussian(), GaussianWithSlopes()]


@pytest.fixture
def kernels(monkeypatch):
    monkeypatch.setattr(user_kernels, "_REGISTERED", {})


def named(kernel):
    """A name that is the same in every process."""
    return kernel if isinstance(kernel, str) else getattr(kernel, "__name__", type(kernel).__name__)


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
@pytest.mark.parametrize(("n", "m"), [(8, 8), (6, 9)])
def test_derivatives_are_those_of_finite_differences(kernel, n, m):
    problem = KernelSelection(*samples(n, m), kernel, d=2, lam=0.7)
    z, step = np.array([0.3, -0.8, 0.1, 0.5]), 1e-5
    gradient, hessian = problem.gradient(z), problem.hessian(z)
    near = 1e-8 if isinstance(kernel, str) else 1e-6
    for s, e in enumerate(step * np.eye(4)):
        rise = problem.objective(z + e) - problem.objective(z - e)
        assert gradient[s] == pytest.approx(rise / (2 * step), abs=near * abs(hessian).max())
        bend = problem.gradient(z + e) - problem.gradient(z - e)
        np.testing.assert_allclose(
            hessian[s], bend / (2 * step), atol=100 * near * abs(hessian).max()
        )


@pytest.mark.parametrize("kernel", [Gaussian(), GaussianWithSlopes()], ids=named)
@pytest.mark.parametrize(("n", "m"), [(8, 8), (6, 9)])
def test_a_kernel_of_the_user_is_as_good_as_ours(kernel, n, m):
    ours = KernelSelection(*samples(n, m), "gaussian", d=2, bandwidth=2.0)
    theirs = KernelSelection(*samples(n, m), kernel, d=2)
    z = np.array([0.6, 0.0, -0.8, 0.0])
    assert theirs.objective(z) == pytest.approx(ours.objective(z), abs=1e-14)
    np.testing.assert_allclose(theirs.gradient(z), ours.gradient(z), atol=1e-9)
    np.testing.assert_allclose(theirs.hessian(z), ours.hessian(z), atol=1e-6)


@pytest.mark.parametrize(("n", "m"), [(8, 8), (6, 9)])
@pytest.mark.parametrize(("kernel", "lam"), [("linear", 0.0), ("linear", 0.7), ("quadratic", 0.0)])
def test_the_equivalent_subproblem_has_the_same_objective(kernel, lam, n, m):
    problem = KernelSelection(*samples(n, m), kernel, d=3, lam=lam)
    equivalent = problem.as_strs()
    assert equivalent.d == 3
    for z in (np.array([0.6, 0.0, -0.8, 0.0]), np.array([0.3, -0.8, 0.1, 0.5])):
        assert equivalent.objective(z) == pytest.approx(problem.objective(z), abs=1e-12)
        direct = problem.samples.objective(z, lam)
        assert problem.objective(z) == pytest.approx(direct, abs=1e-12)


@pytest.mark.parametrize(("kernel", "lam"), [("quadratic", 0.1), ("gaussian", 0.0), (product, 0.0)])
def test_other_objectives_are_no_subproblem(kernel, lam):
    assert KernelSelection(*samples(), kernel, d=3, lam=lam).as_strs() is None


@pytest.mark.parametrize("kernel", ["linear", "quadratic", "gaussian"])
def test_pairs_that_are_computed_anew_give_the_same(kernel, monkeypatch):
    problem = KernelSelection(*samples(40, 30), kernel, d=2, lam=0.3)
    z = np.array([0.6, 0.0, -0.8, 0.0])
    kept = problem.samples.objective_function()
    assert isinstance(kept, PairObjective)
    monkeypatch.setattr("sparseopt.problems.twosample.statistics.pairs._KEPT", 0)
    monkeypatch.setattr("sparseopt.problems.twosample.statistics.pairs._CHUNK", 500)
    blocks = problem.samples.objective_function()
    assert blocks.value(z, 0.3) == pytest.approx(kept.value(z, 0.3), abs=1e-14)
    np.testing.assert_allclose(blocks.gradient(z, 0.3), kept.gradient(z, 0.3), atol=1e-12)
    np.testing.assert_allclose(blocks.hessian(z, 0.3), kept.hessian(z, 0.3), atol=1e-12)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda slope: 3.0 * slope, r"is not the derivative of gram: in z\[0\], between"),
        (lambda slope: -slope, "is not the derivative"),
        (lambda slope: slope[:2], "returned the shape"),
        (lambda slope: slope * np.nan, "not finite"),
    ],
)
def test_wrong_derivatives_are_refused(change, words):
    class Wrong(GaussianWithSlopes):
        def gram_gradient(self, z, u, v):
            return change(super().gram_gradient(z, u, v))

    with pytest.raises(ProblemError, match=words):
        KernelSelection(*samples(), Wrong(), d=2)


def test_derivatives_in_single_precision_are_taken():
    class Single(GaussianWithSlopes):
        def gram(self, z, u, v):
            return super().gram(z, u, v).astype(np.float32)

    assert KernelSelection(*samples(), Single(), d=2).d == 2


@pytest.mark.parametrize(("n", "m"), [(40, 40), (30, 40)])
@pytest.mark.parametrize("z", [[0.6, 0.0, -0.8, 0.0], [0.1, -0.7, 0.5, 0.5]])
def test_tables_of_the_quadratic_kernel_give_what_pairs_give(n, m, z, monkeypatch):
    problem = KernelSelection(*samples(n, m), "quadratic", d=2, lam=0.3)
    z = np.array(z)
    tables = problem.samples.objective_function()
    by_pairs = tables.hessian(z, 0.3)
    np.testing.assert_allclose(tables.hessian(z, 0.3), by_pairs, atol=1e-12)
    # The tables are there now: no pair is visited any more.
    pairs = problem.samples.objective_function()
    monkeypatch.setattr(tables, "_blocks", None)
    assert tables.value(z, 0.3) == pytest.approx(pairs.value(z, 0.3), abs=1e-13)
    np.testing.assert_allclose(tables.gradient(z, 0.3), pairs.gradient(z, 0.3), atol=1e-12)
    monkeypatch.setattr("sparseopt.problems.twosample.statistics.quadratic._LARGEST", 0)
    pairs.hessian(z, 0.3)
    np.testing.assert_allclose(pairs.hessian(z, 0.3), by_pairs, atol=1e-12)


def test_a_file_names_the_kernel_and_needs_it_registered(tmp_path, kernels):
    problem = KernelSelection(*samples(), product, d=2, lam=0.01)
    path = tmp_path / "selection.npz"
    sparseopt.save(problem, path)
    with pytest.raises(ProblemError, match=r"register_kernel\('.*:product', kernel\)"):
        sparseopt.load(path)
    name = f"{product.__module__}:product"
    register_kernel(name, Gaussian())
    with pytest.raises(ProblemError, match="has other values"):
        sparseopt.load(path)
    register_kernel(name, product)
    again = sparseopt.load(path)
    assert again.fingerprint() == problem.fingerprint()
    z = np.array([0.6, 0.0, -0.8, 0.0])
    assert again.objective(z) == problem.objective(z)


def test_a_registered_name_is_the_one_in_files(kernels):
    register_kernel("my kernel", product)
    problem = KernelSelection(*samples(), product, d=2)
    assert problem.payload()[0]["kernel"] == "user:my kernel"
    by_name = KernelSelection(*samples(), "user:my kernel", d=2)
    assert by_name.fingerprint() == problem.fingerprint()
    assert problem.with_changes(d=3).kernel.given is product


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"d": 0}, "d is 0"),
        ({"d": 5}, "from 1 to 4"),
        ({"d": 1.5}, "d is 1.5"),
        ({"lam": -1.0}, "lam is -1.0"),
        ({"lam": np.nan}, "lam is nan"),
        ({"lam": None}, "lam is None"),
        ({"kernel": "cubic"}, "linear, quadratic, gaussian"),
        ({"kernel": 3}, "a function k"),
        ({"kernel": "linear", "c": 1.0}, "only the quadratic"),
        ({"kernel": "linear", "probe": np.eye(4)}, "probe"),
        ({"kernel": product, "bandwidth": 1.0}, "user's"),
        ({"kernel": lambda u, v: u @ v.T @ np.triu(np.ones((len(v), len(v))))}, "not symmetric"),
        ({"kernel": lambda u, v: u[:, :3]}, r"returned the shape \(4, 3\)"),
        ({"kernel": lambda u, v: np.full((len(u), len(v)), np.nan)}, "not finite"),
        ({"kernel": lambda u, v: 1 / 0}, "ZeroDivisionError"),
        ({"x": samples()[0][:3]}, "at least 4"),
        ({"x": samples()[1]}, "same sample"),
        ({"x": np.full((8, 4), np.nan)}, "nan"),
    ],
)
def test_bad_input_is_named(change, words):
    x, y = samples()
    with pytest.raises(ProblemError, match=words):
        KernelSelection(**{"x": x, "y": y, "d": 2, **change})


def test_a_kernel_that_is_wrong_on_small_samples_only_is_noticed():
    def short(u, v):
        return np.ones((4, 4))

    problem = KernelSelection(*samples(), short, d=2)
    with pytest.raises(ProblemError, match="expected the Gram matrix"):
        problem.objective(np.array([1.0, 0.0, 0.0, 0.0]))


def test_no_kernel_can_be_registered_without_a_name(kernels):
    with pytest.raises(ProblemError, match="name"):
        register_kernel("", product)
    with pytest.raises(ProblemError, match="is no kernel"):
        register_kernel("a", 3.0)
