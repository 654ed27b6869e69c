"""Compares two runs of a suite and says what got worse."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sparseopt.bench.evaluate import TOLERANCE, worse
from sparseopt.bench.frame import settled
from sparseopt.bench.stats import Ratio, median_ratio

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Change", "Comparison", "compare_runs"]


@dataclass(frozen=True)
class Change:
    """One solve that ended otherwise."""

    backend: str
    instance: str
    before: str
    after: str
    worse: bool


@dataclass(frozen=True)
class Comparison:
    """What changed between two runs.

    Attributes
    ----------
    times : dict of str to Ratio
        By backend: time after over time before, over solves that were ok in both.
    slower : tuple of str
        Backends whose whole interval lies above 1 + the tolerance.
    changes : tuple of Change
        Classes and objectives that changed.
    common, only_before, only_after : int
        Solves in both runs, and in one of them alone.
    """

    times: Mapping[str, Ratio]
    slower: tuple[str, ...]
    changes: tuple[Change, ...]
    common: int
    only_before: int
    only_after: int

    @property
    def regressed(self) -> bool:
        """Whether anything got worse: slower, another class, a worse objective."""
        return bool(self.slower) or any(change.worse for change in self.changes)


def compare_runs(
    before: Iterable[Mapping[str, Any]],
    after: Iterable[Mapping[str, Any]],
    tolerance: float = 0.1,
) -> Comparison:
    """Compare the records of two runs, solve by solve.

    Parameters
    ----------
    before, after : iterables of records
    tolerance : float, default 0.1
        A backend is slower where even the lower end of the 95% bootstrap interval of its median
        ratio is above 1 + tolerance. One solve alone has no interval and flags nothing.
    """
    old = {record["key"]: record for record in settled(before)}
    new = {record["key"]: record for record in settled(after)}
    common = [key for key in old if key in new]
    pairs: dict[str, tuple[list[float], list[float]]] = {}
    changes = []
    for key in common:
        a, b = old[key], new[key]
        if a["outcome"] == b["outcome"] == "ok":
            earlier, later = pairs.setdefault(a["label"], ([], []))
            earlier.append(max(a["time"], 1e-9))
            later.append(max(b["time"], 1e-9))
        change = _change(a, b)
        if change is not None:
            changes.append(change)
    times = {label: median_ratio(later, earlier) for label, (earlier, later) in pairs.items()}
    slower = tuple(label for label, r in times.items() if r.pairs > 1 and r.low > 1.0 + tolerance)
    return Comparison(
        times, slower, tuple(changes), len(common), len(old) - len(common), len(new) - len(common)
    )


def _change(a: Mapping[str, Any], b: Mapping[str, Any]) -> Change | None:
    name = a["instance"]["name"]
    if a["outcome"] != b["outcome"]:
        return Change(a["label"], name, a["outcome"], b["outcome"], a["outcome"] == "ok")
    if a["outcome"] == "ok" and a.get("verdict") != b.get("verdict"):
        lost = a.get("verdict") == "verified"
        return Change(a["label"], name, str(a.get("verdict")), str(b.get("verdict")), lost)
    first, second = a.get("objective"), b.get("objective")
    if first is None or second is None or a["at"] != b["at"]:
        return None
    unit = float(a.get("value_unit") or 1.0)
    if worse(second, first, a["sense"], unit=unit):
        return Change(a["label"], name, f"{first:.8g}", f"{second:.8g}", True)
    if abs(first - second) > TOLERANCE * max(unit, abs(first)):
        return Change(a["label"], name, f"{first:.8g}", f"{second:.8g}", False)
    return None
