"""Problems with known answers, and what every answer to one of them must be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.api import check, solve
from sparseopt.backend import Backend, Feature
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result, Status, Verdict
from sparseopt.testing.cases import ConformanceCase, require

__all__ = ["FEASIBILITY", "Answer", "Sample", "answer_cases", "close", "same_array"]

FEASIBILITY = 1e-7
"""Largest violation of a constraint, relative to the sample's scale. It is the same for all
backends: one that cannot meet it declares RELAXATION or HEURISTIC instead of EXACT."""


@dataclass(frozen=True)
class Sample:
    """A problem and a question about it, whose answer is known.

    Attributes
    ----------
    name : str
    problem : Problem
    question : mapping
        Fields of SolveParams.
    optimum : float or None
        The optimal value, for the status OPTIMAL.
    status : Status, default OPTIMAL
        What an exact backend must answer.
    known_by : str
        Where the answer comes from.
    scale : float, default 1
        Size of the constraints' values; violations are measured relative to it.
    """

    name: str
    problem: Problem
    question: Mapping[str, Any] = field(default_factory=dict)
    optimum: float | None = None
    status: Status = Status.OPTIMAL
    known_by: str = ""
    scale: float = 1.0


class Answer:
    """A backend's checked answer to a sample; solved when it is first looked at."""

    def __init__(self, backend: Backend, sample: Sample) -> None:
        self.backend = backend
        self.sample = sample

    @cached_property
    def result(self) -> Result:
        """The result with its verdict."""
        return solve(self.sample.problem, backend=self.backend, **self.sample.question)

    @property
    def exact(self) -> bool:
        """Whether the backend claims to find and prove optima."""
        return Feature.EXACT in self.backend.features


def close(a: float | None, b: float | None, rel_gap: float, scale: float = 1.0) -> bool:
    """Tell whether two values agree within the gap that was asked, or within 1e-9 of the scale."""
    if a is None or b is None:
        return False
    return abs(a - b) <= max(rel_gap * max(abs(a), abs(b)), 1e-9 * scale)


def same_array(a: Array | None, b: Array | None) -> bool:
    """Tell whether two arrays are both absent or equal bit by bit."""
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def answer_cases(prefix: str, answer: Answer) -> Iterator[ConformanceCase]:
    """Yield what must be true of every answer, whatever the family."""
    statements: dict[str, tuple[str, Callable[[Answer], None]]] = {
        "status": ("without a limit the status is the known one, and no limit is set", _status),
        "objective": ("the objective is the problem's own objective of x", _objective),
        "feasible": ("x violates no constraint by more than 1e-7 of the scale", _feasible),
        "optimum": ("the objective is the known optimum, or no better where inexact", _optimum),
        "bound": ("the bound is on the right side of the known optimum", _bound),
        "gap": ("an exact backend with a dual bound closes the gap that was asked", _gap),
        "verdict": ("the checker refutes nothing, and verifies a certificate", _verdict),
        "filled": ("backend, params, versions, kind, times and instance are filled in", _filled),
        "saved": ("saved and loaded, the result states the same and checks the same", _saved),
    }
    if answer.sample.status is not Status.OPTIMAL:
        statements = {key: statements[key] for key in ("status", "verdict", "filled", "saved")}
    for key, (asserts, statement) in statements.items():
        yield ConformanceCase(f"{prefix}/{key}", asserts, partial(statement, answer))


def _status(answer: Answer) -> None:
    result, expected = answer.result, answer.sample.status
    require(result.limit is None, f"limit is {result.limit} though none was asked for")
    allowed = {expected} if answer.exact else {expected, Status.CONVERGED}
    require(
        result.status in allowed,
        f"status is {result.status.value} ({result.raw_status}; "
        f"{'; '.join(result.check_messages)}), expected {expected.value}",
    )


