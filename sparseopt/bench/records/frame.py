"""The records of a run as a table, with the answers compared with one another."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from sparseopt.bench.records.files import SolveOutcome
from sparseopt.bench.solving.evaluate import TOLERANCE, worse

if TYPE_CHECKING:
    import pandas as pd

_PLAIN = (
    "key",
    "kind",
    "family",
    "sense",
    "label",
    "setting",
    "seed",
    "repeat",
    "outcome",
    "message",
    "status",
    "limit",
    "verdict",
    "objective",
    "claimed_objective",
    "bound",
    "gap",
    "violation",
    "at",
    "nonzeros",
    "knots",
    "stopped_by",
    "iterations",
    "nodes",
    "time",
    "cpu_time",
    "build_time",
    "solve_time",
    "check_time",
    "warm_up_time",
    "peak_memory",
    "best",
    "excess",
    "fingerprint",
    "environment",
    "started",
    "load",
)
_ANSWERED = (SolveOutcome.OK, SolveOutcome.TIMEOUT, SolveOutcome.STOPPED)
_BEYOND = 1e-4
"""Relative: by how much a point that misses constraints within tolerance may be too good."""

_FIRST, _LAST = _PLAIN.index("objective"), _PLAIN.index("excess")
_NUMBERS = frozenset(_PLAIN[_FIRST : _LAST + 1]) - {"stopped_by"} | {"load"}


def settled(records: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the records, each with the best value that any answer to its question attains.

    What was answered to the same question (the same instance at the same lam or budget) is
    compared: a claim of optimality that another feasible answer beats, and a bound that it
    breaks, are wrong. Adds ``best`` and ``excess``: how much worse than the best, relative to
    max(value_unit, abs(best)), where value_unit is that of the problem, 1 for most; of a path over
    budgets the largest of that over the budgets looked at. A point that misses constraints within
    the checker's tolerance can be a little better than the optimum: beside a verified bound it
    counts as that bound.

    Parameters
    ----------
    records : iterable of mapping

    Returns
    -------
    list of dict
    """
    copies = [dict(record) for record in records]
    questions: dict[tuple[Any, Any], list[dict[str, Any]]] = defaultdict(list)
    for record in copies:
        record["best"] = record["excess"] = None
        if record.get("objective") is not None and record["outcome"] != SolveOutcome.WRONG:
            questions[record["fingerprint"], record["at"]].append(record)
    for answers in questions.values():
        _compare(answers)
    return copies


def _compare(answers: list[dict[str, Any]]) -> None:
    sense = answers[0]["sense"]
    pick = min if sense == "min" else max
    limit = _proven(answers)
    attained = [_attained(record, limit) for record in answers]
    value = pick(attained)
    best = answers[attained.index(value)]
    curve: dict[float, float] = {}
    for record in answers:
        for K, found in record.get("curve") or ():
            curve[K] = pick(curve.get(K, found), found)
    for record in answers:
        sign = 1.0 if sense == "min" else -1.0
        record["best"] = value
        unit = _unit(record)
        record["excess"] = max(0.0, sign * (record["objective"] - value) / max(unit, abs(value)))
        _compare_curve(record, curve, sign)
        bound, gap = record.get("bound"), float(record["params"].get("rel_gap", 0.0))
        if record["status"] == "optimal" and worse(
            record["objective"], value, sense, max(TOLERANCE, gap), unit
        ):
            record["outcome"] = SolveOutcome.WRONG.value
            record["message"] = (
                f"claims the optimum at {record['objective']:.10g}; {best['label']} attains "
                f"{value:.10g}"
            )
        elif bound is not None and worse(
            value, bound, "max" if sense == "min" else "min", unit=unit
        ):
            record["outcome"] = SolveOutcome.WRONG.value
            record["message"] = (
                f"claims the bound {bound:.10g}; {best['label']} attains {value:.10g}"
            )


def _proven(answers: list[dict[str, Any]]) -> float | None:
    """Return the best bound that the checker verified."""
    bounds = [
        float(record["bound"])
        for record in answers
        if record.get("verdict") == "verified" and record.get("bound") is not None
    ]
    tightest = max if answers[0]["sense"] == "min" else min
    return tightest(bounds, default=None)


