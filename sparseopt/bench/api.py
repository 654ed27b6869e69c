"""Comparing backends from Python: :func:`compare`."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.api import save
from sparseopt.bench.definitions.suite import BackendEntry, InstanceEntry, SolveLimits, Suite
from sparseopt.bench.records.frame import frame
from sparseopt.bench.running.run import plan_run, run
from sparseopt.errors import ParamError
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem

if TYPE_CHECKING:
    import pandas as pd

    from sparseopt.backend import Backend


def compare(
    problems: Problem | Iterable[Problem] | Mapping[str, Problem],
    backends: Sequence[str | type[Backend]] | Mapping[str, tuple[str, Mapping[str, Any]]],
    *,
    time_limit: float = 60.0,
    memory: float = 4e9,
    threads: int = 1,
    seeds: Sequence[int] = (0,),
    repeats: int = 1,
    parallel: int = 1,
    folder: str | PathLike[str] | None = None,
    **params: Any,
) -> pd.DataFrame:
    """Solve problems by several backends, each solve in a process of its own, and compare them.

    Times are wall times after a warm-up of compiled code; objectives, violations and verdicts are
    recomputed from the answers by the checker, never taken from the backends.

    Parameters
    ----------
    problems : Problem, iterable of them, or mapping of names to them
    backends : sequence, or mapping of labels to (name, options)
        Names, or Backend classes of modules that can be imported.
    time_limit : float, default 60.0
        Seconds for each solve; 10 seconds beyond them its process is killed.
    memory : float, default 4e9
        Bytes that a solve may have resident.
    threads : int, default 1
        Threads of each solve.
    seeds : sequence of int, default (0,)
        Seeds of the solvers.
    repeats : int, default 1
    parallel : int, default 1
        Solves at a time.
    folder : path, optional
        Keeps records and answers there, and goes on with a run that was ended. Default: nothing is
        kept.
    **params
        Other fields of :class:`~sparseopt.SolveParams`, the same for all: lam, lam_min, rel_gap...

    Returns
    -------
    DataFrame
        One row for each solve: instance, backend, outcome ("ok", "wrong", "timeout", "crash", ...),
        status, verdict, objective, best, excess, violation, gap, time, peak_memory, ...

    Raises
    ------
    ParamError
        When an argument is not what it must be.
    """
    asked = SolveParams(**params, time_limit=time_limit, threads=threads).to_dict()
    for name in ("time_limit", "threads"):
        asked.pop(name, None)
    entries = _entries(backends)
    named = _named(problems)
    with tempfile.TemporaryDirectory(prefix="sparseopt-compare-") as name:
        place = Path(name)
        instances = []
        for k, (label, problem) in enumerate(named.items()):
            path = place / f"{k}.npz"
            save(problem, path, name=label[:200])
            instances.append(InstanceEntry(file=path, name=label))
        suite = Suite(
            name="compare",
            instances=tuple(instances),
            backends=entries,
            seeds=tuple(seeds),
            repeats=repeats,
            limits=SolveLimits(time=float(time_limit), memory=int(memory), threads=threads),
            params=asked,
            python_path=tuple(Path(entry or ".").resolve() for entry in sys.path)
            if any(entry.reference for entry in entries)
            else (),
        )
        plan = plan_run(suite, place / "run" if folder is None else folder)
        return frame(run(plan, parallel=parallel))


def _named(
    problems: Problem | Iterable[Problem] | Mapping[str, Problem],
) -> dict[str, Problem]:
    if isinstance(problems, Mapping):
        named = {str(name): problem for name, problem in problems.items()}
    else:
        listed = [problems] if isinstance(problems, Problem) else list(problems)
        named = {f"{k}: {problem!r}": problem for k, problem in enumerate(listed)}
    for problem in named.values():
        if not isinstance(problem, Problem):
            raise ParamError(f"problems holds {problem!r:.80}; expected problems of sparseopt")
    if not named:
        raise ParamError("problems is empty; expected at least one problem")
    return named


def _entries(
    backends: Sequence[str | type[Backend]] | Mapping[str, tuple[str, Mapping[str, Any]]],
) -> tuple[BackendEntry, ...]:
    if isinstance(backends, str) or not backends:
        raise ParamError(f"backends is {backends!r}; expected a list of names")
    if isinstance(backends, Mapping):
        return tuple(
            BackendEntry(name=name, label=label, options=dict(options))
            for label, (name, options) in backends.items()
        )
    return tuple(_entry(backend) for backend in backends)


def _entry(backend: object) -> BackendEntry:
    if isinstance(backend, str):
        return BackendEntry(name=backend, label=backend)
    module = getattr(backend, "__module__", "__main__")
    if not isinstance(backend, type) or module == "__main__":
        raise ParamError(
            f"backends holds {backend!r:.80}; expected names, or classes of a module that another "
            "process can import (a class of a script or a notebook cannot be)"
        )
    name = str(getattr(backend, "name", backend.__name__))
    return BackendEntry(name=name, label=name, reference=f"{module}:{backend.__qualname__}")
