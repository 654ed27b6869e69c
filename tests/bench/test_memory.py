"""Memory and processor time are those of a process and what it started."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sparseopt.bench.solving.process import _by_proc, _by_psutil, peak_memory
from sparseopt.bench.solving.solve_one import Stopwatch

SIZE = 60_000_000
BOTH = f"""
import subprocess, sys, time
code = "data = bytearray({SIZE}); print('ready', flush=True); import time; time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
child.stdout.readline()
data = bytearray({SIZE})
print("ready", flush=True)
time.sleep(60)
"""


def test_the_memory_of_children_counts() -> None:
    pytest.importorskip("psutil", reason="psutil counts where there is no /proc")
    process = subprocess.Popen(
        [sys.executable, "-c", BOTH], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        by_psutil = _by_psutil(process.pid)
        assert 2 * SIZE < by_psutil < 5 * SIZE
        if Path("/proc/self/statm").is_file():
            assert _by_proc(process.pid) == pytest.approx(by_psutil, rel=0.1)
    finally:
        os.killpg(process.pid, 9)
        process.wait()
    assert _by_psutil(process.pid) == 0


def test_the_most_that_this_process_took_is_known() -> None:
    taken = peak_memory()
    assert taken is not None
    assert 10_000_000 < taken < 1_000_000_000_000


def test_processor_time_is_that_of_children_too_before_and_after_their_end() -> None:
    pytest.importorskip("psutil")
    pytest.importorskip("resource", reason="this system does not count for ended processes")
    busy = "import time\nwhile time.process_time() < 0.3: pass\nprint(1, flush=True)\ninput()"
    stopwatch = Stopwatch()
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout is not None
        child.stdout.readline()
        assert stopwatch.read()[1] >= 0.29
    assert stopwatch.read()[1] >= 0.29


@pytest.mark.thorough
def test_the_stopwatch_does_not_count_its_own_imports_and_looks() -> None:
    """Where psutil is new to the process its import takes 14 ms of processor time."""
    measured = """
import time
from sparseopt.bench.solving.solve_one import Stopwatch
begun = time.process_time()
stopwatch = Stopwatch()
made = time.process_time() - begun
wall, spent = stopwatch.read()
print(made, wall, spent)
"""
    done = subprocess.run([sys.executable, "-c", measured], capture_output=True, text=True)
    made, wall, spent = map(float, done.stdout.split())
    assert 0.0 <= spent < 1e-3 and wall < 0.1
    assert made > spent
