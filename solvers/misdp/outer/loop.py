"""The loop of the outer approximation: solve the master, cut off what it proposes, repeat."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..bounding.lower_bounds import Box
from ..settings import (
    MASTER_BOX,
    MASTER_GAP,
    MASTER_NODES,
    MASTER_PATIENCE,
    MASTER_RELAXATIONS,
    MASTER_ROUNDING,
    MASTER_STEP,
    MASTERS,
)
from ..tree.search import MISDPSearch
from .cuts import CutPool
from .highs_master import LinearMaster
from .indicators import Indicators


class OuterApproximation:
    """Masters in HiGHS, one after the other, each with the cuts of all before.

    Parameters
    ----------
    search : MISDPSearch
    pool : CutPool
    indicators : Indicators
    box : tuple of arrays of shape (n,)
        Bounds of all variables.
    record : callable
        Called with the bound after each master.

    Attributes
    ----------
    bound : float
        Nothing costs less, up to the tolerances of the masters.
    masters, nodes : int
    """

    def __init__(
        self,
        search: MISDPSearch,
        pool: CutPool,
        indicators: Indicators,
        box: Box,
        record: Callable[[float], None],
    ) -> None:
        self.search = search
        self.pool = pool
        self.indicators = indicators
        self.bound = -np.inf
        self.masters = 0
        self._box = box
        self._record = record
        self._tried: dict[bytes, int] = {}
        form = search.conic.form
        with search.control.building():
            self._master = LinearMaster(
                search.problem, (pool, indicators), form.costs, box, search.control
            )

    @property
    def nodes(self) -> int:
        """Nodes of all masters."""
        return self._master.nodes

    def run(self, slack: Callable[[], float]) -> Limit | None:
        """Go on until master and incumbent meet, masters get nowhere, or a limit.

        Parameters
        ----------
        slack : callable
            By how much the bound may stay below the incumbent.
        """
        search = self.search
        points, params = search.points, search.control.params
        size = max(1e-12, float(np.abs(search.problem.c).max()))
        gap = MASTER_GAP
        # The master's box is cut short where bounds are far away: it proves nothing then.
        whole_box = bool((np.abs(np.concatenate(self._box)) <= MASTER_BOX).all())
        self._relax()
        distances: list[float] = []
        while True:
            limit = search.control.limit()
            if limit is None and params.node_limit is not None:
                limit = Limit.NODE if self.nodes >= params.node_limit else None
            if limit is not None:
                return limit
            answer = self._master.solve(gap, points.best, max(1, MASTER_NODES - self.nodes))
            self.masters += 1
            if answer.bound == np.inf:
                if whole_box:
                    self.bound = points.value
                    self._record(self.bound)
                return None
            if whole_box:
                slip = MASTER_ROUNDING * max(size, abs(answer.bound))
                self.bound = max(self.bound, answer.bound - slip)
            if not answer.finished and search.control.limit() is not None:
                continue
            self._record(self.bound)
            if self.bound >= min(points.value - slack(), points.threshold):
                return None
            if answer.x is None:
                return None if answer.finished else search.control.limit()
            new = self._cut(answer.x)
            distances.append(points.value - self.bound)
            if not answer.finished or _stalled(distances):
                return None
            if not new:
                if gap <= 0.1 * params.rel_gap:
                    return None
                gap = 0.0
                continue
            relative = distances[-1] / max(abs(points.value), abs(self.bound), 1e-10)
            if np.isfinite(relative):
                gap = min(gap, max(0.1 * relative, 0.05 * params.rel_gap))

    def _cut(self, x: Array) -> bool:
        """Cut off the master's point, and try its integers; False where nothing is new."""
        search, whole = self.search, self.search.problem.integer
        values = np.rint(x[whole])
        moved = x.copy()
        moved[whole] = values
        before, value = self._known, search.points.value
        times = self._tried.get(values.tobytes(), 0)
        self._tried[values.tobytes()] = times + 1
        if times == 0:
            self.pool.complete(search, values)
        self.pool.separate(moved)
        self.indicators.separate(moved)
        again = self._master.recall(moved)
        return again > 0 or self._known > before or search.points.value < value

    @property
    def _known(self) -> int:
        return len(self.pool) + len(self.indicators)

    def _relax(self) -> None:
        """Cut off optima without integrality as long as that moves the bound."""
        last, stalled = -np.inf, 0
        for _ in range(MASTER_RELAXATIONS):
            found = None if self.search.control.limit() is not None else self._master.relaxed()
            if found is None:
                return
            x, value = found
            stalled = stalled + 1 if value - last <= MASTER_STEP * max(1.0, abs(value)) else 0
            last = max(last, value)
            if (
                stalled > MASTER_PATIENCE
                or self.pool.separate(x) + self.indicators.separate(x) == 0
            ):
                break
        self._master.trim()


def _stalled(distances: list[float]) -> bool:
    """Return whether the last masters have not halved the gap; there may be none yet."""
    if len(distances) <= MASTERS:
        return False
    return np.isinf(distances[-1]) or distances[-1] > 0.5 * distances[-1 - MASTERS]
