"""CLIME past one machine: all columns in blocks, by several workers, each block checked.

The data are a Gaussian chain; each column is followed down to a number of nonzero entries. With the
setting `columns` the first so many alone are asked for, from which the whole can be planned.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.solving.process import peak_memory
from sparseopt.generators.networks import gaussian_chain
from sparseopt.path_store import solve_in_blocks
from sparseopt.problems import CLIME
from sparseopt.result import Verdict

_SIZES = {
    "100": (200, 100, 100),
    "1000": (1_000, 1_000, 1_000),
    "10000": (1_000, 10_000, 10_000),
    "100000": (200, 100_000, 128),
}
"""Observations, variables, and the columns that are asked for, by the name of the size."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the sizes."""
    for size in chosen_of(settings["sizes"], _SIZES, "size"):
        n, d, columns = _SIZES[size]
        yield {
            "n": n,
            "d": d,
            "columns": min(columns, settings["columns"] or columns),
            "nonzeros": settings["nonzeros"],
            "jobs": settings["jobs"],
        }


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Follow and check the columns; wall time from the problem to the last piece on disk."""
    problem = CLIME.from_data(gaussian_chain(n=unit["n"], d=unit["d"]))
    if unit["columns"] < unit["d"]:
        problem = problem.part(np.arange(unit["columns"]))
    with TemporaryDirectory(dir=folder) as pieces:
        begun = time.perf_counter()
        store = solve_in_blocks(
            problem,
            pieces,
            n_jobs=unit["jobs"],
            block=min(500, -(-unit["columns"] // (2 * unit["jobs"]))),
            max_nonzeros=unit["nonzeros"],
        )
        seconds = time.perf_counter() - begun
        verdicts = [store.result(k).verdict for k in range(len(store.blocks))]
        size = sum(store.file(k).stat().st_size for k in range(len(store.blocks)))
    verified = verdicts.count(Verdict.VERIFIED)
    complaint = "" if verified == len(verdicts) else f"{verified} of {len(verdicts)} blocks proven"
    yield {
        "time": seconds,
        "a column": unit["jobs"] * seconds / unit["columns"],
        "blocks verified": f"{verified} of {len(verdicts)}",
        "memory": (peak_memory() or 0) / 1e9,
        "disk": size / 1e9,
        "complaint": complaint,
    }


STUDY = Study(
    title="CLIME in blocks of columns",
    description="Each column down to a number of nonzero entries, followed and checked by workers.",
    settings={"sizes": ("all",), "columns": 0, "nonzeros": 30, "jobs": 2},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="All columns, or the first ones",
            rows=("n", "d", "columns", "jobs"),
            columns=("value",),
            values=("time", "a column", "blocks verified", "memory", "disk"),
            statistic="median",
            note="Wall seconds, with every check; a column: of one worker. Memory: gigabytes "
            "of the process that collects; disk: of all pieces.",
        ),
    ),
    memory=16 * 10**9,
)
