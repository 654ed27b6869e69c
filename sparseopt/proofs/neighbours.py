"""Coefficients of neighbours that are already chosen."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

__all__ = ["logistic_fits", "refit", "support_losses"]

_ENTRIES = 1 << 22
"""Entries of X that are gathered at once."""
_NEWTON = 60
_PRECISION = 1e-13
"""Half the squared Newton decrement at which a logistic fit ends: about the error of its loss.
Where the neighbours separate the node's values, the coefficients are large by then."""


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


def support_losses(problem: L0GraphicalModel, supports: Array, test: Array | None = None) -> Array:
    """Return the loss of every entry of a path's supports, fitted anew.

    Parameters
    ----------
    problem : L0GraphicalModel
        The coefficients are fitted to its data.
    supports : int64 array of shape (total + d,)
        As in :class:`~sparseopt.paths.graph.GraphPath`.
    test : array of shape (m, d), optional
        Other observations, whose mean losses are wanted, without the ridge. Default: those of
        `problem`, with it.

    Returns
    -------
    array of shape (total + d,)
    """
    candidates = problem.candidates
    d, sizes = candidates.nodes, candidates.sizes
    first = candidates.ptr[:-1] + np.arange(d)
    bit = np.arange(candidates.total) - np.repeat(candidates.ptr[:-1], sizes)
    out = np.empty(len(supports))
    # The k-th entries of all nodes together are one point.
    for k in range(int(sizes.max()) + 1):
        at = first + np.minimum(k, sizes)
        selected = (np.repeat(supports[at], sizes) >> bit & 1).astype(bool)
        out[at] = problem.node_losses(refit(problem, selected), test)
    return out


def _solve(problem: L0GraphicalModel, nodes: Array, neighbours: Array) -> Array:
    """Return the coefficients of nodes with k neighbours each, shape (nodes, k)."""
    columns = np.asarray(problem.X[:, neighbours], dtype=np.float64).transpose(1, 2, 0)
    target = np.asarray(problem.X[:, nodes], dtype=np.float64).T
    if problem.loss == "ising":
        return logistic_fits(columns * target[:, None, :], problem.ridge)[0]
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


def logistic_fits(Z: Array, ridge: float) -> tuple[Array, Array]:
    """Minimise mean log(1 + exp(-z beta)) plus the ridge by damped Newton steps, node by node.

    Parameters
    ----------
    Z : array of shape (nodes, k, n)
    ridge : float

    Returns
    -------
    beta, loss : arrays of shapes (nodes, k) and (nodes,)
    """
    count, k, n = Z.shape
    beta = np.zeros((count, k))
    loss = _logistic_loss(Z, beta, ridge)
    active = np.arange(count)
    for _ in range(_NEWTON):
        rows, here = Z[active], beta[active]
        chance = expit(-np.einsum("akn,ak->an", rows, here))
        gradient = np.einsum("akn,an->ak", rows, chance) / n - 2.0 * ridge * here
        hessian = (rows * (chance * (1.0 - chance))[:, None, :]) @ rows.transpose(0, 2, 1) / n
        # A trace of a ridge keeps flat directions of separated nodes solvable.
        size = np.trace(hessian, axis1=1, axis2=2) / k
        diagonal = 2.0 * ridge + 1e-13 * size + 1e-300
        hessian[:, np.arange(k), np.arange(k)] += diagonal[:, None]
        step = np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
        decrement = np.einsum("ak,ak->a", gradient, step)
        going = decrement > 2.0 * _PRECISION
        active, here, step, decrement = (a[going] for a in (active, here, step, decrement))
        if len(active) == 0:
            break
        length = np.ones(len(active))
        for _ in range(30):
            new = _logistic_loss(Z[active], here + length[:, None] * step, ridge)
            worse = new > loss[active] - 1e-4 * length * decrement
            if not worse.any():
                break
            length[worse] /= 2.0
        better = new < loss[active]
        active = active[better]
        beta[active] = (here + length[:, None] * step)[better]
        loss[active] = new[better]
    return beta, loss


def _logistic_loss(Z: Array, beta: Array, ridge: float) -> Array:
    margin = np.einsum("akn,ak->an", Z, beta)
    return np.asarray(np.logaddexp(0.0, -margin).mean(axis=1) + ridge * np.square(beta).sum(axis=1))
