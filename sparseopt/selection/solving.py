"""Paths for selection: solved, and made sure to be there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from sparseopt.api import solve, with_verdict
from sparseopt.backend import Backend
from sparseopt.errors import BackendError, ParamError
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, Problem
from sparseopt.registry import get_backend
from sparseopt.result import Limit, Result
from sparseopt.workers import in_workers

_TIES = "where several coefficients are optimal, the vertex that the path's basis has there counts"


def solve_path(
    problem: Problem, what: str, backend: Any, options: Mapping[str, Any] | None, **question: Any
) -> Result:
    """Solve for a path without the checker.

    Parameters
    ----------
    problem : Problem
    what : str
        Whose path it is, for messages.
    backend : str or Backend
    options : mapping, optional
        Of the backend.
    **question
        Fields of SolveParams.

    Returns
    -------
    Result

    Raises
    ------
    BackendError
        When there is no path; `what` says whose.
    KeyboardInterrupt
        When the solve was interrupted: a part of the paths answers nothing.
    """
    result = solve(problem, backend=backend, options=options, check=False, **question)
    if result.limit is Limit.INTERRUPTED:
        raise KeyboardInterrupt
    if not isinstance(result.path, ParametricPath | ColumnwisePath) or not len(result.path):
        raise BackendError(
            f"{what} has no path: {result.backend} says {result.status.value} ({result.raw_status})"
        )
    return result


def solve_paths(
    tasks: Iterable[tuple[Problem, str, Mapping[str, Any]]],
    backend: str | Backend,
    options: Mapping[str, Any] | None,
    n_jobs: int = 1,
) -> Iterator[ParametricPath]:
    """Yield the exact paths of several problems of one kind, in order.

    Parameters
    ----------
    tasks : iterable of (Problem, str, mapping)
        The problem, whose path it is, and fields of SolveParams; see :func:`solve_path`.
    backend, options
        As for :func:`solve_path`.
    n_jobs : int, default 1
        See :func:`in_workers`.
    """
    if n_jobs != 1:
        yield from in_workers(_path_of, ((*task, backend, options) for task in tasks), n_jobs)
        return
    for problem, what, question in tasks:
        solved = solve_path(problem, what, backend, options, **question)
        backend = settled(backend, solved)
        yield exact_path(solved)


def _path_of(
    problem: Problem, what: str, question: Mapping[str, Any], backend: Any, options: Any
) -> ParametricPath:
    return exact_path(solve_path(problem, what, backend, options, **question))


def settled(backend: str | Backend, result: Result) -> Backend:
    """Return the backend that gave the result, for more solves of the same kind.

    Looking a name up reads the entry points of all installed packages, about a millisecond.

    Parameters
    ----------
    backend : str or Backend
        What the user asked for.
    result : Result
        Of the first solve.

    Returns
    -------
    Backend
    """
    return get_backend(result.backend) if isinstance(backend, str) else backend


def path_result(
    problem: Problem,
    result: Result | None,
    backend: Any,
    options: Mapping[str, Any] | None,
    lam_min: float | None,
    check: bool,
) -> Result:
    """Return the path of the whole data: the one that is given, or a new one.

    Parameters
    ----------
    problem : Problem
    result : Result, optional
        With the problem's path.
    backend : str or Backend
    options : mapping, optional
        Of the backend.
    lam_min : float, optional
        Where a new path ends.
    check : bool
        Whether a new path is checked.

    Returns
    -------
    Result
    """
    if result is None:
        question = {} if lam_min is None else {"lam_min": lam_min}
        solved = solve_path(problem, "the problem", backend, options, **question)
        if not check:
            return solved
        judged = with_verdict(problem, solved)
        if not judged.status.has_answer:
            raise BackendError(f"the checker refutes the path: {'; '.join(judged.check_messages)}")
        return judged
    if result.path is None or result.path.kind == "grid":
        exact_path(result)
    if result.instance != problem.fingerprint():
        raise ParamError("the result belongs to another problem: solve this one first")
    length = len(problem.coefficient_names)  # type: ignore[attr-defined]
    if isinstance(result.path, ParametricPath) and result.path.shape[1] != length:
        raise ParamError(
            f"the path has {result.path.shape[1]} coefficients and the problem {length}: give the "
            "path of this problem"
        )
    return result


def exact_path(result: Result) -> ParametricPath:
    """Return the result's path.

    Parameters
    ----------
    result : Result

    Returns
    -------
    ParametricPath

    Raises
    ------
    ParamError
        When it is no exact path.
    """
    if not isinstance(result.path, ParametricPath):
        held = "no path" if result.path is None else f"a {result.path.kind} path"
        raise ParamError(
            f"the result holds {held}; lam is chosen on an exact path: solve without lam=, or with "
            "lam_min="
        )
    return result.path


def rounded_off(path: ParametricPath, end: float = 0.0) -> Array:
    """Return the sizes up to which each coefficient is rounding for zero, shape (p,).

    A coefficient that reaches zero at a knot is there what is left of a subtraction.

    Parameters
    ----------
    path : ParametricPath
    end : float, default 0
        Knots below it do not count: where constraints can all but be met, coefficients may be as
        large as 1e15.

    Returns
    -------
    array of shape (p,)
    """
    largest = np.zeros(path.shape[1])
    theta = path.theta.rows(slice(0, max(1, int((path.low >= end).sum()))))
    np.maximum.at(largest, theta.index, np.abs(theta.value))
    return np.asarray(np.maximum(1e-10 * largest, 1e-14 * largest.max(initial=0.0)))


def nonzero_entries(path: ParametricPath) -> tuple[Array, Array, Array]:
    """Return which entries of ``path.theta`` are nonzero.

    Parameters
    ----------
    path : ParametricPath

    Returns
    -------
    segment : int array of shape (entries,)
    at_low, inside : bool arrays of shape (entries,)
        Whether the entry is nonzero at the segment's lower end; anywhere in it.
    """
    theta = path.theta
    segment = np.repeat(np.arange(len(path.low)), np.diff(theta.ptr))
    level = rounded_off(path)[theta.index]
    width = np.where(theta.rate != 0.0, (path.high - path.low)[segment], 0.0)
    at_low = np.abs(theta.value) > level
    return segment, at_low, at_low | (np.abs(theta.value + width * theta.rate) > level)


def ties(problem: Any) -> tuple[str, ...]:
    """Return the rule for values of lam at which the minimiser is not unique, as notes.

    With a piecewise-linear loss of classes that happens on whole intervals of lam: the rule that a
    result follows is then part of it. Another backend, or another order of the data, may have
    another vertex there.

    Parameters
    ----------
    problem : Problem
    """
    return (_TIES,) if problem.kind == "l1-svm" else ()
