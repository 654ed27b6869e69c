"""How many generated mixed-integer semidefinite programs each engine solves within a limit.

One row for each family and size (those of ``sparseopt generate``), with the seeds 0, 1, ...: how
many an engine solved to optimality within the limit, the mean time of these, how many of them lack
a certificate that the checker verified (``unproven``: the time was up before it was complete), and
the largest gap of the others. Where several engines solve a problem their optima must agree.

Run in a clone where sparseopt is installed with its extras ``misdp`` and ``scip``::

    python benchmarks/misdp.py --limit 60 --seeds 5

``--record FILE`` appends each solve to a file of JSON lines, and takes those that are there already
from it: a long table can be made in pieces, and a run that was stopped goes on where it ended.

Prints a Markdown table; the exit code is 1 if two optima differ or an answer is refuted.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

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


@dataclass(frozen=True)
class Record:
    """One solve.

    Attributes
    ----------
    key : str
        Family, size, seed, engine and limit.
    status, verdict : str
    objective, bound : float or None
    seconds : float
        Wall time, the check included.
    """

    key: str
    status: str
    verdict: str
    objective: float | None
    bound: float | None
    seconds: float

    @property
    def gap(self) -> float:
        """The relative gap, inf where there is no incumbent or no bound."""
        if self.objective is None or self.bound is None:
            return float("inf")
        return abs(self.objective - self.bound) / max(abs(self.objective), 1e-10)


class Records:
    """The solves so far, kept in a file where one is given."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._known: dict[str, Record] = {}
        if path is not None and path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                record = Record(**json.loads(line))
                self._known[record.key] = record

    def get(self, key: str, make: Callable[[], MISDP], engine: str, limit: float) -> Record:
        """Return the solve of that key; solve now where there is none."""
        if key not in self._known:
            record = _solved(key, make(), engine, limit)
            self._known[key] = record
            if self._path is not None:
                with self._path.open("a", encoding="utf-8") as file:
                    file.write(json.dumps(asdict(record)) + "\n")
        return self._known[key]


def main() -> int:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for each solve")
    parser.add_argument("--seeds", type=int, default=2, help="instances of each size")
    parser.add_argument(
        "--sizes", type=int, nargs="+", default=None, help="which of a family, from 0 on; all"
    )
    parser.add_argument("--families", nargs="+", default=list(FAMILIES), choices=list(FAMILIES))
    parser.add_argument("--engines", nargs="+", default=list(ENGINES), choices=list(ENGINES))
    parser.add_argument("--record", type=Path, default=None, help="file of JSON lines")
    arguments = parser.parse_args()
    records = Records(arguments.record)
    print(f"| family | size | instances | {' | '.join(arguments.engines)} |")
    print("|---|---|--:|" + "---|" * len(arguments.engines))
    wrong = 0
    for family in arguments.families:
        generate, sizes = FAMILIES[family]
        for which, size in enumerate(sizes):
            if arguments.sizes is not None and which not in arguments.sizes:
                continue
            shown = ", ".join(f"{name}={value}" for name, value in size.items()) or "default"
            solves = [
                [
                    records.get(
                        f"{family}; {shown}; seed {seed}; {engine}; {arguments.limit:g} s",
                        partial(generate, seed=seed, **size),
                        engine,
                        arguments.limit,
                    )
                    for seed in range(arguments.seeds)
                ]
                for engine in arguments.engines
            ]
            wrong += _faults(solves)
            cells = " | ".join(_cell(row) for row in solves)
            print(f"| {family} | {shown} | {arguments.seeds} | {cells} |", flush=True)
    return int(wrong > 0)


def _solved(key: str, problem: MISDP, engine: str, limit: float) -> Record:
    backend, options = ENGINES[engine]
    begin = time.perf_counter()
    result = sparseopt.solve(problem, backend=backend, time_limit=limit, options=dict(options))
    spent = time.perf_counter() - begin
    return Record(
        key, str(result.status), str(result.verdict), result.objective, result.bound, spent
    )


def _cell(records: Sequence[Record]) -> str:
    """Say how many were solved, in which time, and what is left of the others."""
    solved = [record for record in records if record.status == Status.OPTIMAL]
    words = f"{len(solved)}"
    if solved:
        words += f" ({sum(record.seconds for record in solved) / len(solved):.2g} s)"
    unproven = sum(record.verdict != Verdict.VERIFIED for record in solved)
    if unproven:
        words += f", {unproven} unproven"
    gaps = [record.gap for record in records if record.status != Status.OPTIMAL]
    if gaps:
        words += f", gap {max(gaps):.2g}"
    return words


def _faults(solves: Sequence[Sequence[Record]]) -> int:
    """Count answers that are refuted, and instances whose optima differ between engines."""
    wrong = 0
    for record in (record for row in solves for record in row):
        if record.verdict == Verdict.REFUTED:
            wrong += 1
            print(f"refuted: {record.key}", file=sys.stderr)
    for column in zip(*solves, strict=True):
        optima = [
            record.objective
            for record in column
            if record.status == Status.OPTIMAL and record.objective is not None
        ]
        if optima and max(optima) - min(optima) > AGREE * max(1.0, abs(optima[0])):
            wrong += 1
            print(f"different optima {optima}: {column[0].key}", file=sys.stderr)
    return wrong


if __name__ == "__main__":
    sys.exit(main())
