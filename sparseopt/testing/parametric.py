"""What a path, a grid and a single value of a parametric problem must be."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import Backend, Feature
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems.base import Problem
from sparseopt.problems.parametric.regression import DantzigSelector, LADLasso
from sparseopt.result import Result, Status, Verdict
from sparseopt.testing.behaviour import FamilySamples, behaviour_cases
from sparseopt.testing.cases import ConformanceCase, require
from sparseopt.testing.path_samples import PathSample, ending_samples, path_samples
from sparseopt.testing.samples import FEASIBILITY, Answer, Sample, answer_cases, close

__all__ = ["parametric_cases"]

_REL_GAP = 1e-6
"""The default of SolveParams.rel_gap, which the suite asks for."""


def parametric_cases(backend: Backend, rng: np.random.Generator) -> Iterator[ConformanceCase]:
    """Yield the cases of the parametric family that the backend's features call for.

    A backend for a few models only is asked about these.
    """
    paths = path_samples(rng)
    singles = []
    for sample in paths:
        for place, share in (("low", 0.1), ("middle", 0.55), ("high", 1.25)):
            lam = sample.end + share * (sample.top - sample.end) * float(rng.uniform(0.9, 1.1))
            singles.append(
                Sample(
                    f"{sample.name}-{place}",
                    sample.problem,
                    {"lam": lam},
                    sample.optimum(lam),
                    known_by=sample.known_by,
                    scale=sample.scale,
                )
            )
    singles += [
        Sample(s.name.removesuffix("-below"), s.problem, {"lam": 0.5}, status=status)
        for s, status in zip(ending_samples(), (Status.INFEASIBLE, Status.UNBOUNDED), strict=True)
    ]
    singles = [sample for sample in singles if _answers(backend, sample.problem, sample.question)]
    paths = tuple(sample for sample in paths if backend.supports(sample.problem)[0])
    if Feature.SINGLE in backend.features:
        for single in singles:
            yield from answer_cases(f"parametric/{single.name}", Answer(backend, single))
    if Feature.GRID in backend.features:
        for sample in paths:
            yield from _grid_cases(backend, sample)
    if Feature.PATH in backend.features:
        for sample in paths:
            yield from _path_cases(backend, sample)
    if singles:
        yield from behaviour_cases("parametric", backend, _behaviour_samples(backend, singles, rng))
    if Feature.PATH in backend.features:
        yield ConformanceCase(
            "parametric/outside",
            "a value of lam outside the path's range raises ParamError",
            lambda: _outside(backend, paths[0]),
        )


def _answers(backend: Backend, problem: Problem, question: Mapping[str, Any]) -> bool:
    """Tell whether the backend takes this single value, or would if it took single values."""
    if Feature.SINGLE not in backend.features:
        return backend.supports(problem)[0]
    return backend.answers(problem, SolveParams(**question))[0]


def _behaviour_samples(
    backend: Backend, singles: list[Sample], rng: np.random.Generator
) -> FamilySamples:
    """Return small and large problems with a question that the backend takes."""
    X, y = rng.normal(size=(100, 300)), rng.normal(size=100)
    if Feature.PATH in backend.features:
        question: dict[str, Any] = {"lam_min": 0.0}
    elif Feature.SINGLE in backend.features:
        question = {"lam": singles[0].question["lam"]}
    else:
        question = {"lam": (1.0, 0.5)}
    large: list[Problem] = [DantzigSelector(X=X, y=y), LADLasso(X=X, y=y)]
    return FamilySamples(
        samples=(Sample("small", singles[0].problem, question),),
        large=next((p for p in large if _answers(backend, p, question)), None),
        large_question=question,
        invalid=_without_scale,
    )


def _without_scale() -> Problem:
    problem = DantzigSelector(X=np.eye(2), y=np.ones(2))
    object.__setattr__(problem, "scale", "neither")
    return problem


class _PathAnswer:
    """A backend's answer to a question about a path or a grid; solved when first looked at."""

    def __init__(self, backend: Backend, sample: PathSample, lam: tuple[float, ...] = ()) -> None:
        self.backend = backend
        self.sample = sample
        self.lam = lam

    @cached_property
    def result(self) -> Result:
        question: dict[str, Any] = {"lam": self.lam} if self.lam else {"lam_min": 0.0}
        return solve(self.sample.problem, backend=self.backend, **question)

    @property
    def path(self) -> ParametricPath:
        path = self.result.path
        if not isinstance(path, ParametricPath):
            require(False, f"result.path is {type(path).__name__}, expected a ParametricPath")
        assert isinstance(path, ParametricPath)
        return path

    @property
    def grid(self) -> GridPath:
        path = self.result.path
        if not isinstance(path, GridPath):
            require(False, f"result.path is {type(path).__name__}, expected a GridPath")
        assert isinstance(path, GridPath)
        return path


