"""The cuts of several sources as a master's solver likes them: new ones, without tiny numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import numpy as np

from sparseopt.problems.base import Array

from .bounding import Box

__all__ = ["Cuts", "Feed"]

_TINY = 1e-7
"""Coefficients below this, beside a largest one of 1, are replaced by what they come to at most."""
_LOST = 1e-8
"""By how much that may move the side of a cut."""


class Cuts(Protocol):
    """Rows a'x >= b, of which there are more and more."""

    rows: list[Array]
    sides: list[float]


class Feed:
    """Hands on what is new in its sources.

    Parameters
    ----------
    sources : sequence of Cuts
    box : tuple of arrays of shape (n,)
        Bounds of all variables in the master.
    """

    def __init__(self, sources: Sequence[Cuts], box: Box) -> None:
        self._sources = sources
        self._box = box
        self._passed = [0 for _ in sources]

    def fresh(self) -> Iterator[tuple[Array, float]]:
        """Return rows and sides that were not returned before."""
        for k, source in enumerate(self._sources):
            begin, self._passed[k] = self._passed[k], len(source.rows)
            for row, side in zip(source.rows[begin:], source.sides[begin:], strict=True):
                yield self._slim(row, side)

    def _slim(self, row: Array, side: float) -> tuple[Array, float]:
        """Return a cut that follows from another one and has no tiny coefficients."""
        low, high = self._box
        tiny = np.flatnonzero((row != 0.0) & (np.abs(row) < _TINY))
        if len(tiny):
            most = np.maximum(row[tiny] * low[tiny], row[tiny] * high[tiny])
            gone = tiny[np.abs(most) <= _LOST / len(tiny)]
            if len(gone):
                side -= float(most[np.abs(most) <= _LOST / len(tiny)].sum())
                row = row.copy()
                row[gone] = 0.0
        return row, side
