"""The parts of benchmarks/two_sample.py that count rejections: power, dimension, lam.

A cell is a case with its n and D: for each method one 0 or 1 a trial. Cells are kept in the JSON
file as they come, and one that has enough trials is not computed again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import sparseopt
from sparseopt import generators
from sparseopt.problems import STRS
from sparseopt.two_sample import two_sample_test

if TYPE_CHECKING:
    from two_sample import Plan

__all__ = ["CASES", "HEURISTIC", "SECONDS", "SELECTED", "dimension", "lam", "options", "power"]

CASES = {"mean-shift": "I", "covariance-shift": "II", "laplace": "III", "mixture": "IV"}
HEURISTIC = {"restarts": 2, "iterations": 10}
"""Fewer moves than by default: a power study solves hundreds of problems."""
SECONDS = {"strs": 1.0, "quadratic": None, "gaussian": None, "sparse-logistic": None}
"""Time limits of a selection in such a study; then the incumbent is taken, unproven. Annealing ends
by itself, so that its figures do not depend on the machine."""
UNPROVEN = 1.0
"""Seconds of the quadratic kernel with lam = 0, which is one subproblem that branch and bound would
go on to prove."""
SELECTED = ("strs", "quadratic", "gaussian", "sparse-logistic")
FULL = ("linear", "quadratic", "gaussian")
SLOW = {"quadratic": 2, "gaussian": 2}
"""Selections that take long get fewer trials: a half."""
SHARES = (0.0, 1 / 32, 1 / 16, 1 / 8, 1 / 2)
"""Values of lam in the part lam, as shares of MMD^2 / variance."""
FRESH = 10_000
"""The first seed of the part lam: what it chooses is not measured on the same samples."""

Test = Callable[[np.ndarray, np.ndarray, int, int], bool]
"""Called with both samples of 2 n observations, n, and the seed; True where it rejects."""


def options(selection: str) -> dict[str, int] | None:
    """Return the settings of the annealing backend where it is the solver."""
    return HEURISTIC if selection in ("quadratic", "gaussian") else None


def selected(selection: str, d: int, **settings: Any) -> Test:
    """Return a test on selected variables."""

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        return two_sample_test(
            x,
            y,
            selection,
            d=d,
            n_permutations=199,
            seed=seed,
            check=False,
            options=options(selection),
            time_limit=SECONDS[selection],
            **settings,
        ).reject

    return run


def full(kernel: str, both: bool = False) -> Test:
    """Return a test on all variables: of the second half of the data, or of all of them."""

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        begin = 0 if both else n
        return two_sample_test(
            x[begin:], y[begin:], "none", kernel=kernel, n_permutations=199, seed=seed
        ).reject

    return run


def methods(plan: Plan, d: int) -> dict[str, Test]:
    """Return what is compared, by name."""
    every = {
        **{name: selected(name, d) for name in SELECTED},
        "strs positive": selected("strs", d, signs="positive"),
        **{f"full {kernel}": full(kernel) for kernel in FULL},
        **{f"full {kernel} 2n": full(kernel, both=True) for kernel in FULL[::2]},
    }
    unknown = set(plan.methods or ()) - set(every)
    if unknown:
        raise SystemExit(f"there is no method {min(unknown)!r}; there are: {', '.join(every)}")
    return {name: test for name, test in every.items() if name in (plan.methods or every)}


def cell(
    plan: Plan, key: tuple[str, int, int, int], tests: Mapping[str, Test], trials: int, first: int
) -> dict[str, list[int]]:
    """Return the rejections of each method in a case with n, D and d; computed or from the file."""
    case, n, D, d = key
    name = f"{case} n={n} D={D} d={d} from {first}"
    cells = plan.store.setdefault("cells", {})
    found: dict[str, list[int]] = cells.setdefault(name, {})
    wanted = {test: max(1, trials // SLOW.get(test, 1)) for test in tests}
    missing = {test: found.setdefault(test, []) for test in tests}
    missing = {test: done for test, done in missing.items() if len(done) < wanted[test]}
    first_missing = min((len(done) for done in missing.values()), default=trials)
    for trial in range(first_missing, trials):
        draw = generators.two_samples(case, seed=first + trial, n=2 * n, D=D, d=d)
        for test, done in missing.items():
            if len(done) == trial < wanted[test]:
                done.append(int(tests[test](draw.x, draw.y, n, first + trial)))
        print(f"\r{name}: {trial + 1} of {trials}", end="", file=sys.stderr, flush=True)
        if trial % 10 == 9 or trial == trials - 1:
            plan.save()
    if missing:
        print(file=sys.stderr)
    return {test: found[test][: wanted[test]] for test in tests}


def share(rejected: Sequence[int]) -> str:
    """Return the share of rejections and its standard error."""
    p = float(np.mean(rejected))
    return f"{p:.2f} ± {np.sqrt(p * (1.0 - p) / len(rejected)):.2f}"


def difference(one: Sequence[int], other: Sequence[int]) -> str:
    """Return the mean difference of two methods on the same samples, and its standard error."""
    both = min(len(one), len(other))
    change = np.subtract(one[:both], other[:both])
    return f"{change.mean():+.2f} ± {change.std() / np.sqrt(len(change)):.2f}"


def print_cells(cells: Mapping[str, Mapping[str, Sequence[int]]]) -> None:
    """Print a table with a row for each method and a column for each cell."""
    print("| | " + " | ".join(cells) + " |")
    print("|---" * (len(cells) + 1) + "|")
    for name in next(iter(cells.values())):
        print(f"| {name} | " + " | ".join(share(each[name]) for each in cells.values()) + " |")
    first = next(iter(cells.values()))
    for one, other in (("strs", "full linear"), ("quadratic", "full quadratic")):
        if one in first and other in first:
            changes = (difference(each[one], each[other]) for each in cells.values())
            print(f"| *{one} less {other}* | " + " | ".join(changes) + " |", flush=True)


def power(plan: Plan) -> Any:
    """Count rejections of a false hypothesis against n, as in figure 2."""
    trials = plan.count(3, 100)
    D, d = (20, 5) if plan.quick else (100, 20)
    sizes = plan.sizes or ((50,) if plan.quick else (50, 100))
    print(f"D = {D}, d = d_true = {d}, {trials} trials (quadratic and gaussian half), ")
    print(
        "alpha 0.05, n to select and n to test; full: all variables, on the n test observations, "
    )
    print("or on all of them (2n).")
    found = {}
    for n in sizes:
        cells = {
            case: cell(plan, (case, n, D, d), methods(plan, d), trials, 0) for case in plan.cases
        }
        print(f"\nn = {n}\n")
        print_cells({f"{CASES[case]} {case}": each for case, each in cells.items()})
        found |= {f"{case} {n}": each for case, each in cells.items()}
    if plan.images is not None:
        from two_sample_pictures import draw_power

        draw_power(found, names_of(plan.cases), plan.images / "two-sample-power.png")
    return found


def dimension(plan: Plan) -> Any:
    """Count rejections of a false hypothesis against D, as in figure 3."""
    trials = plan.count(3, 50)
    n, d = (50, 5) if plan.quick else (50, 20)
    ds = plan.dimensions or ((10, 20) if plan.quick else (40, 100, 160, 220))
    tests = {
        name: test
        for name, test in methods(plan, d).items()
        if name in (*SELECTED[:3], *(f"full {kernel}" for kernel in FULL))
    }
    print(f"n = {n}, d = d_true = {d}, {trials} trials (quadratic and gaussian half).")
    found = {}
    for case in plan.cases:
        cells = {D: cell(plan, (case, n, D, d), tests, trials, 0) for D in ds}
        print(f"\n{CASES[case]} {case}\n")
        print_cells({f"D = {D}": each for D, each in cells.items()})
        found |= {f"{case} {D}": each for D, each in cells.items()}
    if plan.images is not None:
        from two_sample_pictures import draw_dimension

        draw_dimension(found, names_of(plan.cases), plan.images / "two-sample-dimension.png")
    return found


def lam(plan: Plan) -> Any:
    """Count rejections by the weight of the variance, on seeds of their own."""
    n, D, d = (30, 20, 5) if plan.quick else (50, 100, 20)
    linear = {f"strs {value:g}": truncated(d, value) for value in SHARES}
    known: dict[tuple[str, bytes], Any] = {}
    others = {
        f"{kernel} {value:g}": weighed(kernel, d, value, known)
        for kernel in ("quadratic", "gaussian")
        for value in (SHARES[0], SHARES[2], SHARES[4])
    }
    many = plan.count(2, 200)
    few = max(1, many // 5)
    print(f"n = {n}, D = {D}, d = d_true = {d}, seeds from {FRESH} on; lam in MMD^2 / variance at ")
    print(f"the weights of the largest MMD^2. {many} trials of strs, {few} of the others.\n")
    cells = {
        case: cell(plan, (case, n, D, d), linear, many, FRESH)
        | cell(plan, (case, n, D, d), others, few, FRESH)
        for case in plan.cases
    }
    print_cells({f"{CASES[case]} {case}": each for case, each in cells.items()})
    return cells


def truncated(d: int, value: float) -> Test:
    """Return a test that selects by the linear kernel, with lam a share of MMD^2 / variance.

    Truncation and exchanges instead of branch and bound: hundreds of trials in minutes.
    """

    def weights(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        whole = STRS.from_two_samples(x, y, d, lam=1.0)

        def best(share: float) -> np.ndarray:
            problem = STRS(A=share * whole.A, a=whole.linear, d=d)
            result = sparseopt.solve(problem, backend="truncation", check=False)
            return np.asarray(result.x)

        first = best(0.0)
        ratio = float(whole.linear @ first) / -float(first @ whole.A @ first)
        return best(value * max(0.0, ratio))

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        return two_sample_test(x, y, weights, n_permutations=199, seed=seed).reject

    return run


def weighed(kernel: str, d: int, value: float, known: dict[tuple[str, bytes], Any]) -> Test:
    """Return a test on variables selected by another kernel, with lam such a share.

    The test with lam = 0, whose weights all shares need, is kept in `known`.
    """

    def run(x: np.ndarray, y: np.ndarray, n: int, seed: int) -> bool:
        # The cases share some of their normals, so that nothing less than both samples is a key.
        key = (kernel, x.tobytes() + y.tobytes())
        if key not in known:
            known[key] = two_sample_test(
                x,
                y,
                kernel,
                d=d,
                lam=0.0,
                n_permutations=199,
                seed=seed,
                check=False,
                options=options(kernel),
                time_limit=UNPROVEN,
            )
        first = known[key]
        if value == 0.0:
            return bool(first.reject)
        samples = first.chosen.samples
        ratio = max(0.0, samples.mmd(first.z) / samples.variance(first.z))
        return selected(kernel, d, lam=value * ratio)(x, y, n, seed)

    return run


def names_of(cases: Iterable[str]) -> dict[str, str]:
    """Return the numbers of the cases."""
    return {case: CASES[case] for case in cases}
