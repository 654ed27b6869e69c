"""Runs a suite, or what is left of it, here or on workers through joblib, and keeps the records."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any

from sparseopt.bench.definitions.study import Study, Unit
from sparseopt.bench.definitions.suite import Suite
from sparseopt.bench.records.files import FORMAT, VERSION, RecordFile, read_records
from sparseopt.bench.running.execute import Stopped, execute
from sparseopt.bench.running.jobs import Job, JobSelection, expand
from sparseopt.bench.solving.environment import environment
from sparseopt.errors import ParamError

ENGINES = ("local", "loky", "dask", "ray")
_ROUNDS = 5
"""How often jobs are given out again after workers were lost."""
_WAIT = 0.2
"""Seconds after which Ctrl-C is seen at the latest."""

_LARGEST_FILE = 200_000_000

Done = tuple[dict[str, Any], dict[str, Any]]
"""A record, and the environment that it comes from."""


def local(
    jobs: list[Job | Unit],
    folder: Path,
    parallel: int,
    on_phase: Callable[[Job | Unit, str], None],
    stop: threading.Event,
) -> Generator[Done, None, None]:
    """Yield what the jobs end in, `parallel` of them at a time on this machine.

    `on_phase` is called with each job and its phase.

    Parameters
    ----------
    jobs : list of Job or Unit
    folder : path
        Of the run.
    parallel : int
        Number of processes.
    on_phase : callable
        Called with a job and the phase that begins.
    stop : threading.Event
        Ends the run when it is set.

    Returns
    -------
    generator of (record, environment)
    """
    finished: queue.SimpleQueue[Done | BaseException] = queue.SimpleQueue()

    def work(job: Job | Unit) -> None:
        if stop.is_set():
            return
        try:
            record = execute(job, folder, stop, partial(on_phase, job))
            finished.put((record, environment()))
        except Stopped:
            return
        except BaseException as error:
            finished.put(error)

    pool = ThreadPoolExecutor(max_workers=parallel)
    try:
        with _interrupt_goes_to(finished):
            for job in jobs:
                pool.submit(work, job)
            for _ in jobs:
                done = _next_of(finished)
                if isinstance(done, BaseException):
                    raise done
                yield done
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def _next_of(finished: queue.SimpleQueue[Done | BaseException]) -> Done | BaseException:
    """Wait for what comes next, Ctrl-C included.

    In short waits: a signal that comes just before one, or to another thread, does not end it.
    """
    while True:
        with contextlib.suppress(queue.Empty):
            return finished.get(timeout=_WAIT)


@contextlib.contextmanager
def _interrupt_goes_to(finished: queue.SimpleQueue[Done | BaseException]) -> Iterator[None]:
    """Put Ctrl-C in the queue: an exception out of a handler is lost where it meets a callback."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    previous = signal.signal(signal.SIGINT, lambda *_: finished.put(KeyboardInterrupt()))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, previous)


def distributed(
    jobs: list[Job | Unit],
    folder: Path,
    engine: str,
    parallel: int,
    scheduler: str | None,
) -> Generator[Done, None, None]:
    """Yield what the jobs end in, run by joblib's workers: loky, Dask or Ray.

    A job is sent with all that it needs and does not read this machine's files; jobs of a worker
    that is lost are given out again.

    Parameters
    ----------
    jobs : list of Job or Unit
    folder : path
        Of the run.
    engine : str
        "loky", "dask" or "ray".
    parallel : int
        Number of workers.
    scheduler : str or None
        Address of a cluster that is there; None starts one.

    Returns
    -------
    generator of (record, environment)

    Raises
    ------
    ParamError
        When the package of the engine is not installed, or workers keep getting lost.
    """
    left = {job.key: job for job in jobs}
    trouble: BaseException | None = None
    for _ in range(_ROUNDS):
        if not left:
            return
        try:
            for record, files, source in _round(list(left.values()), engine, parallel, scheduler):
                if left.pop(record["key"], None) is not None:
                    _unpack(folder, record, files)
                    yield record, source
        except ParamError:
            raise
        except Exception as error:
            # A worker was lost with its jobs (each engine has its own exception for that).
            trouble = error
    if left:
        raise ParamError(
            f"{len(left)} jobs could not be finished in {_ROUNDS} rounds on {engine}; run the same "
            f"command again to go on. The last trouble: {type(trouble).__name__}: {trouble}"
        )


