"""Where jobs run: in threads that wait for processes here, or on workers through joblib."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Callable, Generator, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

from sparseopt.bench.environment import environment
from sparseopt.bench.execute import Stopped, execute
from sparseopt.bench.jobs import Job
from sparseopt.errors import ParamError

__all__ = ["ENGINES", "Done", "distributed", "local"]

ENGINES = ("local", "loky", "dask", "ray")
_ROUNDS = 5
"""How often jobs are given out again after workers were lost."""

_LARGEST_FILE = 200_000_000

Done = tuple[dict[str, Any], dict[str, Any]]
"""A record, and the environment that it comes from."""


def local(
    jobs: list[Job],
    folder: Path,
    parallel: int,
    on_phase: Callable[[Job, str], None],
    stop: threading.Event,
) -> Generator[Done, None, None]:
    """Yield what the jobs end in, `parallel` of them at a time on this machine.

    `on_phase` is told what begins of which job.
    """
    finished: queue.Queue[Done | BaseException] = queue.Queue()

    def work(job: Job) -> None:
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
        for job in jobs:
            pool.submit(work, job)
        for _ in jobs:
            done = finished.get()
            if isinstance(done, BaseException):
                raise done
            yield done
    finally:
        stop.set()
        pool.shutdown(wait=True, cancel_futures=True)


def distributed(
    jobs: list[Job],
    folder: Path,
    engine: str,
    parallel: int,
    scheduler: str | None,
) -> Generator[Done, None, None]:
    """Yield what the jobs end in, run by joblib's workers: loky, Dask or Ray.

    A job is sent with all that it needs and does not read this machine's files; jobs of a worker
    that is lost are given out again.

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
    jobs: list[Job], engine: str, parallel: int, scheduler: str | None
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
    # Nobody is told what runs here, unless the user wants it.
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


def _file(job: Job) -> bytes | None:
    """Return the content of an instance that is a file: a worker may not see this disk."""
    if job.instance["generator"] is not None:
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
    """Do one job in a worker's temporary folder; return record, answer files and environment."""
    job = Job.from_dict(values)
    with tempfile.TemporaryDirectory(prefix="sparseopt-bench-") as name:
        folder = Path(name)
        if file is not None:
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
