"""The other process that compiles, as seen from the one that wants compiled functions.

It is a process of its own so that the work goes on meanwhile, that Ctrl-C ends a wait at once, and
that what was begun is there the next time. In the background it is of low priority, one at a time
for each user, and stays when this process ends; under CI nothing stays.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
from dataclasses import dataclass, field
from typing import IO, Any

from .mode import in_background
from .store import CACHE_VARIABLE, store

logger = logging.getLogger("sparseopt")


_TRIES = 2
"""Processes that are started for a function while somebody waits for it."""


@dataclass(eq=False)
class Compilation:
    """One function that another process is to compile.

    Attributes
    ----------
    request : dict
        The function, and its arguments' types.
    ended : bool
        Whether it is compiled, or has failed.
    fraction : float
        How much is done, of 1.
    tries : int
        How many processes that somebody waits for were given it.
    changed : Event
        Set when one of these has changed.
    """

    request: dict[str, Any]
    ended: bool = False
    fraction: float = 0.0
    tries: int = 0
    changed: threading.Event = field(default_factory=threading.Event)

    @property
    def module(self) -> str:
        """The module of the function."""
        return str(self.request["function"]).partition(":")[0]


class _Process:
    """A running process with the jobs it was given."""

    def __init__(self, background: bool, jobs: list[Compilation]) -> None:
        kept = store()
        assert kept is not None
        self.background = background
        self.jobs: list[Compilation] = []
        self._process = subprocess.Popen(
            [sys.executable, "-m", "sparseopt.compiling.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            env=os.environ
            | {"PYTHONPATH": os.pathsep.join(sys.path), CACHE_VARIABLE: str(kept.folder)},
            start_new_session=True,
        )
        self._send({"path": sys.path, "background": background})
        for job in jobs:
            self.give(job)
        assert self._process.stdout is not None
        threading.Thread(target=self._listen, args=(self._process.stdout,), daemon=True).start()

    @property
    def runs(self) -> bool:
        return self._process.poll() is None

    def give(self, job: Compilation) -> None:
        self.jobs.append(job)
        self._send(job.request)

    def leave(self) -> None:
        """Let it finish in the background what it was given, where that is allowed."""
        if not self.runs:
            return
        if not in_background() or not hasattr(os, "setpriority"):
            self.kill()
            return
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, self._process.pid, 19)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def _send(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        # It may have left; the jobs are then given to the next one.
        with contextlib.suppress(OSError):
            self._process.stdin.write(json.dumps(message) + "\n")
            self._process.stdin.flush()

    def _listen(self, answers: IO[str]) -> None:
        by_id = self.jobs
        for line in answers:
            answer = json.loads(line)
            job = next(job for job in by_id if job.request["id"] == answer["id"])
            if answer.get("ended"):
                job.ended = True
                if answer["reason"]:
                    logger.debug("%s was not compiled: %s", job.module, answer["reason"])
            else:
                job.fraction = answer["done"] / answer["of"]
                logger.info("compiling %s: %.0f %%", job.module, 100.0 * job.fraction)
            job.changed.set()
        self._process.wait()  # no zombie stays
        for job in self.jobs:
            job.changed.set()


class _State:
    """What this process has asked for."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Start anew: a fork has no part in the processes of its parent."""
        self.lock = threading.RLock()
        self.process: _Process | None = None
        self.waiting: list[Compilation] = []
        self.number = 0


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.reset)


def request(function: str, arguments: dict[str, Any]) -> Compilation | None:
    """Ask for a compiled form in the background; None where there is no way to have one made.

    Parameters
    ----------
    function : str
        "module:name".
    arguments : dict
        Their types.

    Returns
    -------
    Compilation or None
    """
    module, _, name = function.partition(":")
    if store() is None or module == "__main__" or "<" in name or not sys.executable:
        return None
    with _state.lock:
        _state.number += 1
        job = Compilation({"id": _state.number, "function": function, **arguments})
        _state.waiting.append(job)
        if in_background():
            start(background=True)
    return job


def start(background: bool) -> None:
    """Have all jobs that wait compiled, in the background or because somebody waits.

    Parameters
    ----------
    background : bool
    """
    with _state.lock:
        _state.waiting = [job for job in _state.waiting if not job.ended]
        process = _state.process
        if process is not None and process.runs:
            if background or not process.background:
                for job in _state.waiting:
                    if job not in process.jobs:
                        process.give(job)
                return
            process.kill()
        if not background:
            for job in _state.waiting:
                job.tries += 1
            _give_up([job for job in _state.waiting if job.tries > _TRIES])
        if _state.waiting:
            try:
                _state.process = _Process(background, list(_state.waiting))
            except OSError as error:
                logger.debug("no process could be started: %s", error)
                _give_up(_state.waiting)


def _give_up(jobs: list[Compilation]) -> None:
    for job in jobs:
        job.ended = True
        job.changed.set()
    _state.waiting = [job for job in _state.waiting if not job.ended]


@atexit.register
def _leave() -> None:
    if _state.process is not None:
        _state.process.leave()
