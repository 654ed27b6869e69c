"""Vector exponentials and entropies against NumPy's."""

import numpy as np
from scipy.special import xlogy

from sparseopt.solvers.l0.elementary import entropy, exp_minus


def test_exponentials():
    x = np.concatenate([np.linspace(0.0, 3.0, 100), np.linspace(0.0, 600.0, 61), [1e-300]])
    out = np.empty_like(x)
    exp_minus(x, out, np.empty(len(x), dtype=np.int64))
    np.testing.assert_allclose(out, np.exp(-x), rtol=4e-16, atol=4e-16)
    np.testing.assert_allclose(out, np.exp(-x), rtol=1e-13)


def test_exponentials_far_out_are_tiny():
    out = np.empty(2)
    exp_minus(np.array([800.0, np.inf]), out, np.empty(2, dtype=np.int64))
    assert (out > 0.0).all()
    assert (out < 1e-300).all()


def test_entropies():
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(500), [0.5, 0.25, 1e-9, 1.0 - 1e-9, 1e-300]])
    scratch = np.empty_like(p), np.empty((2, len(p)), dtype=np.int64)
    exact = -(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)).sum()
    np.testing.assert_allclose(entropy(p, *scratch), exact, rtol=1e-14)
    for outside in (0.0, 1.0, -0.1, 1.1):
        p[7] = outside
        assert entropy(p, *scratch) == -np.inf
