"""One program in HiGHS: options, limits, statuses, hot starts and what is read back.

All uses of HiGHS are built on :class:`Instance`: values and paths of parametric problems, column
and constraint generation, knapsacks, and masters and bounds of the branch-and-cut engines.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.errors import BackendError, BackendUnavailable, ParamError
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..common.outcome import Answer, Outcome, Run, Spent
from ..common.program import Program

DUAL, PRIMAL = 1, 4
"""HiGHS' numbers of its two simplex methods, for the option simplex_strategy."""

WITHOUT_BASIS = ("ipx", "hipo", "pdlp", "hipdlp")
"""HiGHS' names of its methods for linear programs that start from no basis."""


STATUS_MAP: Mapping[str, tuple[Outcome, Limit | None]] = {
    "kOptimal": (Outcome.OPTIMAL, None),
    "kModelEmpty": (Outcome.OPTIMAL, None),
    "kInfeasible": (Outcome.INFEASIBLE, None),
    "kUnbounded": (Outcome.UNBOUNDED, None),
    "kUnboundedOrInfeasible": (Outcome.UNDECIDED, None),
    "kTimeLimit": (Outcome.LIMIT, Limit.TIME),
    "kIterationLimit": (Outcome.LIMIT, Limit.ITERATION),
    "kSolutionLimit": (Outcome.LIMIT, Limit.NODE),
    "kInterrupt": (Outcome.LIMIT, Limit.INTERRUPTED),
    "kHighsInterrupt": (Outcome.LIMIT, Limit.INTERRUPTED),
    "kMemoryLimit": (Outcome.LIMIT, Limit.MEMORY),
}
"""HiGHS' model status to ours; what is not here has failed."""


@cache
def _silent_from_birth() -> Any:
    """HiGHS' class without the banner that its constructor logs as it sets up callbacks."""
    import highspy

    base: Any = highspy.Highs

    def enable_callbacks(highs: Any) -> None:
        highs.setOptionValue("output_flag", False)
        base.enableCallbacks(highs)

    return type("SilentHighs", (base,), {"enableCallbacks": enable_callbacks})


