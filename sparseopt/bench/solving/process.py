"""A process for one piece of work, from both sides: started, watched and ended hard; and tied."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sparseopt.compiling import MODE_VARIABLE, Mode

_EVERY = 0.05
_SAVING = 300.0
"""Seconds to write an answer down, after the solve."""
_PROC = Path("/proc/self/statm")
_LOG_LIMIT = 20_000_000
_LOG_TAIL = 2000
_THREADS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
)


@dataclass(frozen=True)
class Watch:
    """What a process may take.

    Attributes
    ----------
    start : float
        Seconds until it announces that it solves.
    solve : float
        Seconds from then until it has solved.
    memory : int, optional
        Bytes of resident memory, with the processes that it starts.
    threads : int
    """

    start: float
    solve: float
    memory: int | None = None
    threads: int = 1


@dataclass(frozen=True)
class ProcessEnd:
    """How a process ended.

    Attributes
    ----------
    how : {"exit", "signal", "hang", "memory", "stopped"}
    message : str
        In words.
    log : str
        The end of what it printed, where it did not end well.
    peak : int
        Most bytes seen resident.
    seconds : float
    """

    how: str
    message: str
    log: str
    peak: int
    seconds: float


def launch(
    module: str,
    spec: Mapping[str, Any],
    folder: Path,
    watch: Watch,
    stop: threading.Event | None = None,
    on_solve: Callable[[], None] | None = None,
) -> ProcessEnd:
    """Run ``python -m module folder`` until it ends or has to be ended.

    Parameters
    ----------
    module : str
    spec : mapping
        Written to ``folder/spec.json``.
    folder : path
        Where the process works and its output goes (``log``).
    watch : Watch
    stop : threading.Event, optional
        Ends the process when it is set.
    on_solve : callable, optional
        Called when the process announces that imports and warm-up are over.
    """
    (folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_inheritable(writer, True)
    log = folder / "log"
    with log.open("ab") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", module, str(folder.resolve())],
            cwd=folder,
            env=_environment(watch.threads, writer),
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            pass_fds=(writer,),
            process_group=0,
        )
    os.close(writer)
    begun = time.monotonic()
    guard = _guard(process.pid)
    try:
        how, message, peak = _watched(process, reader, watch, log, stop, on_solve)
    finally:
        os.close(reader)
        _kill(process)
        guard.wait()
        if guard.stdin is not None:
            guard.stdin.close()
    if how == "exit":
        how, message = _exit(process.returncode)
    return ProcessEnd(how, message, _tail(log), peak, time.monotonic() - begun)


def _environment(threads: int, writer: int) -> dict[str, str]:
    package = str(Path(__file__).resolve().parents[2])
    inherited = os.environ.get("PYTHONPATH")
    return {
        MODE_VARIABLE: Mode.NOW.value,  # a time is that of compiled code, unless asked otherwise
        **os.environ,
        **dict.fromkeys(_THREADS, str(threads)),
        "PYTHONPATH": os.pathsep.join([package, inherited] if inherited else [package]),
        "PYTHONHASHSEED": "0",
        PIPE: str(writer),
        PARENT: str(os.getpid()),
    }


def _guard(group: int) -> subprocess.Popen[bytes]:
    """Start a shell in a process's group that ends the group when this process ends.

    It reads from a pipe that only this process holds open, and so learns even of a kill -9.
    """
    return subprocess.Popen(
        ["/bin/sh", "-c", "read _; kill -KILL 0"],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        process_group=group,
    )


def _watched(
    process: subprocess.Popen[bytes],
    reader: int,
    watch: Watch,
    log: Path,
    stop: threading.Event | None,
    on_solve: Callable[[], None] | None,
) -> tuple[str, str, int]:
    """Wait for the end, or for a reason to end it; return how, why, and the peak of memory."""
    deadline, phase, peak = time.monotonic() + watch.start, "start", 0
    open_pipe = True
    while process.poll() is None:
        ready = select.select([reader], [], [], _EVERY)[0] if open_pipe else []
        if not open_pipe:
            time.sleep(_EVERY / 5)
        for word in _words(reader) if ready else ():
            if word is None:
                open_pipe = False
            elif word == "solve":
                phase, deadline = "solve", time.monotonic() + watch.solve
                if on_solve is not None:
                    on_solve()
            elif word == "save":
                phase, deadline = "save", time.monotonic() + _SAVING
        peak = max(peak, _resident(process.pid))
        if stop is not None and stop.is_set():
            return "stopped", "the run was stopped", peak
        if watch.memory is not None and peak > watch.memory:
            return "memory", f"killed at {peak / 1e9:.2f} GB of {watch.memory / 1e9:.3g} GB", peak
        if time.monotonic() > deadline:
            limit = {"start": watch.start, "solve": watch.solve, "save": _SAVING}[phase]
            what = {"start": "imports and warm-up", "solve": "solving", "save": "saving"}[phase]
            return "hang", f"killed after {limit:g} s of {what}", peak
        with contextlib.suppress(OSError):
            if log.stat().st_size > _LOG_LIMIT:
                os.truncate(log, 0)
    return "exit", "", peak


def _words(reader: int) -> list[str | None]:
    """Return what the pipe has: whole words (they are short), None at its end."""
    try:
        data = os.read(reader, 4096)
    except BlockingIOError:
        return []
    return list(data.decode("ascii", "replace").split()) if data else [None]


def _resident(pid: int) -> int:
    """Return the resident bytes of a process and of all that it started."""
    return _by_proc(pid) if _PROC.is_file() else _by_psutil(pid)


def _by_psutil(pid: int) -> int:
    """Return the same where the system has no /proc; 0 without psutil."""
    try:
        import psutil
    except ImportError:
        return 0
    total = 0
    # Processes end while they are counted.
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(pid)
        for one in (process, *process.children(recursive=True)):
            with contextlib.suppress(psutil.Error):
                total += one.memory_info().rss
    return total


def _by_proc(pid: int) -> int:
    total, pids = 0, [pid]
    while pids:
        one = pids.pop()
        with contextlib.suppress(OSError, ValueError, IndexError):
            pages = int(Path(f"/proc/{one}/statm").read_text(encoding="ascii").split()[1])
            total += pages * os.sysconf("SC_PAGE_SIZE")
            children = Path(f"/proc/{one}/task/{one}/children").read_text(encoding="ascii")
            pids += [int(child) for child in children.split()]
    return total


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the process and its whole group, also what it left running."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _exit(code: int) -> tuple[str, str]:
    if code >= 0:
        return "exit", f"exit code {code}" if code else ""
    try:
        name = signal.Signals(-code).name
    except ValueError:
        name = f"signal {-code}"
    if name == "SIGKILL":
        name += " from outside, perhaps by the kernel for want of memory"
    return "signal", f"died of {name}"


def _tail(log: Path) -> str:
    with contextlib.suppress(OSError), log.open("rb") as stream:
        stream.seek(max(0, stream.seek(0, os.SEEK_END) - _LOG_TAIL))
        text = stream.read().decode("utf-8", "backslashreplace")
        return "".join(
            c if c.isprintable() or c == "\n" else "\N{REPLACEMENT CHARACTER}" for c in text
        )
    return ""


PIPE = "SPARSEOPT_BENCH_PIPE"
PARENT = "SPARSEOPT_BENCH_PARENT"
_ADDRESSES = 16 * 10**9
"""Address space beyond the memory limit: libraries reserve much that they never touch."""
_PR_SET_PDEATHSIG = 1


def begin(folder: Path) -> dict[str, Any]:
    """Tie this process to its runner and to its limits, and return its specification.

    Parameters
    ----------
    folder : path
        With ``spec.json``.

    Returns
    -------
    dict
        The content of ``spec.json``.
    """
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
    """Report to the runner that a phase begins.

    Parameters
    ----------
    phase : str
    """
    if PIPE in os.environ:
        os.write(int(os.environ[PIPE]), f"{phase}\n".encode())


def leave(file: Path, found: Mapping[str, Any]) -> None:
    """Write what a process found as JSON, whole or not at all.

    Parameters
    ----------
    file : path
    found : mapping
        Ready for JSON.
    """
    part = file.with_suffix(".part")
    part.write_text(json.dumps(found), encoding="utf-8")
    part.replace(file)


def failure(error: Exception) -> dict[str, Any]:
    """Return an exception as what a process leaves of it.

    Parameters
    ----------
    error : Exception

    Returns
    -------
    dict
        "ended", "error" (the type), "message" (at most 2000 characters).
    """
    parts = [str(error) or type(error).__name__]
    if error.__cause__ is not None and str(error.__cause__) not in parts[0]:
        parts.append(f"{type(error.__cause__).__name__}: {error.__cause__}")
    return {
        "ended": "raised",
        "error": type(error).__name__,
        "message": ": ".join(parts)[:2000],
    }


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
    """Return the bytes that are resident now, None where the system does not report them."""
    return _status("VmRSS")


def peak_memory() -> int | None:
    """Return the most bytes that were resident, None where the system does not report them."""
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
