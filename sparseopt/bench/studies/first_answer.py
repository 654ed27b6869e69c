"""The first answer and every later one: the command ``sparseopt solve`` in fresh processes.

Each shipped instance is solved with an empty cache of compiled functions (cold), and again when
what that run left in the background is compiled (warm): wall time of the whole command, processor
time of its processes without those in the background, which are ended after a cold run. With the
setting `cache` the warm runs share the compiled functions of that folder, so that they are not
compiled for each instance anew. A third process solves and checks the instance several times
(again), and reports the medians without the first. Other units import the package, and compile the
engines from nothing.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sparseopt.bench.definitions.study import Row, Settings, Study
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.compiling import CACHE_VARIABLE, MODE_VARIABLE
from sparseopt.datasets import instances

ENGINES = ("parametric", "budget", "strs", "misdp")
"""Families whose engines are compiled."""

_NO_BYTECODE = "PYTHONDONTWRITEBYTECODE"
_SUBREAPER = 36
"""Of Linux' prctl: orphans become children of this process."""

_AGAIN = """
import json, sys
import sparseopt
problem = sparseopt.load(sys.argv[1])
for _ in range(int(sys.argv[2])):
    result = sparseopt.solve(problem)
    print(json.dumps(result.summary()))
"""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the import, the engines, and the instances."""
    repeats, mode, cache = (settings[name] for name in ("repeats", "compile", "cache"))
    yield {"work": "import", "engine": "", "repeats": repeats}
    for engine in settings["engines"]:
        yield {"work": "compile", "engine": engine}
    for path in instances().values():
        yield {
            "work": "solve",
            "file": path.stem,
            "compile": mode,
            "cache": cache,
            "repeats": repeats,
        }


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Do one of the three."""
    with TemporaryDirectory() as cache:
        if unit["work"] == "compile":
            yield {"processor": compile_seconds(unit["engine"])}
        elif unit["work"] == "import":
            command = [sys.executable, "-c", "import sparseopt"]
            for _ in range(unit["repeats"]):
                wall, processor, _ = _run(command, os.environ)
                yield {"wall": wall, "processor": processor}
        else:
            yield from _solves(unit, unit["cache"] or cache)


def _solves(unit: Settings, cache: str) -> Iterable[Row]:
    """Solve one instance cold, warm, and again."""
    instance = str(instances()[unit["file"]])
    command = [sys.executable, "-m", "sparseopt", "solve", instance, "--json"]
    environment = os.environ | {MODE_VARIABLE: unit["compile"], CACHE_VARIABLE: cache}
    _adopt_orphans()
    for _ in range(unit["repeats"]):
        with TemporaryDirectory() as empty:
            wall, processor, output = _run(command, environment | {CACHE_VARIABLE: empty})
            _end_background(kill=True)
        yield _row("cold", wall, processor, json.loads(output))
    _run(command, environment)
    _end_background(kill=False)
    for _ in range(unit["repeats"]):
        wall, processor, output = _run(command, environment)
        _end_background(kill=False)
        yield _row("warm", wall, processor, json.loads(output))
    command = [sys.executable, "-c", _AGAIN, instance, str(unit["repeats"] + 1)]
    _, _, output = _run(command, environment)
    _end_background(kill=True)
    summaries = [json.loads(line) for line in output.splitlines()][1:]
    middle = {
        name: statistics.median(summary[name] for summary in summaries)
        for name in ("build_time", "solve_time", "check_time")
    }
    yield _row("again", None, None, summaries[-1] | middle)


def _row(
    state: str, wall: float | None, processor: float | None, summary: Mapping[str, Any]
) -> Row:
    """Return what one run took."""
    solving = summary["build_time"] + summary["solve_time"]
    checking = summary["check_time"]
    refuted = summary["verdict"] == "refuted"
    return {
        "state": state,
        "wall": wall,
        "processor": processor,
        "solving": solving,
        "checking": checking,
        "check over solve": checking / solving,
        "complaint": f"the {state} answer is refuted" if refuted else "",
    }


def _run(command: list[str], environment: Mapping[str, str]) -> tuple[float, float, str]:
    """Run a command; return seconds of wall and processor time, and what it printed."""
    # An installed package has its bytecode.
    shared = {name: text for name, text in environment.items() if name != _NO_BYTECODE}
    begun, before = time.perf_counter(), _used()
    done = subprocess.run(
        command, env=shared, check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    )
    return time.perf_counter() - begun, _used() - before, done.stdout.decode()


def _used() -> float:
    """Return the processor seconds of all processes that were waited for."""
    import resource

    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def _adopt_orphans() -> None:
    """Let processes that a command leaves behind be children of this one, where that is known."""
    if sys.platform == "linux":
        prctl: Callable[..., int] = ctypes.CDLL(None).prctl
        prctl(_SUBREAPER, 1, 0, 0, 0)


def _end_background(*, kill: bool) -> None:
    """Wait for what a command left behind, or end it."""
    children = Path(f"/proc/self/task/{os.getpid()}/children")
    if not children.is_file():
        return
    for pid in map(int, children.read_text(encoding="ascii").split()):
        if kill:
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def compile_seconds(engine: str) -> float:
    """Return the processor seconds of a warm-up with an empty cache, less those with a full one.

    Parameters
    ----------
    engine : str
        A kind of problem, or a family.

    Returns
    -------
    float
        Seconds.
    """
    command = [sys.executable, "-m", "sparseopt", "warm-up", engine]
    with TemporaryDirectory() as cache:
        environment = os.environ | {CACHE_VARIABLE: cache, "CI": "true"}
        cold, full = (_run(command, environment)[1] for _ in range(2))
    return cold - full


STUDY = Study(
    title="The first answer, and every later one",
    description="`sparseopt solve` on each shipped instance: with no compiled functions (cold), "
    "with those that the first run left (warm), and several times in one process (again). Medians.",
    settings={"repeats": 5, "compile": "later", "cache": "", "engines": ENGINES},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="All instances together",
            rows=("state",),
            columns=("value",),
            values=(
                *("wall:median", "wall:max", "processor:median", "processor:max"),
                *("check over solve:median", "check over solve:max"),
            ),
            statistic="median",
            note="Seconds. The goals are 3 cold and 0.8 warm; for check over solve, again, a "
            "median of 1 and 3 at the worst.",
        ),
        TableSpec(
            title="Wall seconds of the whole command, and time of the check over that of the solve",
            rows=("file",),
            columns=("state", "value"),
            values=("wall", "check over solve"),
            statistic="median",
        ),
        TableSpec(
            title="Import and compilation",
            rows=("work", "engine"),
            columns=("value",),
            values=("wall", "processor"),
            statistic="median",
            note="The goals are 0.2 s to import, 15 s for the engine of the parametric family and "
            "40 s for all.",
        ),
    ),
)
