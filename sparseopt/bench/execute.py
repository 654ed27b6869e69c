"""One job all the way: make the instance, solve it, judge the answer, each in its own process."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sparseopt.bench.environment import environment
from sparseopt.bench.instances import resolved
from sparseopt.bench.jobs import Job
from sparseopt.bench.process import Ended, Watch, launch
from sparseopt.bench.records import Outcome, classify

__all__ = ["Stopped", "execute"]

_PACKAGE = "sparseopt.bench"
_JUDGE_MEMORY = 16 * 10**9
_locks: dict[str, threading.Lock] = {}
_locks_lock = threading.Lock()


class Stopped(Exception):
    """The run was stopped before the job was done."""


def execute(
    job: Job,
    folder: Path,
    stop: threading.Event | None = None,
    on_phase: Callable[[str], None] | None = None,
) -> dict[str, Any]:
    """Do one job and return its record.

    Parameters
    ----------
    job : Job
    folder : path
        Of the run: instances are kept in ``instances/``, answers in ``answers/``.
    stop : threading.Event, optional
    on_phase : callable, optional
        Told what begins: "prepares", "starts", "solves" or "checks".

    Raises
    ------
    Stopped
        When `stop` was set; nothing is left behind.
    """
    begun = time.monotonic()
    started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    work_root = folder / "work"
    work_root.mkdir(parents=True, exist_ok=True)
    work = Path(tempfile.mkdtemp(prefix=f"{job.key}-", dir=work_root))
    tell = on_phase or (lambda _: None)
    try:
        tell("prepares")
        facts, trouble = _prepared(job, folder, work, stop)
        solved: dict[str, Any] = {"ended": "raised", "error": "ParamError", "message": trouble}
        evaluation: dict[str, Any] = {}
        log = ""
        if facts is not None:
            tell("starts")
            solved, log = _solved(job, facts, work, stop, lambda: tell("solves"))
        if facts is not None and solved["ended"] == "returned":
            tell("checks")
            evaluation = _judged(job, facts, work, stop)
        outcome, why = classify(solved, evaluation)
        answer = _kept(job, folder, work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    kept = {k: v for k, v in solved.items() if k not in ("ended", "error", "message")}
    metrics = evaluation.pop("metrics", {})
    # What the backend told on the way, where its result does not say.
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
        "answer": answer,
        "log": log if outcome in (Outcome.CRASH, Outcome.HANG, Outcome.FAILED) else "",
        "started": started,
        "load": _load(),
        "total_time": time.monotonic() - begun,
        "environment": environment()["id"],
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
        "limits": job.limits,
    }


def _prepared(
    job: Job, folder: Path, work: Path, stop: threading.Event | None
) -> tuple[dict[str, Any] | None, str]:
    """Return the facts of the instance, made at the first need; or None and why not."""
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
            ended = launch(f"{_PACKAGE}.instances", spec, inner, Watch(limit, limit), stop)
            _raise_if_stopped(ended)
            made = inner / "facts.json"
            if not made.is_file():
                last = ended.log.strip().rpartition("\n")[2] or ended.message
                return None, f"the instance cannot be made: {last}"
            made.replace(known)
        facts: dict[str, Any] = json.loads(known.read_text(encoding="utf-8"))
    if job.instance["generator"] is None:
        # The same content may lie elsewhere by now.
        facts["path"] = job.instance["file"]
    else:
        facts["path"] = str(target.resolve())
    return facts, ""


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
    ended = launch(f"{_PACKAGE}.solve_one", spec, work, watch, stop, on_solve)
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
    ended = launch(f"{_PACKAGE}.evaluate", spec, work, Watch(limit, limit, _JUDGE_MEMORY), stop)
    _raise_if_stopped(ended)
    found = work / "evaluation.json"
    if found.is_file():
        return dict(json.loads(found.read_text(encoding="utf-8")))
    last = ended.log.strip().rpartition("\n")[2] or ended.message
    return {"unreadable": f"the answer cannot be judged: {ended.message or last}"[:2000]}


def _kept(job: Job, folder: Path, work: Path) -> str | None:
    """Move the answer to the run's folder; return where it is."""
    answer = work / "answer.json"
    if not answer.is_file():
        return None
    answers = folder / "answers"
    answers.mkdir(exist_ok=True)
    # A large answer names its arrays beside it: both stay in one folder of their own.
    place = answers / job.key
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir()
    for name in ("answer.arrays.npz", "answer.json"):
        if (work / name).is_file():
            (work / name).replace(place / name)
    return f"answers/{job.key}/answer.json"


def _raise_if_stopped(ended: Ended) -> None:
    if ended.how == "stopped":
        raise Stopped


def _load() -> float | None:
    """Return the load average of the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
