"""Text files, plain or packed by gzip, read within bounds and written all at once."""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterable, Iterator
from io import StringIO
from math import isfinite, nan
from os import PathLike, fspath

from sparseopt.errors import ProblemError
from sparseopt.io.files import expansion_limit, open_read, replacing

_INTEGER = re.compile(r"[+-]?\d{1,18}")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def read_text(path: str | PathLike[str]) -> str:
    """Return the text of a file; one whose name ends in .gz is unpacked.

    Parameters
    ----------
    path : path

    Returns
    -------
    str

    Raises
    ------
    ProblemError
        When it cannot be read, is damaged, is no UTF-8, or unpacks to an absurd size.
    """
    with open_read(path) as stream:
        size = stream.seek(0, 2)
        stream.seek(0)
        limit = expansion_limit(size)
        try:
            if fspath(path).lower().endswith(".gz"):
                with gzip.GzipFile(fileobj=stream) as packed:
                    content = packed.read(limit + 1)
            else:
                content = stream.read(limit + 1)
        except Exception as error:
            # gzip and zlib raise EOFError, OSError, zlib.error and more for a damaged file.
            raise ProblemError(f"{path} is damaged or truncated ({error}); get it again") from error
    if len(content) > limit:
        raise ProblemError(
            f"{path}: it unpacks from {size} to more than {limit} bytes, which looks like a bomb"
        )
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path} is not UTF-8 text (byte {error.start})") from error


def numbered(text: str) -> Iterator[tuple[int, str]]:
    """Yield (number from 1, line) without keeping all lines at once.

    Parameters
    ----------
    text : str

    Returns
    -------
    iterator of (int, str)
    """
    for number, line in enumerate(StringIO(text), start=1):
        yield number, line.rstrip("\r\n")


def write_text(path: str | PathLike[str], text: str) -> None:
    """Write a text file, packed where the name ends in .gz; the same bytes each time.

    Parameters
    ----------
    path : path
    text : str

    Raises
    ------
    ProblemError
        When the file cannot be written.
    """
    content = text.encode("utf-8")
    with replacing(path) as stream:
        if not fspath(path).lower().endswith(".gz"):
            stream.write(content)
            return
        with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
            packed.write(content)


class Lines:
    """The lines of a text that say something, one after the other, with errors that name them.

    Parameters
    ----------
    lines : iterable of (number, line)
        Without those that are empty or comments; read as they are asked for.
    most : int
        How many lines there may be.
    where : str
        Name of the file.
    """

    def __init__(self, lines: Iterable[tuple[int, str]], most: int, where: str) -> None:
        self._lines = iter(lines)
        self._most = most
        self._where = where
        self._line = ""
        self.number = 0
        """The number of the line that was read last, in the file."""

    @property
    def left(self) -> int:
        """How many lines there may be behind the last one."""
        return max(0, self._most - self.number)

    def __iter__(self) -> Iterator[str]:
        for number, line in self._lines:
            self.number, self._line = number, line
            yield line

    def next(self, expected: str) -> str:
        """Return the next line.

        Raises
        ------
        ProblemError
            When the file ends.
        """
        for line in self:
            return line
        raise ProblemError(
            f"{self._where}: the file ends after line {self.number}: expected {expected}; it is "
            "truncated"
        )

    def error(self, expected: str) -> ProblemError:
        """Return the error that the last line is not what was expected."""
        line = self._line.strip()
        shown = line if len(line) <= 60 else line[:57] + "..."
        return ProblemError(f"{self._where}: line {self.number}, {shown!r}: expected {expected}")

    def integers(self, expected: str, count: int, least: int = 0) -> list[int]:
        """Return the integers on the next line, exactly `count` of them, none below `least`."""
        words = self.next(expected).split()
        if len(words) != count or not all(_INTEGER.fullmatch(word) for word in words):
            raise self.error(expected)
        values = [int(word) for word in words]
        if min(values) < least:
            raise self.error(expected)
        return values

    def number_of(self, word: str, expected: str) -> float:
        """Return a word of the last line as a finite number."""
        value = float(word) if _NUMBER.fullmatch(word) else nan
        if not isfinite(value):
            raise self.error(f"{expected}; {word[:30]!r} is no finite number")
        return value
