"""CVXPY's solvers as a backend: parametric problems, and semidefinite programs without integers."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp

from sparseopt.backend import Control, Feature, Option
from sparseopt.errors import UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.misdp.problem import MISDP
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.problems.private.embedding_fit import EmbeddingFit
from sparseopt.result import Result, Status

from ..adapters.adapter import Adapter
from ..common.outcome import Answer, Outcome, Request
from ..common.program import Program
from ..private.answer import as_result, polished
from .conic import OPTIONS, CvxpyConic

_LARGEST_BASIS = 4_000_000
"""Entries of the largest matrix that a basis is looked for in."""
_TINY = 1e-14


class Cvxpy(Adapter):
    """Any solver that CVXPY has, by name; its multipliers become our certificates.

    It runs in a child process, which a limit or Ctrl-C ends. Where a linear program's interior
    solution shows which kinks are met, the basis is solved again to full accuracy.

    References
    ----------
    Diamond, Boyd (2016): CVXPY: a Python-embedded modeling language for convex optimization.
    """

    name: ClassVar[str] = "cvxpy"
    summary: ClassVar[str] = (
        "any of CVXPY's solvers: one lam, a semidefinite program, a fit of weights"
    )
    requires: ClassVar[tuple[str, ...]] = ("cvxpy",)
    extra: ClassVar[str | None] = "cvxpy"
    families: ClassVar[frozenset[str]] = frozenset({"parametric", "misdp", "private"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.DUAL_BOUND,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "max_entries": Adapter.options["max_entries"],
        **OPTIONS,
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take parametric problems, fits to an embedding, and MISDP without integers and ranks."""
        if isinstance(problem, EmbeddingFit):
            return True, ""
        if isinstance(problem, MISDP):
            if problem.integer.any():
                return False, (
                    "this backend takes no integers beside cones, for CVXPY has no solver for both "
                    "integers and matrices: use misdp-bnb, or cvxpy-relaxation for a bound"
                )
            if any(block.rank_one for block in problem.blocks):
                return False, "CVXPY cannot ask a matrix for rank one: use misdp-bnb"
            return True, ""
        return super().supports(problem)

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        if isinstance(problem, MISDP):
            from .relaxation import relax

            return relax(problem, options, control)
        if isinstance(problem, EmbeddingFit):
            return _fit(problem, params, options, control)
        assert isinstance(problem, ParametricProblem)
        settings = ",".join(filter(None, [options["settings"], f"solver={options['solver']}"]))
        result = super()._solve(problem, params, {**options, "settings": settings}, control)
        if result.status is Status.NUMERICAL_ERROR and result.x is not None:
            # The solver calls it optimal; its multipliers leave a larger gap than was asked for.
            return result.with_changes(status=Status.CONVERGED)
        return result

    def _load(self) -> None:
        """Nothing is imported here: the child imports CVXPY."""

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        settings = dict(request.settings)
        conic = CvxpyConic(control, settings.pop("solver"), request.tolerance, settings)
        sides = _Sides(program)
        raw = conic.run(program.cost, *sides.standard())
        outcome = conic.outcome
        if outcome is Outcome.OPTIMAL and raw.x is None:
            outcome = Outcome.FAILED
        duals = None if raw.dual is None else sides.row_duals(raw.dual)
        basic = None
        if outcome is Outcome.OPTIMAL and raw.x is not None and duals is not None:
            basic = _basis(program, raw.x, duals)
        return Answer(
            outcome=outcome,
            raw=conic.word,
            limit=conic.limit,
            x=raw.x,
            row_duals=duals,
            basic=basic,
            iterations=conic.iterations,
        )


