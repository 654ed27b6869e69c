"""MMD, variance and derivatives against direct sums, written as the paper writes them."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from thorough import first

from sparseopt.errors import ProblemError
from sparseopt.problems import STRS, KernelSelection
from sparseopt.problems.twosample.statistics.hermite import features, order
from sparseopt.problems.twosample.statistics.linear import linear_terms
from sparseopt.problems.twosample.statistics.median_distance import median_distance
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.two_sample.selecting import Method, automatic_lam

KERNELS = ["linear", "quadratic", "gaussian"]


def kernel_value(sample, z, u, v):
    k = np.exp(-((u - v) ** 2) / (2.0 * sample.bandwidth))
    if sample.kernel == "linear":
        return z @ k
    if sample.kernel == "quadratic":
        return (z @ k + sample.c) ** 2
    return np.exp(-(((z * (u - v)) ** 2).sum()) / (2.0 * sample.bandwidth[0]))


def direct(sample, z):
    """Return (squared MMD, variance) by loops."""
    x, y = sample.x, sample.y
    n, m = len(x), len(y)

    def gram(u, v):
        return np.array([[kernel_value(sample, z, a, b) for b in v] for a in u])

    xx, yy, xy = gram(x, x), gram(y, y), gram(x, y)
    if n == m:
        H = xx + yy - xy - xy.T
        off = sum(H[i, j] for i, j in itertools.permutations(range(n), 2))
        rows = H.sum(axis=1)
        variance = 4 / n**3 * (rows**2).sum() - 4 / n**4 * H.sum() ** 2
        return off / (n * (n - 1)), variance
    mmd = (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (yy.sum() - np.trace(yy)) / (m * (m - 1))
    p, q = xx.mean(axis=1) - xy.mean(axis=1), yy.mean(axis=1) - xy.mean(axis=0)
    N = 2 * n * m / (n + m)
    return mmd - 2 * xy.mean(), N * (4 * p.var() / n + 4 * q.var() / m)


def samples(n, m, D, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, D)), 1.3 * rng.normal(size=(m, D)) + 0.5


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "m"), [(7, 7), (6, 9)])
def test_values_are_those_of_direct_sums(kernel, n, m):
    sample = TwoSample.of(*samples(n, m, 4), kernel)
    z = np.array([0.3, -0.8, 0.0, 0.5])
    mmd, variance = direct(sample, z)
    assert sample.mmd(z) == pytest.approx(mmd, abs=1e-13)
    assert sample.variance(z) == pytest.approx(variance, abs=1e-13)
    assert sample.objective(z, 0.7) == pytest.approx(mmd - 0.7 * variance, abs=1e-13)


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize(("n", "m"), [(7, 7), (6, 9)])
def test_derivatives(kernel, n, m):
    sample = TwoSample.of(*samples(n, m, 4), kernel)
    z, lam, step = np.array([0.3, -0.8, 0.1, 0.5]), 0.7, 1e-5
    gradient, hessian = sample.gradient(z, lam), sample.hessian(z, lam)
    for s, e in enumerate(np.eye(4) * step):
        rise = sample.objective(z + e, lam) - sample.objective(z - e, lam)
        assert gradient[s] == pytest.approx(rise / (2 * step), abs=1e-8)
        bend = sample.gradient(z + e, lam) - sample.gradient(z - e, lam)
        np.testing.assert_allclose(hessian[s], bend / (2 * step), atol=1e-8)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("n", "m"), [(200, 200), (150, 260)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_features_give_the_direct_sums(n, m, scale):
    x, y = (scale * sample for sample in samples(n, m, 3, seed=4))
    x[0] += 20.0 * scale
    sample = TwoSample.of(x, y)
    a, V = linear_terms(x, y, sample.bandwidth)
    problem = STRS.from_two_samples(x, y, d=2, lam=0.5)
    z = np.array([0.6, -0.64, 0.48])
    assert a @ z == pytest.approx(sample.mmd(z), abs=1e-11)
    assert z @ V @ z == pytest.approx(sample.variance(z), rel=1e-9)
    assert problem.objective(z) == pytest.approx(sample.objective(z, 0.5), rel=1e-9)
    assert np.linalg.eigvalsh(problem.A).max() <= 1e-15


def test_observations_far_apart_are_summed_directly():
    x, y = samples(60, 60, 2, seed=5)
    x[0, 0], y[3, 1] = 1e4, -1e9
    sample = TwoSample.of(x, y)
    a, V = linear_terms(x, y, sample.bandwidth)
    for z in np.eye(2):
        assert a @ z == pytest.approx(sample.mmd(z), abs=1e-12)
        assert z @ V @ z == pytest.approx(sample.variance(z), rel=1e-9)


@pytest.mark.thorough
@given(st.floats(0.0, 25.0), st.floats(-1, 1), st.floats(-1, 1))
@settings(max_examples=100, deadline=None)
def test_the_truncation_keeps_its_promise(radius, s, t):
    count = order(radius, 1e-10, largest=10**6)
    x, y = radius * s, radius * t
    phi = features(np.array([x, y]), count)
    assert phi[:, 0] @ phi[:, 1] == pytest.approx(np.exp(-((x - y) ** 2) / 2), abs=1.1e-10)


def test_the_order_grows_with_radius_and_precision():
    assert order(1.0, 1e-6, 100) < order(1.0, 1e-12, 100) < order(6.0, 1e-12, 1000)
    assert order(6.0, 1e-12, 5) is None
    assert order(100.0, 1e-12, 10**9) is None


@pytest.mark.thorough
@given(
    st.lists(st.integers(-5, 5) | st.floats(-5, 5), min_size=1, max_size=40),
    st.lists(st.integers(-5, 5) | st.floats(-5, 5), min_size=1, max_size=40),
    st.booleans(),
)
@settings(max_examples=100, deadline=None)
def test_the_median_of_all_distances(x, y, nonzero):
    x, y = np.array(x, dtype=float), np.array(y, dtype=float)
    distances = np.abs(x[:, None] - y).ravel()
    distances = distances[distances > 0] if nonzero else distances
    expected = np.median(distances) if len(distances) else 0.0
    assert median_distance(x, y, nonzero=nonzero) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("digits", first(1, [0, 1, 8]))
def test_the_median_of_squares_is_found_without_holding_them(digits, monkeypatch):
    monkeypatch.setattr("sparseopt.problems.twosample.statistics.linear._CHUNK", 20)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(4, 12, 2)
        x, y = (np.round(rng.normal(size=(n, 2)), digits) for n in sizes)
        if seed % 4 == 0:
            y = y * 1e-3 + 1e3
        both = TwoSample.of(x, y, "gaussian", dense=True)
        pooled = np.concatenate([x, y])
        squares = np.sum((pooled[:, None] - pooled[None]) ** 2, axis=2)
        median = np.median(squares) or np.median(squares[squares > 0.0])
        assert both.bandwidth[0] == pytest.approx(median, rel=1e-9)


@pytest.mark.parametrize("shift", [0.0, 100.0])
def test_the_median_of_squares_is_found_in_one_pass_or_two(shift, monkeypatch):
    statistics = "sparseopt.problems.twosample.statistics.two_samples"
    monkeypatch.setattr(f"{statistics}._PILOT", 20)
    monkeypatch.setattr(f"{statistics}._TILE", 16)
    rng = np.random.default_rng(0)
    # with a shift the pilot sees nothing but observations that are far from the others
    pooled = rng.normal(size=(90, 3))
    pooled[:: -(-90 // 20)] += shift
    found = TwoSample.of(pooled[:40], pooled[40:], "gaussian", dense=True).bandwidth[0]
    squares = np.sum((pooled[:, None] - pooled) ** 2, axis=2)
    assert found == pytest.approx(np.median(squares), rel=1e-9)


@pytest.mark.parametrize("digits", [0, 1, 12])
def test_the_median_of_many_distances(digits):
    rng = np.random.default_rng(digits)
    x, y = np.round(rng.normal(size=700), digits), np.round(rng.normal(size=901), digits)
    expected = np.median(np.abs(x[:, None] - y))
    assert median_distance(x, y) == pytest.approx(expected, rel=1e-12)


def test_columns_that_say_nothing_get_zeros():
    x, y = samples(20, 20, 3)
    x[:, 1] = y[:, 1] = 4.0
    problem = STRS.from_two_samples(x, y, d=2, lam=0.5)
    assert problem.linear[1] == pytest.approx(0.0, abs=1e-13)
    np.testing.assert_allclose(problem.A[1], 0.0, atol=1e-13)


@pytest.mark.parametrize(("n", "m"), [(30, 30), (25, 40)])
def test_the_automatic_lam_is_that_of_the_test(n, m):
    x, y = samples(n, m, 6, seed=9)
    problem = STRS.from_two_samples(x, y, d=3)
    unit = STRS.from_two_samples(x, y, d=3, lam=1.0)
    lam = automatic_lam(Method("strs"), x, y, 3)
    assert lam > 0.0
    np.testing.assert_allclose(problem.A, lam * unit.A, rtol=1e-9)
    np.testing.assert_array_equal(problem.linear, unit.linear)


def test_where_nothing_differs_the_automatic_lam_is_zero():
    x = np.zeros((6, 2))
    y = np.zeros((7, 2))
    assert not STRS.from_two_samples(x, y, d=1).A.any()


def test_a_column_of_mostly_zeros_has_a_bandwidth():
    x, y = samples(20, 20, 2)
    x[:18, 0] = y[:18, 0] = 0.0
    assert (TwoSample.of(x, y).bandwidth > 0.0).all()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda x, y: {"x": x[:3]}, "at least 4"),
        (lambda x, y: {"y": y[:, :2]}, "2 columns and x has 3"),
        (lambda x, y: {"y": x}, "the same sample"),
        (lambda x, y: {"x": np.where(x > 1, np.nan, x)}, "nan"),
        (lambda x, y: {"kernel": "gaussian"}, "only the linear kernel"),
        (lambda x, y: {"lam": -1.0}, "lam is -1.0"),
        (lambda x, y: {"lam": "cv"}, "lam is 'cv'; expected a number >= 0, or 'auto'"),
        (lambda x, y: {"bandwidth": "mean"}, "'median'"),
        (lambda x, y: {"bandwidth": [1.0, 0.0, 1.0]}, r"bandwidth\[1\] is 0.0"),
        (lambda x, y: {"bandwidth": [1.0, 2.0]}, "expected \\(3,\\)"),
        (lambda x, y: {"d": 4}, "from 1 to 3"),
    ],
)
def test_bad_input_is_named(change, words):
    x, y = samples(10, 10, 3)
    with pytest.raises(ProblemError, match=words):
        STRS.from_two_samples(**{"x": x, "y": y, "d": 2, **change(x, y)})


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"kernel": "cubic"}, "linear, quadratic, gaussian"),
        ({"kernel": "quadratic", "c": -1.0}, "c is -1.0"),
        ({"kernel": "gaussian", "bandwidth": [1.0, 2.0, 3.0]}, "one bandwidth"),
    ],
)
def test_bad_kernels_are_named(settings_, words):
    with pytest.raises(ProblemError, match=words):
        TwoSample.of(*samples(10, 10, 3), **settings_)


@pytest.mark.parametrize(("n", "m"), [(7, 7), (6, 9)])
def test_the_quadratic_kernels_constant_takes_no_digits(n, m):
    """It is a root of the bandwidth: 2e8 in far units, and its square 4e16, beside kernels of 1."""
    problem = KernelSelection(*(1e8 * part for part in samples(n, m, 4)), "quadratic", d=2, lam=0.0)
    z = np.array([0.6, 0.0, 0.0, 0.8])
    a, A = problem.as_strs().a, problem.as_strs().A
    assert problem.c > 1e7
    assert problem.objective(z) == pytest.approx(z @ A @ z + a @ z, rel=1e-13)
