"""False and missed discoveries of the selections of two-sample tests, against d (figure 4)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from sparseopt import generators
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.twosample._two_sample import CASES, SECONDS, WAYS, options
from sparseopt.two_sample import (
    false_discovery_proportion,
    non_discovery_proportion,
    two_sample_test,
)

_DRAWS: dict[str, dict[str, Any]] = {
    "mean-shift": {"tau": 2.0, "n": 200},
    "covariance-shift": {"n": 150},
    "laplace": {"n": 150},
    "mixture": {"tau": 4.0, "n": 200},
}
"""The settings of section 6.3."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield each case, selection and trial."""
    for case in chosen_of(settings["cases"], CASES, "case"):
        for method in chosen_of(settings["methods"], WAYS, "selection"):
            for seed in range(settings["trials"]):
                size = {"D": settings["D"], "true": settings["true"], "seed": seed}
                ds = ",".join(map(str, settings["ds"]))
                yield {"case": case, "method": method, **size, "ds": ds}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Select by all observations but two of each sample, for each d."""
    case, seed = unit["case"], unit["seed"]
    draw = generators.two_samples(case, seed=seed, D=unit["D"], d=unit["true"], **_DRAWS[case])
    selection, settings = WAYS[unit["method"]]
    for d in map(int, unit["ds"].split(",")):
        chosen = two_sample_test(
            draw.x,
            draw.y,
            selection,
            d=d,
            split=1.0 - 2.0 / len(draw.x),
            n_permutations=1,
            seed=seed,
            check=False,
            options=options(selection),
            time_limit=SECONDS[selection],
            **settings,
        ).selected
        fdp = false_discovery_proportion(chosen, draw.truth)
        ndp = non_discovery_proportion(chosen, draw.truth)
        yield {"d": d, "fdp": fdp, "ndp": ndp, "fdp_ndp": (fdp + ndp) / 2.0}


STUDY = Study(
    title="Recovery by the selections of two-sample tests",
    description="FDP and NDP of the selected variables; a perfect selection has 0 and 1 - d/true.",
    settings={
        "trials": 10,
        "D": 100,
        "true": 20,
        "ds": (1, 2, 4, 7, 10, 13, 16, 20),
        "cases": ("all",),
        "methods": ("all",),
    },
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="False and missed discoveries, with standard errors",
            rows=("case", "method", "value"),
            columns=("d",),
            values=("fdp", "ndp"),
        ),
    ),
    figures=tuple(
        Figure(f"{name} against d", "line", "d", column, "method", panels=("case",))
        for name, column in (("FDP", "fdp"), ("NDP", "ndp"), ("Mean of both", "fdp_ndp"))
    ),
)
