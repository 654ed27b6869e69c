"""The outer approximation: cuts for supports and for faces, and a tree that the master grows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..bound.multipliers import Multipliers, ProvenBound
from ..settings import SMALLEST_UNIT
from ..tree.frontier import Node
from ..tree.support_tree import SupportTree
from .master import HighsMaster, ScipMaster, STRSMaster
from .support_cuts import exact_pairs


@dataclass
class _Inner(Control):
    """The control of a master: the clock and Ctrl-C of the solve, without its other limits."""

    outer: Control | None = None

    def limit(self) -> Limit | None:
        assert self.outer is not None
        return self.outer.limit()

    @property
    def remaining(self) -> float | None:
        assert self.outer is not None
        return self.outer.remaining


class MasterSearch:
    """The state: the tree that the masters grow, a pool of pairs, the master's bound.

    Parameters
    ----------
    tree : SupportTree
        Not begun.
    control : Control
    gap : float
        The relative gap at which bound and incumbent meet.
    branched : int
        Nodes of the tree that are processed after each master.

    Attributes
    ----------
    iterations, cuts : int
        Masters that were solved, and cuts that they got.
    """

    def __init__(self, tree: SupportTree, control: Control, gap: float, branched: int) -> None:
        zero = Multipliers.zero(tree.A, tree.a)
        self.tree, self.control, self.gap, self.branched = tree, control, gap, branched
        self.iterations = self.cuts = 0
        self.pool = [zero]
        tree.pairs = self.pool
        self._open = zero.spectral

    @property
    def bound(self) -> float:
        """A bound on the optimum at any moment, by the master where that is lower."""
        return max(
            self.tree.best.value, min(self._open, self.tree.bound), self.tree.frontier.closed
        )

    @property
    def closed(self) -> bool:
        """Whether bound and incumbent meet."""
        value = self.tree.best.value
        size = max(abs(self.bound), abs(value))
        return self.bound - value <= max(self.tree.abs_tolerance, self.gap * size)

    def root(self) -> Limit | None:
        """Process the root: minimise the row bound, fix variables; return a limit."""
        self.tree.node_limit = 1
        limit = self.tree.run()
        self.tree.node_limit = self.control.params.node_limit
        self.tree.pairs = None
        return None if limit is Limit.NODE else limit

    def prove(self) -> Limit | None:
        """Go on with the tree until it has closed the gap, too; return a limit."""
        return self.tree.run()

    def run_masters(self, name: str) -> Limit | None:
        """Add cuts until the master's bound meets the incumbent; return a limit."""
        nodes, value = self.tree.frontier.open, self.tree.best.value
        candidates = reduce(np.union1d, (node.candidates for node in nodes))
        fixed_in = reduce(np.intersect1d, (node.fixed_in for node in nodes))
        cuts = Cuts(
            candidates,
            fixed_in,
            np.setdiff1d(candidates, fixed_in),
            self.tree.d,
            value,
            max(self.tree.bound - value, SMALLEST_UNIT),
        )
        params = replace(self.control.params, node_limit=None, iteration_limit=None)
        inner = _Inner(params=params, outer=self.control)
        master: STRSMaster = (HighsMaster if name == "highs" else ScipMaster)(
            len(cuts.free), cuts.m, inner
        )
        for pair in self.pool:
            if np.isin(candidates, pair.variables).all():
                self._add(master, cuts, pair)
        whole = replace(nodes[0], fixed_in=fixed_in, candidates=candidates)
        self._replace(master, cuts, whole, nodes)
        while True:
            limit = self._limit()
            if limit is not None:
                return limit
            self.iterations += 1
            chosen, eta = master.solve()
            self._open = min(self._open, cuts.bound(eta + master.margin))
            self._report()
            if self.closed:
                return None
            if chosen is None:
                return self.control.limit() or Limit.SLOW_PROGRESS
            support = np.union1d(fixed_in, cuts.free[chosen])
            self.tree.offer(support)
            master.exclude(*cuts.support(chosen))
            self._add_exact(master, cuts, support)
            for k in range(self.branched):
                limit = self._limit()
                if limit is not None:
                    return limit
                grown = self.tree.grow(support if k == 0 else None)
                if grown is not None:
                    self._replace(master, cuts, *grown)

    def _replace(self, master: STRSMaster, cuts: Cuts, node: Node, parts: list[Node]) -> None:
        """Leave of a node's face its open parts alone, and add the cuts of their pairs."""
        for weights, most in cuts.left(node, parts):
            master.exclude(weights, most)
        for part in parts:
            assert isinstance(part.proof, Multipliers)  # the tree does not use norms
            self._add(master, cuts, part.proof, part)

    def _add_exact(self, master: STRSMaster, cuts: Cuts, support: Array) -> None:
        A, a, F = self.tree.A, self.tree.a, cuts.candidates
        places = np.searchsorted(F, support)
        for x in exact_pairs(A[np.ix_(F, F)], a[F], places):
            self._add(master, cuts, Multipliers.of_point(A, a, F, x))

    def _add(
        self, master: STRSMaster, cuts: Cuts, pair: Multipliers, node: Node | None = None
    ) -> None:
        master.cut(*cuts.of(pair, node))
        self.cuts += 1

    def _limit(self) -> Limit | None:
        params = self.control.params
        if params.iteration_limit is not None and self.iterations >= params.iteration_limit:
            return Limit.ITERATION
        if params.node_limit is not None and self.tree.nodes >= params.node_limit:
            return Limit.NODE
        return self.control.limit()

    def _report(self) -> None:
        """Report progress, in the units of the problem."""
        scale = self.tree.problem.unit
        self.control.progress(
            f"{self.iterations} masters, {self.cuts} cuts",
            objective=scale * self.tree.best.value,
            bound=scale * self.bound,
        )


