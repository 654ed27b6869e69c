"""What variable selection does for two-sample tests: level, power, recovery, pictures.

Parts, each with a table (docs/two-sample.md has all of them):

- build: matrices A and a of the linear kernel from 4000 + 4000 observations of 50 variables, by
  Hermite features and by direct sums;
- level: rejections in 1,000 tests of equal distributions, beside the binomial band;
- power: cases (I) to (IV), D = 100, d = 20, selected variables against all of them;
- recovery: false and missed discoveries for d = 1, ..., 20, a picture like figure 4;
- objective: values of the subproblem by method, a picture like figure 1;
- digits: selected pixels and witness function, a picture like figure 5.

Usage
-----
    python benchmarks/two_sample.py                  # all parts, about an hour on one core
    python benchmarks/two_sample.py --quick          # all parts, small: two minutes
    python benchmarks/two_sample.py --parts digits --images docs/images
    python benchmarks/two_sample.py --parts power --sizes 50 --trials 20
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom

import sparseopt
from sparseopt import generators
from sparseopt.problems import STRS
from sparseopt.two_sample import (
    false_discovery_proportion,
    non_discovery_proportion,
    two_sample_test,
)

CASES = {"mean-shift": "I", "covariance-shift": "II", "laplace": "III", "mixture": "IV"}
TABLE_1 = ((20, 5), (40, 10), (60, 6), (80, 8), (100, 10))
STRS_LAM = {"mean-shift": 0.8, "covariance-shift": 0.7, "laplace": 0.6, "mixture": 0.5}
HEURISTIC = {"restarts": 2, "iterations": 10}
"""Fewer moves than by default: a power study solves hundreds of problems."""
SECONDS = 1.0
"""Time limit of a selection in such a study; then the incumbent is taken, unproven."""
SELECTED = ("strs", "quadratic", "gaussian", "sparse-logistic")
FULL = ("linear", "quadratic", "gaussian")


@dataclass(frozen=True)
class Plan:
    """What is asked of a part.

    Attributes
    ----------
    quick : bool
    images : Path or None
    trials : int or None
        None: as many as the part has by itself.
    sizes : tuple of int or None
        Of the samples in the part power.
    cases : tuple of str
        Of the parts power and objective.
    """

    quick: bool
    images: Path | None
    trials: int | None = None
    sizes: tuple[int, ...] | None = None
    cases: tuple[str, ...] = tuple(CASES)

    def count(self, few: int, many: int) -> int:
        """Return how many trials there are."""
        return self.trials or (few if self.quick else many)


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="some of: " + ", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, few trials")
    parser.add_argument("--images", type=Path, help="folder for the pictures (none by default)")
    parser.add_argument("--json", type=Path, help="file for all numbers")
    parser.add_argument("--trials", type=int, help="of every part, instead of its own number")
    parser.add_argument("--sizes", help="n of the part power, such as 50,100")
    parser.add_argument("--cases", default=",".join(CASES), help="of power and objective")
    args = parser.parse_args()
    sizes = tuple(int(n) for n in args.sizes.split(",")) if args.sizes else None
    strange = set(args.cases.split(",")) - set(CASES)
    if strange:
        parser.error(f"there is no case {sorted(strange)[0]!r}; there are: {', '.join(CASES)}")
    plan = Plan(args.quick, args.images, args.trials, sizes, tuple(args.cases.split(",")))
    unknown = set(args.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are: {', '.join(PARTS)}")
    numbers: dict[str, Any] = {}
    for name in args.parts.split(","):
        print(f"\n## {name}\n", flush=True)
        numbers[name] = PARTS[name](plan)
        if args.json:
            args.json.write_text(json.dumps(numbers, indent=1), encoding="utf-8")


def table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> None:
    """Print a Markdown table, row by row as the rows come."""
    heads = list(heads)
    print("| " + " | ".join(heads) + " |")
    print("|" + "---|" * len(heads), flush=True)
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


# ---- build


def build(plan: Plan) -> Any:
    """Time the matrices of the linear kernel, in CPU seconds of one thread."""
    n, D = (400, 10) if plan.quick else (4000, 50)
    draw = generators.two_samples("mean-shift", n=n, D=D, d=D // 5)
    seconds = []
    for _ in range(5):
        begin = time.process_time()
        problem = STRS.from_two_samples(draw.x, draw.y, d=D // 5, lam=1.0)
        seconds.append(time.process_time() - begin)
    begin = time.process_time()
    A, a = direct_sums(draw.x, draw.y)
    direct = time.process_time() - begin
    error = max(
        float(np.abs(problem.A - A).max() / np.abs(A).max()),
        float(np.abs(problem.linear - a).max() / np.abs(a).max()),
    )
    ours = statistics.median(seconds)
    table(
        (
            "n",
            "D",
            "by features, CPU s",
            "goal, s",
            "direct sums, CPU s",
            "largest relative difference",
        ),
        [(n, D, f"{ours:.3f}", "0.5", f"{direct:.1f}", f"{error:.1e}")],
    )
    return {"n": n, "D": D, "seconds": ours, "direct": direct, "error": error}


def direct_sums(x: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return A (lam = 1) and a by sums over all pairs, column by column."""
    n, D = x.shape
    rows, a = np.empty((n, D)), np.empty(D)
    for s in range(D):
        u, v = x[:, s], y[:, s]
        bandwidth = np.median(np.abs(u[:, None] - v[None, :])) ** 2

        def gram(p: np.ndarray, q: np.ndarray, bandwidth: float = float(bandwidth)) -> np.ndarray:
            return np.exp((p[:, None] - q[None, :]) ** 2 / (-2.0 * bandwidth))

        across = gram(u, v)
        H = gram(u, u) + gram(v, v) - across - across.T
        rows[:, s] = H.sum(axis=1)
        a[s] = (H.sum() - np.trace(H)) / (n * (n - 1))
    total = rows.sum(axis=0)
    V = 4.0 / n**3 * rows.T @ rows - 4.0 / n**4 * np.outer(total, total)
    return -V, a