def _round(
    jobs: list[Job | Unit], engine: str, parallel: int, scheduler: str | None
) -> Iterator[tuple[dict[str, Any], dict[str, bytes], dict[str, Any]]]:
    import joblib

    calls = [joblib.delayed(execute_remotely)(job.to_dict(), _file(job)) for job in jobs]
    with _workers(engine, parallel, scheduler) as options:
        yield from joblib.Parallel(return_as="generator_unordered", batch_size=1, **options)(calls)


@contextlib.contextmanager
def _workers(engine: str, parallel: int, scheduler: str | None) -> Iterator[dict[str, Any]]:
    """Set the engine up, and yield the arguments of joblib.Parallel that belong to it."""
    import joblib

    if engine == "loky":
        yield {"n_jobs": parallel, "backend": "loky"}
        return
    if engine == "ray":
        with _ray(parallel, scheduler) as backend:
            yield {"n_jobs": parallel, "backend": backend}
        return
    try:
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ParamError(
            "dask[distributed] is not installed: pip install 'sparseopt[distributed]'"
        ) from error
    with contextlib.ExitStack() as stack:
        if scheduler is None:
            # One thread for each worker: a thread waits for the process that solves.
            cluster = LocalCluster(
                n_workers=parallel, threads_per_worker=1, processes=True, dashboard_address=None
            )
            client = stack.enter_context(Client(stack.enter_context(cluster)))
        else:
            client = stack.enter_context(Client(scheduler, timeout=30))
        stack.enter_context(joblib.parallel_config(backend="dask", client=client))
        yield {}


@contextlib.contextmanager
def _ray(parallel: int, scheduler: str | None) -> Iterator[Any]:
    """Join a Ray cluster, or start one here, and yield joblib's backend for it."""
    # Usage statistics are sent to nobody, unless the user wants it.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        import ray
        from ray.util.joblib.ray_backend import RayBackend
    except ImportError as error:
        raise ParamError("ray is not installed: pip install 'sparseopt[ray]'") from error

    class Backend(RayBackend):  # type: ignore[misc]
        # Inherited from joblib's pools of processes is "no", yet Ray's calls back as is needed.
        supports_return_generator = True

    begun = not ray.is_initialized()
    if begun and scheduler is None:
        cores = max(parallel, os.cpu_count() or 1)
        ray.init(num_cpus=cores, include_dashboard=False, logging_level="ERROR")
    elif begun:
        ray.init(address=scheduler, logging_level="ERROR")
    try:
        yield Backend()
    finally:
        if begun:
            ray.shutdown()


def _file(job: Job | Unit) -> bytes | None:
    """Return the content of an instance that is a file: a worker may not see this disk."""
    if isinstance(job, Unit) or job.instance["generator"] is not None:
        return None
    path = Path(job.instance["file"])
    if path.stat().st_size > _LARGEST_FILE:
        raise ParamError(
            f"{path} is too large to be sent to workers ({path.stat().st_size / 1e6:.0f} MB); "
            "run it with the engine local"
        )
    return path.read_bytes()


def execute_remotely(
    values: dict[str, Any], file: bytes | None
) -> tuple[dict[str, Any], dict[str, bytes], dict[str, Any]]:
    """Do one job in a worker's temporary folder; return record, answer files and environment.

    Parameters
    ----------
    values : dict
        A Job or a Unit, by its ``to_dict``.
    file : bytes or None
        The content of an instance that is a file.

    Returns
    -------
    record : dict
    files : dict of str to bytes
    environment : dict
    """
    job = Unit.from_dict(values) if "study" in values else Job.from_dict(values)
    with tempfile.TemporaryDirectory(prefix="sparseopt-bench-") as name:
        folder = Path(name)
        if file is not None and isinstance(job, Job):
            path = folder / Path(job.instance["file"]).name
            path.write_bytes(file)
            job.instance["file"] = str(path)
        record = execute(job, folder)
        files = {}
        if record["answer"]:
            place = (folder / record["answer"]).parent
            files = {item.name: item.read_bytes() for item in place.iterdir()}
        return record, files, environment()


