"""What a solver must offer to be interchangeable: :class:`Backend`."""

from __future__ import annotations

import importlib.util
import logging
import signal
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from numbers import Real
from types import FrameType
from typing import Any, ClassVar

import numpy as np

from sparseopt.blas import blas_threads, threads_for
from sparseopt.compiling import Waits, waits
from sparseopt.errors import (
    BackendError,
    BackendUnavailable,
    ParamError,
    SparseOptError,
    UnsupportedProblem,
)
from sparseopt.params import LARGEST_INTEGER, QUESTIONS, SolveParams, shown
from sparseopt.problems.base import Problem
from sparseopt.result import Limit, Result, Status

logger = logging.getLogger("sparseopt")

API_VERSION = 1
"""Version of this contract; a third-party backend states the one it was written for."""


_PROBLEMS: Mapping[str, str] = {
    "lam": "parametric problems",
    "budget": "problems with a budget",
    "size": "problems with a number of nonzeros",
}
"""Which problems have a parameter."""

_COUNTS: Mapping[str, str] = {"node_limit": "node limit", "iteration_limit": "iteration limit"}
"""Limits of SolveParams that are for some backends only, and what they are called."""


class Feature(StrEnum):
    """What a backend can do with the problems of its families."""

    EXACT = "exact"
    """Its OPTIMAL is an optimum of the problem."""
    RELAXATION = "relaxation"
    """It solves a relaxation: a bound, and a point made from it."""
    HEURISTIC = "heuristic"
    """It finds good points, without a proof."""

    SINGLE = "single"
    """It answers for one lam."""
    GRID = "grid"
    """It answers for several values of lam."""
    PATH = "path"
    """It answers for a whole range."""

    WARM_START = "warm_start"
    """It uses ``control.warm_start``."""
    CALLBACK = "callback"
    """It reports to ``control.progress``."""
    DUAL_BOUND = "dual_bound"
    """Its results have a bound of the optimum."""
    CERTIFICATE = "certificate"
    """Its claims come with evidence that the checker verifies."""


@dataclass(frozen=True)
class Availability:
    """Whether a backend can run here, and if not, why and what to do."""

    available: bool
    reason: str = ""
    version: str | None = None


@dataclass(frozen=True)
class Option:
    """A typed, documented option of one backend.

    Parameters
    ----------
    type : type
        bool, int, float or str.
    default : value of that type
    doc : str
        One sentence.
    choices : tuple, optional
        The only values allowed.
    low : float, optional
        The smallest value allowed.
    """

    type: type
    default: Any
    doc: str
    choices: tuple[Any, ...] | None = None
    low: float | None = None

    def convert(self, name: str, value: Any) -> Any:
        """Return `value` as this option's type; strings from the command line are parsed.

        Raises
        ------
        ParamError
            When the value does not fit.
        """
        expected = self.type.__name__ if self.choices is None else f"one of {self.choices}"
        if self.low is not None:
            expected += f" >= {self.low:g}"
        error = ParamError(f"option {name} must be {expected}, got {shown(value)}")
        if self.type is bool and isinstance(value, str):
            word = value.lower()
            if word not in ("true", "false", "1", "0", "yes", "no"):
                raise error
            value = word in ("true", "1", "yes")
        elif isinstance(value, bool) is not (self.type is bool):
            raise error
        try:
            converted = self.type(value)
        except (TypeError, ValueError, OverflowError) as cause:
            raise error from cause
        if self.type is int:
            # int() cuts off what comes after the point of a number, whatever its type.
            exact = isinstance(value, str) or (isinstance(value, Real) and converted == value)
            if not exact or abs(converted) > LARGEST_INTEGER:
                raise error
        if self.type is float and converted != converted:
            raise error
        if self.choices is not None and converted not in self.choices:
            raise error
        if self.low is not None and converted < self.low:
            raise error
        return converted


@dataclass(frozen=True)
class Progress:
    """A sign of life of a long solve.

    Attributes
    ----------
    seconds : float
    text : str
        Short, for a person.
    fraction : float or None
        In [0, 1], where it can be estimated.
    objective, bound : float or None
        Of the incumbent, and proven, in the problem's own sense.
    nodes, open : int or None
        Of a tree search: done, and waiting.
    x : array of shape (n,) or None
        The incumbent, a copy; engines for MISDP state it.
    """

    seconds: float
    text: str
    fraction: float | None = None
    objective: float | None = None
    bound: float | None = None
    nodes: int | None = None
    open: int | None = None
    x: np.ndarray[Any, Any] | None = None


