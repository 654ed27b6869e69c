"""Problems with known answers, and what every answer to one of them must be."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from sparseopt.api import check, solve
from sparseopt.backend import Backend, Feature
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.result import Result, Status, Verdict
from sparseopt.testing.cases import Check, ConformanceCase, NotMet, require

FEASIBILITY = 1e-7
"""Largest violation of a constraint, relative to the sample's scale. It is the same for all
backends: one that cannot meet it declares RELAXATION or HEURISTIC instead of EXACT."""


@dataclass(frozen=True)
class AnswerCheck:
    """One statement about an answer.

    Attributes
    ----------
    asserts : str
        One sentence.
    run : callable
        Takes a :class:`CheckedAnswer`, and raises :class:`~sparseopt.testing.NotMet` when the
        statement is false.
    needs : Feature, optional
        Backends without this feature are not asked.
    """

    asserts: str
    run: Callable[[CheckedAnswer], None]
    needs: Feature | None = None


@dataclass(frozen=True)
class Sample:
    """A problem and a question about it, whose answer is known: one solve of the suite.

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
    checks : mapping of str to AnswerCheck, optional
        What the answer must be, by name, where it is no single point: a path, a grid. By default
        the checks of single answers.
    needs : Feature, optional
        Backends without this feature are not asked.
    """

    name: str
    problem: Problem
    question: Mapping[str, Any] = field(default_factory=dict)
    optimum: float | None = None
    status: Status = Status.OPTIMAL
    known_by: str = ""
    scale: float = 1.0
    checks: Mapping[str, AnswerCheck] | None = None
    needs: Feature | None = None

    def suits(self, backend: Backend) -> bool:
        """Return whether the backend takes the problem and the question."""
        if self.needs is not None and self.needs not in backend.features:
            return False
        return backend.answers(self.problem, SolveParams(**self.question))[0]


@dataclass(frozen=True)
class FamilySamples:
    """What the suite asks about one family of problems.

    Attributes
    ----------
    samples : tuple of Sample
        Small ones, with known answers. Behaviour is tried on the first that a backend takes.
    large : tuple of Sample
        What takes a naive solver longer than 0.1 s, for limits and interruptions; no answer need be
        known. The first that a backend takes is used.
    refused : tuple of Sample
        Questions that cannot be meant so: the backend must raise ParamError.
    invalid : callable or None
        Returns a problem of the family whose content was made invalid after construction.
    apart : mapping of str to FamilySamples
        Further samples by a word, such as "path", on which behaviour is tried, too; their names
        begin with ``family-word/``.
    """

    samples: tuple[Sample, ...]
    large: tuple[Sample, ...] = ()
    refused: tuple[Sample, ...] = ()
    invalid: Callable[[], Problem] | None = None
    apart: Mapping[str, FamilySamples] = field(default_factory=dict)

    def suiting(self, backend: Backend) -> FamilySamples:
        """Return the part that the backend takes, without those apart."""
        samples, large, refused = (
            tuple(sample for sample in group if sample.suits(backend))
            for group in (self.samples, self.large, self.refused)
        )
        return FamilySamples(samples, large, refused, self.invalid)

    def and_also(self, other: FamilySamples) -> FamilySamples:
        """Return both together, these first."""
        return FamilySamples(
            (*self.samples, *other.samples),
            (*self.large, *other.large),
            (*self.refused, *other.refused),
            self.invalid or other.invalid,
            {**self.apart, **other.apart},
        )


_Path = TypeVar("_Path")


class CheckedAnswer:
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

    def path(self, expected: type[_Path]) -> _Path:
        """Return the result's path, which must be of the expected type."""
        path = self.result.path
        if not isinstance(path, expected):
            raise NotMet(f"result.path is {type(path).__name__}, expected a {expected.__name__}")
        return path


def close(a: float | None, b: float | None, rel_gap: float, scale: float = 1.0) -> bool:
    """Return whether two values agree within the gap asked for, or within 1e-9 of the scale.

    Parameters
    ----------
    a, b : float or None
        None is close to nothing.
    rel_gap : float
        Relative to the larger of the two.
    scale : float
        Size of the terms of both. Default: 1.

    Returns
    -------
    bool
    """
    if a is None or b is None:
        return False
    return abs(a - b) <= max(rel_gap * max(abs(a), abs(b)), 1e-9 * scale)


