"""Branch and bound over supports, best node first, with the row bound re-optimised at the nodes."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field, replace

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.sphere import maximise_on_spheres
from ..common.supports import Incumbent, refit, swap
from .descent import Descent, restrict
from .frontier import Frontier
from .multipliers import Multipliers, Proof
from .nodes import Node, Settings

__all__ = ["Tree"]


@dataclass(eq=False)
class Tree:
    """The search: an incumbent, and a frontier of open nodes and closed leaves.

    Parameters
    ----------
    A, a, d : the problem
    best : Incumbent
    rel_tolerance, abs_tolerance : float
        Nodes are closed when their bound is above the incumbent by at most this.
    settings : Settings
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
    scale : float
        What the values are multiplied by when progress is reported.
    pairs : list of Multipliers, optional
        Every pair that a minimisation finds is added to it.

    Attributes
    ----------
    frontier : Frontier
    root : Multipliers or None
        The last pair on all variables that the minimisation at the root gave.
    """

    A: Array
    a: Array
    d: int
    best: Incumbent
    rel_tolerance: float
    abs_tolerance: float
    settings: Settings
    control: Control
    asked: float = 0.0
    polish: int = 0
    node_limit: int | None = None
    capacity: int = 8_000_000
    warm: Multipliers | None = None
    scale: float = 1.0
    pairs: list[Multipliers] | None = None
    root: Multipliers | None = None
    nodes: int = 0
    _seen: set[bytes] = field(default_factory=set)
    _begun: bool = False

    def __post_init__(self) -> None:
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
        """Tell whether incumbent and bound meet within a relative gap, or the absolute one."""
        difference = self.bound - self.best.value
        size = max(abs(self.bound), abs(self.best.value))
        return difference <= max(self.abs_tolerance, gap * size)

    def run(self) -> Limit | None:
        """Search, or go on with it, until all nodes are closed or a limit is reached; return it."""
        if not self._begun:
            self._begun = True
            self._begin()
        while len(self.frontier):
            limit = self._limit()
            if limit is not None:
                return limit
            self.control.progress(
                f"{self.nodes} nodes, {len(self.frontier)} open",
                objective=self.scale * self.best.value,
                bound=self.scale * self.bound,
            )
            if self.nodes >= self.polish and self.proves(self.asked):
                return None
            self._settle(self.frontier.pop())
        return None

    def _begin(self) -> None:
        """Open the root."""
        everything = np.arange(len(self.a))
        zero = Multipliers.of_point(
            self.A, self.a, everything, np.zeros(1 + len(self.a) + len(self.a) ** 2)
        )
        root = Node(everything[:0], everything, zero.spectral, zero, self._start(zero))
        if self.warm is not None:
            self._apply(root, self.warm)
        if len(root.candidates) >= self.d >= len(root.fixed_in):
            self.frontier.push(root)

    def grow(self, support: Array | None = None) -> tuple[Node, list[Node]] | None:
        """Process one open node, if there is one: the best, or the one that holds a support.

        Returns
        -------
        Node, list of Nodes
            As it was, and those of its parts that are left open.
        """
        node = self._next(support)
        if node is None:
            return None
        before, others = replace(node), {id(other) for other in self.frontier.open}
        self._settle(node)
        return before, [part for part in self.frontier.open if id(part) not in others]

    def _next(self, support: Array | None) -> Node | None:
        if support is not None:
            return self.frontier.take(support)
        return self.frontier.pop() if len(self.frontier) else None

    def _limit(self) -> Limit | None:
        if self.node_limit is not None and self.nodes >= self.node_limit:
            return Limit.NODE
        return self.control.limit()

    # ---- one node

    def _settle(self, node: Node) -> None:
        """Close a node that was taken out, where the incumbent allows that, or process it."""
        if node.bound <= self.cut:
            self.frontier.close(node.fixed_in, node.candidates, node.bound, node.proof)
        else:
            self.nodes += 1
            self._process(node)

    def _process(self, node: Node) -> None:
        """Tighten the bound, fix variables by it, and close, enumerate or branch."""
        at_root = self.nodes == 1
        n = len(node.candidates)
        x = node.warm.point(node.candidates)
        start = Proof.at(node.warm, node.candidates, node.fixed_in, self.d)
        delta = (start.bound - self.cut) / self.settings.shrink
        for round_ in range(self.settings.root_rounds if at_root else self.settings.rounds):
            if self._enumerated(node):
                return
            gap = node.bound - self.cut
            largest = delta if at_root and round_ < 2 else gap
            delta = max(min(largest, self.settings.shrink * delta), 1e-9 * abs(self.best.value))
            found, x, weight, density = self._minimise(node.candidates, node.fixed_in, x, delta)
            if len(found.variables) == len(self.a):
                self.root = found
            self._improve(node, weight, density)
            proof = Proof.at(found, node.candidates, node.fixed_in, self.d)
            if proof.bound < node.bound:
                node.bound, node.proof = proof.bound, found
            node.warm = found
            if node.bound <= self.cut:
                self.frontier.close(node.fixed_in, node.candidates, node.bound, node.proof)
                return
            before = node.candidates
            fixed = self._fix(node, proof)
            if len(node.candidates) < len(before):
                kept = np.isin(before, node.candidates)
                x, weight, density = restrict(x, kept), weight[kept], density[kept]
            if self.control.limit() is not None:
                self.frontier.push(node)
                return
            stalled = node.bound - self.cut > self.settings.stall * gap and fixed <= 0.1 * n
            if stalled and not (at_root and round_ < self.settings.patience):
                break
        if self._enumerated(node) or self._probed(node):
            return
        self._branch(node, weight, density)

    def _probed(self, node: Node) -> bool:
        """Fix variables of the incumbent whose exclusion a short minimisation proves hopeless.

        The sets without them would have to be processed anyway; now the rest of the node need not
        be bounded again for each of them. Return whether the node is settled: closed, or branched
        on the first variable of which this failed.
        """
        support = self.best.support
        while np.isin(node.fixed_in, support).all() and np.isin(support, node.candidates).all():
            proof = Proof.at(node.warm, node.candidates, node.fixed_in, self.d)
            if proof.bound < node.bound:
                node.bound, node.proof = proof.bound, node.warm
            if node.bound <= self.cut:
                self.frontier.close(node.fixed_in, node.candidates, node.bound, node.proof)
                return True
            if self._enumerated(node):
                return True
            if self.control.limit() is not None:
                self.frontier.push(node)
                return True
            open_ = np.isin(node.candidates, support) & ~proof.inside
            i = int(np.argmin(np.where(open_, proof.bounds_out, np.inf)))
            j = node.candidates[i : i + 1]
            rest = np.setdiff1d(node.candidates, j)
            bound, pair = float(proof.bounds_out[i]), node.warm
            warm = pair
            if bound > self.cut:
                delta = max(min(bound, node.bound) - self.cut, 1e-9 * abs(self.best.value))
                warm, *_ = self._minimise(rest, node.fixed_in, node.warm.point(rest), delta)
                again = Proof.at(warm, rest, node.fixed_in, self.d).bound
                if again < bound:
                    bound, pair = again, warm
            if node.bound < bound:
                bound, pair = node.bound, node.proof
            if bound > self.cut:
                self.frontier.push(Node(node.fixed_in, rest, bound, pair, warm))
                node.fixed_in = np.union1d(node.fixed_in, j)
                self.frontier.push(node)
                return True
            self.frontier.close(node.fixed_in, rest, bound, pair)
            node.fixed_in = np.union1d(node.fixed_in, j)
        return False

    def _minimise(
        self, candidates: Array, fixed_in: Array, x: Array, delta: float
    ) -> tuple[Multipliers, Array, Array, Array]:
        """Minimise the bound with one smoothing."""
        answer = self._descent.run(candidates, fixed_in, x, delta, self.cut, self.control.limit)
        if self.pairs is not None:
            self.pairs.append(answer[0])
        return answer

    def _apply(self, root: Node, pair: Multipliers) -> None:
        """Bound the root by a pair that is known from elsewhere, and fix what it can fix."""
        proof = Proof.at(pair, root.candidates, root.fixed_in, self.d)
        if proof.bound < root.bound:
            root.bound, root.proof = proof.bound, pair
        if root.bound > self.cut:
            self._fix(root, proof)

    def _start(self, zero: Multipliers) -> Multipliers:
        """Return the multipliers to start with: a part of the data."""
        t = self.settings.start
        x = np.concatenate([[0.0], t * self.a, t * self.A.ravel()])
        return Multipliers.of_point(self.A, self.a, zero.variables, x)

    def _improve(self, node: Node, weight: Array, density: Array) -> None:
        """Try the supports that the relaxed solution suggests."""
        inside = np.isin(node.candidates, node.fixed_in)
        for score in (weight + 1e-3 * density, density):
            order = np.argsort(-np.where(inside, np.inf, score), kind="stable")
            support = np.sort(node.candidates[order[: self.d]])
            if support.tobytes() in self._seen:
                continue
            self._seen.add(support.tobytes())
            self.offer(support)

    def offer(self, support: Array) -> None:
        """Refit a support, and improve it where it is better than the incumbent."""
        self._offer(refit(self.A, self.a, support[None])[0])

    def _offer(self, found: Incumbent) -> None:
        if found.value > self.best.value:
            self.best = swap(self.A, self.a, found, self.control.limit)

    def _fix(self, node: Node, proof: Proof) -> int:
        """Fix the variables of which one choice is bounded by the incumbent; return how many."""
        out = np.flatnonzero((proof.bounds_in <= self.cut) & ~proof.inside)
        into = np.flatnonzero((proof.bounds_out <= self.cut) & ~proof.inside)
        candidates = node.candidates
        for i in out:
            j = candidates[i : i + 1]
            self.frontier.close(
                np.union1d(node.fixed_in, j),
                node.candidates,
                proof.bounds_in[i],
                proof.multipliers,
            )
            node.candidates = np.setdiff1d(node.candidates, j)
        for i in into:
            j = candidates[i : i + 1]
            self.frontier.close(
                node.fixed_in,
                np.setdiff1d(node.candidates, j),
                proof.bounds_out[i],
                proof.multipliers,
            )
            node.fixed_in = np.union1d(node.fixed_in, j)
        return len(out) + len(into)

    def _enumerated(self, node: Node) -> bool:
        """Settle a node with few supports by a trust-region subproblem on each of them."""
        free = np.setdiff1d(node.candidates, node.fixed_in)
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
        values = found.bound.tolist()
        margin = 1e-15 * self.d * (1.0 + np.abs(found.mu))
        for support, value, mu, more_ in zip(
            supports, values, found.mu.tolist(), margin.tolist(), strict=True
        ):
            self.frontier.keep(support, support, value + more_, mu, None)
        at = int(np.argmax(found.bound))
        self._offer(Incumbent(supports[at], found.z[at], values[at]))
        return True

    def _branch(self, node: Node, weight: Array, density: Array) -> None:
        """Split a node by the variable of most weight that the relaxed support leaves undecided."""
        proof = Proof.at(node.warm, node.candidates, node.fixed_in, self.d)
        share = density / max(float(density.max()), 1e-300)
        undecided = np.where(weight < 0.9, weight, 0.0) + 1e-3 * share
        i = int(np.argmax(np.where(proof.inside, -np.inf, undecided)))
        j = node.candidates[i : i + 1]
        for inside, outside, bound in (
            (np.union1d(node.fixed_in, j), node.candidates, proof.bounds_in[i]),
            (node.fixed_in, np.setdiff1d(node.candidates, j), proof.bounds_out[i]),
        ):
            better = bound <= node.bound
            self.frontier.push(
                Node(
                    inside,
                    outside,
                    min(float(bound), node.bound),
                    node.warm if better else node.proof,
                    node.warm,
                )
            )
