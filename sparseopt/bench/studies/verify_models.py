"""Paths of many small random cases of each model, checked and compared with textbook programs.

Each case is solved for its whole path and checked; at several lam, both ends among them, its
objective is compared with a textbook linear program built from the model's own data and solved cold
by HiGHS (1e-8). Where a path ends because nothing is feasible below, the program just below must be
infeasible. Most cases are degenerate (tests/helpers/cases has them).
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec

_MODELS = (
    "quantile-lasso",
    "compressed-sensing",
    "lpd",
    "l1-svm",
    "clime",
    "differential-network",
    "matrix-dantzig",
    "dantzig-selector",
    "lad-lasso",
)


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of 50 cases of each model."""
    for model in chosen_of(settings["models"], _MODELS, "model"):
        for first, end in blocks(settings["cases"], 50):
            begin = {"first": settings["first"] + first, "end": settings["first"] + end}
            yield {"model": model, **begin, "backend": settings["backend"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Verify the cases; a row for each that is wrong, and one for all."""
    random_models = importlib.import_module("random_models")
    wrong = 0
    for seed in range(unit["first"], unit["end"]):
        try:
            found = list(random_models.complaints(unit["model"], seed, unit["backend"]))
        except Exception as error:
            found = [f"{unit['model']} seed {seed}: {type(error).__name__}: {error}"]
        wrong += bool(found)
        for text in found:
            yield {"complaint": str(text)}
    yield {"cases": unit["end"] - unit["first"], "wrong": wrong}


STUDY = Study(
    title="Paths of small random cases against textbook programs",
    description="Every path is checked, and its objective compared with a cold textbook program.",
    settings={"cases": 1000, "first": 0, "models": ("all",), "backend": "homotopy"},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Cases, and how many are wrong",
            rows=("model",),
            columns=("value",),
            values=("cases", "wrong"),
            statistic="sum",
        ),
    ),
    python_path=("tests/helpers/cases", "tests/helpers/references"),
)
