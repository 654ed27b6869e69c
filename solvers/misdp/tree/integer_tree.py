"""The search tree over the integer variables, whatever its bounds come from."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.result import Limit

from ..bounding.lower_bounds import Bounding, Box, Judge, Relaxed
from ..bounds import ConicMultipliers
from ..reductions.dual_interior import DualInterior
from ..reductions.forcing import Forcing
from ..reductions.propagation import Propagation
from ..settings import ENDLESS_NODES, GAP_ROUNDING, NODE_GAP, OBJECTIVE_ROUNDING, WARM_NUMBERS
from .branching import PseudoCosts, reduced_cost_fixing
from .heuristics import Heuristics
from .node import IntegerLeaf, IntegerLeaves, IntegerNode, OpenNodes
from .orbits import OrbitalFixing
from .points import IncumbentFinder
from .search_log import SearchLog


@dataclass(frozen=True, kw_only=True)
class TreeSettings:
    """How the tree is searched.

    Attributes
    ----------
    rel_gap, abs_gap : float
    node_limit : int or None
    branching : str
    dive_every : int
        A dive starts after each so many nodes, doubling, and at the root where nothing else finds
        a point; 0 for none.
    capacity : int
        Numbers of the certificate.
    first : bool
        Whether the first feasible point ends the search.
    reports : bool
        Whether it reports its progress: not where its objective is not the problem's.
    """

    rel_gap: float
    abs_gap: float
    node_limit: int | None = None
    branching: str = "pseudo-cost"
    dive_every: int = 50
    capacity: int = 20_000_000
    first: bool = False
    reports: bool = True


class IntegerTree:
    """Branch and bound, best bound first with short plunges.

    Parameters
    ----------
    problem : MISDP
    propagation : Propagation
    bounding : Bounding
        Relaxations of boxes.
    points : IncumbentFinder
        Finds and keeps the incumbent.
    interior : DualInterior
        Ends of variables that have none.
    control : Control
    settings : TreeSettings
    orbits : OrbitalFixing, optional
        Fixes integers by symmetries.

    Attributes
    ----------
    leaves : IntegerLeaves
    floor : float
        A bound that was proven elsewhere, without leaves.
    nodes : int
    unresolved : int
        Nodes with all integers fixed whose bound does not reach the incumbent.
    """

    def __init__(
        self,
        problem: MISDP,
        propagation: Propagation,
        bounding: Bounding,
        points: IncumbentFinder,
        interior: DualInterior,
        control: Control,
        settings: TreeSettings,
        orbits: OrbitalFixing | None = None,
    ) -> None:
        self.problem = problem
        self.propagation = propagation
        self.bounding = bounding
        self.points = points
        self.interior = interior
        self.control = control
        self.settings = settings
        self.orbits = orbits
        self.judge = Judge(problem)
        costs = self.judge.safe.sign * problem.c
        self.heuristics = Heuristics(
            propagation, bounding, points, control, costs, settings.dive_every
        )
        self.leaves = IntegerLeaves(problem, settings.capacity)
        self.nodes = 0
        self.unresolved = 0
        self.direction: Array | None = None
        self.trace: list[tuple[float, float | None, float | None]] = []
        self._log = SearchLog(control)
        self._whole = problem.integer
        self._forcing = Forcing(problem)
        self._places = np.cumsum(problem.integer) - 1
        self._costs = PseudoCosts(int(problem.integer.sum()), settings.branching)
        self._open_nodes = OpenNodes()
        self.floor = -np.inf
        self._root: Box | None = None
        # An incumbent, and what of its costs is rounding.
        self._measured: tuple[Array | None, float] = None, OBJECTIVE_ROUNDING * self.judge.scale
        self._root_cutoff: float | None = None
        box = propagation.tighten()
        whole = self._whole
        ends = (problem.lower, problem.upper) if box is None else box
        self._endless = any(bool(np.isinf(end[whole]).any()) for end in ends)
        if box is None:
            start = problem.lower[whole], problem.upper[whole]
            self.leaves.add(IntegerLeaf(*start, None, True, np.inf))
        else:
            self._open_nodes.push(IntegerNode(box[0][whole], box[1][whole], box, -np.inf))

    # ---- what is known at any moment

    @property
    def leaf_bound(self) -> float:
        """What the leaves and the open nodes prove: nothing costs less (without the offset)."""
        return min(self._open_nodes.bound, self.leaves.bound)

    @property
    def bound(self) -> float:
        """The best bound that is known; inf where nothing is feasible."""
        return min(max(self.floor, self.leaf_bound), self.points.value)

    @property
    def open(self) -> list[IntegerNode]:
        """Nodes that are not done with."""
        return self._open_nodes.nodes

    def raise_floor(self, bound: float) -> None:
        """Note a bound that was proven elsewhere, without leaves."""
        self.floor = max(self.floor, self.judge.rounded(bound))

    def drop_floor(self) -> None:
        """Forget what was proven elsewhere."""
        self.floor = -np.inf

    def proven(self) -> bool:
        """Return whether the leaves alone close the gap."""
        return self.leaf_bound >= self.points.value - 2.0 * self.slack

    @property
    def slack(self) -> float:
        """By how much a bound may stay below the incumbent."""
        value = self.points.value
        if np.isinf(value):
            return 0.0
        settings, offset = self.settings, self.problem.offset
        rel_gap = (1.0 - GAP_ROUNDING) * settings.rel_gap
        relative = 0.5 * rel_gap * abs(value * self.judge.safe.sign + offset)
        return max(relative, 0.5 * settings.abs_gap, self.rounding)

    @property
    def rounding(self) -> float:
        """The gap that is nothing but rounding: of the incumbent's costs, or of the least cost."""
        x, scale = self.points.best, self.judge.scale
        if x is not self._measured[0]:
            terms = scale if x is None else min(scale, self.problem.objective_scale(x))
            self._measured = x, max(OBJECTIVE_ROUNDING * terms, 0.5 * self.judge.rounding_at_zero)
        return self._measured[1]

    def closed(self) -> bool:
        """Return whether the bound meets the incumbent within the gap that was asked."""
        return self.bound >= self.points.value - 2.0 * self.slack

    # ---- the search

    def run(self) -> Limit | None:
        """Search until the gap is closed, nothing is open, or a limit is reached."""
        limit = self._run()
        if self.settings.reports:
            objective, bound = self._stated(self.points.value), self._stated(self.bound)
            self._log.line(self.nodes, len(self._open_nodes), bound, objective, last=True)
        return limit

    def _run(self) -> Limit | None:
        while len(self._open_nodes):
            limit = self.control.limit()
            if limit is None and self.settings.node_limit is not None:
                limit = Limit.NODE if self.nodes >= self.settings.node_limit else None
            if limit is None and self._hopeless():
                limit = Limit.SLOW_PROGRESS
            if limit is not None:
                return limit
            if self.settings.first and self.points.best is not None:
                return None
            node = self._open_nodes.pop()
            if node.bound >= self.points.value - self.slack:
                self._leaf(node, Relaxed(node.bound, node.multipliers))
                continue
            self.nodes += 1
            children = self._work(node)
            self._open_nodes.extend(children, self.points.best is None)
            self.record()
        return None

    def _hopeless(self) -> bool:
        """Return whether integers without bounds keep the tree from a bound."""
        if self.nodes < ENDLESS_NODES or not self._endless:
            return False
        return self.points.best is None if self.settings.first else self.leaf_bound == -np.inf

    def bound_root(self) -> bool:
        """Bound the root before the search, look for points, and leave it open.

        Returns
        -------
        bool
            Whether it is still open.
        """
        node = self._open_nodes.pop()
        found = self._rounded(self.bounding.relax(node.box, np.inf))
        if found.infeasible:
            self._leaf(node, found)
            return False
        if found.bound > node.bound:
            node.bound, node.multipliers = found.bound, found.multipliers
        self.heuristics.round(node.box, found, self.nodes)
        self._search(node.box, found)
        self._open_nodes.push(node)
        self.record()
        return True

    def record(self) -> None:
        """Write the trace, and report the progress."""
        objective, bound = self._stated(self.points.value), self._stated(self.bound)
        better = not self.trace or self.trace[-1][1] != objective
        if better or self.trace[-1][2] != bound:
            self.trace.append((self.control.elapsed, objective, bound))
        if not self.settings.reports:
            return
        open_nodes = len(self._open_nodes)
        self._log.line(self.nodes, open_nodes, bound, objective)
        self.control.progress(
            f"{self.nodes} nodes, {open_nodes} open",
            every=0.0 if better and objective is not None else 0.2,
            objective=objective,
            bound=bound,
            nodes=self.nodes,
            open=open_nodes,
            x=self.points.best,
        )

    def _stated(self, value: float) -> float | None:
        if np.isinf(value):
            return None
        return float(self.judge.safe.sign * value + self.problem.offset)

    def _work(self, node: IntegerNode) -> list[IntegerNode]:
        """Bound a node; return its children, the more promising one first."""
        points = self.points
        if self.orbits is not None and not self.orbits.fix(node, self.leaves.kept):
            return []
        box = self._follow(node)
        if box is not None:
            box = self._without_forced(node, box)
        if box is None:
            self._empty(node)
            return []
        node.box = box
        fixed = bool((box[0][self._whole] == box[1][self._whole]).all())
        found = self._bound(box, fixed, node.start)
        if found.direction is not None and self.direction is None:
            self.direction = found.direction
        if found.bound < node.bound and not found.infeasible:
            found = self._by_parent(node, found)
        if node.branched is not None:
            self._costs.update(node.branched, found.bound)
        if fixed:
            self._finish(node, found)
            return []
        if found.infeasible or found.bound >= points.value - self.slack:
            self._leaf(node, found)
            return []
        node.bound, node.multipliers = found.bound, found.multipliers
        before = points.value
        self.heuristics.round(box, found, self.nodes)
        if points.value < before and found.bound < points.value - self.slack:
            # The new incumbent may be all that there is.
            again = self._bound(box, fixed, found.start)
            if again.infeasible or again.bound > found.bound:
                found = again
                node.bound, node.multipliers = found.bound, found.multipliers
        if found.bound < points.value - self.slack:
            self._search(box, found)
        if found.bound >= points.value - self.slack:
            self._leaf(node, found)
            return []
        return self._branch(node, found)

    def _follow(self, node: IntegerNode) -> Box | None:
        """Return the bounds of all variables that a node's integers and the cutoff imply.

        From the root again, as whoever checks its leaf will: bounds that its ancestors have derived
        one after the other may be tighter than what their end derives.
        """
        cutoff = self.points.cutoff
        if self._root is None or self._root_cutoff != cutoff:
            tightened = self.propagation.tighten if cutoff is None else self.interior.tightened
            self._root, self._root_cutoff = tightened(cutoff=cutoff), cutoff
        if self._root is None:
            return None
        low, high = (end.copy() for end in self._root)
        whole = self._whole
        low[whole] = np.maximum(low[whole], node.lower)
        high[whole] = np.minimum(high[whole], node.upper)
        if (low > high).any():
            return None
        return self.propagation.tighten(low, high, cutoff)

    def _without_forced(self, node: IntegerNode, box: Box) -> Box | None:
        """Cut ends of integers off a node that matrices disprove, each as a leaf.

        A leaf reaches to the end of the node, where propagation may have moved that of the box.
        """
        moved = False
        for cut in self._forcing.cuts(box):
            j = int(self._places[cut.column])
            lower, upper = node.lower.copy(), node.upper.copy()
            node.lower, node.upper = lower.copy(), upper.copy()
            if cut.upper < box[1][cut.column]:
                upper[j] = cut.upper
                node.lower[j] = max(lower[j], cut.upper + 1.0)
            else:
                lower[j] = cut.lower
                node.upper[j] = min(upper[j], cut.lower - 1.0)
            if lower[j] > upper[j]:
                # Another matrix forces more.
                continue
            zero = self.judge.safe.zero()
            multipliers = ConicMultipliers(zero.rows, zero.cones, cut.psd[None])
            self.leaves.add(IntegerLeaf(lower, upper, multipliers, True, np.inf, forced=True))
            moved = True
        return self._follow(node) if moved else box

    def _bound(self, box: Box, fixed: bool, start: Array | None) -> Relaxed:
        """Bound a box; only as well as it takes to branch on it where it is open."""
        if fixed:
            return self._rounded(self.bounding.relax(box, np.inf, start=start))
        cutoff = min(self.points.value - 0.5 * self.slack, self.points.threshold)
        return self._rounded(self.bounding.relax(box, cutoff, loose=NODE_GAP, start=start))

    def _by_parent(self, node: IntegerNode, found: Relaxed) -> Relaxed:
        """Bound a node by its parent's multipliers, which prove more than its own.

        On the node's box they may prove more than on the parent's.
        """
        bound = node.bound
        if node.multipliers is not None:
            here = self.judge.rounded(self.judge.value(node.box, node.multipliers))
            bound = max(bound, here)
        return replace(found, bound=bound, multipliers=node.multipliers)

    def _rounded(self, found: Relaxed) -> Relaxed:
        """Round a bound up to costs that a point may have."""
        return replace(found, bound=self.judge.rounded(found.bound))

    def _search(self, box: Box, found: Relaxed) -> None:
        """Look for points around a relaxation, whose node is not among the open ones now."""
        rest = min(self.leaf_bound, found.bound)

        def enough() -> bool:
            return max(self.floor, rest) >= self.points.value - 2.0 * self.slack

        self.heuristics.search(box, found, self.nodes, enough)

    def _finish(self, node: IntegerNode, found: Relaxed) -> None:
        """Close a node whose integers are all fixed."""
        points = self.points
        if not found.infeasible:
            points.take(found, node.box)
            integers = node.box[0][self._whole]
            if found.bound < points.goal(integers) - self.slack:
                again = self.bounding.settle(
                    node.box,
                    found,
                    lambda other: points.take(other, node.box),
                    lambda bound: bound >= points.goal(integers) - self.slack,
                )
                again = self._rounded(again)
                if again.infeasible or again.bound > found.bound:
                    found = again
            if found.bound < points.goal(integers) - self.slack:
                self.unresolved += 1
        self._leaf(node, found, node.box[0][self._whole])

    def _leaf(self, node: IntegerNode, found: Relaxed, integers: Array | None = None) -> None:
        self.leaves.add(
            IntegerLeaf(
                node.lower,
                node.upper,
                found.multipliers,
                found.infeasible,
                np.inf if found.infeasible else found.bound,
                integers,
            )
        )

    def _empty(self, node: IntegerNode) -> None:
        """Close a node that propagation empties: nothing there is better than the incumbent."""
        none = bool(np.isinf(self.points.value))
        self.leaves.add(
            IntegerLeaf(node.lower, node.upper, None, none, np.inf if none else self.points.value)
        )

    def _branch(self, node: IntegerNode, found: Relaxed) -> list[IntegerNode]:
        low, high = reduced_cost_fixing(
            node, self.judge, self._whole, self.points.value, self.slack, self.leaves
        )
        whole = self._whole
        if (low[whole] == high[whole]).all():
            return [self._child(node, (low, high), node.lower, node.upper, None, found.start)]
        values = None if found.x is None else found.x[whole]
        j, cut = self._costs.choose(values, low[whole], high[whole])
        column = int(np.flatnonzero(whole)[j])
        value = cut + 0.5 if values is None else float(np.clip(values[j], cut, cut + 1.0))
        upper, lower = node.upper.copy(), node.lower.copy()
        upper[j], lower[j] = cut, cut + 1.0
        below, above = (low, high.copy()), (low.copy(), high)
        below[1][column], above[0][column] = cut, cut + 1.0
        start = found.start
        if start is not None and len(start) * len(self._open_nodes) > WARM_NUMBERS:
            start = None
        fall, rise = (j, 0, value - cut, node.bound), (j, 1, cut + 1.0 - value, node.bound)
        down = self._child(node, below, node.lower, upper, fall, start)
        up = self._child(node, above, lower, node.upper, rise, start)
        up.rise(j, cut + 1.0)
        return [up, down] if value - cut > 0.5 else [down, up]

    def _child(
        self,
        node: IntegerNode,
        box: Box,
        lower: Array,
        upper: Array,
        branched: tuple[int, int, float, float] | None,
        start: Array | None,
    ) -> IntegerNode:
        path = node.path if branched is None else node.path + (b"\x01", b"\x00")[branched[1]]
        above = node.bound, node.depth + 1, node.multipliers
        return IntegerNode(lower, upper, box, *above, branched, start, path, node.risen)
