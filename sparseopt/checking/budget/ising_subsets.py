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

import numpy as np

from sparseopt.checking.budget.fits import Observations, logistic_fits
from sparseopt.problems.base import Array
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.proofs.neighbours import logistic

_FITS = 400_000
"""Fits altogether: half a minute or so."""
_NODES = 64
"""Nodes whose subsets are looked through together."""
_ENTRIES = 1 << 21
"""Entries of the data of all fits at once."""
_MISSED = 1e-12
"""What a bound may miss before its fit is improved."""
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


def prove_tables(problem: L0GraphicalModel, table: Array, slack: Array | None = None) -> IsingProof:
    """Look through the subsets of as many nodes as can be afforded.

    Parameters
    ----------
    problem : L0GraphicalModel
        With loss "ising".
    table : array of shape (total + d,)
        Losses of 0, 1, ... neighbours of each node, not scaled, that no neighbours may fall below:
        those stated less a tolerance.
    slack : ignored
        Losses have all their digits here.
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
        self.nodes, self.room, self.ridge = nodes, room, problem.ridge
        self.sizes = problem.candidates.sizes[nodes]
        D = int(self.sizes.max(initial=0))
        self.order = np.tile(np.arange(D), (len(nodes), 1))
        self.codes, self.shares = _distinct_rows(problem, nodes)
        first = problem.candidates.ptr[nodes] + nodes
        self.table = table[first[:, None] + np.minimum(np.arange(D + 1), self.sizes[:, None])]
        self.open = np.zeros(len(nodes), dtype=bool)
        self.beaten: tuple[int, int, float] | None = None
        self.fits = 0

    def run(self) -> IsingProof:
        row = np.flatnonzero(self.sizes > 0)
        members = np.arange(self.order.shape[1]) < self.sizes[row, None]
        whole, beta = self._losses(row, members, np.zeros(members.shape))
        # The members that are missed most come first.
        at, place = np.nonzero(members)
        without = _without(members, at, place)
        losses, betas = self._losses(row[at], without, beta[at] * without)
        missed = np.full(members.shape, -np.inf)
        missed[at, place] = losses
        order = np.argsort(-missed, axis=1, kind="stable")
        self.order[row] = order
        # These are the children of the sets of all candidates.
        rank = np.empty_like(order)
        np.put_along_axis(rank, order, np.arange(order.shape[1])[None], axis=1)
        low = rank[at, place]
        alive = self.table[row[at], low] > whole[at]
        at, low, losses = at[alive], low[alive], losses[alive]
        betas = np.take_along_axis(betas[alive], order[at], axis=1)
        row, members = row[at], _without(members, at, low)
        low += 1
        while len(row) and self.beaten is None and self.fits < self.room:
            row, members, low, losses, betas = self._children(row, members, low, losses, betas)
        complete = np.ones(len(self.nodes), dtype=bool)
        complete[row] = False
        return IsingProof(complete & ~self.open, self.beaten, self.fits)

    def _children(
        self, row: Array, members: Array, low: Array, loss: Array, beta: Array
    ) -> tuple[Array, Array, Array, Array, Array]:
        """Drop one member of each set, after those dropped before, where that may be better."""
        free = members & (np.arange(members.shape[1]) >= low[:, None])
        parent, place = np.nonzero(free)
        behind = np.cumsum(free[:, ::-1], axis=1)[:, ::-1][parent, place] - 1
        smallest = members.sum(axis=1)[parent] - 1 - behind
        alive = self.table[row[parent], smallest] > loss[parent]
        parent, place = parent[alive], place[alive]
        child, row = _without(members, parent, place), row[parent]
        return row, child, place + 1, *self._losses(row, child, beta[parent] * child)

    def _losses(self, row: Array, members: Array, start: Array) -> tuple[Array, Array]:
        """Bound the losses of sets, and fit them; note those that do better than the table.

        Parameters
        ----------
        row : int array of shape (sets,)
        members : bool array of shape (sets, D)
        start : array of shape (sets, D)
            Coefficients from which the fits begin.

        Returns
        -------
        bounds, beta : arrays of shapes (sets,) and (sets, D)
        """
        sizes = members.sum(axis=1)
        out, betas = np.full(len(row), np.log(2.0)), np.zeros(members.shape)
        for size in np.unique(sizes[sizes > 0]):
            same = np.flatnonzero(sizes == size)
            step = max(1, _ENTRIES // int(size * self.codes.shape[1]))
            for begin in range(0, len(same), step):
                some = same[begin : begin + step]
                chosen = np.nonzero(members[some])[1].reshape(len(some), size)
                own, each = row[some], some[:, None]
                bits = self.order[own[:, None], chosen]
                signs = (self.codes[own][:, None, :] >> bits[:, :, None] & 1) == 1
                observations = Observations.of_signs(signs, self.shares[own])
                beta, loss = logistic_fits(observations, self.ridge, start[each, chosen])
                out[some] = _from_below(observations, beta, self.ridge)
                # From the coefficients of a separating set the steps may be too long to go back.
                low = np.flatnonzero(out[some] < self.table[own, size])
                if len(low):
                    beta[low], loss[low] = logistic_fits(observations[low], self.ridge)
                    out[some[low]] = _from_below(observations[low], beta[low], self.ridge)
                    self.fits += len(low)
                betas[each, chosen] = beta
                better = loss < self.table[own, size]
                if better.any():
                    b = int(np.argmax(better))
                    self.beaten = (int(self.nodes[own[b]]), int(size), float(loss[b]))
                self.open[own[out[some] < self.table[own, size]]] = True
        self.fits += len(row)
        return out, betas


def _without(members: Array, parent: Array, place: Array) -> Array:
    """Return sets of members, each without the one at a place."""
    child = members[parent]
    child[np.arange(len(parent)), place] = False
    return child


def _distinct_rows(problem: L0GraphicalModel, nodes: Array) -> tuple[Array, Array]:
    """Return the distinct observations of nodes, bit k for whether candidate k is like the node.

    Returns
    -------
    codes, shares : arrays of shape (nodes, r)
        Shares sum to one for each node; those of codes that fill up its row are 0.
    """
    found = []
    for j in nodes.tolist():
        own = problem.candidates.of(j)
        alike = problem.columns(own) == problem.columns(j)[:, None]
        codes, at = np.unique(alike @ (1 << np.arange(len(own))), return_inverse=True)
        found.append((codes, np.bincount(at, problem.shares, len(codes))))
    width = max(len(codes) for codes, _ in found)
    codes, shares = np.zeros((len(nodes), width), np.int64), np.zeros((len(nodes), width))
    for j, (one, other) in enumerate(found):
        codes[j, : len(one)], shares[j, : len(one)] = one, other
    return codes, shares


def _one_step_on(observations: Observations, beta: Array, p: Array, ridge: float) -> Array:
    """Return p, shape (sets, r), at coefficients one Newton step on."""
    hessian = observations.squares(p * (1.0 - p))
    k = hessian.shape[1]
    hessian[:, np.arange(k), np.arange(k)] += 2.0 * ridge
    slope = observations.means(p) - 2.0 * ridge * beta
    step = np.linalg.solve(hessian, slope[:, :, None])[:, :, 0]
    return np.asarray(logistic(-observations.along(beta + step)))


def _from_below(observations: Observations, beta: Array, ridge: float) -> Array:
    """Bound the smallest losses of sets by duality at their fits, shape (sets,)."""
    p = logistic(-observations.along(beta))
    if ridge > 0.0:
        # |g - 2 ridge beta|^2 / (4 ridge) is what the bound misses: with a small ridge much, and a
        # Newton step takes it to nearly nothing.
        missed = np.square(observations.means(p) - 2.0 * ridge * beta).sum(axis=1) / (4.0 * ridge)
        rough = np.flatnonzero(missed > _MISSED)
        if len(rough):
            p[rough] = _one_step_on(observations[rough], beta[rough], p[rough], ridge)
    else:
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
