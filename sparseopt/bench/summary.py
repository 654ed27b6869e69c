"""What a report says in figures and sentences, apart from how it looks."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparseopt.bench.outcome import Outcome
from sparseopt.bench.stats import median_ratio, shifted_geometric_mean
from sparseopt.bench.wording import bytes_text, count_text, number_text, seconds_text

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["Family", "Line", "families", "problems_of", "troubles"]


@dataclass(frozen=True)
class Line:
    """One backend over the problems of a family.

    Attributes
    ----------
    shares : tuple of (outcome, percent)
        Of the solves that it attempted.
    mean : float
        Shifted geometric mean of the charged times, in seconds.
    """

    backend: str
    attempted: int
    solved: int
    correct: int
    proven: int
    wrong: int
    other: str
    shares: tuple[tuple[str, float], ...]
    mean: float
    fastest: int
    excess: float
    violation: float
    memory: float

    @property
    def mean_text(self) -> str:
        """The mean for a reader."""
        return seconds_text(self.mean)

    @property
    def excess_text(self) -> str:
        """The largest distance from the best for a reader."""
        return number_text(self.excess, 2)

    @property
    def violation_text(self) -> str:
        """The largest violation for a reader."""
        return number_text(self.violation, 2)

    @property
    def memory_text(self) -> str:
        """The largest memory for a reader."""
        return "-" if math.isnan(self.memory) else bytes_text(self.memory)


@dataclass(frozen=True)
class Family:
    """The backends over one family of problems."""

    name: str
    problems: int
    shift: float
    lines: tuple[Line, ...]
    sentence: str


def families(table: pd.DataFrame) -> list[Family]:
    """Sum up every family of problems; backends are ordered by correct answers, then by time."""
    out = []
    known = table[table["family"].notna()]
    for name, own in known.groupby("family", sort=False):
        shift = float(own["time_limit"].max()) / 1000.0
        fastest = own.loc[own[own["solved"]].groupby("problem")["time"].idxmin(), ["backend"]]
        wins = fastest["backend"].value_counts()
        tried = own[own["attempted"]]
        lines = [
            _line(str(label), group, shift, int(wins.get(label, 0)))
            for label, group in tried.groupby("backend", sort=False)
        ]
        lines.sort(key=_rank)
        if lines:
            out.append(
                Family(
                    str(name), own["problem"].nunique(), shift, tuple(lines), _sentence(own, lines)
                )
            )
    return out


def _rank(line: Line) -> tuple[float, float, int, float]:
    """Order by the best values found, then by proofs, then by time."""
    tried = line.attempted
    return (-line.correct / tried, -line.proven / tried, -tried, line.mean)


def _line(label: str, group: pd.DataFrame, shift: float, fastest: int) -> Line:
    counts = group["outcome"].value_counts()
    shown = ("ok", "wrong")
    other = ", ".join(f"{counts[o]} {o}" for o in Outcome if o in counts and o not in shown)
    shares = tuple((o.value, 100.0 * counts[o] / len(group)) for o in Outcome if o in counts)
    return Line(
        backend=label,
        attempted=len(group),
        solved=int(group["solved"].sum()),
        correct=int(group["correct"].sum()),
        proven=int(group["proven"].sum()),
        wrong=int(counts.get("wrong", 0)),
        other=other,
        shares=shares,
        mean=shifted_geometric_mean(group["charged"].to_numpy(dtype=float), shift),
        fastest=fastest,
        excess=float(group["excess"].max()),
        violation=float(group["violation"].max()),
        memory=float(group["memory_used"].max()),
    )


def _sentence(own: pd.DataFrame, lines: Sequence[Line]) -> str:
    """Say who leads, and how it compares with the next, in a form that can be quoted."""
    first = lines[0]
    problems = count_text(own["problem"].nunique(), "problem")
    text = (
        f"On {problems}, {first.backend} finds the best value in {first.correct} of "
        f"{count_text(first.attempted, 'solve')} and proves it in {first.proven}, in "
        f"{first.mean_text} on average"
    )
    rivals = [line for line in lines[1:] if line.correct]
    if not rivals:
        return text + "."
    solved = own[own["solved"] & (own["time"] > 0)].pivot_table(
        index="problem", columns="backend", values="time", aggfunc="median"
    )
    parts = []
    for rival in rivals[:3]:
        pairs = solved[[first.backend, rival.backend]].dropna()
        if not len(pairs):
            continue
        ratio = median_ratio(pairs[rival.backend], pairs[first.backend])
        interval = (
            f", 95% interval {number_text(ratio.low)} to {number_text(ratio.high)}"
            if ratio.pairs > 1
            else ""
        )
        parts.append(
            f"{rival.backend} takes {number_text(ratio.median)} times its time "
            f"(median of {count_text(ratio.pairs, 'pair')}{interval})"
        )
    return "; ".join([text, *parts]) + "."


def problems_of(records: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the records with a course to draw, by problem."""
    out: dict[str, list[Mapping[str, Any]]] = {}
    for record in records:
        if record.get("objective") is not None and record.get("time"):
            out.setdefault(record["instance"]["name"], []).append(record)
    return {name: many for name, many in out.items() if any(len(r["trace"]) > 2 for r in many)}


def troubles(table: pd.DataFrame) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what went wrong, solve by solve, and who could not try, with how often and why."""
    bad = table[table["attempted"] & ~table["solved"]]
    rows = [
        {
            "backend": row["backend"],
            "problem": row["problem"],
            "outcome": row["outcome"],
            "message": str(row["message"])[:300],
        }
        for row in bad.to_dict("records")
    ]
    left_out = []
    for (label, outcome), group in table[~table["attempted"]].groupby(
        ["backend", "outcome"], sort=False
    ):
        left_out.append(
            {
                "backend": label,
                "outcome": outcome,
                "count": len(group),
                "message": str(group["message"].iloc[0])[:300],
            }
        )
    return rows, left_out
