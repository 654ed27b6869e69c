"""What the processes that a benchmark starts have in common, on their side."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

__all__ = ["PARENT", "PIPE", "announce", "begin", "current_memory", "peak_memory"]

PIPE = "SPARSEOPT_BENCH_PIPE"
PARENT = "SPARSEOPT_BENCH_PARENT"
_ADDRESSES = 16 * 10**9
"""Address space beyond the memory limit: libraries reserve much that they never touch."""
_PR_SET_PDEATHSIG = 1


def begin(folder: Path) -> dict[str, Any]:
    """Tie this process to its runner and to its limits, and return what it is asked to do."""
    _die_with_parent()
    with contextlib.suppress(OSError):
        # Where the machine runs out of memory, this process goes, not the runner.
        Path("/proc/self/oom_score_adj").write_text("500")
    spec: dict[str, Any] = json.loads((folder / "spec.json").read_text(encoding="utf-8"))
    _limit_addresses(spec.get("memory"))
    for entry in reversed(spec.get("python_path", [])):
        sys.path.insert(0, entry)
    if PIPE in os.environ:
        # Whatever the backend starts must not hold the pipe open.
        os.set_inheritable(int(os.environ[PIPE]), False)
    return spec


def announce(phase: str) -> None:
    """Tell the runner that a phase begins."""
    if PIPE in os.environ:
        os.write(int(os.environ[PIPE]), f"{phase}\n".encode())


def _die_with_parent() -> None:
    """Ask the kernel to end this process when the runner ends, however that happens.

    The runner's guard does so for the whole group, but starts a moment later.
    """
    if not sys.platform.startswith("linux"):
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if PARENT in os.environ and os.getppid() != int(os.environ[PARENT]):
        os._exit(1)


def _limit_addresses(memory: int | None) -> None:
    if memory is None or sys.platform == "win32":
        return
    import resource

    wanted = memory + _ADDRESSES
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    if hard == resource.RLIM_INFINITY or wanted < hard:
        with contextlib.suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))


def current_memory() -> int | None:
    """Return the bytes that are resident now, None where the system does not tell."""
    return _status("VmRSS")


def peak_memory() -> int | None:
    """Return the most bytes that were resident, None where the system does not tell."""
    known = _status("VmHWM")
    if known is not None or sys.platform == "win32":
        return known
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else 1024 * most


def _status(field: str) -> int | None:
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
            if line.startswith(f"{field}:"):
                return 1024 * int(line.split()[1])
    return None
