"""Regressions with few nonzero coefficients whose optima are known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from scipy.optimize import lsq_linear, minimize
from scipy.special import expit

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subset.logistic import SparseLogisticRegression
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
    labels, even = np.where(y > 0.0, 1.0, -1.0), np.array([1.0, 1.0, -1.0, -1.0])
    labels[:2] = -1.0, 1.0
    counts = rng.uniform(0.2, 2.0, 8)
    weighted: dict[str, Any] = {"ridge": 0.5, "sample_weights": counts}
    for name, logistic in (
        ("classes", SparseLogisticRegression(X, labels, k=2, ridge=0.5)),
        ("classes-bounded", SparseLogisticRegression(X, labels, k=3, bound=0.3)),
        ("classes-through-zero", SparseLogisticRegression(X, labels, 2, 0.1, fit_intercept=False)),
        ("classes-priced", SparseLogisticRegression(X, labels, k=7, ridge=0.1, penalty=0.4)),
        ("classes-weighted", SparseLogisticRegression(X, labels, k=2, **weighted)),
        ("separated", SparseLogisticRegression(even[:, None] * np.ones(3), even, k=2, ridge=0.01)),
    ):
        best = best_of_all_classifiers(logistic)
        samples.append(Sample(name, logistic, {}, best, known_by="all supports"))
    empty = SparseLogisticRegression(np.zeros((4, 2)), even, k=1, ridge=1.0)
    samples.append(Sample("no-difference", empty, {}, 4.0 * math.log(2.0), known_by="by hand"))
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


def best_of_all_classifiers(problem: SparseLogisticRegression) -> float:
    """Return the least objective among all supports, by L-BFGS-B of SciPy.

    Parameters
    ----------
    problem : SparseLogisticRegression
        Small.
    """
    n, p = problem.X.shape
    y, ridge, M, counts = problem.y, problem.ridge, problem.limit, problem.counts
    ends = [np.ones(n)[:, None]] if problem.fit_intercept else []
    best = math.inf
    for size in range(problem.k + 1):
        if size < problem.k and problem.penalty == 0.0:
            continue
        for S in map(list, itertools.combinations(range(p), size)):
            # Columns as long as that of the intercept, for the sake of the search.
            scales = np.maximum(np.abs(problem.X[:, S]).max(axis=0, initial=0.0), 1e-12)
            A = np.column_stack([problem.X[:, S] / scales, *ends])
            shrunk = np.append(ridge / scales**2, np.zeros(len(ends)))

            start = np.zeros(A.shape[1])
            value = _shrunk_loss(start, A, y, shrunk, counts)[0]
            if len(start):
                value = minimize(
                    _shrunk_loss,
                    start,
                    (A, y, shrunk, counts),
                    jac=True,
                    bounds=[(-M * s, M * s) for s in scales] + [(None, None)] * len(ends),
                    method="L-BFGS-B",
                    options={"ftol": 1e-15, "gtol": 1e-11, "maxiter": 5000},
                ).fun
            best = min(best, float(value) + problem.penalty * size)
    return best


def _shrunk_loss(b: Array, A: Array, y: Array, ridge: Array, counts: Array) -> tuple[float, Array]:
    """Return the logistic loss with a ridge for each coefficient, and its slopes."""
    margins = y * (A @ b)
    value = counts @ np.logaddexp(0.0, -margins) + 0.5 * ridge @ b**2
    return float(value), ridge * b - A.T @ (counts * y * expit(-margins))


def _without_ridge() -> Problem:
    problem = SparseRegression(np.eye(2), np.ones(2), k=1, ridge=1.0)
    object.__setattr__(problem, "ridge", 0.0)
    return problem
