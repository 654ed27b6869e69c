r"""Time the solvers of the sparse trust-region subproblem, row by row, beside their peers.

Every figure is `build_time + solve_time` of :func:`sparseopt.solve` with ``check=False`` on one
core, and of ours the processor time, too, which other work on the machine disturbs less; imports,
compilation and the start of a child process are not counted. Ours is the median of `--repeats` runs
of each problem (one run where it takes over 5 s); peers run once, in the same
process and on the same problems, each with at most `--limit` seconds. A peer gets `--budget`
seconds for a row: problems that are left when they are used up are not run, and the remark says on
how many it ran. Ratios are over those problems; a peer at its limit counts with the limit. With
`--records FILE` the runs of peers are kept, and a later call with the same limit goes on with the
problems that are left. Gaps are relative to the optimum itself, however small it is: those of
table 1 are about .04, and a gap of 1e-9 there is a difference of 4e-11.

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
- outer: the problems of table1 by strs-oa, to 1e-6, with what the checker says of its leaves;
- path: every d of pitprops as one path, beside solves one by one.

Usage
-----
    python benchmarks/strs.py                          # the quick rows
    python benchmarks/strs.py --rows table1,admm --peers scip,SCS --limit 60
    python benchmarks/strs.py --rows admm --peers Clarabel --limit 20 --budget 200 \
        --records peers.jsonl --each                   # again and again, until all have run
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
from strs_peers import PEERS, Peers, Run

import sparseopt
from sparseopt import Result, Status, Verdict, generators
from sparseopt.problems import STRS, STRSPath

INSTANCES = Path(__file__).resolve().parents[1] / "instances"
CASES = ("mean-shift", "covariance-shift", "gaussian-laplace", "gaussian-mixture")
SIZES = ((20, 5), (40, 10), (60, 6), (80, 8), (100, 10))
SLOW = 5.0
"""Ours runs only once where a run takes longer than these seconds."""


@dataclass(frozen=True)
class Settings:
    """How often we run, and who else does."""

    repeats: int
    peers: Peers


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
    """The lines of a row, whether its goal is met, and the times of each problem with peers."""

    name: str
    goal: str
    lines: list[Line] = field(default_factory=list)
    met: bool | None = None
    each: dict[str, list[str]] = field(default_factory=dict)


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
        chosen = [pair for pair in given if compared(pair[0])]
        if "scip" in settings.peers.names and chosen:
            slower = scip(row, chosen, answers, settings)
            if name == "table1":
                row.met = row.met and slower
        return row

    return measure


def scip(row: Row, problems: Problems, answers: dict[str, Timed], settings: Settings) -> bool:
    """Run SCIP, and tell whether it is slower on every problem that it ran."""
    if not available("scip"):
        row.lines.append(Line(row.name, "scip", None, None, "not installed"))
        return True
    runs = settings.peers.runs(row.name, "scip", problems)
    worse = 0
    for run in runs:
        best = answers[run.problem].result.objective
        assert best is not None
        worse += run.objective is None or run.objective < best - 1e-6 * abs(best)
    slower = compare(row, "scip", len(problems), runs, answers, settings)
    row.lines[-1].remark += f"; worse point in {worse}"
    return slower


def compare(
    row: Row,
    who: str,
    count: int,
    runs: list[Run],
    answers: dict[str, Timed],
    settings: Settings,
) -> bool:
    """Add a line that compares a peer problem by problem; tell whether all its runs are slower."""
    if not runs:
        row.lines.append(Line(row.name, who, None, None, "not run"))
        return True
    times = [run.seconds for run in runs]
    ratios = [run.seconds / answers[run.problem].time for run in runs]
    slower = sum(ratio > 1.0 for ratio in ratios)
    remark = (
        f"ran {len(runs)} of {count}, {sum(run.done for run in runs)} done within "
        f"{settings.peers.limit:g} s; ours faster in {slower}, median ratio "
        f"{statistics.median(ratios):.3g}, smallest {min(ratios):.3g}"
    )
    row.lines.append(Line(row.name, who, sum(times), max(times), remark))
    for run in runs:
        answer = answers[run.problem]
        texts = row.each.setdefault(
            run.problem, [f"ours {_shown(answer.time)} (processor {_shown(answer.processor)})"]
        )
        texts.append(f"{who} {run.shown}")
    return slower == len(runs)


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
                time_limit=settings.peers.limit,
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
                for run in settings.peers.runs(name, who, [(label, problem)]):
                    row.lines.append(Line(name, who, run.seconds, None, f"{label}: {run.ended}"))
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
        runs = settings.peers.runs(name, who, large)
        slower = compare(row, who, len(large), runs, answers, settings)
        row.met = row.met and slower
    return row


def outer(name: str, settings: Settings) -> Row:
    """Prove the optima of the table by outer approximation, each with its certificate."""
    given = table1()
    verified, times, processor = 0, [], []
    for _, problem in given:
        answer = ours(problem, settings, "strs-oa", time_limit=settings.peers.limit)
        report = sparseopt.check(problem, answer.result)
        done = answer.result.status is Status.OPTIMAL
        verified += done and report.verdict is Verdict.VERIFIED
        times.append(answer.time)
        processor.append(answer.processor)
    row = Row(name, "all 40 proven and verified", met=verified == len(given))
    remark = (
        f"{verified} of {len(given)} proven and verified; longest processor time "
        f"{max(processor):.3g} s"
    )
    row.lines.append(Line(name, "strs-oa", sum(times), max(times), remark, sum(processor)))
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
    return [who for who in settings.peers.names if who != "scip" and available("cvxpy-relaxation")]


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
    "outer": outer,
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
    parser.add_argument("--records", type=Path, help="file of peers' runs, to resume from")
    parser.add_argument("--each", action="store_true", help="also print each problem with a peer")
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
    settings = Settings(asked.repeats, Peers(peers, asked.limit, asked.budget, asked.records))
    for backend in ("strs-bnb", "strs-admm", "strs-oa"):
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
        if asked.each:
            for label, texts in row.each.items():
                print(f"| {name} | {label} | | | | {'; '.join(texts)} | |", flush=True)
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