class Cancel:
    """Ends solves from another thread, with what they know by then.

    A solve that is given the token ends as at Ctrl-C: with the limit INTERRUPTED, and its incumbent
    where there is one. A token may be given to several solves, and stays cancelled.

    Examples
    --------
    >>> from sparseopt import Cancel
    >>> token = Cancel()
    >>> token.cancelled
    False
    >>> token.cancel()  # in a thread, while solve(..., cancel=token) runs in another
    >>> token.cancelled
    True
    """

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """End the solves that have this token; from any thread, as often as one likes."""
        self._event.set()

    @property
    def cancelled(self) -> bool:
        """Whether :meth:`cancel` has been called."""
        return self._event.is_set()


@dataclass
class Control:
    """What a running solve looks at: the clock, interruptions, the warm start, the listener.

    Attributes
    ----------
    params : SolveParams
    warm_start : object or None
        A previous :class:`Result` or a point; a backend without WARM_START never sees one.
    on_progress : callable or None
        The listener; it ends the solve by returning False, or by an exception.
    cancel : Cancel or None
        The caller's token.
    up : callable or None
        Maps a point of what a backend works on to one of the problem, for the listener.
    unit : float
        What a backend's objective values are multiples of, for the listener.
    raised : Exception or None
        What the listener raised. It would not get through the foreign code of a solver's callbacks:
        the solve ends as an interrupted one, and :meth:`Backend.solve` raises it then.
    """

    params: SolveParams
    warm_start: Any = None
    on_progress: Callable[[Progress], object] | None = None
    cancel: Cancel | None = None
    up: Callable[[Any], Any] | None = None
    unit: float = 1.0
    raised: Exception | None = None
    started: float = field(default_factory=time.perf_counter)
    build_time: float = 0.0
    excluded: float = 0.0
    notes: list[str] = field(default_factory=list)
    _reported: float = field(default_factory=time.perf_counter)
    _interrupted: bool = False
    _waits: Waits = field(default_factory=waits)
    _waits_before: float = field(default_factory=lambda: waits().seconds)

    @property
    def _waited(self) -> float:
        return self._waits.seconds - self._waits_before

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C, the listener or the caller's token has ended the solve.

        It returns what it has at the next :meth:`limit`.
        """
        return self._interrupted or (self.cancel is not None and self.cancel.cancelled)

    @interrupted.setter
    def interrupted(self, value: bool) -> None:
        self._interrupted = value

    @property
    def elapsed(self) -> float:
        """Seconds since the start, without imports and compilation."""
        return time.perf_counter() - self.started - self.excluded - self._waited

    @property
    def remaining(self) -> float | None:
        """Seconds left of the time limit, never negative; None without a limit."""
        limit = self.params.time_limit
        return None if limit is None else max(0.0, limit - self.elapsed)

    def limit(self) -> Limit | None:
        """Return the limit that has been reached, if any; cheap enough for every iteration."""
        if self.interrupted:
            return Limit.INTERRUPTED
        limit = self.params.time_limit
        if limit is not None and self.elapsed >= limit:
            return Limit.TIME
        return None

    def progress(self, text: str, every: float = 0.2, **details: Any) -> None:
        """Report to the listener, at most once in `every` seconds; its False ends the solve.

        So does an exception of the listener, which hears no more after it.
        """
        if self.on_progress is None or self.raised is not None:
            return
        now = time.perf_counter()
        if now - self._reported >= every:
            self._reported = now
            if details.get("x") is not None:
                x = np.array(details["x"])
                details["x"] = x if self.up is None else np.array(self.up(x))
            for name in ("objective", "bound"):
                if name in details:
                    details[name] = self.in_unit(details[name])
            try:
                ended = self.on_progress(Progress(self.elapsed, text, **details)) is False
            except Exception as error:
                self.raised, ended = error, True
            if ended:
                self.interrupted = True

    def in_unit(self, value: float | None) -> float | None:
        """Return an objective value in the user's unit."""
        return None if value is None else value * self.unit

    @contextmanager
    def building(self) -> Iterator[None]:
        """Charge the enclosed work to the build time."""
        begin = time.perf_counter()
        try:
            yield
        finally:
            self.build_time += time.perf_counter() - begin

    @contextmanager
    def uncounted(self) -> Iterator[None]:
        """Leave the enclosed imports or compilation out of every time."""
        begin, before = time.perf_counter(), self._waited
        try:
            yield
        finally:
            self.excluded += time.perf_counter() - begin - (self._waited - before)


def check_listener(on_progress: object) -> None:
    """Raise a ParamError unless a listener of a long work can be called, or is None.

    Parameters
    ----------
    on_progress : object
    """
    if on_progress is not None and not callable(on_progress):
        raise ParamError(
            f"on_progress is {shown(on_progress)}; expected a function that is called with each "
            "report, such as print, or None"
        )


