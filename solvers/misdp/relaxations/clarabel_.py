"""Clarabel for the relaxations: an interior-point method for conic programs."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control
from sparseopt.problems.base import Array
from sparseopt.problems.misdp.cones import triangle

from ..settings import DIVERGED
from .conic import NodeProgram
from .relaxation import Raw


class ClarabelRelaxation:
    """Solves programs by Clarabel's own interface; matrices go there as upper triangles.

    Attributes
    ----------
    failed : bool
        Whether iterates of a solve left the range of numbers, or would have.
    """

    name = "clarabel"
    failed = False

    def __init__(self, control: Control, tolerance: float) -> None:
        with control.uncounted():
            import clarabel
        self._clarabel = clarabel
        self._control = control
        self._zeros: dict[int, Any] = {}
        self._order: dict[int, Array] = {}
        settings: Any = clarabel.DefaultSettings()
        settings.verbose = False
        settings.max_threads = control.params.threads or 1
        settings.tol_feas = settings.tol_gap_abs = settings.tol_gap_rel = tolerance
        settings.tol_infeas_abs = settings.tol_infeas_rel = min(tolerance, 1e-9)
        self._settings = settings

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve, within the time that is left."""
        clarabel, control = self._clarabel, self._control
        k = len(program.q)
        cones: list[Any] = []
        if program.zero:
            cones.append(clarabel.ZeroConeT(program.zero))
        if program.nonnegative:
            cones.append(clarabel.NonnegativeConeT(program.nonnegative))
        cones += [clarabel.SecondOrderConeT(order) for order in program.orders]
        cones += [clarabel.PSDTriangleConeT(size) for size in program.sizes]
        rows = self._rows(program)
        C = program.matrix[rows]
        settings = self._settings
        if control.remaining is not None:
            settings.time_limit = max(control.remaining, 1e-3)
        # The dense fronts of large matrices need a factorisation by blocks.
        large = max(program.sizes, default=0) > 6
        settings.direct_solve_method = "faer" if large else "qdldl"
        solver = clarabel.DefaultSolver(
            self._zero(k), program.q, _columns(C), program.b[rows], cones, settings
        )
        diverged = False

        def done(info: Any) -> bool:
            """Called at every iteration: there Python sees Ctrl-C."""
            nonlocal diverged
            # Some iterations later LAPACK would find no eigenvalues, and Rust panic.
            diverged = not (abs(info.cost_primal) < DIVERGED and abs(info.cost_dual) < DIVERGED)
            known = info.cost_dual > cutoff + abs(info.cost_dual) * 1e-6 and info.res_dual < 1e-9
            return bool(control.interrupted or known or diverged)

        solver.set_termination_callback(done)
        try:
            solution = solver.solve()
        except BaseException as error:
            # A panic of Rust, such as an eigenvalue that LAPACK does not find, is no Exception.
            if type(error).__name__ != "PanicException":
                raise
            self.failed = True
            return Raw(None, None, f"panic: {error}")
        word = str(solution.status)
        if diverged:
            self.failed = True
            return Raw(None, None, "diverged")
        x, z = np.array(solution.x), np.array(solution.z)
        dual = np.empty_like(z)
        dual[rows] = z
        if not (np.isfinite(x).all() and np.isfinite(z).all()):
            return Raw(None, None, word)
        if "PrimalInfeasible" in word:
            return Raw(None, dual, word, ray=True)
        if "DualInfeasible" in word:
            return Raw(None, None, word, direction=x)
        return Raw(x, dual, word)

    def _zero(self, k: int) -> Any:
        if k not in self._zeros:
            self._zeros[k] = sp.csc_matrix((k, k))
        return self._zeros[k]

    def _rows(self, program: NodeProgram) -> Array:
        """Return the order of rows in which matrices are upper triangles column by column."""
        parts = [np.arange(program.zero + program.nonnegative + sum(program.orders))]
        begin = len(parts[0])
        for size in program.sizes:
            if size not in self._order:
                lines, columns = triangle(size)
                order = np.empty(len(lines), dtype=np.int64)
                order[lines * (lines + 1) // 2 + columns] = np.arange(len(lines))
                self._order[size] = order
            parts.append(begin + self._order[size])
            begin += size * (size + 1) // 2
        return np.concatenate(parts)


def _columns(C: Any) -> Any:
    """Return a csc matrix; of a dense one without the detours of scipy's own conversion."""
    if not isinstance(C, np.ndarray):
        return sp.csc_matrix(C)
    T = np.ascontiguousarray(C.T)
    column, row = np.nonzero(T)
    pointers = np.concatenate([[0], np.cumsum(np.bincount(column, minlength=len(T)))])
    return sp.csc_matrix((T[column, row], row, pointers), shape=C.shape)
