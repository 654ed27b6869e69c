"""Sparse principal components with known optima."""

from __future__ import annotations

import itertools

import numpy as np

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.component.problem import SparseComponent
from sparseopt.testing.samples import FamilySamples, Sample


def component_samples(rng: np.random.Generator) -> FamilySamples:
    """Return closed forms, and random problems settled by enumeration.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    exact = [
        ("orthogonal", np.diag([1.0, 3.0, 2.0]), 2, 9.0, "the longest column"),
        ("equal", np.ones((4, 6)), 3, 12.0, "every support ties: 4 times d"),
        ("zero", np.zeros((2, 5)), 2, 0.0, "the objective is zero"),
        ("single", np.array([[2.0]]), 1, 4.0, "z = 1"),
        ("one-row", np.array([[1.0, -2.0, 2.0, 0.5]]), 2, 8.0, "the two largest squares"),
    ]
    samples = [
        Sample(name, SparseComponent(X, d=d), {}, best, known_by=how)
        for name, X, d, best, how in exact
    ]
    for name, n, D, d in (
        ("random", 6, 9, 3),
        ("full-support", 4, 5, 5),
        ("single-entry", 5, 7, 1),
        ("few-rows", 2, 9, 4),
    ):
        problem = SparseComponent(rng.normal(size=(n, D)), d=d)
        best = longest_image(problem.X, d)
        samples.append(Sample(name, problem, {}, best, known_by="all supports"))
    X = rng.normal(size=(40, 60))
    return FamilySamples(
        samples=tuple(samples),
        large=(Sample("large", SparseComponent(X, d=12)),),
        invalid=_without_support,
    )


def longest_image(X: Array, d: int) -> float:
    """Return the largest squared singular value among all choices of d columns.

    Parameters
    ----------
    X : array of shape (n, D)
    d : int
    """
    D = X.shape[1]
    return max(float(np.linalg.norm(X[:, S], 2)) ** 2 for S in itertools.combinations(range(D), d))


def _without_support() -> Problem:
    problem = SparseComponent(np.eye(2), d=1)
    object.__setattr__(problem, "d", 3)
    return problem
