"""What selection and repeated solves cost beside the paths themselves."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt import generators
from sparseopt.api import solve
from sparseopt.bench.definitions.study import Row, Settings, Study, median_time
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.problems import DantzigSelector
from sparseopt.selection import cross_validate, information_criterion, stability_selection
from sparseopt.selection import training as training_module

_DATA = ("200 x 500", "200 x 5000", "200 x 1000", "20000 x 50", "20000 x 200", "2000 x 50")


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the sizes of the data, n x d."""
    for data in _DATA:
        yield {"data": data, "repeats": settings["repeats"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Time the calls that belong to these data."""
    n, d = map(int, unit["data"].split(" x "))
    calls = _tall(n, d) if n > d else _wide(d) if d == 1000 else _repeated(d)
    for what, run in calls:
        yield {"what": what, "milliseconds": 1e3 * median_time(run, unit["repeats"])}


Calls = Iterable[tuple[str, Callable[[], Any]]]


def _repeated(d: int) -> Calls:
    """Yield the parts of a solve with a new y and the same X."""
    from sparseopt.solvers.homotopy import Homotopy

    problem: Any = generators.generate("dantzig-4.3", d=d)
    y = np.random.default_rng(0).permutation(problem.y)
    lam = math.sqrt(2.0 * len(y) * math.log(d))
    engine = Homotopy()

    def path(backend: Any, lam_min: float) -> Any:
        return solve(problem, backend=backend, lam_min=lam_min, check=False)

    yield "with_changes(y=...)", lambda: problem.with_changes(y=y)
    yield "canonical form and scales", lambda: problem.canonical().A.scales()
    yield "an empty path, backend='auto'", lambda: path("auto", 1e9)
    yield "an empty path, a backend object", lambda: path(engine, 1e9)
    knots = len(path(engine, lam).path)
    yield f"the path, {knots} knots", lambda: path(engine, lam)


def _wide(d: int) -> Calls:
    """Yield the rules on more columns than observations."""
    problem: Any = generators.generate("dantzig-4.3", d=d)
    lam = math.sqrt(2.0 * len(problem.y) * math.log(d))
    result = solve(problem, lam_min=lam, check=False)
    given: dict[str, Any] = {"lam_min": lam, "result": result}
    folds = len(cross_validate(problem, 10, **given).knots)
    path: Any = result.path
    yield f"a path, {len(path)} knots", lambda: solve(problem, lam_min=lam, check=False)
    yield "EBIC on it", lambda: information_criterion(problem, **given)
    yield f"10 folds, {folds} breakpoints", lambda: cross_validate(problem, 10, **given)
    yield "50 pairs of halves", lambda: stability_selection(problem, false_choices=1.0)


def _tall(n: int, d: int) -> Calls:
    """Yield cross-validation with many observations, on triangular factors and on rows."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, d))
    problem = DantzigSelector(X, X[:, :5].sum(axis=1) + rng.standard_normal(n))
    result = solve(problem, check=False)

    def folds(limit: float) -> Any:
        setattr(training_module, "_TALL", limit)  # noqa: B010, the type of the constant is int
        return cross_validate(problem, 10, result=result)

    usual = training_module._TALL
    yield "10 folds, factors", lambda: folds(usual)
    yield "10 folds, rows", lambda: folds(math.inf)


STUDY = Study(
    title="What selection and repeated solves cost",
    description="Medians in milliseconds on one core, after a first run that compiles.",
    settings={"repeats": 5},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Milliseconds by data (n x d) and call",
            rows=("data", "what"),
            columns=("value",),
            values=("milliseconds",),
            statistic="median",
        ),
    ),
)
