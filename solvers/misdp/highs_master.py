"""The master of the outer approximation as a mixed-integer linear program in HiGHS."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.problem import MISDP

from ..common.program import Program
from .bounding import Box
from .cuts import CutSource, NewCuts
from .settings import MASTER_BOX, MASTER_MISSED, MASTER_SLACK

__all__ = ["LinearMaster", "MasterAnswer"]


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
        from ..highs.instance import Instance

        self.nodes = 0
        self._control = control
        self._instance = Instance(control)
        self._instance.set_option("mip_abs_gap", 0.0)
        n, m = len(costs), problem.A.shape[0]
        self._n = n
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
        self._own = m
        self._new_cuts = NewCuts(sources, box)
        self._inside: list[tuple[Array, float]] = []
        self._outside: list[tuple[Array, float]] = []

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
        instance.set_option("mip_rel_gap", gap)
        if control.params.node_limit is not None:
            nodes = min(nodes, max(1, control.params.node_limit - self.nodes))
        instance.set_option("mip_max_nodes", nodes)
        if start is not None:
            instance.start_at(start)
        self._run(whole=True)
        status = instance.highs.getModelStatus().name
        info = instance.highs.getInfo()
        self.nodes += max(0, int(info.mip_node_count))
        if status == "kInfeasible":
            return MasterAnswer(None, np.inf, True)
        if status in ("kUnbounded", "kUnboundedOrInfeasible"):
            return MasterAnswer(None, -np.inf, False)
        solution = instance.highs.getSolution()
        found = info.primal_solution_status == 2 and solution.value_valid
        x = np.array(solution.col_value) if found else None
        bound = float(info.mip_dual_bound)
        return MasterAnswer(x, -np.inf if np.isnan(bound) else bound, status == "kOptimal")

    def relaxed(self) -> tuple[Array, float] | None:
        """Return the optimum without integrality and its value; None where there is none."""
        self._append()
        self._run(whole=False)
        highs = self._instance.highs
        if highs.getModelStatus().name != "kOptimal":
            return None
        value = float(highs.getInfo().objective_function_value)
        return np.array(highs.getSolution().col_value), value

    def trim(self) -> None:
        """Leave out rows that are slack at the optimum that was just found; see `recall`."""
        values = np.array(self._instance.highs.getSolution().row_value)[self._own :]
        slack = values - np.array([side for _, side in self._inside])
        away = np.flatnonzero(slack > MASTER_SLACK)
        if len(away):
            places = (self._own + away).astype(np.int32)
            self._instance.call("deleteRows", len(places), places)
            self._outside += [self._inside[k] for k in away.tolist()]
            chosen = set(away.tolist())
            self._inside = [row for k, row in enumerate(self._inside) if k not in chosen]

    def recall(self, x: Array) -> int:
        """Add rows that were left out and that x misses; return how many."""
        missed = [float(row @ x) < side - MASTER_MISSED for row, side in self._outside]
        for (row, side), back in zip(self._outside, missed, strict=True):
            if back:
                self._add(row, side)
        self._outside = [row for row, back in zip(self._outside, missed, strict=True) if not back]
        return sum(missed)

    def _add(self, row: Array, side: float) -> None:
        places = np.flatnonzero(row).astype(np.int32)
        self._instance.call("addRow", side, np.inf, len(places), places, row[places])
        self._inside.append((row, side))

    def _run(self, whole: bool) -> None:
        """Solve, with or without integrality."""
        instance, remaining = self._instance, self._control.remaining
        if remaining is not None:
            instance.set_option("time_limit", instance.highs.getRunTime() + remaining)
        instance.set_option("solve_relaxation", not whole)
        instance.highs.run()

    def _append(self) -> None:
        """Pass the cuts that are new."""
        for row, side in self._new_cuts.fresh():
            self._add(row, side)
