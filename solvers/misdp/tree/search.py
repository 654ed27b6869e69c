"""What a solve is made of: propagation, relaxations, points, and trees over them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sparseopt.backend import Control
from sparseopt.problems.misdp.problem import MISDP

from ..bounding.lower_bounds import Bounding, ConicBounding
from ..reductions.dual_interior import DualInterior
from ..reductions.propagation import Propagation
from ..relaxations.conic_solvers import conic_solver
from .integer_tree import IntegerTree, TreeSettings
from .orbits import OrbitalFixing
from .points import IncumbentFinder


class MISDPSearch:
    """The parts of one solve, which engines put together.

    Parameters
    ----------
    problem : MISDP
    options : mapping
        `relaxation`, `tolerance`, `branching`, `dives`, `certificate_numbers`.
    control : Control

    Attributes
    ----------
    careful : ConicSolver
        For programs without an interior.
    interior : DualInterior
        Ends of variables that have none.
    """

    def __init__(self, problem: MISDP, options: Mapping[str, Any], control: Control) -> None:
        self.problem = problem
        self.options = options
        self.control = control
        with control.building():
            self.propagation = Propagation(problem)
            chosen, tolerance = options["relaxation"], options["tolerance"]
            solver = conic_solver(chosen, control, tolerance)
            # Rays and curves lie where programs have no interior.
            self.careful = (
                solver if chosen != "auto" else conic_solver("careful", control, tolerance)
            )
            # What one solver cannot settle is tried with the other, and with a looser tolerance.
            names = [name for name in ("careful", "barrier") if name != chosen]
            others = [conic_solver(name, control, tolerance) for name in names]
            others.append(conic_solver("careful", control, 100.0 * tolerance))
            self.conic = ConicBounding(problem, solver, others)
            self.interior = DualInterior(self.conic, self.propagation)
            self.points = IncumbentFinder(problem, self.propagation, self.conic, control)

    def tree(
        self, bounding: Bounding, orbits: OrbitalFixing | None = None, **changes: Any
    ) -> IntegerTree:
        """Return a tree over the whole problem."""
        params = self.control.params
        settings = {
            "rel_gap": params.rel_gap,
            "abs_gap": params.abs_gap,
            "node_limit": params.node_limit,
            "branching": self.options["branching"],
            "dive_every": self.options["dives"],
            "capacity": self.options["certificate_numbers"],
        }
        return IntegerTree(
            self.problem,
            self.propagation,
            bounding,
            self.points,
            self.interior,
            self.control,
            TreeSettings(**{**settings, **changes}),
            orbits,
        )
