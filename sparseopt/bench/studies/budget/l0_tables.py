"""The tables of best neighbours, beside other programs for best subsets, node by node."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.api import backends, solve
from sparseopt.backend import Control
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of, median_time
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.generators import graph_sample, ising_lattice_sample
from sparseopt.params import SolveParams
from sparseopt.problems import Candidates, L0GraphicalModel
from sparseopt.problems.base import Array

_ROWS: dict[str, tuple[int, float, dict[str, int]]] = {
    "tables-10": (5000, 0.010, {"leaps": 200, "abess": 20, "lars": 50, "mip": 2}),
    "tables-16": (500, 0.2, {"leaps": 50}),
    "tables-20": (300, 0.3, {"leaps": 20}),
    "tables-24": (100, 1.0, {"leaps": 5}),
    "tables-32": (40, 20.0, {}),
    "ising-10": (300, 1.0, {"abess": 10}),
}
"""By candidates of a node: nodes, the goal in ms a node, and how many nodes each peer gets."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield each row with our engine and with each of its peers."""
    for row in chosen_of(settings["rows"], _ROWS, "row"):
        for program in ("l0-tables", *_ROWS[row][2]):
            if program in settings["programs"] or "all" in settings["programs"]:
                yield {"row": row, "program": program, "repeats": settings["repeats"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Time one program; compare what it finds with our tables."""
    row, program = unit["row"], unit["program"]
    nodes, goal, peers = _ROWS[row]
    model = _model(row, nodes)

    def tables() -> Any:
        from sparseopt.solvers.l0.tables import gaussian, ising

        find = ising.ising_tables if model.loss == "ising" else gaussian.gaussian_tables
        return find(model, Control(SolveParams()), 1)

    loss = tables().loss
    if program == "l0-tables":
        seconds = median_time(tables, unit["repeats"], time.process_time) / nodes
        yield {"milliseconds": 1e3 * seconds, "goal": f"<= {goal:g}", "remark": "exact"}
        return
    best = [
        loss[int(model.candidates.ptr[j]) + j :][: int(model.candidates.sizes[j]) + 1]
        for j in range(peers[program])
    ]
    if program == "leaps":
        yield _leaps(model, best, folder)
    else:
        yield {"abess": _abess, "lars": _lars, "mip": _mip}[program](model, best)


def _model(row: str, nodes: int) -> L0GraphicalModel:
    D = int(row.partition("-")[2])
    if row.startswith("ising"):
        X = ising_lattice_sample(n=100, rows=15, columns=20).model.X
        return L0GraphicalModel(X, Candidates.window(nodes, D), loss="ising")
    return graph_sample("band", n=100, d=max(nodes, D + 1), d0=D, rho=0.5).model


_LEAPS = """
library(leaps)
folder <- commandArgs(TRUE)[1]
count <- as.integer(commandArgs(TRUE)[2])
data <- lapply(1:count, function(j) as.matrix(read.table(sprintf("%s/%d.txt", folder, j))))
fit <- function(a) regsubsets(a[, -1], a[, 1], nvmax = ncol(a) - 1, intercept = FALSE,
                              really.big = TRUE, method = "exhaustive")
spent <- function() sum(proc.time()[c("user.self", "sys.self")])
begin <- spent()
for (a in data) fit(a)
cat(spent() - begin, "\\n")
for (a in data) cat(format(fit(a)$ress[, 1], digits = 17), "\\n")
"""


# Each peer gets, of its first nodes, the smallest loss of each size, to compare with.


def _leaps(model: L0GraphicalModel, best: list[Array], folder: Path) -> Row:
    """Run R's leaps, whose clock does not count the start of R and the reading of files."""
    R = ["Rscript", "-e", "library(leaps)"]
    if shutil.which("Rscript") is None or subprocess.run(R, capture_output=True).returncode:
        raise ModuleNotFoundError("R's package leaps is not installed")
    place = folder.parent
    for j in range(len(best)):
        columns = np.column_stack([model.X[:, j], model.X[:, model.candidates.of(j)]])
        np.savetxt(place / f"{j + 1}.txt", columns, fmt="%.17g")
    (place / "run.R").write_text(_LEAPS, encoding="ascii")
    command = ["Rscript", str(place / "run.R"), str(place), str(len(best))]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    seconds, *lines = done.stdout.strip().split("\n")
    theirs = [np.array(line.split(), dtype=float) / len(model.X) for line in lines]
    error = max(np.abs(t / own[1:] - 1.0).max() for t, own in zip(theirs, best, strict=True))
    remark = f"exact; differs by {error:.0e}"
    return {"milliseconds": 1e3 * float(seconds) / len(best), "remark": remark}


def _abess(model: L0GraphicalModel, best: list[Array]) -> Row:
    """Run abess at every size, and count the sizes at which it finds no best subset."""
    from abess import LinearRegression, LogisticRegression

    from sparseopt.proofs.neighbours import logistic_fits

    wrong, seconds = 0, 0.0
    logistic = model.loss == "ising"
    for j, own in enumerate(best):
        X = np.asarray(model.X[:, model.candidates.of(j)], dtype=float)
        y = np.asarray(model.X[:, j], dtype=float)
        fitted = LogisticRegression if logistic else LinearRegression
        response = (y > 0.0).astype(int) if logistic else y
        begun = time.process_time()
        fits = [
            fitted(support_size=size, fit_intercept=False).fit(X, response).coef_
            for size in range(1, len(own))
        ]
        seconds += time.process_time() - begun
        for size, coefficients in enumerate(fits, start=1):
            # Only the support is compared: abess has its own scale of the coefficients.
            chosen = np.flatnonzero(np.ravel(coefficients))
            if logistic:
                attained = logistic_fits((X[:, chosen] * y[:, None]).T[None], 0.0)[1][0]
                wrong += attained > own[size] + 1e-8
            else:
                beta = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
                rss = float(np.square(y - X[:, chosen] @ beta).sum()) / len(y)
                wrong += rss > own[size] * (1.0 + 1e-9)
    sizes = sum(len(own) - 1 for own in best)
    return {"milliseconds": 1e3 * seconds / len(best), "remark": f"{wrong} of {sizes} sizes wrong"}


def _lars(model: L0GraphicalModel, best: list[Array]) -> Row:
    """Run scikit-learn's lasso path: another model, the convex one."""
    from sklearn.linear_model import lars_path

    X = np.asarray(model.X)
    data = [(X[:, model.candidates.of(j)], X[:, j]) for j in range(len(best))]
    run: Callable[[], Any] = lambda: [lars_path(X, y, method="lasso") for X, y in data]  # noqa: E731
    seconds = median_time(run, 3, time.process_time)
    return {"milliseconds": 1e3 * seconds / len(best), "remark": "the lasso: no best subsets"}


def _mip(model: L0GraphicalModel, best: list[Array]) -> Row:
    """Let a mixed-integer solver find the best subset of every size, one size after the other."""
    small = L0GraphicalModel(np.eye(3) - 0.5, Candidates.window(3, 1))
    there = [info.name for info in backends(small) if info.available and info.supports]
    backend = next((name for name in ("gurobi", "scip") if name in there), None)
    if backend is None:
        raise ModuleNotFoundError("neither gurobi nor scip is installed")
    seconds, wrong = 0.0, 0
    for j, own in enumerate(best):
        mask = np.zeros((len(own),) * 2, dtype=bool)
        mask[0, 1:] = True
        X = np.asarray(model.X[:, [j, *model.candidates.of(j)]])
        some = L0GraphicalModel(X, mask, scaling="rss")
        rest = float(some.null_losses()[1:].sum())
        for size in range(1, len(own) - 1):
            begun = time.process_time()
            found = solve(some, backend=backend, budget=size, check=False, threads=1)
            seconds += time.process_time() - begun
            wrong += abs(float(found.objective or 0.0) - rest - own[size]) > 1e-5 * own[0]
    remark = f"{backend}, mixed-integer program; {wrong} sizes differ"
    return {"milliseconds": 1e3 * seconds / len(best), "remark": remark}


STUDY = Study(
    title="Tables of best neighbours",
    description="Processor time of one core in ms a node, Gram matrices included, n = 100; nodes "
    "of the band graph, or spins. Peers get few nodes where they are slow.",
    settings={"rows": ("all",), "programs": ("all",), "repeats": 5},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Milliseconds a node",
            rows=("row", "program"),
            columns=("value",),
            values=("milliseconds", "remark"),
            statistic="median",
            note="tables-D: D candidates of each node. leaps was at 890 ms a node for tables-32. "
            "A peer that is not installed is listed below.",
        ),
    ),
)
