"""The cuts that a linear program in HiGHS has as rows: they age, leave, and come back."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from sparseopt.problems.base import Array

from ..settings import MASTER_MISSED, MASTER_SLACK

if TYPE_CHECKING:
    from ...highs.instance import Instance


class CutRows:
    """Rows a'x >= b behind the own rows of a program; those that stay slack are left out.

    HiGHS keeps its basis through both: a slack row that leaves was basic, and one that comes back
    enters as basic, so that the dual simplex method goes on from where it was.

    Parameters
    ----------
    instance : Instance
    own : int
        Rows of the program itself.
    patience : int
        Optima one after the other at which a row may be slack.

    Attributes
    ----------
    numbers : list of int
        What each row in the program was called when it was added.
    """

    def __init__(self, instance: Instance, own: int, patience: int) -> None:
        self._instance = instance
        self._own = own
        self._patience = patience
        self.numbers: list[int] = []
        self._inside: list[tuple[Array, float]] = []
        self._slack_for: list[int] = []
        self._outside: list[tuple[int, Array, float]] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def add(self, number: int, row: Array, side: float) -> None:
        """Add a row."""
        self._instance.add_row(row, side, np.inf)
        self.numbers.append(number)
        self._inside.append((row, side))
        self._slack_for.append(0)

    def age(self) -> None:
        """Look at the optimum that was just found; leave out what was slack for too long."""
        sides = np.array([side for _, side in self._inside])
        slack = self._instance.row_values()[self._own :] - sides > MASTER_SLACK
        ages = np.where(slack, np.array(self._slack_for, dtype=int) + 1, 0)
        gone = ages > self._patience
        self._slack_for = ages[~gone].tolist()
        if not gone.any():
            return
        places = (self._own + np.flatnonzero(gone)).astype(np.int32)
        self._instance.call("deleteRows", len(places), places)
        whole = list(zip(self.numbers, self._inside, gone.tolist(), strict=True))
        self._outside += [(number, *row) for number, row, out in whole if out]
        self.numbers = [number for number, _, out in whole if not out]
        self._inside = [row for _, row, out in whole if not out]

    def recall(self, x: Array) -> int:
        """Add rows that were left out and that x misses; return how many."""
        if not self._outside:
            return 0
        sides = np.array([side for _, _, side in self._outside])
        missed = np.array([row for _, row, _ in self._outside]) @ x < sides - MASTER_MISSED
        if not missed.any():
            return 0
        given = list(zip(self._outside, missed.tolist(), strict=True))
        self._outside = [row for row, back in given if not back]
        for row, back in given:
            if back:
                self.add(*row)
        return int(missed.sum())
