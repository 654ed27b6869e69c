r"""Time the solvers of the sparse trust-region subproblem, row by row, beside their peers.

Every figure is `build_time + solve_time` of :func:`sparseopt.solve` with ``check=False`` on one
core, and of ours the processor time, too, which other work on the machine disturbs less; imports,
compilation and the start of a child process are not counted. Ours is the median of `--repeats` runs
of each problem (one run where it takes over 5 s); peers run once, in the same
process and on the same problems, each with at most `--limit` seconds. A peer gets `--budget`
seconds for a row: problems that are left when they are used up are not run, and the remark says on
how many it ran. Ratios are over those problems; a peer at its limit counts with the limit.

- table1: the four cases of Wang, Dey and Xie, (D, d) = (20, 5) to (100, 10), two seeds, proven to
  1e-9; SCIP gets the nonconvex program and proves 1e-6;
- pitprops, wine, breast-cancer: the correlations in instances/, every d on its own;
- sparse-pca: the public matrices in the folder SPARSEOPT_EXTRA_DATA, if it is set;
- spiked-300, spiked-500: the covariance of D/2 normal observations with one component of ten equal
  loadings and the variance 4, or 2 (a weak signal, three seeds), beside noise of the variance 1,
  d = 10;
- correlation-257: twelve factors with random loadings on a seventh of 257 variables, 452
  observations, d = 20;
- noise-100-5, noise-50-10: the correlations of 2 D normal observations of independent variables
  (Wishart), and a symmetric normal matrix (GOE);
- bound: the bound that strs-bnb ends with, (D, d) = (100, 10), two seeds, beside the value of the
  relaxation (20) with perspective rows, which is no weaker than (20) itself, from strs-admm at
  1e-6;
- admm: the relaxation (20) with perspective rows to 1e-5, on the problems of table1; peers for
  D >= 60;
- path: every d of pitprops as one path, beside solves one by one.

Usage
-----
    python benchmarks/strs.py                          # the quick rows
    python benchmarks/strs.py --rows table1,admm --peers scip,SCS --limit 60
    python benchmarks/strs.py --list
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

for _variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ[_variable] = "1"

import argparse
import csv
import math
import statistics
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import sparseopt
from sparseopt import Result, Status, generators
from sparseopt.problems import STRS, STRSPath

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
CASES = ("mean-shift", "covariance-shift", "gaussian-laplace", "gaussian-mixture")
SIZES = ((20, 5), (40, 10), (60, 6), (80, 8), (100, 10))
PEERS = ("scip", "Clarabel", "SCS")
SLOW = 5.0
"""Ours runs only once where a run takes longer than these seconds."""


@dataclass(frozen=True)
class Settings:
    """How often we run, who else does, and for how long."""

    repeats: int
    peers: tuple[str, ...]
    limit: float
    budget: float


@dataclass
class Line:
    """One line of the table."""

    row: str
    who: str
    total: float | None = None
    worst: float | None = None
    remark: str = ""
    processor: float | None = None


@dataclass
class Row:
    """The lines of a row, and whether its goal is met."""

    name: str
    goal: str
    lines: list[Line] = field(default_factory=list)
    met: bool | None = None


Problems = list[tuple[str, STRS]]


def seconds(result: Result) -> float:
    """Return the time of a solve."""
    return result.build_time + result.solve_time


class Timed(NamedTuple):
    """The median times, wall and processor, and an answer."""

    time: float
    processor: float
    result: Result


def ours(problem: Any, settings: Settings, backend: str = "strs-bnb", **question: Any) -> Timed:
    """Solve a problem of ours again and again."""
    times: list[float] = []
    processor: list[float] = []
    while True:
        begin = time.process_time()
        result = sparseopt.solve(problem, backend=backend, check=False, threads=1, **question)
        processor.append(time.process_time() - begin)
        times.append(seconds(result))
        if len(times) >= settings.repeats or times[0] > SLOW:
            return Timed(statistics.median(times), statistics.median(processor), result)


def peer(name: str, problem: STRS, limit: float) -> tuple[float, Result]:
    """Run SCIP on the nonconvex program, or a conic solver on the relaxation."""
    backend = "scip" if name == "scip" else "cvxpy-relaxation"
    options = {} if name == "scip" else {"solver": name.upper(), "tolerance": 1e-5}
    gap = 1e-6 if name == "scip" else 1e-4
    result = sparseopt.solve(
        problem,
        backend=backend,
        options=options,
        time_limit=limit,
        rel_gap=gap,
        check=False,
        threads=1,
    )
    return seconds(result), result


# ---- problems


def table1() -> Problems:
    """Return the problems of the paper's table."""
    return [
        (f"{case} {D}, {d} #{seed}", _plain(case, seed, D, d))
        for seed in (0, 1)
        for D, d in SIZES
        for case in CASES
    ]


