"""A clock that stands still while this thread waits for a processor."""

from __future__ import annotations

import time
from pathlib import Path

_SCHEDULER = Path("/proc/thread-self/schedstat")
"""Nanoseconds that Linux let this thread run, and that it kept it waiting for a processor."""


def own_time() -> float:
    """Return seconds of wall time, less those that this thread was ready and had no processor.

    Differences measure what a call takes on an idle machine, sleep and waiting for child processes
    included. Where the system does not tell (all but Linux), it is :func:`time.perf_counter`.
    """
    try:
        waited = int(_SCHEDULER.read_text(encoding="ascii").split()[1])
    except (OSError, IndexError, ValueError):
        waited = 0
    return time.perf_counter() - 1e-9 * waited
