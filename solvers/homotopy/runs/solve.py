"""One solve: a path, one value, or a grid, put together from the engine's parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, cached_property
from typing import overload

import numpy as np

from sparseopt.backend import Control
from sparseopt.blas import blas_threads
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems import ParametricProblem, Pieces, PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.maps import GramMap
from sparseopt.result import Certificate, Limit, Result, Status

from ...common.segments import affine_solution, path_from_codes
from ..candidates.products import rough_product
from ..candidates.program import CandidateProgram
from ..candidates.screen import distances_from_lines
from ..pivots import core
from ..pivots.state import State
from ..program import ScaledProgram
from ..settings import ABOVE_THE_END, DOUBTFUL, LOST, LOST_MISMATCH, MISMATCH
from ..walks.follow import Ending, follow
from ..walks.precise import (
    ILL_CONDITIONED,
    beyond_precision,
    exact_matrix,
    follow_precisely,
    pivots_allowed,
)
from ..walks.recorder import (
    Recorder,
    assemble,
    mismatch,
    norm_weights,
    objective_from_multipliers,
    strays,
)
from ..walks.sample import from_sample, is_tall
from ..walks.start import Start, crash, make_optimal, optimal_from, top_basis
from .columns import solve_columns
from .each import solve_each
from .no_optimum import NO_OPTIMUM, NoOptimum, in_doubt, proof_of

__all__ = ["HomotopySolve", "warm_up"]

_LIMITS = {limit.value: limit for limit in Limit}


class HomotopySolve:
    """One solve: the scaled program, the random numbers, and the clock."""

    def __init__(self, problem: ParametricProblem, params: SolveParams, control: Control) -> None:
        self.problem = problem
        self.params = params
        self.control = control
        self.rng = np.random.default_rng(params.seed)
        self.pivots = 0
        self.recorder = Recorder(params)

    @cached_property
    def canonical(self) -> PiecewiseLinearProgram:
        """The problem in the general form; not needed where its columns are solved apart."""
        return self.problem.canonical()

    @cached_property
    def program(self) -> ScaledProgram:
        """The problem as the engine sees it."""
        with self.control.building():
            return ScaledProgram.from_program(self.canonical)

    # ---- the three questions

    def path(self, end: float) -> Result:
        """Solve for all lam down to `end`."""
        result = self._path(end)
        path = result.path
        if ILL_CONDITIONED[True] not in self.control.notes:
            return result
        parts: list[tuple[PiecewiseLinearProgram, ParametricPath]] = []
        if isinstance(path, ColumnwisePath) and isinstance(self.problem, ColumnwiseProblem):
            parts = [
                (self.problem.column(k).canonical(), part) for k, part in enumerate(path.columns)
            ]
        elif isinstance(path, ParametricPath):
            parts = [(self.canonical, path)]
        ends = [lam for part in parts if (lam := beyond_precision(*part)) is not None]
        if not ends:
            return result
        note = (
            f"below lam = {max(ends):.6g} the coefficients become so large that the last "
            "digits of the data decide what is feasible: data rounded otherwise may have no "
            "solution there"
        )
        return result.with_changes(notes=(*result.notes, note))

    def _path(self, end: float) -> Result:
        if isinstance(self.problem, ColumnwiseProblem):
            common = self.problem.column(0).canonical()
            if isinstance(common.A, GramMap):
                columns = solve_each(self.problem, common, self._of_column(end))
            else:
                columns = solve_columns(self.problem, end, self.params, self.control)
            if columns is not None:
                return columns
        start = top_basis(self.program, end, self.rng, self._stop)
        self.pivots += start.pivots
        if start.basis is None:
            found = self._without_optimum(start, end)
            if isinstance(found, Result):
                return found
            start = found
        outcome = self._precisely(start, end, self._follow(start, end, self.recorder))
        alone = not self.recorder.count  # an optimum at one lam, and nowhere else
        if alone and (start.above is None or outcome.reason not in NO_OPTIMUM):
            return self.stopped(outcome.reason)
        stopped_by = "lam_min" if outcome.reason == "end" else outcome.reason
        if outcome.reason == "unbounded_below":
            self.recorder.raise_end(ABOVE_THE_END)
        proofs = proof_of(self.program, outcome)
        if start.above is not None:
            above = proof_of(self.program, start.above)
            proofs |= {f"{name}_above": ray for name, ray in above.items()}
            if start.above.reason == "unbounded_below":
                self.recorder.lower_top(ABOVE_THE_END)
        if alone:
            at, none = np.array([outcome.lam]), np.zeros(0, np.int64)
            basis = (at, at, outcome.codes, np.zeros(2, np.int64), none, none)
            path, certificate = path_from_codes(self.problem, *basis, stopped_by, **proofs)
        else:
            path, certificate = assemble(
                self.problem, self.canonical, self.program, self.recorder, stopped_by, proofs
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

    def _of_column(self, end: float) -> Callable[..., Result]:
        """Return a function that follows the path of a column down to `end`."""

        def follow_column(
            column: ParametricProblem, canonical: PiecewiseLinearProgram, program: ScaledProgram
        ) -> Result:
            own = HomotopySolve(column, self.params, self.control)
            own.canonical, own.program = canonical, program
            return own._path(end)

        return follow_column

    def single(self, lam: float) -> Result:
        """Solve for one lam: of a walk there only the end is kept, unless digits are missing."""
        result = self._directly(lam)
        if result.status in (Status.INFEASIBLE, Status.UNBOUNDED) or self._is_sharp(result):
            return result
        result = self._from_path(lam) or result
        return result if self._meets(result, lam) else self.stopped("ill-conditioned")

    def _meets(self, result: Result, lam: float) -> bool:
        """Return whether primal and dual meet as asked, or there is no pair that might."""
        if result.x is None or result.objective is None or result.bound is None:
            return True
        gap = abs(result.objective - result.bound)
        size = max(abs(result.objective), abs(result.bound))
        # a fit without an error is the difference of larger numbers
        theta, A = np.abs(result.x), self.canonical.A
        slopes = np.abs(self.canonical.functions.slope_range(lam))
        slopes = np.where(np.isinf(slopes), 0.0, slopes).max(axis=0)
        terms = float(slopes @ np.concatenate([theta, A.abs_matvec(theta)]))
        return gap <= max(self.params.abs_gap, self.params.rel_gap * size, MISMATCH * terms)

    def _is_sharp(self, result: Result) -> bool:
        """Return whether primal and dual meet as they do where no digits were lost."""
        if result.objective is None or result.bound is None:
            return result.limit is not Limit.SLOW_PROGRESS
        size = max(abs(result.objective), abs(result.bound))
        return abs(result.objective - result.bound) <= MISMATCH * size

    def _from_path(self, lam: float) -> Result | None:
        """Solve for one lam by the whole path down to it; None where that does not get there."""
        self.recorder = Recorder(SolveParams())
        path = self.path(lam).path
        if not isinstance(path, ParametricPath | ColumnwisePath) or path.low[-1] != lam:
            return None
        return self._pair(path.at(lam), path.dual_at(lam), lam)

    def _directly(self, lam: float) -> Result:
        """Go down the path from the crash basis, or from a basis made at lam.

        Of a program with many rows an optimal basis is made from a sample of them.
        """
        if is_tall(self.program):
            (rng,) = self.rng.spawn(1)
            outcome = from_sample(self.program, lam, rng, self._stop)
            self.pivots += outcome.pivots
            if outcome.reason == "end":
                return self._point(outcome.codes, lam)
        basis = crash(self.program)
        top = optimal_from(basis)
        if np.isfinite(top):
            start = Start(basis, max(top, lam), np.inf, 0)
            self.recorder = Recorder()
            outcome = self._precisely(start, lam, self._follow(start, lam, self.recorder))
        else:
            outcome = make_optimal(basis, lam, self.rng, self._stop)
            self.pivots += outcome.pivots
        if outcome.reason != "end":
            return self._without_optimum(Start(None, lam, lam, 0, outcome))
        return self._point(outcome.codes, lam)

    def grid(self, values: tuple[float, ...]) -> Result:
        """Solve for several lam: along the path, at each of them."""
        wanted = np.unique(np.array(values))[::-1]
        result = self.path(float(wanted[-1]))
        path = result.path
        if not isinstance(path, ParametricPath | ColumnwisePath):
            return self._nowhere(result, wanted)
        top = _top(path)
        covered = wanted[(wanted >= path.low[-1]) & (wanted <= top)]
        if len(covered) == 0:
            return self._nowhere(result, wanted)
        if wanted[0] > top:
            raise ParamError(
                f"lam = {wanted[0]:g} has no optimal solution, as all values above "
                f"{top:g}: ask for smaller ones"
            )
        if len(covered) < len(wanted):
            self._note(
                f"{len(wanted) - len(covered)} of {len(wanted)} values of lam have no answer: the "
                f"path ends at lam = {path.low[-1]:g} ({path.stopped_by}); x is for the last lam "
                "that has one"
            )
        objective = np.array([path.objective_at(lam) for lam in covered])
        theta = np.array([path.at(lam) for lam in covered])
        nu = np.array([path.dual_at(lam) for lam in covered])
        bounds = objective.copy()
        if isinstance(path, ParametricPath):
            points = zip(theta, nu, covered.tolist(), strict=True)
            bounds = np.array([self._bound(*point) for point in points])
        grid = GridPath(
            knots=covered,
            theta=theta,
            nu=nu,
            values=objective,
            bounds=bounds,
            names=self.problem.coefficient_names,
            stopped_by="grid" if len(covered) == len(wanted) else path.stopped_by,
        )
        return result.with_changes(
            path=grid,
            x=grid.theta[-1],
            objective=float(objective[-1]),
            bound=float(bounds[-1]),
            duals={"rows": grid.nu[-1]},
            certificate=self._grid_certificate(result.certificate, path),
        )

    def _grid_certificate(
        self, of_path: Certificate | None, path: ParametricPath | ColumnwisePath
    ) -> Certificate:
        """Keep the proof that there is no optimum below, for a grid that ends before its last."""
        if of_path is None:
            return Certificate("dual-grid", {}, {})
        arrays = of_path.arrays
        proofs = {name: arrays[name] for name in ("farkas", "ray") if name in arrays}
        if isinstance(path, ColumnwisePath):
            proofs = {}
            ends = [float(column.low[-1]) for column in path.columns]
            # What is infeasible in the column that ends first is infeasible in the whole.
            for i, part in zip(
                arrays.get("farkas_columns", ()), arrays.get("farkas", ()), strict=True
            ):
                if ends[i] == path.low[-1]:
                    nu = np.zeros((len(ends), len(part)))
                    nu[i] = part
                    proofs["farkas"] = nu.ravel()
        return Certificate("dual-grid", proofs, of_path.values)

    def _nowhere(self, of_path: Result, wanted: Array) -> Result:
        """Answer for a grid without an optimum: each value with a proof of its own."""
        if of_path.limit is not None and of_path.raw_status not in NO_OPTIMUM:
            return of_path
        found = []
        for lam in wanted:
            found.append(self.single(float(lam)))
            if found[-1].status not in (Status.INFEASIBLE, Status.UNBOUNDED):
                return self.stopped(found[-1].raw_status)
        if len({result.status for result in found}) > 1:
            raise ParamError(
                f"the problem is {found[0].status.value} at lam = {wanted[0]:g} and otherwise at "
                "smaller values of the grid: ask for single values"
            )
        certificates = [result.certificate for result in found if result.certificate is not None]
        rows = {
            name: np.array([certificate.arrays[name] for certificate in certificates])
            for name in certificates[0].arrays
        }
        return Result(
            status=found[0].status,
            raw_status=found[0].raw_status,
            certificate=Certificate(certificates[0].kind, rows),
            iterations=self.pivots,
            notes=("no optimal solution at any value of the grid",),
        )

    # ---- steps

    def _stop(self) -> str | None:
        limit = self.control.limit()
        self.control.progress(f"{self.recorder.count} knots")
        return None if limit is None else limit.value

    def _follow(self, start: Start, end: float, recorder: Recorder | None = None) -> Ending:
        assert start.basis is not None
        outcome = follow(
            start.basis,
            start.lam,
            end,
            rng=self.rng,
            top=start.top,
            stop=self._stop,
            recorder=recorder,
        )
        self.pivots += outcome.pivots
        return outcome

    def _precisely(self, start: Start, end: float, outcome: Ending) -> Ending:
        """Walk the path again in 106 bits, where digits were lost; return the better outcome."""
        lost = outcome.doubt > LOST
        doubtful = outcome.doubt > DOUBTFUL
        if outcome.ray is not None:
            infeasible = outcome.reason == "infeasible_below"
            doubtful = doubtful or bool(in_doubt(self.program, outcome.ray[None], infeasible)[0])
        weight = norm_weights(self.canonical, self.program)
        for part in self.recorder.parts:
            if weight is None:
                break
            off = mismatch(weight, part, np.array([0, len(part)]))
            lost = lost or bool((off > LOST_MISMATCH).any())
            doubtful = doubtful or bool((off > MISMATCH).any())
        if start.basis is None:
            return outcome
        failed = lost or outcome.reason == "slow_progress"
        if not (failed or doubtful):
            if self.recorder.count > pivots_allowed(self.program, False):
                return outcome
            worst = strays(self.program, self.recorder)
            if worst <= MISMATCH:
                return outcome
            failed = lost = worst > LOST_MISMATCH
        # a walk that lost its way may have pivoted much more often than it recorded segments
        allowed = pivots_allowed(self.program, failed)
        if self.recorder.count > allowed:
            self._note(ILL_CONDITIONED[False])
            return outcome
        by_multipliers = objective_from_multipliers(self.canonical)
        walked = follow_precisely(
            self.program,
            exact_matrix(self.program),
            start.basis.codes,
            start.lam,
            end,
            rng=np.random.default_rng(self.params.seed),
            top=start.top,
            stop=self._stop,
            max_pivots=allowed,
            max_segments=self.recorder.max_segments,
            max_nonzeros=self.recorder.max_nonzeros,
            general=None if by_multipliers else self.canonical,
        )
        self.pivots += walked.pivots
        given_up = walked.unfinished and not failed
        self._note(ILL_CONDITIONED[not given_up])
        if given_up or not walked.replaces(outcome.reason, outcome.lam, lost):
            return outcome
        self.recorder.replace(start.basis.codes, walked.segments, complete=not by_multipliers)
        lam = float(walked.segments.low[-1]) if len(walked.segments) else start.top
        return Ending(walked.reason, lam, walked.codes, walked.pivots, walked.ray)

    def _note(self, text: str) -> None:
        """Note it once: columns share the notes."""
        if text not in self.control.notes:
            self.control.notes.append(text)

    # ---- results without a path

    @overload
    def _without_optimum(self, start: Start) -> Result: ...
    @overload
    def _without_optimum(self, start: Start, end: float) -> Result | Start: ...
    def _without_optimum(self, start: Start, end: float | None = None) -> Result | Start:
        """Prove that there is no optimum, at one lam or from `end` on; or find a start for one."""
        assert start.failure is not None
        if start.failure.reason not in NO_OPTIMUM:
            return self.stopped(start.failure.reason)
        room = NoOptimum(self.program, self.rng, self._stop)
        found = None if end is None else room.from_lam(end, start)
        if found is None:
            found = room.at(start.lam, start.failure)
        self.pivots += room.pivots
        if isinstance(found, Start):
            return found
        if found is None:
            return self.stopped(self._stop() or start.failure.reason)
        return found.with_changes(iterations=self.pivots)

    def _point(self, codes: Array, lam: float) -> Result:
        theta, _, nu, _ = affine_solution(self.canonical, codes, at=lam)
        return self._pair(theta, nu, lam)

    def _pair(self, theta: Array, nu: Array, lam: float) -> Result:
        """Return the result that a point and multipliers of the rows make."""
        return Result(
            status=Status.OPTIMAL,
            raw_status="end",
            x=theta,
            objective=self.problem.objective(theta, lam),
            bound=self._bound(theta, nu, lam),
            duals={"rows": nu},
            certificate=Certificate(kind="dual", arrays={"nu": nu}),
            iterations=self.pivots,
        )

    def _bound(self, theta: Array, nu: Array, lam: float) -> float:
        """Return the bound that multipliers of the rows prove, next to a point."""
        program = self.canonical.without_loose_bounds(theta, lam)
        return self.problem.canonical_sign * program.dual_value(nu, lam)

    def stopped(self, reason: str) -> Result:
        """Return the result of a walk that found nothing."""
        return Result(
            status=Status.NO_SOLUTION,
            limit=_LIMITS.get(reason, Limit.SLOW_PROGRESS),
            raw_status=reason,
            iterations=self.pivots,
        )


def _top(path: ParametricPath | ColumnwisePath) -> float:
    """Return the lam above which nothing is known, inf as a rule."""
    if isinstance(path, ColumnwisePath):
        return min(float(column.high[0]) for column in path.columns)
    return float(path.high[0])


@cache
def warm_up() -> None:
    """Compile everything, or load it from the cache, on programs of one and of two variables."""
    with blas_threads(1):  # finds the libraries, too
        rng = np.random.default_rng(0)
        follow(crash(_tiny(1)), 1.0, 0.5, rng=rng)
        program = _tiny(2)
        basis, one = crash(program), np.zeros(1, dtype=np.int64)
        for few in (0.0, np.inf):
            candidates = CandidateProgram(
                basis, one, one, lambda primal: rough_product(program.A, program, primal), few
            )
            dense = candidates.dense(program.block(one, one))
            state = State(dense, basis.codes[candidates.inside], 1.0, 1.0)
            state.perturb(rng)
            while state.advance(0.5, 0.0, 8, 8, -1) == core.DRIFTED:
                state.refresh()
            candidates.look(state.take_segments())
        distances_from_lines(np.ones((1, 1)), 0 * one, 0 * one, np.zeros(1), True)


def _tiny(size: int) -> ScaledProgram:
    ones = np.ones(size)
    return ScaledProgram.from_program(
        PiecewiseLinearProgram(np.ones((size, size)), Pieces.absolute(ones), Pieces.lam_band(ones))
    )
