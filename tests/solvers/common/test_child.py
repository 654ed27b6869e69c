"""Child processes: a solve that runs ends with the process that asked for it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

ENDLESS = """
import os
from pathlib import Path

def solve(folder):
    Path(folder, "pid").write_text(str(os.getpid()))
    while True:
        pass
"""
PARENT = """
import sys
sys.path.append(sys.argv[1])
from endless import solve
from sparseopt.backend import Control
from sparseopt.params import SolveParams
from sparseopt.solvers.common.child import PYTHON
PYTHON.run(solve, Control(SolveParams()), {}, folder=sys.argv[1])
"""


@pytest.mark.skipif(os.name != "posix", reason="kills a process as POSIX does")
def test_a_solve_ends_with_a_parent_that_is_killed(tmp_path):
    (tmp_path / "endless.py").write_text(ENDLESS)
    parent = subprocess.Popen([sys.executable, "-c", PARENT, str(tmp_path)])
    try:
        pid = _pid(tmp_path / "pid")
    finally:
        parent.kill()
        parent.wait()
    until = time.monotonic() + 20.0
    while _runs(pid):
        assert time.monotonic() < until, "the child goes on without its parent"
        time.sleep(0.05)


def _pid(file: Path) -> int:
    until = time.monotonic() + 60.0
    while not (file.exists() and file.read_text()):
        assert time.monotonic() < until, "the child did not start"
        time.sleep(0.05)
    return int(file.read_text())


def _runs(pid: int) -> bool:
    """Whether a process does something; nobody may be there to reap one that has ended."""
    status = Path(f"/proc/{pid}/stat")
    if Path("/proc").exists():
        return status.exists() and status.read_text().rpartition(")")[2].split()[0] != "Z"
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
