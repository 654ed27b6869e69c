"""HiGHS itself: one LP form, solved at one lam after another."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import BackendError
from sparseopt.problems.base import Array
from sparseopt.problems.parametric import PiecewiseLinearProgram
from sparseopt.result import Limit
from sparseopt.solvers.highs_basis import Basis, choose_equal_kinks
from sparseopt.solvers.highs_lp import LPForm

__all__ = ["STATUS_MAP", "Outcome", "Session", "Solution"]

ACCEPT = 1e-9
"""Largest violation, in the data's scale, of a pair that is taken from a basis."""


class Outcome(StrEnum):
    """What one run of HiGHS says."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    UNDECIDED = "undecided"
    LIMIT = "limit"
    FAILED = "failed"


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


@dataclass(frozen=True)
class Solution:
    """The answer at one lam; theta and nu are there where HiGHS has a point of that kind."""

    outcome: Outcome
    raw: str
    lam: float
    limit: Limit | None = None
    theta: Array | None = None
    nu: Array | None = None
    basis: Basis | None = None
    scale: float = 1.0
    """Size of the objective that the data suggest."""


class Session:
    """A HiGHS instance that holds one program; costs and bounds follow lam.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    control : Control
    options : mapping
        Of the backend.
    """

    def __init__(
        self, program: PiecewiseLinearProgram, control: Control, options: Mapping[str, Any]
    ) -> None:
        self.program = program
        self.control = control
        self.options = options
        self.iterations = 0
        self._built: LPForm | None = None
        self._highs: Any = None

    def solve(self, lam: float, *, warm: bool = False) -> Solution:
        """Solve at lam, from the slack basis or from the basis of the last solve."""
        form = self._form(lam)
        highs = self._highs
        bounds = form.bounds(lam)
        columns = np.arange(form.matrix.shape[1], dtype=np.int32)
        rows = np.arange(form.matrix.shape[0], dtype=np.int32)
        _ok(highs.changeColsCost(len(columns), columns, bounds.cost), "changeColsCost")
        _ok(
            highs.changeColsBounds(len(columns), columns, bounds.column_low, bounds.column_high),
            "changeColsBounds",
        )
        _ok(
            highs.changeRowsBounds(len(rows), rows, bounds.row_low, bounds.row_high),
            "changeRowsBounds",
        )
        if not warm:
            highs.clearSolver()
            if self.options["presolve"] == "off":
                _ok(highs.setBasis(_first_basis(form)), "setBasis")
        remaining = self.control.remaining
        if remaining is not None:
            # HiGHS' clock runs on from solve to solve.
            _option(highs, "time_limit", highs.getRunTime() + remaining)
        limit = self.control.limit()
        if limit is not None:
            return Solution(Outcome.LIMIT, "not started", lam, limit)
        highs.run()
        self.iterations += max(0, int(highs.getInfo().simplex_iteration_count))
        return self._read(form, lam)

    def _read(self, form: LPForm, lam: float) -> Solution:
        highs = self._highs
        name = highs.getModelStatus().name
        raw = highs.modelStatusToString(highs.getModelStatus())
        outcome = STATUS_MAP.get(name, Outcome.FAILED)
        limit = None
        if outcome is Outcome.LIMIT:
            limit = self.control.limit() or _LIMITS.get(name, Limit.INTERRUPTED)
        solution = highs.getSolution()
        if outcome not in (Outcome.OPTIMAL, Outcome.LIMIT) or not solution.value_valid:
            return Solution(outcome, raw, lam, limit)
        scaling = form.scaling(lam)
        columns = np.array(solution.col_value)
        theta = form.theta(columns, scaling)
        if outcome is Outcome.LIMIT:
            return Solution(outcome, raw, lam, limit, theta)
        nu = form.nu(np.array(solution.row_dual), scaling, lam)
        basis = None
        status, basic = highs.getBasicVariables()
        if status.name == "kOk":
            flags = _flags(form, np.asarray(basic))
            codes = form.codes(flags, (columns, np.array(solution.row_value)), lam)
            basis = None if codes is None else self._basis(form, codes, nu, lam)
        if basis is not None:
            theta, nu = basis.theta[:, 0], basis.nu[:, 0]
        return Solution(outcome, raw, lam, None, theta, nu, basis, scaling.objective)

    def _basis(self, form: LPForm, codes: Array, nu: Array, lam: float) -> Basis | None:
        """Solve the basis' kernel; None where the pair is not optimal, or there is no kernel."""
        codes = choose_equal_kinks(self.program, codes, nu, lam)
        try:
            basis = Basis.at(self.program, codes, lam, form.scaling(lam))
        except np.linalg.LinAlgError:
            return None
        return basis if basis.violation() <= ACCEPT else None

    # ---- the instance

    def _form(self, lam: float) -> LPForm:
        """Return the loaded form, after building another where slopes coincide at lam alone."""
        if self._built is not None and self._built.fits(lam):
            return self._built
        limit = self.options["max_entries"]
        with self.control.building():
            form = LPForm(self.program, None, limit)
            if not form.fits(lam):
                form = LPForm(self.program, lam, limit)
            self._built = form
            self._highs = self._load(form, lam)
        return form

    def _load(self, form: LPForm, lam: float) -> Any:
        import highspy

        params = self.control.params
        highs = highspy.Highs()
        _option(highs, "output_flag", params.verbose)
        _option(highs, "random_seed", params.seed % 2**31)
        _option(highs, "presolve", self.options["presolve"])
        _option(highs, "primal_feasibility_tolerance", self.options["tolerance"])
        _option(highs, "dual_feasibility_tolerance", self.options["tolerance"])
        if params.threads is not None:
            # The pool of threads belongs to the process and keeps its first size.
            highspy.Highs.resetGlobalScheduler(True)
            _option(highs, "threads", params.threads)
        if params.iteration_limit is not None:
            _option(highs, "simplex_iteration_limit", params.iteration_limit)

        def stop(event: Any) -> None:
            if self.control.limit() is not None:
                event.interrupt()

        highs.cbSimplexInterrupt += stop
        highs.cbIpmInterrupt += stop
        matrix, bounds = form.matrix, form.bounds(lam)
        _ok(
            highs.passModel(
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
            ),
            "passModel",
        )
        return highs


def _flags(form: LPForm, basic: Array) -> tuple[Array, Array]:
    """Turn HiGHS' list (column j as j, row i as -1 - i) into flags of columns and rows."""
    rows, columns = (np.zeros(size, dtype=bool) for size in form.matrix.shape)
    columns[basic[basic >= 0]] = True
    rows[-1 - basic[basic < 0]] = True
    return columns, rows


def _first_basis(form: LPForm) -> Any:
    import highspy

    status = highspy.HighsBasisStatus
    columns, rows = form.first_basis()
    basis = highspy.HighsBasis()
    basis.col_status = [status.kBasic if b else status.kNonbasic for b in columns.tolist()]
    basis.row_status = [status.kBasic if b else status.kNonbasic for b in rows.tolist()]
    basis.valid = True
    return basis


def _ok(status: Any, call: str) -> None:
    if status.name == "kError":
        raise BackendError(f"HiGHS refused the model in {call}; set verbose=True for its own words")


def _option(highs: Any, name: str, value: Any) -> None:
    """Set an option; HiGHS reports a wrong name or value by its return code alone."""
    if highs.setOptionValue(name, value).name != "kOk":
        raise BackendError(f"HiGHS does not take the option {name}={value!r}")
