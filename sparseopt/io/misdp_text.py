"""What the text formats of MISDPs have in common: reading, the header, writing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.files import naming
from sparseopt.io.header import FACTS, checked_facts
from sparseopt.io.strict_json import dumps, loads_object
from sparseopt.io.text import read_text, write_text
from sparseopt.problems import MISDP, Problem
from sparseopt.problems.base import Array

_LARGEST = 2_000_000
"""Variables, blocks or rows that any file may state ..."""
_PER_LINE = 10
"""... and those per line that a longer file may."""

_SMALL_MATRICES = 2_000_000
"""Entries of matrices that any file may state ..."""
_LARGEST_MATRICES = 2**26
"""... and those that none may: a gigabyte when they are read."""
_LONGEST = 480
"""Characters of a comment line: lines of CBF end at 512."""


def header_lines(mark: str, header: Mapping[str, Any]) -> Iterator[str]:
    """Yield the comment lines that hold sparseopt's JSON header, each of at most 500 characters.

    Parameters
    ----------
    mark : str
        Begins each of the lines.
    header : mapping
        JSON values.
    """
    text = dumps(header, ascii_only=True)
    for begin in range(0, len(text), _LONGEST):
        yield mark + text[begin : begin + _LONGEST]


class HeaderComment:
    """The comment lines with sparseopt's JSON header, as they are read; 0.1 wrote them as one.

    Parameters
    ----------
    mark : str
        Begins each of the lines.
    where : str
        Name of the file, for messages.
    """

    def __init__(self, mark: str, where: str) -> None:
        self._mark = mark
        self._where = where
        self._parts: list[str] = []
        self._first = 0

    def takes(self, number: int, line: str) -> bool:
        """Keep a line of the comment; return whether it was one."""
        if not line.startswith(self._mark):
            return False
        self._first = self._first or number
        self._parts.append(line[len(self._mark) :])
        return True

    def content(self) -> dict[str, Any]:
        """Return the header, empty in files from elsewhere.

        Raises
        ------
        ProblemError
            When it is no JSON object.
        """
        if not self._parts:
            return {}
        where = f"{self._where}: line {self._first}: the comment of sparseopt"
        return loads_object("".join(self._parts).encode(), where)


def largest_count(lines: int) -> int:
    """Return how many variables, blocks or rows a file of so many lines may state.

    Parameters
    ----------
    lines : int

    Returns
    -------
    int
    """
    return max(_LARGEST, _PER_LINE * lines)


def matrix_sizes_complaint(rows: int, entries: int, lines: int) -> str | None:
    """Return what a file should state instead, when its matrices are absurd for its length.

    A matrix without an entry on its diagonal has a row of zeros: a file that means what it says
    has a line for each row of its matrices. Small matrices may be empty.

    Parameters
    ----------
    rows, entries : int
        Of all matrices (triangles) stated so far.
    lines : int
        Of the file.

    Returns
    -------
    str or None
    """
    if entries <= _SMALL_MATRICES:
        return None
    if rows > lines:
        return f"matrices of at most {lines} rows altogether in a file of {lines} lines"
    if entries > _LARGEST_MATRICES:
        return f"matrices of at most {_LARGEST_MATRICES} entries altogether"
    return None


def refuse_repeated(index: Array, line: Array, where: str, section: str = "") -> None:
    """Raise a ProblemError that names two lines with the same entry, if there are such.

    Parameters
    ----------
    index : int array of shape (K, w)
        Of each entry.
    line : int array of shape (K,)
        Where it is.
    where : str
        Name of the file.
    section : str
        Its name, for the message.
    """
    order = np.lexsort(index.T)
    same = (index[order][1:] == index[order][:-1]).all(axis=1)
    if same.any():
        k = int(np.argmax(same))
        a, b = sorted(int(line[order[i]]) for i in (k, k + 1))
        raise ProblemError(
            f"{where}: line {b}{section and f': {section}'} has the entry of line {a} again; "
            "expected each entry once, of a symmetric matrix one of the two"
        )


class Parsed(Protocol):
    """What a parser returns: the file's content, and the comment for our own reader."""

    @property
    def header(self) -> Mapping[str, Any]:
        """The entries of that comment."""


P = TypeVar("P", bound=Parsed)


@dataclass(frozen=True)
class TextFormat(Generic[P]):
    """One format.

    Attributes
    ----------
    name : str
        In headers.
    title : str
        In messages.
    parse : callable
        From the text and the file's name, for errors.
    build : callable
        From what was parsed to the problem.
    write_out : callable
        From the problem and its facts to the text.
    about : callable, optional
        More entries of the header.
    indicators : bool
        Whether it holds indicator constraints.
    """

    name: str
    title: str
    parse: Callable[[str, str], P]
    build: Callable[[P], MISDP]
    write_out: Callable[[MISDP, Mapping[str, Any]], str]
    about: Callable[[P], Mapping[str, Any]] = lambda model: {}
    indicators: bool = False

    def read(self, path: str | PathLike[str]) -> MISDP:
        """Read a file.

        Parameters
        ----------
        path : path

        Returns
        -------
        MISDP

        Raises
        ------
        ProblemError
            When it cannot be read, or holds what a MISDP does not have; names the line.
        """
        model = self.parse(read_text(path), str(path))
        with naming(path):
            return self.build(model)

    def header(self, path: str | PathLike[str]) -> dict[str, Any]:
        """Return what a file says about itself."""
        model = self.parse(read_text(path), str(path))
        with naming(path):
            facts = checked_facts({key: model.header[key] for key in FACTS if key in model.header})
            problem = self.build(model)
        return {
            "format": self.name,
            **self.about(model),
            "kind": problem.kind,
            "sense": problem.sense,
            **facts,
            "size": dict(problem.size),
        }

    def write(self, problem: Problem, path: str | PathLike[str], **facts: Any) -> None:
        """Write a MISDP.

        Parameters
        ----------
        problem : MISDP
        path : path
        **facts
            ``name, generator, reference, license, citation``; they go into the comment.

        Raises
        ------
        ProblemError
            When the problem is no MISDP, or one with parts that the format does not hold, a fact is
            unknown, or the file cannot be written.
        """
        if not isinstance(problem, MISDP):
            raise ProblemError(
                f"{path}: {self.title} holds mixed-integer semidefinite programs, and "
                f"{problem.kind} is none; save it as .npz"
            )
        if problem.Q is not None:
            raise ProblemError(
                f"{path}: {self.title} holds linear objectives, and this one is quadratic; save it "
                "as .npz",
                "Q",
            )
        if problem.indicators and not self.indicators:
            raise ProblemError(
                f"{path}: {self.title} holds no indicator constraints; save it as .npz or .dat-s",
                "indicators",
            )
        write_text(path, self.write_out(problem, checked_facts(facts)))
