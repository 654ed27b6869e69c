"""How often two-sample tests reject a true hypothesis."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.twosample._two_sample import WAYS, options
from sparseopt.two_sample import two_sample_test

_WAYS = {**WAYS, "none": ("none", {})}


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of 50 trials of each selection."""
    for method in chosen_of(settings["methods"], _WAYS, "selection"):
        for first, end in blocks(settings["trials"], 50):
            yield {"method": method, "first": first, "end": end}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Test 40 + 40 observations of 10 standard normal variables, d = 3."""
    selection, settings = _WAYS[unit["method"]]
    for seed in range(unit["first"], unit["end"]):
        x, y = np.random.default_rng([seed, 77]).standard_normal((2, 40, 10))
        test = two_sample_test(
            x,
            y,
            selection,
            d=None if selection == "none" else 3,
            n_permutations=99,
            seed=seed,
            check=False,
            options=options(selection),
            **settings,
        )
        yield {"seed": seed, "rejected": int(test.reject)}


STUDY = Study(
    title="Level of two-sample tests",
    description="How often the test rejects equal distributions at level 0.05: 40 + 40 "
    "observations of 10 standard normal variables, d = 3, 99 permutations.",
    settings={"trials": 1000, "methods": ("all",)},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Rejections of a true hypothesis",
            rows=("method",),
            columns=("value",),
            values=("rejected:sum", "rejected:mean-se"),
            note="The 95% band of a binomial with 5% is 37 to 64 of 1,000 trials, 173 to 227 of "
            "4,000, 1 to 10 of 100.",
        ),
    ),
)
