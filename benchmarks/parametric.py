r"""Time the homotopy engine against its peers on the experiments of the parametric simplex paper.

Every row is one problem from :mod:`sparseopt.generators` with a fixed seed. Ours is the wall time
of the public ``sparseopt.solve(..., check=False)``: the median of `--repeats` runs, after one that
compiles, or loads what an earlier process compiled, and is reported apart. Peers get the same data
and the same stopping value in the same run, one after the other, on one core. A peer that needs
more than `--slow` seconds runs once, others three times; one that is not done after `--limit`
seconds is stopped, and the table says so. A row or peer that does not run is printed with the
reason.

Peers
-----
highs
    The backend `highs` at one lam, the end of our path (ours does the whole path down to it);
    CLIME column by column. It forms the matrix: `--entries` is how large that may be.
highs-ccg
    The backend `highs-ccg` there: column and constraint generation on HiGHS.
pyprimal
    The parametric simplex code of the paper's authors, the whole path (``pip install pyprimal``).
sklearn
    scikit-learn's QuantileRegressor at one lam.
quantreg
    R's ``rq.fit.lasso`` at one lam, through the backend `quantreg`: R is already running, and the
    data goes to it through a file (about 5 ms).

Other R packages and the times in the paper are not rerun; their figures are printed as such, and
so is quantreg's where Rscript or the package is missing.

Accuracy: "primal" and "dual" are the largest residuals that :func:`sparseopt.check` finds on the
whole path, relative to the data. "error" is the peer's objective less ours at the same lam,
relative to 1 + abs(ours), next to the largest violation of a constraint by the peer.

Usage
-----
    python benchmarks/parametric.py                          # the rows of --sizes small
    python benchmarks/parametric.py --sizes full --json out.json
    python benchmarks/parametric.py --rows dantzig-500 svm --peers highs pyprimal
    python benchmarks/parametric.py --list
"""

# ruff: noqa: E402, the threads are set before NumPy is imported
from __future__ import annotations

import os

# One core for everybody, and before NumPy is imported: the libraries read these once.
for _variable in (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
):
    os.environ[_variable] = "1"

import argparse
import importlib.util
import json
import math
import multiprocessing
import statistics
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import sparseopt
from sparseopt import generators
from sparseopt.problems import ColumnwiseProblem, ParametricProblem

PEERS = ("highs", "highs-ccg", "pyprimal", "sklearn", "quantreg")
PYPRIMAL_PIVOTS = 5000


@dataclass(frozen=True)
class Row:
    """One line of the table: the problem, where its path stops, and who else is asked.

    `question` holds the parameters of our solve; `compare` says at which lam single-value peers
    are asked: "end" is the end of our path, "separated" half the last positive knot. `figures` are
    peers that do not run here, with the time that is known of them. `seconds` and `times` are the
    goals: our median, and how many times faster than a peer.
    """

    name: str
    design: str
    settings: dict[str, Any]
    question: dict[str, Any]
    peers: tuple[str, ...] = ("highs", "highs-ccg")
    figures: dict[str, str] = field(default_factory=dict)
    compare: str = "end"
    seconds: float | None = None
    times: dict[str, float] = field(default_factory=dict)
    small: bool = True


def _dantzig(d: int, figure: str, **rest: Any) -> Row:
    return Row(
        f"dantzig-{d}",
        "dantzig-4.3",
        {"n": 200, "d": d},
        {"lam_min": generators.stopping_value(200, d)},
        figures={"pyprimal": figure},
        peers=("highs", "highs-ccg", "pyprimal"),
        **rest,
    )


def _clime(d: int, figure: str, seconds: float, small: bool) -> Row:
    return Row(
        f"clime-{d}",
        "clime",
        {"n": 200, "d": d},
        {"lam_min": 0.1},
        figures={"fastclime (R, truncated)": figure},
        seconds=seconds,
        small=small,
    )


def _network(d: int, sparsity: float, figure: str, seconds: float, small: bool) -> Row:
    return Row(
        f"network-{d}",
        "differential-network-4.4",
        {"n": 100, "d": d, "sparsity": sparsity},
        {"max_nonzeros": None},
        peers=("highs", "highs-ccg") if d <= 100 else ("highs-ccg",),
        figures={"paper": figure},
        seconds=seconds,
        small=small,
    )


