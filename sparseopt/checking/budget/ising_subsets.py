r"""Proof that no neighbours of an Ising node do better than its table states.

A set has no smaller loss than any set that contains it. So all subsets of the candidates are looked
through from the largest down: member after member is dropped, those whose loss is missed most
last, and nothing below a set is looked at whose loss is not smaller than what the table states for
the smallest size that can be reached from it. The losses are fitted again with NumPy, many at once,
and bounded from below by duality: with :math:`z_{ik} = x_{ij} x_{ik}`, the entropy H, and
:math:`g = Z' p / n`

.. math:: \frac1n \sum_i \log(1 + e^{-z_i \beta}) + \rho \|\beta\|^2
          \ge \frac1n \sum_i H(p_i) - \frac{\|g\|^2}{4 \rho}
          \quad\text{or}\quad \frac1n \sum_i H(p_i) - B \|g\|_1

for every p in :math:`[0, 1]^n`; the second, without a ridge, for all coefficients up to B = 1000.
Where neighbours separate the node's values the loss has an infimum and no minimum, and this is
what is proven: coefficients beyond B cannot lower it by anything that counts. Where
rows have weights all means are weighted.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.checking.budget.fits import Observations, logistic_fits
from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel

if TYPE_CHECKING:
    import scipy.special as special
else:
    special = Deferred("scipy.special")

_FITS = 400_000
"""Fits altogether: half a minute or so."""
_NODES = 64
"""Nodes whose subsets are looked through together."""
_ENTRIES = 1 << 21
"""Entries of the data of all fits at once."""
_COEFFICIENT = 1e3
"""Size of the coefficients for which bounds hold without a ridge."""


@dataclass(frozen=True, eq=False)
class IsingProof:
    """What was found.

    Attributes
    ----------
    proven : bool array of shape (d,)
        Nodes none of whose neighbours do better.
    beaten : (node, size, loss) or None
        Neighbours that do.
    fits : int
    """

    proven: Array
    beaten: tuple[int, int, float] | None
    fits: int


def prove_tables(problem: L0GraphicalModel, table: Array) -> IsingProof:
    """Look through the subsets of as many nodes as can be afforded.

    Parameters
    ----------
    problem : L0GraphicalModel
        With loss "ising".
    table : array of shape (total + d,)
        Losses of 0, 1, ... neighbours of each node, not scaled, that no neighbours may fall below:
        those stated less a tolerance.
    """
    d, sizes = problem.candidates.nodes, problem.candidates.sizes
    proven = np.zeros(d, dtype=bool)
    fits = 0
    order = np.argsort(sizes, kind="stable")
    for first in range(0, d, _NODES):
        nodes = order[first : first + _NODES]
        if fits >= _FITS or sizes[nodes[-1]] > 62:
            break
        found = _Batch(problem, nodes, table, _FITS - fits).run()
        fits += found.fits
        if found.beaten is not None:
            return IsingProof(proven, found.beaten, fits)
        proven[nodes] = found.proven
    return IsingProof(proven, None, fits)


class _Batch:
    """Some nodes; a set is a row of truth values over a node's candidates in its own order."""

    def __init__(self, problem: L0GraphicalModel, nodes: Array, table: Array, room: int) -> None:
        self.problem, self.nodes, self.room = problem, nodes, room
        self.sizes = problem.candidates.sizes[nodes]
        D = int(self.sizes.max(initial=0))
        places = problem.candidates.ptr[nodes][:, None] + np.minimum(
            np.arange(D), np.maximum(self.sizes - 1, 0)[:, None]
        )
        self.index = (
            problem.candidates.index[np.minimum(places, max(problem.total - 1, 0))]
            if problem.total
            else np.zeros((len(nodes), 0), dtype=np.int64)
        )
        first = problem.candidates.ptr[nodes] + nodes
        self.table = table[first[:, None] + np.minimum(np.arange(D + 1), self.sizes[:, None])]
        self.open = np.zeros(len(nodes), dtype=bool)
        self.beaten: tuple[int, int, float] | None = None
        self.fits = 0

    def run(self) -> IsingProof:
        D = self.index.shape[1]
        everything = np.arange(D) < self.sizes[:, None]
        row = np.flatnonzero(self.sizes > 0)
        members = everything[row]
        whole = self._losses(row, members)
        # The members that are missed most come first.
        at, place = np.nonzero(members)
        without = members[at]
        without[np.arange(len(at)), place] = False
        missed = np.full(members.shape, -np.inf)
        missed[at, place] = self._losses(row[at], without)
        order = np.argsort(-missed, axis=1, kind="stable")
        self.index = self.index.copy()
        self.index[row] = np.take_along_axis(self.index[row], order, axis=1)
        low = np.zeros(len(row), dtype=np.int64)
        while len(row) and self.beaten is None and self.fits < self.room:
            row, members, low, whole = self._children(row, members, low, whole)
        complete = np.ones(len(self.nodes), dtype=bool)
        complete[row] = False
        return IsingProof(complete & ~self.open, self.beaten, self.fits)

    def _children(
        self, row: Array, members: Array, low: Array, loss: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Drop one member of each set, after those dropped before, where that may be better."""
        free = members & (np.arange(members.shape[1]) >= low[:, None])
        parent, place = np.nonzero(free)
        behind = np.cumsum(free[:, ::-1], axis=1)[:, ::-1][parent, place] - 1
        smallest = members.sum(axis=1)[parent] - 1 - behind
        alive = self.table[row[parent], smallest] > loss[parent]
        parent, place = parent[alive], place[alive]
        child = members[parent]
        child[np.arange(len(parent)), place] = False
        row, low = row[parent], place + 1
        return row, child, low, self._losses(row, child)

    def _losses(self, row: Array, members: Array) -> Array:
        """Bound the losses of sets; note those that do better than the table, or might."""
        sizes = members.sum(axis=1)
        out = np.full(len(row), np.log(2.0))
        n, ridge, shares = self.problem.X.shape[0], self.problem.ridge, self.problem.shares
        for size in np.unique(sizes[sizes > 0]):
            same = np.flatnonzero(sizes == size)
            step = max(1, _ENTRIES // int(size * n))
            for start in range(0, len(same), step):
                some = same[start : start + step]
                chosen = np.nonzero(members[some])[1].reshape(len(some), size)
                own = row[some]
                neighbours = self.index[own[:, None], chosen]
                Z = self.problem.columns(neighbours).transpose(1, 2, 0)
                y = self.problem.columns(self.nodes[own]).T
                observations = Observations.of(Z * y[:, None, :], shares)
                beta, loss = logistic_fits(observations, ridge)
                out[some] = _from_below(observations, beta, ridge)
                better = loss < self.table[own, size]
                if better.any():
                    b = int(np.argmax(better))
                    self.beaten = (int(self.nodes[own[b]]), int(size), float(loss[b]))
                self.open[own[out[some] < self.table[own, size]]] = True
        self.fits += len(row)
        return out


def _from_below(observations: Observations, beta: Array, ridge: float) -> Array:
    """Bound the smallest losses of sets by duality at their fits, shape (sets,)."""
    p = special.expit(-observations.along(beta))
    if ridge == 0.0:
        # A Newton step of the dual takes g to zero up to rounding.
        variance = p * (1.0 - p)
        hessian = observations.squares(variance)
        k = hessian.shape[1]
        size = np.trace(hessian, axis1=1, axis2=2) / k
        hessian[:, np.arange(k), np.arange(k)] += (1e-14 * size + 1e-300)[:, None]
        step = np.linalg.solve(hessian, observations.means(p)[:, :, None])[:, :, 0]
        p = np.clip(p - variance * observations.along(step), 0.0, 1.0)
    g = observations.means(p)
    inside = np.clip(p, 1e-300, 1.0 - 1e-16)
    entropies = -(inside * np.log(inside) + (1.0 - inside) * np.log1p(-inside))
    entropy = (observations.weight * entropies).sum(axis=1)
    if ridge > 0.0:
        return np.asarray(entropy - np.square(g).sum(axis=1) / (4.0 * ridge))
    return np.asarray(entropy - _COEFFICIENT * np.abs(g).sum(axis=1))
