"""SDPA sparse text, with SCIP-SDP's *INTEGER and *RANK1, to a :class:`SdpaModel`."""

from __future__ import annotations

import difflib
import re
from array import array
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np

from sparseopt.io.misdp_text import (
    HeaderComment,
    largest_count,
    matrix_sizes_complaint,
    refuse_repeated,
)
from sparseopt.io.text import Lines, numbered
from sparseopt.problems.base import Array

MARK = "* sparseopt-sdpa "
"""Begins each comment line with sparseopt's JSON header."""

_SEPARATORS = str.maketrans("(){},", "     ")
_LEADING = re.compile(r"\s*([+-]?\d{1,18})(?![\d.eE])")
_PLAIN = re.compile(
    r"\s*" + r"([0-9]{1,9})\s+" * 4 + r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)\s*"
)
_HEADING = re.compile(r"\*\s*(INTEGER|RANK1)(?!\w)|\*\s*(INTEGER)S(?!\w)", re.IGNORECASE)
"""Also ``*INTEGERS*``, as some files have it."""
_WORD = re.compile(r"\*\s*([A-Za-z][\w-]*)\s*[*:]?")
"""A comment that is one word: a keyword, known or misspelt, or a remark."""
_NUMBERED = re.compile(r"\*\s*[+-]?\d")
_KEYWORDS = ("INTEGER", "RANK1", "INDICATOR")
_INDEX = re.compile(r"\*\s*(\d{1,18})\s*")


@dataclass
class SdpaModel:
    """What a file says: min c'x subject to sum_j x_j A_j - A_0 positive semidefinite.

    Attributes
    ----------
    c : array of shape (n,)
    sizes : list of int
        Of the blocks; negative for a block of linear rows.
    index : int array of shape (K, 4)
        Of each entry: the matrix j (0 for A_0), the block, its row and its column; the block, row
        and column from 0, the row not above the column.
    value : array of shape (K,)
    integer, rank_one : list of int
        From 0.
    indicators : dict of (int, int) to int
        The variable of each linear row, named by its block and its place there, that holds only
        where this is 1; all from 0.
    header : dict
        Sparseopt's own comment.
    """

    c: Array = field(default_factory=lambda: np.zeros(0))
    sizes: list[int] = field(default_factory=list)
    index: Array = field(default_factory=lambda: np.zeros((0, 4), np.int64))
    value: Array = field(default_factory=lambda: np.zeros(0))
    integer: list[int] = field(default_factory=list)
    rank_one: list[int] = field(default_factory=list)
    indicators: dict[tuple[int, int], int] = field(default_factory=dict)
    header: dict[str, Any] = field(default_factory=dict)


def parse_sdpa(text: str, where: str) -> SdpaModel:
    """Read SDPA sparse text.

    Parameters
    ----------
    text : str
    where : str
        Name of the file, for messages.

    Raises
    ------
    ProblemError
        Naming the line, what it says and what was expected.
    """
    return _Reader(text, where).read()


