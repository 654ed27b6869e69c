r"""Compare the engine for graphs with a budget with other solvers, row by row of a table.

Every figure is the median processor time of `--repeats` runs on one core, after a first run that
compiles; other work on the machine disturbs it less than wall time. Peers run in the same process
or, as R's leaps, in one of its own with its own clock; they get few nodes where they are slow, and
their time is told for each node. A peer that is not installed, or was not asked for, is printed as
"not rerun", with the figure that was known before.

- tables-D: the best neighbours of every size for each node of the band graph of the paper (n = 100)
  with D candidates, from the data, Gram matrices included;
- sensor: the same for the field of 3592 sensors;
- ising-10: the same for spins (n = 100, 10 candidates);
- budgets: all budgets of 5000 given tables, exactly;
- path-D: ``sparseopt.solve(model, check=False)``, the whole path of D nodes, for each design;
- million: the same for 1,000,000 nodes, in a process of its own that tells its memory, too.

Usage
-----
    python benchmarks/l0.py                              # two or three minutes
    python benchmarks/l0.py --rows tables-10,budgets --peers leaps
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import importlib.util
import json
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sparseopt
from sparseopt.backend import Control
from sparseopt.generators import graph_sample, ising_lattice_sample, sensor_field_sample
from sparseopt.params import SolveParams
from sparseopt.problems import BudgetTables, Candidates, L0GraphicalModel

PEERS = ("leaps", "abess", "lars", "mip", "dp")


@dataclass
class Figure:
    """One time, in the unit of its row, or the reason that there is none."""

    who: str
    value: float | None = None
    remark: str = ""


@dataclass
class Row:
    """One line of work."""

    name: str
    work: str
    unit: str
    goal: str
    ours: Figure
    peers: list[Figure] = field(default_factory=list)


def median(run: Callable[[], Any], repeats: int) -> float:
    """Return the median processor time of a call in seconds, after one that is not counted."""
    run()
    times = []
    for _ in range(repeats):
        begin = time.process_time()
        run()
        times.append(time.process_time() - begin)
    return statistics.median(times)


# ---- the rows


def tables(D: int, nodes: int, goal: float, peers: dict[str, Any], repeats: int) -> Row:
    """Time the tables of Gaussian nodes."""
    from sparseopt.solvers.l0 import gaussian

    model = graph_sample("band", n=100, d=max(nodes, D + 1), d0=D, rho=0.5).model
    gaussian.warm_up()
    found = gaussian.gaussian_tables(model, Control(SolveParams()), 1)
    seconds = median(lambda: gaussian.gaussian_tables(model, Control(SolveParams()), 1), repeats)
    d = model.candidates.nodes
    row = Row(
        f"tables-{D}",
        f"tables, Gaussian, n = 100, {D} candidates, {d} nodes",
        "ms a node",
        f"<= {goal:g}",
        Figure("l0-tables", 1e3 * seconds / d, "exact"),
    )
    for name, (count, known) in peers.items():
        row.peers.append(table_peer(name, model, found.loss, count, known))
    return row


def table_peer(name: str, model: L0GraphicalModel, loss: Any, count: int, known: str) -> Figure:
    """Time another program on the first nodes, and compare its losses with ours."""
    if count == 0:
        return Figure(name, None, f"not rerun ({known})")
    reason = missing(name)
    if reason:
        return Figure(name, None, f"not rerun ({known}; {reason})")
    return {"leaps": leaps, "abess": abess, "lars": lars, "mip": mip}[name](model, loss, count)


def own_losses(model: L0GraphicalModel, loss: Any, j: int) -> Any:
    """Return the tables of one node."""
    first = int(model.candidates.ptr[j]) + j
    return loss[first : first + int(model.candidates.sizes[j]) + 1]


LEAPS = """
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


def leaps(model: L0GraphicalModel, loss: Any, count: int) -> Figure:
    """Run R's leaps, whose clock does not count the start of R and the reading of files."""
    n = model.X.shape[0]
    with tempfile.TemporaryDirectory() as folder:
        for j in range(count):
            own = model.candidates.of(j)
            columns = np.column_stack([model.X[:, j], model.X[:, own]])
            np.savetxt(f"{folder}/{j + 1}.txt", columns, fmt="%.17g")
        Path(folder, "run.R").write_text(LEAPS, encoding="ascii")
        done = subprocess.run(
            ["Rscript", f"{folder}/run.R", folder, str(count)],
            capture_output=True,
            text=True,
            check=True,
            timeout=600,
        )
    lines = done.stdout.strip().split("\n")
    error = 0.0
    for j, line in enumerate(lines[1:]):
        theirs = np.array(line.split(), dtype=float) / n
        ours = own_losses(model, loss, j)[1:]
        error = max(error, float(np.abs(theirs / ours - 1.0).max()))
    return Figure("leaps", 1e3 * float(lines[0]) / count, f"exact; differs by {error:.0e}")