class Instance:
    """A HiGHS object that obeys the clock, Ctrl-C and the iteration limit of a solve.

    Parameters
    ----------
    control : Control
    presolve : {"off", "choose", "on"}, default "choose"
    tolerance : float, default 1e-9
        Of feasibility, primal and dual, and of integrality; at least 1e-10.
    spent : Spent, optional
        Shared by the instances of a solve.

    Attributes
    ----------
    highs : highspy.Highs
        For what is particular to one use.
    iteration_limit : int or None
        Simplex iterations for all of `spent`.
    """

    def __init__(
        self,
        control: Control,
        presolve: str = "choose",
        tolerance: float = 1e-9,
        spent: Spent | None = None,
    ) -> None:
        import highspy

        params = control.params
        self.control = control
        self.highs: Any = _silent_from_birth()()
        self.spent = Spent() if spent is None else spent
        self.iteration_limit = params.iteration_limit
        self.set_option("output_flag", params.verbose)
        self.set_option("random_seed", params.seed % 2**31)
        self.set_option("presolve", presolve)
        for name in ("primal_feasibility", "dual_feasibility", "mip_feasibility"):
            self.set_option(f"{name}_tolerance", tolerance)
        if params.threads is not None:
            # The pool of threads belongs to the process and keeps its first size.
            highspy.Highs.resetGlobalScheduler(True)
            self.set_option("threads", params.threads)

        def stop(event: Any) -> None:
            if control.limit() is not None:
                event.interrupt()

        self.highs.cbSimplexInterrupt += stop
        self.highs.cbIpmInterrupt += stop
        self.highs.cbMipInterrupt += stop

    def set_option(self, name: str, value: Any) -> None:
        """Set an option; HiGHS reports a wrong name or value by its return code alone."""
        if self.highs.setOptionValue(name, value).name != "kOk":
            raise BackendError(f"HiGHS does not take the option {name}={value!r}")

    def use(self, solver: str) -> None:
        """Choose the method for linear programs, by HiGHS' own name.

        Raises
        ------
        BackendUnavailable
            When this build of HiGHS does not have it.
        """
        if self.highs.setOptionValue("solver", solver).name != "kOk":
            raise BackendUnavailable(
                f"HiGHS {self.highs.version()} as installed has no solver {solver!r}: HiPO needs "
                "the package highspy-extras of the very version of highspy "
                "(pip install 'highspy[extras]'), HiPDLP needs HiGHS 1.13 or newer"
            )

    def set_gaps(self, relative: float, absolute: float) -> None:
        """Set the gaps at which a tree search ends."""
        self.set_option("mip_rel_gap", relative)
        self.set_option("mip_abs_gap", absolute)

    def apply(self, settings: Mapping[str, str]) -> None:
        """Set options by name and text.

        Raises
        ------
        ParamError
            When HiGHS has no such option, or does not take the value.
        """
        for name, text in settings.items():
            _, now = self.highs.getOptionValue(name)
            try:
                value = text.lower() == "true" if isinstance(now, bool) else type(now)(text)
                self.set_option(name, value)
            except (BackendError, TypeError, ValueError) as error:
                raise ParamError(f"option settings: HiGHS refuses {name}={text}") from error

    def call(self, method: str, *arguments: Any) -> None:
        """Call a method that changes the model.

        Raises
        ------
        BackendError
            When HiGHS refuses.
        """
        if getattr(self.highs, method)(*arguments).name == "kError":
            raise BackendError(
                f"HiGHS refused the model in {method}; set verbose=True for its own messages"
            )

    # ---- the program

    def load(self, program: Program) -> None:
        """Pass a linear program, mixed-integer where it has integers, or a convex quadratic one."""
        import highspy

        matrix = sp.csc_array(program.matrix)
        integer = np.zeros(matrix.shape[1]) if program.integer is None else program.integer
        self.call(
            "passModel",
            matrix.shape[1],
            matrix.shape[0],
            matrix.nnz,
            int(highspy.MatrixFormat.kColwise),
            int(highspy.ObjSense.kMinimize),
            program.offset,
            program.cost,
            program.low,
            program.high,
            program.row_low,
            program.row_high,
            matrix.indptr[:-1].astype(np.int32),
            matrix.indices.astype(np.int32),
            matrix.data,
            integer.astype(np.int32),
        )
        if program.quadratic is not None:
            lower = sp.csc_array(sp.tril(2.0 * program.quadratic))  # HiGHS halves x'Qx
            lower.eliminate_zeros()
            self.call(
                "passHessian",
                matrix.shape[1],
                lower.nnz,
                int(highspy.HessianFormat.kTriangular),
                lower.indptr[:-1].astype(np.int32),
                lower.indices.astype(np.int32),
                lower.data,
            )

    def change_cost(self, cost: Array) -> None:
        """Change the costs of all columns."""
        self.call("changeColsCost", len(cost), _all(cost), cost)

    def change_columns(self, low: Array, high: Array) -> None:
        """Change the bounds of all columns."""
        self.call("changeColsBounds", len(low), _all(low), low, high)

    def change_rows(self, low: Array, high: Array) -> None:
        """Change the bounds of all rows."""
        self.call("changeRowsBounds", len(low), _all(low), low, high)

    def add_row(self, row: Array, low: float, high: float) -> None:
        """Add low <= row'x <= high; `row` has an entry for each column."""
        index = np.flatnonzero(row).astype(np.int32)
        self.call("addRow", low, high, len(index), index, row[index])

    # ---- where to start

    def forget(self) -> None:
        """Start the next run from the slack basis, and without a known point."""
        self.highs.clearSolver()

    def start_from(self, columns: Array, rows: Array) -> None:
        """Set a basis by flags of basic columns and rows."""
        import highspy

        status = highspy.HighsBasisStatus
        basis = highspy.HighsBasis()
        basis.col_status = [status.kBasic if b else status.kNonbasic for b in columns.tolist()]
        basis.row_status = [status.kBasic if b else status.kNonbasic for b in rows.tolist()]
        basis.valid = True
        self.call("setBasis", basis)

    def start_at(self, x: Array) -> None:
        """Give a feasible point to start a tree search from."""
        import highspy

        point = highspy.HighsSolution()
        point.col_value = x.tolist()
        self.highs.setSolution(point)

    # ---- solving

    def run(self, *, relaxed: bool = False) -> Run:
        """Solve what is loaded, from the basis that is there.

        Parameters
        ----------
        relaxed : bool, default False
            Without integrality.
        """
        limit = self.control.limit()
        if limit is not None:
            return Run(Outcome.LIMIT, "not started", limit, started=False)
        remaining = self.control.remaining
        if remaining is not None:
            # HiGHS' clock runs on from solve to solve.
            self.set_option("time_limit", self.highs.getRunTime() + remaining)
        if self.iteration_limit is not None:
            left = max(0, self.iteration_limit - self.spent.iterations)
            for method in ("simplex", "ipm", "pdlp"):
                self.set_option(f"{method}_iteration_limit", left)
        self.set_option("solve_relaxation", relaxed)
        self.highs.run()
        self.spent.iterations += self._iterations()
        status = self.highs.getModelStatus()
        outcome, limit = STATUS_MAP.get(status.name, (Outcome.FAILED, None))
        if outcome is Outcome.LIMIT:
            limit = self.control.limit() or limit
        return Run(outcome, self.highs.modelStatusToString(status), limit)

    def run_either_way(self) -> Run:
        """Solve a linear program by the dual simplex method, and by the primal one if that fails.

        HiGHS 1.15.1 ends some unbounded programs as "Unknown" by the dual method.
        """
        run = self.run()
        if run.outcome is Outcome.FAILED:
            self.forget()
            self.set_option("simplex_strategy", PRIMAL)
            run = self.run()
            self.set_option("simplex_strategy", DUAL)
        return run

    def _iterations(self) -> int:
        """Return the iterations of the last run, of whichever method."""
        info = self.highs.getInfo()
        counts = (
            info.simplex_iteration_count,
            info.ipm_iteration_count,
            info.crossover_iteration_count,
            info.pdlp_iteration_count,
        )
        return sum(max(0, int(count)) for count in counts)

    # ---- what comes back

    def point(self) -> Array | None:
        """Return the best point; None without one, where HiGHS returns zeros."""
        solution = self.highs.getSolution()
        return np.array(solution.col_value) if solution.value_valid else None

    def row_values(self) -> Array:
        """Return the rows' activities at the point."""
        return np.array(self.highs.getSolution().row_value)

    def row_duals(self) -> Array | None:
        """Return the rows' multipliers, cost - A'(them) being the reduced costs; None without."""
        solution = self.highs.getSolution()
        return np.array(solution.row_dual) if solution.dual_valid else None

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

    @property
    def is_feasible(self) -> bool:
        """Whether the point keeps the constraints, by HiGHS' own tolerances."""
        import highspy

        feasible = highspy.SolutionStatus.kSolutionStatusFeasible
        return bool(self.highs.getInfo().primal_solution_status == int(feasible))

    @property
    def objective(self) -> float:
        """The objective of the last run's point."""
        return float(self.highs.getInfo().objective_function_value)

    @property
    def tree_bound(self) -> float:
        """The proven bound of the last tree search; -inf before there is one."""
        bound = float(self.highs.getInfo().mip_dual_bound)
        return -np.inf if np.isnan(bound) else bound

    @property
    def nodes(self) -> int:
        """The nodes of the last tree search."""
        return max(0, int(self.highs.getInfo().mip_node_count))

    def answer(self, run: Run, *, linear: bool = True) -> Answer:
        """Return what the last run has found.

        Parameters
        ----------
        run : Run
            Its outcome.
        linear : bool, default True
            Whether the program has no integers: then multipliers and basis, else bound and nodes.
        """
        known: dict[str, Any] = {}
        if run.started and run.outcome in (Outcome.OPTIMAL, Outcome.LIMIT):
            known["x"] = self.point()
            if not linear:
                bound = self.tree_bound
                known |= {"nodes": self.nodes, "bound": bound if np.isfinite(bound) else None}
            elif run.outcome is Outcome.OPTIMAL:
                known |= {"row_duals": self.row_duals(), "basic": self.basic()}
        return Answer(outcome=run.outcome, raw=run.raw, limit=run.limit, **known)


def _all(values: Array) -> Array:
    return np.arange(len(values), dtype=np.int32)
