r"""The master problem of the outer approximation: a mixed-integer linear program.

.. math:: \max \; \eta \quad\text{subject to}\quad \eta \le c_k + h_k'q \;\text{ for every cut},
          \quad \eta \le 1, \quad \sum_i q_i = m, \quad g_k'q \le b_k
          \;\text{ for all that is excluded}, \quad q \in \{0, 1\}^n
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array

__all__ = ["HighsMaster", "Master", "ScipMaster"]

_TOLERANCE = 1e-9
_SCIP_TOLERANCE = 1e-7
"""SCIP asks its LP solver for a thousandth of it at times, which below 1e-10 complains aloud."""


class Master(Protocol):
    """What the outer approximation asks of its master.

    Attributes
    ----------
    margin : float
        What the bound on eta may be too low by.
    """

    margin: float

    def cut(self, constant: float, weights: Array) -> None:
        """Add eta <= constant + weights'q."""

    def exclude(self, weights: Array, most: float) -> None:
        """Add weights'q <= most."""

    def solve(self) -> tuple[Array | None, float]:
        """Return the chosen places, None where there are none, and a bound on eta.

        The bound is -inf when all supports are excluded; it is what is known at a limit, where the
        choice may be None too.
        """


class HighsMaster:
    """The master in HiGHS, to which rows are added."""

    margin = 10.0 * _TOLERANCE

    def __init__(self, n: int, m: int, control: Control) -> None:
        import highspy

        from ..common.outcome import Spent
        from ..highs.instance import Instance

        self._n = n
        self._instance = Instance(control, "choose", _TOLERANCE, Spent())
        self._instance.set_option("mip_rel_gap", 0.0)
        self._instance.set_option("mip_abs_gap", _TOLERANCE)
        self._instance.set_option("mip_feasibility_tolerance", _TOLERANCE)

        def stop(event: Any) -> None:
            if control.limit() is not None:
                event.interrupt()

        self._instance.highs.cbMipInterrupt += stop
        self._instance.call(
            "passModel",
            n + 1,
            1,
            n,
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMaximize),
            0.0,
            np.append(np.zeros(n), 1.0),
            np.append(np.zeros(n), -np.inf),
            np.ones(n + 1),
            np.array([float(m)]),
            np.array([float(m)]),
            np.zeros(1, dtype=np.int32),
            np.arange(n, dtype=np.int32),
            np.ones(n),
            np.append(np.ones(n), 0).astype(np.int32),
        )

    def cut(self, constant: float, weights: Array) -> None:
        """Add eta <= constant + weights'q."""
        self._add(np.append(-weights, 1.0), constant)

    def exclude(self, weights: Array, most: float) -> None:
        """Add weights'q <= most."""
        self._add(weights, most)

    def _add(self, row: Array, high: float) -> None:
        index = np.flatnonzero(row).astype(np.int32)
        self._instance.call("addRow", -np.inf, float(high), len(index), index, row[index])

    def solve(self) -> tuple[Array | None, float]:
        """Return the chosen places and a bound on eta."""
        from ..common.outcome import Outcome

        run = self._instance.run()
        if run.outcome is Outcome.FAILED:
            # HiGHS 1.15.1 ends some masters with many equal cuts as "Solve error".
            self._instance.highs.clearSolver()
            self._instance.set_option("presolve", "off")
            run = self._instance.run()
            self._instance.set_option("presolve", "choose")
        if run.outcome is Outcome.INFEASIBLE:
            return None, -np.inf
        info, solution = self._instance.highs.getInfo(), self._instance.highs.getSolution()
        known = run.outcome is Outcome.OPTIMAL or run.raw != "not started"
        bound = float(info.mip_dual_bound) if known else np.inf
        if run.outcome is Outcome.FAILED or not np.isfinite(bound):
            bound = np.inf
        if not solution.value_valid or run.outcome is not Outcome.OPTIMAL:
            return None, bound
        return np.flatnonzero(np.array(solution.col_value)[: self._n] > 0.5), bound


class ScipMaster:
    """The master in SCIP, built anew for each solve."""

    margin = 10.0 * _SCIP_TOLERANCE

    def __init__(self, n: int, m: int, control: Control) -> None:
        from ..adapters.scip_ import Scip

        self._n, self._control = n, control
        self._scip = Scip()
        self._rows: list[Array] = [np.append(np.ones(n), 0.0)]
        self._low, self._high = [float(m)], [float(m)]

    def cut(self, constant: float, weights: Array) -> None:
        """Add eta <= constant + weights'q."""
        self._add(np.append(-weights, 1.0), constant)

    def exclude(self, weights: Array, most: float) -> None:
        """Add weights'q <= most."""
        self._add(np.append(weights, 0.0), most)

    def _add(self, row: Array, high: float) -> None:
        self._rows.append(row)
        self._low.append(-np.inf)
        self._high.append(float(high))

    def solve(self) -> tuple[Array | None, float]:
        """Return the chosen places and a bound on eta."""
        from ..common.outcome import Outcome
        from ..common.program import Program

        n = self._n
        program = Program(
            cost=np.append(np.zeros(n), -1.0),
            low=np.append(np.zeros(n), -np.inf),
            high=np.ones(n + 1),
            matrix=sp.csc_array(np.array(self._rows)),
            row_low=np.array(self._low),
            row_high=np.array(self._high),
            integer=np.arange(n + 1) < n,
        )
        options = {"tolerance": _SCIP_TOLERANCE, "settings": ""}
        answer = self._scip.ask(program, self._control, options, rel_gap=0.0, abs_gap=_TOLERANCE)
        if answer.outcome is Outcome.INFEASIBLE:
            return None, -np.inf
        bound = np.inf if answer.bound is None else -answer.bound
        if answer.x is None or answer.outcome is not Outcome.OPTIMAL:
            return None, bound
        return np.flatnonzero(answer.x[:n] > 0.5), bound
