r"""One primal or dual point of a parametric problem, in coordinates.

The p variables and the m rows are one list of coordinates: z = (theta, A theta) with the functions
f = (phi, psi), and the multipliers v = (-A'nu, nu).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from sparseopt.checking.parametric.evaluation.singles import singles_of
from sparseopt.checking.parametric.evaluation.units import units_of
from sparseopt.checking.tolerances import (
    FEASIBILITY,
    HEAVY,
    LOOSE,
    NOISE,
    OBJECTIVE,
    SUMMATION,
    prevailing,
)
from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

OF_X = ("feasibility of x", "objective of x")
"""Doubts about the rounding of x, which a proof about the exact solution takes back."""


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

    def violation(self, lam: float, units: Array | None = None) -> tuple[float, int]:
        """Return the largest violation of a domain relative to its scale, and its coordinate.

        `units` are those of the coordinates, by default as computed from the data, where a
        smaller scale does not do.
        """
        low, high = self.pieces.domain(lam)
        amount, scale = _outside(self.z, low, high), _passed(self.z, low, high) + self.size
        if units is None:
            ratio, at = _worst(amount, scale)
            if ratio <= FEASIBILITY:
                return ratio, at
            units = units_of(self.program).z(lam)
        return _worst(amount, scale + _noise(units))

    def strict_violation(self, lam: float) -> tuple[float, int]:
        """Return the same with the errors of the arithmetic, and a scale that the data allow.

        Terms count up to the coordinate's unit only. What is within the tolerance here is so
        whatever size the point has.
        """
        low, high = self.pieces.domain(lam)
        error = rounding_errors(self.size)
        error[: self.program.A.shape[1]] = 0.0
        amount, scale = _outside(self.z, low + error, high - error), _passed(self.z, low, high)
        ratio, at = _worst(amount, scale)
        if ratio <= FEASIBILITY:
            return ratio, at
        units = units_of(self.program)
        size = _own_units(self, slice(self.program.A.shape[1]))
        # where most kinks are so loose that nothing reaches them, these would excuse anything
        most = np.minimum(units.z(lam), LOOSE * np.maximum(scale, units.least_z(lam)))
        return _worst(amount, scale + np.minimum(size, most) + _noise(most))


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

    def violation(self, lam: float, units: Array | None = None) -> tuple[float, int]:
        """Return how far v is outside the outer slopes relative to its scale, and where."""
        low, high = self.pieces.slope_range(lam)
        units = units_of(self.program).v(lam) if units is None else units
        scale = _passed(self.v, low, high) + self.size + _noise(units)
        return _worst(_outside(self.v, low, high), scale)

    def excess(self, lam: float | Array) -> Array:
        """Return how far v may be outside the outer slopes, rounding errors included.

        Of q points, each at its own lam, given as an array of shape (q, 1).
        """
        low, high = self.pieces.slope_range(lam)
        p = self.program.A.shape[1]
        error = rounding_errors(self.size + _slope_sizes(self.pieces, lam))
        error[..., p:] = error[..., singles_of(self.program).columns] = 0.0
        return _outside(self.v, low + error, high - error)


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
        program.functions,
        np.concatenate([theta, program.A.matvec(theta)]),
        np.concatenate([np.full(p, absolute.max(initial=0.0)), program.A.abs_matvec(absolute)]),
    )


def dual_point(program: PiecewiseLinearProgram, nu: Array) -> DualPoint:
    """Evaluate row multipliers nu, or q of them together.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    nu : array of shape (m,) or (q, m)

    Returns
    -------
    DualPoint
        Its v and size have shape (p + m,) or (q, p + m).

    Raises
    ------
    ProblemError
        When its shape is another.
    """
    m = program.A.shape[0]
    if nu.shape[-1:] != (m,):
        raise ProblemError(f"nu has shape {nu.shape}; expected ({m},)", "nu")
    absolute = np.abs(nu)
    largest = np.broadcast_to(absolute.max(axis=-1, initial=0.0, keepdims=True), nu.shape)
    return DualPoint(
        program,
        program.functions,
        np.concatenate([-program.A.rmatvec(nu.T).T, nu], axis=-1),
        np.concatenate([program.A.abs_rmatvec(absolute.T).T, largest], axis=-1),
    )


class Scales(NamedTuple):
    """What errors of an objective value are proportional to.

    Attributes
    ----------
    size : float
        The sum of the absolute terms.
    data_size : float
        The same as far as the data allow it.
    rounding : float
        How far the errors of the arithmetic may have moved the value.
    """

    size: float
    data_size: float
    rounding: float


def objective_scales(point: PrimalPoint, lam: float, value: float = 0.0) -> Scales:
    r"""Return the sum of the absolute terms of the objective, and the same as the data allow.

    The first is :math:`\sum_i |f_i(z_i)| + |s_i| \sigma_i` with sigma_i the size of the terms of
    z_i and s_i the largest slope at it, or as close to it as rounding brings a value that is at a
    kink: a residual that vanishes has rounding errors too. In the second, sizes count up to the
    unit of their coordinate only, and products with slopes up to what prevails: a row of great
    weight that is fitted must not excuse errors elsewhere. Where the value is a quarter of the
    first, it is the value.

    Parameters
    ----------
    point : PrimalPoint
    lam : float
    value : float, optional
        The objective's value, where what is compared counts relative to it as well.

    Returns
    -------
    Scales
        In the units of the objective.
    """
    pieces, units = point.pieces, units_of(point.program)
    values, slope, size = terms_of(point, lam)
    whole = float(values.sum() + slope @ size)
    offset = offset_at(point.program, lam)[1]
    wide = float(units.objective(lam))
    sizes = whole + offset + NOISE / OBJECTIVE * wide
    rounding = float(errors_of_terms(point, whole + offset))
    if 4.0 * abs(value) >= sizes:
        return Scales(sizes, abs(value), rounding)
    kinks = largest(np.abs(pieces.kinks_at(lam)), pieces)
    products = slope * np.minimum(size, units.z(lam) + kinks)
    products = np.minimum(products, prevailing(products, HEAVY))
    strict = float(np.minimum(values, products).sum() + products.sum())
    narrow = float(units.rounding(lam, strict + offset))
    return Scales(sizes, strict + offset + NOISE / OBJECTIVE * narrow, rounding)


def terms_of(point: PrimalPoint, lam: float) -> tuple[Array, Array, Array]:
    """Return the absolute values of the functions, the slopes at the point, and sizes of z.

    Slopes are the largest at a coordinate, or as close to it as rounding brings a value that is at
    a kink. The size of a variable is its absolute value, that of a row what it is added up from.

    Parameters
    ----------
    point : PrimalPoint
    lam : float

    Returns
    -------
    values, slopes, sizes : arrays of shape (p + m,)
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
    return np.abs(pieces.value(z, lam)), slope, size


