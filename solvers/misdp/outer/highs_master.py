"""The master of the outer approximation as a mixed-integer linear program in HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP

from ...common.outcome import Outcome
from ...common.program import Program
from ..bounding.lower_bounds import Box
from ..settings import MASTER_BOX
from .cut_rows import CutRows
from .cuts import CutSource, NewCuts


@dataclass(frozen=True, eq=False)
class MasterAnswer:
    """The result of one master.

    Attributes
    ----------
    x : array of shape (n,) or None
    bound : float
        Nothing in the master's box costs less, up to HiGHS' tolerances; inf where it is empty.
    finished : bool
        Whether it was solved to the gap that was asked.
    """

    x: Array | None
    bound: float
    finished: bool


class LinearMaster:
    """The rows, the bounds and the cuts, with integers; cuts are added between solves.

    Parameters
    ----------
    problem : MISDP
    sources : sequence of CutSource
        Where the cuts come from.
    costs : array of shape (n,)
        To be minimised.
    box : tuple of arrays
    control : Control
    """

    def __init__(
        self,
        problem: MISDP,
        sources: Sequence[CutSource],
        costs: Array,
        box: Box,
        control: Control,
    ) -> None:
        from ...highs.instance import Instance

        self.nodes = 0
        self._control = control
        self._instance = Instance(control)
        self._instance.iteration_limit = None
        self._instance.load(
            Program(
                cost=costs,
                low=np.maximum(box[0], -MASTER_BOX),
                high=np.minimum(box[1], MASTER_BOX),
                matrix=sp.csc_array(problem.A),
                row_low=problem.row_lower,
                row_high=problem.row_upper,
                integer=problem.integer,
            )
        )
        self._new_cuts = NewCuts(sources, box)
        self._rows = CutRows(self._instance, problem.A.shape[0], patience=0)

    def solve(self, gap: float, start: Array | None, nodes: int) -> MasterAnswer:
        """Solve with the cuts that are there by now, to a relative gap.

        Parameters
        ----------
        gap : float
        start : array of shape (n,) or None
            A feasible point.
        nodes : int
            At most.
        """
        instance, control = self._instance, self._control
        self._append()
        instance.set_gaps(gap, 0.0)
        if control.params.node_limit is not None:
            nodes = min(nodes, max(1, control.params.node_limit - self.nodes))
        instance.set_option("mip_max_nodes", nodes)
        if start is not None:
            instance.start_at(start)
        run = instance.run()
        if not run.started:
            return MasterAnswer(None, -np.inf, False)
        self.nodes += instance.nodes
        if run.outcome is Outcome.INFEASIBLE:
            return MasterAnswer(None, np.inf, True)
        if run.outcome in (Outcome.UNBOUNDED, Outcome.UNDECIDED):
            return MasterAnswer(None, -np.inf, False)
        x = instance.point() if instance.is_feasible else None
        return MasterAnswer(x, instance.tree_bound, run.outcome is Outcome.OPTIMAL)

    def relaxed(self) -> tuple[Array, float] | None:
        """Return the optimum without integrality and its value; None where there is none."""
        self._append()
        run = self._instance.run(relaxed=True)
        x = self._instance.point() if run.outcome is Outcome.OPTIMAL else None
        return None if x is None else (x, self._instance.objective)

    def trim(self) -> None:
        """Leave out rows that are slack at the optimum that was just found; see `recall`."""
        self._rows.age()

    def recall(self, x: Array) -> int:
        """Add rows that were left out and that x misses; return how many."""
        return self._rows.recall(x)

    def _append(self) -> None:
        """Pass the cuts that are new."""
        for row, side in self._new_cuts.fresh():
            self._rows.add(len(self._rows), row, side)
