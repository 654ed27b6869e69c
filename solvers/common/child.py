"""A process that runs somebody else's code, and that can be ended at any moment.

The peers' code does not look at our clock, does not hear Ctrl-C, and may crash. It runs in a child
that stays there for the next solve, since to start R or to import scikit-learn takes longer than
most solves. Data goes through files in a temporary folder, words through the child's pipes.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparseopt.backend import Control
from sparseopt.errors import BackendError
from sparseopt.problems.base import Array
from sparseopt.result import Limit

__all__ = ["LOG", "MARK", "PYTHON", "Child", "PythonWorker"]

MARK = "@sparseopt "
"""What the lines of the protocol begin with; all else that a child prints is not for us."""
LOG = "log.txt"
"""Where a child keeps what a verbose solve prints."""
_LOOK = 0.02
"""Seconds between two looks at the clock."""


class Child:
    """A child process that answers one line, ``MARK done`` or ``MARK failed WHY``, for each line.

    Parameters
    ----------
    command : sequence of str
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._lines: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self.owner = os.getpid()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()
        atexit.register(self.end)

    @property
    def usable(self) -> bool:
        """Whether it runs, and is ours: a fork of this process must not use its pipes."""
        return self.owner == os.getpid() and self._process.poll() is None

    def call(self, line: str, control: Control, *, work: str = "") -> Limit | None:
        """Send a line and wait for the answer; at a limit the child is killed.

        Parameters
        ----------
        line : str
        control : Control
        work : str
            What to tell the listener meanwhile; nothing by default.

        Raises
        ------
        BackendError
            When the child says that it failed, or dies.
        """
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line + "\n")
            self._process.stdin.flush()
        except OSError:
            raise BackendError(f"the process of the solver died: {self._obituary()}") from None
        while True:
            try:
                answer = self._lines.get(timeout=_LOOK)
            except queue.Empty:
                limit = control.limit()
                if limit is not None:
                    self.end()
                    return limit
                if work:
                    control.progress(work)
                continue
            except KeyboardInterrupt:
                self.end()
                raise
            if answer is None:
                # Ctrl-C in a terminal reaches the child, too.
                if control.limit() is Limit.INTERRUPTED:
                    return Limit.INTERRUPTED
                raise BackendError(f"the process of the solver died: {self._obituary()}")
            if answer == MARK + "done":
                return None
            if answer.startswith(MARK + "failed"):
                raise BackendError(answer.removeprefix(MARK + "failed").strip())

    def end(self) -> None:
        """Kill the process, if it is ours and still there."""
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
            # Else Python complains at its end, where a solver has switched such warnings on.
            self._listener.join(timeout=1.0)
            assert self._process.stdin is not None
            with contextlib.suppress(OSError):
                self._process.stdin.close()
            atexit.unregister(self.end)

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line.rstrip("\n"))
        self._lines.put(None)

    def _obituary(self) -> str:
        code = self._process.wait()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


class PythonWorker:
    """Functions of :mod:`sparseopt.solvers.peers.jobs` in another Python."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._turn = threading.Lock()

    def run(
        self, function: str, control: Control, arrays: Mapping[str, Array], **values: Any
    ) -> dict[str, Array] | Limit:
        """Call a function with arrays and JSON values.

        Parameters
        ----------
        function : str
            Its name in ``jobs``; it takes the arrays and values by name, and returns arrays.
        control : Control
        arrays : mapping of str to array

        Returns
        -------
        dict of str to array, or the Limit that ended it
        """
        with self._turn, TemporaryDirectory(prefix="sparseopt-") as name:
            folder = Path(name)
            with control.uncounted():
                child = self._ready(function, control, folder)
            if isinstance(child, Limit):
                return child
            np.savez(folder / "in.npz", **_named(arrays))
            request = {
                "function": function,
                "folder": name,
                "values": values,
                "threads": control.params.threads,
                "verbose": control.params.verbose,
            }
            limit = child.call(json.dumps(request), control, work="solving")
            if (folder / LOG).exists():
                print((folder / LOG).read_text(encoding="utf-8", errors="replace"), end="")
            if limit is not None:
                return limit
            with np.load(folder / "out.npz", allow_pickle=False) as out:
                return dict(out)

    def _ready(self, function: str, control: Control, folder: Path) -> Child | Limit:
        """Return a child that has imported what the function needs."""
        if self._child is None or not self._child.usable:
            start = f"import sys; sys.path[:] = {sys.path!r}\n"
            start += "from sparseopt.solvers.peers.serve import serve; serve()"
            self._child = Child([sys.executable, "-c", start])
        warm = json.dumps({"function": function, "folder": str(folder), "import": True})
        return self._child.call(warm, control) or self._child


def _named(arrays: Mapping[str, Array]) -> dict[str, Any]:
    return {name: np.asarray(array) for name, array in arrays.items()}


PYTHON = PythonWorker()
"""The one child for all peers that are Python packages."""
