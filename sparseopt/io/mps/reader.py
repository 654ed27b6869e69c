"""MPS text, fixed or free, to an :class:`~sparseopt.io.mps.model.MpsModel`.

Two conventions make a parametric program of it, both within the letter of MPS: the first N row is
c and a second one is c_bar; the first RHS set is b and a second one is b_bar, where the header of
sparseopt or the caller says that there is one. A right-hand side on an N row is minus a constant of
the objective.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.io.header import checked_version
from sparseopt.io.mps.model import MpsModel
from sparseopt.io.strict_json import loads_object

MARK = "* sparseopt-mps "
"""Begins the comment line with sparseopt's JSON header."""
MPS_VERSION = 1
INFINITE = 1e20
"""From here on a bound, a right-hand side or a range is infinite."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eEdD][+-]?\d+)?")
_INFINITE = re.compile(r"([+-]?)inf(inity)?", re.IGNORECASE)
_SENSES = {
    **dict.fromkeys(("MAX", "MAXIMIZE", "MAXIMISE"), True),
    **dict.fromkeys(("MIN", "MINIMIZE", "MINIMISE"), False),
}
_INTEGER = ("BV", "LI", "UI", "SC", "SI")
# Columns of the six fields of fixed MPS, from 0, and of the gaps between them.
_FIELDS = ((1, 3), (4, 12), (14, 22), (24, 36), (39, 47), (49, 61))
_GAPS = ((3, 4), (12, 14), (22, 24), (36, 39), (47, 49))


def parse_mps(text: str, where: str, b_bar: str | None = None) -> MpsModel:
    """Read MPS text; whether it is fixed or free is found by trying.

    Parameters
    ----------
    text : str
    where : str
        Name of the file, for messages.
    b_bar : str, optional
        Name of the RHS set that is b_bar. Default: the second one of a file with sparseopt's
        header; in any other file a second set is an error.

    Raises
    ------
    ProblemError
        Naming the line, what it says and what was expected.
    """
    errors: list[tuple[int, ProblemError]] = []
    for fixed in (False, True):
        reader = _Reader(where, fixed, b_bar)
        try:
            return reader.read(text)
        except ProblemError as error:
            errors.append((reader.number, error))
    # Of the two ways to read it, the one that got further is what the writer meant.
    free, as_fixed = errors
    raise as_fixed[1] if as_fixed[0] > free[0] else free[1]


class _Reader:
    """One pass over the lines; a method for each section."""

    def __init__(self, where: str, fixed: bool, b_bar: str | None) -> None:
        self.where = where
        self.fixed = fixed
        self.b_bar = b_bar
        self.number = 0
        self.line = ""
        self.name = ""
        self.maximize = False
        self.header: dict[str, Any] = {}
        self.objectives: list[str] = []
        self.rows: dict[str, int] = {}
        self.senses: list[str] = []
        self.columns: dict[str, int] = {}
        self.cells: dict[tuple[int, int], float] = {}
        self.costs: tuple[dict[int, float], dict[int, float]] = ({}, {})
        self.rhs_sets: list[str | None] = [None, b_bar]
        """Names of the sets b and b_bar, None where there is none yet."""
        self.b_bar_seen = False
        self.rhs: tuple[dict[int, float], dict[int, float]] = ({}, {})
        self.constants: dict[tuple[int, int], float] = {}
        self.ranges: dict[int, float] = {}
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
        self.single_set: dict[str, str] = {}

    def read(self, text: str) -> MpsModel:
        sections: dict[str, Callable[[list[str]], None]] = {
            "OBJSENSE": self._sense,
            "ROWS": self._row,
            "COLUMNS": self._column,
            "RHS": self._rhs,
            "RANGES": self._range,
            "BOUNDS": self._bound,
        }
        seen: list[str] = []
        handle: Callable[[list[str]], None] | None = None
        for line in self._lines(text):
            if line[0] not in " \t":
                word, *tail = line.split(None, 1)
                word, rest = word.upper(), "".join(tail).strip()
                if "ENDATA" in seen:
                    raise self._error("expected nothing after ENDATA")
                if word in seen:
                    raise self._error(f"the section {word} is there twice")
                seen.append(word)
                handle = sections.get(word)
                if word == "NAME":
                    self.name = rest
                elif word == "OBJSENSE" and rest:
                    self._sense(rest.split())
                elif word != "ENDATA" and handle is None:
                    raise self._error(
                        f"the section {word!r} has no place in a parametric linear program; known "
                        f"are NAME, {', '.join(sections)}, ENDATA (lines of data begin with a "
                        "blank)"
                    )
                if word in ("COLUMNS", "RHS", "RANGES", "BOUNDS"):
                    self._require(seen, "ROWS" if word == "COLUMNS" else "COLUMNS")
            elif handle is None:
                raise self._error("expected the name of a section first, at the line's beginning")
            else:
                # OBJSENSE is younger than fixed MPS and keeps to no columns.
                handle(line.split() if handle == self._sense else self._tokens(line))
        if "ENDATA" not in seen:
            raise self._error("the file ends without ENDATA: it is truncated")
        self._require(seen, "COLUMNS")
        return self._model()

    def _lines(self, text: str) -> Iterator[str]:
        for number, line in enumerate(text.split("\n"), start=1):
            self.number, self.line = number, line.rstrip("\r")
            if self.line.startswith(MARK):
                self._mark(self.line[len(MARK) :])
            elif self.line.strip() and not self.line.startswith("*"):
                yield self.line

    def _mark(self, content: str) -> None:
        where = f"{self.where}, line {self.number}: the header of sparseopt"
        self.header = loads_object(content.encode("utf-8"), where)
        try:
            checked_version(self.header, MPS_VERSION)
        except ProblemError as error:
            raise self._error(str(error)) from error

    def _tokens(self, line: str) -> list[str]:
        if not self.fixed:
            return line.split()
        line = line.expandtabs(8)
        for low, high in _GAPS:
            if line[low:high].strip():
                at = low + len(line[low:high]) - len(line[low:high].lstrip())
                word = line[:at].split(" ")[-1] + line[at:].split(" ")[0]
                columns = f"column {high}" if high == low + 1 else f"columns {low + 1} to {high}"
                raise self._error(
                    f"{word!r} does not fit its field: of fixed MPS, {columns} must be blank (in "
                    "free MPS, names have no blanks)"
                )
        fields = [line[low:high].strip() for low, high in _FIELDS]
        if line[61:].strip():
            raise self._error("expected nothing after column 61 of fixed MPS")
        while fields and not fields[-1]:
            fields.pop()
        # The first field is that of the row types and bound types; set names may be blank.
        return fields if fields[:1] and fields[0] else fields[1:]

    def _error(self, what: str) -> ProblemError:
        shown = self.line.strip()
        quoted = f" {shown[:80]!r}" if shown else ""
        return ProblemError(f"{self.where}, line {self.number}{quoted}: {what}")

    def _require(self, seen: list[str], section: str) -> None:
        if section not in seen:
            raise self._error(f"expected the section {section} before this")

    # ---- sections

    def _sense(self, tokens: list[str]) -> None:
        if len(tokens) != 1 or tokens[0].upper() not in _SENSES:
            raise self._error("expected MAX or MIN")
        self.maximize = _SENSES[tokens[0].upper()]

    def _row(self, tokens: list[str]) -> None:
        if len(tokens) != 2 or tokens[0].upper() not in ("N", "L", "G", "E"):
            raise self._error("expected N, L, G or E and the name of a row")
        sense, name = tokens[0].upper(), tokens[1]
        if name in self.rows or name in self.objectives:
            raise self._error(f"the row {name} is there twice")
        if sense == "N":
            if len(self.objectives) == 2:
                raise self._error(
                    "a third N row: the first is c, the second c_bar, and there can be no more"
                )
            self.objectives.append(name)
        else:
            self.rows[name] = len(self.rows)
            self.senses.append(sense)

    def _column(self, tokens: list[str]) -> None:
        if len(tokens) >= 3 and tokens[1].strip("'\"").upper() == "MARKER":
            raise self._error(
                "integer variables are marked here: this is not a parametric LP, which has "
                "continuous variables only"
            )
        if len(tokens) not in (3, 5):
            raise self._error("expected a column and one or two pairs of a row and a number")
        name = tokens[0]
        if name not in self.columns:
            self.columns[name] = len(self.columns)
        j = self.columns[name]
        if j != len(self.columns) - 1:
            raise self._error(f"the column {name} was there before: its entries must be together")
        for row, value in self._pairs(tokens[1:], self._number):
            if row in self.objectives:
                self._once(self.costs[self.objectives.index(row)], j, value, f"{name}, {row}")
            else:
                self._once(self.cells, (self._known_row(row), j), value, f"{name}, {row}")

    def _rhs(self, tokens: list[str]) -> None:
        name, pairs = self._set_and_pairs(tokens)
        which = self._rhs_set(name)
        for row, value in pairs:
            self._check_rhs(row, value, which)
            if row in self.objectives:
                key = (self.objectives.index(row), which)
                self._once(self.constants, key, 0.0 - value, f"{name}, {row}")
            else:
                self._once(self.rhs[which], self._known_row(row), value, f"{name}, {row}")

    def _check_rhs(self, row: str, value: float, which: int) -> None:
        """Refuse an infinite right-hand side where it does not only take a limit away."""
        if np.isfinite(value):
            return
        if row in self.objectives:
            raise self._error(
                f"the constant of the objective {row} is infinite: numbers of 1e20 and more are; "
                "expected a smaller one"
            )
        if which == 1:
            raise self._error(
                f"the slope b_bar of the row {row} is infinite: numbers of 1e20 and more are; "
                "expected a smaller one"
            )
        sense = self.senses[self._known_row(row)]
        if sense != ("L" if value > 0.0 else "G"):
            relation = {"L": "<=", "G": ">=", "E": "="}[sense]
            raise self._error(
                f"no point satisfies {row} {relation} {value}: numbers of 1e20 and more are "
                "infinite; mend the number, or its sign"
            )

    def _rhs_set(self, name: str) -> int:
        """Return 0 for the set b, 1 for b_bar."""
        first, second = self.rhs_sets
        if name == second:
            self.b_bar_seen = True
            return 1
        if first is None or name == first:
            self.rhs_sets[0] = name
            return 0
        if second is not None:
            raise self._error(
                f"a third RHS set {name!r}: {first!r} is b and {second!r} is b_bar, and there can "
                "be no more"
            )
        if not self.header:
            raise self._error(
                f"a second RHS set {name!r} after {first!r}: mend the name if it is the same set; "
                f"if it is b_bar, the slope of the right-hand side, say so by --b-bar {name} "
                f"(load(path, b_bar={name!r})) or by a line "
                f"'{MARK}{{\"version\": {MPS_VERSION}}}' at the top"
            )
        self.rhs_sets[1] = name
        return 1

    def _range(self, tokens: list[str]) -> None:
        name, pairs = self._set_and_pairs(tokens)
        self._one_set("RANGES", name)
        for row, value in pairs:
            if row in self.objectives:
                raise self._error(f"{row} is an N row and can have no range")
            self._once(self.ranges, self._known_row(row), value, f"{name}, {row}")

    def _bound(self, tokens: list[str]) -> None:
        kind = tokens[0].upper() if tokens else ""
        if kind in _INTEGER:
            raise self._error(
                f"a bound {kind} makes the variable integer or semicontinuous: this is not a "
                "parametric LP, which has continuous variables only"
            )
        valued = kind in ("UP", "LO", "FX")
        if not valued and kind not in ("FR", "MI", "PL"):
            raise self._error("expected UP, LO, FX, FR, MI or PL first")
        rest = tokens[1:]
        # Some writers put a number behind FR, MI and PL too, which means nothing.
        if len(rest) not in ((2, 3) if valued else (1, 2, 3)):
            raise self._error(
                "expected a bound type, the name of a set, a column"
                + (" and a number" if valued else "")
            )
        if len(rest) == 1 + valued:
            rest = ["", *rest]
        self._one_set("BOUNDS", rest[0])
        if rest[1] not in self.columns:
            raise self._error(f"the column {rest[1]!r} is not in the section COLUMNS")
        j = self.columns[rest[1]]
        value = self._extended_number(rest[2]) if valued else 0.0
        if kind in ("LO", "FX"):
            self._once(self.lower, j, value, f"lower bound of {rest[1]}")
        if kind in ("UP", "FX"):
            self._once(self.upper, j, value, f"upper bound of {rest[1]}")
        if kind in ("FR", "MI"):
            self._once(self.lower, j, -np.inf, f"lower bound of {rest[1]}")
        if kind in ("FR", "PL"):
            self._once(self.upper, j, np.inf, f"upper bound of {rest[1]}")

    # ---- fields

    def _set_and_pairs(self, tokens: list[str]) -> tuple[str, list[tuple[str, float]]]:
        """Split off the name of the set, which may be left out."""
        if len(tokens) not in (2, 3, 4, 5):
            raise self._error("expected a set and one or two pairs of a row and a number")
        odd = len(tokens) % 2
        return (tokens[0] if odd else ""), self._pairs(tokens[odd:], self._extended_number)

    def _one_set(self, section: str, name: str) -> None:
        if self.single_set.setdefault(section, name) != name:
            raise self._error(f"a second set {name!r} in {section}: expected one")

    def _pairs(self, tokens: list[str], read: Callable[[str], float]) -> list[tuple[str, float]]:
        return [(tokens[k], read(tokens[k + 1])) for k in range(0, len(tokens), 2)]

    def _number(self, token: str) -> float:
        if not _NUMBER.fullmatch(token):
            raise self._error(f"expected a finite number instead of {token!r}")
        value = float(token.upper().replace("D", "E"))
        if not np.isfinite(value):
            raise self._error(f"{token} is too large for a 64-bit number")
        return value

    def _extended_number(self, token: str) -> float:
        """Read a number; from 1e20 on it means infinity, as in all solvers."""
        infinite = _INFINITE.fullmatch(token)
        value = float(token) if infinite else self._number(token)
        return value if abs(value) < INFINITE else float(np.copysign(np.inf, value))

    def _known_row(self, name: str) -> int:
        if name not in self.rows:
            raise self._error(f"the row {name!r} is not in the section ROWS")
        return self.rows[name]

    def _once(self, found: dict[Any, float], key: Any, value: float, what: str) -> None:
        if key in found:
            raise self._error(f"the entry ({what}) is there twice")
        found[key] = value

    # ---- the whole

    def _model(self) -> MpsModel:
        if not self.objectives:
            raise self._error("the section ROWS has no N row: there is no objective")
        if not self.rows or not self.columns:
            raise self._error("expected at least one row (L, G or E) and one column")
        if self.b_bar is not None and not self.b_bar_seen:
            first = self.rhs_sets[0]
            there = "there is none" if first is None else f"there is {first!r}"
            raise ProblemError(f"{self.where}: no RHS set is named {self.b_bar!r}; {there}")
        m, n = len(self.rows), len(self.columns)
        names = list(self.columns)
        lower, upper = np.zeros(n), np.full(n, np.inf)
        for j, value in self.upper.items():
            upper[j] = value
            if value < 0.0 and j not in self.lower:
                raise ProblemError(
                    f"{self.where}: {names[j]} has the upper bound {value} and no lower one; "
                    "readers of MPS disagree on whether that is 0 or -infinity: add a line LO or MI"
                )
        for j, value in self.lower.items():
            lower[j] = value
        empty = (lower > upper) | (lower == np.inf) | (upper == -np.inf)
        if empty.any():
            j = int(np.flatnonzero(empty)[0])
            raise ProblemError(
                f"{self.where}: the bounds [{lower[j]}, {upper[j]}] of {names[j]} leave no value"
            )
        for i, row in enumerate(self.rows):
            if i in self.ranges and np.isinf(self.rhs[0].get(i, 0.0)):
                raise ProblemError(
                    f"{self.where}: the row {row} has the range {self.ranges[i]} from the "
                    f"right-hand side {self.rhs[0][i]}; expected a finite one, or no range"
                )
        constant = self.constants
        return MpsModel(
            name=self.name,
            maximize=self.maximize,
            objectives=self.objectives,
            rows=list(self.rows),
            senses="".join(self.senses),
            columns=names,
            entry_row=np.array([key[0] for key in self.cells], dtype=np.int64),
            entry_column=np.array([key[1] for key in self.cells], dtype=np.int64),
            entry=np.array(list(self.cells.values()), dtype=np.float64),
            c=_dense(self.costs[0], n),
            c_bar=_dense(self.costs[1], n),
            b=_dense(self.rhs[0], m),
            b_bar=_dense(self.rhs[1], m),
            lower=lower,
            upper=upper,
            constant=np.array(
                [
                    constant.get((0, 0), 0.0),
                    constant.get((0, 1), 0.0) + constant.get((1, 0), 0.0),
                    constant.get((1, 1), 0.0),
                ]
            ),
            ranges=_dense(self.ranges, m, np.nan) if self.ranges else None,
            header=self.header,
        )


def _dense(values: dict[int, float], length: int, fill: float = 0.0) -> Any:
    out = np.full(length, fill)
    out[list(values)] = list(values.values())
    return out