def _fit(
    problem: EmbeddingFit, params: SolveParams, options: Mapping[str, Any], control: Control
) -> Result:
    """Minimise the length t of Phi'a - mu over the simplex, a second-order cone program."""
    n, d = problem.Phi.shape
    if n * d > options["max_entries"]:
        raise UnsupportedProblem(
            f"cvxpy: {n} x {d} features are more than max_entries = {options['max_entries']:g}: "
            "use nearest-point, or raise it"
        )
    conic = CvxpyConic.of(control, options)
    with control.building():
        unit = math.sqrt(problem.largest_term) or 1.0
        # The rows 1 - sum a = 0, a >= 0, and (t, (Phi'a - mu) / unit) in the cone.
        entries = np.hstack([np.ones((n, 1)), -np.ones((n, 1)), problem.Phi / -unit])
        below = np.broadcast_to(n + 2 + np.arange(d), (n, d))
        rows = np.hstack([np.zeros((n, 1), np.int64), 1 + np.arange(n)[:, None], below])
        ptr = np.append(np.arange(n + 1) * (d + 2), n * (d + 2) + 1)
        parts = (np.append(entries, -1.0), np.append(rows, n + 1), ptr)
        C = sp.csc_array(parts, shape=(n + d + 2, n + 1))
        b = np.concatenate([[1.0], np.zeros(n + 1), -problem.mu / unit])
    limit = control.limit()
    if limit is not None:
        return Result(status=Status.NO_SOLUTION, limit=limit, raw_status="not started")
    raw = conic.run(np.append(np.zeros(n), 1.0), C, b, 1, n, orders=[d + 1])
    if raw.x is None or not raw.x[:n].max() > 0.0:
        limit = conic.limit
        status = Status.NUMERICAL_ERROR if limit is None else Status.NO_SOLUTION
        return Result(status=status, limit=limit, raw_status=conic.word)
    x = polished(problem, raw.x[:n])
    return as_result(problem, params, x, conic.iterations, conic.limit, conic.word)


def _basis(program: Program, x: Array, y: Array) -> tuple[Array, Array] | None:
    """Choose a basis near an interior solution: which columns and which rows are basic.

    Columns of (matrix, identity) are weighted by how far their values are from their bounds,
    relative to their reduced costs; QR with pivoting takes the heaviest independent ones.
    """
    m, n = program.matrix.shape
    if m * n > _LARGEST_BASIS:
        return None
    matrix = program.matrix.toarray()
    value = np.concatenate([x, matrix @ x])
    low = np.concatenate([program.low, program.row_low])
    high = np.concatenate([program.high, program.row_high])
    away = np.clip(np.minimum(value - low, high - value), 0.0, 1.0)
    price = np.abs(np.concatenate([program.cost - matrix.T @ y, y]))
    weight = (away + _TINY) / (away + price + _TINY)
    columns = np.hstack([matrix, -np.eye(m)]) * weight
    order = scipy.linalg.qr(columns, mode="r", pivoting=True)[1]
    basic = np.zeros(n + m, dtype=bool)
    basic[order[:m]] = True
    return basic[:n], basic[n:]


class _Sides:
    """A linear program's rows and bounds as the rows of the standard form."""

    def __init__(self, program: Program) -> None:
        low, high = program.row_low, program.row_high
        equal = low == high
        self.program = program
        self.zero = np.flatnonzero(equal)
        self.low = np.flatnonzero(np.isfinite(low) & ~equal)
        self.high = np.flatnonzero(np.isfinite(high) & ~equal)

    def standard(self) -> tuple[sp.csc_array, Array, int, int]:
        """Return (C, b, equations, inequalities): b - C x is zero, and nonnegative."""
        program = self.program
        A = sp.csr_array(program.matrix)
        eye = sp.eye_array(len(program.cost), format="csr")
        low = np.flatnonzero(np.isfinite(program.low))
        high = np.flatnonzero(np.isfinite(program.high))
        parts = [A[self.zero], -A[self.low], A[self.high], -eye[low], eye[high]]
        b = np.concatenate(
            [
                program.row_low[self.zero],
                -program.row_low[self.low],
                program.row_high[self.high],
                -program.low[low],
                program.high[high],
            ]
        )
        C = sp.csc_array(sp.vstack(parts, format="csc"))
        return C, b, len(self.zero), len(b) - len(self.zero)

    def row_duals(self, y: Array) -> Array:
        """Return the rows' multipliers: cost - A'(them) are the reduced costs."""
        ends = np.cumsum([len(self.zero), len(self.low), len(self.high)])
        out = np.zeros(len(self.program.row_low))
        out[self.zero] = -y[: ends[0]]
        out[self.low] += y[ends[0] : ends[1]]
        out[self.high] -= y[ends[1] : ends[2]]
        return out
