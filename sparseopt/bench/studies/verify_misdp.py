"""The MISDP engines against enumeration of the integers, and against ``strs-bnb``.

Random problems have up to 8 integers and two blocks up to 6 x 6, with nodes without an interior and
infeasible problems among them (tests/helpers/cases); each integer point is solved by
Clarabel. Wrong is: another optimum, a bound on the wrong side, an answer that the checker refutes,
no answer. Every tenth problem is solved with a limit of two nodes as well, for the bounds of runs
that are cut short. Sparse trust-region subproblems are written as (15) and (17), with a linear term
and without: all engines must prove the optimum of ``strs-bnb``.
"""

from __future__ import annotations

import importlib
import time
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from sparseopt.api import solve
from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.problems import STRS
from sparseopt.problems.strs.semidefinite import strs_as_misdp
from sparseopt.result import Result, Status, Verdict

_ENGINES: dict[str, tuple[str, dict[str, object]]] = {
    "misdp-bnb": ("misdp-bnb", {}),
    "misdp-oa": ("misdp-oa", {}),
    "misdp-oa-scip": ("misdp-oa", {"master": "scip"}),
}


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of ten random problems, then the trust-region subproblems."""
    engines = chosen_of(settings["engines"], _ENGINES, "engine")
    for first, end in blocks(settings["cases"], 10):
        for engine in engines:
            yield {"engine": engine, "first": first, "end": end}
    for D in settings["strs"]:
        for linear in (True, False):
            for formulation in ("strong", "weak"):
                for engine in engines:
                    unit = {"engine": engine, "D": D, "linear": linear, "limit": settings["limit"]}
                    yield {**unit, "formulation": formulation}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Verify random problems, or one trust-region subproblem."""
    if "D" in unit:
        yield _trust_region(unit)
        return
    small_misdps = importlib.import_module("small_misdps")
    backend, options = _ENGINES[unit["engine"]]
    for seed in range(unit["first"], unit["end"]):
        problem = small_misdps.draw(seed)
        known = small_misdps.enumerated(problem)
        begun = time.perf_counter()
        result = solve(problem, backend=backend, options=options)
        seconds = time.perf_counter() - begun
        found = small_misdps.complaints(problem, result, known)
        if seed % 10 == 0:
            found += small_misdps.faults(problem, backend, known, options=options, node_limit=2)
        infeasible = int(known.optimum is None)
        proofs = {str(v): int(result.verdict is v) for v in (Verdict.VERIFIED, Verdict.UNPROVEN)}
        row = {"cases": 1, "infeasible": infeasible, "wrong": int(bool(found)), "seconds": seconds}
        said = "; ".join(f"seed {seed}: {text}" for text in found)
        yield {**row, **proofs, "complaint": said}


def _trust_region(unit: Settings) -> Row:
    """Compare an engine with strs-bnb on a random subproblem."""
    D = unit["D"]
    random = np.random.default_rng(100 * D + unit["linear"])
    M = random.normal(size=(D, D))
    problem = STRS(A=M + M.T, a=unit["linear"] * random.normal(size=D), d=max(2, D // 4))
    optimum = solve(problem, backend="strs-bnb").objective
    assert optimum is not None
    backend, options = _ENGINES[unit["engine"]]
    begun = time.perf_counter()
    result = solve(
        strs_as_misdp(problem, unit["formulation"]),
        backend=backend,
        options=options,
        time_limit=unit["limit"],
    )
    seconds = time.perf_counter() - begun
    answer, complaint = _judged(result, optimum)
    return {"answer": answer, "seconds": seconds, "complaint": complaint}


def _judged(result: Result, optimum: float) -> tuple[str, str]:
    """Return whether a maximum was proven to be that of strs-bnb, and what is wrong with it."""
    size = 1e-5 * max(1.0, abs(optimum))
    if result.verdict is Verdict.REFUTED:
        return "wrong", "refuted"
    if result.bound is not None and result.bound < optimum - size:
        return "wrong", f"bound {result.bound}, optimum {optimum}"
    if result.status is not Status.OPTIMAL or result.objective is None:
        return f"{result.status}, gap {result.gap}", ""
    if abs(result.objective - optimum) > size:
        return "wrong", f"{result.objective}, not {optimum}"
    return f"equal, {result.verdict}", ""


STUDY = Study(
    title="The MISDP engines against enumeration and strs-bnb",
    description="Small random problems, every integer point of which is solved by Clarabel, and "
    "sparse trust-region subproblems in two formulations.",
    settings={
        "cases": 300,
        "strs": (8, 9, 10, 12, 15),
        "engines": ("all",),
        "limit": 60.0,
    },
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Random problems",
            rows=("engine",),
            columns=("value",),
            values=("cases", "infeasible", "verified", "unproven", "wrong", "seconds"),
            statistic="sum",
        ),
        TableSpec(
            title="Sparse trust-region subproblems",
            rows=("D", "linear", "formulation"),
            columns=("engine", "value"),
            values=("answer", "seconds"),
            statistic="mean",
        ),
    ),
    python_path=("tests/helpers/cases", "tests/helpers/references"),
)
