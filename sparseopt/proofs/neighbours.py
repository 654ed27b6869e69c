"""Coefficients of neighbours that are already chosen: the point of a path of graphs.

A path states supports; its point at a budget is by definition the minimiser of every node's loss on
these supports, and this module is where that minimiser is computed. Shared are :func:`refit` and
:func:`support_losses`, by

- :meth:`sparseopt.paths.graph.GraphPath.at`, which evaluates a path;
- selection: criteria, and losses on other observations;
- backends whose own method returns nothing but supports (``l1-neighbourhood``, the peers).

The engine's tables and coefficients (:mod:`sparseopt.solvers.l0`) are not computed here, nor does
the checker use anything of this module: it has fits of its own
(:mod:`sparseopt.checking.budget.fits`), and a test compares the three.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

_ENTRIES = 1 << 22
"""Entries of X that are gathered at once."""
_NARROW = 1e-6
"""Squared sine of an angle between columns below which inner products are not inverted."""
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


def support_losses(
    problem: L0GraphicalModel,
    supports: Array,
    test: Array | None = None,
    test_weights: Array | None = None,
) -> Array:
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
    test_weights : array of shape (m,), optional
        How often each of them counts. Default: 1.

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
        out[at] = problem.node_losses(refit(problem, selected), test, test_weights)
    return out


def _solve(problem: L0GraphicalModel, nodes: Array, neighbours: Array) -> Array:
    """Return the coefficients of nodes with k neighbours each, shape (nodes, k)."""
    columns = problem.columns(neighbours).transpose(1, 2, 0)
    target = problem.columns(nodes).T
    if problem.loss == "ising":
        return logistic_fits(columns * target[:, None, :], problem.ridge, problem.shares)[0]
    return _least_squares(columns, target, problem.X.shape[0] * problem.ridge)


def _least_squares(columns: Array, target: Array, shift: float) -> Array:
    """Minimise squared residuals plus shift times the squared coefficients, node by node.

    Columns are scaled to one length, else the small ones drown. Then 1 / V_ii of the inverse V is
    the squared sine of the angle between column i and the others.
    """
    gram = columns @ columns.transpose(0, 2, 1)
    k = gram.shape[1]
    gram[:, np.arange(k), np.arange(k)] += shift
    length = np.sqrt(gram[:, np.arange(k), np.arange(k)])
    gram /= length[:, :, None] * length[:, None, :]
    right = columns @ target[:, :, None] / length[:, :, None]
    try:
        inverse = np.linalg.inv(gram)
    except np.linalg.LinAlgError:
        inverse = np.full_like(gram, np.nan)
    beta = np.asarray((inverse @ right)[:, :, 0] / length)
    share = inverse[:, np.arange(k), np.arange(k)]
    for at in np.flatnonzero(~((share > 0.0) & (share < 1.0 / _NARROW)).all(axis=1)):
        # Inner products have lost the digits that matter: the columns themselves have them.
        A = np.vstack([columns[at].T, np.sqrt(shift) * np.eye(k)]) / length[at]
        y = np.append(target[at], np.zeros(k))
        beta[at] = np.linalg.lstsq(A, y, rcond=None)[0] / length[at]
    return beta


def logistic_fits(Z: Array, ridge: float, shares: Array | None = None) -> tuple[Array, Array]:
    """Minimise mean log(1 + exp(-z beta)) plus the ridge by damped Newton steps, node by node.

    Parameters
    ----------
    Z : array of shape (nodes, k, n)
    ridge : float
    shares : array of shape (n,), optional
        Of the rows in the mean, which sum to one. Default: 1 / n.

    Returns
    -------
    beta, loss : arrays of shapes (nodes, k) and (nodes,)
    """
    count, k, n = Z.shape
    shares = np.full(n, 1.0 / n) if shares is None else shares
    beta = np.zeros((count, k))
    loss = _logistic_loss(Z, shares, beta, ridge)
    active = np.arange(count)
    for _ in range(_NEWTON):
        rows, here = Z[active], beta[active]
        chance = logistic(-np.einsum("akn,ak->an", rows, here))
        gradient = np.einsum("akn,an->ak", rows, shares * chance) - 2.0 * ridge * here
        curve = shares * chance * (1.0 - chance)
        hessian = (rows * curve[:, None, :]) @ rows.transpose(0, 2, 1)
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
            new = _logistic_loss(Z[active], shares, here + length[:, None] * step, ridge)
            worse = new > loss[active] - 1e-4 * length * decrement
            if not worse.any():
                break
            length[worse] /= 2.0
        better = new < loss[active]
        active = active[better]
        beta[active] = (here + length[:, None] * step)[better]
        loss[active] = new[better]
    return beta, loss


def logistic(t: Array) -> Array:
    """Return 1 / (1 + exp(-t)), an array of the shape of t.

    (SciPy's takes a tenth of a second to import.)
    """
    return np.asarray(1.0 / (1.0 + np.exp(np.minimum(-t, 700.0))))


def _logistic_loss(Z: Array, shares: Array, beta: Array, ridge: float) -> Array:
    margin = np.einsum("akn,ak->an", Z, beta)
    return np.asarray(np.logaddexp(0.0, -margin) @ shares + ridge * np.square(beta).sum(axis=1))
