"""The problem with entries of about 1, the way back to its own units, and the status there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from sparseopt.params import SolveParams
from sparseopt.problems.base import Array
from sparseopt.problems.strs.problem import STRS
from sparseopt.proofs.sphere_values import on_sphere
from sparseopt.result import Limit, Status, relative_gap

from ..common.spheres import Incumbent
from .settings import SMALLEST_GAP

_KNOWN = 1e-10
"""Rounding error of a value, relative to it, up to which double precision is enough."""


@dataclass(frozen=True, eq=False)
class Scaled:
    """A problem divided by a power of two, which does not round.

    Attributes
    ----------
    problem : STRS
    A, a : arrays of shape (D, D) and (D,)
    d : int
    unit : float
        What values are multiplied by to be those of the problem.
    """

    problem: STRS
    A: Array
    a: Array
    d: int
    unit: float

    @classmethod
    def of(cls, problem: STRS) -> Scaled:
        """Divide by the power of two next to the largest entry."""
        size = problem.magnitude
        unit = 2.0 ** round(math.log2(size)) if size > 0.0 else 1.0
        return cls(problem, problem.A / unit, problem.linear / unit, problem.d, unit)

    def abs_tolerance(self, params: SolveParams) -> float:
        """Return the absolute gap that is asked, in scaled units, no smaller than rounding."""
        return max(SMALLEST_GAP, params.abs_gap / self.unit)

    def answer(
        self, best: Incumbent, bound: float, params: SolveParams, *, closed: bool
    ) -> tuple[Array, float, float]:
        """Return point, objective and bound in the problem's own units.

        Parameters
        ----------
        best : Incumbent
        bound : float
            In scaled units.
        params : SolveParams
        closed : bool
            Whether the gap is closed. Beside an optimum near 0 rounding errors of the data's size
            would still look like a gap.
        """
        x = best.point(len(self.a))
        objective = attained(self.problem, x)
        bound = max(objective, bound * self.unit)
        gap = bound - objective
        if closed and params.rel_gap * abs(objective) < gap <= SMALLEST_GAP * self.unit:
            bound = objective
        return x, objective, bound


def attained(problem: STRS, x: Array) -> float:
    """Return the objective of a point; where its terms cancel, that of its direction in 106 bits.

    Parameters
    ----------
    problem : STRS
    x : array of shape (D,)
    """
    S = np.flatnonzero(x)
    A, a, z = problem.A[np.ix_(S, S)], problem.linear[S], x[S]
    value, error = on_sphere(A, a, z)
    if error <= _KNOWN * abs(value):
        return problem.objective(x)
    return on_sphere(A, a, z, precise=True)[0]


def status_of(
    problem: STRS, objective: float, bound: float, params: SolveParams, limit: Limit | None
) -> tuple[Status, Limit | None]:
    """Return the status of a heuristic or a relaxation: OPTIMAL where its bound happens to do.

    Parameters
    ----------
    problem : STRS
    objective, bound : float
        In the problem's units.
    params : SolveParams
        Its gaps decide.
    limit : Limit or None
        What ended the solve.

    Returns
    -------
    Status
    Limit or None
        None for OPTIMAL.
    """
    gap = relative_gap(objective, bound, problem.value_unit)
    if (gap is not None and gap <= params.rel_gap) or bound - objective <= params.abs_gap:
        return Status.OPTIMAL, None
    return (Status.CONVERGED if limit is None else Status.FEASIBLE), limit