def abess(model: L0GraphicalModel, loss: Any, count: int) -> Figure:
    """Run abess at every size, and count the sizes at which it finds no best subset."""
    from abess import LinearRegression

    n, wrong, sizes, seconds = model.X.shape[0], 0, 0, 0.0
    for j in range(count):
        own = model.candidates.of(j)
        X, y = np.asarray(model.X[:, own]), np.asarray(model.X[:, j])
        begin = time.process_time()
        fits = []
        for size in range(1, len(own) + 1):
            fit = LinearRegression(support_size=size, fit_intercept=False)
            fit.fit(X, y)
            fits.append(fit.coef_)
        seconds += time.process_time() - begin
        best = own_losses(model, loss, j)
        for size, coefficients in enumerate(fits, start=1):
            chosen = np.flatnonzero(coefficients)
            beta = np.linalg.lstsq(X[:, chosen], y, rcond=None)[0]
            rss = float(np.square(y - X[:, chosen] @ beta).sum()) / n
            wrong += rss > best[size] * (1.0 + 1e-9)
            sizes += 1
    return Figure("abess", 1e3 * seconds / count, f"{wrong} of {sizes} sizes wrong")


def lars(model: L0GraphicalModel, loss: Any, count: int) -> Figure:
    """Run scikit-learn's lasso path: another model, the convex one."""
    from sklearn.linear_model import lars_path

    data = [
        (np.asarray(model.X[:, model.candidates.of(j)]), np.asarray(model.X[:, j]))
        for j in range(count)
    ]
    seconds = median(lambda: [lars_path(X, y, method="lasso") for X, y in data], 3)
    return Figure("lars_path", 1e3 * seconds / count, "the lasso: no best subsets")


def mip(model: L0GraphicalModel, loss: Any, count: int) -> Figure:
    """Let a mixed-integer solver find the best subset of every size, one size after the other."""
    backend = next(name for name in ("gurobi", "scip") if available(name))
    seconds, wrong = 0.0, 0
    for j in range(count):
        own = model.candidates.of(j)
        mask = np.zeros((len(own) + 1,) * 2, dtype=bool)
        mask[0, 1:] = True
        some = L0GraphicalModel(np.asarray(model.X[:, [j, *own]]), mask, scaling="rss")
        best = own_losses(model, loss, j)
        rest = float(some.null_losses()[1:].sum())
        for size in range(1, len(own)):
            begin = time.process_time()
            found = sparseopt.solve(some, backend=backend, budget=size, check=False, threads=1)
            seconds += time.process_time() - begin
            wrong += abs(found.objective - rest - best[size]) > 1e-5 * best[0]
    return Figure(backend, 1e3 * seconds / count, f"mixed-integer program; {wrong} sizes differ")


def sensor(repeats: int) -> Row:
    """Time the tables of the sensor field."""
    from sparseopt.solvers.l0 import gaussian

    model = sensor_field_sample(n=98, d=3592).model
    gaussian.warm_up()
    seconds = median(
        lambda: gaussian.gaussian_tables(model, Control(SolveParams()), 1), min(repeats, 3)
    )
    sizes = model.candidates.sizes
    return Row(
        "sensor",
        f"sensor field, 3592 nodes, mean {sizes.mean():.0f} and up to {sizes.max()} candidates",
        "s",
        "<= 15",
        Figure("l0-tables", seconds, "exact"),
        [Figure("prototype", None, "not rerun (20)")],
    )


def ising(peers: dict[str, Any], repeats: int) -> Row:
    """Time the tables of Ising nodes."""
    from sparseopt.solvers.l0 import ising as engine

    X = ising_lattice_sample(n=100, rows=15, columns=20).model.X
    model = L0GraphicalModel(X, Candidates.window(300, 10), loss="ising")
    engine.warm_up()
    found = engine.ising_tables(model, Control(SolveParams()), 1)
    seconds = median(lambda: engine.ising_tables(model, Control(SolveParams()), 1), repeats)
    row = Row(
        "ising-10",
        "tables, Ising, n = 100, 10 candidates, 300 nodes",
        "ms a node",
        "<= 1",
        Figure("l0-tables", 1e3 * seconds / 300, "exact"),
    )
    if "abess" in peers:
        reason = missing("abess")
        row.peers.append(
            Figure("abess", None, f"not rerun (11-12; {reason})")
            if reason
            else abess_ising(model, found.loss, 10)
        )
    return row