class Backend(ABC):
    """A solver behind the common interface.

    A subclass sets the class attributes and writes :meth:`_solve`, which translates the problem,
    calls the solver, and translates back. This class does all that backends have in common:
    validation, options, threads, times, Ctrl-C, and the mapping of foreign exceptions.

    Attributes
    ----------
    name : str
        What users type.
    summary : str
        One line for listings.
    requires : tuple of str
        Import names of packages that must be there.
    distribution : str or None
        The first of them as package registries call it, where that is another name.
    extra : str or None
        The extra of sparseopt that installs them.
    families : frozenset of str
        Names of the families of problems that it takes; see :mod:`sparseopt.families`.
    features : frozenset of Feature
    limits : frozenset of str
        Which of "node_limit" and "iteration_limit" it keeps; of others a note says that they were
        ignored.
    options : mapping of str to Option
    api_version : int
        The :data:`API_VERSION` it was written for.
    """

    name: ClassVar[str]
    summary: ClassVar[str] = ""
    requires: ClassVar[tuple[str, ...]] = ()
    distribution: ClassVar[str | None] = None
    extra: ClassVar[str | None] = None
    families: ClassVar[frozenset[str]] = frozenset()
    features: ClassVar[frozenset[Feature]]
    limits: ClassVar[frozenset[str]] = frozenset()
    options: ClassVar[Mapping[str, Option]] = {}
    api_version: ClassVar[int] = API_VERSION
    factorises: ClassVar[bool] = False
    """Whether the time goes into factorisations of whole matrices, so that BLAS gets all threads
    by default where these are large; else it has one."""

    # ---- what is there

    def availability(self) -> Availability:
        """Return whether the packages are installed, without importing any of them."""
        missing = [name for name in self.requires if importlib.util.find_spec(name) is None]
        if missing:
            names = " and ".join(missing)
            how = f"pip install 'sparseopt[{self.extra}]'" if self.extra else f"pip install {names}"
            return Availability(False, f"{names} is not installed: {how}")
        return Availability(True, version=self._version())

    def license_status(self) -> str:
        """Describe the licence, asking the solver where needed; may import it."""
        return "open source, no licence needed"

    def _version(self) -> str | None:
        name = self.distribution or (self.requires[0] if self.requires else None)
        return None if name is None else _installed_version(name)

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Return whether the backend takes the problem, and if not, why."""
        if problem.family in self.families:
            return True, ""
        example = "" if problem.kind == problem.family else f" such as {problem.kind}"
        return False, f"{self.name} does not take {problem.family} problems{example}"

    # ---- the one entry point

    def solve(
        self,
        problem: Problem,
        params: SolveParams | None = None,
        options: Mapping[str, Any] | None = None,
        warm_start: Any = None,
        on_progress: Callable[[Progress], object] | None = None,
        cancel: Cancel | None = None,
    ) -> Result:
        """Solve `problem`; the caller (:func:`sparseopt.solve`) runs the checker.

        Raises
        ------
        ProblemError, ParamError, BackendUnavailable, UnsupportedProblem
            When the call cannot be meant so.
        BackendError
            When the solver itself failed; its exception is the cause.
        Exception
            What `on_progress` raised, once the solver has ended.
        """
        params = params or SolveParams()
        problem.validate()
        chosen = self._convert_options(options or {})
        availability = self.availability()
        if not availability.available:
            raise BackendUnavailable(f"backend {self.name} cannot run: {availability.reason}")
        supported, reason = self.supports(problem)
        if not supported:
            raise UnsupportedProblem(reason)
        self._check_question(problem, params)
        if cancel is not None and not isinstance(cancel, Cancel):
            raise ParamError(f"cancel must be a sparseopt.Cancel, got {shown(cancel)}")
        check_listener(on_progress)
        control = Control(params=params, on_progress=on_progress, cancel=cancel)
        if warm_start is not None:
            if Feature.WARM_START in self.features:
                control.warm_start = warm_start
            else:
                control.notes.append(f"{self.name} takes no warm start; it was ignored")
        self.note_limits(control)
        # What a rounding to zero or an overflow does is the algorithm's affair, not that of the
        # caller's np.seterr: these are NumPy's own settings.
        usual = np.errstate(divide="warn", over="warn", under="ignore", invalid="warn")
        entries = problem.entries if self.factorises else 0
        blas = blas_threads(threads_for(params.threads, entries))
        with _interruptible(control), _heard(control), blas, usual:
            result = self._guarded(problem.posed(params), params, chosen, control)
        if result.limit is not None:
            ended = (self.name, problem.kind, result.limit.value, control.elapsed)
            logger.info("%s on %s: ended by the limit %s after %.3g s", *ended)
        versions = {"sparseopt": _installed_version("sparseopt") or "not installed"}
        if availability.version and self.requires:
            versions[self.requires[0]] = availability.version
        return result.with_changes(
            build_time=control.build_time,
            solve_time=max(0.0, control.elapsed - control.build_time),
            params=params,
            options=chosen,
            backend=self.name,
            versions={**versions, **result.versions},
            problem=problem,
            kind=problem.kind,
            notes=(*control.notes, *result.notes),
        ).frozen()

    def note_limits(self, control: Control) -> None:
        """Add a note about each limit of nodes or iterations that is asked for and not kept.

        :meth:`solve` calls this, and so does a backend that lets another one do its work.
        """
        for name, limit in _COUNTS.items():
            if getattr(control.params, name) is not None and name not in self.limits:
                control.notes.append(f"{self.name} takes no {limit}; it was ignored")

    def _guarded(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        try:
            result: object = self._solve(problem, params, options, control)
        except SparseOptError:
            raise
        except KeyboardInterrupt:
            return Result(
                status=Status.NO_SOLUTION, limit=Limit.INTERRUPTED, raw_status="KeyboardInterrupt"
            )
        except MemoryError:
            return Result(status=Status.NO_SOLUTION, limit=Limit.MEMORY, raw_status="MemoryError")
        except Exception as error:
            raise BackendError(f"{self.name} failed: {type(error).__name__}: {error}") from error
        if not isinstance(result, Result):
            raise BackendError(f"{self.name} returned {result!r:.80}; expected a Result")
        return result

    @abstractmethod
    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        """Translate, call, translate back.

        `control` holds the clock, Ctrl-C, the warm start and the listener. The result's times,
        params, backend, versions and problem are filled in by the caller.
        """

    def _check_question(self, problem: Problem, params: SolveParams) -> None:
        """Refuse a question about a path, a grid or a value that the features do not cover."""
        for parameter, names in QUESTIONS.items():
            for name in names:
                if parameter != problem.parameter and getattr(params, name) is not None:
                    raise ParamError(
                        f"{name} is for {_PROBLEMS[parameter]}, not for {problem.kind}"
                    )
        missing = self._missing(problem, params)
        if missing:
            raise UnsupportedProblem(missing)

    def answers(self, problem: Problem, params: SolveParams) -> tuple[bool, str]:
        """Return whether the backend takes the problem and the question, and if not, why."""
        supported, reason = self.supports(problem)
        if not supported:
            return False, reason
        missing = self._missing(problem, params)
        return not missing, missing

    def takes_family(self, problem: Problem) -> bool:
        """Return whether it takes other problems of this family."""
        return problem.family in self.families

    def unsuited(self, problem: Problem, params: SolveParams) -> str:
        """Return why ``backend="auto"`` should pass over it, though it could; "" to take it.

        The place for limits of size that users may cross by asking for the backend by name.
        """
        return ""

    def _missing(self, problem: Problem, params: SolveParams) -> str:
        """Return why the features do not cover the question about the parameter; "" if they do."""
        asked = problem.asked(params)
        if problem.parameter == "lam":
            single = Feature.SINGLE if isinstance(asked, float) else Feature.GRID
            needed = Feature.PATH if asked is None else single
        elif problem.parameter == "size" and isinstance(asked, tuple):
            needed = Feature.PATH
        else:
            return ""
        if needed in self.features:
            return ""
        return f"{self.name} does not solve for a {needed.value} of {problem.parameter}"

    def _convert_options(self, given: Mapping[str, Any]) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            raise ParamError(f"options must be a mapping of names to values, got {given!r}")
        unknown = sorted(set(given) - set(self.options), key=str)
        if unknown:
            known = ", ".join(sorted(self.options)) or "none"
            raise ParamError(f"backend {self.name} has no option {unknown[0]!r}; it has: {known}")
        defaults = {name: option.default for name, option in self.options.items()}
        converted = {name: self.options[name].convert(name, value) for name, value in given.items()}
        return {**defaults, **converted}


@cache
def _installed_version(distribution: str) -> str | None:
    from importlib import metadata

    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


@contextmanager
def _heard(control: Control) -> Iterator[None]:
    """Raise at the end what the listener raised, whatever the solver made of it."""
    try:
        yield
    finally:
        if control.raised is not None:
            raise control.raised


@contextmanager
def _interruptible(control: Control) -> Iterator[None]:
    """Turn the first Ctrl-C into ``control.interrupted``; a second one raises."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    pressed = False

    def handle(signum: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = control.interrupted = True

    previous = signal.signal(signal.SIGINT, handle)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)
