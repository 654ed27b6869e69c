"""Which conic solvers the relaxations can have, and the default among them."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable

from sparseopt.backend import Control
from sparseopt.compiling import Mode, mode
from sparseopt.errors import BackendUnavailable

from ..settings import BARRIER_ORDER, BARRIER_SMALL_ORDER, BARRIER_VARIABLES, CALLS
from .barrier import Barrier
from .clarabel_ import ClarabelRelaxation
from .conic import NodeProgram
from .interior import interior_point
from .relaxation import ConicSolver, Raw
from .scs_ import ScsRelaxation


class BySize:
    """Chooses for each program; what fails in one of the two is tried in the other."""

    name = "auto"

    def __init__(self, control: Control, tolerance: float, compiled: bool = True) -> None:
        self._clarabel = ClarabelRelaxation(control, tolerance)
        self._barrier = Barrier(control, tolerance)
        self._compiled = compiled and mode() is not Mode.NEVER
        self._there = mode() is Mode.NOW
        self._solves = 0

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve by the one that is faster for the size."""
        order, k = max(program.sizes, default=0), len(program.q)
        small = k <= BARRIER_VARIABLES
        if not self._ready():
            # In plain Python our own takes milliseconds a step.
            small = small and (
                order >= BARRIER_ORDER or (order >= BARRIER_SMALL_ORDER and k <= 2 * order)
            )
        # Where Clarabel fails at one node it does at many of the same tree.
        small = small or self._clarabel.failed
        first, second = (
            (self._barrier, self._clarabel) if small else (self._clarabel, self._barrier)
        )
        raw = first.solve(program, cutoff, loose)
        if raw.dual is None and raw.direction is None:
            again = second.solve(program, cutoff, loose)
            if again.dual is not None or again.direction is not None:
                return again
        return raw

    def _ready(self) -> bool:
        """Return whether to take our own compiled loops; a call now and then asks for them."""
        if not self._compiled:
            return False
        if not self._there and self._solves % CALLS == 0:
            self._there = interior_point.cache.on_disk()
        self._solves += 1
        return self._there or self._solves % CALLS == 0


def _mosek(control: Control, tolerance: float) -> ConicSolver:
    from .mosek_ import MosekRelaxation

    return MosekRelaxation(control, tolerance)


def _careful(control: Control, tolerance: float) -> ConicSolver:
    return BySize(control, tolerance, compiled=False)


_SOLVERS: dict[str, tuple[str | None, Callable[[Control, float], ConicSolver]]] = {
    "auto": (None, BySize),
    "careful": (None, _careful),
    "clarabel": ("misdp", ClarabelRelaxation),
    "scs": ("misdp", ScsRelaxation),
    "mosek": ("mosek", _mosek),
    "barrier": (None, Barrier),
}
"""For each solver the extra of its package, None where it needs none, and what makes one."""

RELAXATIONS = tuple(name for name in _SOLVERS if name != "careful")
"""Values of the option `relaxation`."""


def conic_solver(name: str, control: Control, tolerance: float) -> ConicSolver:
    """Return the solver of that name.

    Parameters
    ----------
    name : str
        One of `RELAXATIONS`, or "careful": Clarabel for all but large matrices. That and "auto"
        are "barrier" where Clarabel is not installed.
    control : Control
    tolerance : float
        Relative, of residuals and gap.

    Raises
    ------
    BackendUnavailable
        When its package is not installed; a LicenseError where MOSEK has no licence.
    """
    extra, make = _SOLVERS[name]
    if extra is not None and importlib.util.find_spec(name) is None:
        raise BackendUnavailable(
            f"relaxation={name!r} needs the package {name}, which is not installed: "
            f"pip install 'sparseopt[{extra}]', or take relaxation='barrier'"
        )
    if name in ("auto", "careful") and importlib.util.find_spec("clarabel") is None:
        make = Barrier
    return make(control, tolerance)
