"""Regression with few nonzero coefficients whose optima are known."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy.optimize import lsq_linear

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subset.problem import SparseRegression
from sparseopt.testing.samples import FamilySamples, Sample


def subset_samples(rng: np.random.Generator) -> FamilySamples:
    """Return closed forms, and random problems settled by enumeration.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    one, y = np.eye(3), np.array([3.0, 1.0, 2.0])
    exact = [
        ("orthogonal", SparseRegression(one, y, k=2, ridge=1.0), 3.75),
        ("bounded", SparseRegression(one, y, k=1, bound=2.0), 3.0),
        ("priced", SparseRegression(one, y, k=3, ridge=1.0, penalty=0.5), 4.75),
        ("equal", SparseRegression(np.ones((2, 4)), np.ones(2), k=2, ridge=1.0), 0.2),
        ("zero", SparseRegression(one, np.zeros(3), k=1, ridge=1.0), 0.0),
        ("empty-column", SparseRegression(np.zeros((2, 2)), np.ones(2), k=1, bound=1.0), 1.0),
    ]
    samples = [Sample(name, each, {}, best, known_by="by hand") for name, each, best in exact]
    X, y = rng.normal(size=(8, 7)), rng.normal(size=8)
    for name, each in (
        ("random", SparseRegression(X, y, k=3, ridge=0.5)),
        ("more-columns", SparseRegression(rng.normal(size=(4, 9)), y[:4], k=3, ridge=0.3)),
        ("full-support", SparseRegression(X, y, k=7, ridge=0.1)),
        ("random-bounded", SparseRegression(X, y, k=3, bound=0.2)),
        ("random-priced", SparseRegression(X, y, k=7, ridge=0.1, bound=0.5, penalty=0.2)),
    ):
        best = best_of_all_supports(each)
        samples.append(Sample(name, each, {}, best, known_by="all supports"))
    X = rng.normal(size=(40, 90))
    large = SparseRegression(X, rng.normal(size=40), k=10, ridge=0.5)
    return FamilySamples(
        samples=tuple(samples), large=(Sample("large", large),), invalid=_without_ridge
    )


def best_of_all_supports(problem: SparseRegression) -> float:
    """Return the least objective among all supports, by bounded least squares of SciPy.

    Parameters
    ----------
    problem : SparseRegression
        Small.
    """
    p = problem.X.shape[1]
    best, M = 0.5 * float(problem.y @ problem.y), problem.limit
    y = np.append(problem.y, np.zeros(p))
    for size in range(1, problem.k + 1):
        if size < problem.k and problem.penalty == 0.0:
            continue
        for S in map(list, itertools.combinations(range(p), size)):
            A = np.vstack([problem.X[:, S], math.sqrt(problem.ridge) * np.eye(p)[:, S]])
            b: Array = np.linalg.lstsq(A, y, rcond=None)[0]
            if np.abs(b).max() > M:
                b = lsq_linear(A, y, (-M, M), tol=1e-14, lsmr_tol=1e-14).x
            best = min(best, 0.5 * float(((y - A @ b) ** 2).sum()) + problem.penalty * size)
    return best


def _without_ridge() -> Problem:
    problem = SparseRegression(np.eye(2), np.ones(2), k=1, ridge=1.0)
    object.__setattr__(problem, "ridge", 0.0)
    return problem