ROWS = (
    _dantzig(500, "0.41 s", times={"pyprimal": 100}),
    _dantzig(1000, "1.8 s", times={"pyprimal": 300}),
    _dantzig(2000, "13 s", times={"pyprimal": 500}),
    _dantzig(5000, "236 s", times={"pyprimal": 1000, "highs": 50}, seconds=0.2, small=False),
    Row(
        "dantzig-5000-paper",
        "dantzig-4.3",
        {"n": 200, "d": 5000, "unit": True},
        {"lam_min": generators.stopping_value(200, 5000, unit=True, factor=2.0) / math.sqrt(200)},
        figures={"pyprimal": "does not finish"},
        seconds=0.4,
        small=False,
    ),
    Row(
        "dantzig-20000",
        "dantzig-4.3",
        {"n": 200, "d": 20000},
        {"lam_min": generators.stopping_value(200, 20000)},
        peers=("highs-ccg",),
        seconds=1.5,
        small=False,
    ),
    Row(
        "one-lam-5000",
        "dantzig-4.3",
        {"n": 200, "d": 5000},
        {"lam": generators.stopping_value(200, 5000)},
        peers=("highs-ccg",),
        times={"highs-ccg": 1},
    ),
    _clime(100, "0.59 s", 0.01, True),
    _clime(200, "5.0 s", 0.1, True),
    _clime(400, "52 s", 3.0, False),
    Row(
        "lad-1000",
        "lad-4.3",
        {"n": 200, "d": 1000},
        {"lam_min": 10.0},
        peers=("highs", "highs-ccg", "pyprimal"),
        figures={"pyprimal": "4.6 s"},
        seconds=0.24,
    ),
    Row(
        "sensing",
        "compressed-sensing",
        {"n": 200, "d": 1000, "s": 20},
        {"lam_min": 0.0},
        peers=("highs", "highs-ccg", "pyprimal"),
        figures={"pyprimal": "38 s"},
        seconds=0.4,
    ),
    Row(
        "svm",
        "l1-svm",
        {"n": 200, "d": 1000, "s": 10},
        {"lam_min": 0.0},
        figures={"pyprimal": "never gets from theta = 0 to separation"},
        compare="separated",
        seconds=0.5,
    ),
    Row(
        "svm-separable",
        "l1-svm",
        {"n": 200, "d": 1000, "s": 10, "separable": True},
        {"lam_min": 0.0},
        figures={"pyprimal": "never gets from theta = 0 to separation"},
        compare="separated",
        seconds=0.5,
    ),
    _network(25, 0.02, "0.02 s", 0.005, True),
    _network(50, 0.02, "0.4 s", 0.02, True),
    _network(100, 0.02, "6.8 s", 0.3, True),
    _network(150, 0.002, "13 s", 0.1, False),
    _network(200, 0.002, "47 s", 0.2, False),
    Row(
        "network-1000",
        "differential-network-4.4",
        {"n": 100, "d": 1000, "sparsity": 0.002},
        {"max_nonzeros": 200},
        peers=(),
        seconds=60.0,
        small=False,
    ),
    Row(
        "quantile",
        "quantile-4.3",
        {"n": 200, "d": 500, "tau": 0.25},
        {"lam_min": generators.provenance("quantile-4.3")["lam"]["noise"]},
        peers=("highs", "highs-ccg", "sklearn", "quantreg"),
        figures={"quantreg": "0.40 s"},
        times={"highs": 1, "sklearn": 1, "quantreg": 1},
    ),
    Row(
        "lpd",
        "lpd",
        {"n": 100, "d": 200},
        # The largest deviation of d differences of two means of n, as the Dantzig rows have it.
        {"lam_min": 2.0 * math.sqrt(math.log(200) / 100)},
        times={"highs": 1},
    ),
)


@dataclass
class Timing:
    """What one solver did on one row; `note` says why there are no seconds, or what they bound."""

    who: str
    seconds: list[float] = field(default_factory=list)
    note: str = ""
    error: float | None = None
    violation: float | None = None

    @property
    def median(self) -> float | None:
        return statistics.median(self.seconds) if self.seconds else None


@dataclass
class Outcome:
    """All that a row of the table shows."""

    row: str
    size: dict[str, int]
    first: float
    ours: Timing
    knots: int
    nonzeros: int
    end: float
    stopped_by: str
    primal: float | None
    dual: float | None
    verdict: str
    peers: list[Timing]


@dataclass(frozen=True)
class Limits:
    """What a peer may take: seconds, seconds above which it runs once, entries of a matrix."""

    seconds: float
    slow: float
    entries: float


