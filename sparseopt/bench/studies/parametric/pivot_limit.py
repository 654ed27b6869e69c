"""A pivot's time against the machine's limit: to read the data once.

An exact pivot needs the products of all columns with one new vector, so a pass over X, unless
bounds show that most columns cannot be met. The pass is a plain product of BLAS, on one thread.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt import generators
from sparseopt.api import solve
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of, median_time
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.blas import blas_threads

_PROBLEMS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "dantzig-1000": ("dantzig-4.3", {"n": 200, "d": 1_000, "density": 0.02}, {"max_knots": 100}),
    "dantzig-10000": ("dantzig-4.3", {"n": 200, "d": 10_000, "density": 0.002}, {"max_knots": 100}),
    "dantzig-100000": (
        "dantzig-4.3",
        {"n": 200, "d": 100_000, "density": 0.0002},
        {"max_knots": 100},
    ),
    "lad-1000": ("lad-4.3", {"n": 200, "d": 1_000, "density": 0.02}, {"max_knots": 100}),
    "lad-10000": ("lad-4.3", {"n": 200, "d": 10_000, "density": 0.002}, {"max_knots": 100}),
}
"""Generator, its settings, and the parameters of the solve."""


def _units(settings: Settings) -> Iterable[Settings]:
    for name in chosen_of(settings["problems"], _PROBLEMS, "problem"):
        yield {"problem": name, "repeats": settings["repeats"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Time the path and a pass over its data, in processor seconds of one thread."""
    generator, given, asked = _PROBLEMS[unit["problem"]]
    problem = generators.generate(generator, seed=1, **given)
    X = np.asarray(problem.X)  # type: ignore[attr-defined]
    v = np.random.default_rng(0).normal(size=len(X))

    def path() -> Any:
        return solve(problem, backend="homotopy", check=False, threads=1, lam_min=0.0, **asked)

    seconds = median_time(path, unit["repeats"], time.process_time)
    result = path()
    with blas_threads(1):
        reading = median_time(lambda: X.T @ v, 10 * unit["repeats"], time.process_time)
    pivots = result.iterations
    yield {
        "pivots": pivots,
        "pivot": 1e6 * seconds / pivots,
        "pass": 1e6 * reading,
        "passes": seconds / pivots / reading,
        "GB/s": X.nbytes / reading / 1e9,
    }


STUDY = Study(
    title="A pivot against the limit of the machine",
    description="Microseconds of one thread: a pivot of a path, and one pass over X.",
    settings={"problems": ("all",), "repeats": 5},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="A pivot, and a pass over the data",
            rows=("problem",),
            columns=("value",),
            values=("pivots", "pivot", "pass", "passes", "GB/s"),
            statistic="median",
            note="Below one pass: bounds spare most columns.",
        ),
    ),
)
