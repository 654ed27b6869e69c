"""Paths of columns in blocks, in pieces on disk: the same answer, whoever is killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

import sparseopt
from sparseopt import Limit, ParamError, ProblemError, Status, Verdict
from sparseopt.generators.networks import clime
from sparseopt.io.pieces import packed
from sparseopt.path_store import PathStore, solve_in_blocks
from sparseopt.problems import DantzigSelector

QUESTION = {"max_nonzeros": 4}


def problem(d=30):
    return clime(d=d, n=60)


def store_of(folder, **more):
    return solve_in_blocks(problem(), folder, block=7, **QUESTION, **more)


def test_the_store_holds_the_paths_of_the_whole(tmp_path):
    whole = sparseopt.solve(problem(), **QUESTION).path
    done = []
    store = store_of(tmp_path / "store", on_progress=lambda *counts: done.append(counts))
    assert done == [(7, 30), (14, 30), (21, 30), (28, 30), (30, 30)]
    assert len(store.columns) == 30
    for one, two in zip(store.columns, whole.columns, strict=True):
        assert one.low == pytest.approx(two.low, rel=1e-12)
        assert one.stopped_by == two.stopped_by
    lam = float(whole.low[-1])
    assert store.path.stopped_by == whole.stopped_by
    assert store.path.low == pytest.approx(whole.low, rel=1e-12)
    expected = problem().matrix(whole.at(lam))
    assert store.matrix_at(lam).toarray() == pytest.approx(expected, abs=1e-12)
    report = store.check(problem())
    assert report.verdict is Verdict.VERIFIED
    assert max(report.residuals.values()) < 1e-9


def test_pieces_are_read_when_they_are_asked_for(tmp_path):
    folder = store_of(tmp_path / "store").folder
    for file in folder.glob("columns-*.npz"):
        if "0000007-" not in file.name:
            file.write_bytes(b"never read")
    store = PathStore(folder)
    assert store.columns[7].stopped_by == "max_nonzeros"
    assert store.columns[-17].low[0] == store.result(1).path.columns[6].low[0]
    with pytest.raises(ProblemError, match="no zip directory"):
        store.columns[0]


def test_what_is_there_is_not_done_again(tmp_path):
    def stop(done, count):
        if done == 14:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_of(tmp_path, on_progress=stop)
    store = PathStore(tmp_path)
    assert store.present == [(0, 7), (7, 14)]
    report = store.check(problem())
    assert report.verdict is Verdict.UNPROVEN
    assert "16 of 30 columns are missing" in report.messages
    before = store.file(0).stat().st_mtime_ns
    done = []
    store = store_of(tmp_path, on_progress=lambda *counts: done.append(counts))
    assert done == [(21, 30), (28, 30), (30, 30)]
    assert store.file(0).stat().st_mtime_ns == before
    assert store.check(problem()).verdict is Verdict.VERIFIED


def test_only_some_columns(tmp_path):
    some = problem().part([20, 3, 11])
    store = solve_in_blocks(some, tmp_path, **QUESTION)
    assert store.blocks == [(0, 3)]
    assert store.check(some).verdict is Verdict.VERIFIED
    assert store.matrix_at(0.9).shape == (30, 3)
    alone = sparseopt.solve(problem().column(3), **QUESTION).path
    assert store.columns[1].low == pytest.approx(alone.low, rel=1e-10)
    assert store.check(problem()).verdict is Verdict.REFUTED


def test_another_question_gets_another_folder(tmp_path):
    store_of(tmp_path / "store")
    with pytest.raises(ParamError, match="another question: its params"):
        solve_in_blocks(problem(), tmp_path / "store", max_nonzeros=5)
    with pytest.raises(ParamError, match="another question: its instance"):
        solve_in_blocks(clime(d=30, n=61), tmp_path / "store", **QUESTION)
    with pytest.raises(ParamError, match="another question: its block"):
        solve_in_blocks(problem(), tmp_path / "store", block=8, **QUESTION)
    (tmp_path / "letter.txt").write_text("no path")
    with pytest.raises(ParamError, match="not empty"):
        solve_in_blocks(problem(), tmp_path)
    with pytest.raises(ProblemError, match="no path store"):
        PathStore(tmp_path)
    with pytest.raises(ParamError, match="'time_limit' is no question"):
        solve_in_blocks(problem(), tmp_path / "new", time_limit=1.0)
    with pytest.raises(ParamError, match="columns"):
        solve_in_blocks(DantzigSelector(np.eye(2), [1.0, 2.0]), tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_tampered_pieces_are_refuted(tmp_path):
    from io import BytesIO

    from sparseopt.io.archive import open_archive, write_archive

    store = store_of(tmp_path)
    whole = store.file(2).read_bytes()
    with open_archive("piece", BytesIO(whole)) as archive:
        arrays = {name: archive.read(name) for name in archive.names}
    for name in ("low", "objective", "theta.value", "nu.value", "codes", "changed", "ptr"):
        changed = arrays[name].copy()
        at = int(np.argmax(np.abs(changed.ravel())))
        changed.ravel()[at] = changed.ravel()[at] * 1.001 if changed.dtype.kind == "f" else 1
        stream = BytesIO()
        write_archive(stream, arrays | {name: changed})
        store.file(2).write_bytes(stream.getvalue())
        assert PathStore(tmp_path).check(problem()).verdict is Verdict.REFUTED, name
    store.file(2).write_bytes(whole[:-100])
    assert PathStore(tmp_path).check(problem()).verdict is Verdict.REFUTED
    store.file(2).write_bytes(store.file(1).read_bytes())
    report = PathStore(tmp_path).check(problem())
    assert report.verdict is Verdict.REFUTED
    assert "belongs to another question" in report.messages[0]
    store.file(2).write_bytes(whole)
    assert PathStore(tmp_path).check(problem()).verdict is Verdict.VERIFIED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("change", [("columns", 0), ("block", 0), ("params", {"lam_min": -1.0})])
def test_a_damaged_header_is_named(tmp_path, change):
    import json

    file = store_of(tmp_path).folder / "store.json"
    header = json.loads(file.read_text())
    file.write_text(json.dumps(header | dict([change])))
    with pytest.raises(ProblemError, match=r"store\.json"):
        PathStore(tmp_path)


def test_a_header_that_leaves_out_columns_is_refuted(tmp_path):
    import json

    store = store_of(tmp_path)
    file = store.folder / "store.json"
    header = json.loads(file.read_text())
    step = header["block"]
    file.write_text(json.dumps(header | {"columns": step}))
    for name in sorted(store.folder.glob("columns-*"))[1:]:
        name.unlink()
    report = PathStore(tmp_path).check(problem())
    assert report.verdict is Verdict.REFUTED
    assert "the problem has 30" in report.messages[0]


def test_a_piece_that_ends_early_does_not_answer_the_question(tmp_path):
    store = store_of(tmp_path)
    part = problem().part(range(*store.blocks[0]))
    short = sparseopt.solve(part, backend="homotopy", max_knots=1, threads=1, check=False)
    columns = replace(short.path.columns, stopped_by=["time"] * part.columns)
    cut = short.with_changes(
        path=replace(short.path, columns=columns, stopped_by="time"),
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        params=store.params,
    )
    store.file(0).write_bytes(packed(cut, store.piece(0)))
    report = PathStore(tmp_path).check(problem())
    assert report.verdict is Verdict.UNPROVEN
    assert "end early" in report.messages[0]


def test_threads_of_joblib_do_the_same(tmp_path):
    pytest.importorskip("joblib", reason="several workers need joblib")
    store = store_of(tmp_path, n_jobs=2, joblib="threading")
    assert store.check(problem(), n_jobs=2, joblib="threading").verdict is Verdict.VERIFIED
    with pytest.raises(ParamError, match="joblib has no backend 'slurm'"):
        solve_in_blocks(problem(), tmp_path / "new", n_jobs=2, joblib="slurm")
    with pytest.raises(ParamError, match="n_jobs is 0"):
        solve_in_blocks(problem(), tmp_path / "other", n_jobs=0)


def _workers():
    psutil = pytest.importorskip("psutil", reason="the workers' ids are asked of psutil")
    every = psutil.Process().children(recursive=True)
    return [one.pid for one in every if "popen_loky_posix" in " ".join(one.cmdline())]


@pytest.mark.thorough
def test_a_killed_process_of_joblib_costs_its_blocks_only(tmp_path):
    pytest.importorskip("joblib", reason="several workers need joblib")
    killed = []

    def kill(done, count):
        if not killed:
            killed.append(_workers()[0])
            os.kill(killed[0], signal.SIGKILL)

    store = store_of(tmp_path, n_jobs=2, joblib="loky", on_progress=kill)
    assert killed
    assert len(store.present) == 5
    assert store.check(problem()).verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_a_killed_worker_of_dask_costs_its_block_only(tmp_path):
    pytest.importorskip("joblib", reason="several workers need joblib")
    distributed = pytest.importorskip("distributed", reason="needs dask[distributed]")
    killed = []
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        workers = client.run(os.getpid)

        def kill(done, count):
            if not killed:
                killed.append(next(iter(workers.values())))
                os.kill(killed[0], signal.SIGKILL)

        store = store_of(tmp_path, n_jobs=2, joblib="dask", on_progress=kill)
    assert killed
    assert len(store.present) == 5
    assert store.check(problem()).verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_a_killed_run_goes_on(tmp_path):
    code = (
        "import os, signal, sys\n"
        "from sparseopt.generators.networks import clime\n"
        "from sparseopt.path_store import solve_in_blocks\n"
        "end = lambda done, count: done == 14 and os.kill(os.getpid(), signal.SIGKILL)\n"
        "solve_in_blocks(clime(d=30, n=60), sys.argv[1], block=7, max_nonzeros=4, on_progress=end)"
    )
    ended = subprocess.run([sys.executable, "-c", code, str(tmp_path / "store")], check=False)
    assert ended.returncode == -signal.SIGKILL
    assert PathStore(tmp_path / "store").present == [(0, 7), (7, 14)]
    store = store_of(tmp_path / "store")
    assert store.check(problem()).verdict is Verdict.VERIFIED
