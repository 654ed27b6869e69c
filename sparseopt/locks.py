"""Locks that a fork of the process finds free: the threads that may hold them are not there."""

from __future__ import annotations

import os
import threading
from weakref import WeakSet

_locks: WeakSet[ForkLock] = WeakSet()


class ForkLock:
    """A reentrant lock for a ``with`` statement, which is free in a forked process.

    A fork copies the locks of all threads, but of the threads only the one that forks: what another
    one held would stay locked for good.
    """

    def __init__(self) -> None:
        self.free()
        _locks.add(self)

    def free(self) -> None:
        """Forget who holds it."""
        self._lock = threading.RLock()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def _free_all() -> None:
    for lock in _locks:
        lock.free()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_free_all)
