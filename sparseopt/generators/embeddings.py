"""Noisy mean embeddings, to be fitted by weights on atoms."""

from __future__ import annotations

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.generators.draws import require_positive, stream
from sparseopt.problems import EmbeddingFit


def embedding_fit(
    atoms: int = 200, features: int = 30, noise: float = 0.01, seed: int = 0
) -> EmbeddingFit:
    """Return a fit to the noisy mean of random Fourier features.

    Draws atoms uniform on the square [-3, 3]^2, frequencies standard normal, phases uniform on
    [0, 2 pi), 200 points of a normal distribution with standard deviation 0.7 around (1, -1), and
    normal noise, in this order. The features are sqrt(2 / features) cos(frequency'x + phase).

    Parameters
    ----------
    atoms, features : int
    noise : float, default 0.01
        Standard deviation of each feature's noise.
    seed : int, default 0

    Raises
    ------
    ParamError
        When a setting is out of range.
    """
    require_positive(atoms=atoms, features=features)
    if not 0.0 <= noise < np.inf:
        raise ParamError(f"noise is {noise}; expected a number >= 0")
    rng = stream(seed)
    points = rng.uniform(-3.0, 3.0, (atoms, 2))
    frequencies = rng.standard_normal((2, features))
    phases = rng.uniform(0.0, 2.0 * np.pi, features)
    data = np.array([1.0, -1.0]) + 0.7 * rng.standard_normal((200, 2))

    def embedded(x: np.ndarray) -> np.ndarray:
        inner = x[:, :1] * frequencies[0] + x[:, 1:] * frequencies[1]
        return np.asarray(np.sqrt(2.0 / features) * np.cos(inner + phases))

    mu = embedded(data).mean(axis=0) + noise * rng.standard_normal(features)
    return EmbeddingFit(Phi=embedded(points), mu=mu)
