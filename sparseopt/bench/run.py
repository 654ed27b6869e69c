"""Runs a suite, or what is left of it, and keeps the records."""

from __future__ import annotations

import contextlib
import random
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

from sparseopt.bench.engines import ENGINES, distributed, local
from sparseopt.bench.jobs import Job, Selection, expand
from sparseopt.bench.records import FORMAT, VERSION, RecordFile, read_records
from sparseopt.bench.suite import Suite
from sparseopt.errors import ParamError

__all__ = ["RECORDS", "Progress", "RunPlan", "plan_run", "run"]

RECORDS = "records.jsonl"
SUITE = "suite.toml"


@dataclass(frozen=True)
class RunPlan:
    """What a run has to do.

    Attributes
    ----------
    suite : Suite
    folder : path
    jobs : list of Job
        All jobs that were asked for.
    left : list of Job
        Those without a record, in the order in which they will run.
    """

    suite: Suite
    folder: Path
    jobs: list[Job]
    left: list[Job]
    records: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class Progress:
    """How far a run is; what a listener is shown after every change.

    Attributes
    ----------
    total, done : int
    running : dict of str to (Job, str, float)
        Jobs that run, what of them ("prepares", "starts", "solves", "checks"), and since when
        (``time.monotonic()``); with an engine of remote workers those
        that were given out are not told apart.
    counts : dict of str to int
        How many records of each class.
    seconds : list of float
        What the finished jobs of this run took.
    """

    total: int
    parallel: int
    done: int = 0
    running: dict[str, tuple[Job, str, float]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    last: list[dict[str, Any]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def remaining(self) -> float | None:
        """Estimated seconds until the end, None before the first job is done."""
        if not self.seconds:
            return None
        left = self.total - self.done
        return left * sum(self.seconds) / len(self.seconds) / self.parallel

    def began(self, job: Job, phase: str) -> None:
        """Note what of a job began."""
        with self.lock:
            self.running[job.key] = (job, phase, time.monotonic())

    def finished(self, record: dict[str, Any]) -> None:
        """Note that a job is done."""
        with self.lock:
            self.running.pop(record["key"], None)
            self.done += 1
            self.seconds.append(float(record["total_time"]))
            self.count(record)
            self.last = [*self.last[-4:], record]

    def count(self, record: dict[str, Any]) -> None:
        """Count a record's class."""
        self.counts[record["outcome"]] = self.counts.get(record["outcome"], 0) + 1


def plan_run(
    suite: Suite,
    folder: str | PathLike[str],
    selection: Selection | None = None,
    *,
    shuffle: int | None = None,
    retry: tuple[str, ...] = (),
) -> RunPlan:
    """Return what there is to do: all jobs, and those that have no record in the folder yet.

    Parameters
    ----------
    suite : Suite
    folder : path
        Of the run; it need not exist.
    selection : Selection, optional
        Part of the suite.
    shuffle : int, optional
        Seed of a random order. Default: the order of the file.
    retry : tuple of str
        Classes of outcomes that are run again.

    Raises
    ------
    ParamError
        When a backend of the suite is not registered, a file is missing, or the folder holds
        something else.
    """
    _check_backends(suite)
    jobs = expand(suite, selection)
    place = Path(folder)
    records: list[dict[str, Any]] = []
    if (place / RECORDS).is_file():
        records, _ = read_records(place / RECORDS)
    elif place.is_dir() and any(place.iterdir()):
        raise ParamError(f"{place} is not empty and holds no run; give another folder")
    done = {record["key"] for record in records if record["outcome"] not in retry}
    left = [job for job in jobs if job.key not in done]
    if shuffle is not None:
        random.Random(shuffle).shuffle(left)
    asked = {job.key for job in jobs}
    return RunPlan(suite, place, jobs, left, [r for r in records if r["key"] in asked & done])


def run(
    plan: RunPlan,
    *,
    source: str = "",
    parallel: int = 1,
    engine: str = "local",
    scheduler: str | None = None,
    on_change: Callable[[Progress], None] | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Do what is left of a run, and return all its records.

    Every record is on the disk before the next is awaited. Ended in any way, kill -9 included, the
    same call goes on where it was: nothing is lost, and nothing is done twice.

    Parameters
    ----------
    plan : RunPlan
    source : str
        The suite file's text, kept in the folder for the report.
    parallel : int, default 1
        Solves at a time. Each has its own threads: times are fair only up to the number of cores.
    engine : {"local", "loky", "dask", "ray"}
    scheduler : str, optional
        Address of a running Dask or Ray cluster; default: one on this machine.
    on_change : callable, optional
        Called after every change.
    progress : Progress, optional
        The one to keep, for a listener in another thread.

    Raises
    ------
    ParamError
        When another run writes to the folder, or an engine is not there.
    """
    if engine not in ENGINES:
        raise ParamError(f"engine is {engine!r}; expected one of {', '.join(ENGINES)}")
    if parallel < 1:
        raise ParamError(f"the number of parallel jobs is {parallel}; expected at least 1")
    plan.folder.mkdir(parents=True, exist_ok=True)
    state = progress or Progress(len(plan.jobs), parallel)
    state.done = len(plan.records)
    for record in plan.records:
        state.count(record)
    tell = on_change or (lambda _: None)
    stop = threading.Event()

    def on_phase(job: Job, phase: str) -> None:
        state.began(job, phase)
        tell(state)

    records = {record["key"]: record for record in plan.records}
    with RecordFile(plan.folder / RECORDS) as file:
        _clean(plan.folder)
        if source:
            _write_suite(plan.folder, source)
        known = {e["id"] for e in read_records(file.path)[1].values()}
        results = (
            local(plan.left, plan.folder, parallel, on_phase, stop)
            if engine == "local"
            else distributed(plan.left, plan.folder, engine, parallel, scheduler)
        )
        with contextlib.closing(results):
            for record, origin in results:
                if origin["id"] not in known:
                    known.add(origin["id"])
                    head = {"format": FORMAT, "version": VERSION, "suite": plan.suite.name}
                    file.append({"type": "environment", **head, **origin})
                file.append(record)
                records[record["key"]] = record
                state.finished(record)
                tell(state)
    return [records[job.key] for job in plan.jobs if job.key in records]


def _check_backends(suite: Suite) -> None:
    """Refuse names that nobody has registered, unless the suite calls them optional."""
    from sparseopt.api import backends

    asked = [e for e in suite.backends if not (e.reference or e.optional or e.name == "auto")]
    # Half a second of imports, spared where nobody's name is in question.
    known = {row.name for row in backends()} if asked else set()
    for entry in asked:
        if entry.name not in known:
            raise ParamError(
                f"suite {suite.name}: no backend is called {entry.name!r}; there are: "
                f"{', '.join(sorted(known))} (optional = true lets a suite run without it)"
            )


def _clean(folder: Path) -> None:
    """Remove what a killed run left half done."""
    shutil.rmtree(folder / "work", ignore_errors=True)


def _write_suite(folder: Path, source: str) -> None:
    part = folder / f"{SUITE}.part"
    part.write_text(source, encoding="utf-8")
    part.replace(folder / SUITE)
