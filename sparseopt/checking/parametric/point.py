r"""One primal or dual point of a parametric problem, in coordinates.

The p variables and the m rows are one list of coordinates: z = (theta, A theta) with the functions
f = (phi, psi), and the multipliers v = (-A'nu, nu).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sparseopt.checking.tolerances import FEASIBILITY, NOISE, OBJECTIVE
from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

__all__ = [
    "DualPoint",
    "PrimalPoint",
    "coordinate_name",
    "dual_point",
    "largest",
    "objective_scale",
    "offset_at",
    "primal_point",
    "ratio_of",
]


@dataclass(frozen=True, eq=False)
class PrimalPoint:
    """z = (theta, A theta), and the size of the terms that each entry was added up from."""

    program: PiecewiseLinearProgram
    pieces: Pieces
    z: Array
    size: Array

    def name(self, coordinate: int) -> str:
        """Name a coordinate for a person."""
        return coordinate_name(self.program, coordinate)

    def violation(self, lam: float) -> tuple[float, int]:
        """Return the largest violation of a domain relative to its scale, and its coordinate."""
        low, high = self.pieces.domain(lam)
        amount = np.maximum(np.maximum(low - self.z, self.z - high), 0.0)
        kinks = largest(np.abs(self.pieces.kinks_at(lam)), self.pieces)
        noise = NOISE / FEASIBILITY * kinks.max(initial=0.0)
        return _worst(amount, kinks + self.size + noise)


@dataclass(frozen=True, eq=False)
class DualPoint:
    """v = (-A'nu, nu), and the size of the terms that each entry was added up from."""

    program: PiecewiseLinearProgram
    pieces: Pieces
    v: Array
    size: Array

    def name(self, coordinate: int) -> str:
        """Name a coordinate for a person."""
        return coordinate_name(self.program, coordinate)

    def violation(self, lam: float) -> tuple[float, int]:
        """Return how far v is outside the outer slopes relative to its scale, and where."""
        low, high = self.pieces.slope_range(lam)
        amount = np.maximum(np.maximum(low - self.v, self.v - high), 0.0)
        slopes = _slope_sizes(self.pieces, lam)
        noise = NOISE / FEASIBILITY * slopes.max(initial=0.0)
        return _worst(amount, slopes + self.size + noise)


def primal_point(
    program: PiecewiseLinearProgram, theta: Array, terms: Array | None = None
) -> PrimalPoint:
    """Evaluate theta, shape (p,).

    Parameters
    ----------
    program : PiecewiseLinearProgram
    theta : array of shape (p,)
    terms : array of shape (p,), optional
        Sizes of the terms that theta itself was added up from, default its absolute values.

    Raises
    ------
    ProblemError
        When its shape is another.
    """
    p = program.A.shape[1]
    if theta.shape != (p,):
        raise ProblemError(f"x has shape {theta.shape}; expected ({p},)", "x")
    absolute = np.abs(theta) if terms is None else terms
    # A bound at zero has no scale of its own: a variable's is that of the largest variable.
    return PrimalPoint(
        program,
        Pieces.concatenate(program.phi, program.psi),
        np.concatenate([theta, program.A.matvec(theta)]),
        np.concatenate([np.full(p, absolute.max(initial=0.0)), program.A.abs_matvec(absolute)]),
    )


def dual_point(program: PiecewiseLinearProgram, nu: Array) -> DualPoint:
    """Evaluate the row multipliers nu, shape (m,).

    Raises
    ------
    ProblemError
        When its shape is another.
    """
    m = program.A.shape[0]
    if nu.shape != (m,):
        raise ProblemError(f"nu has shape {nu.shape}; expected ({m},)", "nu")
    absolute = np.abs(nu)
    return DualPoint(
        program,
        Pieces.concatenate(program.phi, program.psi),
        np.concatenate([-program.A.rmatvec(nu), nu]),
        np.concatenate([program.A.abs_rmatvec(absolute), np.full(m, absolute.max(initial=0.0))]),
    )


def objective_scale(point: PrimalPoint, lam: float) -> float:
    r"""Return the sum of the absolute terms of the objective.

    That is :math:`\sum_i |f_i(z_i)| + |s_i| \sigma_i` with sigma_i the size of the terms of z_i and
    s_i the largest slope at z_i, or as close to it as rounding brings a value that is at a kink: a
    residual that vanishes has rounding errors too.
    """
    pieces, z = point.pieces, point.z
    low, high = pieces.domain(lam)
    inside = np.repeat(np.clip(z, low, high), pieces.counts)
    kinks, slopes = pieces.kinks_at(lam), np.abs(pieces.slopes_at(lam))
    slopes[np.isinf(slopes)] = 0.0
    size = np.where(np.arange(len(z)) < point.program.A.shape[1], np.abs(z), point.size)
    near = np.repeat(OBJECTIVE * size, pieces.counts)
    below = np.add.reduceat((kinks < inside - near).astype(np.int64), pieces.ptr[:-1])
    upto = np.add.reduceat((kinks <= inside + near).astype(np.int64), pieces.ptr[:-1])
    first = pieces.slope_ptr[:-1]
    slope = np.maximum(slopes[first + below], slopes[first + upto])
    return float(
        np.abs(pieces.value(z, lam)).sum() + slope @ size + offset_at(point.program, lam)[1]
    )


def offset_at(program: PiecewiseLinearProgram, lam: float) -> tuple[float, float]:
    """Return the program's constant at lam, and the sum of its absolute terms."""
    terms = program.offset * np.array([1.0, lam, lam * lam])
    return float(terms.sum()), float(np.abs(terms).sum())


def largest(values: Array, pieces: Pieces) -> Array:
    """Return the largest of the values of each function's kinks, shape (n,)."""
    return np.asarray(np.maximum.reduceat(values, pieces.ptr[:-1]))


def coordinate_name(program: PiecewiseLinearProgram, coordinate: int) -> str:
    """Name a coordinate for a person."""
    p = program.A.shape[1]
    return f"variable {coordinate}" if coordinate < p else f"row {coordinate - p}"


def ratio_of(amount: Array, scale: Array) -> Array:
    """Return amount / scale, 0 where the amount is 0, inf where only the scale is."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(amount == 0.0, 0.0, amount / scale)


def _slope_sizes(pieces: Pieces, lam: float) -> Array:
    slopes = np.abs(pieces.slopes_at(lam))
    slopes[np.isinf(slopes)] = 0.0
    return np.asarray(np.maximum.reduceat(slopes, pieces.slope_ptr[:-1]))


def _worst(amount: Array, scale: Array) -> tuple[float, int]:
    ratio = ratio_of(amount, scale)
    at = int(np.argmax(ratio))
    return float(ratio[at]), at
