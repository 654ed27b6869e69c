"""Branching on the entries of matrices that must have rank one, where a gap is left."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.result import Certificate, Limit

from ...common.best_first import BestFirst
from ..bounding.lower_bounds import Relaxed
from ..settings import RANK_BOX, RANK_INSIDE, RANK_MISSED, RANK_NARROW, RANK_NEARLY
from .integer_tree import IntegerTree
from .rank_boxes import RankOneBoxes
from .search import MISDPSearch


@dataclass(eq=False)
class _Node:
    """A box of the entries."""

    lower: Array
    upper: Array
    bound: float
    leaves: dict[str, Array] = field(default_factory=dict)
    next: tuple[int, float] = (-1, 0.0)
    """Where to split it."""
    entry: int = -1
    value: float = 0.0
    children: tuple[int, int] = (-1, -1)


class RankTree:
    """Branch and bound on boxes of matrix entries; the integers have a tree in each.

    Parameters
    ----------
    search : MISDPSearch
    tree : IntegerTree
        That of the problem without its ranks, searched to the end.

    Attributes
    ----------
    nodes : int
        How many boxes were bounded, beside the first.
    """

    def __init__(self, search: MISDPSearch, tree: IntegerTree) -> None:
        self.search = search
        self.tree = tree
        self.boxes = RankOneBoxes(search.problem)
        self.nodes = 0
        self._all: list[_Node] = []
        self._open: BestFirst[int] = BestFirst()
        self._kept = True
        self._numbers = 0
        self._next_point = 1

    @property
    def bound(self) -> float:
        """Nothing costs less (without the offset); inf where nothing is feasible."""
        if not self._all:
            return self.tree.bound
        return min(node.bound for node in self._all if node.entry < 0)

    def run(self) -> Limit | None:
        """Search until the gap is closed, or a limit is reached."""
        control = self.search.control
        root = self._root()
        if root is None:
            # Propagation alone proves that nothing is feasible, or better than the incumbent.
            everything = np.full(len(self.boxes.F0), np.inf)
            self._add(_Node(-everything, everything, np.inf))
            return None
        limit = self._work(root)
        if limit is not None:
            return limit
        self._add(root)
        while limit is None and self._open:
            limit = control.limit()
            allowed = control.params.node_limit
            if allowed is not None and self.tree.nodes + self.nodes >= allowed:
                limit = Limit.NODE
            if limit is not None:
                break
            which = self._open.pop()
            if not self._done(self._all[which].bound):
                limit = self._split(which)
                self._record()
        return None if self._done(self.bound) else limit or Limit.SLOW_PROGRESS

    def closed(self) -> bool:
        """Return whether the bound meets the incumbent within the gap that was asked."""
        return self._done(self.bound)

    def certificate(self) -> Certificate | None:
        """Return the tree of boxes, and the leaves of the integers in each of its leaves."""
        if not self._kept or not self._all:
            return None
        ends = [k for k, node in enumerate(self._all) if node.entry < 0 and node.leaves]
        names = list(self._all[ends[0]].leaves) if ends else []
        arrays: dict[str, Any] = {
            name: np.concatenate([self._all[k].leaves[name] for k in ends]) for name in names
        }
        lengths = [len(self._all[k].leaves["infeasible"]) for k in ends]
        arrays["owner"] = np.repeat(np.array(ends, dtype=np.int64), lengths)
        arrays["root_lower"], arrays["root_upper"] = self._all[0].lower, self._all[0].upper
        arrays["entry"] = np.array([node.entry for node in self._all], dtype=np.int64)
        arrays["value"] = np.array([node.value for node in self._all])
        arrays["children"] = np.array([node.children for node in self._all], dtype=np.int64)
        return Certificate(kind="rank-one-leaves", arrays=arrays)

    def _root(self) -> _Node | None:
        x = self.search.propagation.tighten(cutoff=self.search.points.cutoff)
        box = None if x is None else self.boxes.box(*x)
        return None if box is None else _Node(*box, self.tree.leaf_bound)

    def _done(self, bound: float) -> bool:
        return bound >= self.search.points.value - 2.0 * self.tree.slack or bound == np.inf

    def _split(self, which: int) -> Limit | None:
        """Make two boxes of one, and bound both; a limit leaves the one."""
        node = self._all[which]
        entry, value = node.next
        pair = []
        for side in (0, 1):
            lower, upper = node.lower.copy(), node.upper.copy()
            (upper if side == 0 else lower)[entry] = value
            child = _Node(lower, upper, node.bound)
            limit = self._work(child)
            if limit is not None:
                return limit
            pair.append(child)
        count = len(self._all)
        node.entry, node.value, node.children = entry, value, (count, count + 1)
        self._numbers -= sum(part.size for part in node.leaves.values())
        node.leaves = {}
        for child in pair:
            self._add(child)
        return None

    def _add(self, node: _Node) -> None:
        """Keep a node, and leave it open if there is something to be won in it."""
        self._all.append(node)
        if node.next[0] >= 0 and not self._done(node.bound):
            self._open.push(len(self._all) - 1, node.bound)
        self._numbers += sum(part.size for part in node.leaves.values())
        self._kept &= self._numbers <= self.search.options["certificate_numbers"]

    def _work(self, node: _Node) -> Limit | None:
        """Bound a box, look for points in it, and choose where to split it."""
        search = self.search
        tight = self.boxes.tightened(node.lower, node.upper)
        self.nodes += 1
        if tight is None:
            node.bound = np.inf
            return None
        inner = MISDPSearch(self.boxes.relaxed(*tight), search.options, search.control)
        inner.points.value = search.points.value
        tree = inner.tree(inner.conic, dive_every=0, node_limit=None)
        limit = tree.run()
        if limit is not None:
            return limit
        node.bound = tree.leaf_bound
        packed = tree.leaves.pack([])
        if packed is None:
            self._kept = False
        else:
            node.leaves = dict(packed.arrays)
        if self._done(node.bound):
            return None
        x = inner.points.best
        if x is not None:
            self._look_for_points(x, node.bound)
        else:
            # Not feasible to the last digit, or with integers that are not: good enough to branch.
            box = inner.propagation.tighten()
            x = None if box is None else inner.conic.relax(box, np.inf).x
        if x is not None:
            node.next = self._choice(self.boxes.entries(x), *tight)
        return None

    def _look_for_points(self, x: Array, bound: float) -> None:
        """Bring a relaxation's solution to rank one: where it nearly has it, and rarely else."""
        entries, boxes = self.boxes.entries(x), self.boxes
        products = entries[boxes.first] * entries[boxes.second] - entries[boxes.beside] ** 2
        size = max(1.0, float(np.abs(entries).max()) ** 2)
        if float(products.max(initial=0.0)) > RANK_NEARLY * size:
            if self.nodes < self._next_point:
                return
            self._next_point = 2 * self.nodes
        problem = self.search.problem
        low, high = problem.lower.copy(), problem.upper.copy()
        low[problem.integer] = high[problem.integer] = np.rint(x[problem.integer])
        self.search.points.take(Relaxed(bound, x=x), (low, high))

    def _choice(self, entries: Array, lower: Array, upper: Array) -> tuple[int, float]:
        """Return the entry to branch on, and where: of the pair that misses rank one most."""
        boxes = self.boxes
        i, j, k = boxes.first, boxes.second, boxes.beside
        size = np.maximum(1.0, np.abs(entries[i]) + np.abs(entries[j]))
        missed = (entries[i] * entries[j] - entries[k] ** 2) / size**2
        pair = int(np.argmax(missed))
        if missed[pair] <= RANK_MISSED:
            return -1, 0.0
        places = np.array([k[pair], i[pair], j[pair]])
        low, high = lower[places], upper[places]
        if low[0] < 0.0 < high[0] and min(-low[0], high[0]) > RANK_NARROW:
            return int(places[0]), 0.0
        width = np.minimum(high, RANK_BOX) - np.maximum(low, -RANK_BOX)
        best = int(np.argmax(width))
        if width[best] <= RANK_NARROW * max(1.0, float(np.abs(entries[places[best]]))):
            return -1, 0.0
        value = float(entries[places[best]])
        if np.isinf(low[best]) or np.isinf(high[best]):
            return int(places[best]), 2.0 * value + (1.0 if np.isinf(high[best]) else -1.0)
        share = RANK_INSIDE * width[best]
        return int(places[best]), float(np.clip(value, low[best] + share, high[best] - share))

    def _record(self) -> None:
        self.tree.raise_floor(min(self.bound, self.search.points.value))
        self.tree.record()
