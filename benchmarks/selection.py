"""Time what selection and repeated solves cost beside the paths themselves.

Each figure is the median of `--repeats` runs, on one core, after a first run that compiles.

- set-up: a new y in a problem (``with_changes``), the program that the engine works on, and the
  solve of the path, all with the same X;
- the public call beside the engine: ``sparseopt.solve`` with backend "auto", and with a backend
  object;
- cross-validation with 10 folds beside 11 paths; tall data with triangular factors and without;
- stability selection with 50 pairs of halves.

Usage
-----
    python benchmarks/selection.py        # about a minute
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import math
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

import sparseopt
from sparseopt import generators
from sparseopt.problems import DantzigSelector
from sparseopt.registry import get_backend
from sparseopt.selection import cross_validate, information_criterion, stability_selection
from sparseopt.selection import training as training_module


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    repeats = parser.parse_args().repeats

    def show(what: str, run: Callable[[], Any]) -> None:
        run()
        times = []
        for _ in range(repeats):
            begin = time.perf_counter()
            run()
            times.append(time.perf_counter() - begin)
        print(f"{what:<70} {1e3 * statistics.median(times):10.2f} ms", flush=True)

    for d in (500, 5000):
        repeated_solves(d, show)
    wide(show)
    tall(show)


def repeated_solves(d: int, show: Callable[[str, Callable[[], Any]], None]) -> None:
    """Time the parts of a solve with a new y."""
    problem = generators.generate("dantzig-4.3", d=d)
    n = len(problem.y)
    lam = math.sqrt(2.0 * n * math.log(d))
    y = np.random.default_rng(0).permutation(problem.y)
    engine = get_backend("homotopy")

    def path(backend: Any, lam_min: float) -> Any:
        return sparseopt.solve(problem, backend=backend, lam_min=lam_min, check=False)

    show(f"n = {n}, d = {d}: with_changes(y=...)", lambda: problem.with_changes(y=y))
    show(f"n = {n}, d = {d}: canonical form and scales", lambda: problem.canonical().A.scales())
    show(f"n = {n}, d = {d}: an empty path, backend='auto'", lambda: path("auto", 1e9))
    show(f"n = {n}, d = {d}: an empty path, a backend object", lambda: path(engine, 1e9))
    knots = len(path(engine, lam).path)
    show(f"n = {n}, d = {d}: the path, {knots} knots", lambda: path(engine, lam))


def wide(show: Callable[[str, Callable[[], Any]], None]) -> None:
    """Time the rules on more columns than observations."""
    problem = generators.generate("dantzig-4.3", d=1000)
    lam = math.sqrt(2.0 * len(problem.y) * math.log(1000))
    result = sparseopt.solve(problem, lam_min=lam, check=False)
    given = {"lam_min": lam, "result": result}
    show(
        f"n = 200, d = 1000: a path, {len(result.path)} knots",
        lambda: sparseopt.solve(problem, lam_min=lam, check=False),
    )
    show("n = 200, d = 1000: EBIC on it", lambda: information_criterion(problem, **given))
    folds = len(cross_validate(problem, 10, **given).knots)
    show(
        f"n = 200, d = 1000: 10 folds, {folds} breakpoints",
        lambda: cross_validate(problem, 10, **given),
    )
    show(
        "n = 200, d = 1000: 50 pairs of halves",
        lambda: stability_selection(problem, false_choices=1.0),
    )


def tall(show: Callable[[str, Callable[[], Any]], None]) -> None:
    """Time cross-validation with many observations, on triangular factors and on rows."""
    rng = np.random.default_rng(0)
    usual = training_module._TALL
    for n, d in ((20_000, 50), (20_000, 200), (2_000, 50)):
        X = rng.standard_normal((n, d))
        y = X[:, :5].sum(axis=1) + rng.standard_normal(n)
        problem = DantzigSelector(X, y)
        result = sparseopt.solve(problem, check=False)
        for name, limit in (("factors", usual), ("rows", math.inf)):
            training_module._TALL = limit
            show(
                f"n = {n}, d = {d}: 10 folds, {name}",
                lambda p=problem, r=result: cross_validate(p, 10, result=r),
            )
        training_module._TALL = usual


if __name__ == "__main__":
    main()
