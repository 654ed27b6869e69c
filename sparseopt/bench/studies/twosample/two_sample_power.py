"""How often two-sample tests reject a false hypothesis, against n or D (figures 2 and 3)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from sparseopt import generators
from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.twosample._two_sample import CASES, WAYS, Test, full, selected

_FULL = ("linear", "quadratic", "gaussian")
_SLOW = ("quadratic", "gaussian")
"""Selections that take long get half of the trials."""
_RIVALS = (("strs", "full linear"), ("quadratic", "full quadratic"))


def _methods(d: int) -> dict[str, Test]:
    """Return what is compared, by name."""
    return {
        **{way: selected(way, d) for way in WAYS},
        **{f"full {kernel}": full(kernel) for kernel in _FULL},
        **{f"full {kernel} 2n": full(kernel, both=True) for kernel in _FULL[::2]},
    }


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of ten trials of each case, n and D."""
    trials, d = settings["trials"], settings["d"]
    names = ",".join(chosen_of(settings["methods"], _methods(d), "method"))
    only = {} if "all" in settings["methods"] else {"methods": names}
    for n in settings["sizes"]:
        for D in settings["dimensions"]:
            for case in chosen_of(settings["cases"], CASES, "case"):
                for first, end in blocks(trials, 10):
                    slow = first < max(1, trials // 2)
                    unit = {"case": case, "n": n, "D": D, "d": d, "first": first, "end": end}
                    yield {**unit, "slow": slow, **only}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Test the same draws by every method; and compare rivals draw by draw."""
    n, tests = unit["n"], _methods(unit["d"])
    if "methods" in unit:
        tests = {name: tests[name] for name in unit["methods"].split(",")}
    for seed in range(unit["first"], unit["end"]):
        draw = generators.two_samples(unit["case"], seed=seed, n=2 * n, D=unit["D"], d=unit["d"])
        rejected = {
            name: int(test(draw.x, draw.y, n, seed))
            for name, test in tests.items()
            if unit["slow"] or name not in _SLOW
        }
        for name, found in rejected.items():
            yield {"method": name, "seed": seed, "rejected": found}
        for one, other in _RIVALS:
            if one in rejected and other in rejected:
                gain = rejected[one] - rejected[other]
                yield {"method": f"{one} less {other}", "seed": seed, "gain": gain}


STUDY = Study(
    title="Power of two-sample tests",
    description="The four cases of Wang, Dey and Xie at level 0.05, 199 permutations: n "
    "observations of each sample select d variables and n test them; 'full' tests all variables "
    "on the n test observations, 'full ... 2n' on all of them. Quadratic and gaussian selections "
    "get half of the trials.",
    settings={
        "trials": 100,
        "sizes": (50, 100),
        "dimensions": (100,),
        "d": 20,
        "cases": ("all",),
        "methods": ("all",),
    },
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Share of rejections, with standard errors",
            rows=("method",),
            columns=("n", "D", "case"),
            values=("rejected",),
        ),
        TableSpec(
            title="Differences on the same draws, with standard errors",
            rows=("method",),
            columns=("n", "D", "case"),
            values=("gain",),
        ),
    ),
    figures=(
        Figure("Power by case", "bar", "case", "rejected", "method", panels=("n", "D")),
        Figure("Power against D", "line", "D", "rejected", "method", panels=("case", "n")),
    ),
)
