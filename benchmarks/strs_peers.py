"""The peers of benchmarks/strs.py: each of their runs can be recorded, so that a row resumes."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import sparseopt
from sparseopt import Limit, Status
from sparseopt.problems import STRS

__all__ = ["PEERS", "Peers", "Run"]

PEERS = ("scip", "Clarabel", "SCS")


@dataclass(frozen=True)
class Run:
    """One run of a peer: wall seconds, what it ended with, and whether it reached its own goal."""

    row: str
    problem: str
    who: str
    limit: float
    seconds: float
    ended: str
    done: bool
    objective: float | None

    @property
    def shown(self) -> str:
        """The time, and what it ended with where that was not its goal."""
        if self.done:
            return f"{self.seconds:.3g} s"
        late = self.seconds >= self.limit or self.ended.endswith(Limit.TIME.value)
        return f"> {self.limit:g} s" if late else f"{self.seconds:.3g} s ({self.ended})"


@dataclass
class Peers:
    """Who runs, with how many seconds for a solve and for new solves of a row.

    Runs in the file `records` are not run again, whatever the version of the peer was, and take
    nothing of the budget; new ones are appended to it at once.
    """

    names: tuple[str, ...]
    limit: float
    budget: float
    records: Path | None = None
    known: dict[tuple[str, str, str, float], Run] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.records is not None and self.records.exists():
            for line in self.records.read_text(encoding="utf-8").splitlines():
                run = Run(**json.loads(line))
                self.known[run.row, run.problem, run.who, run.limit] = run

    def runs(self, row: str, who: str, problems: Iterable[tuple[str, STRS]]) -> list[Run]:
        """Return the recorded runs of a row, and new ones as long as there is budget."""
        found: list[Run] = []
        spent = 0.0
        for label, problem in problems:
            key = row, label, who, self.limit
            if key not in self.known:
                if spent >= self.budget:
                    continue
                run = self.known[key] = solve(row, label, who, problem, self.limit)
                spent += run.seconds
                if self.records is not None:
                    with self.records.open("a", encoding="utf-8") as stream:
                        stream.write(json.dumps(vars(run)) + "\n")
            found.append(self.known[key])
        return found


def solve(row: str, label: str, who: str, problem: STRS, limit: float) -> Run:
    """Run SCIP on the nonconvex program to 1e-6, or a conic solver on the relaxation to 1e-5.

    A conic solver runs in a process of its own, which ends at the limit whatever it does.
    """
    nonconvex = who == "scip"
    result = sparseopt.solve(
        problem,
        backend="scip" if nonconvex else "cvxpy-relaxation",
        options={} if nonconvex else {"solver": who.upper(), "tolerance": 1e-5},
        time_limit=limit,
        rel_gap=1e-6 if nonconvex else 1e-4,
        check=False,
        threads=1,
    )
    done = (Status.OPTIMAL,) if nonconvex else (Status.CONVERGED, Status.OPTIMAL)
    return Run(
        row=row,
        problem=label,
        who=who,
        limit=limit,
        seconds=result.build_time + result.solve_time,
        ended=result.status.value if result.limit is None else f"stopped: {result.limit.value}",
        done=result.status in done,
        objective=result.objective,
    )