def _plain(case: str, seed: int, D: int, d: int) -> STRS:
    problem = generators.generate(case, seed=seed, D=D, d=d)
    assert isinstance(problem, STRS)
    return problem


def instance(name: str) -> Problems:
    """Return every size of a correlation matrix of the folder instances."""
    problem = sparseopt.load(INSTANCES / f"{name}.npz")
    assert isinstance(problem, STRSPath)
    return [(f"d = {d}", problem.at(d)) for d in range(1, problem.last + 1)]


def spiked(D: int) -> Problems:
    """Return covariances of one component, strong or weak, and noise."""
    found = []
    for variance, seed in ((4.0, 1), (2.0, 0), (2.0, 1), (2.0, 2)):
        rng = np.random.default_rng(seed)
        loadings = np.zeros(D)
        loadings[:10] = math.sqrt(0.1)
        noise = rng.normal(size=(D // 2, D))
        X = noise + math.sqrt(variance) * rng.normal(size=(D // 2, 1)) * loadings
        problem = STRS.from_data(X, 10, kind="covariance")
        found.append((f"variance {variance:g} #{seed}", problem))
    return found


def factors() -> Problems:
    """Return correlations that overlapping factors explain."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(452, 257))
    loadings = 1.5 * rng.normal(size=(12, 257)) * (rng.random((12, 257)) < 0.15)
    return [("", STRS.from_data(X + rng.normal(size=(452, 12)) @ loadings, 20))]


def noise(D: int, d: int) -> Problems:
    """Return a Wishart and a GOE matrix."""
    rng = np.random.default_rng(1)
    wishart = STRS.from_data(rng.normal(size=(2 * D, D)), d)
    M = rng.normal(size=(D, D))
    return [("Wishart", wishart), ("GOE", STRS(A=(M + M.T) / 2.0, d=d))]


# ---- rows


def proof(
    problems: Callable[[], Problems],
    goal: str,
    *,
    each: float = math.inf,
    together: float = math.inf,
    compared: Callable[[str], bool] = lambda _: True,
) -> Callable[[str, Settings], Row]:
    """Return what measures a row in which optima are proven."""

    def measure(name: str, settings: Settings) -> Row:
        given = problems()
        answers = {label: ours(problem, settings) for label, problem in given}
        times = [answer.time for answer in answers.values()]
        processor = [answer.processor for answer in answers.values()]
        proven = sum(answer.result.status is Status.OPTIMAL for answer in answers.values())
        gap = max(answer.result.gap or 0.0 for answer in answers.values())
        remark = f"{proven} of {len(given)} proven, largest gap {gap:.0e}"
        if len(given) > 1:
            remark += f"; longest processor time {max(processor):.3g} s"
        line = Line(name, "strs-bnb", sum(times), max(times), remark, sum(processor))
        row = Row(name, goal, [line])
        row.met = proven == len(given) and max(times) <= each and sum(times) <= together
        if "scip" in settings.peers:
            chosen = [pair for pair in given if compared(pair[0])]
            if chosen:
                line, slower = scip(name, chosen, answers, settings)
                row.lines.append(line)
                if name == "table1":
                    row.met = row.met and slower
        return row

    return measure


def scip(
    row: str, problems: Problems, answers: dict[str, Timed], settings: Settings
) -> tuple[Line, bool]:
    """Run SCIP, and compare it problem by problem."""
    if not available("scip"):
        return Line(row, "scip", None, None, "not installed"), True
    times: list[float] = []
    ratios: list[float] = []
    proven = worse = 0
    for label, problem in problems:
        if sum(times) >= settings.budget:
            break
        spent, result = peer("scip", problem, settings.limit)
        best = answers[label].result
        times.append(spent)
        ratios.append(spent / answers[label].time)
        proven += result.status is Status.OPTIMAL
        assert best.objective is not None
        slack = 1e-6 * abs(best.objective)
        worse += result.objective is None or result.objective < best.objective - slack
    slower = sum(ratio > 1.0 for ratio in ratios)
    remark = (
        f"ran {len(times)} of {len(problems)}, proved {proven} within {settings.limit:g} s, worse "
        f"point in {worse}; ours faster in {slower}, median ratio {statistics.median(ratios):.3g}"
    )
    return Line(row, "scip", sum(times), max(times), remark), slower == len(ratios)


def public(name: str, settings: Settings) -> Row:
    """Solve the public matrices, and compare with the optima known of them."""
    goal = "each <= 2 s"
    folder = os.environ.get("SPARSEOPT_EXTRA_DATA")
    if folder is None:
        return Row(name, goal, [Line(name, "strs-bnb", remark="not run: no SPARSEOPT_EXTRA_DATA")])
    place = Path(folder) / "sparse-pca"
    with (place / "reference.csv").open(encoding="utf-8") as stream:
        known = list(csv.DictReader(stream))
    row, met = Row(name, goal), True
    for matrix in dict.fromkeys(entry["matrix"] for entry in known):
        S = np.loadtxt(place / f"{matrix}.csv", delimiter=",")
        times, processor, proven, wrong, count = [], 0.0, 0, 0, 0
        for entry in known:
            if entry["matrix"] != matrix:
                continue
            answer = ours(STRS.from_covariance(S, int(entry["d"])), settings)
            result = answer.result
            times.append(answer.time)
            processor += answer.processor
            count += 1
            proven += result.status is Status.OPTIMAL
            best = float(entry["optimal"])
            wrong += result.objective is None or abs(result.objective - best) > 2e-7 * best
        remark = f"{matrix}, D = {len(S)}: {proven} of {count} proven, {wrong} wrong"
        row.lines.append(Line(name, "strs-bnb", sum(times), max(times), remark, processor))
        met = met and proven == count and not wrong and max(times) <= 2.0
    row.met = met
    return row


def bounds(name: str, settings: Settings) -> Row:
    """Compare the bound of a whole solve with the value of the relaxation."""
    row, met = Row(name, "<= .5 s, no weaker than (20) with perspective rows"), True
    for seed in (0, 1):
        for case in CASES:
            problem, label = _plain(case, seed, 100, 10), f"{case} #{seed}"
            answer = ours(problem, settings)
            result = answer.result
            oracle = sparseopt.solve(
                problem,
                backend="strs-admm",
                options={"tolerance": 1e-6},
                rel_gap=0.0,
                time_limit=settings.limit,
                check=False,
            )
            assert result.bound is not None
            assert oracle.certificate is not None
            # Its value is within the tolerance of the relaxation's; its bound is above that.
            relaxation = oracle.certificate.values["relaxation"]
            excess = result.bound / relaxation - 1.0
            tight = excess <= 2e-6
            met = met and tight and answer.time <= 0.5
            remark = f"{label}: {result.status.value}, over the relaxation {excess:+.1e}"
            line = Line(name, "strs-bnb", answer.time, None, remark, answer.processor)
            row.lines.append(line)
            remark = f"{label}: {oracle.status.value}"
            row.lines.append(Line(name, "strs-admm, 1e-6", seconds(oracle), None, remark))
            for who in _conic(settings) if (case, seed) == (CASES[0], 0) else ():
                spent, other = peer(who, problem, settings.limit)
                row.lines.append(Line(name, who, spent, None, f"{label}: {_ended(other)}"))
    row.met = met
    return row


def relaxations(name: str, settings: Settings) -> Row:
    """Time the relaxation on the problems of the table."""
    given = table1()
    answers = {label: ours(problem, settings, "strs-admm") for label, problem in given}
    times = [answer.time for answer in answers.values()]
    ended_well = (Status.CONVERGED, Status.OPTIMAL)
    done = sum(answer.result.status in ended_well for answer in answers.values())
    row = Row(name, "all 40, and faster than both at D >= 60")
    remark = f"{done} of {len(given)} converged"
    processor = sum(answer.processor for answer in answers.values())
    row.lines.append(Line(name, "strs-admm", sum(times), max(times), remark, processor))
    row.met = done == len(given)
    large = [(label, problem) for label, problem in given if len(problem.A) >= 60]
    # The sizes and cases take turns, so that a budget reaches all of them.
    large.sort(key=lambda pair: (pair[0][-1], (len(pair[1].A) + 20 * pair[0].count("g")) % 60))
    for who in _conic(settings):
        spent: list[float] = []
        ratios: list[float] = []
        ended = 0
        for label, problem in large:
            if sum(spent) >= settings.budget:
                break
            took, result = peer(who, problem, settings.limit)
            spent.append(took)
            ratios.append(took / answers[label].time)
            ended += result.status in ended_well
        slower = sum(ratio > 1.0 for ratio in ratios)
        remark = (
            f"ran {len(spent)} of {len(large)} with D >= 60, {ended} ended within "
            f"{settings.limit:g} s; ours faster in {slower}, median ratio "
            f"{statistics.median(ratios):.3g}"
        )
        row.lines.append(Line(name, who, sum(spent), max(spent), remark))
        row.met = row.met and slower == len(ratios)
    return row


def sizes(name: str, settings: Settings) -> Row:
    """Time the path over d, and the same sizes one by one."""
    problem = sparseopt.load(INSTANCES / "pitprops.npz")
    assert isinstance(problem, STRSPath)
    path = ours(problem, settings)
    single = [ours(problem.at(d), settings).time for d in range(1, problem.last + 1)]
    row = Row(name, "<= 1 s")
    remark = path.result.raw_status
    row.lines.append(Line(name, "strs-bnb, path", path.time, None, remark, path.processor))
    row.lines.append(Line(name, "strs-bnb, one by one", sum(single), max(single)))
    row.met = path.time <= 1.0 and path.result.status is Status.OPTIMAL
    return row


def _conic(settings: Settings) -> Iterable[str]:
    return [who for who in settings.peers if who != "scip" and available("cvxpy-relaxation")]


def _ended(result: Result) -> str:
    return result.status.value if result.limit is None else f"stopped: {result.limit.value}"


def available(backend: str) -> bool:
    """Whether a peer can run here."""
    return any(b.name == backend and b.available for b in sparseopt.backends())


ROWS: dict[str, Callable[[str, Settings], Row]] = {
    "table1": proof(table1, "each <= 1 s and faster than SCIP", each=1.0),
    "pitprops": proof(
        lambda: instance("pitprops"),
        "together <= 1 s",
        together=1.0,
        compared=lambda label: label == "d = 10",
    ),
    "wine": proof(
        lambda: instance("wine-components"),
        "together <= 1 s",
        together=1.0,
        compared=lambda label: label == "d = 5",
    ),
    "breast-cancer": proof(
        lambda: instance("breast-cancer-components"),
        "each <= 2 s",
        each=2.0,
        compared=lambda label: label == "d = 5",
    ),
    "sparse-pca": public,
    "spiked-300": proof(lambda: spiked(300), "<= 10 s", each=10.0, compared=lambda _: False),
    "spiked-500": proof(lambda: spiked(500), "<= 10 s", each=10.0, compared=lambda _: False),
    "correlation-257": proof(factors, "<= 10 s", each=10.0, compared=lambda _: False),
    "noise-100-5": proof(lambda: noise(100, 5), "<= 5 s", each=5.0, compared=lambda _: False),
    "noise-50-10": proof(lambda: noise(50, 10), "<= 60 s", each=60.0, compared=lambda _: False),
    "bound": bounds,
    "admm": relaxations,
    "path": sizes,
}
QUICK = ("pitprops", "wine", "breast-cancer", "noise-100-5", "path")


def main() -> None:
    """Run the rows and print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", default=",".join(QUICK), help="names, or all")
    parser.add_argument("--peers", default=",".join(PEERS), help="some of " + ", ".join(PEERS))
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for a solve of a peer")
    parser.add_argument("--budget", type=float, default=300.0, help="seconds for a peer in a row")
    parser.add_argument("--list", action="store_true", help="list the rows")
    asked = parser.parse_args()
    if asked.list:
        print("\n".join(ROWS))
        return
    names = list(ROWS) if asked.rows == "all" else [n for n in asked.rows.split(",") if n]
    peers = tuple(who for who in asked.peers.split(",") if who)
    for chosen, there in ((names, tuple(ROWS)), (peers, PEERS)):
        for each in chosen:
            if each not in there:
                parser.error(f"there is no {each!r}; there are: {', '.join(there)}")
    settings = Settings(asked.repeats, peers, asked.limit, asked.budget)
    for backend in ("strs-bnb", "strs-admm"):
        sparseopt.solve(STRS(A=np.eye(3), d=1), backend=backend, check=False)
    print("| row | who | time together | longest | goal | remark | processor time |")
    print("|---|---|--:|--:|---|---|--:|")
    missed = []
    for name in names:
        row = ROWS[name](name, settings)
        for place, line in enumerate(row.lines):
            goal = row.goal if place == 0 else ""
            print(
                f"| {name} | {line.who} | {_shown(line.total)} | {_shown(line.worst)} | {goal} "
                f"| {line.remark} | {_shown(line.processor)} |",
                flush=True,
            )
        if row.met is False:
            missed.append(name)
    left = [name for name in ROWS if name not in names]
    print()
    print("Goals that were missed: " + (", ".join(missed) or "none"))
    print("Rows that were not run: " + (", ".join(left) or "none"))


def _shown(duration: float | None) -> str:
    return "" if duration is None else f"{duration:.3g} s"


if __name__ == "__main__":
    main()
