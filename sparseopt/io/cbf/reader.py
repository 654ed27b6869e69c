"""CBF text, version 1 to 4, to a :class:`CbfModel`: what the file says, section by section."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.cbf.model import MARK, WIDTHS, CbfModel, Coordinates
from sparseopt.io.misdp_text import (
    HeaderComment,
    largest_count,
    matrix_sizes_complaint,
    refuse_repeated,
)
from sparseopt.io.text import Lines, numbered
from sparseopt.problems.base import Array

CBF_VERSION = 4
"""The newest version that is read."""

_LINEAR = ("F", "L+", "L-", "L=")
_CONES = {"Q": 1, "QR": 2, "SVECPSD": 1}


def parse_cbf(text: str, where: str) -> CbfModel:
    """Read CBF text.

    Parameters
    ----------
    text : str
    where : str
        Name of the file, for messages.

    Raises
    ------
    ProblemError
        Naming the line, what it says and what was expected; for a cone or a section that a MISDP
        does not have, naming that.
    """
    return _Reader(text, where).read()


class _Reader:
    """One pass over the lines; a method for each kind of section."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        self._model = CbfModel()
        self._header = HeaderComment(MARK, where)
        lines = text.count("\n") + 1
        self._lines = Lines(self._meaningful(text), lines, where)
        self._length = lines
        self._most = largest_count(lines)

    def _meaningful(self, text: str) -> Iterator[tuple[int, str]]:
        for number, line in numbered(text):
            if self._header.takes(number, line):
                continue
            if line.strip() and not line.lstrip().startswith("#"):
                yield number, line

    def read(self) -> CbfModel:
        sections: dict[str, Callable[[], None]] = {
            "VER": self._version,
            "OBJSENSE": self._sense,
            "VAR": lambda: self._domains("VAR", self._model.variables),
            "CON": lambda: self._domains("CON", self._model.rows),
            "PSDVAR": lambda: self._sizes("PSDVAR", self._model.matrices),
            "PSDCON": lambda: self._sizes("PSDCON", self._model.inequalities),
            "INT": lambda: self._indices("INT", "variable", self._model.integer),
            "PSDVARRANK1": lambda: self._indices(
                "PSDVARRANK1", "matrix variable", self._model.rank_one_matrices
            ),
            "PSDCONRANK1": lambda: self._indices(
                "PSDCONRANK1", "matrix inequality", self._model.rank_one_inequalities
            ),
            "OBJBCOORD": self._constant,
            **{name: self._section(name) for name in WIDTHS},
        }
        seen: set[str] = set()
        for line in self._lines:
            word = line.strip()
            if not seen and word != "VER":
                raise self._lines.error("the section VER first")
            if word in ("POWCONES", "POW*CONES"):
                raise self._lines.error(
                    "no power cones: a MISDP has the domains F, L+, L-, L=, Q, QR and matrices"
                )
            if word == "CHANGE":
                raise self._lines.error(
                    "one instance in a file; what changes it into others must be applied first"
                )
            if word not in sections:
                raise self._lines.error(f"the name of a section, one of {', '.join(sections)}")
            if word in seen:
                raise self._lines.error(f"the section {word} only once")
            seen.add(word)
            sections[word]()
        for needed in ("VER", "OBJSENSE"):
            if needed not in seen:
                raise ProblemError(f"{self._where}: the section {needed} is missing")
        if not self._model.variables and not self._model.matrices:
            raise ProblemError(f"{self._where}: there are no variables: neither VAR nor PSDVAR")
        self._model.header = self._header.content()
        return self._model

    def _version(self) -> None:
        (version,) = self._lines.integers("the version, an integer from 1 to 4", 1, least=1)
        if version > CBF_VERSION:
            raise self._lines.error(f"a version up to {CBF_VERSION}; this file is newer")
        self._model.version = version

    def _sense(self) -> None:
        word = self._lines.next("MIN or MAX").strip()
        if word not in ("MIN", "MAX"):
            raise self._lines.error("MIN or MAX")
        self._model.maximize = word == "MAX"

    def _domains(self, section: str, domains: list[tuple[str, int]]) -> None:
        what = "variables" if section == "VAR" else "rows"
        total, count = self._lines.integers(f"the numbers of {what} and of domains", 2)
        self._check_size(total, what)
        for k in range(count):
            expected = f"domain {k + 1} of {count}: its name and its length"
            words = self._lines.next(expected).split()
            if len(words) != 2 or not words[1].isdigit() or len(words[1]) > 18:
                raise self._lines.error(expected)
            name, length = words[0], int(words[1])
            if name not in _LINEAR and name not in _CONES:
                raise self._lines.error(
                    f"one of the domains F, L+, L-, L=, Q, QR, SVECPSD; a MISDP cannot hold {name}"
                )
            if length < _CONES.get(name, 0):
                raise self._lines.error(f"a cone {name} of length {_CONES[name]} or more")
            if name == "SVECPSD" and _side(length) is None:
                raise self._lines.error("a length s (s + 1) / 2")
            domains.append((name, length))
        given = sum(length for _, length in domains)
        if given != total:
            raise self._lines.error(f"domains of {total} {what} altogether; they have {given}")

    def _sizes(self, section: str, sizes: list[int]) -> None:
        (count,) = self._lines.integers("the number of matrices", 1)
        rows = total = 0
        for k in range(count):
            (size,) = self._lines.integers(f"the size of matrix {k + 1} of {count}", 1, least=1)
            sizes.append(size)
            rows, total = rows + size, total + size * (size + 1) // 2
            if complaint := matrix_sizes_complaint(rows, total, self._length):
                raise self._lines.error(complaint)

    def _indices(self, section: str, what: str, indices: list[int]) -> None:
        (count,) = self._lines.integers(f"the number of entries of {section}", 1)
        model = self._model
        known = {
            "INT": model.n,
            "PSDVARRANK1": len(model.matrices),
            "PSDCONRANK1": len(model.inequalities),
        }[section]
        for k in range(count):
            expected = f"entry {k + 1} of {count}: a {what} from 0 to {known - 1}"
            (index,) = self._lines.integers(expected, 1)
            if index >= known:
                raise self._lines.error(expected)
            indices.append(index)

    def _constant(self) -> None:
        word = self._lines.next("the constant of the objective").strip()
        self._model.constant = self._lines.number_of(word, "the constant of the objective")

    def _section(self, name: str) -> Callable[[], None]:
        return lambda: self._coordinates(name)

    def _coordinates(self, section: str) -> None:
        """Read the entries: indices within their ranges, then a number."""
        (count,) = self._lines.integers(f"the number of entries of {section}", 1)
        width = WIDTHS[section]
        if count > self._lines.left:
            raise self._lines.error(
                f"at most as many entries as lines are left, {self._lines.left}; the file is "
                "truncated"
            )
        index = np.zeros((count, width), np.int64)
        value, line = np.zeros(count), np.zeros(count, np.int64)
        for k in range(count):
            expected = f"entry {k + 1} of {count} of {section}: {_SHAPES[section]}"
            words = self._lines.next(expected).split()
            good = len(words) == width + 1
            if not good or not all(word.isdigit() and len(word) < 10 for word in words[:-1]):
                raise self._lines.error(expected)
            index[k] = [int(word) for word in words[:-1]]
            value[k] = self._lines.number_of(words[-1], expected)
            line[k] = self._lines.number
            self._check_ranges(section, index[k])
        entries = Coordinates(_lower_triangle(section, index), value, line)
        refuse_repeated(entries.index, entries.line, self._where, section)
        self._model.coordinates[section] = entries

    def _check_ranges(self, section: str, index: Array) -> None:
        model = self._model
        for what, at in zip(_PARTS[section], index.tolist(), strict=True):
            if what == "row":
                known = model.m
            elif what == "variable":
                known = model.n
            elif what in ("matrix variable", "matrix inequality"):
                sizes = model.matrices if what == "matrix variable" else model.inequalities
                known = len(sizes)
                if at < known:
                    size = sizes[at]
            else:
                known = size
            if at >= known:
                raise self._lines.error(
                    f"a {what} from 0 to {known - 1}"
                    if known
                    else f"a {what}, but none has been declared before"
                )

    def _check_size(self, size: int, what: str) -> None:
        if size > self._most:
            raise self._lines.error(
                f"at most {self._most} {what} in a file of this length, {size} is absurd"
            )


_PARTS = {
    "OBJFCOORD": ("matrix variable", "row of the matrix", "column of the matrix"),
    "OBJACOORD": ("variable",),
    "FCOORD": ("row", "matrix variable", "row of the matrix", "column of the matrix"),
    "ACOORD": ("row", "variable"),
    "BCOORD": ("row",),
    "HCOORD": ("matrix inequality", "variable", "row of the matrix", "column of the matrix"),
    "DCOORD": ("matrix inequality", "row of the matrix", "column of the matrix"),
}
_SHAPES = {name: ", ".join(parts) + ", number" for name, parts in _PARTS.items()}


def _lower_triangle(section: str, index: Array) -> Array:
    """Return the indices with the row of a matrix not above its column."""
    if _PARTS[section][-1].startswith("column"):
        low, high = index[:, -2:].min(axis=1), index[:, -2:].max(axis=1)
        index[:, -2], index[:, -1] = high, low
    return index


def _side(length: int) -> int | None:
    """Return s where length = s (s + 1) / 2."""
    side = int((np.sqrt(8.0 * length + 1.0) - 1.0) / 2.0)
    return side if side * (side + 1) // 2 == length else None
