"""Branch and bound over supports, best node first, with the row bound re-optimised at the nodes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ...common.index_sets import difference, members, with_one, without_one
from ...common.spheres import Incumbent, maximise_on_spheres, refit, swap
from ..bound.descent import Descent, RowMinimum
from ..bound.multipliers import NORMS, Multipliers, NormBound, ProvenBound
from ..scaling import Scaled
from ..settings import TINY, SupportTreeSettings
from .frontier import Frontier, Node


@dataclass(eq=False)
class SupportTree:
    """The search: an incumbent, and a frontier of open nodes and closed leaves.

    Parameters
    ----------
    problem : Scaled
    best : Incumbent
    rel_tolerance, abs_tolerance : float
        Nodes are closed when their bound is above the incumbent by at most this.
    control : Control
    asked : float
        Relative gap that ends the search once `polish` nodes have been processed.
    polish : int
    node_limit : int, optional
    capacity : int
        Numbers that the leaves may take; when there are more, they are no longer kept.
    warm : Multipliers, optional
        On all variables, good for a similar problem: what fixes variables before the root is
        processed.
    pairs : list of Multipliers, optional
        Every pair that a minimisation finds is added to it.
    norms : bool
        Whether a search by norms comes first, where there is no linear term.
    settings : SupportTreeSettings

    Attributes
    ----------
    A, a, d : the problem, scaled
    frontier : Frontier
    root : Multipliers or None
        The last pair on all variables that the minimisation at the root gave.
    """

    problem: Scaled
    best: Incumbent
    rel_tolerance: float
    abs_tolerance: float
    control: Control
    asked: float = 0.0
    polish: int = 0
    node_limit: int | None = None
    capacity: int = 8_000_000
    warm: Multipliers | None = None
    pairs: list[Multipliers] | None = None
    norms: bool = False
    settings: SupportTreeSettings = field(default_factory=SupportTreeSettings)
    root: Multipliers | None = None
    nodes: int = 0
    _seen: set[bytes] = field(default_factory=set)
    _begun: bool = False

    def __post_init__(self) -> None:
        self.A, self.a, self.d = self.problem.A, self.problem.a, self.problem.d
        self.frontier = Frontier(len(self.a), self.capacity)
        self._descent = Descent(self.A, self.a, self.d, self.settings.steps)

    @property
    def evaluations(self) -> int:
        """Evaluations of the row bound so far."""
        return self._descent.evaluations

    @property
    def cut(self) -> float:
        """The bound at which a node is closed."""
        value = self.best.value
        return value + max(self.abs_tolerance, self.rel_tolerance * abs(value))

    @property
    def bound(self) -> float:
        """A bound on the optimum at any moment between two nodes."""
        return max(self.best.value, self.frontier.bound)

    def proves(self, gap: float) -> bool:
        """Return whether incumbent and bound meet within a relative gap, or the absolute one."""
        difference = self.bound - self.best.value
        size = max(abs(self.bound), abs(self.best.value))
        return difference <= max(self.abs_tolerance, gap * size)

    def run(self) -> Limit | None:
        """Search, or go on with it, until all nodes are closed or a limit is reached; return it."""
        if not self._begun:
            self._begun = True
            self._open_root()
            if self.norms and not self.a.any():
                self._search_by_norms()
        while len(self.frontier):
            limit = self._limit()
            if limit is not None:
                return limit
            self.control.progress(
                f"{self.nodes} nodes, {len(self.frontier)} open",
                objective=self.problem.unit * self.best.value,
                bound=self.problem.unit * self.bound,
            )
            if self.nodes >= self.polish and self.proves(self.asked):
                return None
            self._settle(self.frontier.pop())
        return None

    def grow(self, support: Array | None = None) -> tuple[Node, list[Node]] | None:
        """Process one open node, if there is one: the best, or the one that holds a support.

        Returns
        -------
        Node, list of Nodes
            As it was, and those of its parts that are left open.
        """
        if support is not None:
            node = self.frontier.take(support)
        else:
            node = self.frontier.pop() if len(self.frontier) else None
        if node is None:
            return None
        before, others = replace(node), {id(other) for other in self.frontier.open}
        self._settle(node)
        return before, [part for part in self.frontier.open if id(part) not in others]

    def offer(self, support: Array) -> None:
        """Refit a support, and improve it where it is better than the incumbent."""
        self._offer(refit(self.A, self.a, support[None])[0])

    def _open_root(self) -> None:
        """Open the root with the plain bound; start with a part of the data as multipliers."""
        everything, t = np.arange(len(self.a)), self.settings.start_of(self.a)
        zero = Multipliers.zero(self.A, self.a)
        start = Multipliers.of_point(
            self.A, self.a, everything, np.concatenate([[0.0], t * self.a, t * self.A.ravel()])
        )
        root = Node(everything[:0], everything, zero.spectral, zero, start)
        if self.warm is not None:
            proof = self._tightened(root, self.warm)
            if root.bound > self.cut:
                self._fix(root, proof)
        if len(root.candidates) >= self.d >= len(root.fixed_in):
            self.frontier.push(root)

    def _limit(self) -> Limit | None:
        if self.node_limit is not None and self.nodes >= self.node_limit:
            return Limit.NODE
        return self.control.limit()

    # ---- one node: each of these returns True where it settled the node

    def _settle(self, node: Node) -> None:
        """Close a node that was taken out; or bound it, fix variables, enumerate it, or branch."""
        if self._closed(node):
            return
        self.nodes += 1
        relaxed = self._bounded(node)
        if relaxed is not None and not self._enumerated(node) and not self._probed(node):
            self._branch(node, relaxed)

    def _closed(self, node: Node) -> bool:
        """Close a node whose bound is not above the incumbent's."""
        if node.bound > self.cut:
            return False
        self.frontier.close(node.fixed_in, node.candidates, node.bound, node.proof)
        return True

    def _search_by_norms(self) -> None:
        """Search with norms as bounds; begin anew without them where they do not lead to an end.

        On the support of the incumbent they cannot be better than its own norm. Where that is very
        close, the matrix is nearly of rank one there, and the row bound would converge slowly: they
        are given more nodes, and what these leave open is kept.
        """
        squares, S = self.A**2, self.best.support
        norm = math.sqrt(float(squares[np.ix_(S, S)].sum()))
        near = norm - self.best.value <= self.settings.norm_near * abs(self.best.value)
        everything = np.arange(len(self.a))
        root = NormBound.at(squares, everything, everything[:0], self.d).bound
        if root - self.best.value > self.settings.norm_gap * abs(self.best.value):
            return
        most = self.settings.norm_nodes if near else self.settings.norm_trial
        while len(self.frontier) and self.nodes < most:
            if self._limit() is not None or (self.nodes >= self.polish and self.proves(self.asked)):
                return
            node = self.frontier.pop()
            if not self._closed(node):
                self.nodes += 1
                self._split_by_norms(node, squares)
        if len(self.frontier) and not near:
            self.nodes, self.frontier = 0, Frontier(len(self.a), self.frontier.capacity)
            self._open_root()

    def _split_by_norms(self, node: Node, squares: Array) -> None:
        """Bound a node by norms, fix variables, and enumerate its supports or branch."""
        proof = NormBound.at(squares, node.candidates, node.fixed_in, self.d)
        if proof.bound < node.bound:
            node.bound, node.proof = proof.bound, NORMS
        if self._closed(node):
            return
        candidates, rows = node.candidates, np.where(proof.inside, np.inf, proof.rows)
        order = np.argsort(-rows, kind="stable")
        self._try(np.sort(candidates[order[: self.d]]))
        self._fix(node, proof)
        if self._enumerated(node):
            return
        open_ = members(candidates, node.candidates) & ~members(candidates, node.fixed_in)
        i = int(np.argmax(np.where(open_, proof.rows, -np.inf)))
        j = candidates[i]
        for fixed_in, left, bound in (
            (with_one(node.fixed_in, j), node.candidates, float(proof.bounds_in[i])),
            (node.fixed_in, without_one(node.candidates, j), float(proof.bounds_out[i])),
        ):
            by = NORMS if bound < node.bound else node.proof
            self.frontier.push(Node(fixed_in, left, min(bound, node.bound), by, warm=node.warm))

    def _interrupted(self, node: Node) -> bool:
        """Open a node again when a limit was reached."""
        if self.control.limit() is None:
            return False
        self.frontier.push(node)
        return True

    def _bounded(self, node: Node) -> RowMinimum | None:
        """Minimise the bound, with less smoothing in each round, and fix variables by it.

        Return where the last round ended; None where the node was settled on the way.
        """
        settings, at_root, n = self.settings, self.nodes == 1, len(node.candidates)
        x = node.warm.point(node.candidates)
        start = ProvenBound.at(node.warm, node.candidates, node.fixed_in, self.d)
        delta = (start.bound - self.cut) / settings.shrink
        for round_ in range(settings.root_rounds if at_root else settings.rounds):
            if self._enumerated(node):
                return None
            gap, before = node.bound - self.cut, node.candidates
            largest = delta if at_root and round_ < 2 else gap
            delta = max(min(largest, settings.shrink * delta), self._finest)
            minimum = self._minimised(before, node.fixed_in, x, delta)
            if len(before) == len(self.a):
                self.root = minimum.multipliers
            self._round(node, minimum)
            proof = self._tightened(node, minimum.multipliers)
            node.warm = minimum.multipliers
            if self._closed(node):
                return None
            fixed = self._fix(node, proof)
            minimum = minimum.on(members(before, node.candidates))
            x = minimum.x
            if self._interrupted(node):
                return None
            moved = fixed > settings.progress * n
            stalled = node.bound - self.cut > settings.stall * gap and not moved
            if stalled and not (at_root and round_ < settings.patience):
                break
        return minimum

    @property
    def _finest(self) -> float:
        """The smallest smoothing."""
        return self.settings.finest * abs(self.best.value)

    def _minimised(self, candidates: Array, fixed_in: Array, x: Array, delta: float) -> RowMinimum:
        """Minimise the bound with one smoothing."""
        found = self._descent.run(candidates, fixed_in, x, delta, self.cut, self.control.limit)
        if self.pairs is not None:
            self.pairs.append(found.multipliers)
        return found

    def _tightened(self, node: Node, pair: Multipliers) -> ProvenBound:
        """Evaluate a pair at a node, and take its bound where that is lower."""
        proof = ProvenBound.at(pair, node.candidates, node.fixed_in, self.d)
        if proof.bound < node.bound:
            node.bound, node.proof = proof.bound, pair
        return proof

    def _round(self, node: Node, relaxed: RowMinimum) -> None:
        """Try the supports that the relaxed solution suggests."""
        inside = members(node.candidates, node.fixed_in)
        weight, density = relaxed.weight, relaxed.density
        for score in (weight + self.settings.tie * density, density):
            order = np.argsort(-np.where(inside, np.inf, score), kind="stable")
            self._try(np.sort(node.candidates[order[: self.d]]))

    def _try(self, support: Array) -> None:
        """Offer a support that was not offered before."""
        if support.tobytes() not in self._seen:
            self._seen.add(support.tobytes())
            self.offer(support)

    def _offer(self, found: Incumbent) -> None:
        if found.value > self.best.value:
            self.best = swap(self.A, self.a, found, self.control.limit)

    def _fix(self, node: Node, proof: ProvenBound | NormBound) -> int:
        """Fix the variables of which one choice is bounded by the incumbent; return how many."""
        out = np.flatnonzero((proof.bounds_in <= self.cut) & ~proof.inside)
        into = np.flatnonzero((proof.bounds_out <= self.cut) & ~proof.inside)
        candidates, pair = node.candidates, proof.multipliers
        for i in out:
            with_it = with_one(node.fixed_in, candidates[i])
            self.frontier.close(with_it, node.candidates, proof.bounds_in[i], pair)
            node.candidates = without_one(node.candidates, candidates[i])
        for i in into:
            without = without_one(node.candidates, candidates[i])
            self.frontier.close(node.fixed_in, without, proof.bounds_out[i], pair)
            node.fixed_in = with_one(node.fixed_in, candidates[i])
        return len(out) + len(into)

    def _enumerated(self, node: Node) -> bool:
        """Settle a node with few supports by a trust-region subproblem on each of them."""
        free = difference(node.candidates, node.fixed_in)
        k = self.d - len(node.fixed_in)
        if len(free) < k or k < 0:
            return True
        count = math.comb(len(free), k)
        if count > self.settings.enumerate:
            return False
        more = np.array(list(itertools.combinations(free, k)), dtype=np.int64).reshape(count, k)
        fixed = np.broadcast_to(node.fixed_in, (len(more), len(node.fixed_in)))
        supports = np.sort(np.concatenate([fixed, more], axis=1), axis=1)
        found = maximise_on_spheres(
            self.A[supports[:, :, None], supports[:, None, :]], self.a[supports]
        )
        margin = self.settings.margin * self.d * (1.0 + np.abs(found.mu))
        bounds = (found.bound + margin).tolist()
        for support, bound, mu in zip(supports, bounds, found.mu.tolist(), strict=True):
            self.frontier.keep(support, support, bound, mu, None)
        at = int(np.argmax(found.bound))
        self._offer(Incumbent(supports[at], found.z[at], float(found.bound[at])))
        return True

    def _probed(self, node: Node) -> bool:
        """Fix variables of the incumbent whose exclusion a short minimisation proves hopeless.

        The sets without them would have to be processed anyway; now the rest of the node need not
        be bounded again for each of them. The node is settled where it is closed, or branched on
        the first variable of which this failed.
        """
        support = self.best.support
        while members(node.fixed_in, support).all() and members(support, node.candidates).all():
            proof = self._tightened(node, node.warm)
            if self._closed(node) or self._enumerated(node) or self._interrupted(node):
                return True
            open_ = members(node.candidates, support) & ~proof.inside
            i = int(np.argmin(np.where(open_, proof.bounds_out, np.inf)))
            without = self._without(node, i, float(proof.bounds_out[i]))
            hopeless = self._closed(without)
            if not hopeless:
                self.frontier.push(without)
            node.fixed_in = with_one(node.fixed_in, node.candidates[i])
            if not hopeless:
                self.frontier.push(node)
                return True
        return False

    def _without(self, node: Node, i: int, bound: float) -> Node:
        """Return the part of a node without its candidate i, its bound minimised where that helps.

        Parameters
        ----------
        bound : float
            What the node's own pair proves for it.
        """
        part = replace(node, candidates=np.delete(node.candidates, i), bound=bound, proof=node.warm)
        if bound > self.cut:
            delta = max(min(bound, node.bound) - self.cut, self._finest)
            x = node.warm.point(part.candidates)
            part.warm = self._minimised(part.candidates, node.fixed_in, x, delta).multipliers
            self._tightened(part, part.warm)
        if node.bound < part.bound:
            part.bound, part.proof = node.bound, node.proof
        return part

    def _branch(self, node: Node, relaxed: RowMinimum) -> None:
        """Split a node by the variable of most weight that the relaxed support leaves undecided."""
        proof = ProvenBound.at(node.warm, node.candidates, node.fixed_in, self.d)
        weight = np.where(relaxed.weight < self.settings.decided, relaxed.weight, 0.0)
        share = relaxed.density / max(float(relaxed.density.max()), TINY)
        undecided = weight + self.settings.tie * share
        i = int(np.argmax(np.where(proof.inside, -np.inf, undecided)))
        j = node.candidates[i]
        for fixed_in, candidates, bound in (
            (with_one(node.fixed_in, j), node.candidates, float(proof.bounds_in[i])),
            (node.fixed_in, without_one(node.candidates, j), float(proof.bounds_out[i])),
        ):
            pair = node.warm if bound <= node.bound else node.proof
            self.frontier.push(
                Node(fixed_in, candidates, min(bound, node.bound), pair, warm=node.warm)
            )
