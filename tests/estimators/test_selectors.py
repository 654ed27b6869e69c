"""The selectors beside loops, brute force and HiGHS."""

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq, linprog
from sklearn.datasets import load_diabetes, load_iris

from sparseopt.estimators import LADLasso, StabilitySelector, TwoSampleSelector


def linear_terms(x, y):
    """The squared MMD's a and the variance's V of samples of one size, pair by pair."""
    n, D = x.shape
    H = np.zeros((D, n, n))
    for s in range(D):
        apart = [(u - v) ** 2 for u in x[:, s] for v in y[:, s]]
        width = np.median([each for each in apart if each > 0.0])
        for i, j in itertools.product(range(n), repeat=2):
            for u, v, sign in (
                (x[i, s], x[j, s], 1.0),
                (y[i, s], y[j, s], 1.0),
                (x[i, s], y[j, s], -1.0),
                (y[i, s], x[j, s], -1.0),
            ):
                H[s, i, j] += sign * np.exp(-((u - v) ** 2) / (2.0 * width))
    off = ~np.eye(n, dtype=bool)
    rows, total = H.sum(axis=2), H.sum(axis=(1, 2))
    return H[:, off].mean(axis=1), 4.0 / n**3 * rows @ rows.T - 4.0 / n**4 * np.outer(total, total)


def best_pair(a, V, lam):
    """The best weights of norm 1 of two variables: every stationary angle of every pair."""
    best = (-np.inf, None)
    for pair in itertools.combinations(range(len(a)), 2):
        b, M = a[list(pair)], lam * V[np.ix_(pair, pair)]

        def slope(t, b=b, M=M):
            z, turned = np.array([np.cos(t), np.sin(t)]), np.array([-np.sin(t), np.cos(t)])
            return turned @ (b - 2.0 * M @ z)

        angles = np.linspace(0.0, 2.0 * np.pi, 200)
        for low, high in itertools.pairwise(angles):
            if slope(low) * slope(high) <= 0.0:
                t = brentq(slope, low, high, xtol=1e-14)
                z = np.zeros(len(a))
                z[list(pair)] = np.cos(t), np.sin(t)
                best = max(best, (a @ z - lam * z @ V @ z, z), key=lambda found: found[0])
    return best


@pytest.mark.parametrize("classes", [(0, 1), (1, 2)])
def test_two_samples_are_told_apart_as_by_loops_and_brute_force(classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[::3][:, [1, 0, 3, 2]], y[::3]
    x, other = (X[y == label][:16] for label in classes)
    a, V = linear_terms(x, other)
    top = np.argsort(-np.abs(a), kind="stable")[:2]
    z = np.zeros(4)
    z[top] = a[top] / np.linalg.norm(a[top])
    lam = a @ z / (16.0 * z @ V @ z)
    value, weights = best_pair(a, V, lam)
    data, labels = np.vstack([x, other]), np.repeat([0, 1], 16)
    model = TwoSampleSelector(n_variables=2).fit(data, labels)
    assert model.verdict_ == "verified"
    assert model.result_.objective == pytest.approx(value, abs=1e-10)
    np.testing.assert_allclose(model.weights_, weights, atol=1e-8)
    np.testing.assert_array_equal(model.support_, weights != 0.0)


def lad(X, y, lam, scales):
    """The coefficients of a LAD-lasso, by HiGHS."""
    n, d = X.shape
    price = lam * scales
    found = linprog(
        np.concatenate([price, price, [0.0, 0.0], np.ones(2 * n)]),
        A_eq=np.hstack([X, -X, np.ones((n, 1)), -np.ones((n, 1)), np.eye(n), -np.eye(n)]),
        b_eq=y,
    )
    return found.x[:d] - found.x[d : 2 * d]


def test_frequencies_are_those_of_linear_programs_of_the_halves():
    X, y = load_diabetes(return_X_y=True, scaled=False)
    # Without ties, so that each linear program has one solution.
    rng = np.random.default_rng(1)
    X, y = X[:40, [2, 3, 8]] + 1e-3 * rng.standard_normal((40, 3)), y[:40] + rng.random(40)
    pairs = 3
    model = StabilitySelector(LADLasso(), pairs=pairs, false_choices=3.0, random_state=7).fit(X, y)
    rng = np.random.default_rng(7)
    halves = [half for _ in range(pairs) for half in np.split(rng.permutation(40), 2)]
    lam = model.result_.lam
    # Between the knots of all paths together nothing changes: one lam of each interval will do.
    knots = np.unique(np.append(model.result_.runs.counts(lam)[1], lam))
    knots = knots[np.isfinite(knots) & (knots >= lam)]
    ends = np.append(knots, 2.0 * knots[-1])
    shares = [
        np.mean(
            [np.abs(lad(X[h], y[h], middle / 2.0, X.std(axis=0))) > 1e-9 for h in halves], axis=0
        )
        for middle in (ends[:-1] + ends[1:]) / 2.0
    ]
    assert len(shares) > 5 and np.max(shares) > 0.0 and np.min(shares) < 1.0
    np.testing.assert_allclose(model.frequency_, np.max(shares, axis=0), atol=1e-12)
    np.testing.assert_array_equal(model.support_, model.frequency_ >= 0.75)
