"""What a run keeps: one line of JSON for each solve, appended and never changed, and its class."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sparseopt.errors import ParamError


class SolveOutcome(StrEnum):
    """How one solve of a benchmark ended; exactly one of these."""

    OK = "ok"
    """It ended by itself with an answer that the checker did not refute."""
    WRONG = "wrong"
    """What it states is false: refuted by the checker, a reference, or a better answer."""
    TIMEOUT = "timeout"
    """It kept the time limit, with or without an answer."""
    STOPPED = "stopped"
    """Another limit (nodes, iterations, slow progress) ended it."""
    FAILED = "failed"
    """It said that it failed, or its answer cannot be read."""
    CRASH = "crash"
    """Its process died."""
    HANG = "hang"
    """Its process was killed: it did not keep the time limit."""
    MEMORY = "memory"
    """It took more memory than allowed."""
    LICENCE = "licence"
    """It has no licence, or the licence is too small for the instance."""
    UNSUPPORTED = "unsupported"
    """It does not take this problem or this question."""
    UNAVAILABLE = "unavailable"
    """Its package is not installed."""

    @property
    def attempted(self) -> bool:
        """Whether the backend tried at all: others are left out of rates and profiles."""
        return self not in (
            SolveOutcome.LICENCE,
            SolveOutcome.UNSUPPORTED,
            SolveOutcome.UNAVAILABLE,
        )


_CLAIMS = ("optimal", "converged", "infeasible", "unbounded")


def classify(
    solved: Mapping[str, Any], evaluation: Mapping[str, Any] | None
) -> tuple[SolveOutcome, str]:
    """Return the class of a solve and, where it is not ok, why in a few words.

    Parameters
    ----------
    solved : mapping
        What the process left and how it ended: "ended" ("returned", "raised", "died", "memory",
        "hang", "silent"), "error", "message".
    evaluation : mapping
        What the evaluator found: "status", "limit", "verdict", "messages", "contradictions"; {}
        without an answer; None where there is nothing to judge.
    """
    message = str(solved.get("message", ""))
    match solved["ended"]:
        case "memory":
            return SolveOutcome.MEMORY, message
        case "hang":
            return SolveOutcome.HANG, message
        case "died" | "silent":
            return SolveOutcome.CRASH, message
        case "raised":
            return _raised(str(solved.get("error", "")), message)
    if evaluation is None:
        return SolveOutcome.OK, ""
    if "unreadable" in evaluation:
        return SolveOutcome.FAILED, str(evaluation["unreadable"])
    status, limit = evaluation["status"], evaluation["limit"]
    if limit == "memory":
        return SolveOutcome.MEMORY, "MemoryError"
    if evaluation["verdict"] == "refuted":
        return SolveOutcome.WRONG, "; ".join(evaluation["messages"][:3])
    if evaluation["contradictions"]:
        return SolveOutcome.WRONG, "; ".join(evaluation["contradictions"][:3])
    if status in _CLAIMS:
        return SolveOutcome.OK, ""
    if limit == "time":
        return SolveOutcome.TIMEOUT, ""
    if limit == "interrupted":
        return SolveOutcome.FAILED, "interrupted"
    if limit is not None:
        return SolveOutcome.STOPPED, f"{limit} limit"
    return SolveOutcome.FAILED, str(evaluation.get("raw_status") or status)


def _raised(error: str, message: str) -> tuple[SolveOutcome, str]:
    if error in ("unavailable", "ModuleNotFoundError", "DataUnavailable"):
        return SolveOutcome.UNAVAILABLE, message
    # A vendor's term, in whichever exception it comes.
    if error in ("BackendUnavailable", "BackendError") and "licen" in message.lower():
        return SolveOutcome.LICENCE, message
    if error == "BackendUnavailable":
        return SolveOutcome.LICENCE, message
    if error == "UnsupportedProblem":
        return SolveOutcome.UNSUPPORTED, message
    if error == "MemoryError":
        return SolveOutcome.MEMORY, message
    return SolveOutcome.FAILED, message


FORMAT = "sparseopt-benchmark"
VERSION = 1

_VOLATILE = frozenset(
    {
        "time",
        "cpu_time",
        "build_time",
        "solve_time",
        "check_time",
        "warm_up_time",
        "peak_memory",
        "memory_before",
        "total_time",
        "started",
        "load",
        "environment",
        "trace",
        "attempt",
        "log",
    }
)


def content(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what of a record does not depend on when and where the solve ran.

    Parameters
    ----------
    record : mapping

    Returns
    -------
    dict
    """
    return {key: value for key, value in record.items() if key not in _VOLATILE}