def abess_ising(model: L0GraphicalModel, loss: Any, count: int) -> Figure:
    """Run abess's logistic regression at every size; count the sizes at which it is not best."""
    from abess import LogisticRegression

    from sparseopt.proofs.neighbours import logistic_fits

    wrong, sizes, seconds = 0, 0, 0.0
    for j in range(count):
        own = model.candidates.of(j)
        y = np.asarray(model.X[:, j], dtype=float)
        X = np.asarray(model.X[:, own], dtype=float)
        begin = time.process_time()
        fits = []
        for size in range(1, len(own) + 1):
            # abess has its own scale of the coefficients, which the support does not depend on.
            fit = LogisticRegression(support_size=size, fit_intercept=False)
            fits.append(fit.fit(X, (y > 0.0).astype(int)).coef_)
        seconds += time.process_time() - begin
        best = own_losses(model, loss, j)
        for size, coefficients in enumerate(fits, start=1):
            chosen = np.flatnonzero(np.ravel(coefficients))
            attained = logistic_fits((X[:, chosen] * y[:, None]).T[None], 0.0)[1][0]
            wrong += attained > best[size] + 1e-8
            sizes += 1
    return Figure("abess", 1e3 * seconds / count, f"{wrong} of {sizes} sizes wrong")


def budgets(peers: dict[str, Any], repeats: int) -> Row:
    """Time the exact path over all budgets of given tables."""
    from sparseopt.solvers.l0 import gaussian
    from sparseopt.solvers.l0.exact_path import exact_path, warm_up

    model = graph_sample("band", n=100, d=5000, d0=10).model
    gaussian.warm_up()
    warm_up()
    loss = gaussian.gaussian_tables(model, Control(SolveParams()), 1).loss
    node = np.repeat(np.arange(5000), 11)
    given = BudgetTables(model.scaled(loss, node), np.arange(5001) * 11)
    last = given.last_budget()
    ours = exact_path(given, last, Control(SolveParams())).path
    seconds = median(lambda: exact_path(given, last, Control(SolveParams())), 2 * repeats)
    row = Row(
        "budgets",
        f"all {last + 1} budgets of 5000 given tables",
        "ms",
        "<= 15",
        Figure("l0-tables", 1e3 * seconds, f"exact; {ours.certified.mean():.1%} certified"),
    )
    if "dp" in peers:
        # All 250 million choices are kept, by default fewer are allowed.
        options = {"max_cells": 5000 * (last + 1)}
        sparseopt.solve(given, backend="knapsack-dp", budget=10, check=False)
        begin = time.process_time()
        found = sparseopt.solve(given, backend="knapsack-dp", options=options, check=False)
        error = float(np.abs(found.path.objective - ours.objective).max())
        seconds = time.process_time() - begin
        row.peers.append(Figure("knapsack-dp", 1e3 * seconds, f"differs by {error:.0e}"))
    return row


def path(d: int, goal: float, paper: str, repeats: int) -> Row:
    """Time the public solve of whole paths."""
    seconds = {}
    for design in ("scale-free", "block", "band"):
        model = graph_sample(design, n=100, d=d).model
        solve = lambda model=model: sparseopt.solve(  # noqa: E731
            model, backend="l0-tables", check=False, threads=1
        )
        seconds[design] = median(solve, repeats)
    told = ", ".join(f"{name} {value:.3f}" for name, value in seconds.items())
    return Row(
        f"path-{d}",
        f"the paper's Table 1, d = {d}: every budget (the slowest design)",
        "s",
        f"<= {goal:g}",
        Figure("l0-tables", max(seconds.values()), told),
        [Figure("paper", None, f"not rerun ({paper} for one budget)")],
    )


def million(nodes: int) -> Row:
    """Run the largest problem in a process of its own."""
    told = subprocess.run(
        [sys.executable, __file__, "--million", str(nodes)],
        capture_output=True,
        text=True,
        check=True,
    )
    facts = json.loads(told.stdout)
    return Row(
        "million",
        f"{nodes:,} nodes, 10 candidates, n = 100: every budget",
        "s",
        "<= 15, <= 1.5 GB",
        Figure(
            "l0-tables",
            facts["seconds"],
            f"{facts['budgets']:,} budgets; {facts['gigabytes']:.2f} GB beside the data "
            f"({facts['data']:.2f} GB)",
        ),
        [Figure("others", None, "none")],
    )


def solve_many(nodes: int) -> None:
    """Solve a large band graph; print time and memory as JSON."""
    n, rng = 100, np.random.default_rng(0)
    X = np.empty((n, nodes), dtype=np.float32)
    for row in X:
        noise = rng.standard_normal(nodes + 3, dtype=np.float32)
        row[:] = noise[:-3] + 0.6 * noise[1:-2] + 0.5 * noise[2:-1] + 0.4 * noise[3:]
    small = L0GraphicalModel(X[:, :100], Candidates.window(100, 10))
    sparseopt.solve(small, backend="l0-tables", check=False, threads=1)
    before = memory("VmRSS")
    begin = time.process_time()
    model = L0GraphicalModel(X, Candidates.window(nodes, 10))
    found = sparseopt.solve(model, backend="l0-tables", check=False, threads=1)
    seconds = time.process_time() - begin
    facts = {
        "seconds": seconds,
        "budgets": len(found.path),
        "gigabytes": memory("VmHWM") - before,
        "data": X.nbytes / 1e9,
    }
    print(json.dumps(facts))


