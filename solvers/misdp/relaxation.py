"""What a conic relaxation returns, and which solvers there are for it."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from typing import Protocol

from sparseopt.backend import Control
from sparseopt.errors import BackendUnavailable
from sparseopt.problems.base import Array

from .conic import NodeProgram

__all__ = ["RELAXATIONS", "ConicSolver", "Raw", "conic_solver"]

RELAXATIONS = ("auto", "clarabel", "scs", "mosek", "barrier")
"""Values of the option `relaxation`."""


@dataclass(frozen=True, eq=False)
class Raw:
    """What a solver says; nothing of it is believed before it has been recomputed.

    Attributes
    ----------
    x : array or None
        Values of the free variables.
    dual : array or None
        Multipliers of b - C x in K, or a ray of them that disproves feasibility (`ray`).
    direction : array or None
        A direction of the free variables along which the costs fall for ever.
    ray : bool
    word : str
        The solver's own word.
    """

    x: Array | None
    dual: Array | None
    word: str
    direction: Array | None = None
    ray: bool = False


class ConicSolver(Protocol):
    """A solver of one program after another."""

    name: str

    def solve(self, program: NodeProgram, cutoff: float) -> Raw:
        """Solve; it may stop once the dual value exceeds `cutoff` (without the constant)."""


def conic_solver(name: str, control: Control, tolerance: float) -> ConicSolver:
    """Return the solver of that name.

    Raises
    ------
    BackendUnavailable
        When its package is not installed; a LicenseError where MOSEK has no licence.
    """
    extra = {"clarabel": "misdp", "scs": "misdp", "mosek": "mosek"}.get(name)
    if extra is not None and importlib.util.find_spec(name) is None:
        raise BackendUnavailable(
            f"relaxation={name!r} needs the package {name}, which is not installed: "
            f"pip install 'sparseopt[{extra}]', or take relaxation='barrier'"
        )
    if name == "clarabel":
        from .clarabel_ import Clarabel

        return Clarabel(control, tolerance)
    if name == "scs":
        from .scs_ import Scs

        return Scs(control, tolerance)
    if name == "mosek":
        from .mosek_ import Mosek

        return Mosek(control, tolerance)
    from .barrier import Barrier

    if name == "auto" and importlib.util.find_spec("clarabel") is not None:
        from .by_size import BySize

        return BySize(control, tolerance)
    return Barrier(control, tolerance)
