"""SCS for the relaxations: a splitting method, for large matrices and modest precision."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.backend import Control

from ..settings import SCS_ITERATIONS
from .conic import NodeProgram
from .relaxation import Raw


class ScsRelaxation:
    """Solves programs by SCS, each from the solution of the last one of the same shape."""

    name = "scs"

    def __init__(self, control: Control, tolerance: float) -> None:
        with control.uncounted():
            import scs
        self._scs = scs
        self._control = control
        self._tolerance = max(tolerance, 1e-8)
        self._last: dict[tuple[int, ...], Any] = {}

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve, within the time that is left."""
        cone: dict[str, Any] = {"z": program.zero, "l": program.nonnegative}
        if program.orders:
            cone["q"] = list(program.orders)
        if program.sizes:
            cone["s"] = list(program.sizes)
        settings: dict[str, Any] = {
            "verbose": False,
            "eps_abs": self._tolerance,
            "eps_rel": self._tolerance,
            "eps_infeas": min(self._tolerance, 1e-8),
            "max_iters": SCS_ITERATIONS,
        }
        if self._control.remaining is not None:
            settings["time_limit_secs"] = max(self._control.remaining, 1e-3)
        data = {"A": sp.csc_matrix(program.matrix), "b": program.b, "c": program.q}
        shape = (*program.matrix.shape, program.zero, *program.orders, *program.sizes)
        start = self._last.get(shape, {})
        solution = self._scs.SCS(data, cone, **settings).solve(bool(start), **start)
        word = str(solution["info"]["status"])
        x, y, s = (np.asarray(solution[key]) for key in ("x", "y", "s"))
        if word.startswith("infeasible"):
            return Raw(None, y, word, ray=True) if np.isfinite(y).all() else Raw(None, None, word)
        if word.startswith("unbounded"):
            return Raw(None, None, word, direction=x if np.isfinite(x).all() else None)
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            return Raw(None, None, word)
        self._last[shape] = {"x": x, "y": y, "s": s}
        return Raw(x, y, word)