def memory(what: str) -> float:
    """Return a size of this process in gigabytes, from Linux."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(what):
            return float(line.split()[1]) * 1024 / 1e9
    return float("nan")


# ---- who is here


def missing(name: str) -> str:
    """Return why a peer cannot run here; nothing where it can."""
    if name == "leaps":
        if shutil.which("Rscript") is None:
            return "Rscript is not installed"
        done = subprocess.run(["Rscript", "-e", "library(leaps)"], capture_output=True, check=False)
        return "" if done.returncode == 0 else "the R package leaps is not installed"
    if name == "mip":
        return "" if available("gurobi") or available("scip") else "no mixed-integer solver"
    module = {"abess": "abess", "lars": "sklearn"}[name]
    return "" if importlib.util.find_spec(module) else f"{module} is not installed"


def available(name: str) -> bool:
    """Return whether a backend is there and takes graphs."""
    for info in sparseopt.backends():
        if info.name == name and info.available:
            model = L0GraphicalModel(np.eye(3) - 0.5, Candidates.window(3, 1))
            return bool(sparseopt.registry.get_backend(name).supports(model)[0])
    return False


# D: our nodes, the goal, and for each peer how many nodes and what was known before.
TABLES: dict[int, tuple[int, float, dict[str, tuple[int, str]]]] = {
    10: (
        5000,
        0.010,
        {"leaps": (200, ".305"), "abess": (20, "2.5-2.9"), "lars": (50, "-"), "mip": (2, "-")},
    ),
    16: (500, 0.2, {"leaps": (50, ".55")}),
    20: (300, 0.3, {"leaps": (20, "2.2")}),
    24: (100, 1.0, {"leaps": (5, "16")}),
    32: (40, 20.0, {"leaps": (0, "890")}),
}
PATHS = {1000: (0.1, "35"), 2000: (0.2, "71"), 5000: (0.5, "178")}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    names = [*(f"tables-{D}" for D in TABLES), "sensor", "ising-10", "budgets"]
    names += [*(f"path-{d}" for d in PATHS), "million"]
    parser.add_argument("--rows", default=",".join(names), help="names, with commas between")
    parser.add_argument("--peers", default=",".join(PEERS), help="of them; '' for none")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--nodes", type=int, default=1_000_000, help="of the row million")
    parser.add_argument("--json", type=Path, help="write the figures to this file, too")
    parser.add_argument("--list", action="store_true", help="print the names of the rows")
    parser.add_argument("--million", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.million:
        solve_many(given.million)
        return
    if given.list:
        print("\n".join(names))
        return
    asked, peers = given.rows.split(","), [name for name in given.peers.split(",") if name]
    unknown = [*(set(asked) - set(names)), *(set(peers) - set(PEERS))]
    if unknown:
        parser.error(f"there is no {unknown[0]!r}; rows: {names}; peers: {PEERS}")
    print("| row | work | unit | who | time | goal | remark |\n|---|---|---|---|---|---|---|")
    done = []
    for name in asked:
        kind, _, size = name.partition("-")
        if kind == "tables":
            nodes, goal, known = TABLES[int(size)]
            some = {
                peer: facts if peer in peers else (0, f"{facts[1]}; left out by --peers")
                for peer, facts in known.items()
            }
            row = tables(int(size), nodes, goal, some, given.repeats)
        elif kind == "path":
            row = path(int(size), *PATHS[int(size)], given.repeats)
        elif kind == "million":
            row = million(given.nodes)
        elif kind == "sensor":
            row = sensor(given.repeats)
        else:
            row = {"ising": ising, "budgets": budgets}[kind](dict.fromkeys(peers), given.repeats)
        done.append(row)
        for figure in (row.ours, *row.peers):
            value = "-" if figure.value is None else f"{figure.value:.3g}"
            goal_told = row.goal if figure is row.ours else ""
            cells = [row.name, row.work, row.unit, figure.who, value, goal_told, figure.remark]
            print(f"| {' | '.join(cells)} |", flush=True)
    left = [name for name in names if name not in asked]
    if left:
        print(f"\nRows that were not run: {', '.join(left)}")
    if given.json:
        given.json.write_text(json.dumps([asdict(row) for row in done], indent=1), encoding="utf-8")


if __name__ == "__main__":
    main()
