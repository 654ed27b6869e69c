"""What the text formats of MISDPs have in common: reading, the header, writing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from os import PathLike
from typing import Any, Generic, Protocol, TypeVar

from sparseopt.errors import ProblemError
from sparseopt.io.files import naming
from sparseopt.io.header import FACTS, checked_facts
from sparseopt.io.text import read_text, write_text
from sparseopt.problems import MISDP, Problem

__all__ = ["Parsed", "TextFormat"]


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
    """

    name: str
    title: str
    parse: Callable[[str, str], P]
    build: Callable[[P], MISDP]
    write_out: Callable[[MISDP, Mapping[str, Any]], str]
    about: Callable[[P], Mapping[str, Any]] = lambda model: {}

    def read(self, path: str | PathLike[str]) -> MISDP:
        """Read a file."""
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

    def write(self, problem: Problem, path: str | PathLike[str], facts: Mapping[str, Any]) -> None:
        """Write a MISDP."""
        if not isinstance(problem, MISDP):
            raise ProblemError(
                f"{path}: {self.title} holds mixed-integer semidefinite programs, and "
                f"{problem.kind} is none; save it as .npz"
            )
        write_text(path, self.write_out(problem, checked_facts(dict(facts))))
