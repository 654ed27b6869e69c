r"""Proof that no neighbours of a Gaussian node with many candidates beat what its table states.

Beyond some 15 candidates all subsets are too many. They are looked through from the largest down,
member after member being dropped, those of the largest cost last. Dropping member i from a set
raises its residual sum of squares by its cost :math:`\beta_i^2 / (G^{-1})_{ii}`, and dropping r
members by no less than the r-th smallest cost. Below a set nothing is looked at where these bounds,
or that no set does better than one that contains it, rule it out. Everything is computed again from
X with NumPy, many sets at once, in another order than the engine's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.neighbourhoods import L0GraphicalModel

__all__ = ["NodeProof", "prove_node"]

_ENTRIES = 1 << 20
"""Entries of the matrices of all sets at once."""
_DEPENDENT = 1e-8
"""Smallest eigenvalue of the candidates' correlations below which nothing is proven here."""


@dataclass(frozen=True)
class NodeProof:
    """What was found.

    Attributes
    ----------
    complete : bool
        False where the work was not enough, or the candidates are nearly dependent.
    beaten : (size, loss) or None
        Neighbours that do better than the table.
    work : float
        What was spent.
    """

    complete: bool
    beaten: tuple[int, float] | None
    work: float


def prove_node(problem: L0GraphicalModel, node: int, table: Array, work: float) -> NodeProof:
    """Look through the subsets of a node's candidates.

    Parameters
    ----------
    problem : L0GraphicalModel
        With loss "gaussian".
    node : int
    table : array of shape (d_j + 1,)
        Losses that no neighbours may fall below: those stated less a tolerance.
    work : float
        What may be spent, in cubed sizes of sets.
    """
    own = problem.candidates.of(node)
    X = np.asarray(problem.X[:, own], dtype=float)
    y = np.asarray(problem.X[:, node], dtype=float)
    n, p = X.shape
    gram, null = X.T @ X + n * problem.ridge * np.eye(p), float(y @ y)
    length = np.sqrt(np.diag(gram))
    R, c = gram / np.outer(length, length), X.T @ y / (length * np.sqrt(null))
    if np.linalg.eigvalsh(R)[0] < _DEPENDENT:
        return NodeProof(False, None, 0.0)
    # Relative to the loss of no neighbours.
    bound = np.asarray(table) * n / null
    inverse = np.linalg.inv(R)
    order = np.argsort(-np.square(inverse @ c) / np.diag(inverse), kind="stable")
    R, c = R[np.ix_(order, order)], c[order]
    members, low = np.ones((1, p), dtype=bool), np.zeros(1, dtype=np.int64)
    left = work
    for size in range(p, 0, -1):
        left -= len(members) * float(size) ** 3
        if left < 0.0:
            return NodeProof(False, None, work)
        following = []
        for start in range(0, len(members), max(1, _ENTRIES // (size * size))):
            part = slice(start, start + max(1, _ENTRIES // (size * size)))
            rss, cost = _fit(R, c, members[part])
            for k, smallest in ((size, rss), (size - 1, (rss[:, None] + cost).min(axis=1))):
                if (smallest < bound[k]).any():
                    found = k, float(smallest.min()) * null / n
                    return NodeProof(False, found, work - left)
            following.append(_below(members[part], low[part], rss, cost, bound))
        members = np.concatenate([some for some, _ in following])
        low = np.concatenate([some for _, some in following])
        if len(members) == 0:
            break
    return NodeProof(True, None, work - left)


def _fit(R: Array, c: Array, members: Array) -> tuple[Array, Array]:
    """Return the residual sums of squares of sets of one size, and the cost of each member."""
    chosen = np.nonzero(members)[1].reshape(len(members), -1)
    V = np.linalg.inv(R[chosen[:, :, None], chosen[:, None, :]])
    right = c[chosen]
    beta = np.einsum("mij,mj->mi", V, right)
    diagonal = np.einsum("mii->mi", V)
    return 1.0 - np.einsum("mi,mi->m", beta, right), np.square(beta) / diagonal


def _below(
    members: Array, low: Array, rss: Array, cost: Array, bound: Array
) -> tuple[Array, Array]:
    """Drop one member of each set where something below may be better."""
    size = cost.shape[1]
    place = np.nonzero(members)[1].reshape(len(members), size)
    free = place >= low[:, None]
    # With w members free, dropping r of them leads to the size less r, at the r-th smallest cost.
    ranked = np.sort(np.where(free, cost, np.inf), axis=1)
    reached = bound[size - 1 :: -1][:size]
    alive = (rss[:, None] + ranked < reached)[:, 1:].any(axis=1)
    members, place, free = members[alive], place[alive], free[alive]
    loss = rss[alive][:, None] + cost[alive]
    behind = np.cumsum(free[:, ::-1], axis=1)[:, ::-1] - 1
    # No set below a child does better than the child.
    wanted = free & (behind >= 1) & (loss < bound[np.maximum(size - 1 - behind, 0)])
    parent, which = np.nonzero(wanted)
    child = members[parent]
    dropped = place[parent, which]
    child[np.arange(len(parent)), dropped] = False
    return child, dropped + 1