# ---- ours


def measure(row: Row, seed: int, repeats: int, peers: Sequence[str], limits: Limits) -> Outcome:
    """Run one row: ours, its check, then the peers."""
    problem = generators.generate(row.design, seed=seed, **row.settings)
    assert isinstance(problem, ParametricProblem)
    question = dict(row.question)
    if question.get("max_nonzeros", 0) is None:
        facts = generators.provenance(row.design, seed=seed, **row.settings)
        question["max_nonzeros"] = facts["max_nonzeros"]

    def ours() -> sparseopt.Result:
        return sparseopt.solve(problem, backend="homotopy", check=False, threads=1, **question)

    first, _ = _timed(ours)
    seconds = [_timed(ours)[0] for _ in range(repeats)]
    result = ours()
    report = sparseopt.check(problem, result)
    knots, end, stopped_by = _shape(result, question)
    lam = _lam_of_peers(row, result, end)
    timings = [
        _peer(name, problem, lam, result, limits)
        if name in peers
        else Timing(name, note="left out by --peers")
        for name in row.peers
    ]
    for name, figure in row.figures.items():
        measured = next((t for t in timings if t.who == name), None)
        if measured is None:
            timings.append(Timing(name, note=f"not rerun ({figure})"))
        elif not measured.seconds:
            measured.note += f"; not rerun ({figure})"
    return Outcome(
        row=row.name,
        size=dict(problem.size),
        first=first,
        ours=Timing("homotopy", seconds),
        knots=knots,
        nonzeros=int(np.count_nonzero(result.x)),
        end=end,
        stopped_by=stopped_by,
        primal=report.residuals.get("primal"),
        dual=report.residuals.get("dual"),
        verdict=report.verdict.value,
        peers=timings,
    )


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    begin = time.perf_counter()
    answer = run()
    return time.perf_counter() - begin, answer


def _shape(result: sparseopt.Result, question: dict[str, Any]) -> tuple[int, float, str]:
    """Return the number of knots (of all columns together), the last lam and what ended it."""
    path = result.path
    if path is None:
        return 1, float(question["lam"]), "lam"
    columns = getattr(path, "columns", None)
    knots = len(path) if columns is None else sum(len(column) for column in columns)
    return knots, float(path.knots[-1]), path.stopped_by


def _lam_of_peers(row: Row, result: sparseopt.Result, end: float) -> float:
    if row.compare == "end" or result.path is None:
        return end
    knots = result.path.knots
    return float(knots[knots > 0.0][-1]) / 2.0


# ---- peers

Solve = Callable[[Any, float, Limits], tuple[Any, Any]]
"""(problem, lam, limits) to (seconds, (lam, theta)), or to (why there is nothing, None)."""


def _peer(
    name: str,
    problem: ParametricProblem,
    lam: float,
    ours: sparseopt.Result,
    limits: Limits,
) -> Timing:
    """Time a peer: once, and twice more if it is not slow."""
    timing = Timing(name)
    package = {"pyprimal": "pyprimal", "sklearn": "sklearn"}.get(name)
    if package and importlib.util.find_spec(package) is None:
        timing.note = f"{package} is not installed"
        return timing
    own: dict[str, Solve] = {"pyprimal": _pyprimal, "sklearn": _sklearn, "quantreg": _quantreg}
    solve = own.get(name, _backend(name))
    answer: Any = None
    while len(timing.seconds) < (1 if sum(timing.seconds) > limits.slow else 3):
        seconds, answer = solve(problem, lam, limits)
        if answer is None:
            timing.seconds, timing.note = [], seconds
            return timing
        timing.seconds.append(seconds)
    at, theta = answer
    truth = ours.path.objective_at(at) if ours.path is not None else ours.objective
    assert truth is not None
    timing.error = (problem.objective(theta, at) - truth) / (1.0 + abs(truth))
    timing.violation = float(max(problem.residuals(theta, at).values(), default=0.0))
    return timing


