"""One job all the way: make the instance, solve, judge the answer, each in its own process."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparseopt.bench.definitions.study import Unit
from sparseopt.bench.records.files import SolveOutcome, classify
from sparseopt.bench.running.jobs import Job
from sparseopt.bench.solving.environment import environment
from sparseopt.bench.solving.instances import resolved
from sparseopt.bench.solving.process import ProcessEnd, Watch, launch

_PACKAGE = "sparseopt.bench"
_JUDGE_MEMORY = 16 * 10**9
_LOGGED = (SolveOutcome.CRASH, SolveOutcome.HANG, SolveOutcome.FAILED)
_locks: dict[str, threading.Lock] = {}
_locks_lock = threading.Lock()


class Stopped(Exception):
    """The run was stopped before the job was done."""


def execute(
    job: Job | Unit,
    folder: Path,
    stop: threading.Event | None = None,
    on_phase: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Do one job of a suite, or one unit of a study, and return its record.

    Parameters
    ----------
    job : Job or Unit
    folder : path
        Of the run: instances are kept in ``instances/``, answers in ``answers/``.
    stop : threading.Event, optional
    on_phase : callable, optional
        Called with what begins: "prepares", "starts", "solves" or "checks".

    Raises
    ------
    Stopped
        When `stop` was set; no files are left.
    """
    begun = time.monotonic()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    work_root = folder / "work"
    work_root.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{job.key}-", dir=work_root))
    notify = on_phase or (lambda _: None)
    try:
        if isinstance(job, Unit):
            found = _done(job, folder, work, stop, notify)
        else:
            found = _answered(job, folder, work, stop, notify)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    return {
        **found,
        "limits": job.limits,
        "started": started,
        "load": _load(),
        "total_time": time.monotonic() - begun,
        "environment": environment()["id"],
    }


def _answered(
    job: Job, folder: Path, work: Path, stop: threading.Event | None, notify: Callable[[str], None]
) -> dict[str, Any]:
    """Make the instance, solve it, judge the answer; return what the record says of it."""
    notify("prepares")
    facts, trouble = _prepared(job, folder, work, stop)
    solved: dict[str, Any] = trouble
    evaluation: dict[str, Any] = {}
    log = ""
    if facts is not None:
        notify("starts")
        solved, log = _solved(job, facts, work, stop, lambda: notify("solves"))
    if facts is not None and solved["ended"] == "returned":
        notify("checks")
        evaluation = _judged(job, facts, work, stop)
    outcome, why = classify(solved, evaluation)
    kept = {k: v for k, v in solved.items() if k not in ("ended", "error", "message")}
    metrics = evaluation.pop("metrics", {})
    # What the backend reported on the way, where its result does not say.
    course = kept.pop("course", [])
    evaluation["trace"] = evaluation.get("trace") or course
    return {
        "type": "solve",
        "key": job.key,
        "outcome": outcome.value,
        "message": why[:2000],
        **_identity(job, facts),
        **evaluation,
        **kept,
        "metrics": metrics,
        "answer": _kept(job, folder, work, [*_arrays_of_answer(work), "answer.json"]),
        "log": log if outcome in _LOGGED else "",
    }


def _done(
    unit: Unit,
    folder: Path,
    work: Path,
    stop: threading.Event | None,
    notify: Callable[[str], None],
) -> dict[str, Any]:
    """Do a unit of a study; return what the record says of it."""
    notify("starts")
    limits = unit.limits
    spec = {"study": unit.study, "params": unit.params, "memory": limits["memory"]}
    watch = Watch(limits["warm_up"], limits["time"], limits["memory"], limits["threads"])
    solved, log = _measured("definitions.study", spec, work, watch, stop, lambda: notify("solves"))
    outcome, why = classify(solved, None)
    if outcome is SolveOutcome.OK:
        complaints = [str(row["complaint"]) for row in solved["rows"] if row.get("complaint")]
        if complaints:
            outcome, why = SolveOutcome.WRONG, "; ".join(complaints)
    files = sorted(path.name for path in (work / "kept").glob("*"))
    return {
        "type": "unit",
        "key": unit.key,
        "outcome": outcome.value,
        "message": why[:2000],
        "instance": {"name": unit.name, "tags": {}},
        "label": unit.label,
        "study": unit.study,
        "params": unit.params,
        "rows": solved.get("rows", []),
        "time": solved.get("time"),
        "peak_memory": solved.get("peak_memory"),
        "answer": _kept(unit, folder, work / "kept", files),
        "files": files,
        "log": log if outcome in _LOGGED else "",
    }


