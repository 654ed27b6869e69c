r"""Proof that no neighbours of an Ising node do better than its table states.

A set has no smaller loss than any set that contains it. So all subsets of the candidates are looked
through from the largest down: member after member is dropped, those whose loss is missed most
last, and nothing below a set is looked at whose loss is not smaller than what the table states for
the smallest size that can be reached from it. The losses are fitted again with NumPy, many at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.neighbourhoods import L0GraphicalModel
from sparseopt.refit import logistic_fits

__all__ = ["IsingProof", "prove_tables"]

_FITS = 200_000
"""Fits altogether: half a minute or so."""
_NODES = 64
"""Nodes whose subsets are looked through together."""
_ENTRIES = 1 << 21
"""Entries of the data of all fits at once."""
_SEPARATED = 20.0
"""Margins beyond which a fit may be on its way to infinity, so that its loss bounds nothing."""


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


def prove_tables(problem: L0GraphicalModel, stated: Array, tolerance: float) -> IsingProof:
    """Look through the subsets of as many nodes as can be afforded.

    Parameters
    ----------
    problem : L0GraphicalModel
        With loss "ising".
    stated : array of shape (total + d,)
        The losses of 0, 1, ... neighbours of each node.
    tolerance : float
    """
    d, sizes = problem.candidates.nodes, problem.candidates.sizes
    proven = np.zeros(d, dtype=bool)
    fits = 0
    order = np.argsort(sizes, kind="stable")
    for first in range(0, d, _NODES):
        nodes = order[first : first + _NODES]
        if fits >= _FITS or sizes[nodes[-1]] > 62:
            break
        found = _Batch(problem, nodes, stated, tolerance, _FITS - fits).run()
        fits += found.fits
        if found.beaten is not None:
            return IsingProof(proven, found.beaten, fits)
        proven[nodes] = found.proven
    return IsingProof(proven, None, fits)


class _Batch:
    """Some nodes; a set is a row of truth values over a node's candidates in its own order."""

    def __init__(
        self, problem: L0GraphicalModel, nodes: Array, stated: Array, tolerance: float, room: int
    ) -> None:
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
        self.table = (
            stated[first[:, None] + np.minimum(np.arange(D + 1), self.sizes[:, None])] - tolerance
        )
        self.separated = np.zeros(len(nodes), dtype=bool)
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
        return IsingProof(complete & ~self.separated, self.beaten, self.fits)

    def _children(
        self, row: Array, members: Array, low: Array, loss: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Drop one member of each set, behind those dropped before, where that may be better."""
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
        """Fit sets again; note those that do better than the table, and those that separate."""
        sizes = members.sum(axis=1)
        out = np.full(len(row), np.log(2.0))
        n = self.problem.X.shape[0]
        for size in np.unique(sizes[sizes > 0]):
            same = np.flatnonzero(sizes == size)
            step = max(1, _ENTRIES // int(size * n))
            for start in range(0, len(same), step):
                some = same[start : start + step]
                chosen = np.nonzero(members[some])[1].reshape(len(some), size)
                own = row[some]
                neighbours = self.index[own[:, None], chosen]
                Z = np.asarray(self.problem.X[:, neighbours], dtype=float).transpose(1, 2, 0)
                y = np.asarray(self.problem.X[:, self.nodes[own]], dtype=float).T
                beta, loss = logistic_fits(Z * y[:, None, :], self.problem.ridge)
                far = np.abs(np.einsum("ak,akn->an", beta, Z)).max(axis=1) > _SEPARATED
                if self.problem.ridge == 0.0:
                    self.separated[own[far]] = True
                    loss = np.where(far, 0.0, loss)
                better = (loss < self.table[own, size]) & ~self.separated[own]
                if better.any():
                    b = int(np.argmax(better))
                    self.beaten = (int(self.nodes[own[b]]), int(size), float(loss[b]))
                out[some] = loss
        self.fits += len(row)
        return out
