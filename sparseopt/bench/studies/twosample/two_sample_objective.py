"""How far below the proven optimum of the selection approximate methods stay (figure 1)."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sparseopt import generators
from sparseopt.api import backends, solve
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.twosample._two_sample import CASES
from sparseopt.problems.strs.problem import STRS

_LAM = {"mean-shift": 0.8, "covariance-shift": 0.7, "laplace": 0.6, "mixture": 0.5}
_SIZES = {20: 5, 40: 10, 60: 6, 80: 8, 100: 10}
"""d by D, as in the paper's table 1."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield each case, size and seed."""
    for case in chosen_of(settings["cases"], CASES, "case"):
        for D in settings["dimensions"]:
            for seed in range(settings["trials"]):
                yield {"case": case, "D": D, "d": _SIZES[D], "n": settings["n"], "seed": seed}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Compare with the proven optimum, as a share of it."""
    case, d = unit["case"], unit["d"]
    draw = generators.two_samples(case, seed=unit["seed"], n=unit["n"], D=unit["D"], d=d)
    problem = STRS.from_two_samples(draw.x, draw.y, d, lam=_LAM[case])
    best = solve(problem, backend="strs-bnb", time_limit=30.0).objective
    assert best is not None
    values = {"truncation as printed": _printed_truncation(problem)}
    there = {info.name for info in backends() if info.available}
    for name in ("truncation", "strs-admm", "strs-cip"):
        if name in there:
            result = solve(problem, backend=name, time_limit=10.0, check=False)
            values[name] = problem.objective(np.asarray(result.x))
    for name, value in values.items():
        yield {"method": name, "loss": 100.0 * (best - value) / abs(best)}


def _printed_truncation(problem: STRS) -> float:
    """Return the better of the truncations (I) and (II), with both signs but without a refit."""
    A, a, d = problem.A, problem.linear, problem.d
    best = -np.inf
    for vector in [*A, a, np.linalg.eigh(A)[1][:, -1]]:
        z = np.zeros(len(a))
        kept = np.argsort(-np.abs(vector))[:d]
        z[kept] = vector[kept]
        z /= np.linalg.norm(z) or 1.0
        best = max(best, problem.objective(z), problem.objective(-z))
    return best


STUDY = Study(
    title="Values of the selection by approximate methods",
    description="How far below the proven optimum, in percent of it.",
    settings={"trials": 5, "n": 1000, "dimensions": tuple(_SIZES), "cases": ("all",)},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Percent below the optimum: median and largest",
            rows=("case", "D", "d"),
            columns=("method", "value"),
            values=("loss:median", "loss:max"),
        ),
    ),
    figures=(Figure("Percent below the optimum", "box", "D", "loss", "method", panels=("case",)),),
)
