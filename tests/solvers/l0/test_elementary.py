"""Vector exponentials and entropies against NumPy's."""

import numpy as np
from scipy.special import xlogy

from sparseopt.solvers.l0.tables.elementary import entropy, exp_minus


def exponentials(x: np.ndarray) -> np.ndarray:
    out, power = np.empty_like(x), np.empty_like(x)
    exp_minus(x, out, power.view(np.int64), power)
    return out


def entropy_of(p: np.ndarray, counts: float | np.ndarray = 1.0) -> float:
    sample = np.empty((5, len(p)))
    sample[0], sample[4] = p, counts
    return entropy(sample, sample.view(np.int64), 4, 0, 1, 2, 3)


def test_exponentials():
    x = np.concatenate([np.linspace(0.0, 3.0, 100), np.linspace(0.0, 600.0, 61), [1e-300]])
    out = exponentials(x)
    np.testing.assert_allclose(out, np.exp(-x), rtol=4e-16, atol=4e-16)
    np.testing.assert_allclose(out, np.exp(-x), rtol=1e-13)


def test_exponentials_far_out_are_tiny():
    out = exponentials(np.array([800.0, np.inf]))
    assert (out > 0.0).all()
    assert (out < 1e-300).all()


def test_entropies():
    rng = np.random.default_rng(0)
    p = np.concatenate([rng.random(500), [0.5, 0.25, 1e-9, 1.0 - 1e-9, 1e-300]])
    exact = -(xlogy(p, p) + xlogy(1.0 - p, 1.0 - p)).sum()
    np.testing.assert_allclose(entropy_of(p), exact, rtol=1e-14)
    counts = rng.random(len(p))
    weighted = -(counts * (xlogy(p, p) + xlogy(1.0 - p, 1.0 - p))).sum()
    np.testing.assert_allclose(entropy_of(p, counts), weighted, rtol=1e-14)
    for outside in (0.0, 1.0, -0.1, 1.1):
        p[7] = outside
        assert entropy_of(p) == -np.inf
