"""Processes that run somebody else's code, and that can be ended at any moment.

Such code does not look at our clock, ignores Ctrl-C, and may crash. It runs in a child that stays
for the next solve, since to start R or to import scikit-learn takes longer than most solves. Data
goes through files in a temporary folder, requests and their outcome through the child's pipes.
What runs in the child is in :mod:`sparseopt.solvers.common.served`.
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import queue
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from sparseopt.backend import Availability, Control
from sparseopt.errors import BackendError
from sparseopt.locks import ForkLock
from sparseopt.problems.base import Array
from sparseopt.result import Limit

from .served import LOG, MARK, R_LOOP, needed

_LOOK = 0.02
"""Seconds between two checks of the clock."""


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
            # Without what C libraries set behind Python's back: Gurobi names a processor for MKL,
            # by which COPT's process would end.
            env=dict(os.environ),
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

    def call(
        self, line: str, control: Control, *, work: str = "", counted: bool = True
    ) -> Limit | None:
        """Send a line and wait for the answer; at a limit the child is killed.

        Parameters
        ----------
        line : str
        control : Control
        work : str
            What to report meanwhile; nothing by default.
        counted : bool, default True
            Whether the time limit applies; Ctrl-C always does.

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
            raise BackendError(f"the process of the solver died: {self._how_it_ended()}") from None
        while True:
            try:
                answer = self._lines.get(timeout=_LOOK)
            except queue.Empty:
                if control.interrupted or (counted and control.limit() is not None):
                    self.end()
                    return control.limit()
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
                raise BackendError(f"the process of the solver died: {self._how_it_ended()}")
            if answer == MARK + "done":
                return None
            if answer.startswith(MARK + "failed"):
                raise BackendError(answer.removeprefix(MARK + "failed").strip())

    def end(self) -> None:
        """Kill the process, if it is ours and still there."""
        if self.owner == os.getpid():
            self._process.kill()
            self._process.wait()
            # Else Python warns at its end, where a solver has switched such warnings on.
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

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        return f"exit code {code}" if code >= 0 else f"signal {-code}"


class PythonChild:
    """Functions in another Python process."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._turn = ForkLock()

    def run(
        self,
        function: Callable[..., dict[str, Any]],
        control: Control,
        arrays: Mapping[str, Array],
        **values: Any,
    ) -> dict[str, Array] | Limit:
        """Call a function with arrays and JSON values.

        Parameters
        ----------
        function : callable
            One of a module; it takes the arrays and values by name, and returns arrays. What
            :func:`~sparseopt.solvers.common.served.needs` names is imported before the time counts.
        control : Control
        arrays : mapping of str to array

        Returns
        -------
        dict of str to array, or the Limit that ended it

        Raises
        ------
        BackendError
            With the message of the function's exception, or when the process died.
        """
        request: dict[str, Any] = {"module": function.__module__, "name": function.__name__}
        reached = control.limit()
        if reached is not None:
            return reached  # a child that starts now would only make the caller wait
        with self._turn, TemporaryDirectory(prefix="sparseopt-") as name:
            folder = Path(name)
            with control.uncounted():
                child = self._ready({**request, "import": needed(function)}, control)
            if isinstance(child, Limit):
                return child
            named: dict[str, Any] = {key: np.asarray(array) for key, array in arrays.items()}
            np.savez(folder / "in.npz", **named)
            request |= {
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

    def end(self) -> None:
        """End the process, where there is one; the next call starts another."""
        if self._child is not None:
            self._child.end()

    def _ready(self, request: Mapping[str, Any], control: Control) -> Child | Limit:
        """Return a child that has imported what the function needs."""
        if self._child is None or not self._child.usable:
            start = f"import sys; sys.path[:] = {sys.path!r}\n"
            start += "from sparseopt.solvers.common.served import serve; serve()"
            self._child = Child([sys.executable, "-c", start])
        return self._child.call(json.dumps(request), control, counted=False) or self._child


class RChild:
    """One R process for all peers that are R packages, started when it is first needed.

    Arrays go through files of raw doubles, the columns of a matrix one after another.
    """

    def __init__(self) -> None:
        self._child: Child | None = None
        self._sources: set[str] = set()
        self._turn = ForkLock()
        self._home: TemporaryDirectory[str] | None = None

    def run(
        self, package: str, source: str, function: str, control: Control, **arrays: Array | float
    ) -> dict[str, Array] | Limit:
        """Call an R function.

        Parameters
        ----------
        package : str
            What its R code needs.
        source : str
            R code that defines the function, and that reads no file.
        function : str
            Its name; it takes the arrays by name and returns a list of numeric vectors.
        control : Control

        Returns
        -------
        dict of str to vectors, or the Limit that ended it

        Raises
        ------
        BackendError
            With R's own message.
        """
        with self._turn, TemporaryDirectory(prefix="sparseopt-") as name:
            folder = Path(name)
            with control.uncounted():
                child = self._ready(package, source, control)
            if isinstance(child, Limit):
                return child
            _write_for_r(folder, arrays)
            limit = child.call(f"{function}\t{folder.as_posix()}", control, work="solving in R")
            if limit is not None:
                return limit
            return {file.stem: np.fromfile(file, "<f8") for file in folder.glob("*.out")}

    def _ready(self, package: str, source: str, control: Control) -> Child | Limit:
        """Return an R that has loaded the package and the code."""
        if self._child is None or not self._child.usable or source not in self._sources:
            if self._child is not None:
                self._child.end()
            self._sources.add(source)
            self._home = TemporaryDirectory(prefix="sparseopt-")
            script = Path(self._home.name) / "session.R"
            script_parts = [f'MARK <- "{MARK}"', *sorted(self._sources), R_LOOP]
            script.write_text("\n".join(script_parts), encoding="utf-8")
            self._child = Child(["Rscript", "--vanilla", str(script)])
        return self._child.call(f"library\t{package}", control, counted=False) or self._child


def _write_for_r(folder: Path, arrays: Mapping[str, Any]) -> None:
    lines = []
    for name, value in arrays.items():
        array = np.asarray(value, dtype="<f8")
        shape = array.shape if array.ndim == 2 else (array.size, 0)
        lines.append(f"{name} {shape[0]} {shape[1]}")
        (folder / f"{name}.in").write_bytes(array.tobytes("F"))
    (folder / "index.txt").write_text("\n".join(lines) + "\n", encoding="ascii")


PYTHON = PythonChild()
"""The one child for all libraries that are Python packages."""
R = RChild()
"""The one R process."""


@cache
def r_package(name: str) -> Availability:
    """Return whether Rscript and an R package are there; Rscript is asked once, 0.2 s.

    Parameters
    ----------
    name : str
        Of the R package.

    Returns
    -------
    Availability
        With the package's version, or with what to install.
    """
    if shutil.which("Rscript") is None:
        return Availability(
            False, "Rscript is not on the PATH: install R (https://www.r-project.org)"
        )
    asked = f'cat(tryCatch(as.character(packageVersion("{name}")), error = function(e) ""))'
    try:
        said = subprocess.run(
            ["Rscript", "--vanilla", "-e", asked],
            capture_output=True,
            text=True,
            timeout=30,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Availability(False, f"Rscript does not run: {error}")
    version = said.stdout.strip()
    if said.returncode != 0 or not version:
        how = f"install.packages('{name}') in R"
        return Availability(False, f"the R package {name} is not installed: {how}")
    return Availability(True, version=version)
