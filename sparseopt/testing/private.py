"""Fits to a mean embedding whose optima follow by projection or by hand."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.testing.samples import FamilySamples, Sample


def private_samples(rng: np.random.Generator) -> FamilySamples:
    """Return projections onto the simplex, a target inside and one outside, and a large fit.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    target = rng.normal(size=8)
    away = EmbeddingFit(
        Phi=np.array([[0.0, 0.0], [1.0, 0.0], [0.5, -2.0]]), mu=np.array([0.25, 1.0])
    )
    Phi = rng.normal(size=(40, 5))
    weights = rng.dirichlet(np.ones(40))
    inside = EmbeddingFit(Phi=Phi, mu=Phi.T @ weights)
    distance = float(np.sum((_simplex_projection(target) - target) ** 2))
    return FamilySamples(
        samples=(
            Sample("simplex", EmbeddingFit(np.eye(8), target), {}, distance, known_by="projection"),
            Sample("edge", away, {}, 1.0, known_by="the foot of the perpendicular"),
            Sample("inside", inside, {}, 0.0, known_by="the weights that the target was made of"),
        ),
        large=(Sample("large", _smooth(rng)),),
        invalid=_without_target,
    )


def _smooth(rng: np.random.Generator) -> EmbeddingFit:
    points, centres = rng.uniform(size=(6000, 2)), rng.uniform(size=(400, 2))
    distances = sum(np.subtract.outer(points[:, k], centres[:, k]) ** 2 for k in range(2))
    Phi = np.exp(-50.0 * distances) / 20.0
    return EmbeddingFit(Phi=Phi, mu=Phi.mean(axis=0) + 0.001 * rng.normal(size=400))


def _without_target() -> Problem:
    problem = EmbeddingFit(np.eye(3), np.zeros(3))
    object.__setattr__(problem, "mu", np.full(3, 1e200))
    return problem


def _simplex_projection(y: Array) -> Array:
    """Return the point of the simplex next to y, by sorting."""
    falling = np.sort(y)[::-1]
    steps = (np.cumsum(falling) - 1.0) / np.arange(1, len(y) + 1)
    return np.asarray(np.maximum(0.0, y - steps[np.flatnonzero(falling > steps)[-1]]))
