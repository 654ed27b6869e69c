"""What a CBF file says, section by section, before it is a problem."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from sparseopt.problems.base import Array

MARK = "# sparseopt-cbf "
"""Begins each comment line with sparseopt's JSON header."""


@dataclass
class Coordinates:
    """Entries of a sparse array: an integer index each, the value, and the line it is on."""

    index: Array
    value: Array
    line: Array

    @classmethod
    def empty(cls, width: int) -> Coordinates:
        """Return no entries with `width` indices each."""
        return cls(np.zeros((0, width), np.int64), np.zeros(0), np.zeros(0, np.int64))


@dataclass
class CbfModel:
    """The sections of a CBF file; domains are lists of (name, length)."""

    version: int = 0
    maximize: bool = False
    header: dict[str, Any] = field(default_factory=dict)
    variables: list[tuple[str, int]] = field(default_factory=list)
    matrices: list[int] = field(default_factory=list)
    rows: list[tuple[str, int]] = field(default_factory=list)
    inequalities: list[int] = field(default_factory=list)
    integer: list[int] = field(default_factory=list)
    rank_one_matrices: list[int] = field(default_factory=list)
    rank_one_inequalities: list[int] = field(default_factory=list)
    constant: float = 0.0
    coordinates: dict[str, Coordinates] = field(default_factory=dict)

    @property
    def n(self) -> int:
        """Number of scalar variables."""
        return sum(length for _, length in self.variables)

    @property
    def m(self) -> int:
        """Number of scalar rows."""
        return sum(length for _, length in self.rows)

    def entries(self, section: str) -> Coordinates:
        """Return the entries of a section, none where it is not there."""
        return self.coordinates.get(section) or Coordinates.empty(WIDTHS[section])


WIDTHS = {
    "OBJFCOORD": 3,
    "OBJACOORD": 1,
    "FCOORD": 4,
    "ACOORD": 2,
    "BCOORD": 1,
    "HCOORD": 4,
    "DCOORD": 3,
}
"""Indices of an entry in each section of them."""
