"""Where the tree looks for feasible points: rounding, dives, and local search around incumbents."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from ..bounding.lower_bounds import Bounding, Box, Relaxed
from ..reductions.propagation import Propagation
from ..settings import INTEGRAL, LOCAL_SEARCH, LOCAL_SEARCH_INTEGER, NODE_GAP, ROUNDED
from .points import IncumbentFinder
from .sign_rounding import points_by_signs


class Heuristics:
    """Looks for points around the solutions of relaxations.

    Parameters
    ----------
    propagation : Propagation
    bounding : Bounding
    points : IncumbentFinder
    control : Control
    costs : array of shape (n,)
        Of the minimisation.
    every : int
        A dive starts after each so many nodes, doubling, and at the root where rounding and local
        search leave it without a point; 0 for no dives and no local search.
    """

    def __init__(
        self,
        propagation: Propagation,
        bounding: Bounding,
        points: IncumbentFinder,
        control: Control,
        costs: Array,
        every: int,
    ) -> None:
        self.propagation = propagation
        self.bounding = bounding
        self.points = points
        self.control = control
        self._costs = costs
        self._every = every
        self._next = 1 if every else 0
        self._whole = points.problem.integer
        self._improved = np.inf
        self._neighbours_tried = 0

    def round(self, box: Box, found: Relaxed, nodes: int) -> None:
        """Round a relaxation's solution, where it is new or nearly integral; at the root by signs.

        Parameters
        ----------
        box : tuple of arrays
        found : Relaxed
        nodes : int
            Nodes of the tree so far.
        """
        if found.x is None:
            return
        whole = self._whole
        values = np.clip(found.x[whole], box[0][whole], box[1][whole])
        distance = float(np.abs(values - np.rint(values)).max(initial=0.0))
        if nodes <= 10 or distance <= ROUNDED or self.points.best is None:
            self.points.complete(np.rint(values), box, found.start)
        if nodes <= 1:
            random = np.random.default_rng(self.control.params.seed)
            for point in points_by_signs(self.points.problem, self._costs, found.x, box, random):
                self.points.complete(point, box)

    def search(self, box: Box, found: Relaxed, nodes: int, enough: Callable[[], bool]) -> None:
        """Improve new incumbents by local search; now and then dive.

        Parameters
        ----------
        box : tuple of arrays
        found : Relaxed
        nodes : int
            Nodes of the tree so far.
        enough : callable
            Whether the best point is good enough to stop.
        """
        if found.x is None or enough():
            return
        self._local_search(found, nodes, enough)
        if self._next and nodes >= self._next:
            at_root = self._next == 1
            self._next = 2 * max(nodes, self._every)
            for dive in (self._dive, self._dive_up):
                if enough() or (at_root and self.points.best is not None):
                    return
                dive(box, found)
                self._local_search(found, nodes, enough)

    def _local_search(self, found: Relaxed, nodes: int, enough: Callable[[], bool]) -> None:
        """Improve a new incumbent by local search, as far as the nodes so far allow."""
        points = self.points
        if points.value >= self._improved or not self._every or enough():
            return
        self._improved = points.value
        first = LOCAL_SEARCH_INTEGER if self._whole.all() else LOCAL_SEARCH
        budget = first + nodes // 2 - self._neighbours_tried
        if budget > 0:
            self._neighbours_tried += local_search(
                points, self._costs, self.control, budget, enough, found.start
            )
            self._improved = points.value

    def _dive(self, box: Box, found: Relaxed) -> None:
        """Fix what is nearly whole, and at least one variable, until all are fixed."""
        whole = np.flatnonzero(self._whole)
        x = found.x
        while x is not None and self.control.limit() is None:
            low, high = (end.copy() for end in box)
            open_ = whole[low[whole] < high[whole]]
            if not len(open_):
                break
            values = np.clip(x[open_], low[open_], high[open_])
            distance = np.abs(values - np.rint(values))
            # A fifth of them at a time.
            count = max(1, len(open_) // 5, int((distance < 1e-4).sum() // 2))
            chosen = open_[np.argsort(distance, kind="stable")[:count]]
            low[chosen] = high[chosen] = np.rint(np.clip(x[chosen], low[chosen], high[chosen]))
            tight = self.propagation.tighten(low, high, self.points.cutoff)
            if tight is None:
                first = chosen[:1]
                low, high = (end.copy() for end in box)
                value = np.rint(np.clip(x[first], low[first], high[first]))
                low[first] = high[first] = value
                tight = self.propagation.tighten(low, high, self.points.cutoff)
            if tight is None:
                return
            box = tight
            if (box[0][whole] == box[1][whole]).all():
                break
            step = self.bounding.relax(box, self.points.threshold, loose=NODE_GAP)
            if step.infeasible or step.bound >= self.points.threshold:
                return
            x = step.x
        if (box[0][whole] == box[1][whole]).all():
            self.points.complete(box[0][whole], box)

    def _dive_up(self, box: Box, found: Relaxed) -> None:
        """Round the most fractional variable up, one after the other, and the rest down.

        Finds points where more of a selection helps, while its relaxation spreads it thin.
        """
        whole = np.flatnonzero(self._whole)
        x = found.x
        for _ in range(len(whole)):
            if x is None or self.control.limit() is not None:
                return
            values = np.clip(x[whole], box[0][whole], box[1][whole])
            down = np.floor(values + INTEGRAL)
            self.points.complete(down, box)
            part = np.where(box[0][whole] < box[1][whole], values - down, 0.0)
            j = int(np.argmax(part))
            if part[j] <= INTEGRAL:
                return
            low, high = box[0].copy(), box[1]
            low[whole[j]] = down[j] + 1.0
            tight = self.propagation.tighten(low, high, self.points.cutoff)
            if tight is None:
                return
            box = tight
            step = self.bounding.relax(box, self.points.threshold, loose=NODE_GAP)
            if step.infeasible or step.bound >= self.points.threshold:
                return
            x = step.x


def local_search(
    points: IncumbentFinder,
    costs: Array,
    control: Control,
    budget: int,
    enough: Callable[[], bool],
    start: Array | None = None,
) -> int:
    """Move to better neighbours of the incumbent until there is none, or the budget is spent.

    Parameters
    ----------
    points : IncumbentFinder
    costs : array of shape (n,)
        Of the minimisation.
    control : Control
    budget : int
        Choices of the integers that may be tried.
    enough : callable
        Whether the incumbent is good enough to stop.
    start : array, optional
        What was found of a box, where relaxations may begin.

    Returns
    -------
    int
        How many were tried.
    """
    problem = points.problem
    whole = problem.integer
    low, high, c = problem.lower[whole], problem.upper[whole], costs[whole]
    mixed = bool(costs[~whole].any())
    tried = 0
    random = np.random.default_rng(control.params.seed)
    moved = True
    while moved and points.best is not None:
        moved = False
        current = points.best[whole]
        for neighbour in _neighbours(current, low, high, c, mixed, random):
            if tried >= budget or control.limit() is not None:
                return tried
            tried += 1
            value = points.value
            points.complete(neighbour, start=start)
            if points.value < value:
                moved = not enough()
                break
    return tried


def _neighbours(
    current: Array, low: Array, high: Array, c: Array, mixed: bool, random: np.random.Generator
) -> Iterator[Array]:
    """Return neighbours, those that save most by the integers' costs first.

    Where the continuous variables have costs, neighbours that cost more are among them.
    """
    q = len(current)
    steps = [
        (float(c[j] * step), j, step)
        for j in range(q)
        for step in (-1.0, 1.0)
        if low[j] <= current[j] + step <= high[j] and (mixed or c[j] * step < 0.0)
    ]
    for _, j, step in sorted(steps, key=lambda move: move[0]):
        neighbour = current.copy()
        neighbour[j] += step
        yield neighbour
    every = [
        (j, step)
        for j in range(q)
        for step in (-1.0, 1.0)
        if low[j] <= current[j] + step <= high[j]
    ]
    pairs = [
        (c[j] * a + c[k] * b, j, a, k, b)
        for t, (j, a) in enumerate(every)
        for k, b in every[t + 1 :]
        if j != k and (mixed or c[j] * a + c[k] * b < 0.0)
    ]
    for t in random.permutation(len(pairs)).tolist():
        _, j, a, k, b = pairs[t]
        neighbour = current.copy()
        neighbour[j] += a
        neighbour[k] += b
        yield neighbour
