"""Conic programs for any of CVXPY's solvers: what the CVXPY backends share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control, Option
from sparseopt.errors import (
    BackendError,
    BackendUnavailable,
    LicenseError,
    UnsupportedProblem,
)
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from ..adapters.adapter import named_values
from ..common.child import PYTHON
from ..common.outcome import Outcome
from ..misdp.relaxations.conic import NodeProgram
from ..misdp.relaxations.relaxation import Raw
from .job import solve_conic

STATUS_MAP: Mapping[str, Outcome] = {
    "optimal": Outcome.OPTIMAL,
    "optimal_inaccurate": Outcome.OPTIMAL,
    "infeasible": Outcome.INFEASIBLE,
    "infeasible_inaccurate": Outcome.INFEASIBLE,
    "unbounded": Outcome.UNBOUNDED,
    "unbounded_inaccurate": Outcome.UNBOUNDED,
    "infeasible_or_unbounded": Outcome.UNDECIDED,
    "user_limit": Outcome.LIMIT,
}
"""CVXPY's status to ours; what is not here has failed."""

_TOLERANCES: Mapping[str, tuple[str, ...]] = {
    "CLARABEL": ("tol_feas", "tol_gap_abs", "tol_gap_rel"),
    "SCS": ("eps_abs", "eps_rel"),
    "ECOS": ("abstol", "reltol", "feastol"),
    "HIGHS": ("primal_feasibility_tolerance", "dual_feasibility_tolerance"),
    "OSQP": ("eps_abs", "eps_rel"),
}
_THREADS: Mapping[str, str] = {
    "CLARABEL": "max_threads",
    "HIGHS": "threads",
    "GUROBI": "Threads",
    "COPT": "Threads",
}
_ITERATIONS: Mapping[str, str] = {
    "CLARABEL": "max_iter",
    "SCS": "max_iters",
    "ECOS": "max_iters",
    "HIGHS": "simplex_iteration_limit",
    "OSQP": "max_iter",
}

OPTIONS: Mapping[str, Option] = {
    "solver": Option(
        str, "CLARABEL", "One of cvxpy.installed_solvers(): CLARABEL, SCS, HIGHS, ECOS, OSQP, ..."
    ),
    "tolerance": Option(
        float, 1e-9, "Tolerances of CLARABEL, SCS, ECOS, HIGHS and OSQP; 0 for their own.", low=0.0
    ),
    "settings": Option(
        str, "", "Arguments of problem.solve for the solver, NAME=VALUE separated by commas."
    ),
}


class CvxpyConic:
    """Solves conic programs in the child process; at a limit the child is ended.

    Parameters
    ----------
    control : Control
    solver : str
        One of cvxpy.installed_solvers().
    tolerance : float
    settings : mapping of str to str
        Further arguments of problem.solve.

    Attributes
    ----------
    word : str
        The status of the last solve, in CVXPY's words.
    limit : Limit or None
        What ended the last solve early.
    iterations : int
        Of all solves.
    """

    name = "cvxpy"

    def __init__(
        self, control: Control, solver: str, tolerance: float, settings: Mapping[str, str]
    ) -> None:
        self._control = control
        self._solver = solver.upper()
        self._settings = _arguments(self._solver, tolerance, settings, control)
        self.word = ""
        self.limit: Limit | None = None
        self.iterations = 0

    @classmethod
    def of(cls, control: Control, options: Mapping[str, Any]) -> Self:
        """Take the :data:`OPTIONS` of a backend."""
        return cls(
            control, options["solver"], options["tolerance"], named_values(options["settings"])
        )

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve; without a verdict the returned point and multipliers are None."""
        return self.run(
            program.q,
            sp.csc_array(program.matrix),
            program.b,
            program.zero,
            program.nonnegative,
            program.orders,
            program.sizes,
        )

    def run(
        self,
        q: Array,
        C: sp.csc_array,
        b: Array,
        zero: int,
        nonnegative: int,
        orders: Sequence[int] = (),
        sizes: Sequence[int] = (),
    ) -> Raw:
        """Minimise q'x with b - C x in the cones.

        Raises
        ------
        BackendUnavailable
            When the solver is not installed; a LicenseError where it has no licence for this.
        UnsupportedProblem
            When it does not take these cones.
        """
        try:
            found = self._ask(q, C, b, zero, nonnegative, orders, sizes)
        except BackendError as error:
            if "license" not in str(error).lower():
                raise
            raise LicenseError(f"cvxpy: {self._solver} has no licence for this: {error}") from error
        if isinstance(found, Limit):
            self.word, self.limit = found.value, found
            return Raw(None, None, found.value)
        self.word = str(found["status"])
        if "is not installed" in self.word:
            raise BackendUnavailable(
                f"cvxpy finds no solver {self._solver!r}: install it, or take another one of "
                "cvxpy.installed_solvers(), such as CLARABEL or SCS"
            )
        if "cannot solve this problem" in self.word:
            raise UnsupportedProblem(
                f"cvxpy: {self._solver} does not take this problem's cones; CLARABEL and SCS do"
            )
        self.iterations += int(found.get("iterations", 0))
        outcome = STATUS_MAP.get(self.word)
        self.limit = self._reached() if outcome is Outcome.LIMIT else None
        y, x = found.get("y"), found.get("x")
        for vector in (x, y):
            if vector is not None and not np.isfinite(vector).all():
                return Raw(None, None, self.word)
        return Raw(x, y, self.word, ray=outcome is Outcome.INFEASIBLE and y is not None)

    def _ask(
        self,
        q: Array,
        C: sp.csc_array,
        b: Array,
        zero: int,
        nonnegative: int,
        orders: Sequence[int],
        sizes: Sequence[int],
    ) -> Any:
        return PYTHON.run(
            solve_conic,
            self._control,
            {
                "q": q,
                "data": C.data,
                "indices": C.indices,
                "indptr": C.indptr,
                "b": b,
                "orders": np.array(orders, dtype=np.int64),
                "sizes": np.array(sizes, dtype=np.int64),
            },
            zero=zero,
            nonnegative=nonnegative,
            solver=self._solver,
            verbose=self._control.params.verbose,
            settings=self._settings,
        )

    @property
    def outcome(self) -> Outcome:
        """How the last solve ended."""
        if self.limit is not None:
            return Outcome.LIMIT
        return STATUS_MAP.get(self.word, Outcome.FAILED)

    def _reached(self) -> Limit:
        params = self._control.params
        asked = params.iteration_limit is not None and self._solver in _ITERATIONS
        return Limit.ITERATION if asked else self._control.limit() or Limit.SLOW_PROGRESS


def _arguments(
    solver: str, tolerance: float, settings: Mapping[str, str], control: Control
) -> dict[str, Any]:
    """Return the arguments of problem.solve."""
    params = control.params
    found: dict[str, Any] = {}
    if tolerance > 0.0:
        found |= dict.fromkeys(_TOLERANCES.get(solver, ()), tolerance)
    for table, value in ((_THREADS, params.threads), (_ITERATIONS, params.iteration_limit)):
        if value is not None and solver in table:
            found[table[solver]] = value
    note = f"no iteration limit of {solver} is known; it was ignored"
    unknown = params.iteration_limit is not None and solver not in _ITERATIONS
    if unknown and note not in control.notes:
        control.notes.append(note)
    return found | {name: _value(text) for name, text in settings.items()}


def _value(text: str) -> bool | int | float | str:
    """Read a setting as what it looks like."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