class _Reader:
    """One pass over the lines."""

    def __init__(self, text: str, where: str) -> None:
        self._where = where
        self._model = SdpaModel()
        self._header = HeaderComment(MARK, where)
        self._in_entries = False
        lines = text.count("\n") + 1
        self._lines = Lines(self._meaningful(text), lines, where)
        self._length = lines
        self._most = largest_count(lines)

    def _meaningful(self, text: str) -> Iterator[tuple[int, str]]:
        """Yield the lines that are data, and behind the costs what means to be a section."""
        for number, line in numbered(text):
            word = line.strip()
            if self._header.takes(number, line) or not word:
                continue
            if word[0] not in '*"':
                yield number, line
            elif self._in_entries and (heading := _HEADING.match(word)):
                yield number, f"*{(heading[1] or heading[2]).upper()}"
            elif self._in_entries and (_keyword(word) or _NUMBERED.match(word)):
                yield number, line

    def read(self) -> SdpaModel:
        n = self._count("the number of variables, an integer >= 1", "variables")
        blocks = self._count("the number of blocks, an integer >= 1", "blocks")
        self._model.sizes = self._sizes(blocks)
        self._model.c = self._costs(n)
        self._in_entries = True
        self._entries(n)
        self._model.header = self._header.content()
        return self._model

    def _count(self, expected: str, what: str) -> int:
        """Return the integer that begins the next line; text behind it is a comment."""
        found = _LEADING.match(self._lines.next(expected))
        if found is None or int(found[1]) < 1:
            raise self._lines.error(expected)
        if int(found[1]) > self._most:
            raise self._lines.error(f"at most {self._most} {what} in a file of this length")
        return int(found[1])

    def _sizes(self, count: int) -> list[int]:
        expected = f"the sizes of the {count} blocks, negative for linear rows"
        sizes: list[int] = []
        while len(sizes) < count:
            rest = self._lines.next(expected).translate(_SEPARATORS)
            found = _LEADING.match(rest)
            if found is None:
                raise self._lines.error(f"{expected}; {len(sizes)} of them came before")
            while found is not None and len(sizes) < count:
                sizes.append(int(found[1]))
                rest = rest[found.end() :]
                found = _LEADING.match(rest)
        if 0 in sizes:
            raise self._lines.error(f"{expected}; 0 is none")
        linear = -sum(size for size in sizes if size < 0)
        if linear > self._most:
            raise self._lines.error(f"at most {self._most} linear rows in a file of this length")
        matrices = [size for size in sizes if size > 0]
        entries = sum(size * (size + 1) // 2 for size in matrices)
        if complaint := matrix_sizes_complaint(sum(matrices), entries, self._length):
            raise self._lines.error(complaint)
        return sizes

    def _costs(self, n: int) -> Array:
        expected = f"the {n} costs of the objective"
        costs: list[float] = []
        while len(costs) < n:
            words = self._lines.next(expected).translate(_SEPARATORS).split()
            if len(costs) + len(words) > n:
                raise self._lines.error(f"{expected}; here are {len(costs) + len(words)}")
            costs += [self._lines.number_of(word, expected) for word in words]
        return np.array(costs)

    def _entries(self, n: int) -> None:
        # Flat, since there may be millions.
        index, value, number = array("q"), array("d"), array("q")
        section: list[int] | None = None
        sizes = self._model.sizes
        expected = f"matrix (0 to {n}), block (1 to {len(sizes)}), row and column (from 1), number"
        for line in self._lines:
            # Most lines are four indices and a number, and need no second look.
            plain = _PLAIN.fullmatch(line) if section is None else None
            indicator = False
            if plain is not None:
                words = list(plain.groups())
            else:
                starred = line.lstrip().startswith("*")
                if starred and line in ("*INTEGER", "*RANK1"):
                    section = self._model.integer if line == "*INTEGER" else self._model.rank_one
                    continue
                if starred:
                    self._refuse_keyword(line)
                if section is not None:
                    self._index(line, section, n)
                    continue
                words = self._words(line, starred, expected)
                indicator = _is_indicator(words, sizes)
                if indicator:
                    words[0] = words[0][1:]
                if not "".join(words[:4]).isdigit() or max(map(len, words[:4])) >= 10:
                    raise self._lines.error(expected)
            j, block, row, column = map(int, words[:4])
            if j > n or not 1 <= block <= len(sizes):
                raise self._lines.error(expected)
            size = abs(sizes[block - 1])
            if not (1 <= row <= size and 1 <= column <= size):
                raise self._lines.error(f"a row and a column from 1 to {size} in block {block}")
            if sizes[block - 1] < 0 and row != column:
                raise self._lines.error(
                    f"a row equal to the column: block {block} has linear rows, on the diagonal"
                )
            if indicator:
                if not j or (block - 1, row - 1) in self._model.indicators:
                    raise self._lines.error(f"one variable from -1 to -{n} for an indicator's row")
                self._lines.number_of(words[4], expected)
                self._model.indicators[block - 1, row - 1] = j - 1
                continue
            index.extend((j, block - 1, max(row, column) - 1, min(row, column) - 1))
            entry = float(words[4]) if plain is not None else inf
            if not isfinite(entry):
                entry = self._lines.number_of(words[4], expected)
            value.append(entry)
            number.append(self._lines.number)
        self._model.index = np.array(index, np.int64).reshape(-1, 4)
        self._model.value = np.array(value)
        refuse_repeated(self._model.index, np.array(number), self._where)

    def _refuse_keyword(self, line: str) -> None:
        """Refuse a comment of one word that means a section."""
        if meant := _keyword(line.strip()):
            raise self._lines.error(
                "*INTEGER or *RANK1; the variable of an indicator is an entry -k of its row"
                if meant == "INDICATOR"
                else f"*{meant}"
            )

    def _words(self, line: str, starred: bool, expected: str) -> list[str]:
        """Return the words of an entry, five of them and what a comment behind them is."""
        if starred:
            raise self._lines.error("*INTEGER or *RANK1 before the first index of a section")
        words = line.translate(_SEPARATORS).split()
        if len(words) < 5 or (len(words) > 5 and words[5][0] not in '*"#'):
            raise self._lines.error(expected)
        return words

    def _index(self, line: str, section: list[int], n: int) -> None:
        """Read a line ``*k`` of *INTEGER or *RANK1."""
        of_variables = section is self._model.integer
        known = n if of_variables else len(self._model.sizes)
        what = "variable" if of_variables else "block"
        found = _INDEX.fullmatch(line.strip())
        if found is None or not 1 <= int(found[1]) <= known:
            raise self._lines.error(f"* and a {what} from 1 to {known}")
        if not of_variables and self._model.sizes[int(found[1]) - 1] < 0:
            raise self._lines.error(f"a block of a matrix; block {found[1]} has linear rows")
        section.append(int(found[1]) - 1)


def _keyword(line: str) -> str | None:
    """Return the keyword that a comment of one word means, None when it is no comment or remark."""
    found = _WORD.fullmatch(line)
    near = difflib.get_close_matches(found[1].upper(), _KEYWORDS, 1, 0.7) if found else []
    return near[0] if near else None


def _is_indicator(words: list[str], sizes: list[int]) -> bool:
    """Return whether an entry is an indicator of SCIP-SDP: a negative variable, a linear row."""
    return (
        len(words) >= 5
        and words[0][0] == "-"
        and re.fullmatch(r"-\d{1,9}", words[0]) is not None
        and words[1] in {str(k) for k, size in enumerate(sizes, start=1) if size < 0}
    )