def _backend(name: str) -> Solve:
    def solve(problem: ParametricProblem, lam: float, limits: Limits) -> tuple[Any, Any]:
        parts = [problem]
        if name == "highs" and isinstance(problem, ColumnwiseProblem):
            parts = [problem.column(i) for i in range(problem.columns)]
        options = {"max_entries": limits.entries} if name == "highs" else None
        begin, solutions = time.perf_counter(), []
        for part in parts:
            left = max(limits.seconds - (time.perf_counter() - begin), 1e-3)
            try:
                result = sparseopt.solve(
                    part,
                    backend=name,
                    options=options,
                    lam=lam,
                    time_limit=left,
                    threads=1,
                    check=False,
                )
            except sparseopt.SparseOptError as error:
                return f"refused: {str(error).partition(': ')[0]}", None
            if result.x is None or result.status.value != "optimal":
                seconds = time.perf_counter() - begin
                return f"{result.status.value} after {seconds:.3g} s", None
            solutions.append(result.x)
        return time.perf_counter() - begin, (lam, np.concatenate(solutions))

    return solve


def _pyprimal(problem: Any, lam: float, limits: Limits) -> tuple[Any, Any]:
    """Run the path in a process of its own, which can be stopped; the clock runs inside it."""
    # Its loss for the level 1/2 is half of the LAD-lasso's, and so is its lam.
    half = 2.0 if problem.kind == "lad-lasso" else 1.0
    solver = {
        "dantzig-selector": "dantzig_solver",
        "lad-lasso": "quantile_regression_solver",
        "compressed-sensing": "compressed_sensing_solver",
    }[problem.kind]
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    job = context.Process(
        target=_pyprimal_job, args=(there, solver, problem.X, problem.y, lam / half)
    )
    job.start()
    there.close()
    try:
        if not here.poll(limits.seconds + 10.0):
            return f"more than {limits.seconds:g} s", None
        seconds, lams, theta = here.recv()
    except EOFError:
        return "died", None
    finally:
        job.terminate()
        job.join()
    # Its last pivot may be below the value at which it was to stop.
    reached = np.flatnonzero(half * lams >= lam)
    if len(reached) == 0 or (half * lams[-1] > lam + 1e-9 and len(lams) == PYPRIMAL_PIVOTS):
        return f"{len(lams)} pivots without getting there", None
    last = int(reached[-1])
    return seconds, (half * float(lams[last]), theta[:, last])


def _pyprimal_job(pipe: Any, solver: str, X: Any, y: Any, lam: float) -> None:
    import pyprimal

    X, y = np.ascontiguousarray(X), np.ascontiguousarray(y)
    begin = time.perf_counter()
    answer = getattr(pyprimal, solver)(X, y, max_it=PYPRIMAL_PIVOTS, lambda_threshold=lam)
    pipe.send((time.perf_counter() - begin, answer.lambda_, answer.beta))


def _quantreg(problem: Any, lam: float, limits: Limits) -> tuple[Any, Any]:
    missing = next(info for info in sparseopt.backends() if info.name == "quantreg")
    if not missing.available:
        return missing.reason, None

    def solve() -> sparseopt.Result:
        return sparseopt.solve(
            problem, backend="quantreg", lam=lam, time_limit=limits.seconds, check=False
        )

    # The first call starts R and loads the package, which is not what is timed.
    sparseopt.solve(problem.with_changes(X=problem.X[:, :1]), backend="quantreg", lam=lam)
    seconds, result = _timed(solve)
    if result.x is None:
        return f"{result.status.value} after {seconds:.3g} s", None
    return seconds, (lam, result.x)


