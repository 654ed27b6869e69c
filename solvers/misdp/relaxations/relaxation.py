"""What a solver of conic relaxations is given and returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from sparseopt.problems.base import Array

from .conic import NodeProgram


@dataclass(frozen=True, eq=False)
class Raw:
    """What a solver returns; nothing of it counts before it has been recomputed.

    Attributes
    ----------
    x : array or None
        Values of the free variables.
    dual : array or None
        ConicMultipliers of b - C x in K, or a ray of them that disproves feasibility (`ray`).
    direction : array or None
        A direction of the free variables along which the costs fall without end.
    ray : bool
    word : str
        The solver's own status.
    state : array or None
        The last iterate, where boxes inside may begin.
    """

    x: Array | None
    dual: Array | None
    word: str
    direction: Array | None = None
    ray: bool = False
    state: Array | None = None


class ConicSolver(Protocol):
    """A solver of one program after another."""

    name: str

    def solve(self, program: NodeProgram, cutoff: float, loose: float = 0.0) -> Raw:
        """Solve; it may stop early.

        Parameters
        ----------
        program : NodeProgram
        cutoff : float
            Without the constant: a dual value beyond it is enough.
        loose : float, default 0
            So is this relative gap where the optimum is clearly below the cutoff.
        """
