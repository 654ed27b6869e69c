"""Best subsets by Gaussian elimination, all nodes of a size at once."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

_DEPENDENT = 1e-10
"""Squared sine of an angle below which a column counts as dependent."""


def smallest_losses(problem: L0GraphicalModel, nodes: Array) -> Array:
    """Return the smallest loss of 0, 1, ... neighbours of some Gaussian nodes, by enumeration."""
    candidates, n = problem.candidates, problem.X.shape[0]
    sizes = candidates.sizes[nodes]
    first = np.cumsum(sizes + 1) - (sizes + 1)
    out = np.empty(int((sizes + 1).sum()))
    for size in np.unique(sizes):
        same = np.flatnonzero(sizes == size)
        for some in np.array_split(same, 1 + len(same) // 1000):
            own = nodes[some]
            index = candidates.index[candidates.ptr[own][:, None] + np.arange(size)]
            every = np.concatenate([index, own[:, None]], axis=1)
            columns = np.asarray(problem.X[:, every], dtype=float).transpose(1, 2, 0)
            gram = columns @ columns.transpose(0, 2, 1) / n
            gram[:, np.arange(size), np.arange(size)] += problem.ridge
            best = np.full((len(some), size + 1), np.inf)
            best[:, 0] = gram[:, -1, -1]
            scale = gram[:, np.arange(size), np.arange(size)]
            _enumerate(gram, scale, 0, best)
            best = np.maximum(np.minimum.accumulate(best, axis=1), 0.0)
            out[first[some][:, None] + np.arange(size + 1)] = best
    return out


def _enumerate(gram: Array, scale: Array, chosen: int, best: Array) -> None:
    """Add every later candidate to the chosen ones, in all nodes at once.

    Parameters
    ----------
    gram : array of shape (nodes, u + 1, u + 1)
        Products of the candidates that are left and the response, less what the chosen explain.
    scale : array of shape (nodes, u)
        Products of the candidates with themselves, in full.
    chosen : int
    best : array of shape (nodes, d + 1), changed
    """
    for first in range(gram.shape[1] - 1):
        pivot = gram[:, first, first]
        independent = pivot > _DEPENDENT * scale[:, first]
        row = gram[:, first, first + 1 :]
        inverse = np.where(independent, 1.0, 0.0) / np.where(independent, pivot, 1.0)
        left = (
            gram[:, first + 1 :, first + 1 :] - (row * inverse[:, None])[:, :, None] * row[:, None]
        )
        np.minimum(best[:, chosen + 1], left[:, -1, -1], out=best[:, chosen + 1])
        if left.shape[1] > 1:
            _enumerate(left, scale[:, first + 1 :], chosen + 1, best)
