"""The public verbs: load, save, solve, check, backends."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from os import PathLike
from typing import Any

from sparseopt.backend import Backend, Cancel, Feature, Progress
from sparseopt.checking.run import check as run_check
from sparseopt.errors import BackendError, ParamError, UnsupportedProblem
from sparseopt.io import load_problem, save_problem, save_result
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.registry import backend_names, get_backend
from sparseopt.result import Limit, Result, Status, Verdict

logger = logging.getLogger("sparseopt")


def load(path: str | PathLike[str], *, b_bar: str | None = None) -> Problem:
    """Read a problem from a file; the format is chosen by the ending (.npz, .mps, .cbf, .dat-s).

    Parameters
    ----------
    path : path
        Its ending may be followed by .gz, save for .npz.
    b_bar : str, optional
        Name of the RHS set of an MPS file by others that is b_bar, the slope of the right-hand
        side.

    Returns
    -------
    Problem

    Raises
    ------
    ProblemError
        When the file is unreadable, damaged, of an unknown version, or holds no valid problem.
    """
    return load_problem(path, b_bar=b_bar)


def save(what: Problem | Result, path: str | PathLike[str], **header: Any) -> None:
    """Write a problem or a result to a file.

    Parameters
    ----------
    what : Problem or Result
    path : path
        Of a problem the ending chooses the format: .npz, .mps, .cbf, .dat-s. A result is written
        as versioned JSON, with the ending .json.
    **header
        Facts for the header of a problem's file: name, license, citation, generator, reference.

    Raises
    ------
    ProblemError
        When the ending or a header entry is unknown, the format cannot hold it, or the file
        cannot be written.
    ParamError
        When `what` is neither, or header facts are given for a result.
    """
    if isinstance(what, Result):
        if header:
            raise ParamError(f"a result's file has no header entry {next(iter(header))!r}")
        save_result(what, path)
    elif isinstance(what, Problem):
        save_problem(what, path, **header)
    else:
        raise ParamError(f"save takes a Problem or a Result, got {type(what).__name__}")


def check(problem: Problem, result: Result, *, rel_gap: float | None = None) -> Any:
    """Verify a result against its problem by arithmetic alone; trusts no backend.

    Parameters
    ----------
    problem : Problem
    result : Result
        Hostile input: whatever is wrong with its evidence is a refutation, not an exception.
    rel_gap : float, optional
        The relative gap that OPTIMAL may leave, instead of the gaps that the result was asked for.

    Returns
    -------
    CheckReport
        With `verdict`, `residuals` and `messages`.

    Raises
    ------
    ParamError
        When the arguments are something else.
    ProblemError
        When the result is of another problem.
    """
    given: tuple[Any, Any] = (problem, result)
    if not (isinstance(given[0], Problem) and isinstance(given[1], Result)):
        names = " and ".join(type(each).__name__ for each in given)
        raise ParamError(f"check takes a Problem and a Result, got {names}")
    return run_check(problem, result, rel_gap=rel_gap)


def solve(
    problem: Problem,
    *,
    backend: str | Backend = "auto",
    params: SolveParams | None = None,
    options: Mapping[str, Any] | None = None,
    warm_start: Any = None,
    on_progress: Callable[[Progress], object] | None = None,
    cancel: Cancel | None = None,
    check: bool = True,
    **question: Any,
) -> Result:
    """Solve a problem and check the answer.

    Parameters
    ----------
    problem : Problem
    backend : str or Backend, default "auto"
        "auto" takes the first available backend that can answer, our own engines first. Where its
        arithmetic fails (it finds nothing, or a single value that the checker refutes), the next
        one goes on; the notes say so.
    params : SolveParams, optional
    options : mapping, optional
        Options of the chosen backend.
    warm_start : Result or array, optional
        A good answer to begin with: finite numbers of the shape of ``result.x``.
    on_progress : callable, optional
        Called with a :class:`~sparseopt.backend.Progress` every fraction of a second. When it
        returns False the solve ends as at Ctrl-C: with the incumbent and ``Limit.INTERRUPTED``.
        When it raises, the solve ends, too, and its exception is raised.
    cancel : Cancel, optional
        A token by which another thread ends the solve in the same way.
    check : bool, default True
        Run the independent checker; a refuted answer gets the status IMPRECISE.
    **question
        Fields of :class:`~sparseopt.params.SolveParams`: lam, lam_min, time_limit, ...

    Returns
    -------
    Result

    Raises
    ------
    ProblemError, ParamError, BackendNotFound, UnsupportedProblem, BackendError

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> problem = sparseopt.problems.DantzigSelector(X=np.eye(2), y=[3.0, 1.0])
    >>> result = sparseopt.solve(problem, lam=1.0)
    >>> result.status.value, result.x.tolist(), result.verdict.value
    ('optimal', [2.0, 0.0], 'verified')
    """
    if not isinstance(problem, Problem):
        raise ParamError(
            f"solve takes a Problem, got {type(problem).__name__}; read a file with sparseopt.load"
        )
    asked = _params(params, question)
    notes: tuple[str, ...] = ()
    if backend == "auto":
        engine, why = _choose(problem, asked)
        notes = (why,)
    else:
        engine = get_backend(backend) if isinstance(backend, str) else backend
        if not isinstance(engine, Backend):
            made = isinstance(backend, type) and issubclass(backend, Backend)
            hint = f": give an instance, {backend.__name__}()" if made else ""
            raise ParamError(f"backend must be a name or a Backend, got {backend!r}{hint}")
    result = engine.solve(problem, asked, options, warm_start, on_progress, cancel)
    auto = backend == "auto"
    stuck = auto and result.limit is Limit.SLOW_PROGRESS and result.x is None
    notes = (*notes, *result.notes, *problem.remarks())
    result = result.with_changes(notes=notes)
    if check:
        result = with_verdict(problem, result)
        stuck |= auto and result.verdict is Verdict.REFUTED and asked.lam is not None
    return _go_on(problem, result, engine, on_progress, cancel, check) if stuck else result


def _go_on(
    problem: Problem,
    result: Result,
    engine: Backend,
    on_progress: Callable[[Progress], object] | None,
    cancel: Cancel | None,
    check: bool,
) -> Result:
    """Let the next backend try, after one whose arithmetic failed; the better result counts."""
    params = result.params
    left = params
    if params.time_limit is not None:
        spent = result.build_time + result.solve_time
        left = replace(params, time_limit=max(params.time_limit - spent, 0.0))
    try:
        other, _ = _choose(problem, params, after=engine.name)
        found = other.solve(problem, left, None, None, on_progress, cancel)
    except (UnsupportedProblem, BackendError) as error:
        logger.info("%s: no backend goes on after %s: %s", problem.kind, engine.name, error)
        return result
    failure = "was refuted" if result.x is not None else f"could not go on ({result.raw_status})"
    why = f"{engine.name} {failure}; {other.name} went on"
    logger.info("%s: %s", problem.kind, why)
    found = found.with_changes(params=params, notes=(*result.notes, why, *found.notes))
    if check:
        found = with_verdict(problem, found)
        if found.verdict is Verdict.REFUTED:
            return result
    return found


def _params(params: SolveParams | None, question: Mapping[str, Any]) -> SolveParams:
    unknown = sorted(set(question) - set(SolveParams.names()))
    if unknown:
        raise ParamError(
            f"unknown parameter {unknown[0]!r}; there are: {', '.join(SolveParams.names())}"
        )
    if params is None:
        return SolveParams(**question)
    if question:
        raise ParamError("give either params or single parameters, not both")
    if not isinstance(params, SolveParams):
        raise ParamError(f"params must be a SolveParams, got {type(params).__name__}")
    return params


def _choose(problem: Problem, params: SolveParams, after: str | None = None) -> tuple[Backend, str]:
    """Take the first backend, of those `after` one, that is available and answers the question."""
    reasons = []
    passed_over = []
    names = backend_names(problem.family)
    for name in names[names.index(after) + 1 :] if after in names else names:
        try:
            engine = get_backend(name)
        except BackendError as error:
            reasons.append(str(error))
            continue
        supported, reason = engine.answers(problem, params)
        if not supported:
            reasons.append(reason)
            if engine.supports(problem)[0] or engine.takes_family(problem):
                passed_over.append(reason)
            continue
        availability = engine.availability()
        reason = f"{name}: {availability.reason}"
        if availability.available:
            reason = engine.unsuited(problem, params)
            if not reason:
                why = f"backend auto chose {name}: {engine.summary or 'the first that fits'}"
                logger.info("%s: %s", problem.kind, why)
                return engine, "; passed over: ".join([why, *passed_over[:1]])
        reasons.append(reason)
        passed_over.append(reason)
    others = [name for name in backend_names() if name not in names]
    if others:
        reasons.append(f"{', '.join(others)} take no {problem.family} problems")
    raise UnsupportedProblem(f"no backend can solve {problem.kind}: " + "; ".join(reasons))


def with_verdict(problem: Problem, result: Result) -> Result:
    """Run the checker and return the result with its verdict.

    Parameters
    ----------
    problem : Problem
        The one that was solved.
    result : Result

    Returns
    -------
    Result
        With `verdict`, `check_messages` and `check_time`. A refuted one has the status IMPRECISE
        and no limit.

    Raises
    ------
    ProblemError
        When the result belongs to another instance.
    """
    begin = time.perf_counter()
    report = check(problem, result)
    status, limit = result.status, result.limit
    if report.verdict is Verdict.REFUTED:
        status, limit = Status.IMPRECISE, None
    return result.with_changes(
        status=status,
        limit=limit,
        verdict=report.verdict,
        check_messages=tuple(report.messages),
        check_time=time.perf_counter() - begin,
    )


@dataclass(frozen=True)
class BackendInfo:
    """One row of :func:`backends`."""

    name: str
    summary: str
    available: bool
    reason: str
    version: str | None
    features: tuple[Feature, ...]
    supports: bool | None = None
    license: str | None = None


def backends(problem: Problem | None = None, *, licenses: bool = False) -> list[BackendInfo]:
    """List all registered backends, without importing any solver package.

    Parameters
    ----------
    problem : Problem, optional
        State for each whether it takes this problem.
    licenses : bool, default False
        Ask those that are available for the state of their licences, which does import them.

    Raises
    ------
    ParamError
        When `problem` is none.
    """
    if problem is not None and not isinstance(problem, Problem):
        raise ParamError(f"backends takes a Problem, got {type(problem).__name__}")
    rows = []
    for name in backend_names():
        try:
            engine = get_backend(name)
        except BackendError as error:
            rows.append(BackendInfo(name, "", False, str(error), None, ()))
            continue
        availability = engine.availability()
        supports, why = (None, "") if problem is None else engine.supports(problem)
        rows.append(
            BackendInfo(
                name=name,
                summary=engine.summary,
                available=availability.available,
                reason=availability.reason or why,
                version=availability.version,
                features=tuple(f for f in Feature if f in engine.features),
                supports=supports,
                license=_license(engine) if licenses and availability.available else None,
            )
        )
    return rows


def _license(engine: Backend) -> str:
    """Return the state of a backend's licence, or why it is unknown."""
    try:
        return engine.license_status()
    except Exception as error:
        return f"unknown: {type(error).__name__}: {error}"
