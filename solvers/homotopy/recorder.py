"""What the engine leaves behind: the ranges of lam and the changes of basis between them."""

from __future__ import annotations

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.solvers.homotopy.basis import Basis

__all__ = ["Recorder"]


class Recorder:
    """Collects the segments of a path, and applies the user's stopping rules."""

    def __init__(self, params: SolveParams) -> None:
        self.max_knots = params.max_knots
        self.max_nonzeros = params.max_nonzeros
        self.low: list[float] = []
        self.high: list[float] = []
        self.first: Array = np.zeros(0, dtype=np.int16)
        self.last: Array = self.first
        self.change_ptr: list[int] = [0]
        self.changed: list[Array] = []
        self.change_code: list[Array] = []

    def __call__(self, basis: Basis, low: float, high: float) -> str | None:
        """Record one segment; return the rule that ends the path at its low end, if any."""
        if self._too_many_nonzeros(basis, low, high):
            return "max_nonzeros"
        if not self.low:
            self.first = basis.codes.copy()
            changed = np.zeros(0, dtype=np.int64)
        else:
            changed = np.flatnonzero(basis.codes != self.last)
        self.last = basis.codes.copy()
        self.changed.append(changed)
        self.change_code.append(self.last[changed])
        self.change_ptr.append(self.change_ptr[-1] + len(changed))
        self.low.append(low)
        self.high.append(high)
        if self.max_knots is not None and len(self.low) >= self.max_knots:
            return "max_knots"
        return None

    def _too_many_nonzeros(self, basis: Basis, low: float, high: float) -> bool:
        if self.max_nonzeros is None or not self.low:
            return False
        theta, _ = basis.solution()
        middle = 0.5 * (low + high)
        return int(np.count_nonzero(theta[0] + middle * theta[1])) > self.max_nonzeros

    @property
    def arrays(self) -> tuple[Array, Array, Array, Array, Array, Array]:
        """Return low, high, first codes, change_ptr, changed and change_code."""
        return (
            np.array(self.low),
            np.array(self.high),
            self.first,
            np.array(self.change_ptr, dtype=np.int64),
            np.concatenate([np.zeros(0, dtype=np.int64), *self.changed]),
            np.concatenate([np.zeros(0, dtype=np.int16), *self.change_code]),
        )
