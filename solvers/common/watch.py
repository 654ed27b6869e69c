"""A solver that runs in another thread while this one checks the clock and Ctrl-C.

Threads outlive a solve and are used again: SCIP's nonlinear expressions (CppAD) number every
thread of the process that ever entered them, and SCIP 10 has room for 64: a new thread for each
solve ended the process at the sixty-fourth. So there are no more threads than solves at one time.
"""

from __future__ import annotations

import ctypes
import os
import queue
import signal
import threading
from collections.abc import Callable

from sparseopt.backend import Control
from sparseopt.locks import ForkLock
from sparseopt.result import Limit

_FIRST, _LOOK = 0.001, 0.02
"""Seconds between the first checks of the clock, when solvers set up, and between later ones."""
_SETTING_UP = 100
"""How many looks are first ones."""
_GUARD = 0.0002
"""Seconds between looks while a solver has yet to take Ctrl-C from Python."""


class Late(Exception):
    """A limit was reached while a model was built.

    Parameters
    ----------
    limit : Limit
    """

    def __init__(self, limit: Limit) -> None:
        self.limit = limit


def look(control: Control) -> None:
    """Check the clock and Ctrl-C while a model is built.

    Parameters
    ----------
    control : Control

    Raises
    ------
    Late
        At a limit.
    """
    limit = control.limit()
    if limit is not None:
        raise Late(limit)


def watched(
    run: Callable[[], object],
    stop: Callable[[], object],
    control: Control,
    *,
    takes_ctrl_c: bool = False,
) -> Limit | None:
    """Call `run`, and `stop` again and again once a limit of `control` is reached.

    Python delivers signals to the main thread between two of its own instructions: never inside a
    solver. So the solver gets another thread, one of an earlier solve where one is idle, and
    this one keeps watching. Some solvers put a
    handler of their own in the place of Python's (those of Xpress and COPT end the process), once
    in a solve: Python's is put back within less than a millisecond.

    Parameters
    ----------
    run : callable
        Starts the solver and returns when it is done. Where it holds Python's global lock, as COPT
        does, limits and Ctrl-C are its own affair.
    stop : callable
        Asks the solver to end soon; called from this thread, possibly before it has begun and
        more than once.
    control : Control
    takes_ctrl_c : bool, default False
        Whether this solver is one of those: it is watched closely until it has done so.

    Returns
    -------
    Limit or None
        The limit that made this function stop the solver, if any.

    Raises
    ------
    BaseException
        What `run` raised; KeyboardInterrupt at a second Ctrl-C, after the solver has ended.
    """
    failure: list[BaseException] = []
    # Not a thread's join: a KeyboardInterrupt in there makes Python 3.11 take it for dead.
    finished = threading.Event()

    def work() -> None:
        try:
            run()
        except BaseException as error:
            failure.append(error)
        finally:
            # COPT ends by leaving Ctrl-C to the system, which would end the process. Python lets
            # the main thread alone set handlers, and that one wakes up too late.
            if ours and _installed() != mine:
                _SETSIG(signal.SIGINT, mine)
            finished.set()

    mine, ours = _installed(), _ours()
    takes_ctrl_c = takes_ctrl_c and ours
    _start(work)
    limit: Limit | None = None
    again: KeyboardInterrupt | None = None
    looks, running = 0, True
    while running:
        try:
            looks += 1
            pace = _GUARD if takes_ctrl_c else _FIRST if looks <= _SETTING_UP else _LOOK
            running = not finished.wait(pace)
            if _installed() != mine:
                takes_ctrl_c = False
            _keep_handler()
            limit = limit or control.limit()
            if limit is not None and running:
                stop()
            control.progress("solving")
        except KeyboardInterrupt as error:
            limit, again = Limit.INTERRUPTED, error
    if again is not None:
        raise again
    if failure:
        raise failure[0]
    return limit


def _installed() -> int | None:
    """Return the address of the process's handler of Ctrl-C."""
    address: int | None = _GETSIG(signal.SIGINT)
    return address


_GETSIG = ctypes.pythonapi.PyOS_getsig
_GETSIG.restype = ctypes.c_void_p
_SETSIG = ctypes.pythonapi.PyOS_setsig
_SETSIG.argtypes, _SETSIG.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p


def _ours() -> bool:
    """Return whether Ctrl-C is Python's, and this thread may set its handler."""
    main = threading.current_thread() is threading.main_thread()
    return main and signal.getsignal(signal.SIGINT) is not None


def _keep_handler() -> None:
    """Install Python's own handler of Ctrl-C again."""
    if _ours():
        signal.signal(signal.SIGINT, signal.getsignal(signal.SIGINT))


_idle: list[_Worker] = []
_lock = ForkLock()


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


def _start(call: Callable[[], object]) -> None:
    """Run a call, which must not raise, in an idle thread of earlier calls, else in a new one."""
    with _lock:
        worker = _idle.pop() if _idle else None
    (worker or _Worker()).calls.put(call)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_idle.clear)  # a child has none of its parent's threads