def _attained(record: Mapping[str, Any], limit: float | None) -> float:
    """Return the objective, or the verified bound beyond which a point within tolerance is.

    What is beyond it by more than a point within tolerance explains stays: one of the two is wrong.
    """
    value = float(record["objective"])
    if limit is None or record.get("verdict") == "verified" or not record.get("violation"):
        return value
    sense, unit = record["sense"], _unit(record)
    beyond = worse(limit, value, sense, 0.0, unit)
    return limit if beyond and not worse(limit, value, sense, _BEYOND, unit) else value


def _unit(record: Mapping[str, Any]) -> float:
    """Return the problem's ``value_unit``; records of older versions do without."""
    return float(record.get("value_unit") or 1.0)


def _compare_curve(record: dict[str, Any], best: Mapping[float, float], sign: float) -> None:
    """Raise the excess of a path to its worst place; a path that claims more is wrong."""
    for K, found in record.get("curve") or ():
        excess = sign * (found - best[K]) / max(_unit(record), abs(best[K]))
        record["excess"] = max(record["excess"], excess)
        if excess > TOLERANCE and record["status"] == "optimal":
            record["outcome"] = SolveOutcome.WRONG.value
            record["message"] = (
                f"claims the optimum {found:.10g} for the budget {K:g}; {best[K]:.10g} is attained"
            )


def frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the records as a data frame, one row for each solve.

    Parameters
    ----------
    records : iterable of mapping

    Returns
    -------
    DataFrame
        ``instance``, ``problem`` (what is compared: instance and setting; seeds of the solver and
        repeats are runs of one problem), ``run``,
        ``backend`` (the label), ``outcome``, ``status``, ``verdict``, ``objective``, ``best``,
        ``excess``, ``time``, ..., then sizes and settings of the instance, its tags, and metrics.
        ``answered`` is true where there is an answer, also at a limit,
        ``solved`` where the outcome is ok, ``correct`` where besides no better answer is
        known, ``proven`` where the checker verified a claim of optimality (or that there is no
        answer); ``charged`` is the time, or the limit where the outcome is not ok.
    """
    import pandas as pd

    rows = [_row(record) for record in settled(records)]
    table = pd.DataFrame(rows)
    if not len(table):
        return table
    for name in _NUMBERS & set(table.columns):
        table[name] = pd.to_numeric(table[name], errors="coerce")
    return table


def unit_frame(records: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Return the measurements of a study as a data frame.

    Parameters
    ----------
    records : iterable of mapping

    Returns
    -------
    DataFrame
        One row for each measurement, with the parameters of its unit as columns, too; one for a
        unit without any. ``solved`` and ``answered`` are true where the unit ended by itself.
    """
    import pandas as pd

    rows = []
    for record in records:
        ended = record["outcome"] in (SolveOutcome.OK, SolveOutcome.WRONG)
        common = {"outcome": record["outcome"], "solved": ended, "answered": ended}
        rows += [{**record["params"], **row, **common} for row in record["rows"] or [{}]]
    return pd.DataFrame(rows)


def _row(record: Mapping[str, Any]) -> dict[str, Any]:
    instance = record["instance"]
    row = {name: record.get(name) for name in _PLAIN}
    outcome = SolveOutcome(record["outcome"])
    limit = float(record["limits"]["time"])
    solved = outcome is SolveOutcome.OK
    excess = record.get("excess")
    verified = record.get("verdict") == "verified"
    row.update(
        instance=instance["name"],
        problem=f"{instance['name']} {record['setting']}".strip(),
        run=" ".join(
            part
            for part in (
                f"seed {record['seed']}" if record["seed"] else "",
                f"run {record['repeat'] + 1}" if record["repeat"] else "",
            )
            if part
        ),
        backend=record["label"],
        instance_seed=instance["seed"],
        generator=instance["generator"],
        attempted=outcome.attempted,
        solved=solved,
        answered=outcome in _ANSWERED and record.get("objective") is not None,
        correct=solved and (excess <= TOLERANCE if excess is not None else verified),
        proven=solved and verified and record.get("status") != "converged",
        charged=record["time"] if solved else limit,
        time_limit=limit,
        memory_used=_difference(record.get("peak_memory"), record.get("memory_before")),
    )
    params = {key: value for key, value in record["params"].items() if not isinstance(value, list)}
    for extra in (
        record.get("metrics", {}),
        record["size"],
        instance["settings"],
        params,
        instance["tags"] or {},
    ):
        for name, value in extra.items():
            if not isinstance(value, dict | list):
                row.setdefault(name, value)
    return row


def _difference(peak: int | None, before: int | None) -> float:
    return math.nan if peak is None or before is None else float(max(0, peak - before))