def _identity(job: Job, facts: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return what was solved by whom, under which question and limits."""
    known = facts or {}
    return {
        "instance": {
            key: job.instance.get(key)
            for key in ("name", "generator", "settings", "seed", "sha256", "tags")
        },
        "instance_key": job.instance_key,
        "kind": known.get("kind"),
        "family": known.get("family"),
        "sense": known.get("sense"),
        "size": known.get("size", {}),
        "fingerprint": known.get("fingerprint"),
        "backend": job.backend,
        "label": job.label,
        "options": job.options,
        "params": resolved(job.params, known) if known else job.params,
        "setting": job.setting,
        "seed": job.seed,
        "repeat": job.repeat,
    }


def _prepared(
    job: Job, folder: Path, work: Path, stop: threading.Event | None
) -> tuple[dict[str, Any] | None, dict[str, Any]]:
    """Return the facts of the instance, made at the first need; or None and the failure."""
    instances = folder / "instances"
    instances.mkdir(exist_ok=True)
    target = instances / f"{job.instance_key}.npz"
    known = target.with_suffix(".json")
    with _lock_of(str(known)):
        if not known.is_file():
            inner = work / "prepare"
            inner.mkdir()
            limit = float(job.limits["warm_up"])
            spec = {"instance": job.instance, "target": str(target.resolve())}
            spec["python_path"] = job.python_path
            ended = launch(f"{_PACKAGE}.solving.instances", spec, inner, Watch(limit, limit), stop)
            _raise_if_stopped(ended)
            made = inner / "facts.json"
            if not made.is_file():
                last = ended.log.strip().rpartition("\n")[2] or ended.message
                trouble = {"ended": "raised", "error": "ParamError", "message": last}
                left = inner / "failure.json"
                if left.is_file():
                    trouble = json.loads(left.read_text(encoding="utf-8"))
                trouble["message"] = f"the instance cannot be made: {trouble['message']}"
                return None, trouble
            made.replace(known)
        facts: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
    if job.instance["generator"] is None:
        # The same content may lie elsewhere by now.
        facts["path"] = job.instance["file"]
    else:
        facts["path"] = str(target.resolve())
    return facts, {}


def _lock_of(name: str) -> threading.Lock:
    with _locks_lock:
        return _locks.setdefault(name, threading.Lock())


def _solved(
    job: Job,
    facts: Mapping[str, Any],
    work: Path,
    stop: threading.Event | None,
    on_solve: Callable[[], None],
) -> tuple[dict[str, Any], str]:
    limits = job.limits
    params = {
        **resolved(job.params, facts),
        "seed": job.seed,
        "time_limit": limits["time"],
        "threads": limits["threads"],
    }
    spec = {
        "path": facts["path"],
        "kind": facts["kind"],
        "backend": job.backend,
        "reference": job.reference,
        "options": job.options,
        "params": params,
        "memory": limits["memory"],
        "warm_up": job.warm_up,
        "python_path": job.python_path,
    }
    watch = Watch(
        limits["warm_up"], limits["time"] + limits["grace"], limits["memory"], limits["threads"]
    )
    return _measured("solving.solve_one", spec, work, watch, stop, on_solve)


def _measured(
    module: str,
    spec: Mapping[str, Any],
    work: Path,
    watch: Watch,
    stop: threading.Event | None,
    on_solve: Callable[[], None],
) -> tuple[dict[str, Any], str]:
    """Run a process that leaves ``measures.json``; return what is in it, or how it ended."""
    ended = launch(f"{_PACKAGE}.{module}", spec, work, watch, stop, on_solve)
    _raise_if_stopped(ended)
    measures = work / "measures.json"
    if ended.how in ("hang", "memory"):
        return {"ended": ended.how, "message": ended.message, "peak_memory": ended.peak}, ended.log
    if measures.is_file():
        return json.loads(measures.read_text(encoding="utf-8")), ended.log
    how = "died" if ended.how == "signal" else "silent"
    message = ended.message or "ended without an answer"
    return {"ended": how, "message": message, "peak_memory": ended.peak}, ended.log


def _judged(
    job: Job, facts: Mapping[str, Any], work: Path, stop: threading.Event | None
) -> dict[str, Any]:
    spec = {
        "path": facts["path"],
        "references": facts["references"],
        "instance": job.instance,
        "python_path": job.python_path,
    }
    limit = float(job.limits["check"])
    ended = launch(
        f"{_PACKAGE}.solving.evaluate", spec, work, Watch(limit, limit, _JUDGE_MEMORY), stop
    )
    _raise_if_stopped(ended)
    found = work / "evaluation.json"
    if found.is_file():
        return dict(json.loads(found.read_text(encoding="utf-8")))
    last = ended.log.strip().rpartition("\n")[2] or ended.message
    return {"unreadable": f"the answer cannot be judged: {ended.message or last}"[:2000]}


def _kept(job: Job | Unit, folder: Path, work: Path, names: Sequence[str]) -> str | None:
    """Move what an answer consists of to the run's folder; return where its last file is."""
    there = [name for name in names if (work / name).is_file()]
    if not there:
        return None
    # A large answer names its arrays beside it: both stay in one folder of their own.
    place = folder / "answers" / job.key
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name in there:
        (work / name).replace(place / name)
    return f"answers/{job.key}/{there[-1]}"


def _arrays_of_answer(work: Path) -> list[str]:
    return [file.name for file in work.glob("answer.*.arrays.npz")]


def _raise_if_stopped(ended: ProcessEnd) -> None:
    if ended.how == "stopped":
        raise Stopped


def _load() -> float | None:
    """Return the load average of the last minute, where the system reports it."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
