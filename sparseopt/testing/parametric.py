"""What a path, a grid and a single value of a parametric problem must be."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import Feature
from sparseopt.errors import ParamError
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems.base import Problem
from sparseopt.problems.parametric.problem import ParametricProblem
from sparseopt.problems.parametric.regression import DantzigSelector, LADLasso
from sparseopt.result import Status, Verdict
from sparseopt.testing.cases import require
from sparseopt.testing.parametric_samples import PathSample, path_samples, short_samples
from sparseopt.testing.samples import (
    FEASIBILITY,
    AnswerCheck,
    CheckedAnswer,
    FamilySamples,
    Sample,
    close,
)

_REL_GAP = 1e-6
"""The default of SolveParams.rel_gap, which the suite asks for."""
_BELOW = {"infeasible_below": Status.INFEASIBLE, "unbounded_below": Status.UNBOUNDED}
"""What a value of lam below the end of a path is."""


def parametric_samples(rng: np.random.Generator) -> FamilySamples:
    """Return paths, single values and grids of closed forms, random and degenerate problems.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    known = path_samples(rng)
    paths = [_path(sample) for sample in (*known, *short_samples(rng))]
    singles = [single for sample in known for single in _singles(sample, rng)]
    grids = [_grid(sample) for sample in known]
    X, y = rng.normal(size=(100, 300)), rng.normal(size=100)
    long: tuple[ParametricProblem, ...] = (DantzigSelector(X=X, y=y), LADLasso(X=X, y=y))
    questions = ({"lam_min": 0.0}, singles[0].question, {"lam": (1.0, 0.5)})
    return FamilySamples(
        samples=(*paths, *singles, *grids),
        large=(
            *(Sample("large", problem, question) for question in questions for problem in long),
            Sample("large", LADLasso(X=X.T, y=rng.normal(size=300)), {"lam": 0.0}),
        ),
        invalid=_without_scale,
    )


def _without_scale() -> Problem:
    problem = DantzigSelector(X=np.eye(2), y=np.ones(2))
    object.__setattr__(problem, "scale", "neither")
    return problem


def _singles(sample: PathSample, rng: np.random.Generator) -> Iterator[Sample]:
    """Yield questions about values of lam on the path, and about one below its end."""
    places = [("low", 0.1), ("middle", 0.55), ("high", 1.25)]
    if isinstance(sample.problem, LADLasso):
        places.append(("unpenalised", 0.0))
    for place, share in places:
        lam = sample.end + share * (sample.top - sample.end) * float(rng.uniform(0.9, 1.1))
        yield Sample(
            f"{sample.name}-{place}",
            sample.problem,
            {"lam": lam},
            sample.optimum(lam),
            known_by=sample.known_by,
            scale=sample.scale,
        )
    if sample.stopped_by in _BELOW:
        name = sample.name.removesuffix("-below")
        status = _BELOW[sample.stopped_by]
        yield Sample(name, sample.problem, {"lam": sample.end / 2.0}, status=status)


def _path(sample: PathSample) -> Sample:
    """Return the question about the whole path, with all that it must be."""
    checks = {
        "covers": AnswerCheck(
            "the path is OPTIMAL and covers the asked range without a hole",
            partial(_covers, sample),
        ),
        "values": AnswerCheck(
            "objective_at is the known optimum at, between and above the knots",
            partial(_values, sample),
        ),
        "points": AnswerCheck(
            "at(lam), on both sides of every knot, is feasible and has the path's objective",
            partial(_points, sample),
        ),
        "last": AnswerCheck(
            "x, objective and bound of the result are those at the path's last lam",
            partial(_last, sample),
        ),
        "path-verdict": AnswerCheck(
            "the checker refutes nothing of a path, and verifies a certificate", _path_verdict
        ),
        "duals": AnswerCheck(
            "dual_at(lam), on both sides of every knot, proves the path's objective",
            partial(_duals, sample),
            needs=Feature.DUAL_BOUND,
        ),
        "agrees": AnswerCheck(
            "single solves agree with the path", partial(_agrees, sample), needs=Feature.SINGLE
        ),
    }
    if sample.lam_min > 0.0:
        checks["outside"] = AnswerCheck(
            "a value of lam outside the path's range raises ParamError", partial(_outside, sample)
        )
    return Sample(sample.name, sample.problem, {"lam_min": sample.lam_min}, checks=checks)


