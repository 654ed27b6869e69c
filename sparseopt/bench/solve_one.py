"""Solves one job in a process of its own: ``python -m sparseopt.bench.solve_one FOLDER``.

Reads ``spec.json``, leaves the answer in ``answer.json`` and what was measured in
``measures.json``; a process that leaves no measures has died.
"""

from __future__ import annotations

import gc
import importlib
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparseopt.bench.process import announce, begin, current_memory, failure, leave, peak_memory

if TYPE_CHECKING:
    from sparseopt.backend import Backend, Progress

__all__ = ["main"]

_COURSE = 200


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
    cpu, clock = time.process_time(), time.perf_counter()
    result = solve(
        problem,
        backend=backend,
        params=params,
        options=spec["options"],
        on_progress=seen.append,
        check=False,
    )
    wall, cpu = time.perf_counter() - clock, time.process_time() - cpu
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
    backend: Backend = getattr(importlib.import_module(module), name)()
    return backend


def _warm_up(spec: dict[str, Any], backend: str | Backend, params: Any) -> dict[str, Any]:
    """Solve something small with the same backend, so that imports and compilation are over."""
    from sparseopt.bench.warm_up import warm_up

    begun = time.perf_counter()
    note = warm_up(spec["path"], spec["kind"], backend, params, spec["options"])
    return {"warm_up_time": time.perf_counter() - begun, "warm_up_note": note}


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
