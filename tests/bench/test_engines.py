"""The same run through joblib's workers; lost workers lose no job."""

import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from sparseopt.bench.definitions.suite import read_suite
from sparseopt.bench.records.files import content, read_records
from sparseopt.bench.running.run import RECORDS, plan_run, run
from sparseopt.errors import ParamError


@pytest.mark.thorough
def test_a_dask_worker_dies_and_nothing_is_lost(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    pytest.importorskip("joblib", reason="the engine needs joblib")
    distributed = pytest.importorskip("distributed", reason="the engine needs dask[distributed]")
    suite = read_suite(suite_file("Good", "WrongObjective", instances=3, time_limit=10))
    folder = tmp_path / "run"
    plan = plan_run(suite, folder)
    with (
        distributed.LocalCluster(
            n_workers=3, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)
        assert len(set(workers.values())) == 3
        victim = next(iter(workers.values()))

        def kill() -> None:
            # In mid-run: when the first record is on the disk.
            deadline = time.monotonic() + 60.0
            while time.monotonic() < deadline:
                if (folder / RECORDS).is_file() and len(read_records(folder / RECORDS)[0]) >= 1:
                    os.kill(victim, signal.SIGKILL)
                    return
                time.sleep(0.02)

        killer = threading.Thread(target=kill)
        killer.start()
        found = run(plan, engine="dask", scheduler=cluster.scheduler_address)
        killer.join()
        with pytest.raises(ProcessLookupError):
            os.kill(victim, 0)
    assert [r["key"] for r in found] == [job.key for job in plan.jobs]
    assert [r["outcome"] for r in found] == ["ok", "wrong"] * 3
    lines = (folder / RECORDS).read_text(encoding="utf-8").splitlines()
    assert sum('"type":"solve"' in line for line in lines) == 6
    assert all((folder / r["answer"]).is_file() for r in found)
    assert plan_run(suite, folder).left == []


@pytest.mark.thorough
def test_loky_gives_the_records_of_a_local_run(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    pytest.importorskip("joblib", reason="the engine needs joblib")
    suite = read_suite(suite_file("Good", "Crashes", time_limit=10))
    here = run(plan_run(suite, tmp_path / "here"), parallel=2)
    there = run(plan_run(suite, tmp_path / "there"), parallel=2, engine="loky")
    assert [r["outcome"] for r in here] == ["ok", "crash"]
    assert [content(r) for r in here] == [content(r) for r in there]


def test_ray_gives_the_records_of_a_local_run(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    pytest.importorskip("joblib", reason="the engine needs joblib")
    pytest.importorskip("ray", reason="the engine needs ray: pip install 'sparseopt[ray]'")
    suite = read_suite(suite_file("Good", "Crashes", time_limit=10))
    here = run(plan_run(suite, tmp_path / "here"), parallel=2)
    there = run(plan_run(suite, tmp_path / "there"), parallel=2, engine="ray")
    assert [r["outcome"] for r in there] == ["ok", "crash"]
    assert [content(r) for r in here] == [content(r) for r in there]
    assert (tmp_path / "there" / there[0]["answer"]).is_file()


def test_an_engine_that_is_not_there_is_named(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    plan = plan_run(read_suite(suite_file("Good")), tmp_path / "run")
    with pytest.raises(ParamError, match="engine is 'slurm'; expected one of local, loky"):
        run(plan, engine="slurm")