_WORKINGS = frozenset(
    {
        "answer",
        "contradictions",
        "host",
        "instance_key",
        "log",
        "messages",
        "notes",
        "raw_status",
        "residuals",
        "total_time",
        "trace",
        "versions",
        "warm_up_note",
    }
)


def write_summary(source: Path, target: Path, left: int) -> None:
    """Copy the records of a run without what no table shows, to keep beside a page.

    Parameters
    ----------
    source, target : path
        Files of records; the folder of the second is made.
    left : int
        How many solves of the run are still to be done; the first line says so.
    """
    records, environments = read_records(source)
    lines = [
        {key: value for key, value in line.items() if key not in _WORKINGS}
        for line in ({"type": "left", "solves": left}, *environments.values(), *records)
    ]
    target.parent.mkdir(parents=True, exist_ok=True)
    text = "".join(
        json.dumps(line, separators=(",", ":"), allow_nan=False) + "\n" for line in lines
    )
    target.write_text(text, encoding="utf-8")


class RecordFile:
    """An append-only file of records, for one writer at a time.

    Every line is on the disk before :meth:`append` returns. The torn last line that a killed
    writer may leave is cut off by the next one.

    Parameters
    ----------
    path : path

    Raises
    ------
    ParamError
        When another process is writing to it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            self._lock()
            self._mend()
        except BaseException:
            os.close(self._file)
            raise

    def append(self, record: Mapping[str, Any]) -> None:
        """Write one record and wait until it is on the disk."""
        line = json.dumps(record, separators=(",", ":"), allow_nan=False) + "\n"
        rest = line.encode()
        while rest:
            rest = rest[os.write(self._file, rest) :]
        os.fsync(self._file)

    def close(self) -> None:
        """Close the file and let others write."""
        os.close(self._file)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _lock(self) -> None:
        if sys.platform == "win32":
            return
        import fcntl

        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise ParamError(
                f"{self.path}: another run is writing to it; wait for it, or choose another folder"
            ) from error

    def _mend(self) -> None:
        """Cut off a last line without an end, and go to the end."""
        data = self.path.read_bytes()
        end = data.rfind(b"\n") + 1
        if end < len(data):
            os.ftruncate(self._file, end)
        os.lseek(self._file, 0, os.SEEK_END)


def read_records(path: Path) -> tuple[list[dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the records of a file, the last one of each key, and the environments by their id.

    A torn last line is left out.

    Parameters
    ----------
    path : path

    Returns
    -------
    records : list of dict
    environments : dict of str to dict

    Raises
    ------
    ParamError
        When the file cannot be read, or a line other than the last is damaged.
    """
    solves: dict[str, dict[str, Any]] = {}
    environments: dict[str, dict[str, Any]] = {}
    for line in _lines(path):
        if line.get("type") == "environment":
            environments[line["id"]] = line
        elif line.get("type") in ("solve", "unit"):
            solves[line["key"]] = line
    return list(solves.values()), environments


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ParamError(
            f"{path}: {error.strerror or error}; expected the records of a benchmark run"
        ) from error
    whole, _, _ = data.rpartition(b"\n")
    for number, line in enumerate(whole.split(b"\n") if whole else [], 1):
        found: Any = None
        with contextlib.suppress(ValueError):
            found = json.loads(line)
        if not isinstance(found, dict):
            raise ParamError(f"{path}, line {number} is damaged: {line[:60]!r}")
        yield found
