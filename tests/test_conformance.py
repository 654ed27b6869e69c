"""Every registered backend that can run here against the conformance suite."""

from collections.abc import Callable, Iterator

import pytest

from sparseopt.errors import BackendError, LicenseError
from sparseopt.registry import backend_names, get_backend
from sparseopt.testing import ConformanceCase, conformance_cases

Record = Callable[[str, object], None]


LEFT_OUT = {
    # Spatial branching takes half a minute to tell that all supports tie.
    "gurobi": ["strs/ones/*"],
    # While they set up, COPT and Xpress leave Ctrl-C to the system for some milliseconds, and it
    # ends the process; these cases press just then. tests/backends/test_adapters.py presses later,
    # in a process of its own.
    "xpress": ["strs/ones/*", "*/interrupt"],
    "copt": ["*/interrupt"],
}


def _cases() -> Iterator[object]:
    for name in backend_names():
        if not _why_not(name):
            for case in conformance_cases(get_backend(name), exclude=LEFT_OUT.get(name, [])):
                yield pytest.param(name, case, id=f"{name}-{case.name}")


def _why_not(name: str) -> str:
    try:
        availability = get_backend(name).availability()
    except BackendError as error:
        return str(error)
    return "" if availability.available else availability.reason


@pytest.mark.parametrize(("name", "case"), list(_cases()))
def test_conforms(name: str, case: ConformanceCase, record_property: Record) -> None:
    record_property("backend", f"{name} {case.name.partition('/')[0]}")
    try:
        case.check()
    except LicenseError as error:
        pytest.skip(str(error))


@pytest.mark.parametrize("name", [name for name in backend_names() if _why_not(name)])
def test_not_available(name: str, record_property: Record) -> None:
    reason = _why_not(name)
    record_property("backend not tested", f"{name}: {reason}")
    if "cannot be loaded" in reason:
        pytest.fail(reason)
    pytest.skip(reason)
