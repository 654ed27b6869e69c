"""How many generated mixed-integer semidefinite programs each engine solves within a limit.

One row for each family and size (those of ``sparseopt generate``), with the seeds 0, 1, ...: how
many an engine solved to optimality within the limit, the mean time of these, how many of them lack
a certificate that the checker verified (``unproven``: the time was up before it was complete), and
the largest gap of the others. Where several engines solve a problem their optima must agree.

Run in a clone where sparseopt is installed with its extras ``misdp`` and ``scip``::

    python benchmarks/misdp.py --limit 60 --seeds 5

Prints a Markdown table; the exit code is 1 if two optima differ or an answer is refuted.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.generators.misdp import (
    cardinality_least_squares,
    k_partitioning,
    restricted_isometry,
    strs_misdp,
    truss_topology,
)
from sparseopt.generators.random_misdp import random_misdp
from sparseopt.problems import MISDP

FAMILIES: dict[str, tuple[Callable[..., MISDP], tuple[Mapping[str, object], ...]]] = {
    "strs": (
        strs_misdp,
        ({"D": 6, "d": 2}, {"D": 10, "d": 3}, {"D": 15, "d": 3}),
    ),
    "least squares": (
        cardinality_least_squares,
        ({"n": 16, "d": 10, "k": 3}, {"n": 20, "d": 20, "k": 4}, {"n": 30, "d": 30, "k": 5}),
    ),
    "partitioning": (
        k_partitioning,
        ({"nodes": 6, "k": 3}, {"nodes": 8, "k": 3}, {"nodes": 10, "k": 3}),
    ),
    "truss": (
        truss_topology,
        ({"columns": 3, "rows": 2}, {"columns": 3, "rows": 3}, {"columns": 4, "rows": 3}),
    ),
    "isometry": (
        restricted_isometry,
        (
            {"m": 8, "n": 10, "k": 3},
            {"m": 12, "n": 15, "k": 4},
            {"m": 8, "n": 10, "k": 3, "side": "upper"},
            {"m": 12, "n": 15, "k": 4, "side": "upper"},
        ),
    ),
    "random": (
        random_misdp,
        ({}, {"kind": "boundary"}),
    ),
}
"""Generators, and sizes from small to large."""

ENGINES: dict[str, tuple[str, Mapping[str, object]]] = {
    "misdp-bnb": ("misdp-bnb", {}),
    "misdp-oa": ("misdp-oa", {}),
    "misdp-oa, SCIP": ("misdp-oa", {"master": "scip"}),
}
AGREE = 1e-4


@dataclass
class Count:
    """What an engine did with the instances of one row."""

    solved: int = 0
    unproven: int = 0
    seconds: float = 0.0
    gaps: list[float] = field(default_factory=list)

    def __str__(self) -> str:
        words = f"{self.solved}"
        if self.solved:
            words += f" ({self.seconds / self.solved:.2g} s)"
        if self.unproven:
            words += f", {self.unproven} unproven"
        if self.gaps:
            words += f", gap {max(self.gaps):.2g}"
        return words


def main() -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each solve")
    parser.add_argument("--seeds", type=int, default=2, help="instances of each size")
    parser.add_argument("--sizes", type=int, default=9, help="only the first so many of a family")
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    arguments = parser.parse_args()
    print(f"| family | size | instances | {' | '.join(arguments.engines)} |")
    print("|---|---|--:|" + "---|" * len(arguments.engines))
    wrong = 0
    for family in arguments.families:
        generate, sizes = FAMILIES[family]
        for size in sizes[: arguments.sizes]:
            problems = [partial(generate, seed=seed, **size) for seed in range(arguments.seeds)]
            counts, faults = _row(problems, arguments.engines, arguments.limit)
            wrong += faults
            shown = ", ".join(f"{name}={value}" for name, value in size.items()) or "default"
            cells = " | ".join(str(count) for count in counts)
            print(f"| {family} | {shown} | {arguments.seeds} | {cells} |", flush=True)
    return int(wrong > 0)


def _row(
    problems: Sequence[partial[MISDP]], engines: list[str], limit: float
) -> tuple[list[Count], int]:
    """Return what each engine did, and how many answers were wrong."""
    counts = [Count() for _ in engines]
    wrong = 0
    for make in problems:
        problem = make()
        optima: list[float] = []
        for count, name in zip(counts, engines, strict=True):
            backend, options = ENGINES[name]
            begin = time.perf_counter()
            result = sparseopt.solve(
                problem, backend=backend, time_limit=limit, options=dict(options)
            )
            spent = time.perf_counter() - begin
            if result.verdict is Verdict.REFUTED:
                wrong += 1
                print(f"refuted: {name}, {make.keywords}", file=sys.stderr)
            elif result.status is Status.OPTIMAL:
                count.unproven += result.verdict is not Verdict.VERIFIED
                count.solved += 1
                count.seconds += spent
                assert result.objective is not None
                optima.append(result.objective)
            else:
                count.gaps.append(_gap(result))
        if optima and max(optima) - min(optima) > AGREE * max(1.0, abs(optima[0])):
            wrong += 1
            print(f"different optima {optima}: {make.keywords}", file=sys.stderr)
    return counts, wrong


def _gap(result: sparseopt.Result) -> float:
    """Return the relative gap, inf where there is no incumbent or no bound."""
    if result.objective is None or result.bound is None:
        return float("inf")
    return abs(result.objective - result.bound) / max(abs(result.objective), 1e-10)


if __name__ == "__main__":
    sys.exit(main())
