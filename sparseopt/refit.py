"""Coefficients of neighbours that are already chosen."""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.neighbourhoods import L0GraphicalModel

__all__ = ["refit"]

_ENTRIES = 1 << 22
"""Entries of X that are gathered at once."""


def refit(problem: L0GraphicalModel, selected: Array) -> Array:
    """Return the coefficients that minimise every node's loss over its selected candidates.

    Parameters
    ----------
    problem : L0GraphicalModel
    selected : bool array of shape (total,)
        In the order of ``candidates.index``.

    Returns
    -------
    array of shape (total,)
        Zero where nothing is selected.
    """
    n, d = problem.X.shape
    x = np.zeros(problem.total)
    places = np.flatnonzero(selected)
    node = np.repeat(np.arange(d), problem.candidates.sizes)[places]
    counts = np.bincount(node, minlength=d)
    first = np.cumsum(counts) - counts
    for k in np.unique(counts[counts > 0]):
        nodes = np.flatnonzero(counts == k)
        step = max(1, _ENTRIES // int(n * k))
        for start in range(0, len(nodes), step):
            some = nodes[start : start + step]
            at = places[first[some][:, None] + np.arange(k)]
            x[at] = _solve(problem, some, problem.candidates.index[at])
    return x


def _solve(problem: L0GraphicalModel, nodes: Array, neighbours: Array) -> Array:
    """Return the coefficients of nodes with k neighbours each, shape (nodes, k)."""
    columns = np.asarray(problem.X[:, neighbours], dtype=np.float64).transpose(1, 2, 0)
    target = np.asarray(problem.X[:, nodes], dtype=np.float64).T
    return _least_squares(columns, target, problem.X.shape[0] * problem.ridge)


def _least_squares(columns: Array, target: Array, shift: float) -> Array:
    """Minimise squared residuals plus shift times the squared coefficients, node by node."""
    gram = columns @ columns.transpose(0, 2, 1)
    k = gram.shape[1]
    gram[:, np.arange(k), np.arange(k)] += shift
    # Columns of one length: else the small ones drown.
    length = np.sqrt(gram[:, np.arange(k), np.arange(k)])
    gram /= length[:, :, None] * length[:, None, :]
    right = columns @ target[:, :, None] / length[:, :, None]
    try:
        solution = np.linalg.solve(gram, right)
    except np.linalg.LinAlgError:
        pairs = zip(gram, right, strict=True)
        solution = np.array([np.linalg.lstsq(g, r, rcond=None)[0] for g, r in pairs])
    return np.asarray(solution[:, :, 0] / length)
