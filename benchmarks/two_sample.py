"""What variable selection does for two-sample tests: level, power, recovery, pictures.

Parts, each with a table (docs/two-sample.md has all of them):

- build: matrices A and a of the linear kernel from 4000 + 4000 observations of 50 variables, by
  Hermite features and by direct sums;
- level: rejections in 1,000 tests of equal distributions, beside the binomial band;
- power: cases (I) to (IV), D = 100, d = 20, selected variables against all of them, a picture of
  what figure 2 shows;
- dimension: the same against D, n = 50, a picture like figure 3;
- lam: the same by the weight of the variance, on samples of their own, by which "auto" was chosen;
- recovery: false and missed discoveries for d = 1, ..., 20, a picture like figure 4;
- objective: values of the subproblem by method, a picture like figure 1;
- digits: selected pixels and witness function, a picture like figure 5.

Usage
-----
    python benchmarks/two_sample.py                  # all parts, about an hour on one core
    python benchmarks/two_sample.py --quick          # all parts, small: two minutes
    python benchmarks/two_sample.py --parts digits --images docs/images
    python benchmarks/two_sample.py --parts power --sizes 50 --trials 20 --json power.json

With --json the parts level, power, dimension, lam and recovery continue where they were stopped.
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
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import binom
from two_sample_power import CASES, SELECTED, dimension, lam, options, power
from two_sample_recovery import recovery

import sparseopt
from sparseopt import generators
from sparseopt.problems import STRS
from sparseopt.two_sample import two_sample_test

TABLE_1 = ((20, 5), (40, 10), (60, 6), (80, 8), (100, 10))
STRS_LAM = {"mean-shift": 0.8, "covariance-shift": 0.7, "laplace": 0.6, "mixture": 0.5}


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
    dimensions : tuple of int or None
        D in the part dimension.
    methods : tuple of str or None
        Of the parts level, power, dimension and recovery.
    cases : tuple of str
        Of all parts but build, level and digits.
    store : dict
        What the JSON file holds.
    file : Path or None
        The JSON file.
    """

    quick: bool
    images: Path | None
    trials: int | None = None
    sizes: tuple[int, ...] | None = None
    dimensions: tuple[int, ...] | None = None
    methods: tuple[str, ...] | None = None
    cases: tuple[str, ...] = tuple(CASES)
    store: dict[str, Any] = field(default_factory=dict)
    file: Path | None = None

    def save(self) -> None:
        """Write what was measured so far."""
        if self.file is not None:
            self.file.write_text(json.dumps(self.store, indent=1), encoding="utf-8")

    def count(self, few: int, many: int) -> int:
        """Return how many trials there are."""
        return self.trials or (few if self.quick else many)


def main() -> None:
    """Run the chosen parts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--parts", default=",".join(PARTS), help="some of: " + ", ".join(PARTS))
    parser.add_argument("--quick", action="store_true", help="small sizes, few trials")
    parser.add_argument("--images", type=Path, help="folder for the pictures (none by default)")
    parser.add_argument("--json", type=Path, help="file for all numbers, continued if it is there")
    parser.add_argument("--trials", type=int, help="of every part, instead of its own number")
    parser.add_argument("--sizes", help="n of the part power, such as 50,100")
    parser.add_argument("--dimensions", help="D of the part dimension, such as 40,100")
    parser.add_argument(
        "--methods",
        help="of level, power, dimension and recovery, such as 'strs,full linear'",
    )
    parser.add_argument("--cases", default=",".join(CASES), help="of all parts that have cases")
    args = parser.parse_args()
    sizes, dimensions = (
        tuple(int(n) for n in text.split(",")) if text else None
        for text in (args.sizes, args.dimensions)
    )
    strange = set(args.cases.split(",")) - set(CASES)
    if strange:
        parser.error(f"there is no case {sorted(strange)[0]!r}; there are: {', '.join(CASES)}")
    there = args.json is not None and args.json.exists()
    plan = Plan(
        quick=args.quick,
        images=args.images,
        trials=args.trials,
        sizes=sizes,
        dimensions=dimensions,
        methods=tuple(args.methods.split(",")) if args.methods else None,
        cases=tuple(args.cases.split(",")),
        store=json.loads(args.json.read_text(encoding="utf-8")) if there else {},
        file=args.json,
    )
    unknown = set(args.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {sorted(unknown)[0]!r}; there are: {', '.join(PARTS)}")
    for name in args.parts.split(","):
        print(f"\n## {name}\n", flush=True)
        plan.store[name] = PARTS[name](plan)
        plan.save()


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
    ways: dict[str, tuple[str, dict[str, Any]]] = {
        **{name: (name, {}) for name in (*SELECTED, "none")},
        "strs positive": ("strs", {"signs": "positive"}),
    }
    ways = {name: way for name, way in ways.items() if name in (plan.methods or ways)}
    kept = plan.store.setdefault("equal", {})

    def rows() -> Iterable[tuple[object, ...]]:
        for name, (selection, settings) in ways.items():
            done = kept.setdefault(f"{name} n={n} D={D}", [])
            for seed in range(len(done), trials):
                x, y = np.random.default_rng([seed, 77]).standard_normal((2, n, D))
                test = two_sample_test(
                    x,
                    y,
                    selection,
                    d=d,
                    n_permutations=permutations,
                    seed=seed,
                    check=False,
                    options=options(selection),
                    **settings,
                )
                done.append(int(test.reject))
                if seed % 100 == 99:
                    plan.save()
            counts[name] = sum(done[:trials])
            inside = "yes" if low <= counts[name] <= high else "NO"
            yield name, trials, counts[name], f"{low} to {high}", inside

    print(f"x and y: {n} observations each of {D} standard normal variables, d = {d}, alpha 0.05, ")
    print(f"{permutations} permutations.\n")
    table(("selection", "trials", "rejected", "95% band of 5%", "inside"), rows())
    return {"trials": trials, "rejected": counts, "band": [low, high]}


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
    "dimension": dimension,
    "lam": lam,
    "recovery": recovery,
    "objective": objective,
    "digits": digits,
}

if __name__ == "__main__":
    main()
