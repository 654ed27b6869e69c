"""Compares two runs of a suite and says what got worse."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from sparseopt.bench.records.frame import settled
from sparseopt.bench.records.stats import Ratio, median_ratio
from sparseopt.bench.solving.evaluate import TOLERANCE, worse

if TYPE_CHECKING:
    from collections.abc import Iterable

_QUESTION = ("lam", "lam_min", "max_knots", "max_nonzeros", "budget", "size")
"""The parameters that say what is asked; the others say how precisely, and how long it may take."""


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
        By backend: time after over time before, over problems that were solved in both.
    slower : tuple of str
        Backends whose whole interval lies above 1 + the tolerance.
    changes : tuple of Change
        Classes and objectives that changed.
    options : tuple of str
        Backends whose options, parameters or limits changed; they are compared all the same.
    common, only_before, only_after : int
        Solves in both runs, and in one of them alone.
    """

    times: Mapping[str, Ratio]
    slower: tuple[str, ...]
    changes: tuple[Change, ...]
    options: tuple[str, ...]
    common: int
    only_before: int
    only_after: int

    @property
    def regressed(self) -> bool:
        """Whether anything got worse: slower, another class, a worse objective."""
        return bool(self.slower) or any(change.worse for change in self.changes)

    @property
    def verdict(self) -> str:
        """The outcome in a sentence, which says how much it rests on."""
        if self.regressed:
            return "something got worse"
        if not self.common:
            return "nothing was compared: the runs have no solve in common"
        flagged = [label for label, ratio in self.times.items() if math.isfinite(ratio.high)]
        if len(flagged) < len(self.times) or not self.times:
            return "no answer got worse; too few problems to say that times did not"
        return "nothing got worse"


def compare_runs(
    before: Iterable[Mapping[str, Any]],
    after: Iterable[Mapping[str, Any]],
    tolerance: float = 0.1,
) -> Comparison:
    """Compare the records of two runs, solve by solve.

    Solves are paired by label, instance, question, setting, seed and repeat, whatever the options
    and limits of the two runs.

    Parameters
    ----------
    before, after : iterables of records
    tolerance : float, default 0.1
        A backend is slower where even the lower end of the 95% interval of its median ratio is
        above 1 + tolerance. Repeats of one problem count once, by their medians; fewer than six
        problems have no interval and flag nothing.
    """
    old = {_identity(record): record for record in settled(before)}
    new = {_identity(record): record for record in settled(after)}
    common = [key for key in old if key in new]
    # By label and problem: the times before and after of its runs.
    runs: dict[str, dict[str, tuple[list[float], list[float]]]] = {}
    changes: list[Change] = []
    options: dict[str, None] = {}
    for key in common:
        a, b = old[key], new[key]
        if any(a.get(name) != b.get(name) for name in ("options", "params", "limits")):
            options[str(a["label"])] = None
        if a["outcome"] == b["outcome"] == "ok":
            problems = runs.setdefault(a["label"], {})
            earlier, later = problems.setdefault(key.problem, ([], []))
            earlier.append(max(a["time"], 1e-9))
            later.append(max(b["time"], 1e-9))
        change = _change(a, b)
        if change is not None:
            changes.append(change)
    times = {
        label: median_ratio(
            [statistics.median(later) for _, later in problems.values()],
            [statistics.median(earlier) for earlier, _ in problems.values()],
        )
        for label, problems in runs.items()
    }
    return Comparison(
        times,
        tuple(label for label, ratio in times.items() if ratio.low > 1.0 + tolerance),
        tuple(changes),
        tuple(options),
        len(common),
        len(old) - len(common),
        len(new) - len(common),
    )


class _Identity(NamedTuple):
    """What makes two solves of two runs the same."""

    label: str
    problem: str
    run: tuple[int, int]


def _identity(record: Mapping[str, Any]) -> _Identity:
    if record["type"] == "unit":
        return _Identity(record["label"], record["instance"]["name"], (0, 0))
    origin = [record["instance"][name] for name in ("generator", "settings", "seed", "sha256")]
    asked = {name: record["params"].get(name) for name in _QUESTION}
    problem = json.dumps([origin, record["setting"], asked], sort_keys=True)
    return _Identity(record["label"], problem, (record["seed"], record["repeat"]))


def _change(a: Mapping[str, Any], b: Mapping[str, Any]) -> Change | None:
    name = a["instance"]["name"]
    if a["outcome"] != b["outcome"]:
        return Change(a["label"], name, a["outcome"], b["outcome"], a["outcome"] == "ok")
    if a["outcome"] == "ok" and a.get("verdict") != b.get("verdict"):
        lost = a.get("verdict") == "verified"
        return Change(a["label"], name, str(a.get("verdict")), str(b.get("verdict")), lost)
    first, second = a.get("objective"), b.get("objective")
    same = a["at"] == b["at"] and a.get("fingerprint") == b.get("fingerprint")
    if first is None or second is None or not same:
        return None
    unit = float(a.get("value_unit") or 1.0)
    if worse(second, first, a["sense"], unit=unit):
        return Change(a["label"], name, f"{first:.8g}", f"{second:.8g}", True)
    if abs(first - second) > TOLERANCE * max(unit, abs(first)):
        return Change(a["label"], name, f"{first:.8g}", f"{second:.8g}", False)
    return None
