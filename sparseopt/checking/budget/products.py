r"""Inner products of nodes and their candidates, and the losses that they tell, for the checker.

With the products :math:`G = \begin{pmatrix} A^T A & A^T y \\ y^T A & y^T y \end{pmatrix} / n` of k
chosen columns and their node, k steps of elimination leave the smallest loss in the last entry, and
the pivots on the way are squared sines of angles between a column and those before it, times its
squared length. Products square the condition: what is lost by that is a few units of rounding over
the smallest eigenvalue of the columns' correlations. No angle need be narrow for that to be small:
each column may be near the part of the one before it that is new. But the trace of their inverse is
at least the inverse of that eigenvalue. So a loss is told here only where no angle is narrow, and
not all of them together.
"""

from __future__ import annotations

import numpy as np

from sparseopt.checking.strict import strict
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

_WIDE = 1e-2
"""Squared sine of an angle from which products tell a loss."""
_TRACE = 3e4
"""Trace of the inverse of the correlations up to which: their smallest eigenvalue is above 3e-5."""
_PLAIN = 1e-3
"""A loss, relative to that of no neighbours, from which they tell it well."""


def products(problem: L0GraphicalModel, nodes: Array, size: int, whole: Array | None) -> Array:
    """Return products of the candidates and the node, shape (nodes, size + 1, size + 1).

    Parameters
    ----------
    problem : L0GraphicalModel
    nodes : int array of shape (nodes,)
        With `size` candidates each. The node comes last; a ridge is added to the candidates.
    size : int
    whole : array of shape (d, d) or None
        Products of all columns, where these are known.
    """
    candidates = problem.candidates
    index = candidates.index[candidates.ptr[nodes][:, None] + np.arange(size)]
    every = np.concatenate([index, nodes[:, None]], axis=1)
    if whole is None:
        columns = problem.columns(every).transpose(1, 2, 0)
        gram = columns @ columns.transpose(0, 2, 1) / problem.X.shape[0]
    else:
        gram = whole[every[:, :, None], every[:, None, :]]
    gram[:, np.arange(size), np.arange(size)] += problem.ridge
    return np.asarray(gram)


@strict
def tell_losses(gram: Array, supports: Array, losses: Array) -> None:
    """Fill in the smallest losses of some neighbours; NaN where products do not tell them well.

    Parameters
    ----------
    gram : array of shape (nodes, d + 1, d + 1)
        As :func:`products` returns them.
    supports : int64 array of shape (nodes, sets)
        Candidates of each node, as bits.
    losses : array of shape (nodes, sets), changed
    """
    count, last = len(gram), gram.shape[1] - 1
    chosen, M = np.empty(last + 1, np.int64), np.empty((last + 1, last + 2))
    for j in range(count):
        for s in range(supports.shape[1]):
            k = 0
            for i in range(last):
                if supports[j, s] >> i & 1:
                    chosen[k] = i
                    k += 1
            chosen[k] = last
            losses[j, s] = _eliminated(gram[j], chosen, k, M)


@strict
def _eliminated(gram: Array, chosen: Array, k: int, M: Array) -> float:
    """Eliminate k chosen columns from the products, by rows of M = L D L'; return what is left."""
    for q in range(k + 1):
        row = chosen[q]
        for p in range(q + 1):
            value = gram[row, chosen[p]]
            for m in range(p):
                value -= M[q, m] * M[p, m]
            if p < q:
                M[q, p] = value / M[p, p]
            else:
                if not value >= (_WIDE if q < k else _PLAIN) * gram[row, row]:
                    return np.nan
                M[q, q] = np.sqrt(value)
    if not _inverse_trace(gram, chosen, k, M) <= _TRACE:
        return np.nan
    return float(M[k, k] * M[k, k])


@strict
def _inverse_trace(gram: Array, chosen: Array, k: int, M: Array) -> float:
    """Return the trace of the inverse of the correlations of k columns: sum g_jj (M^-1)_ij^2."""
    trace, last = 0.0, M.shape[1] - 1
    for j in range(k):
        M[j, last] = 1.0 / M[j, j]
        total = M[j, last] * M[j, last]
        for i in range(j + 1, k):
            value = 0.0
            for m in range(j, i):
                value -= M[i, m] * M[m, last]
            M[i, last] = value / M[i, i]
            total += M[i, last] * M[i, last]
        trace += total * gram[chosen[j], chosen[j]]
    return trace
