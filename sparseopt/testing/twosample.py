"""Selections for kernel two-sample tests whose optima are found by scanning all circles."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.twosample.kernel_selection import KernelSelection
from sparseopt.testing.samples import FamilySamples, Sample

_ANGLES = 60


def twosample_samples(rng: np.random.Generator) -> FamilySamples:
    """Return small selections of one or two variables, and a larger one for limits.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    x, y = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)) * [1.0, 2.0, 1.0] + [0.8, 0.0, 0.2]
    few = y[:9]
    problems = {
        "gaussian": KernelSelection(x, y, "gaussian", d=1),
        "gaussian-unequal": KernelSelection(x, few, "gaussian", d=2, bandwidth=1.0),
        "quadratic": KernelSelection(x, y, "quadratic", d=2, lam=0.01),
        "quadratic-mmd": KernelSelection(x, few, "quadratic", d=2, lam=0.0),
        "linear": KernelSelection(x, y, "linear", d=2),
        "user": KernelSelection(x, y, cubic, d=2, lam=0.01),
    }
    samples = [
        Sample(name, problem, {}, _best(problem), known_by="all supports, angle by angle")
        for name, problem in problems.items()
    ]
    x, y = rng.normal(size=(150, 60)), rng.normal(size=(150, 60))
    return FamilySamples(
        samples=tuple(samples),
        large=(Sample("large", KernelSelection(x, y + 0.1, "quadratic", d=10, lam=0.1)),),
        invalid=_without_variable,
    )


def cubic(u: Array, v: Array) -> Array:
    """Return (1 + u'v / 5)^3 of observations u and v: a kernel as a user may bring one.

    Parameters
    ----------
    u : array of shape (n, D)
    v : array of shape (m, D)

    Returns
    -------
    array of shape (n, m)
    """
    return np.asarray((1.0 + u @ v.T / 5.0) ** 3)


def _without_variable() -> Problem:
    problem = KernelSelection(np.eye(4), 2.0 * np.eye(4), d=1)
    object.__setattr__(problem, "d", 0)
    return problem


def _best(problem: KernelSelection) -> float:
    """Return the largest value over all supports of one or two variables."""
    D = problem.x.shape[1]
    best = -np.inf
    for pair in itertools.combinations(range(D), 2):
        for axis in pair:
            best = max(best, *(_direct(problem, sign * np.eye(D)[axis]) for sign in (-1.0, 1.0)))
        if problem.d == 2:
            best = max(best, _on_circle(lambda z: _direct(problem, z), D, pair))
    return best


def _on_circle(value: Callable[[Array], float], D: int, pair: tuple[int, int]) -> float:
    """Return the largest value on the circle of two variables."""

    def loss(angle: float) -> float:
        z = np.zeros(D)
        z[list(pair)] = np.cos(angle), np.sin(angle)
        return -value(z)

    angles = np.linspace(0.0, 2.0 * np.pi, _ANGLES, endpoint=False)
    width = angles[1]
    first = angles[int(np.argmin([loss(angle) for angle in angles]))]
    found = minimize_scalar(
        loss, bounds=(first - width, first + width), method="bounded", options={"xatol": 1e-9}
    )
    return float(-found.fun)


def _direct(problem: KernelSelection, z: Array) -> float:
    """Return the objective as the paper writes it: sums over a matrix of all pairs."""
    x, y = problem.x, problem.y
    n, m = len(x), len(y)
    xx, yy, xy = _gram(problem, z, x, x), _gram(problem, z, y, y), _gram(problem, z, x, y)
    if n == m:
        H = xx + yy - xy - xy.T
        mmd = (H.sum() - np.trace(H)) / (n * (n - 1))
        variance = 4.0 / n**3 * np.square(H.sum(axis=1)).sum() - 4.0 / n**4 * H.sum() ** 2
        return float(mmd - problem.lam * variance)
    mmd = (xx.sum() - np.trace(xx)) / (n * (n - 1)) + (yy.sum() - np.trace(yy)) / (m * (m - 1))
    p, q = xx.mean(axis=1) - xy.mean(axis=1), yy.mean(axis=1) - xy.mean(axis=0)
    variance = 2.0 * n * m / (n + m) * (4.0 * p.var() / n + 4.0 * q.var() / m)
    return float(mmd - 2.0 * xy.mean() - problem.lam * variance)


def _gram(problem: KernelSelection, z: Array, u: Array, v: Array) -> Array:
    """Return the kernel's matrix from its definition."""
    square = (u[:, None, :] - v[None, :, :]) ** 2
    if problem.kernel == "gaussian":
        return np.asarray(np.exp(-(square @ z**2) / (2.0 * problem.bandwidth[0])))
    if problem.bandwidth is None:
        return cubic(u * z, v * z)
    inner = np.exp(-square / (2.0 * problem.bandwidth)) @ z
    return np.asarray(inner if problem.kernel == "linear" else (inner + problem.c) ** 2)
