"""Power of two-sample tests by the weight lam of the variance, by which "auto" was chosen."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt import generators
from sparseopt.api import solve
from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.twosample._two_sample import CASES, options, selected
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.two_sample import two_sample_test

_SHARES = (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 2)
"""Values of lam, as shares of MMD^2 / variance."""
_FRESH = 10_000
"""The first seed: what is chosen here is not measured on the same samples."""
_UNPROVEN = 1.0
"""Seconds of the quadratic kernel with lam = 0, which is one subproblem that branch and bound would
go on to prove."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of five trials of each case; a fifth of them with the slow kernels, too."""
    few = max(1, settings["trials"] // 5)
    size = {key: settings[key] for key in ("n", "D", "d")}
    for case in chosen_of(settings["cases"], CASES, "case"):
        for first, end in blocks(settings["trials"], 5):
            yield {"case": case, **size, "first": first, "end": end, "slow": first < few}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Test the same draws with each lam."""
    n, d = unit["n"], unit["d"]
    for seed in range(_FRESH + unit["first"], _FRESH + unit["end"]):
        draw = generators.two_samples(unit["case"], seed=seed, n=2 * n, D=unit["D"], d=d)
        for share in _SHARES:
            rejected = _linear(draw.x, draw.y, d, share, seed)
            yield {"method": "strs", "share": share, "rejected": int(rejected)}
        for kernel in ("quadratic", "gaussian") if unit["slow"] else ():
            first = two_sample_test(
                draw.x,
                draw.y,
                kernel,
                d=d,
                lam=0.0,
                n_permutations=199,
                seed=seed,
                check=False,
                options=options(kernel),
                time_limit=_UNPROVEN,
            )
            chosen: Any = first.chosen
            mmd, variance = chosen.samples.mmd(first.z), chosen.samples.variance(first.z)
            for share in _SHARES[::2]:
                lam = share * max(0.0, mmd / variance)
                test = selected(kernel, d, lam=lam)
                rejected = test(draw.x, draw.y, n, seed) if share else first.reject
                yield {"method": kernel, "share": share, "rejected": int(rejected)}


def _linear(x: Array, y: Array, d: int, share: float, seed: int) -> bool:
    """Test the variables that the linear kernel selects with lam a share of MMD^2 / variance.

    Truncation and exchanges instead of branch and bound: hundreds of trials in minutes.
    """

    def weights(x: Array, y: Array) -> Array:
        whole = STRS.from_two_samples(x, y, d, lam=1.0)

        def best(lam: float) -> Array:
            problem = STRS(A=lam * whole.A, a=whole.linear, d=d)
            return np.asarray(solve(problem, backend="truncation", check=False).x)

        first = best(0.0)
        ratio = float(whole.linear @ first) / -float(first @ whole.A @ first)
        return best(share * max(0.0, ratio))

    return two_sample_test(x, y, weights, n_permutations=199, seed=seed).reject


STUDY = Study(
    title="Power of two-sample tests by the weight of the variance",
    description="lam in MMD^2 / variance at the weights of the largest MMD^2, on seeds of their "
    "own. Quadratic and gaussian selections get a fifth of the trials.",
    settings={"trials": 200, "n": 50, "D": 100, "d": 20, "cases": ("all",)},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Share of rejections, with standard errors",
            rows=("method", "share"),
            columns=("case",),
            values=("rejected",),
        ),
    ),
)