def _path_cases(backend: Backend, sample: PathSample) -> Iterator[ConformanceCase]:
    answer = _PathAnswer(backend, sample)
    statements: dict[str, tuple[str, Callable[[_PathAnswer], None]]] = {
        "covers": (
            "the path is OPTIMAL and covers the asked range without a hole",
            _covers,
        ),
        "values": (
            "objective_at is the known optimum at, between and above the knots",
            _values,
        ),
        "points": (
            "at(lam), on both sides of every knot, is feasible and has the path's objective",
            _points,
        ),
        "last": (
            "x, objective and bound of the result are those at the path's last lam",
            _last,
        ),
        "path-verdict": (
            "the checker refutes nothing of a path, and verifies a certificate",
            _path_verdict,
        ),
    }
    if Feature.DUAL_BOUND in backend.features:
        statements["duals"] = (
            "dual_at(lam), on both sides of every knot, proves the path's objective",
            _duals,
        )
    if Feature.SINGLE in backend.features:
        statements["agrees"] = ("single solves agree with the path", _agrees)
    for key, (asserts, statement) in statements.items():
        yield ConformanceCase(
            f"parametric/{sample.name}/{key}", asserts, partial(statement, answer)
        )


def _lams(answer: _PathAnswer) -> list[float]:
    """Return knots, points between them, and points above them all, in the path's range."""
    path, sample = answer.path, answer.sample
    knots = [float(knot) for knot in path.knots]
    between = [(a + b) / 2.0 for a, b in pairwise(knots)]
    above = [max(knots[0], sample.top) * factor for factor in (1.01, 1.5)]
    return [*knots, *between, *above]


def _covers(answer: _PathAnswer) -> None:
    path, sample, result = answer.path, answer.sample, answer.result
    require(
        result.status is Status.OPTIMAL,
        f"status is {result.status.value}: {'; '.join(result.check_messages)}",
    )
    require(np.isposinf(path.high[0]), f"the path starts at {path.high[0]}, not at infinity")
    require(np.array_equal(path.low[:-1], path.high[1:]), "segments do not meet")
    require(bool((path.low <= path.high).all()), "a segment ends above its start")
    end = float(path.low[-1])
    require(abs(end - sample.end) <= 1e-9 * sample.scale, f"it ends at {end}, not {sample.end}")
    require(
        path.stopped_by == sample.stopped_by,
        f"stopped_by is {path.stopped_by!r}, expected {sample.stopped_by!r}",
    )


def _values(answer: _PathAnswer) -> None:
    sample = answer.sample
    for lam in _lams(answer):
        value, known = answer.path.objective_at(lam), sample.optimum(lam)
        require(
            close(value, known, _REL_GAP, sample.scale),
            f"objective_at({lam!r}) is {value!r}, the optimum is {known!r} ({sample.known_by})",
        )


def _points(answer: _PathAnswer) -> None:
    sample, problem = answer.sample, answer.sample.problem
    for lam in _lams(answer):
        value = answer.path.objective_at(lam)
        for side, theta in zip(("above", "below"), answer.path.at(lam, side="both"), strict=True):
            for name, violation in problem.residuals(theta, lam).items():
                require(
                    violation <= FEASIBILITY * sample.scale,
                    f"at({lam!r}, {side!r}) violates {name} by {violation:g}",
                )
            own = problem.objective(theta, lam)
            require(
                close(own, value, _REL_GAP, sample.scale),
                f"at({lam!r}, {side!r}) has the objective {own!r}, objective_at is {value!r}",
            )


