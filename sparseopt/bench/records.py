"""The records of a run: one line of JSON for each solve, appended and never changed."""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sparseopt.errors import ParamError

__all__ = ["RecordFile", "content", "read_records"]

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
    """Return what of a record does not depend on when and where the solve ran."""
    return {key: value for key, value in record.items() if key not in _VOLATILE}


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
        elif line.get("type") == "solve":
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
