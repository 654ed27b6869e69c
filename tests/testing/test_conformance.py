"""Every registered backend that can run here against the conformance suite."""

import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from sparseopt.errors import BackendError, LicenseError
from sparseopt.registry import backend_names, get_backend
from sparseopt.testing import ConformanceCase, conformance_cases

Record = Callable[[str, object], None]


LEFT_OUT = {
    ("xpress", "strs/ones/*"): (
        "spatial branching takes 15 s to tell that all supports tie; "
        "tests/solvers/adapters/test_adapter_promises.py asks for a smaller such problem"
    ),
}
"""Checks that are not run, and why."""

# While they set up, Xpress and COPT leave Ctrl-C to the system for a moment, and it ends the
# process: these cases run in one of their own, and once more where they met that moment.
APART = {"xpress", "copt"}
_TRIES = 3


# Behaviours of an outside solver that are tried without --thorough, beside every eighth sample;
# of our engines all are, and every fourth sample.
_SOON = {"unknown-option", "unsupported", "invalid", "quiet", "unchanged"}
_PROGRESS = {"homotopy", "strs-bnb", "misdp-bnb"}
# Of the subspace backends one shows these in every run; the others with --thorough.
_SHARED = {"deterministic", "warm-start", "one-thread", "other-thread", "interrupt", "time-limit"}


def _cases() -> Iterator[object]:
    for name in backend_names():
        if not _why_not(name):
            left_out = [pattern for who, pattern in LEFT_OUT if who == name]
            samples = 0
            for case in conformance_cases(get_backend(name), exclude=left_out):
                waits = _outside(name) and case.name.rpartition("/")[2] not in _SOON
                if case.solve is not None:
                    waits, samples = samples % (8 if _outside(name) else 4) > 0, samples + 1
                if case.name.startswith("subspace/") and name != "irls":
                    waits |= case.name.rpartition("/")[2] in _SHARED
                if case.name.endswith("/progress"):  # half a second each
                    waits = name not in _PROGRESS
                yield pytest.param(
                    name,
                    case,
                    id=f"{name}-{case.name}",
                    marks=[pytest.mark.thorough] if waits else [],
                )


def _outside(name: str) -> bool:
    """Return whether a backend is somebody else's solver behind our interface."""
    return name == "highs-qp" or type(get_backend(name)).__module__.split(".")[2] in {
        "adapters",
        "cvxpy",
        "highs",
        "peers",
    }


def _why_not(name: str) -> str:
    try:
        availability = get_backend(name).availability()
    except BackendError as error:
        return str(error)
    return "" if availability.available else availability.reason


@pytest.mark.parametrize(("name", "case"), list(_cases()))
def test_conforms(name: str, case: ConformanceCase, record_property: Record) -> None:
    record_property("backend", f"{name} {case.name.partition('/')[0]}")
    if name in APART and case.name.endswith("/interrupt"):
        _check_apart(name, case.name)
        return
    try:
        case.check()
    except LicenseError as error:
        pytest.skip(str(error))


_CODE = """
import sys
from sparseopt.errors import LicenseError
from sparseopt.registry import get_backend
from sparseopt.testing import conformance_cases

name, wanted = sys.argv[1:]
(case,) = (c for c in conformance_cases(get_backend(name)) if c.name == wanted)
try:
    case.check()
except LicenseError as error:
    print(f"licence: {error}")
"""


def _check_apart(name: str, case: str) -> None:
    for _ in range(_TRIES):
        command = [sys.executable, "-W", "ignore", "-c", _CODE, name, case]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        if done.returncode != -signal.SIGINT:
            break
    assert done.returncode == 0, done.stderr
    if done.stdout.startswith("licence: "):
        pytest.skip(done.stdout.removeprefix("licence: ").strip())


@pytest.mark.parametrize(("name", "pattern"), list(LEFT_OUT))
def test_left_out(name: str, pattern: str, record_property: Record) -> None:
    if _why_not(name):
        pytest.skip(_why_not(name))
    record_property("backend left out", f"{name}: {pattern}: {LEFT_OUT[name, pattern]}")
    # A pattern that matches nothing is refused.
    assert conformance_cases(get_backend(name), exclude=[pattern])


@pytest.mark.parametrize("name", [name for name in backend_names() if _why_not(name)])
def test_not_available(name: str, record_property: Record) -> None:
    reason = _why_not(name)
    record_property("backend not tested", f"{name}: {reason}")
    if "cannot be loaded" in reason:
        pytest.fail(reason)
    pytest.skip(reason)