def _duals(answer: _PathAnswer) -> None:
    sample, program = answer.sample, answer.sample.problem.canonical()
    for lam in _lams(answer):
        value = answer.path.objective_at(lam)
        for side, nu in zip(("above", "below"), answer.path.dual_at(lam, side="both"), strict=True):
            bound = sample.problem.canonical_sign * program.dual_value(nu, lam)
            require(
                close(bound, value, _REL_GAP, sample.scale),
                f"dual_at({lam!r}, {side!r}) has the dual value {bound!r}, objective_at is "
                f"{value!r}",
            )


def _last(answer: _PathAnswer) -> None:
    result, path = answer.result, answer.path
    end = float(path.knots[-1])
    require(result.x is not None, "there is no x")
    assert result.x is not None
    require(
        np.array_equal(result.x, path.at(end)) or np.array_equal(result.x, path.at(end, "below")),
        "x is not the path's last point",
    )
    names = ["objective"]
    if Feature.DUAL_BOUND in answer.backend.features:
        names.append("bound")
    for name in names:
        value = getattr(result, name)
        require(
            close(value, path.objective_at(end), _REL_GAP, answer.sample.scale),
            f"{name} is {value!r}, objective_at({end!r}) is {path.objective_at(end)!r}",
        )


def _path_verdict(answer: _PathAnswer) -> None:
    result = answer.result
    said = f"{result.verdict}: {'; '.join(result.check_messages)}"
    require(result.verdict is not Verdict.REFUTED, said)
    if Feature.CERTIFICATE in answer.backend.features:
        require(result.verdict is Verdict.VERIFIED, said)


def _agrees(answer: _PathAnswer) -> None:
    sample = answer.sample
    knots = answer.path.knots
    for lam in (float(knots[-1]), float(knots[len(knots) // 2]), (sample.end + sample.top) / 2.0):
        single = solve(sample.problem, backend=answer.backend, lam=lam, check=False)
        value = answer.path.objective_at(lam)
        require(
            close(single.objective, value, _REL_GAP, sample.scale),
            f"at lam={lam!r} a single solve finds {single.objective!r}, the path {value!r}",
        )


def _outside(backend: Backend, sample: PathSample) -> None:
    lam_min = sample.top / 2.0
    result = solve(sample.problem, backend=backend, lam_min=lam_min, check=False)
    assert result.path is not None
    try:
        result.path.at(lam_min / 2.0)
    except ParamError:
        return
    require(False, f"at({lam_min / 2.0}) answered, the path ends at {lam_min}")


def _grid_cases(backend: Backend, sample: PathSample) -> Iterator[ConformanceCase]:
    span = sample.top - sample.end
    answer = _PathAnswer(
        backend, sample, tuple(sample.end + share * span for share in (1.2, 0.7, 0.35, 0.0))
    )
    yield ConformanceCase(
        f"parametric/{sample.name}/grid",
        "at each value of a grid the objective is the known optimum, attained by a feasible point",
        lambda: _grid(answer),
    )
    yield ConformanceCase(
        f"parametric/{sample.name}/grid-verdict",
        "the checker refutes nothing of a grid, and verifies a certificate",
        lambda: _path_verdict(answer),
    )


def _grid(answer: _PathAnswer) -> None:
    sample, grid = answer.sample, answer.grid
    expected = {Status.OPTIMAL}
    if Feature.EXACT not in answer.backend.features:
        expected.add(Status.CONVERGED)
    require(
        answer.result.status in expected,
        f"status is {answer.result.status.value}: {'; '.join(answer.result.check_messages)}",
    )
    require(tuple(grid.knots) == answer.lam, f"the grid is {grid.knots}, asked for {answer.lam}")
    for lam in answer.lam:
        value, known = grid.objective_at(lam), sample.optimum(lam)
        require(
            close(value, known, _REL_GAP, sample.scale),
            f"objective_at({lam!r}) is {value!r}, the optimum is {known!r} ({sample.known_by})",
        )
        theta = grid.at(lam)
        own = sample.problem.objective(theta, lam)
        require(
            close(own, value, _REL_GAP, sample.scale),
            f"at({lam!r}) has the objective {own!r}, objective_at is {value!r}",
        )
        worst = max(sample.problem.residuals(theta, lam).values())
        require(worst <= FEASIBILITY * sample.scale, f"at({lam!r}) is infeasible by {worst:g}")