@dataclass(frozen=True, eq=False)
class Cuts:
    r"""Bounds of pairs as rows of the master, whose eta is (bound - base) / unit <= 1.

    A node of the tree is a face of the 0-1 vectors q. How many of the variables that it fixes q
    chooses otherwise, :math:`v(q) = \sum_{in} (1 - q_i) + \sum_{out} q_i`, is linear, and at least
    1 elsewhere: what holds on the face holds everywhere once a large multiple of v is added.

    Attributes
    ----------
    candidates, fixed_in : int arrays
        What the root has left of the supports.
    free : int array of shape (n,)
        The candidates that are not fixed in: those of the master.
    d : int
    base, unit : float
    """

    candidates: Array
    fixed_in: Array
    free: Array
    d: int
    base: float
    unit: float

    @property
    def m(self) -> int:
        """How many of the free variables a support has."""
        return self.d - len(self.fixed_in)

    def of(self, pair: Multipliers, node: Node | None = None) -> tuple[float, Array]:
        """Return constant and weights of eta <= c + h'q, with all roundings up.

        Parameters
        ----------
        pair : Multipliers
            On the node's candidates.
        node : Node, optional
            On whose face alone the pair is a bound; without it, on all that the root has left.
        """
        candidates = self.candidates if node is None else node.candidates
        fixed_in = self.fixed_in if node is None else node.fixed_in
        proof = ProvenBound.at(pair, candidates, fixed_in, self.d)
        free = ~proof.inside
        chosen = np.sort(proof.terms[free])[::-1][: self.d - int(proof.inside.sum())]
        # The bound is that of the largest terms, with a margin that no other choice exceeds.
        constant = (proof.bound - float(chosen.sum()) - self.base) / self.unit
        # As eta is at most 1 and the weights are not negative, more than this changes nothing.
        most = max(0.0, 1.0 - constant)
        weights = np.zeros(len(self.free))
        places = np.searchsorted(self.free, candidates[free])
        weights[places] = np.minimum(proof.terms[free] / self.unit, most)
        if node is None:
            return constant, weights
        slope, offset = self._otherwise(node)
        return constant + most * offset, weights + most * slope

    def support(self, chosen: Array) -> tuple[Array, float]:
        """Return the row that excludes the support with these places."""
        weights = np.zeros(len(self.free))
        weights[chosen] = 1.0
        return weights, self.m - 1.0

    def left(self, node: Node, parts: list[Node]) -> list[tuple[Array, float]]:
        """Return rows weights'q <= most that leave of a node's face what its parts have in common.

        All parts differ in one variable at most, so nothing else is left.
        """
        slope, offset = self._otherwise(node)
        if not parts:
            return [(-slope, offset - 1.0)]
        inside = reduce(np.intersect1d, (part.fixed_in for part in parts))
        some = reduce(np.union1d, (part.candidates for part in parts))
        rows = []
        for sign, fixed in (
            (1.0, np.setdiff1d(node.candidates, some)),
            (-1.0, np.setdiff1d(inside, node.fixed_in)),
        ):
            for i in np.searchsorted(self.free, fixed):
                weights = -slope
                weights[i] += sign
                rows.append((weights, offset + min(sign, 0.0)))
        return rows

    def _otherwise(self, node: Node) -> tuple[Array, float]:
        """Return slope and offset of v(q) of a node's face."""
        inside = np.isin(self.free, node.fixed_in)
        outside = ~np.isin(self.free, node.candidates)
        return outside.astype(float) - inside, float(inside.sum())

    def bound(self, eta: float) -> float:
        """Return what a bound on eta proves."""
        return self.base + self.unit * eta if eta > -math.inf else -math.inf
