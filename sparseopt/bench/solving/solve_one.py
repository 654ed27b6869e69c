"""Solves one job in a process of its own: ``python -m sparseopt.bench.solving.solve_one FOLDER``.

Reads ``spec.json``, leaves the answer in ``answer.json`` and what was measured in
``measures.json``; a process that leaves no measures has died.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import math
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.bench.solving.process import (
    announce,
    begin,
    current_memory,
    failure,
    leave,
    peak_memory,
)

if TYPE_CHECKING:
    from sparseopt.backend import Backend, Progress
    from sparseopt.params import SolveParams
    from sparseopt.problems.base import Problem

_COURSE = 200
_BRIEF = 0.1
"""Seconds of the warm-up where the instance itself has to serve."""


def main() -> None:
    """Solve what the folder's ``spec.json`` asks for."""
    folder = Path(sys.argv[1])
    spec = begin(folder)
    try:
        measures = _solve(spec, folder)
    except Exception as error:
        measures = {**failure(error), "error": _kind(error, spec)}
    leave(folder / "measures.json", measures)


def _solve(spec: dict[str, Any], folder: Path) -> dict[str, Any]:
    from sparseopt.api import load, solve
    from sparseopt.io import save_result
    from sparseopt.params import SolveParams

    backend = _backend(spec)
    params = SolveParams(**spec["params"])
    warm = _warm_up(spec, backend, params) if spec["warm_up"] else {}
    problem = load(spec["path"])
    gc.collect()
    before = current_memory()
    announce("solve")
    seen: list[Progress] = []
    stopwatch = Stopwatch()
    result = solve(
        problem,
        backend=backend,
        params=params,
        options=spec["options"],
        on_progress=seen.append,
        check=False,
    )
    wall, cpu = stopwatch.read()
    peak = peak_memory()
    announce("save")
    save_result(result, folder / "answer.json")
    return {
        "ended": "returned",
        "time": wall,
        "cpu_time": cpu,
        "peak_memory": peak,
        "memory_before": before,
        "course": _course(seen),
        **warm,
    }


class Stopwatch:
    """Measures the wall and processor seconds since it was made, without its own.

    Processor time is that of this process and of its children, those that have ended included:
    peers work in a child that outlives the solve.
    """

    def __init__(self) -> None:
        self._children = _children_time()
        self._own, self._wall = time.process_time(), time.perf_counter()

    def read(self) -> tuple[float, float]:
        """Return wall and processor seconds."""
        wall, own = time.perf_counter() - self._wall, time.process_time() - self._own
        return wall, own + _children_time() - self._children


def _children_time() -> float:
    """Return the processor seconds of this process's children, those that have ended included.

    Without psutil, or where the system does not count for processes that have ended, only what is
    known is counted.
    """
    seconds = 0.0
    with contextlib.suppress(ImportError):
        import resource

        ended = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds += ended.ru_utime + ended.ru_stime
    with contextlib.suppress(ImportError):
        import psutil

        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):
                spent = child.cpu_times()
                seconds += spent.user + spent.system
    return seconds


def _course(seen: list[Progress]) -> list[list[float | None]]:
    """Return (seconds, objective, bound) of the progress reports that state one of the two."""
    stated = [p for p in seen if p.objective is not None or p.bound is not None]
    step = max(1, math.ceil(len(stated) / _COURSE))
    return [[p.seconds, _finite(p.objective), _finite(p.bound)] for p in stated[::step]]


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)


def _backend(spec: dict[str, Any]) -> str | Backend:
    """Return the backend: a registered name, or an object of the class that the suite names."""
    if not spec["reference"]:
        return str(spec["backend"])
    module, _, name = spec["reference"].partition(":")
    try:
        found = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name != module:
            raise
        from sparseopt.errors import BackendUnavailable

        more = f"there is no module {module!r}: give its folder as `path` in [suite]"
        raise BackendUnavailable(more) from None
    backend: Backend = getattr(found, name)()
    return backend


def _warm_up(spec: dict[str, Any], backend: str | Backend, params: SolveParams) -> dict[str, Any]:
    """Solve something small with the same backend, so that imports and compilation are over.

    Of a kind without a small relative, the instance itself is solved for a tenth of a second.
    """
    from sparseopt.api import solve
    from sparseopt.errors import SparseOptError

    begun, note = time.perf_counter(), ""
    try:
        problem, asked = _small(spec["path"], spec["kind"], params)
        solve(problem, backend=backend, params=asked, options=spec["options"], check=False)
    except SparseOptError as error:
        # The real solve will fail with it again, and is what counts.
        note = str(error)[:300]
    return {"warm_up_time": time.perf_counter() - begun, "warm_up_note": note}


def _small(path: str, kind: str, params: SolveParams) -> tuple[Problem, SolveParams]:
    """Return a small problem of the kind, and the same question about it."""
    from sparseopt import generators
    from sparseopt.families import families

    small = {key: made for one in families().values() for key, made in one.small.items()}
    if kind not in small:
        limit = _BRIEF if params.time_limit is None else min(_BRIEF, params.time_limit)
        from sparseopt.api import load

        return load(path), replace(params, time_limit=limit)
    name, settings = small[kind]
    problem = generators.generate(name, seed=0, **settings)
    # Values of lam and K belong to the instance; what is asked (a value, a grid, a path) stays.
    lam: Any = params.lam
    if isinstance(lam, tuple):
        lam = (1.0, 0.5)
    elif lam is not None:
        lam = 1.0
    budget = None if params.budget is None else 4
    size = params.size if params.size is None else (2 if isinstance(params.size, int) else (1, 2))
    question = {"lam": lam, "lam_min": None, "max_nonzeros": None, "budget": budget, "size": size}
    return problem, replace(params, **question)


def _kind(error: Exception, spec: dict[str, Any]) -> str:
    from sparseopt import errors

    if type(error).__name__ == "LicenseError":
        return "BackendUnavailable"
    if isinstance(error, errors.BackendUnavailable):
        from sparseopt.api import backends

        rows = [row for row in backends() if row.name == spec["backend"]]
        return "BackendUnavailable" if rows and rows[0].available else "unavailable"
    if isinstance(error, errors.BackendNotFound):
        return "unavailable"
    return type(error).__name__


if __name__ == "__main__":
    main()