# ---- level


def level(plan: Plan) -> Any:
    """Count rejections of a true hypothesis."""
    trials, n, D, d, permutations = plan.count(100, 1000), 40, 10, 3, 99
    low, high = (int(k) for k in binom.interval(0.95, trials, 0.05))
    counts: dict[str, int] = {}

    def rows() -> Iterable[tuple[object, ...]]:
        for selection in (*SELECTED, "none"):
            rejected = 0
            for seed in range(trials):
                x, y = np.random.default_rng([seed, 77]).standard_normal((2, n, D))
                rejected += two_sample_test(
                    x,
                    y,
                    selection,
                    d=d,
                    n_permutations=permutations,
                    seed=seed,
                    check=False,
                    options=options(selection),
                ).reject
            counts[selection] = rejected
            inside = "yes" if low <= rejected <= high else "NO"
            yield selection, trials, rejected, f"{low} to {high}", inside

    print(f"x and y: {n} observations each of {D} standard normal variables, d = {d}, alpha 0.05, ")
    print(f"{permutations} permutations.\n")
    table(("selection", "trials", "rejected", "95% band of 5%", "inside"), rows())
    return {"trials": trials, "rejected": counts, "band": [low, high]}


def options(selection: str) -> dict[str, int] | None:
    """Return the settings of the annealing backend where it is the solver."""
    return HEURISTIC if selection in ("quadratic", "gaussian") else None


# ---- power


def power(plan: Plan) -> Any:
    """Count rejections of a false hypothesis."""
    trials = plan.count(3, 20)
    D, d = (20, 5) if plan.quick else (100, 20)
    sizes = plan.sizes or ((50,) if plan.quick else (50, 100))
    print(f"D = {D}, d = d_true = {d}, {trials} trials, alpha 0.05, n to select and n to test; ")
    print("full: all variables, on the n test observations. Power, and below it with lam chosen ")
    print("by cross-validation (strs, cv) or all 2 n observations tested (gaussian, 2n).\n")
    methods: dict[str, Callable[[np.ndarray, np.ndarray, int, int], Any]] = {
        **{name: selected_test(name, d) for name in SELECTED},
        "strs, cv": selected_test("strs", d, lam="cv"),
        **{f"full {kernel}": full_test(kernel) for kernel in FULL},
        "full gaussian, 2n": full_test("gaussian", both=True),
    }
    found: dict[str, Any] = {}

    def rows() -> Iterable[tuple[object, ...]]:
        for case in plan.cases:
            for n in sizes:
                draws = [
                    generators.two_samples(case, seed=s, n=2 * n, D=D, d=d) for s in range(trials)
                ]
                shares = {
                    name: float(
                        np.mean([test(each.x, each.y, n, s) for s, each in enumerate(draws)])
                    )
                    for name, test in methods.items()
                }
                found[f"{case} {n}"] = shares
                yield CASES[case], n, *(f"{share:.2f}" for share in shares.values())

    table(("case", "n", *methods), rows())
    if plan.images is not None:
        from two_sample_pictures import draw_power

        draw_power(
            found, {case: CASES[case] for case in plan.cases}, plan.images / "two-sample-power.png"
        )
    return found


