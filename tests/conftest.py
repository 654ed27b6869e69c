"""The option ``--thorough``, and what the test run reports about the backends.

Tests that take long and repeat what others show on more cases carry the mark `thorough`: long
random sweeps, the outside solvers' whole conformance, kills, timings; with ``after=N`` all but the
first N cases of a test. They run with ``--thorough`` (``-m thorough --thorough`` runs them alone,
as .ci/run does after the others).
"""

import gc
import os
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator
from typing import Any

import hypothesis
import pytest

# A busy machine is no reason to fail: what is to be fast is timed by tests of its own.
hypothesis.settings.register_profile("unhurried", hypothesis.settings.default, deadline=None)
hypothesis.settings.load_profile("unhurried")

# Several test processes share the cores, and their problems are small.
for _library in ("OPENBLAS", "OMP", "MKL"):
    os.environ.setdefault(f"{_library}_NUM_THREADS", "1")

# And what they test is the compiled code, even where it has to be compiled first.
os.environ.setdefault("SPARSEOPT_COMPILE", "now")

_WAITING = pytest.StashKey[int]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--thorough", action="store_true", help="run the tests marked thorough, too")


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None]:
    _take_marks_from_first_cases(items)
    yield  # -k and -m
    if config.getoption("--thorough"):
        return
    waiting = [item for item in items if item.get_closest_marker("thorough")]
    config.stash[_WAITING] = len(waiting)
    config.hook.pytest_deselected(items=waiting)
    items[:] = [item for item in items if not item.get_closest_marker("thorough")]


def _take_marks_from_first_cases(items: list[pytest.Item]) -> None:
    cases: Counter[str] = Counter()
    for item in items:
        after = [m for m in item.own_markers if m.name == "thorough" and "after" in m.kwargs]
        if after:
            name, _, _ = item.nodeid.partition("[")
            cases[name] += 1
            if cases[name] <= after[0].kwargs["after"]:
                item.own_markers.remove(after[0])


def pytest_collection_finish(session: pytest.Session) -> None:
    """Leave what was collected, some million objects, to no later collection of cycles."""
    gc.collect()
    gc.freeze()


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # of a worker of xdist: all of them have collected the same
        output["waiting"] = session.config.stash.get(_WAITING, 0)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    node.config.stash[_WAITING] = getattr(node, "workeroutput", {}).get("waiting", 0)


@pytest.fixture(autouse=True)
def _close_figures() -> Iterator[None]:
    """Close the pictures that a test has opened."""
    yield
    if pyplot := sys.modules.get("matplotlib.pyplot"):
        pyplot.close("all")


@pytest.fixture
def in_time() -> Callable[[float, Callable[[], Any]], Any]:
    """Return a function that asserts that a call is done within so many seconds.

    A busy machine holds up one call or another: of four calls the shortest counts, without what it
    waited for a processor, and the result of the last is returned.
    """
    from sparseopt.testing.clock import own_time  # after the lines above

    def run(seconds: float, call: Callable[[], Any]) -> Any:
        took: list[float] = []
        while len(took) < 4 and min(took, default=seconds) >= seconds:
            begin = own_time()
            result = call()
            took.append(own_time() - begin)
        assert min(took) < seconds, f"the shortest of {len(took)} calls took {min(took):.2f} s"
        return result

    return run


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Report the backends, and how many tests wait for the option."""
    _report_backends(terminalreporter)
    waiting = terminalreporter.config.stash.get(_WAITING, 0)
    if waiting:
        terminalreporter.section("thorough tests")
        terminalreporter.line(f"{waiting} tests were not run: they wait for --thorough")


def _report_backends(terminalreporter: pytest.TerminalReporter) -> None:
    """Report of each backend on which kinds of problems it was tested, and if not, why.

    Tests record the property "backend" as "NAME KIND", "backend not tested" as "NAME: REASON", and
    "backend left out" as "NAME: CASES: REASON".
    """
    tested: Counter[tuple[str, str]] = Counter()
    failed: Counter[tuple[str, str]] = Counter()
    skipped: Counter[tuple[str, str]] = Counter()
    absent: dict[str, str] = {}
    left_out: set[str] = set()
    for outcome in ("passed", "failed", "skipped"):
        for report in terminalreporter.getreports(outcome):
            if not isinstance(report, pytest.TestReport):
                continue  # a whole file that was skipped
            for key, value in report.user_properties:
                if key == "backend" and report.when == "call":
                    name, _, kind = value.partition(" ")
                    tested[name, kind] += outcome != "skipped"
                    failed[name, kind] += outcome == "failed"
                    skipped[name, kind] += outcome == "skipped"
                elif key == "backend not tested":
                    name, _, reason = value.partition(": ")
                    absent[name] = reason
                elif key == "backend left out":
                    left_out.add(value)
    if not tested and not absent:
        return
    kinds = sorted({kind for _, kind in tested})
    names = sorted({name for name, _ in tested})
    width = max(len(name) for name in ["backend", *names, *absent])
    terminalreporter.section("backends: cases run for real")
    rows = [
        [
            name,
            *(_cell(*(count[name, kind] for count in (tested, failed, skipped))) for kind in kinds),
        ]
        for name in names
    ]
    rows.insert(0, ["backend", *kinds])
    widths = [width, *(max(len(row[k + 1]) for row in rows) for k in range(len(kinds)))]
    for row in rows:
        cells = [cell.rjust(w) for cell, w in zip(row[1:], widths[1:], strict=True)]
        terminalreporter.line("  ".join([row[0].ljust(width), *cells]).rstrip())
    if any(skipped.values()):
        terminalreporter.line(
            "skipped cases are larger than the licence that was found allows, or there is none"
        )
    for name, reason in sorted(absent.items()):
        terminalreporter.line(f"{name.ljust(width)}  not tested: {reason}")
    for value in sorted(left_out):
        name, _, reason = value.partition(": ")
        terminalreporter.line(f"{name.ljust(width)}  left out: {reason}")


def _cell(tested: int, failed: int, skipped: int) -> str:
    """Return a cell of the table, in as few letters as say it."""
    if not tested and not skipped:
        return "-"
    parts = [str(tested)]
    if failed:
        parts.append(f"{failed} FAILED")
    if skipped:
        parts.append(f"{skipped} skipped")
    return ", ".join(parts)
