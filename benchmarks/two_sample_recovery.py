"""The part recovery of benchmarks/two_sample.py: false and missed discoveries, as in figure 4."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
from two_sample_power import CASES, SECONDS, SELECTED, names_of, options

from sparseopt import generators
from sparseopt.two_sample import (
    false_discovery_proportion,
    non_discovery_proportion,
    two_sample_test,
)

if TYPE_CHECKING:
    from two_sample import Plan

__all__ = ["recovery"]

DRAWS: dict[str, dict[str, Any]] = {
    "mean-shift": {"tau": 2.0, "n": 200},
    "covariance-shift": {"n": 150},
    "laplace": {"n": 150},
    "mixture": {"tau": 4.0, "n": 200},
}
"""The settings of section 6.3."""
WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    **{name: (name, {}) for name in SELECTED},
    "strs positive": ("strs", {"signs": "positive"}),
}


def recovery(plan: Plan) -> Any:
    """Tabulate FDP and NDP against d."""
    trials = plan.count(1, 10)
    D, true = (30, 6) if plan.quick else (100, 20)
    ds = (1, 3, 6) if plan.quick else (1, 2, 4, 7, 10, 13, 16, 20)
    ways = [way for way in WAYS if way in (plan.methods or WAYS)]
    found: dict[str, Any] = {}
    print(
        f"D = {D}, {true} variables differ, {trials} trials; FDP / NDP, and the largest standard "
    )
    print(f"error of both over all d. A perfect selection has 0 and 1 - d / {true}.\n")
    print("| case | selection | " + " | ".join(f"d = {d}" for d in ds) + " | error |")
    print("|---" * (len(ds) + 3) + "|")
    for case in plan.cases:
        for way in ways:
            # Shape (trials, len(ds), 2).
            values = np.array(rates(plan, case, way, trials, D, true, ds))
            mean = values.mean(axis=0)
            error = (values.std(axis=0) / np.sqrt(trials)).max()
            cells = " | ".join(f"{fdp:.2f} / {ndp:.2f}" for fdp, ndp in mean)
            print(f"| {CASES[case]} | {way} | {cells} | {error:.2f} |", flush=True)
            found[f"{case} {way}"] = [(d, *pair) for d, pair in zip(ds, mean.tolist(), strict=True)]
    if plan.images is not None:
        from two_sample_pictures import draw_recovery

        path = plan.images / "two-sample-recovery.png"
        draw_recovery(found, names_of(plan.cases), ways, true, path)
    return found


def rates(
    plan: Plan, case: str, way: str, trials: int, D: int, true: int, ds: tuple[int, ...]
) -> list[list[list[float]]]:
    """Return FDP and NDP of each trial and d; computed, or from the JSON file."""
    kept = plan.store.setdefault("rates", {}).setdefault(f"{case} {way} D={D} {ds}", [])
    for seed in range(len(kept), trials):
        draw = generators.two_samples(case, seed=seed, D=D, d=true, **DRAWS[case])
        curve = []
        for d in ds:
            chosen = select(way, draw.x, draw.y, d, seed)
            curve.append(
                [
                    false_discovery_proportion(chosen, draw.truth),
                    non_discovery_proportion(chosen, draw.truth),
                ]
            )
        kept.append(curve)
        print(f"{case} {way}: {seed + 1} of {trials}", file=sys.stderr, flush=True)
        plan.save()
    return list(kept[:trials])


def select(way: str, x: np.ndarray, y: np.ndarray, d: int, seed: int) -> np.ndarray:
    """Return the variables that are selected from all observations but two of each sample."""
    selection, settings = WAYS[way]
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
        time_limit=SECONDS[selection],
        **settings,
    ).selected
