"""Files as wholes: opened with errors that people can read, replaced all at once or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import BinaryIO

from sparseopt.errors import ProblemError

MAX_BYTES = 8 * 2**30
"""No file may hold more than this, uncompressed."""
LARGEST_RATIO = 200
"""A compressed file may grow by this factor ..."""
FLOOR_BYTES = 64 * 2**20
"""... and always to this size, however small it is."""


def expansion_limit(compressed: int) -> int:
    """Return how many bytes a file of `compressed` bytes may unpack to.

    Parameters
    ----------
    compressed : int
        Size of the file in bytes.

    Returns
    -------
    int
    """
    return min(MAX_BYTES, max(FLOOR_BYTES, LARGEST_RATIO * compressed))


def file_name(path: object) -> str:
    """Return the name of a file as text.

    Parameters
    ----------
    path : str or path

    Raises
    ------
    ProblemError
        When it is something else, or text that names no file.
    """
    name = os.fspath(path) if isinstance(path, PathLike) else path
    if not isinstance(name, str):
        raise ProblemError(
            f"the file is {name!r:.80}, of the type {type(name).__name__}; expected its name as "
            "text, or a pathlib.Path (os.fsdecode makes text of bytes)"
        )
    try:
        os.fsencode(name)
    except UnicodeEncodeError as error:
        raise ProblemError(f"the name {name!r:.80} is no text: it has a lone surrogate") from error
    if "\0" in name:
        raise ProblemError(f"the name {name!r:.80} has a zero byte, which no file's name may have")
    return name


@contextmanager
def open_read(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Open a regular file for reading.

    Parameters
    ----------
    path : path

    Returns
    -------
    context manager of a binary file

    Raises
    ------
    ProblemError
        When it is missing, a directory, a device, or not readable.
    """
    target = Path(file_name(path))
    if not target.exists():
        raise ProblemError(f"{path}: there is no such file")
    if target.is_dir():
        raise ProblemError(f"{path} is a directory; expected a file")
    if not target.is_file():
        raise ProblemError(f"{path} is not a regular file")
    try:
        stream = target.open("rb")
    except OSError as error:
        raise ProblemError(f"{path} cannot be read: {error.strerror or error}") from error
    with stream:
        yield stream


@contextmanager
def replacing(path: str | PathLike[str]) -> Iterator[BinaryIO]:
    """Write (and read) a file beside `path` that takes its place when the block ends well.

    A full disk, an error or Ctrl-C leaves the old file as it was and nothing else.

    Parameters
    ----------
    path : path

    Returns
    -------
    context manager of a binary file, open for writing and reading

    Raises
    ------
    ProblemError
        When the folder is missing or not writable, or the disk is full.
    """
    # Through a link to the file itself: os.replace would put a file in the link's place.
    target = Path(os.path.realpath(file_name(path)))
    if target.exists() and not target.is_file():
        what = "a directory" if target.is_dir() else "not a regular file"
        raise ProblemError(f"{path} cannot be written: it is {what}")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with beside.open("x+b") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o7777)
        beside.replace(target)
    except OSError as error:
        raise ProblemError(f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        beside.unlink(missing_ok=True)


@contextmanager
def naming(path: str | PathLike[str]) -> Iterator[None]:
    """Put the file's name before the message of a ProblemError.

    Parameters
    ----------
    path : path

    Returns
    -------
    context manager
    """
    try:
        yield
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}", error.field) from error
