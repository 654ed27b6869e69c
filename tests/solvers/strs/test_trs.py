"""The trust-region subproblem on the sphere: its optimality conditions prove each answer."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sparseopt.solvers.common.spheres import maximise_on_sphere, maximise_on_spheres


def _assert_global_maximum(B, b):
    found = maximise_on_sphere(B, b)
    z, mu, bound = found.z[0], found.mu[0], found.bound[0]
    size = np.abs(B).max() + np.abs(b).max() + 1e-300
    n = len(b)
    assert abs(np.linalg.norm(z) - 1.0) <= 1e-14
    np.testing.assert_allclose(mu * z - B @ z, b / 2.0, atol=1e-12 * n * size)
    assert np.linalg.eigvalsh(mu * np.eye(n) - B)[0] >= -1e-12 * n * size
    assert z @ B @ z + b @ z == pytest.approx(bound, abs=1e-12 * n * size)


def _symmetric(rng, n):
    M = rng.normal(size=(n, n))
    return M + M.T


SEEDS = st.integers(0, 10_000)
SIZES = st.integers(1, 8)


@pytest.mark.thorough
@given(SEEDS, SIZES, st.integers(-18, 6))
def test_random_problems_of_every_balance_of_the_two_terms(seed, n, power):
    rng = np.random.default_rng(seed)
    _assert_global_maximum(_symmetric(rng, n), 10.0**power * rng.normal(size=n))


@given(SEEDS, SIZES, st.integers(-16, 1))
def test_hard_case(seed, n, power):
    """The linear term is orthogonal to the top eigenspace, and it is small."""
    rng = np.random.default_rng(seed)
    B = _symmetric(rng, n)
    top = np.linalg.eigh(B)[1][:, -1]
    b = rng.normal(size=n)
    _assert_global_maximum(B, 10.0**power * (b - top * (top @ b)))


@given(SEEDS, st.integers(2, 8), st.booleans())
def test_multiple_top_eigenvalue(seed, n, linear):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.sort(rng.normal(size=n))
    values[-2] = values[-1]
    B = Q @ np.diag(values) @ Q.T
    _assert_global_maximum((B + B.T) / 2.0, linear * Q[:, 0])


@given(SEEDS, SIZES)
def test_integers(seed, n):
    rng = np.random.default_rng(seed)
    B = np.round(_symmetric(rng, n))
    _assert_global_maximum(B, rng.integers(-2, 3, size=n).astype(float))


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_scaling_of_the_data_scales_the_answer(scale):
    rng = np.random.default_rng(3)
    B, b = _symmetric(rng, 5), rng.normal(size=5)
    plain, scaled = maximise_on_sphere(B, b), maximise_on_sphere(scale * B, scale * b)
    np.testing.assert_allclose(scaled.bound, scale * plain.bound, rtol=1e-13)
    np.testing.assert_allclose(scaled.z, plain.z, atol=1e-12)


def test_without_a_quadratic_term_the_maximum_is_the_norm():
    found = maximise_on_sphere(np.zeros((2, 2)), np.array([3.0, -4.0]))
    np.testing.assert_allclose(found.z[0], [0.6, -0.8], rtol=1e-15)
    assert found.bound[0] == pytest.approx(5.0, rel=1e-15)


def test_many_at_once_are_the_same_as_one_by_one():
    rng = np.random.default_rng(4)
    B = np.stack([_symmetric(rng, 4) for _ in range(50)])
    b = rng.normal(size=(50, 4)) * rng.integers(0, 2, size=(50, 1))
    many = maximise_on_spheres(B, b)
    one = [maximise_on_sphere(*pair) for pair in zip(B, b, strict=True)]
    np.testing.assert_allclose(many.bound, [single.bound[0] for single in one], rtol=1e-14)