def _unpack(folder: Path, record: dict[str, Any], files: dict[str, bytes]) -> None:
    if not record["answer"]:
        return
    place = (folder / record["answer"]).parent
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for name, data in files.items():
        (place / Path(name).name).write_bytes(data)


RECORDS = "records.jsonl"
SUITE = "suite.toml"


@dataclass(frozen=True)
class RunPlan:
    """What a run has to do.

    Attributes
    ----------
    suite : Suite or Study
    folder : path
    jobs : list of Job
        All jobs that were asked for.
    left : list of Job
        Those without a record, in the order in which they will run.
    """

    suite: Suite | Study
    folder: Path
    jobs: list[Job | Unit]
    left: list[Job | Unit]
    records: list[dict[str, Any]] = field(default_factory=list)


@dataclass
class RunProgress:
    """How far a run is; what a listener is shown after every change.

    Attributes
    ----------
    total, done : int
    running : dict of str to (Job, str, float)
        Jobs that run, what of them ("prepares", "starts", "solves", "checks"), and since when
        (``time.monotonic()``); with an engine of remote workers those
        that were given out are not distinguished.
    counts : dict of str to int
        How many records of each class.
    seconds : list of float
        What the finished jobs of this run took.
    """

    total: int
    parallel: int
    done: int = 0
    running: dict[str, tuple[Job | Unit, str, float]] = field(default_factory=dict)
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

    def began(self, job: Job | Unit, phase: str) -> None:
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
    suite: Suite | Study,
    folder: str | PathLike[str],
    selection: JobSelection | None = None,
    *,
    shuffle: int | None = None,
    retry: tuple[str, ...] = (),
) -> RunPlan:
    """Return what there is to do: all jobs, and those that have no record in the folder yet.

    Parameters
    ----------
    suite : Suite or Study
    folder : path
        Of the run; it need not exist.
    selection : JobSelection, optional
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
    jobs: list[Job | Unit]
    if isinstance(suite, Study):
        jobs = _units(suite, selection or JobSelection())
    else:
        _check_backends(suite)
        jobs = [*expand(suite, selection)]
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
    on_change: Callable[[RunProgress], None] | None = None,
    progress: RunProgress | None = None,
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
    progress : RunProgress, optional
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
    state = progress or RunProgress(len(plan.jobs), parallel)
    state.done = len(plan.records)
    for record in plan.records:
        state.count(record)
    notify = on_change or (lambda _: None)
    stop = threading.Event()

    def on_phase(job: Job | Unit, phase: str) -> None:
        state.began(job, phase)
        notify(state)

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
                notify(state)
    return [records[job.key] for job in plan.jobs if job.key in records]


def _units(study: Study, selection: JobSelection) -> list[Job | Unit]:
    if selection.backends or selection.max_seeds:
        raise ParamError(
            f"{study.name} is a study: --set chooses what it does (its settings: "
            f"{', '.join(study.settings)}), --instances which units"
        )
    return [
        unit
        for unit in study.work(selection.time_limit)
        if not selection.instances
        or any(fnmatchcase(unit.name, pattern) for pattern in selection.instances)
    ]


def _check_backends(suite: Suite) -> None:
    """Refuse names that nobody has registered, unless the suite calls them optional."""
    from sparseopt.api import backends

    asked = [e for e in suite.backends if not (e.reference or e.optional or e.name == "auto")]
    # Half a second of imports, skipped where there is no name to check.
    known = {row.name for row in backends()} if asked else set()
    for entry in asked:
        if entry.name not in known:
            raise ParamError(
                f"suite {suite.name}: no backend is called {entry.name!r}; there are: "
                f"{', '.join(sorted(known))} (optional = true lets a suite run without it)"
            )


def _clean(folder: Path) -> None:
    """Remove the partial files of a killed run."""
    shutil.rmtree(folder / "work", ignore_errors=True)


def _write_suite(folder: Path, source: str) -> None:
    part = folder / f"{SUITE}.part"
    part.write_text(source, encoding="utf-8")
    part.replace(folder / SUITE)
