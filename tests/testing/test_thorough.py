"""Tests that wait for ``--thorough`` are counted, not passed over in silence."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"
TESTS = """
import pytest

def test_soon(): pass

@pytest.mark.thorough
@pytest.mark.parametrize("k", range(3))
def test_later(k): pass
"""
ONE_PROCESS, TWO_PROCESSES = ("-n", "0"), ("-n", "2")


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
def test_the_summary_says_how_many_wait(tmp_path, arguments, ran, waiting):
    shutil.copy(CONFTEST, tmp_path)
    (tmp_path / "test_some.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = thorough\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *arguments, str(tmp_path)]
    out = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    assert ("1 passed" in out, "3 passed" in out, "4 passed" in out) == (
        ran == 1,
        ran == 3,
        ran == 4,
    ), out
    note = f"{waiting} tests were not run: they wait for --thorough"
    assert (note in out) == bool(waiting), out
