"""Sparse trust-region subproblems with known optima."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from scipy.optimize import brentq

from sparseopt.backend import Feature
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS, STRSPath
from sparseopt.testing.samples import FamilySamples, Sample


def strs_samples(rng: np.random.Generator) -> FamilySamples:
    """Return closed forms, hard cases, and random problems settled by enumeration.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    exact = [
        ("diagonal", STRS(A=np.diag([1.0, 5.0, 3.0, 2.0]), d=2), 5.0, "the largest entry"),
        ("ones", STRS(A=np.ones((6, 6)), d=4), 4.0, "d equal loadings; every support ties"),
        ("zero", STRS(A=np.zeros((5, 5)), d=2), 0.0, "the objective is zero"),
        ("scalar", STRS(A=np.array([[-3.0]]), a=np.array([-2.0]), d=1), -1.0, "z = -1"),
        (
            "linear",
            STRS(A=np.zeros((4, 4)), a=np.array([1.0, -2.0, 2.0, 0.5]), d=2),
            2.0 * np.sqrt(2.0),
            "the norm of the two largest entries of a",
        ),
        (
            # mu = 2 is the top eigenvalue, and a is orthogonal to its eigenvector: z = (1/2, ...).
            "hard-case",
            STRS(A=np.diag([1.0, 2.0]), a=np.array([1.0, 0.0]), d=2),
            2.25,
            "2 + a_1^2 / (4 (2 - 1))",
        ),
        (
            "negative-definite",
            STRS(A=-np.diag([1.0, 2.0, 4.0]), d=2),
            -1.0,
            "the entry nearest to zero",
        ),
    ]
    samples = [Sample(name, problem, {}, best, known_by=how) for name, problem, best, how in exact]
    for name, D, d, integers in (
        ("random", 7, 3, False),
        ("full-support", 5, 5, False),
        ("single-entry", 6, 1, False),
        ("integers", 7, 3, True),
    ):
        A, a = rng.normal(size=(D, D)), rng.normal(size=D)
        if integers:
            A, a = np.round(2.0 * A), np.round(2.0 * a)
        problem = STRS(A=A + A.T, a=a, d=d)
        samples.append(
            Sample(name, problem, {}, best_by_supports(problem), known_by="all supports")
        )
    A = rng.normal(size=(20, 20))
    large = STRS(A=A + A.T, a=rng.normal(size=20), d=8)
    paths = FamilySamples(
        samples=tuple(path for sample in samples for path in _sizes(sample)),
        large=(Sample("large", STRSPath.of(large), needs=Feature.PATH),),
        invalid=_path_without_support,
    )
    return FamilySamples(
        samples=tuple(samples),
        large=(Sample("large", large),),
        invalid=_without_support,
        apart={"path": paths},
    )


def _sizes(sample: Sample) -> Iterator[Sample]:
    """Yield questions about all sizes up to the sample's, and some; the last value is known."""
    assert isinstance(sample.problem, STRS)
    every = replace(sample, problem=STRSPath.of(sample.problem), needs=Feature.PATH)
    yield every
    some = tuple(sorted({1, (1 + sample.problem.d) // 2, sample.problem.d}))
    yield replace(every, name=f"some-of-{sample.name}", question={"size": some})


def _path_without_support() -> Problem:
    problem = STRSPath(A=np.eye(2), d_max=1)
    object.__setattr__(problem, "d_max", 3)
    return problem


def _without_support() -> Problem:
    problem = STRS(A=np.eye(2), d=1)
    object.__setattr__(problem, "d", 3)
    return problem


def best_by_supports(problem: STRS) -> float:
    """Return the largest dual optimum over all supports of size d.

    Parameters
    ----------
    problem : STRS

    Returns
    -------
    float
    """
    D = problem.A.shape[0]
    return max(
        _dual_optimum(problem.A[np.ix_(S, S)], problem.linear[list(S)])
        for S in itertools.combinations(range(D), problem.d)
    )


def _dual_optimum(B: Array, b: Array) -> float:
    """Return min over mu >= top eigenvalue of mu + b'(mu I - B)^-1 b / 4, by its derivative."""
    values, Q = np.linalg.eigh(B)
    weights = (Q.T @ b) ** 2 / 4.0
    top = float(values[-1])

    def slope(mu: float) -> float:
        return 1.0 - float(np.sum(weights / (mu - values) ** 2))

    far = top + float(np.linalg.norm(b)) + 1.0
    near = top + 1e-12 * max(1.0, abs(top))
    mu = near if slope(near) >= 0.0 else float(brentq(slope, near, far, xtol=1e-14))
    return mu + float(np.sum(weights / (mu - values)))
