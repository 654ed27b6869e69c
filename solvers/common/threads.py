"""Threads that outlive a solve: solvers run in one that is used again.

SCIP's nonlinear expressions (CppAD) number every thread of the process that ever entered them, and
SCIP 10 has room for 64: a new thread for each solve ended the process at the sixty-fourth. So there
are no more threads than solves that run at the same time.
"""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable

__all__ = ["start"]

_idle: list[_Worker] = []
_lock = threading.Lock()


class _Worker:
    """A thread that waits for the next call."""

    def __init__(self) -> None:
        self.calls: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        # It must not keep the interpreter alive while it waits; callers wait for their calls.
        threading.Thread(target=self._work, name="sparseopt-solver", daemon=True).start()

    def _work(self) -> None:
        while True:
            call = self.calls.get()
            try:
                call()
            finally:
                # What the call held must not live on until the next one.
                del call
                with _lock:
                    _idle.append(self)


def start(call: Callable[[], object]) -> None:
    """Run a call, which must not raise, in an idle thread of earlier calls, else in a new one."""
    with _lock:
        worker = _idle.pop() if _idle else None
    (worker or _Worker()).calls.put(call)


def _forget() -> None:
    """A forked child has none of its parent's threads."""
    global _lock
    _lock = threading.Lock()
    _idle.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
