"""Locks of threads, which a fork of the process finds free, and of open files.

In a fork the threads that may hold a lock are not there.
"""

from __future__ import annotations

import os
import sys
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


def lock_file(number: int, *, wait: bool = True) -> None:
    """Take the only lock on an open file, against threads and processes that open it, too.

    Closing the file gives it back, and so does the end of the process.

    Parameters
    ----------
    number : int
        Of the open file.
    wait : bool, default True
        Whether to wait for one that another holds.

    Raises
    ------
    OSError
        When another has it, or the file system has no locks.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, 0, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_LOCK if wait else msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))


def unlock_file(number: int) -> None:
    """Give back the lock on an open file, which a fork of the process may have open, too.

    Parameters
    ----------
    number : int
        Of the open file.
    """
    if sys.platform == "win32":
        import msvcrt

        os.lseek(number, 0, os.SEEK_SET)
        msvcrt.locking(number, msvcrt.LK_UNLCK, 1)
    else:
        import fcntl

        fcntl.flock(number, fcntl.LOCK_UN)
