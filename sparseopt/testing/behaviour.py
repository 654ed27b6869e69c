"""How a backend must behave around the solve, whatever the family."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.api import check, solve
from sparseopt.backend import Backend, Feature, Progress
from sparseopt.errors import ParamError, ProblemError, SparseOptError, UnsupportedProblem
from sparseopt.problems.base import Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Limit, Result, Status, Verdict
from sparseopt.testing.cases import ConformanceCase, require
from sparseopt.testing.samples import Sample, close, same_array

__all__ = ["FamilySamples", "behaviour_cases"]

_GRACE = 0.5
"""Seconds by which a solve may exceed its time limit."""
_LIMIT = 0.05
_TRIES = 4
"""Solves of which the shortest must keep the limit: a busy machine holds up one or another."""
_REACTION = 2.0
"""Seconds that a solve may take to end after Ctrl-C."""
_ANSWERED = {Status.OPTIMAL, Status.CONVERGED}


@dataclass(frozen=True)
class FamilySamples:
    """What the suite asks about one family of problems.

    Attributes
    ----------
    samples : tuple of Sample
        Small ones, with known answers.
    large : Problem or None
        One that takes a naive solver longer than 0.1 s, for limits and interruptions.
    large_question : mapping
        Fields of SolveParams for `large`.
    invalid : callable or None
        Returns a problem of the family whose content was made invalid after construction.
    """

    samples: tuple[Sample, ...]
    large: Problem | None = None
    large_question: Mapping[str, Any] = field(default_factory=dict)
    invalid: Callable[[], Problem] | None = None


class _Alien(STRS):
    """A problem of a family that no backend knows (of no kind of its own: it has no files)."""

    family = "conformance"


def behaviour_cases(
    family: str, backend: Backend, given: FamilySamples
) -> Iterator[ConformanceCase]:
    """Yield the cases that are about behaviour rather than about an answer."""
    sample = given.samples[0]
    cases: dict[str, tuple[str, Callable[[], None]]] = {
        "unknown-option": (
            "an option that it does not have raises ParamError and names it",
            lambda: _unknown_option(backend, sample),
        ),
        "unsupported": (
            "a problem of a family that it does not declare raises UnsupportedProblem",
            lambda: _unsupported(backend),
        ),
        "unchanged": (
            "a solve leaves the problem as it was",
            lambda: _unchanged(backend, sample),
        ),
        "deterministic": (
            "two solves with one seed return the same, bit by bit",
            lambda: _deterministic(backend, sample),
        ),
        "warm-start": (
            "a warm start is used, or ignored with a note; the answer stays the same",
            lambda: _warm_start(backend, sample),
        ),
        "one-thread": (
            "threads=1 gives the same optimum",
            lambda: _one_thread(backend, sample),
        ),
        "other-thread": (
            "a solve outside the main thread works",
            lambda: _other_thread(backend, sample),
        ),
        "quiet": (
            "a solve that is not verbose prints nothing",
            lambda: _quiet(backend, sample),
        ),
    }
    if given.invalid is not None:
        make = given.invalid
        cases["invalid"] = (
            "a problem whose content became invalid raises ProblemError",
            lambda: _invalid(backend, make()),
        )
    if given.large is not None:
        large, question = given.large, given.large_question
        cases["time-limit"] = (
            "within 0.5 s of a tiny time limit it returns Limit.TIME and a valid part, or is done; "
            "the shortest of four solves counts",
            lambda: _time_limit(backend, sample, large, question),
        )
        cases["interrupt"] = (
            "Ctrl-C ends it with Limit.INTERRUPTED and what is known, or it is done",
            lambda: _interrupt(backend, sample, large, question),
        )
        cases["progress"] = (
            "a listener gets Progress objects with growing times, and does not change the status",
            lambda: _progress(backend, large, question),
        )
    for key, (asserts, run) in cases.items():
        yield ConformanceCase(f"{family}/{key}", asserts, run)


def _raises(expected: type[SparseOptError], call: Callable[[], object]) -> SparseOptError:
    try:
        outcome = call()
    except expected as error:
        return error
    require(False, f"expected {expected.__name__}, got {outcome!r}")
    raise AssertionError  # pragma: no cover - require has raised


def _unknown_option(backend: Backend, sample: Sample) -> None:
    error = _raises(
        ParamError,
        lambda: backend.solve(sample.problem, options={"no_such_option": 1}),
    )
    require("no_such_option" in str(error), f"the message does not name the option: {error}")


def _unsupported(backend: Backend) -> None:
    _raises(UnsupportedProblem, lambda: backend.solve(_Alien(A=np.eye(1), d=1)))


def _invalid(backend: Backend, problem: Problem) -> None:
    _raises(ProblemError, lambda: backend.solve(problem))


def _unchanged(backend: Backend, sample: Sample) -> None:
    before = sample.problem.fingerprint()
    solve(sample.problem, backend=backend, check=False, **sample.question)
    require(sample.problem.fingerprint() == before, "the solve changed the problem's content")


def _deterministic(backend: Backend, sample: Sample) -> None:
    first, second = (
        solve(sample.problem, backend=backend, seed=7, check=False, **sample.question)
        for _ in range(2)
    )
    for name in ("status", "objective", "bound", "iterations", "nodes"):
        a, b = getattr(first, name), getattr(second, name)
        require(a == b, f"{name} was {a!r}, then {b!r}")
    require(same_array(first.x, second.x), "x differs between the two solves")


def _warm_start(backend: Backend, sample: Sample) -> None:
    cold = solve(sample.problem, backend=backend, check=False, **sample.question)
    warm = solve(sample.problem, backend=backend, warm_start=cold, **sample.question)
    require(
        close(warm.objective, cold.objective, cold.params.rel_gap, sample.scale)
        and warm.status is cold.status,
        f"cold {cold.status.value} {cold.objective!r}, warm {warm.status.value} {warm.objective!r}",
    )
    noted = any("warm start" in note for note in warm.notes)
    if Feature.WARM_START not in backend.features:
        require(noted, "the warm start was ignored without a note")


def _one_thread(backend: Backend, sample: Sample) -> None:
    plain = solve(sample.problem, backend=backend, check=False, **sample.question)
    single = solve(sample.problem, backend=backend, check=False, threads=1, **sample.question)
    require(
        close(plain.objective, single.objective, plain.params.rel_gap, sample.scale),
        f"{plain.objective!r} with default threads, {single.objective!r} with one",
    )


def _other_thread(backend: Backend, sample: Sample) -> None:
    outcome: list[Result | BaseException] = []

    def work() -> None:
        try:
            outcome.append(solve(sample.problem, backend=backend, **sample.question))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    require(result.status in {*_ANSWERED, sample.status}, f"status is {result.status.value}")


def _quiet(backend: Backend, sample: Sample) -> None:
    with _captured() as texts:
        solve(sample.problem, backend=backend, check=False, **sample.question)
    require(texts == [""], f"it printed {texts[0][:200]!r}")


def _time_limit(
    backend: Backend, sample: Sample, large: Problem, question: Mapping[str, Any]
) -> None:
    # The first solve imports and compiles, which the limit does not count.
    solve(sample.problem, backend=backend, check=False, **sample.question)
    took: list[float] = []
    while len(took) < _TRIES and min(took, default=np.inf) > _LIMIT + _GRACE:
        begin = time.perf_counter()
        result = solve(large, backend=backend, time_limit=_LIMIT, check=False, **question)
        took.append(time.perf_counter() - begin)
        _partial(large, result, Limit.TIME)
    seconds = min(took)
    require(
        seconds <= _LIMIT + _GRACE,
        f"it returned after {seconds:.2f} s at best of {_TRIES} solves, asked for {_LIMIT} s",
    )


def _interrupt(
    backend: Backend, sample: Sample, large: Problem, question: Mapping[str, Any]
) -> None:
    require(
        threading.current_thread() is threading.main_thread(),
        "this case needs the main thread: Python delivers signals there only",
    )
    solve(sample.problem, backend=backend, check=False, **sample.question)
    # A Ctrl-C that comes after the solve must not end the test run.
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    pressed: list[float] = []

    def press() -> None:
        pressed.append(time.perf_counter())
        os.kill(os.getpid(), signal.SIGINT)

    timer = threading.Timer(_LIMIT, press)
    try:
        timer.start()
        result = solve(large, backend=backend, time_limit=30.0, check=False, **question)
        ended = time.perf_counter()
    finally:
        timer.cancel()
        timer.join()
        signal.signal(signal.SIGINT, previous)
    if result.status not in _ANSWERED:
        require(bool(pressed), "it ended before Ctrl-C, without an answer")
        seconds = ended - pressed[0]
        require(seconds <= _REACTION, f"it returned {seconds:.2f} s after Ctrl-C")
    _partial(large, result, Limit.INTERRUPTED)


def _partial(problem: Problem, result: Result, limit: Limit) -> None:
    """Require a finished answer, or one that the limit cut short and that the checker accepts."""
    if result.status not in _ANSWERED:
        require(
            result.limit is limit,
            f"status {result.status.value} with limit {result.limit}, expected {limit.value}",
        )
    report = check(problem, result)
    require(
        report.verdict is not Verdict.REFUTED,
        f"the checker refutes the partial answer: {'; '.join(report.messages)}",
    )


def _progress(backend: Backend, large: Problem, question: Mapping[str, Any]) -> None:
    heard: list[Progress] = []
    result = solve(
        large, backend=backend, time_limit=1.0, on_progress=heard.append, check=False, **question
    )
    require(all(isinstance(sign, Progress) for sign in heard), "it sent something else")
    times = [sign.seconds for sign in heard]
    require(times == sorted(times), f"the times do not grow: {times}")
    fractions = [sign.fraction for sign in heard if sign.fraction is not None]
    require(all(0.0 <= f <= 1.0 for f in fractions), f"fractions outside [0, 1]: {fractions}")
    require(
        result.status in _ANSWERED or result.limit is Limit.TIME,
        f"status {result.status.value} with limit {result.limit}",
    )


@contextlib.contextmanager
def _captured() -> Iterator[list[str]]:
    """Collect what is written to standard output, by Python or by a library under it."""
    texts: list[str] = []
    sys.stdout.flush()
    kept = os.dup(1)
    python = io.StringIO()
    with tempfile.TemporaryFile() as sink:
        os.dup2(sink.fileno(), 1)
        try:
            with contextlib.redirect_stdout(python):
                yield texts
        finally:
            os.dup2(kept, 1)
            os.close(kept)
            sink.seek(0)
            texts.append(python.getvalue() + sink.read().decode(errors="replace"))