def _grid(sample: PathSample) -> Sample:
    """Return the question about four values of lam at once."""
    span = sample.top - sample.end
    lams = tuple(sample.end + share * span for share in (1.2, 0.7, 0.35, 0.0))
    checks = {
        "status": AnswerCheck("the grid is OPTIMAL, and the one that was asked for", _grid_status),
        "grid": AnswerCheck(
            "at each value the objective is the known optimum, attained by a feasible point",
            partial(_grid_values, sample),
        ),
        "grid-verdict": AnswerCheck(
            "the checker refutes nothing of a grid, and verifies a certificate", _path_verdict
        ),
    }
    return Sample(f"{sample.name}-grid", sample.problem, {"lam": lams}, checks=checks)


def _lams(sample: PathSample, path: ParametricPath) -> list[float]:
    """Return knots, points between them, and points above them all, in the path's range."""
    knots = [float(knot) for knot in path.knots]
    between = [(a + b) / 2.0 for a, b in pairwise(knots)]
    above = [max(knots[0], sample.top) * factor for factor in (1.01, 1.5)]
    return [*knots, *between, *above]


def _covers(sample: PathSample, answer: CheckedAnswer) -> None:
    path, result = answer.path(ParametricPath), answer.result
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


def _values(sample: PathSample, answer: CheckedAnswer) -> None:
    path = answer.path(ParametricPath)
    for lam in _lams(sample, path):
        value, known = path.objective_at(lam), sample.optimum(lam)
        require(
            close(value, known, _REL_GAP, sample.scale),
            f"objective_at({lam!r}) is {value!r}, the optimum is {known!r} ({sample.known_by})",
        )


def _points(sample: PathSample, answer: CheckedAnswer) -> None:
    path, problem = answer.path(ParametricPath), sample.problem
    for lam in _lams(sample, path):
        value = path.objective_at(lam)
        for side, theta in zip(("above", "below"), path.at(lam, side="both"), strict=True):
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


def _duals(sample: PathSample, answer: CheckedAnswer) -> None:
    path, program = answer.path(ParametricPath), sample.problem.canonical()
    for lam in _lams(sample, path):
        value = path.objective_at(lam)
        for side, nu in zip(("above", "below"), path.dual_at(lam, side="both"), strict=True):
            bound = sample.problem.canonical_sign * program.dual_value(nu, lam)
            require(
                close(bound, value, _REL_GAP, sample.scale),
                f"dual_at({lam!r}, {side!r}) has the dual value {bound!r}, objective_at is "
                f"{value!r}",
            )


def _last(sample: PathSample, answer: CheckedAnswer) -> None:
    result, path = answer.result, answer.path(ParametricPath)
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
            close(value, path.objective_at(end), _REL_GAP, sample.scale),
            f"{name} is {value!r}, objective_at({end!r}) is {path.objective_at(end)!r}",
        )


def _path_verdict(answer: CheckedAnswer) -> None:
    result = answer.result
    said = f"{result.verdict}: {'; '.join(result.check_messages)}"
    require(result.verdict is not Verdict.REFUTED, said)
    if Feature.CERTIFICATE in answer.backend.features:
        require(result.verdict is Verdict.VERIFIED, said)


def _agrees(sample: PathSample, answer: CheckedAnswer) -> None:
    path = answer.path(ParametricPath)
    knots = path.knots
    for lam in (float(knots[-1]), float(knots[len(knots) // 2]), (sample.end + sample.top) / 2.0):
        single = solve(sample.problem, backend=answer.backend, lam=lam, check=False)
        value = path.objective_at(lam)
        require(
            close(single.objective, value, _REL_GAP, sample.scale),
            f"at lam={lam!r} a single solve finds {single.objective!r}, the path {value!r}",
        )


def _outside(sample: PathSample, answer: CheckedAnswer) -> None:
    lam = sample.lam_min / 2.0
    try:
        answer.path(ParametricPath).at(lam)
    except ParamError:
        return
    require(False, f"at({lam}) answered, the path ends at {sample.lam_min}")


def _grid_status(answer: CheckedAnswer) -> None:
    grid, asked = answer.path(GridPath), answer.sample.question["lam"]
    expected = {Status.OPTIMAL} if answer.exact else {Status.OPTIMAL, Status.CONVERGED}
    require(
        answer.result.status in expected,
        f"status is {answer.result.status.value}: {'; '.join(answer.result.check_messages)}",
    )
    require(tuple(grid.knots) == asked, f"the grid is {grid.knots}, asked for {asked}")


def _grid_values(sample: PathSample, answer: CheckedAnswer) -> None:
    grid = answer.path(GridPath)
    for lam in answer.sample.question["lam"]:
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
