"""The master of the outer approximation as a mixed-integer linear program in HiGHS."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.solvers.misdp.bounding import Box
from sparseopt.solvers.misdp.cuts import CutPool

__all__ = ["HighsMaster", "MasterAnswer"]

_FAR = 1e5
"""Where a variable has no bound the master gets this one."""


@dataclass(frozen=True, eq=False)
class MasterAnswer:
    """What a master says.

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


class HighsMaster:
    """The rows, the bounds and the cuts, with integers; cuts are added between solves.

    Parameters
    ----------
    pool : CutPool
    costs : array of shape (n,)
        To be minimised.
    box : tuple of arrays
    control : Control
    """

    def __init__(self, pool: CutPool, costs: Array, box: Box, control: Control) -> None:
        import highspy

        from sparseopt.solvers.highs_instance import Instance
        from sparseopt.solvers.lp.outcome import Spent

        self.pool = pool
        self.nodes = 0
        self._control = control
        self._instance = Instance(control, "choose", 1e-9, Spent())
        self._instance.set_option("mip_feasibility_tolerance", 1e-9)
        self._instance.set_option("mip_abs_gap", 0.0)

        def stop(event: Any) -> None:
            if control.limit() is not None:
                event.interrupt()

        self._instance.highs.cbMipInterrupt += stop
        problem = pool.problem
        n, m = len(costs), problem.A.shape[0]
        A = sp.csr_array(problem.A)
        self._n = n
        self._instance.call(
            "passModel",
            n,
            m,
            A.nnz,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            costs,
            np.maximum(box[0], -_FAR),
            np.minimum(box[1], _FAR),
            problem.row_lower,
            problem.row_upper,
            A.indptr[:-1].astype(np.int32),
            A.indices.astype(np.int32),
            A.data,
            problem.integer.astype(np.int32),
        )
        self._loaded = 0

    def solve(self, gap: float, start: Array | None) -> MasterAnswer:
        """Solve with the cuts that are there by now, to a relative gap.

        Parameters
        ----------
        gap : float
        start : array of shape (n,) or None
            A feasible point.
        """
        rows = self.pool.rows[self._loaded :]
        for row, side in zip(rows, self.pool.sides[self._loaded :], strict=True):
            places = np.flatnonzero(row).astype(np.int32)
            self._instance.call("addRow", side, np.inf, len(places), places, row[places])
        self._loaded = len(self.pool)
        instance, control = self._instance, self._control
        instance.set_option("mip_rel_gap", gap)
        if control.remaining is not None:
            instance.set_option("time_limit", instance.highs.getRunTime() + control.remaining)
        if control.params.node_limit is not None:
            left = max(1, control.params.node_limit - self.nodes)
            instance.set_option("mip_max_nodes", left)
        if start is not None:
            import highspy

            point = highspy.HighsSolution()
            point.col_value = start.tolist()
            instance.highs.setSolution(point)
        instance.highs.run()
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
