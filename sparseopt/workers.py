"""Work in several processes, or machines, through joblib."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, CancelledError
from itertools import islice
from typing import Any

from sparseopt.errors import BackendError, ParamError

_LOSSES = 3
"""Times in a row that workers may be lost before anything more is done."""


def in_workers(
    function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_jobs: int = 1
) -> Iterator[Any]:
    """Yield ``function(*task)`` for each task, in order.

    Parameters
    ----------
    function : callable
        Of a module, so that another process finds it.
    tasks : iterable of tuple
    n_jobs : int, default 1
        How many at a time, as joblib counts: -1 is one for each processor. joblib's backends apply,
        Dask's among them; 1 needs no joblib.

    Raises
    ------
    ParamError
        When `n_jobs` is 0, or joblib is missing.
    """
    if n_jobs == 1:
        for task in tasks:
            yield function(*task)
        return
    parallel, delayed = _joblib(n_jobs)
    yield from parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(function)(*task) for task in tasks
    )


def surviving(
    function: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...] | None],
    wanted: Iterable[int],
    n_jobs: int = 1,
    backend: str = "",
) -> Iterator[tuple[int, Any]]:
    """Yield ``k, function(*arguments(k))`` for each k that is wanted, as they end.

    A worker that is killed costs what it was doing, which is done again: by Dask itself elsewhere
    (and by us, where Dask cancels answers), and with joblib's processes, which then all end, by new
    ones.

    Parameters
    ----------
    function : callable
        Of a module. Large arrays among its arguments go to each worker once.
    arguments : callable
        Asked when k is about to begin; None, from which on nothing more begins.
    wanted : iterable of int
    n_jobs : int, default 1
        As for :func:`in_workers`.
    backend : str, default ""
        Which of joblib's backends; the configured one by default.

    Raises
    ------
    ParamError
        When `n_jobs` is 0, joblib is missing, or has no such backend.
    BackendError
        When workers are lost several times in a row with nothing done in between.
    """
    left = list(wanted)
    if n_jobs == 1:
        for k in left:
            task = arguments(k)
            if task is None:
                return
            yield k, function(*task)
        return
    _, delayed = _joblib(n_jobs)
    losses = 0
    while left:
        done: set[int] = set()
        tasks = _begun(delayed(_numbered), function, arguments, left)
        try:
            for k, answer in _answers(tasks, n_jobs, backend):
                done.add(k)
                yield k, answer
            return
        except (BrokenExecutor, CancelledError) as error:
            # Dask cancels an answer that its worker held while it was killed.
            losses = 1 if done else losses + 1
            left = [k for k in left if k not in done]
            if losses > _LOSSES:
                raise BackendError(
                    f"workers were lost {losses} times in a row, with {len(left)} tasks left (is "
                    f"there too little memory for {n_jobs} of them?): {error}"
                ) from error


def _joblib(n_jobs: int) -> tuple[Any, Any]:
    if n_jobs == 0:
        raise ParamError("n_jobs is 0; expected 1 or more, or -1 for all processors")
    try:
        from joblib import Parallel, delayed
    except ImportError as error:
        raise ParamError("n_jobs needs joblib: pip install joblib") from error
    return Parallel, delayed


def _numbered(k: int, function: Callable[..., Any], *task: Any) -> tuple[int, Any]:
    return k, function(*task)


def _begun(
    call: Callable[..., Any],
    function: Callable[..., Any],
    arguments: Callable[[int], tuple[Any, ...] | None],
    left: list[int],
) -> Iterator[Any]:
    for k in left:
        task = arguments(k)
        if task is None:
            return
        yield call(k, function, *task)


def _answers(tasks: Iterator[Any], n_jobs: int, backend: str) -> Iterator[Any]:
    """Yield what the tasks return; few of them, and so few arguments, are made at a time."""
    try:
        run = _parallel(n_jobs, backend, return_as="generator_unordered")
    except ValueError:
        # Ray's workers answer all at once.
        run = _parallel(n_jobs, backend)
        while wave := list(islice(tasks, run.n_jobs if n_jobs < 0 else n_jobs)):
            yield from run(wave)
        return
    yield from run(tasks)


def _parallel(n_jobs: int, backend: str, **more: Any) -> Any:
    """Return joblib's Parallel; Dask it knows by name only where a configuration names it."""
    from joblib import Parallel, parallel_config

    if not backend:
        return Parallel(n_jobs=n_jobs, batch_size=1, **more)
    try:
        configured = parallel_config(backend=backend)
    except ValueError as error:
        raise ParamError(f"joblib has no backend {backend!r}: {error}") from None
    with configured:
        return Parallel(n_jobs=n_jobs, batch_size=1, **more)
