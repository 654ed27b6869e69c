"""Best subsets by branch and bound: ours beside okridge, l0bnb, el0ps, Gurobi and SCIP.

Ours is asked the same program as each peer, to the same gap of 1e-6: k columns and a ridge
(okridge, Gurobi, SCIP), or a price of each column with a ridge and bounds (l0bnb, el0ps), where k
is p. abess has no proof. A peer's answer is evaluated here; it is proven where the peer claims a
bound within the gap, and no other of the row found better.

l0bnb and okridge need NumPy 1, which sparseopt does not run on: the environment variable
SPARSEOPT_PEERS_PYTHON names an interpreter that has them (and el0ps). Compiled functions of all are
warm; okridge's step that fails where p > n is left out there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.api import check, solve
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.errors import SparseOptError
from sparseopt.generators import sparse_logistic_regression, sparse_regression
from sparseopt.problems import SparseLogisticRegression, SparseRegression
from sparseopt.result import Status, Verdict

_GAP = 1e-6
_PYTHON = "SPARSEOPT_PEERS_PYTHON"
_ROWS = {
    "k of 100": ("subset-bnb", "okridge", "gurobi", "scip", "abess"),
    "k of 1000": ("subset-bnb", "okridge", "abess"),
    "k of 10000": ("subset-bnb", "abess"),
    "price, 1000": ("subset-bnb", "l0bnb", "el0ps"),
    "price, 10000": ("subset-bnb", "l0bnb", "el0ps"),
    "price, logistic, 1000": ("subset-bnb", "el0ps-logistic"),
    "price, easy logistic, 1000": ("subset-bnb", "el0ps-logistic"),
}
"""Programs, and who is asked. okridge on 10,000 columns would need their eigenvalues."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the rows and seeds."""
    for row in chosen_of(settings["rows"], _ROWS, "row"):
        for seed in range(settings["seeds"]):
            yield {"row": row, "seed": seed, "limit": settings["limit"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Ask all of a row, ours first."""
    problem = _problem(unit["row"], unit["seed"])
    file = folder / "problem.npz"
    asked: dict[str, Any] = {"k": problem.k, "ridge": problem.ridge, "penalty": problem.penalty}
    asked |= {"bound": problem.bound or 0.0, "gap": _GAP, "limit": unit["limit"]}
    np.savez(file, X=problem.X, y=problem.y, **asked)
    rows: list[dict[str, Any]] = []
    for method in _ROWS[unit["row"]]:
        if method == "abess":
            found = _abess(problem)
        elif method.partition("-")[0] in ("okridge", "l0bnb", "el0ps"):
            found = _peer(problem, method, file)
        else:
            found = _ours(problem, method, unit["limit"])
        rows.append({"method": method.partition("-logistic")[0], **found})
    file.unlink()
    best = min((row["value"] for row in rows if "value" in row), default=np.nan)
    for row in rows:
        if "value" in row:
            row["excess"] = row.pop("value") / best - 1.0
            row["proven"] = bool(row["proven"] and row["excess"] <= 2.0 * _GAP)
        yield row


def _problem(row: str, seed: int) -> SparseRegression | SparseLogisticRegression:
    p = int(row.split()[-1])
    if not row.startswith("price"):
        return sparse_regression(seed=seed, n=500, p=p, ridge=0.1)
    if "logistic" in row:
        ridge, penalty = (20.0, 10.0) if "easy" in row else (10.0, 5.0)
        drawn = sparse_logistic_regression(seed=seed, p=p, ridge=ridge, penalty=penalty)
        return replace(drawn, k=p, fit_intercept=False)
    return replace(sparse_regression(seed=seed, n=500, p=p, bound=2.0, penalty=0.2), k=p)


def _ours(problem: SparseRegression | SparseLogisticRegression, name: str, limit: float) -> Row:
    """Ask a backend of the package, with its check."""
    small = replace(problem, X=problem.X[:, :12], k=2)
    try:
        solve(small, backend=name, check=False, threads=1)
        begun = time.process_time()
        asked: dict[str, Any] = {"rel_gap": _GAP, "time_limit": limit, "threads": 1}
        result = solve(problem, backend=name, check=False, **asked)
        seconds = time.process_time() - begun
    except SparseOptError as error:
        return {"skipped": str(error)}
    if result.x is None or result.objective is None:
        return {"seconds": seconds, "skipped": result.raw_status}
    refuted = check(problem, result).verdict is Verdict.REFUTED
    proven = result.status is Status.OPTIMAL and not refuted
    return {"seconds": seconds, "value": result.objective, "proven": proven}


def _peer(problem: SparseRegression | SparseLogisticRegression, name: str, file: Path) -> Row:
    """Run a peer in an interpreter that has it, for at most ten times its limit."""
    script = Path(__file__).with_name("_subset_peers.py")
    limit = float(np.load(file)["limit"])
    command = [os.environ.get(_PYTHON, sys.executable), str(script), name, str(file)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10.0 * limit + 60.0)
    except subprocess.TimeoutExpired:
        return {"skipped": f"{name} did not end by itself"}
    if done.returncode:
        return {"skipped": done.stderr.strip().rpartition("\n")[2]}
    answer = json.loads(done.stdout)
    x = np.zeros(problem.X.shape[1])
    x[answer["chosen"]] = answer["values"]
    value = problem.objective(x)
    least = answer["bound"]
    proven = least is not None and value - least <= 2.0 * _GAP * abs(value)
    return {"seconds": answer["seconds"], "value": value, "proven": proven}


def _abess(problem: SparseRegression | SparseLogisticRegression) -> Row:
    """Fit abess with k columns, and its columns again with the ridge."""
    try:
        from abess import LinearRegression
    except ImportError:
        return {"skipped": "abess is not installed"}
    model = LinearRegression(support_size=problem.k, fit_intercept=False, thread=1)
    begun = time.process_time()
    model.fit(problem.X, problem.y)
    seconds = time.process_time() - begun
    (S,) = np.nonzero(np.ravel(model.coef_))
    A = problem.X[:, S]
    x = np.zeros(problem.X.shape[1])
    x[S] = np.linalg.solve(A.T @ A + problem.ridge * np.eye(len(S)), A.T @ problem.y)
    return {"seconds": seconds, "value": problem.objective(x), "proven": False}


STUDY = Study(
    title="Best subsets: branch and bound beside other programs",
    description="n = 500, correlation 0.1, SNR 5, a ridge of 0.1: ten columns, or a price of 0.2 "
    "for each and coefficients within 2; logistic: a ridge of 10, a price of 5 (easy: 20 and 10). "
    "Gap 1e-6.",
    settings={"rows": ("all",), "seeds": 3, "limit": 60.0},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Processor seconds, proven, and how much worse than the best",
            rows=("row", "method"),
            columns=("value",),
            values=("seconds", "proven:count", "excess:max"),
            statistic="median",
            note="abess has no proof. A program that is not there, or fails, is listed below.",
        ),
    ),
    memory=12 * 10**9,
)