def _objective(answer: Answer) -> None:
    result, sample = answer.result, answer.sample
    require(result.x is not None and result.objective is not None, "no x or no objective")
    assert result.x is not None
    own = sample.problem.objective(result.x, result.last_lam)
    require(
        close(result.objective, own, 1e-9, sample.scale),
        f"objective is {result.objective}, the problem's objective of x is {own}",
    )


def _feasible(answer: Answer) -> None:
    for name, violation in answer.result.residuals().items():
        require(
            violation <= FEASIBILITY * answer.sample.scale,
            f"{name} is violated by {violation:g} at the scale {answer.sample.scale:g}",
        )
    require(answer.result.x is not None, "there is no x")


def _optimum(answer: Answer) -> None:
    result, sample = answer.result, answer.sample
    objective, optimum = result.objective, sample.optimum
    require(objective is not None, "there is no objective")
    assert objective is not None and optimum is not None
    sign = 1.0 if sample.problem.sense == "min" else -1.0
    same = close(objective, optimum, result.params.rel_gap, sample.scale)
    worse = sign * objective >= sign * optimum
    require(
        same or (worse and not answer.exact),
        f"objective is {objective!r}, the optimum is {optimum!r} ({sample.known_by})",
    )


def _bound(answer: Answer) -> None:
    result, sample = answer.result, answer.sample
    if result.bound is None:
        require(
            Feature.DUAL_BOUND not in answer.backend.features,
            "no bound though DUAL_BOUND is declared",
        )
        return
    assert sample.optimum is not None
    sign = 1.0 if sample.problem.sense == "min" else -1.0
    slack = 1e-9 * max(sample.scale, abs(sample.optimum))
    require(
        sign * result.bound <= sign * sample.optimum + slack,
        f"bound is {result.bound!r}, the optimum is {sample.optimum!r} ({sample.known_by})",
    )


def _gap(answer: Answer) -> None:
    result = answer.result
    if not answer.exact or Feature.DUAL_BOUND not in answer.backend.features:
        return
    require(
        close(result.objective, result.bound, result.params.rel_gap, answer.sample.scale),
        f"objective {result.objective!r} and bound {result.bound!r} do not meet",
    )


def _verdict(answer: Answer) -> None:
    result = answer.result
    said = f"{result.verdict}: {'; '.join(result.check_messages)}"
    require(result.verdict is not Verdict.REFUTED, said)
    if answer.exact and Feature.CERTIFICATE in answer.backend.features:
        require(result.verdict is Verdict.VERIFIED, said)


def _filled(answer: Answer) -> None:
    result, sample = answer.result, answer.sample
    require(result.backend == answer.backend.name, f"backend is {result.backend!r}")
    require(result.kind == sample.problem.kind, f"kind is {result.kind!r}")
    for name, value in sample.question.items():
        require(getattr(result.params, name) == value, f"params.{name} is not {value!r}")
    require(set(result.options) == set(answer.backend.options), f"options: {result.options}")
    expected = {"sparseopt", *answer.backend.requires[:1]}
    require(expected <= set(result.versions), f"versions of {sorted(result.versions)} only")
    for name in ("build_time", "solve_time", "check_time"):
        seconds = getattr(result, name)
        require(np.isfinite(seconds) and seconds >= 0.0, f"{name} is {seconds}")
    require(result.instance == sample.problem.fingerprint(), "instance is another fingerprint")


def _saved(answer: Answer) -> None:
    from sparseopt.io.results import load_result

    result, problem = answer.result, answer.sample.problem
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "result.json"
        result.save(path)
        again = load_result(path)
        for name in ("status", "limit", "objective", "bound", "backend", "instance", "params"):
            require(
                getattr(again, name) == getattr(result, name),
                f"{name} is {getattr(again, name)!r} after loading, was {getattr(result, name)!r}",
            )
        require(same_array(again.x, result.x), "x is another one after loading")
        report = check(problem, again)
    require(
        report.verdict is result.verdict,
        f"{report.verdict} after loading ({'; '.join(report.messages)}), was {result.verdict}",
    )
