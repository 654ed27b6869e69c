"""Paths on data as people have them: what the checker says of them, by model and kind of data.

Twelve kinds of data (other units, offsets, powers, near-collinear columns, ...) times fourteen
models; tests/helpers/cases has them. A refuted path is a complaint; columns are well
conditioned where their condition number, in units of their own, is at most 1e10.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from pathlib import Path

from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec

_MODELS = (
    "dantzig-selector",
    "lad-lasso",
    "quantile-lasso",
    "l1-svm",
    "lpd",
    "clime",
    "differential-network",
    "compressed-sensing",
    "parametric-lp",
    "matrix-dantzig",
    "loose-lp",
    "far-bounds",
    "weighted",
    "pieces",
)
_KINDS = (
    "normal",
    "units",
    "offset",
    "polynomial",
    "collinear",
    "mixed",
    "tiny",
    "large",
    "years",
    "dummies",
    "rounded",
    "rows",
)

_REGULAR = 1e10
"""Condition number up to which columns are called well conditioned."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of 100 cases of each model and kind of data."""
    for model in chosen_of(settings["models"], _MODELS, "model"):
        for data in chosen_of(settings["data"], _KINDS, "kind of data"):
            for first, end in blocks(settings["cases"], 100):
                begin = {"first": settings["first"] + first, "end": settings["first"] + end}
                yield {"model": model, "data": data, **begin, "backend": settings["backend"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Solve and check the cases; a row of counts, and one for each case that is refuted."""
    raw_data = importlib.import_module("raw_data")
    counts = dict.fromkeys(raw_data.OUTCOMES, 0)
    regular_not_verified = 0
    for seed in range(unit["first"], unit["end"]):
        problem, columns = raw_data.case(unit["model"], unit["data"], seed)
        outcome, why = raw_data.outcome(problem, unit["backend"])
        counts[outcome] += 1
        regular = raw_data.condition(columns) <= _REGULAR
        regular_not_verified += regular and outcome != "verified"
        if outcome in ("refuted", "failed"):
            name = f"{unit['model']} {unit['data']} {seed}"
            yield {"complaint": f"{name}: {outcome}: {why}"}
    cases = unit["end"] - unit["first"]
    yield {"cases": cases, **counts, "regular, not verified": regular_not_verified}


STUDY = Study(
    title="Paths on data as people have them",
    description="Units, offsets, powers, near-collinear columns: what the checker says.",
    settings={
        "cases": 100,
        "first": 0,
        "models": ("all",),
        "data": ("all",),
        "backend": "homotopy",
    },
    units=_units,
    do=_do,
    tables=tuple(
        TableSpec(
            title=f"Outcomes by {name}",
            rows=(column,),
            columns=("value",),
            values=(
                "cases",
                "verified",
                "short",
                "unproven",
                "no_solution",
                "slow",
                "refuted",
                "failed",
                "regular, not verified",
            ),
            statistic="sum",
        )
        for name, column in (("model", "model"), ("kind of data", "data"))
    ),
    python_path=("tests/helpers/cases", "tests/helpers/references"),
)