def errors_of_terms(point: PrimalPoint, terms: Array | float) -> Array:
    """Return how far errors of the arithmetic may have moved parts of the objective.

    Parameters
    ----------
    point : PrimalPoint
    terms : float or array
        What the parts were added up from.

    Returns
    -------
    array of the shape of terms
    """
    # A row is the sum of as many terms as there are nonzeros, the objective one of pairs.
    z = point.z
    count = np.count_nonzero(z[: point.program.A.shape[1]]) + math.log2(len(z)) + 16.0
    return np.asarray(count * float(np.finfo(float).eps) / 2.0 * terms)


def feasibility_doubt(point: PrimalPoint, lam: float) -> str:
    """Return why a point whose violations are within the tolerance may be infeasible, or "".

    Parameters
    ----------
    point : PrimalPoint
    lam : float

    Returns
    -------
    str
    """
    ratio, at = point.strict_violation(lam)
    if ratio <= FEASIBILITY:
        return ""
    return (
        f"the point at lam = {lam:g} may be infeasible: {point.name(at)} is off by {ratio:.3g} of "
        "its unit, which only the size of terms that cancel allows"
    )


def offset_at(program: PiecewiseLinearProgram, lam: float) -> tuple[float, float]:
    """Return the program's constant at lam, and the sum of its absolute terms.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    lam : float

    Returns
    -------
    value, size : float
    """
    terms = program.offset * np.array([1.0, lam, lam * lam])
    return float(terms.sum()), float(np.abs(terms).sum())


def largest(values: Array, pieces: Pieces) -> Array:
    """Return the largest of the values of each function's kinks, shape (n,).

    Parameters
    ----------
    values : array
        One for each kink, function by function.
    pieces : Pieces
        Of n functions.

    Returns
    -------
    array of shape (n,)
    """
    return np.asarray(np.maximum.reduceat(values, pieces.ptr[:-1]))


def coordinate_name(program: PiecewiseLinearProgram, coordinate: int) -> str:
    """Name a coordinate for a person.

    Parameters
    ----------
    program : PiecewiseLinearProgram
    coordinate : int
        0 to p + m - 1: variables, then rows.

    Returns
    -------
    str
    """
    p = program.A.shape[1]
    return f"variable {coordinate}" if coordinate < p else f"row {coordinate - p}"


def ratio_of(amount: Array, scale: Array) -> Array:
    """Return amount / scale, 0 where the amount is 0, inf where only the scale is.

    Parameters
    ----------
    amount, scale : arrays of one shape
        Not negative.

    Returns
    -------
    array of that shape
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(amount == 0.0, 0.0, amount / scale)


def _outside(values: Array, low: Array, high: Array) -> Array:
    return np.asarray(np.maximum(np.maximum(low - values, values - high), 0.0))


def _passed(values: Array, low: Array, high: Array) -> Array:
    """Return the size of the end that a value is beyond; of both it may be, where it is at one.

    The other end says nothing of rounding errors there: it may be far.
    """
    return np.abs(np.where(np.abs(values - low) <= np.abs(values - high), low, high))


def rounding_errors(size: Array) -> Array:
    """Return bounds of the rounding errors of sums whose terms have this size.

    Parameters
    ----------
    size : array of shape (..., n)
        Sums of at most n absolute terms.

    Returns
    -------
    array of the same shape
    """
    return np.asarray(max(SUMMATION, size.shape[-1] * float(np.finfo(float).eps)) * size)


def _noise(units: Array) -> Array:
    return np.where(np.isfinite(units), NOISE / FEASIBILITY * units, 0.0)


def _own_units(point: PrimalPoint, own: slice) -> Array:
    """Return the sizes of the terms, that of a variable being the largest of all, rescaled."""
    factor = units_of(point.program).factor
    size = point.size.copy()
    size[own] = (np.abs(point.z[own]) * factor[own]).max(initial=0.0) / factor[own]
    return size


def _slope_sizes(pieces: Pieces, lam: float | Array) -> Array:
    slopes = np.abs(pieces.slopes_at(lam))
    slopes[np.isinf(slopes)] = 0.0
    return np.asarray(np.maximum.reduceat(slopes, pieces.slope_ptr[:-1], axis=-1))


def _worst(amount: Array, scale: Array) -> tuple[float, int]:
    ratio = ratio_of(amount, scale)
    at = int(np.argmax(ratio))
    return float(ratio[at]), at