def _sklearn(problem: Any, lam: float, limits: Limits) -> tuple[Any, Any]:
    from sklearn.linear_model import QuantileRegressor

    # Its loss is a mean over the observations.
    model = QuantileRegressor(
        quantile=problem.tau, alpha=lam / len(problem.y), fit_intercept=problem.fit_intercept
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        seconds, _ = _timed(lambda: model.fit(problem.X, problem.y))
    beta = [model.intercept_] if problem.fit_intercept else []
    return seconds, (lam, np.append(model.coef_, beta))


# ---- the tables


def tables(outcomes: Sequence[Outcome]) -> str:
    """Return the two Markdown tables: the comparison, and the goals of the project."""
    lines = [
        "| row | n | d | knots | ours [min-max] | peer | peer's time [min-max] | ratio "
        "| error, violation of the peer | primal, dual residual | check |",
        "|---|--:|--:|--:|---|---|---|--:|---|---|---|",
    ]
    for outcome in outcomes:
        row = _row(outcome.row)
        head = [
            outcome.row,
            str(row.settings["n"]),
            str(row.settings["d"]),
            str(outcome.knots),
            _span(outcome.ours),
        ]
        tail = [f"{_short(outcome.primal)}, {_short(outcome.dual)}", outcome.verdict]
        for peer in outcome.peers or [Timing("none")]:
            middle = [peer.who, _span(peer), _ratio(outcome, peer), _accuracy(peer)]
            lines.append("| " + " | ".join([*head, *middle, *tail]) + " |")
            head, tail = [outcome.row, "", "", "", ""], ["", ""]
    lines += [
        "",
        "| row | path ends | nonzeros | first run | goal | this run |",
        "|---|---|--:|--:|---|---|",
    ]
    lines += [_goal_line(outcome) for outcome in outcomes]
    return "\n".join(lines)


def _goal_line(outcome: Outcome) -> str:
    row, ours = _row(outcome.row), outcome.ours.median
    assert ours is not None
    goals, met = [], []
    if row.seconds is not None:
        goals.append(f"<= {row.seconds:g} s")
        met.append("met" if ours <= row.seconds else "missed")
    for name, factor in row.times.items():
        goals.append(f">= {factor:g} x {name}")
        peer = next(p for p in outcome.peers if p.who == name)
        if peer.median is None:
            met.append("not measured")
        else:
            met.append("met" if peer.median >= factor * ours else "missed")
    ends = f"{outcome.end:.6g} ({outcome.stopped_by})"
    cells = [row.name, ends, str(outcome.nonzeros), f"{outcome.first:.3g} s"]
    return "| " + " | ".join([*cells, ", ".join(goals), ", ".join(met)]) + " |"


def _row(name: str) -> Row:
    return next(row for row in ROWS if row.name == name)


def _short(value: float | None) -> str:
    return "-" if value is None else f"{value:.1e}"


def _span(timing: Timing) -> str:
    if timing.median is None:
        return timing.note
    text = f"{timing.median:.3g} s"
    if len(timing.seconds) > 1:
        return f"{text} [{min(timing.seconds):.3g}-{max(timing.seconds):.3g}]"
    return f"{text} (1 run)"


def _ratio(outcome: Outcome, peer: Timing) -> str:
    if peer.median is None or outcome.ours.median is None:
        return ""
    return f"{peer.median / outcome.ours.median:.3g}"


def _accuracy(peer: Timing) -> str:
    if peer.error is None or peer.violation is None:
        return ""
    return f"{peer.error:.1e}, {peer.violation:.1e}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the rows that were asked for and print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    names = [row.name for row in ROWS]
    parser.add_argument("--rows", nargs="+", metavar="ROW", choices=names, help="only these rows")
    parser.add_argument("--sizes", choices=("small", "full"), default="small")
    parser.add_argument("--repeats", type=int, default=5, help="runs of ours (default 5)")
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=list(PEERS))
    parser.add_argument(
        "--slow", type=float, default=5.0, help="seconds above which a peer runs once"
    )
    parser.add_argument("--limit", type=float, default=600.0, help="seconds that a peer may take")
    parser.add_argument(
        "--entries", type=float, default=5e7, help="entries of a matrix that HiGHS may get"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="OUT", help="write all numbers here")
    parser.add_argument("--list", action="store_true", help="list the rows")
    asked = parser.parse_args(arguments)
    if asked.repeats < 1:
        parser.error("--repeats must be at least 1")
    if asked.list:
        for row in ROWS:
            print(
                f"{row.name:20} {'small' if row.small else 'full ':5}  {row.design} {row.settings}"
            )
        return 0
    chosen = [
        row
        for row in ROWS
        if (row.name in asked.rows if asked.rows else row.small or asked.sizes == "full")
    ]
    limits = Limits(asked.limit, asked.slow, asked.entries)
    outcomes, failures = [], []
    for row in chosen:
        print(f"... {row.name}", file=sys.stderr, flush=True)
        try:
            outcomes.append(measure(row, asked.seed, asked.repeats, asked.peers, limits))
        except sparseopt.SparseOptError as error:
            failures.append(f"\n{row.name} failed: {error}")
    print(tables(outcomes), *failures, sep="\n")
    left_out = [row.name for row in ROWS if row not in chosen]
    if left_out:
        print(f"\nRows that were not run: {', '.join(left_out)}.")
    if asked.json:
        facts = {
            "seed": asked.seed,
            "repeats": asked.repeats,
            "load": list(os.getloadavg()),
            "rows": [asdict(outcome) for outcome in outcomes],
        }
        asked.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    proven = all(outcome.verdict == "verified" for outcome in outcomes)
    return 0 if proven and not failures else 1


if __name__ == "__main__":
    raise SystemExit(main())