def selected_test(selection: str, d: int, lam: Any = "auto") -> Callable[..., bool]:
    """Return a test on selected variables."""

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        return two_sample_test(
            x,
            y,
            selection,
            d=d,
            lam=lam,
            n_permutations=199,
            seed=seed,
            check=False,
            options=options(selection),
            time_limit=SECONDS,
        ).reject

    return run


def full_test(kernel: str, both: bool = False) -> Callable[..., bool]:
    """Return a test on all variables: of the second half of the data, or of all of them."""

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        begin = 0 if both else n
        return two_sample_test(
            x[begin:], y[begin:], "none", kernel=kernel, n_permutations=199, seed=seed
        ).reject

    return run


# ---- recovery


def recovery(plan: Plan) -> Any:
    """Tabulate FDP and NDP against d."""
    trials = plan.count(1, 3)
    D, true = (30, 6) if plan.quick else (100, 20)
    ds = (1, 3, 6) if plan.quick else (1, 2, 4, 7, 10, 13, 16, 20)
    settings = {
        "mean-shift": {"tau": 2.0, "n": 200},
        "covariance-shift": {"n": 150},
        "laplace": {"n": 150},
        "mixture": {"tau": 4.0, "n": 200},
    }
    found: dict[str, Any] = {}

    def rows() -> Iterable[tuple[object, ...]]:
        for case, number in CASES.items():
            draws = [
                generators.two_samples(case, seed=s, D=D, d=true, **settings[case])
                for s in range(trials)
            ]
            for selection in SELECTED:
                curves = []
                for d in ds:
                    chosen = [
                        select(selection, each.x, each.y, d, s) for s, each in enumerate(draws)
                    ]
                    truth = [each.truth for each in draws]
                    pairs = list(zip(chosen, truth, strict=True))
                    curves.append(
                        (
                            d,
                            float(np.mean([false_discovery_proportion(*pair) for pair in pairs])),
                            float(np.mean([non_discovery_proportion(*pair) for pair in pairs])),
                        )
                    )
                found[f"{case} {selection}"] = curves
                for d, fdp, ndp in curves:
                    if d in (ds[len(ds) // 2], ds[-1]):
                        ideal = f"0.00 / {1 - d / true:.2f}"
                        yield number, selection, d, f"{fdp:.2f} / {ndp:.2f}", ideal

    print(f"D = {D}, {true} variables differ, {trials} trials.\n")
    table(("case", "selection", "d", "FDP / NDP", "ideal"), rows())
    if plan.images is not None:
        from two_sample_pictures import draw_recovery

        draw_recovery(found, CASES, SELECTED, true, plan.images / "two-sample-recovery.png")
    return found


def select(selection: str, x: np.ndarray, y: np.ndarray, d: int, seed: int) -> np.ndarray:
    """Return the variables that are selected from all observations but two of each sample."""
    return two_sample_test(
        x,
        y,
        selection,
        d=d,
        split=1.0 - 2.0 / len(x),
        n_permutations=1,
        seed=seed,
        check=False,
        options=options(selection),
        time_limit=SECONDS,
    ).selected


# ---- objective


def objective(plan: Plan) -> Any:
    """Compare the values that approximate methods reach."""
    trials, n = plan.count(2, 5), (200 if plan.quick else 1000)
    sizes = TABLE_1[:2] if plan.quick else TABLE_1
    there = {info.name for info in sparseopt.backends() if info.available}
    asked = ("truncation", "strs-admm", "strs-cip")
    peers = [name for name in asked if name in there]
    for name in set(asked) - there:
        print(f"{name} is not there and was left out.\n")
    found: dict[str, Any] = {}

    def rows() -> Iterable[tuple[object, ...]]:
        # A process for each row: SCIP 10.0 crashed after some sixty solves in one process.
        fresh = ProcessPoolExecutor(1, get_context("spawn"), max_tasks_per_child=1)
        with fresh as pool:
            for case in plan.cases:
                for D, d in sizes:
                    losses = pool.submit(losses_of, case, D, d, n, trials, peers).result()
                    found[f"{case} {D} {d}"] = losses
                    yield CASES[case], D, d, *(percent(losses[name]) for name in losses)

    print(f"n = {n}, {trials} seeds: how far below the proven optimum, in percent of it; ")
    print("median (largest).\n")
    table(("case", "D", "d", "truncation as printed", *peers), rows())
    if plan.images is not None:
        from two_sample_pictures import draw_objectives

        draw_objectives(
            found,
            {case: CASES[case] for case in plan.cases},
            plan.images / "two-sample-objective.png",
        )
    return found


def losses_of(
    case: str, D: int, d: int, n: int, trials: int, peers: list[str]
) -> dict[str, list[float]]:
    """Return by method how far its values lie below the optimum, as a share of it."""
    losses: dict[str, list[float]] = {}
    for seed in range(trials):
        draw = generators.two_samples(case, seed=seed, n=n, D=D, d=d)
        problem = STRS.from_two_samples(draw.x, draw.y, d, lam=STRS_LAM[case])
        best = sparseopt.solve(problem, backend="strs-bnb", time_limit=30.0)
        values = {"truncation as printed": printed_truncation(problem)}
        for name in peers:
            result = sparseopt.solve(problem, backend=name, time_limit=10.0, check=False)
            values[name] = problem.objective(result.x)
        for name, value in values.items():
            losses.setdefault(name, []).append((best.objective - value) / abs(best.objective))
    return losses


def percent(losses: list[float]) -> str:
    """Return the median and the largest loss."""
    return f"{100 * statistics.median(losses):.2f} ({100 * max(losses):.2f})"


def printed_truncation(problem: STRS) -> float:
    """Return the better of the truncations (I) and (II), with both signs but without a refit."""
    A, a, d = problem.A, problem.linear, problem.d
    candidates = [*A, a, np.linalg.eigh(A)[1][:, -1]]
    best = -np.inf
    for vector in candidates:
        z = np.zeros(len(a))
        kept = np.argsort(-np.abs(vector))[:d]
        z[kept] = vector[kept]
        z /= np.linalg.norm(z) or 1.0
        best = max(best, problem.objective(z), problem.objective(-z))
    return best


# ---- digits


def digits(plan: Plan) -> Any:
    """Select the pixels by which two digits differ."""
    from sklearn.datasets import load_digits

    pixels, label = load_digits(return_X_y=True)
    found: dict[str, Any] = {}
    tests = {}

    def rows() -> Iterable[tuple[object, ...]]:
        for first, second in ((0, 6), (8, 9), (3, 8), (7, 9)):
            x, y = pixels[label == first][:25], pixels[label == second][:25]
            test = two_sample_test(x, y, "strs", d=8, split=0.8, names=[f"p{k}" for k in range(64)])
            tests[first, second] = test
            found[f"{first}-{second}"] = test.summary()
            assert test.result is not None
            yield (
                f"{first} and {second}",
                f"{test.p_value:.3f}",
                test.result.verdict,
                " ".join(str(tuple(divmod(int(s), 8))) for s in test.selected),
            )

    print("20 + 20 images to select d = 8 of 64 pixels, 5 + 5 to test.\n")
    table(
        ("digits", "p-value", "verdict", "pixels (row, column), the largest weight first"), rows()
    )
    if plan.images is not None:
        from two_sample_pictures import draw_digits

        draw_digits(tests, pixels, label, plan.images / "two-sample-digits.png", plan.quick)
    return found


PARTS: dict[str, Callable[[Plan], Any]] = {
    "build": build,
    "level": level,
    "power": power,
    "recovery": recovery,
    "objective": objective,
    "digits": digits,
}

if __name__ == "__main__":
    main()
