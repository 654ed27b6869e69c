"""How a backend must behave around the solve, whatever the family."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any

import numpy as np

from sparseopt.api import check, solve
from sparseopt.backend import Backend, Feature, Progress
from sparseopt.errors import ParamError, ProblemError, SparseOptError, UnsupportedProblem
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.strs.problem import STRS
from sparseopt.result import Limit, Result, Status, Verdict
from sparseopt.testing.cases import Check, ConformanceCase, require
from sparseopt.testing.clock import own_time
from sparseopt.testing.samples import FamilySamples, Sample, close, same_array

_GRACE = 0.5
"""Seconds by which a solve may exceed its time limit."""
_LIMIT = 0.05
_TRIES = 4
"""Solves of which the quickest counts: a busy machine delays some."""
_REACTION = 2.0
"""Seconds that a solve may take to end after Ctrl-C."""
_ANSWERED = {Status.OPTIMAL, Status.CONVERGED}


class _Alien(STRS):
    """A problem of a family and of a kind that no backend takes; it has no files."""

    family = "conformance"


_Alien.kind = "conformance"
"""Set here, since a kind in the class's body would be one that files may have."""


def behaviour_cases(
    family: str, backend: Backend, given: FamilySamples
) -> Iterator[ConformanceCase]:
    """Yield the cases that are about behaviour rather than about an answer.

    Parameters
    ----------
    family : str
    backend : Backend
    given : FamilySamples
        What the backend takes, at least one sample.
    """
    usual = _Usual(backend, given.samples[0])
    cases: dict[str, tuple[str, Callable[[], None]]] = {
        "unknown-option": (
            "an option that it does not have raises ParamError and names it",
            lambda: _unknown_option(usual),
        ),
        "unsupported": (
            "a problem of a family that it does not declare raises UnsupportedProblem",
            lambda: _unsupported(backend),
        ),
        "unchanged": ("a solve leaves the problem as it was", lambda: _unchanged(usual)),
        "deterministic": (
            "two solves with one seed return the same, bit by bit",
            lambda: _deterministic(usual),
        ),
        "warm-start": (
            "a warm start is used, or ignored with a note; the answer stays the same; where it is "
            "used, another shape and infinite entries raise ParamError",
            lambda: _warm_start(usual),
        ),
        "one-thread": ("threads=1 gives the same optimum", lambda: _one_thread(usual)),
        "other-thread": (
            "a solve outside the main thread works",
            lambda: _other_thread(usual),
        ),
        "quiet": ("a solve that is not verbose prints nothing", lambda: _quiet(usual)),
    }
    for sample in given.refused:
        cases[sample.name] = (
            "a question that cannot be meant so raises ParamError",
            partial(_refused, backend, sample),
        )
    if given.invalid is not None:
        make = given.invalid
        cases["invalid"] = (
            "a problem whose content became invalid raises ProblemError",
            lambda: _invalid(backend, make()),
        )
    if given.large:
        large = given.large[0]
        cases["time-limit"] = (
            "within 0.5 s of a tiny time limit it returns Limit.TIME and a valid part, or is done; "
            "by its own times, and the shortest of four solves counts",
            lambda: _time_limit(usual, large),
        )
        cases["interrupt"] = (
            "within 2 s of Ctrl-C it returns Limit.INTERRUPTED and what is known, or it is done; "
            "the quickest of four solves counts",
            lambda: _interrupt(usual, large),
        )
        cases["progress"] = (
            "a listener gets Progress objects with growing times, and does not change the status",
            lambda: _progress(backend, large),
        )
    for key, (asserts, run) in cases.items():
        name = f"{family}/{key}"
        yield ConformanceCase(name, (Check(name, asserts, run),))


class _Usual:
    """A backend, a sample, and the answer to it when nothing special is asked."""

    def __init__(self, backend: Backend, sample: Sample) -> None:
        self.backend = backend
        self.sample = sample

    def solve(self, **special: Any) -> Result:
        """Solve the sample again, unchecked, with `special` keywords of :func:`sparseopt.solve`."""
        given = {"check": False, **self.sample.question, **special}
        return solve(self.sample.problem, backend=self.backend, **given)

    @cached_property
    def result(self) -> Result:
        """The plain answer, unchecked; it is solved once, by who asks first."""
        return self.solve()


def _raises(expected: type[SparseOptError], call: Callable[[], object]) -> SparseOptError:
    try:
        outcome = call()
    except expected as error:
        return error
    require(False, f"expected {expected.__name__}, got {outcome!r}")
    raise AssertionError  # pragma: no cover - require has raised


def _unknown_option(usual: _Usual) -> None:
    error = _raises(
        ParamError,
        lambda: usual.backend.solve(usual.sample.problem, options={"no_such_option": 1}),
    )
    require("no_such_option" in str(error), f"the message does not name the option: {error}")


def _unsupported(backend: Backend) -> None:
    _raises(UnsupportedProblem, lambda: backend.solve(_Alien(A=np.eye(1), d=1)))


def _refused(backend: Backend, sample: Sample) -> None:
    _raises(
        ParamError, lambda: solve(sample.problem, backend=backend, check=False, **sample.question)
    )


def _invalid(backend: Backend, problem: Problem) -> None:
    _raises(ProblemError, lambda: backend.solve(problem))


def _unchanged(usual: _Usual) -> None:
    before = usual.sample.problem.fingerprint()
    usual.solve()
    require(usual.sample.problem.fingerprint() == before, "the solve changed the problem's content")


