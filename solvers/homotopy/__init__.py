"""The backend ``homotopy``: the parametric simplex method on piecewise-linear programs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature
from sparseopt.params import SolveParams
from sparseopt.path import GridPath, ParametricPath
from sparseopt.problems import ParametricProblem, Problem
from sparseopt.problems.base import Array
from sparseopt.result import Certificate, Limit, Result, Status
from sparseopt.solvers.homotopy.basis import Basis
from sparseopt.solvers.homotopy.engine import OnSegment, Outcome, follow
from sparseopt.solvers.homotopy.program import ScaledProgram
from sparseopt.solvers.homotopy.recorder import Recorder
from sparseopt.solvers.homotopy.start import Start, crash, make_optimal, optimal_from, top_basis
from sparseopt.solvers.segments import affine_solution, path_from_codes

__all__ = ["Homotopy"]

_LIMITS = {limit.value: limit for limit in Limit}
_NO_OPTIMUM = ("infeasible_below", "unbounded_below")


class Homotopy(Backend):
    """Our own engine for parametric problems: the whole path, with a certificate.

    Solves every problem of the family "parametric" for all values of lam at once (or for one, or
    for a grid, by following the path there). Exact: every segment carries its basis.

    References
    ----------
    Pang, Zhao, Vanderbei, Liu: A parametric simplex approach to statistical learning problems.
    """

    name: ClassVar[str] = "homotopy"
    summary: ClassVar[str] = "own parametric simplex engine, exact whole paths with certificates"
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.PARAMETRIC,
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.PATH,
            Feature.CALLBACK,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        with control.building():
            program = ScaledProgram.from_program(problem.canonical())
        run = _Run(problem, program, params, control)
        if params.lam is None:
            return run.path(params.lam_min or 0.0)
        if isinstance(params.lam, float):
            return run.single(params.lam)
        return run.grid(params.lam)


class _Run:
    """One solve: the scaled program, the random numbers, and the clock."""

    def __init__(
        self,
        problem: ParametricProblem,
        program: ScaledProgram,
        params: SolveParams,
        control: Control,
    ) -> None:
        self.problem = problem
        self.program = program
        self.params = params
        self.control = control
        self.rng = np.random.default_rng(params.seed)
        self.pivots = 0
        self.recorder = Recorder(params)

    # ---- the three questions

    def path(self, end: float) -> Result:
        """Solve for all lam down to `end`."""
        start = top_basis(self.program, end, self.rng, self._stop)
        self.pivots += start.pivots
        if start.basis is None:
            return self._failed(start)
        outcome = self._follow(start, end, self._segment)
        if not self.recorder.low:
            return self._stopped_early(outcome.reason)
        farkas, ray = self._rays(outcome)
        stopped_by = "lam_min" if outcome.reason == "end" else outcome.reason
        path, certificate = path_from_codes(
            self.problem, *self.recorder.arrays, stopped_by, farkas=farkas, ray=ray
        )
        limit = _LIMITS.get(outcome.reason)
        lam = float(path.low[-1])
        objective = path.objective_at(lam)
        return Result(
            status=Status.OPTIMAL if limit is None else Status.FEASIBLE,
            limit=limit,
            raw_status=stopped_by,
            x=path.at(lam),
            objective=objective,
            bound=objective,
            duals={"rows": path.dual_at(lam)},
            path=path,
            certificate=certificate,
            iterations=self.pivots,
        )

    def single(self, lam: float) -> Result:
        """Solve for one lam: down the path from the crash basis, or from a basis made there."""
        basis = crash(self.program)
        top = optimal_from(basis)
        if np.isfinite(top):
            outcome = self._follow(Start(basis, max(top, lam), np.inf, 0), lam)
        else:
            basis, outcome = make_optimal(basis, lam, self.rng, self._stop)
            self.pivots += outcome.pivots
        if outcome.reason != "end":
            return self._failed(Start(None, lam, lam, 0, outcome))
        return self._point(basis, lam)

    def grid(self, values: tuple[float, ...]) -> Result:
        """Solve for several lam: along the path, at each of them."""
        wanted = np.unique(np.array(values))[::-1]
        result = self.path(float(wanted[-1]))
        path = result.path
        if not isinstance(path, ParametricPath):
            return result
        covered = wanted[wanted >= path.low[-1]]
        if len(covered) == 0:
            return self._stopped_early(path.stopped_by)
        objective = np.array([path.objective_at(lam) for lam in covered])
        grid = GridPath(
            knots=covered,
            theta=np.array([path.at(lam) for lam in covered]),
            nu=np.array([path.dual_at(lam) for lam in covered]),
            values=objective,
            bounds=objective.copy(),
            names=path.names,
            stopped_by="grid" if len(covered) == len(wanted) else path.stopped_by,
        )
        return result.with_changes(
            path=grid,
            x=grid.theta[-1],
            objective=float(objective[-1]),
            bound=float(objective[-1]),
            duals={"rows": grid.nu[-1]},
            certificate=Certificate(kind="dual-grid"),
        )

    # ---- steps

    def _stop(self) -> str | None:
        limit = self.control.limit()
        return None if limit is None else limit.value

    def _segment(self, basis: Basis, low: float, high: float) -> str | None:
        self.control.progress(f"lam {low:.4g}, {len(self.recorder.low)} knots")
        return self.recorder(basis, low, high)

    def _follow(self, start: Start, end: float, on_segment: OnSegment | None = None) -> Outcome:
        assert start.basis is not None
        outcome = follow(
            start.basis,
            start.lam,
            end,
            rng=self.rng,
            top=start.top,
            stop=self._stop,
            **({} if on_segment is None else {"on_segment": on_segment}),
        )
        self.pivots += outcome.pivots
        return outcome

    def _rays(self, outcome: Outcome) -> tuple[Array | None, Array | None]:
        """Return (Farkas multipliers, None) or (None, ray), in the user's units."""
        if outcome.reason == "infeasible_below":
            assert outcome.ray is not None
            return self.program.nu(outcome.ray[self.program.p :]), None
        if outcome.reason == "unbounded_below":
            assert outcome.ray is not None
            return None, self.program.theta(outcome.ray[: self.program.p])
        return None, None

    # ---- results without a path

    def _point(self, basis: Basis, lam: float) -> Result:
        program = self.problem.canonical()
        theta, _, nu, _ = affine_solution(program, basis.codes, at=lam)
        sign = self.problem.canonical_sign
        return Result(
            status=Status.OPTIMAL,
            raw_status="end",
            x=theta,
            objective=self.problem.objective(theta, lam),
            bound=sign * program.dual_value(nu, lam),
            duals={"rows": nu},
            certificate=Certificate(kind="dual", arrays={"nu": nu}),
            iterations=self.pivots,
        )

    def _failed(self, start: Start) -> Result:
        """Turn a failed search for a first basis into a result with its proof."""
        assert start.failure is not None
        reason = start.failure.reason
        if reason not in _NO_OPTIMUM:
            return self._stopped_early(reason)
        farkas, ray = self._rays(start.failure)
        note = (f"no optimal solution at lam = {start.lam:g}",)
        if farkas is not None:
            return Result(
                status=Status.INFEASIBLE,
                raw_status=reason,
                certificate=Certificate("farkas", {"nu": farkas}, {"lam": start.lam}),
                iterations=self.pivots,
                notes=note,
            )
        return self._unbounded(start, ray, note)

    def _unbounded(self, start: Start, ray: Array | None, note: tuple[str, ...]) -> Result:
        """Complete an unbounded ray by a feasible point, or prove that there is none."""
        slopes = np.where(np.isfinite(self.program.slopes), 0.0, self.program.slopes)
        free = self.program.with_pieces(self.program.kinks.copy(), slopes)
        basis, outcome = make_optimal(crash(free), start.lam, self.rng, self._stop)
        self.pivots += outcome.pivots
        if outcome.reason != "end":
            return self._failed(Start(None, start.lam, start.lam, 0, outcome))
        theta = basis.solution()[0]
        point = self.program.theta(theta[0] + start.lam * theta[1])
        assert ray is not None
        return Result(
            status=Status.UNBOUNDED,
            raw_status="unbounded_below",
            certificate=Certificate("ray", {"ray": ray, "x": point}, {"lam": start.lam}),
            iterations=self.pivots,
            notes=note,
        )

    def _stopped_early(self, reason: str) -> Result:
        return Result(
            status=Status.NO_SOLUTION,
            limit=_LIMITS.get(reason, Limit.SLOW_PROGRESS),
            raw_status=reason,
            iterations=self.pivots,
        )
