"""Tests that wait for ``--thorough`` are counted, not passed over in silence."""

from pathlib import Path

import pytest

pytest_plugins = ["pytester"]

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

def test_soon(): pass

@pytest.mark.thorough
@pytest.mark.parametrize("k", range(3))
def test_later(k): pass
"""
ONE_PROCESS, TWO_PROCESSES = ("-n", "0"), ("-n", "2")


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("arguments", "ran", "waiting"),
    [
        (ONE_PROCESS, 1, 3),
        (TWO_PROCESSES, 1, 3),
        ((*ONE_PROCESS, "-k", "later and 1"), 0, 1),
        ((*ONE_PROCESS, "--thorough"), 4, 0),
        ((*ONE_PROCESS, "--thorough", "-m", "thorough"), 3, 0),
    ],
)
def test_the_summary_says_how_many_wait(pytester, arguments, ran, waiting):
    pytester.makeconftest(CONFTEST.read_text(encoding="utf-8"))
    pytester.makepyfile(TESTS)
    pytester.makeini("[pytest]\nmarkers = thorough\n")
    done = pytester.runpytest_inprocess(*arguments)
    assert done.parseoutcomes().get("passed", 0) == ran
    out = done.stdout.str()
    note = f"{waiting} tests were not run: they wait for --thorough"
    assert (note in out) == bool(waiting), out