def _deterministic(usual: _Usual) -> None:
    first, second = usual.solve(seed=7), usual.solve(seed=7)
    for name in ("status", "objective", "bound", "iterations", "nodes"):
        a, b = getattr(first, name), getattr(second, name)
        require(a == b, f"{name} was {a!r}, then {b!r}")
    require(same_array(first.x, second.x), "x differs between the two solves")


def _warm_start(usual: _Usual) -> None:
    cold = usual.result
    warm = usual.solve(warm_start=cold, check=True)
    require(
        close(warm.objective, cold.objective, cold.params.rel_gap, usual.sample.scale)
        and warm.status is cold.status,
        f"cold {cold.status.value} {cold.objective!r}, warm {warm.status.value} {warm.objective!r}",
    )
    noted = any("warm start" in note for note in warm.notes)
    if Feature.WARM_START not in usual.backend.features:
        require(noted, "the warm start was ignored without a note")
    elif not noted and cold.x is not None:
        _wrong_warm_starts(usual, np.asarray(cold.x, dtype=float))


def _wrong_warm_starts(usual: _Usual, point: Array) -> None:
    for start in (np.append(point.ravel(), 1.0), np.full(point.shape, np.inf)):
        error = _raises(ParamError, partial(usual.solve, warm_start=start))
        require("warm_start" in str(error), f"the message does not name warm_start: {error}")


def _one_thread(usual: _Usual) -> None:
    plain, single = usual.result, usual.solve(threads=1)
    require(
        close(plain.objective, single.objective, plain.params.rel_gap, usual.sample.scale),
        f"{plain.objective!r} with default threads, {single.objective!r} with one",
    )


def _other_thread(usual: _Usual) -> None:
    outcome: list[Result | BaseException] = []

    def work() -> None:
        try:
            outcome.append(usual.solve(check=True))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    result = outcome[0]
    if isinstance(result, BaseException):
        raise result
    require(result.status in {*_ANSWERED, usual.sample.status}, f"status is {result.status.value}")


def _quiet(usual: _Usual) -> None:
    with _captured() as texts:
        usual.solve()
    require(texts == [""], f"it printed {texts[0][:200]!r}")


def _time_limit(usual: _Usual, large: Sample) -> None:
    assert usual.result is not None
    took: list[float] = []
    while len(took) < _TRIES and min(took, default=np.inf) > _LIMIT + _GRACE:
        before = _held_up()
        result = solve(
            large.problem, backend=usual.backend, time_limit=_LIMIT, check=False, **large.question
        )
        held_up = _held_up() - before
        # What the limit does not count, imports in a child that was killed before, is not in these.
        took.append(result.build_time + result.solve_time - held_up)
        _partial(large.problem, result, Limit.TIME)
    seconds = min(took)
    require(
        seconds <= _LIMIT + _GRACE,
        f"it took {seconds:.2f} s at best of {_TRIES} solves, asked for {_LIMIT} s",
    )


def _interrupt(usual: _Usual, large: Sample) -> None:
    require(
        threading.current_thread() is threading.main_thread(),
        "this case needs the main thread: Python delivers signals there only",
    )
    assert usual.result is not None
    reactions: list[float] = []
    while len(reactions) < _TRIES and min(reactions, default=np.inf) > _REACTION:
        reactions.append(_reaction(usual.backend, large))
    seconds = min(reactions)
    require(
        seconds <= _REACTION,
        f"it returned {seconds:.2f} s after Ctrl-C at best of {_TRIES} solves",
    )


_PRESS = """
import os, signal, sys, time

print(flush=True)
sys.stdin.readline()
time.sleep(float(sys.argv[2]))
now = time.time()
os.kill(int(sys.argv[1]), signal.SIGINT)
print(now)
"""
"""The program that presses Ctrl-C. A thread could not while a solver holds Python's global lock."""


@contextlib.contextmanager
def _keyboard() -> Iterator[subprocess.Popen[str]]:
    """Give a process that presses Ctrl-C here, `_LIMIT` seconds after a line of input."""
    with subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", _PRESS, str(os.getpid()), str(_LIMIT)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdin is not None and process.stdout is not None
        process.stdout.readline()
        try:
            yield process
        finally:
            process.kill()


def _reaction(backend: Backend, large: Sample) -> float:
    """Return how many seconds after Ctrl-C a solve returns; 0 where it is done before."""
    # A Ctrl-C that comes after the solve must not end the test run.
    previous = signal.signal(signal.SIGINT, lambda *_: None)
    before = _held_up()
    try:
        with _keyboard() as keyboard:
            print(file=keyboard.stdin, flush=True)
            result = solve(
                large.problem, backend=backend, time_limit=30.0, check=False, **large.question
            )
            ended, held_up = time.time(), _held_up() - before
            if result.status not in _ANSWERED:
                assert keyboard.stdout is not None
                pressed = float(keyboard.stdout.readline())
                require(pressed <= ended, "it ended before Ctrl-C, without an answer")
    finally:
        signal.signal(signal.SIGINT, previous)
    _partial(large.problem, result, Limit.INTERRUPTED)
    return 0.0 if result.status in _ANSWERED else ended - pressed - held_up


def _held_up() -> float:
    """Return the seconds that this thread has waited for a processor, from some moment on."""
    return time.perf_counter() - own_time()


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


def _progress(backend: Backend, large: Sample) -> None:
    sent: list[Progress] = []
    result = solve(
        large.problem,
        backend=backend,
        time_limit=0.5,
        on_progress=sent.append,
        check=False,
        **large.question,
    )
    require(all(isinstance(sign, Progress) for sign in sent), "it sent something else")
    times = [sign.seconds for sign in sent]
    require(times == sorted(times), f"the times do not grow: {times}")
    fractions = [sign.fraction for sign in sent if sign.fraction is not None]
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
