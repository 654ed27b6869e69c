r"""The master problem of the outer approximation: a mixed-integer linear program.

.. math:: \max \; \eta \quad\text{subject to}\quad \eta \le c_k + h_k'q \;\text{ for every cut},
          \quad \eta \le 1, \quad \sum_i q_i = m, \quad g_k'q \le b_k
          \;\text{ for all that is excluded}, \quad q \in \{0, 1\}^n
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array

from ...common.outcome import Outcome
from ...common.program import Program
from ..settings import MASTER_TOLERANCE, SCIP_TOLERANCE


class STRSMaster(Protocol):
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

    margin = 10.0 * MASTER_TOLERANCE

    def __init__(self, n: int, m: int, control: Control) -> None:
        from ...highs.instance import Instance

        self._n = n
        self._instance = Instance(control, tolerance=MASTER_TOLERANCE)
        self._instance.set_gaps(0.0, MASTER_TOLERANCE)
        eta = np.arange(n + 1) == n
        self._instance.load(
            Program(
                cost=np.where(eta, -1.0, 0.0),
                low=np.where(eta, -np.inf, 0.0),
                high=np.ones(n + 1),
                matrix=sp.csc_array(np.where(eta, 0.0, 1.0)[None]),
                row_low=np.array([float(m)]),
                row_high=np.array([float(m)]),
                integer=~eta,
            )
        )

    def cut(self, constant: float, weights: Array) -> None:
        """Add eta <= constant + weights'q."""
        self._add(np.append(-weights, 1.0), constant)

    def exclude(self, weights: Array, most: float) -> None:
        """Add weights'q <= most."""
        self._add(weights, most)

    def _add(self, row: Array, high: float) -> None:
        self._instance.add_row(row, -np.inf, float(high))

    def solve(self) -> tuple[Array | None, float]:
        """Return the chosen places and a bound on eta."""
        instance = self._instance
        run = instance.run()
        if run.outcome is Outcome.FAILED:
            # HiGHS 1.15.1 ends some masters with many equal cuts as "Solve error".
            instance.forget()
            instance.set_option("presolve", "off")
            run = instance.run()
            instance.set_option("presolve", "choose")
        if run.outcome is Outcome.INFEASIBLE:
            return None, -np.inf
        searched = run.started and run.outcome is not Outcome.FAILED
        bound = -instance.tree_bound if searched else np.inf
        bound = bound if np.isfinite(bound) else np.inf
        q = instance.point()
        if run.outcome is not Outcome.OPTIMAL or q is None:
            return None, bound
        return np.flatnonzero(q[: self._n] > 0.5), bound


class ScipMaster:
    """The master in SCIP, built anew for each solve."""

    margin = 10.0 * SCIP_TOLERANCE

    def __init__(self, n: int, m: int, control: Control) -> None:
        from ...adapters.scip_ import Scip

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
        options = {"tolerance": SCIP_TOLERANCE, "settings": ""}
        answer = self._scip.ask(
            program, self._control, options, rel_gap=0.0, abs_gap=MASTER_TOLERANCE
        )
        if answer.outcome is Outcome.INFEASIBLE:
            return None, -np.inf
        bound = np.inf if answer.bound is None else -answer.bound
        if answer.x is None or answer.outcome is not Outcome.OPTIMAL:
            return None, bound
        return np.flatnonzero(answer.x[:n] > 0.5), bound
