"""Best known values of instances: ``.solu`` files, as MIPLIB has them.

A line is a word, an instance and, for the first three words, a value::

    =opt=  diabetes-dantzig@100.0  1234.5    proven optimum
    =best= misdp-7 98.25                     best known value, not proven
    =bound= misdp-7 97.5                     best proven bound
    =inf=  clime-3@0.0                       proven infeasible
    =unbd= lp-9                              proven unbounded
    =unkn= strs-50                           nothing is known

A parametric instance has a line for each value of lam: ``name@lam``, with lam in its shortest exact
form. Values are in the problem's own sense. Empty lines and lines that begin with # are skipped.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike

from sparseopt.errors import ProblemError
from sparseopt.io.files import open_read, replacing

_VALUED = ("opt", "best", "bound")
_WORDS = (*_VALUED, "inf", "unbd", "unkn")
_MAX_BYTES = 2**26
_NAME = re.compile(r"[^\s@#=]+")


@dataclass(frozen=True)
class KnownValue:
    """What is known of one instance, at one value of lam where it has a parameter.

    Parameters
    ----------
    status : {"opt", "best", "bound", "inf", "unbd", "unkn"}
    name : str
        Of the instance: no blanks, "@", "#" or "=".
    lam : float, optional
    value : float, optional
        Given exactly for "opt", "best" and "bound".

    Raises
    ------
    ProblemError
        When one of them is not what it must be.
    """

    status: str
    name: str
    lam: float | None = None
    value: float | None = None

    def __post_init__(self) -> None:
        if self.status not in _WORDS:
            raise ProblemError(f"={self.status}= is unknown; expected one of {_known_words()}")
        if not _NAME.fullmatch(self.name):
            raise ProblemError(f"{self.name!r} is no name of an instance: no blanks, @, # or =")
        for field in ("lam", "value"):
            number = getattr(self, field)
            if number is not None and not math.isfinite(number):
                raise ProblemError(f"{self.name}: {field} is {number}; expected a finite number")
        if (self.value is not None) != (self.status in _VALUED):
            wanted = "needs a value" if self.status in _VALUED else "takes no value"
            raise ProblemError(f"{self.name}: ={self.status}= {wanted}")

    @property
    def key(self) -> str:
        """``name`` or ``name@lam``."""
        return self.name if self.lam is None else f"{self.name}@{float(self.lam)!r}"


def read_solu(path: str | PathLike[str]) -> list[KnownValue]:
    """Read the lines of a .solu file, in their order.

    Parameters
    ----------
    path : path

    Returns
    -------
    list of KnownValue

    Raises
    ------
    ProblemError
        Naming the line that is not what it must be, or that says something twice.
    """
    with open_read(path) as stream:
        content = stream.read(_MAX_BYTES + 1)
    if len(content) > _MAX_BYTES:
        raise ProblemError(f"{path} is larger than {_MAX_BYTES} bytes, which no .solu file is")
    try:
        lines = content.decode("utf-8").split("\n")
    except UnicodeDecodeError as error:
        raise ProblemError(f"{path} is not UTF-8 text (byte {error.start})") from error
    known: dict[tuple[str, str], KnownValue] = {}
    for number, line in enumerate(lines, start=1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        try:
            entry = _entry(words)
        except ProblemError as error:
            raise ProblemError(f"{path}, line {number} {line.strip()[:80]!r}: {error}") from error
        if known.setdefault((entry.status, entry.key), entry) is not entry:
            raise ProblemError(
                f"{path}, line {number}: ={entry.status}= {entry.key} is there twice"
            )
    return list(known.values())


def write_solu(entries: Iterable[KnownValue], path: str | PathLike[str]) -> None:
    """Write known values in the order given, numbers in their shortest exact form.

    Parameters
    ----------
    entries : iterable of KnownValue
    path : path

    Raises
    ------
    ProblemError
        When the file cannot be written.
    """
    lines = []
    for entry in entries:
        value = "" if entry.value is None else f" {float(entry.value)!r}"
        lines.append(f"={entry.status}= {entry.key}{value}\n")
    with replacing(path) as stream:
        stream.write("".join(lines).encode("utf-8"))


def _entry(words: list[str]) -> KnownValue:
    word = re.fullmatch(r"=(\w+)=", words[0])
    if word is None or len(words) not in (2, 3):
        raise ProblemError(f"expected one of {_known_words()}, a name and perhaps a value")
    name, at, lam = words[1].partition("@")
    return KnownValue(
        status=word[1],
        name=name,
        lam=_number(lam) if at else None,
        value=_number(words[2]) if len(words) == 3 else None,
    )


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise ProblemError(f"{text!r} is no number") from error


def _known_words() -> str:
    return ", ".join(f"={word}=" for word in _WORDS)