def same_array(a: Array | None, b: Array | None) -> bool:
    """Return whether two arrays are both absent or equal bit by bit.

    Parameters
    ----------
    a, b : array or None

    Returns
    -------
    bool
    """
    if a is None or b is None:
        return a is b
    return np.array_equal(a, b)


def answer_case(family: str, backend: Backend, sample: Sample) -> ConformanceCase:
    """Return the case that solves a sample and checks the answer.

    Parameters
    ----------
    family : str
    backend : Backend
    sample : Sample

    Returns
    -------
    ConformanceCase
        Solved when its first check runs.
    """
    answer, name = CheckedAnswer(backend, sample), f"{family}/{sample.name}"
    checks = _SINGLE if sample.checks is None else sample.checks
    if sample.checks is None and sample.status is not Status.OPTIMAL:
        checks = {key: _SINGLE[key] for key in ("status", "verdict", "filled", "saved")}
    return ConformanceCase(
        name,
        tuple(
            Check(f"{name}/{key}", statement.asserts, partial(statement.run, answer))
            for key, statement in checks.items()
            if statement.needs is None or statement.needs in backend.features
        ),
        solve=lambda: answer.result,
    )


def _status(answer: CheckedAnswer) -> None:
    result, expected = answer.result, answer.sample.status
    require(result.limit is None, f"limit is {result.limit} though none was asked for")
    allowed = {expected} if answer.exact else {expected, Status.CONVERGED}
    require(
        result.status in allowed,
        f"status is {result.status.value} ({result.raw_status}; "
        f"{'; '.join(result.check_messages)}), expected {expected.value}",
    )


def _objective(answer: CheckedAnswer) -> None:
    result, sample = answer.result, answer.sample
    require(result.x is not None and result.objective is not None, "no x or no objective")
    assert result.x is not None
    own = sample.problem.objective(result.x, result.last_lam)
    require(
        close(result.objective, own, 1e-9, sample.scale),
        f"objective is {result.objective}, the problem's objective of x is {own}",
    )


def _feasible(answer: CheckedAnswer) -> None:
    for name, violation in answer.result.residuals().items():
        require(
            violation <= FEASIBILITY * answer.sample.scale,
            f"{name} is violated by {violation:g} at the scale {answer.sample.scale:g}",
        )
    require(answer.result.x is not None, "there is no x")


def _optimum(answer: CheckedAnswer) -> None:
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


def _bound(answer: CheckedAnswer) -> None:
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


def _gap(answer: CheckedAnswer) -> None:
    result = answer.result
    if not answer.exact or Feature.DUAL_BOUND not in answer.backend.features:
        return
    require(
        close(result.objective, result.bound, result.params.rel_gap, answer.sample.scale),
        f"objective {result.objective!r} and bound {result.bound!r} do not meet",
    )


def _verdict(answer: CheckedAnswer) -> None:
    result = answer.result
    said = f"{result.verdict}: {'; '.join(result.check_messages)}"
    require(result.verdict is not Verdict.REFUTED, said)
    if answer.exact and Feature.CERTIFICATE in answer.backend.features:
        require(result.verdict is Verdict.VERIFIED, said)


def _filled(answer: CheckedAnswer) -> None:
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


def _saved(answer: CheckedAnswer) -> None:
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


_SINGLE: Mapping[str, AnswerCheck] = {
    "status": AnswerCheck(
        "without a limit the status is the known one, and no limit is set", _status
    ),
    "objective": AnswerCheck("the objective is the problem's own objective of x", _objective),
    "feasible": AnswerCheck("x violates no constraint by more than 1e-7 of the scale", _feasible),
    "optimum": AnswerCheck(
        "the objective is the known optimum, or no better where inexact", _optimum
    ),
    "bound": AnswerCheck("the bound is on the right side of the known optimum", _bound),
    "gap": AnswerCheck("an exact backend with a dual bound closes the gap that was asked", _gap),
    "verdict": AnswerCheck("the checker refutes nothing, and verifies a certificate", _verdict),
    "filled": AnswerCheck(
        "backend, params, versions, kind, times and instance are filled in", _filled
    ),
    "saved": AnswerCheck(
        "saved and loaded, the result states the same and checks the same", _saved
    ),
}
"""What must be true of every single answer, whatever the family."""
