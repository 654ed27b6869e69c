"""HiGHS itself, with our options, limits and words for how a run ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import BackendError
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.outcome import Outcome, Run, Spent
from ..lp.layout import Bounds

__all__ = ["DUAL", "PRIMAL", "STATUS_MAP", "Instance"]

DUAL, PRIMAL = 1, 4
"""HiGHS' numbers of its two simplex methods, for the option simplex_strategy."""


STATUS_MAP: Mapping[str, Outcome] = {
    "kOptimal": Outcome.OPTIMAL,
    "kModelEmpty": Outcome.OPTIMAL,
    "kInfeasible": Outcome.INFEASIBLE,
    "kUnbounded": Outcome.UNBOUNDED,
    "kUnboundedOrInfeasible": Outcome.UNDECIDED,
    "kTimeLimit": Outcome.LIMIT,
    "kIterationLimit": Outcome.LIMIT,
    "kInterrupt": Outcome.LIMIT,
    "kHighsInterrupt": Outcome.LIMIT,
    "kMemoryLimit": Outcome.LIMIT,
}
"""HiGHS' model status to ours; what is not here has failed."""

_LIMITS: Mapping[str, Limit] = {
    "kTimeLimit": Limit.TIME,
    "kIterationLimit": Limit.ITERATION,
    "kMemoryLimit": Limit.MEMORY,
}


class Instance:
    """A HiGHS object that obeys the clock, Ctrl-C and the iteration limit of a solve.

    Parameters
    ----------
    control : Control
    presolve : {"off", "choose", "on"}
    tolerance : float
        Feasibility tolerances, primal and dual.
    spent : Spent
        Shared by the instances of a solve.

    Attributes
    ----------
    highs : highspy.Highs
    """

    def __init__(self, control: Control, presolve: str, tolerance: float, spent: Spent) -> None:
        import highspy

        params = control.params
        self.control = control
        self.highs: Any = highspy.Highs()
        self.spent = spent
        self.set_option("output_flag", params.verbose)
        self.set_option("random_seed", params.seed % 2**31)
        self.set_option("presolve", presolve)
        self.set_option("primal_feasibility_tolerance", tolerance)
        self.set_option("dual_feasibility_tolerance", tolerance)
        if params.threads is not None:
            # The pool of threads belongs to the process and keeps its first size.
            highspy.Highs.resetGlobalScheduler(True)
            self.set_option("threads", params.threads)

        def stop(event: Any) -> None:
            if control.limit() is not None:
                event.interrupt()

        self.highs.cbSimplexInterrupt += stop
        self.highs.cbIpmInterrupt += stop

    def set_option(self, name: str, value: Any) -> None:
        """Set an option; HiGHS reports a wrong name or value by its return code alone."""
        if self.highs.setOptionValue(name, value).name != "kOk":
            raise BackendError(f"HiGHS does not take the option {name}={value!r}")

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method that changes the model.

        Raises
        ------
        BackendError
            When HiGHS refuses.
        """
        if getattr(self.highs, method)(*arguments).name == "kError":
            raise BackendError(
                f"HiGHS refused the model in {method}; set verbose=True for its own words"
            )

    def load(self, matrix: sp.csc_array, bounds: Bounds) -> None:
        """Pass a whole model."""
        import highspy

        self.call(
            "passModel",
            matrix.shape[1],
            matrix.shape[0],
            matrix.nnz,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            bounds.cost,
            bounds.column_low,
            bounds.column_high,
            bounds.row_low,
            bounds.row_high,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
            np.zeros(matrix.shape[1], dtype=np.int32),
        )

    def change(self, bounds: Bounds) -> None:
        """Change all costs and bounds."""
        columns = np.arange(len(bounds.cost), dtype=np.int32)
        rows = np.arange(len(bounds.row_low), dtype=np.int32)
        self.call("changeColsCost", len(columns), columns, bounds.cost)
        self.call("changeColsBounds", len(columns), columns, bounds.column_low, bounds.column_high)
        self.call("changeRowsBounds", len(rows), rows, bounds.row_low, bounds.row_high)

    def start_from(self, columns: Array, rows: Array) -> None:
        """Set a basis by flags of basic columns and rows."""
        import highspy

        status = highspy.HighsBasisStatus
        basis = highspy.HighsBasis()
        basis.col_status = [status.kBasic if b else status.kNonbasic for b in columns.tolist()]
        basis.row_status = [status.kBasic if b else status.kNonbasic for b in rows.tolist()]
        basis.valid = True
        self.call("setBasis", basis)

    def run(self) -> Run:
        """Solve what is loaded, from the basis that is there."""
        limit = self.control.limit()
        if limit is not None:
            return Run(Outcome.LIMIT, "not started", limit)
        remaining = self.control.remaining
        if remaining is not None:
            # HiGHS' clock runs on from solve to solve.
            self.set_option("time_limit", self.highs.getRunTime() + remaining)
        allowed = self.control.params.iteration_limit
        if allowed is not None:
            self.set_option("simplex_iteration_limit", max(0, allowed - self.spent.iterations))
        self.highs.run()
        self.spent.iterations += max(0, int(self.highs.getInfo().simplex_iteration_count))
        status = self.highs.getModelStatus()
        outcome = STATUS_MAP.get(status.name, Outcome.FAILED)
        if outcome is Outcome.LIMIT:
            limit = self.control.limit() or _LIMITS.get(status.name, Limit.INTERRUPTED)
        return Run(outcome, self.highs.modelStatusToString(status), limit)

    def basic(self) -> tuple[Array, Array] | None:
        """Return which columns and which rows are basic; None without a basis."""
        import highspy

        # Not getBasicVariables: HiGHS 1.15.1 crashes there after a model without matrix entries.
        basis = self.highs.getBasis()
        if not basis.valid:
            return None
        basic = highspy.HighsBasisStatus.kBasic
        return (
            np.array([status == basic for status in basis.col_status], dtype=bool),
            np.array([status == basic for status in basis.row_status], dtype=bool),
        )
