"""The default for the relaxations: Clarabel, or our own method where matrices are large."""

from __future__ import annotations

from sparseopt.backend import Control

from .barrier import Barrier
from .clarabel_ import Clarabel
from .conic import NodeProgram
from .relaxation import Raw

__all__ = ["BySize"]

_LARGE = 18
"""From matrices of this order on, the dense blocks of a general conic solver cost more."""
_VARIABLES = 600


class BySize:
    """Chooses for each program; what fails in one of the two is tried in the other."""

    name = "auto"

    def __init__(self, control: Control, tolerance: float) -> None:
        self._clarabel = Clarabel(control, tolerance)
        self._barrier = Barrier(control, tolerance)

    def solve(self, program: NodeProgram, cutoff: float) -> Raw:
        """Solve by the one that is faster for the size."""
        large = max(program.sizes, default=0) >= _LARGE and len(program.q) <= _VARIABLES
        # Where Clarabel panicked at one node it would at many of the same tree.
        large = large or self._clarabel.panicked
        first, second = (
            (self._barrier, self._clarabel) if large else (self._clarabel, self._barrier)
        )
        raw = first.solve(program, cutoff)
        if raw.dual is None and raw.direction is None:
            again = second.solve(program, cutoff)
            if again.dual is not None or again.direction is not None:
                return again
        return raw
