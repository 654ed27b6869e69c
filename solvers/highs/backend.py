"""HiGHS as a backend: one value of lam, a grid of values, and the path by ranging."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.result import Certificate, Limit, Result, Status

from ..adapters.adapter import Adapter, named_values
from ..adapters.formulations.parametric import LPEngine
from ..common.outcome import Answer, Request
from ..common.program import Program
from ..common.segments import path_from_codes
from ..lp.answer import evidence, grid, single, without_optimum
from ..lp.form import LPForm
from ..lp.layout import Bounds
from ..lp.proof import Ended
from .instance import WITHOUT_BASIS, Instance
from .path import Ranging


class Highs(Adapter):
    """The simplex method of HiGHS, with its basis solved again to full accuracy.

    References
    ----------
    Huangfu and Hall (2018), Parallelizing the dual revised simplex method.
    """

    name: ClassVar[str] = "highs"
    summary: ClassVar[str] = "the simplex method of HiGHS; the independent reference"
    requires: ClassVar[tuple[str, ...]] = ("highspy",)
    families: ClassVar[frozenset[str]] = frozenset({"parametric"})
    features: ClassVar[frozenset[Feature]] = frozenset(
        {
            Feature.EXACT,
            Feature.SINGLE,
            Feature.GRID,
            Feature.PATH,
            Feature.DUAL_BOUND,
            Feature.CERTIFICATE,
        }
    )
    limits: ClassVar[frozenset[str]] = frozenset({"iteration_limit"})
    options: ClassVar[Mapping[str, Option]] = {
        "max_entries": Option(
            float, 5e7, "Largest number of matrix entries to form and to hand to HiGHS.", low=1.0
        ),
        "presolve": Option(
            str,
            "off",
            "HiGHS' presolve, for single values and grids.",
            choices=("off", "choose", "on"),
        ),
        "tolerance": Option(
            float, 1e-9, "Feasibility tolerances of HiGHS, in the data's scale.", low=1e-10
        ),
        "settings": Adapter.options["settings"],
        "solver": Option(
            str,
            "simplex",
            "HiGHS' method for single values and grids: the dual simplex method, interior points "
            "with crossover (ipx; hipo, which needs highspy[extras]), or first-order ones.",
            choices=("simplex", *WITHOUT_BASIS),
        ),
        "warm_start_grid": Option(
            bool, False, "Start each grid value from the basis of the one before."
        ),
    }

    def _load(self) -> None:
        import highspy  # noqa: F401

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, ParametricProblem)
        with control.uncounted():
            self._load()
        if params.lam is None:
            options = {**options, "presolve": "off", "solver": "simplex"}
            return _path(problem, Session(problem.canonical(), self, options, control))
        session = Session(problem.canonical(), self, options, control)
        if isinstance(params.lam, tuple):
            return grid(problem, params.lam, session, control, warm=options["warm_start_grid"])
        return single(problem, params.lam, session, control)

    def ask(
        self, program: Program, control: Control, options: Mapping[str, Any], **asked: Any
    ) -> Answer:
        """Pass a program to HiGHS; see :meth:`Adapter.ask`."""
        return super().ask(program, control, {**options, "settings": _settings(options)}, **asked)

    def _run(self, program: Program, request: Request, control: Control) -> Answer:
        with control.building():
            instance = Instance(control, tolerance=request.tolerance)
            instance.iteration_limit = request.iteration_limit
            instance.set_gaps(request.rel_gap, request.abs_gap)
            instance.apply(request.settings)
            instance.load(program)
            if request.start is not None:
                instance.start_at(request.start)
        run = instance.run_either_way() if program.linear else instance.run()
        answer = instance.answer(run, linear=program.linear)
        return replace(answer, iterations=instance.spent.iterations)


def _settings(options: Mapping[str, Any]) -> str:
    return ",".join(filter(None, [f"presolve={options['presolve']}", options["settings"]]))


class Session(LPEngine):
    """HiGHS with one program; between values of lam it keeps the model, and the basis if asked."""

    _loaded: tuple[LPForm, Instance] | None = None

    def _ask(self, form: LPForm, bounds: Bounds, warm: bool) -> Answer:
        instance = self._instance(form, bounds)
        if self.options["solver"] != "simplex":
            instance.forget()
            return instance.answer(instance.run())
        if not warm:
            instance.forget()
            if self.options["presolve"] == "off":
                instance.start_from(*form.first_basis())
        return instance.answer(instance.run_either_way())

    def _instance(self, form: LPForm, bounds: Bounds) -> Instance:
        """Return the instance that holds the form, with these costs and bounds."""
        if self._loaded is not None and self._loaded[0] is form:
            instance = self._loaded[1]
            instance.change_cost(bounds.cost)
            instance.change_columns(bounds.column_low, bounds.column_high)
            instance.change_rows(bounds.row_low, bounds.row_high)
            return instance
        with self.control.building():
            instance = Instance(self.control, tolerance=self.options["tolerance"], spent=self.spent)
            instance.use(self.options["solver"])
            instance.apply(named_values(_settings(self.options)))
            instance.load(bounds.program(form.matrix))
            self._loaded = form, instance
        return instance


def _path(problem: ParametricProblem, session: Session) -> Result:
    program, control, params = session.program, session.control, session.control.params
    ranging = Ranging(
        program,
        session,
        control,
        lam_min=params.lam_min or 0.0,
        max_knots=params.max_knots,
        max_nonzeros=params.max_nonzeros,
    )
    ranging.run()
    common: dict[str, Any] = {
        "raw_status": ranging.stopped_by,
        "iterations": session.spent.iterations,
    }
    if not ranging.low:
        if ranging.end is not None and ranging.limit is None:
            return _nowhere(ranging.end, ranging.others, **common)
        limit = ranging.limit or Limit.SLOW_PROGRESS
        return Result(status=Status.NO_SOLUTION, limit=limit, **common)
    change_ptr, changed, change_code = _changes(ranging.codes)
    path, certificate = path_from_codes(
        problem,
        np.array(ranging.low),
        np.array(ranging.high),
        ranging.codes[0],
        change_ptr,
        changed,
        change_code,
        ranging.stopped_by,
        **evidence(ranging.end),
        **evidence(ranging.ceiling, "_above"),
    )
    last = float(path.low[-1])
    theta, nu = path.at(last), path.dual_at(last)
    return Result(
        status=Status.OPTIMAL if ranging.limit is None else Status.FEASIBLE,
        limit=ranging.limit,
        x=theta,
        objective=path.objective_at(last),
        bound=problem.canonical_sign * program.dual_value(nu, last),
        duals={"rows": nu},
        path=path,
        certificate=certificate,
        **common,
    )


def _nowhere(end: Ended, others: tuple[Ended, ...], **common: Any) -> Result:
    """Return that no lam has an optimum; unbounded at one, with proofs for the others beside."""
    result = without_optimum(end, **common)
    assert result.certificate is not None
    kind, arrays = result.certificate.kind, dict(result.certificate.arrays)
    values = {"lam": end.lam} if kind == "ray" else {}
    for other in others:
        for name, vector in evidence(other).items():
            plain = "nu" if kind == "farkas" else name
            arrays[f"{plain}_above" if plain in arrays else plain] = vector
    return result.with_changes(certificate=Certificate(kind, arrays, values))


def _changes(codes: list[Array]) -> tuple[Array, Array, Array]:
    """Return (change_ptr, changed, change_code) of consecutive bases."""
    changed = [np.flatnonzero(new != old) for old, new in pairwise(codes)]
    new_codes = [new[where] for new, where in zip(codes[1:], changed, strict=True)]
    none = np.zeros(0, dtype=np.int64)
    return (
        np.cumsum([0, 0, *(len(where) for where in changed)]),
        np.concatenate([none, *changed]),
        np.concatenate([none, *new_codes]),
    )
