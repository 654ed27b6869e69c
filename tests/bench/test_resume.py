"""A run that is killed, again and again, ends with the records of one that was not."""

import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

import sparseopt
from sparseopt.bench.records.files import content, read_records
from sparseopt.bench.running.run import RECORDS, _interrupt_goes_to, _next_of

KILLS = 10


def start(suite: Path, folder: Path, stderr: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    package = str(Path(sparseopt.__file__).resolve().parents[1])
    inherited = os.environ.get("PYTHONPATH", "")
    return subprocess.Popen(
        [sys.executable, "-m", "sparseopt", "bench", "run", str(suite), "-o", str(folder)],
        stdout=subprocess.DEVNULL,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([package, inherited])},
    )


def still_running(folder: Path) -> list[str]:
    """Processes whose command line names the folder."""
    found = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = file.read_bytes().split(b"\0")
        except OSError:
            continue
        if any(str(folder).encode() in word for word in words):
            found.append(file.parent.name)
    return found


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_ten_kills_change_nothing(suite_file: Callable[..., Path], tmp_path: Path) -> None:
    suite = suite_file("Good", "WrongObjective", instances=2, time_limit=5)
    calm, hurt = tmp_path / "calm", tmp_path / "hurt"
    begun = time.monotonic()
    assert start(suite, calm).wait(timeout=120) == 0
    whole = time.monotonic() - begun

    moments = random.Random(7)
    killed = 0
    for _ in range(KILLS):
        process = start(suite, hurt)
        # Late enough that some get a job done, early enough that ten do not do them all.
        time.sleep(moments.uniform(0.05, 0.42) * whole)
        killed += process.poll() is None
        process.send_signal(signal.SIGKILL)
        process.wait()
        # What it had started goes with it.
        deadline = time.monotonic() + 10.0
        while still_running(hurt) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert still_running(hurt) == []
    assert killed >= KILLS - 3
    assert start(suite, hurt).wait(timeout=120) == 0

    expected, _ = read_records(calm / RECORDS)
    found, _ = read_records(hurt / RECORDS)
    assert len(expected) == 4

    def by_key(records: list[dict]) -> list[dict]:
        return sorted((content(r) for r in records), key=lambda r: r["key"])

    assert by_key(found) == by_key(expected)
    # Not only the last record of each: nothing was done twice.
    lines = (hurt / RECORDS).read_text(encoding="utf-8").splitlines()
    assert sum('"type":"solve"' in line for line in lines) == 4
    assert all((hurt / r["answer"]).is_file() for r in found)


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="sends signals to threads")
def test_ctrl_c_that_does_not_end_a_wait_is_seen() -> None:
    """As one that comes just before the wait: here the signal goes to another thread."""
    finished: queue.SimpleQueue = queue.SimpleQueue()

    def press() -> None:
        time.sleep(0.1)
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)

    def give_up() -> None:
        finished.put(TimeoutError())

    late = threading.Timer(20.0, give_up)
    late.start()
    with _interrupt_goes_to(finished):
        threading.Thread(target=press).start()
        found = _next_of(finished)
    late.cancel()
    assert isinstance(found, KeyboardInterrupt)


@pytest.mark.thorough
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
def test_ctrl_c_ends_everything_and_says_how_to_go_on(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    suite = suite_file("Good", "Hangs", time_limit=60)
    folder = tmp_path / "run"
    process = start(suite, folder, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 60.0
    while time.monotonic() < deadline:
        if (folder / RECORDS).is_file() and read_records(folder / RECORDS)[0]:
            break
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "the same command goes on from there" in said.decode()
    assert "Traceback" not in said.decode()
    assert still_running(folder) == []
    assert [r["outcome"] for r in read_records(folder / RECORDS)[0]] == ["ok"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="looks into /proc")
@pytest.mark.thorough
def test_what_a_backend_starts_ends_with_a_killed_runner(
    suite_file: Callable[..., Path], tmp_path: Path
) -> None:
    folder = tmp_path / "run"
    process = start(suite_file("Spawns", time_limit=60), folder)

    def grandchildren() -> list[Path]:
        lines = [Path(f"/proc/{pid}/cmdline") for pid in still_running(folder)]
        return [f for f in lines if f.exists() and b"grandchild" in f.read_bytes()]

    deadline = time.monotonic() + 60.0
    while not grandchildren() and time.monotonic() < deadline:
        time.sleep(0.02)
    assert grandchildren()
    process.send_signal(signal.SIGKILL)
    process.wait()
    deadline = time.monotonic() + 10.0
    while still_running(folder) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert still_running(folder) == []
