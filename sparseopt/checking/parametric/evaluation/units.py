r"""The units of a parametric problem's coordinates, multipliers and objective, from its data alone.

A violation is judged by the terms that were added up, but a result chooses its own terms: two
coordinates of 1e12 that cancel would make everything else look like rounding. So terms count only
up to what the data lead one to expect. With powers of two that bring the entries of
:math:`\tilde A = diag(r) A diag(c)` near one, lengths :math:`r_i z_i` of rows and :math:`z_j / c_j`
of variables can be compared with each other. The unit of a coordinate is what the kinks
:math:`\tilde t` of itself and of those it is coupled with send to it,

.. math:: T = \min(\max \tilde t, \;
          \tilde t + |\tilde A|' \tilde t + |\tilde A|'|\tilde A| \tilde t + \dots)

with a few terms; kinks at zero have the largest of all. A bound that is so loose that nothing ever
reaches it says nothing of the others' sizes: x <= 1e16 beside x <= 1 must not excuse x = 2. So what
is sent, and the largest of all, count up to 10^4 lower quartiles of the kinks (`prevailing` in
:mod:`sparseopt.checking.tolerances`). Nor must it excuse x = -1 where 0 <= x <= 1e16: a loose bound
counts in full only where it is the one that is violated. Units of multipliers follow from the
finite slopes, :math:`s_i / r_i` and :math:`s_j c_j`, in the same way. Constants and rates are
treated apart; rates count with at least the unit of lam, where the largest meets the constants.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from sparseopt.checking.tolerances import LOOSE, prevailing
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import LinearMap
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

__all__ = ["Units", "units_of"]

_HOPS = 2
"""How far kinks and slopes reach: to the variables of a row, to the rows of these, and back."""


@dataclass(frozen=True, eq=False)
class Units:
    """Units at any lam.

    Attributes
    ----------
    program : PiecewiseLinearProgram
    factor : array of shape (p + m,)
        Powers of two: 1 / c for variables, r for rows.
    lam : float
        The unit of lam; 0 where the data have none.
    largest : array of shape (4,)
        Of the coordinates' own kinks and slopes, constants and rates, scaled.
    top : array of shape (4, copies)
        The largest of each that prevails, in each of the blocks that A falls apart into.
    least : array of shape (4,)
        The smallest kinks and slopes that are not 0, constants and rates, scaled.
    least_lam : float
        The unit of lam by the smallest constants; 0 where the data have none.
    """

    program: PiecewiseLinearProgram
    factor: Array
    lam: float
    largest: Array
    top: Array
    least: Array
    least_lam: float

    @property
    def kinks(self) -> Array:
        """Units of constants and rates of kinks, in the coordinates' own units, (2, p + m)."""
        return self._reached[:2]

    @property
    def slopes(self) -> Array:
        """The same of slopes."""
        return self._reached[2:]

    @cached_property
    def _reached(self) -> Array:
        """What coordinates and those that they are coupled with send to each."""
        p = self.program.A.shape[1]
        row, column = self.factor[p:], 1.0 / self.factor[:p]
        sizes = [side // self.top.shape[1] for side in self.program.A.shape[::-1]]
        top = np.concatenate([np.repeat(self.top, size, axis=1) for size in sizes], axis=1)
        own = _own(self.program, self.factor)
        reached = _spread(self.program, own.T, top.T, row, column).T
        reached[:2] /= self.factor
        reached[2:] *= self.factor
        return reached

    def z(self, lam: float) -> Array:
        """Return the units of z at lam, shape (p + m,); infinite where the data have none."""
        return _or_infinite(self.kinks[0] + max(lam, self.lam) * self.kinks[1])

    def v(self, lam: float) -> Array:
        """Return the units of the multipliers at lam, shape (p + m,)."""
        return _or_infinite(self.slopes[0] + max(lam, self.lam) * self.slopes[1])

    def least_z(self, lam: Array | float) -> Array:
        """Return the units of z at lam by the smallest kinks alone, shape (p + m,)."""
        constant, rate = self.least[:2]
        return np.asarray((constant + np.maximum(lam, self.least_lam) * rate) / self.factor)

    def most(self, lam: float) -> tuple[Array, Array]:
        """Return bounds of z and v at lam, without a product with A."""
        constant, rate, slope, slope_rate = self.largest
        length = constant + max(lam, self.lam) * rate
        steepness = slope + max(lam, self.lam) * slope_rate
        return _or_infinite(length / self.factor), _or_infinite(steepness * self.factor)

    def objective(self, lam: Array | float) -> Array:
        """Return the unit of objective values at lam, or at each of several."""
        at = np.asarray(np.maximum(lam, self.lam))
        tops = self.top.reshape(*self.top.shape, *[1] * at.ndim)
        length, steepness = tops[0] + at * tops[1], tops[2] + at * tops[3]
        return np.asarray((length * steepness).max(axis=0))

    def rounding(self, lam: Array | float, terms: Array | float) -> Array:
        """Return the unit of rounding errors of objective values that such terms add up to.

        It is that of objective values, up to 10^4 times what the terms, or the smallest kinks, are:
        where most kinks are so loose that nothing reaches them, these would excuse anything.
        """
        at = np.asarray(np.maximum(lam, self.lam))
        steepness = (self.top[2] + np.multiply.outer(at, self.top[3])).max(axis=-1)
        smallest = (self.least[0] + at * self.least[1]) * steepness
        return np.asarray(np.minimum(self.objective(lam), LOOSE * np.maximum(terms, smallest)))


@lru_cache(maxsize=2)
def units_of(program: PiecewiseLinearProgram) -> Units:
    """Return the units of a program, from a few products with |A|.

    Parameters
    ----------
    program : PiecewiseLinearProgram

    Returns
    -------
    Units
    """
    factor = _factors(program.A)
    own = _own(program, factor)
    largest = own.max(axis=1, initial=0.0)
    copies, p = program.A.copies, program.A.shape[1]
    blocks = np.concatenate([part.reshape(4, copies, -1) for part in np.split(own, [p], 1)], 2)
    top = np.array([[prevailing(block) for block in side] for side in blocks])
    least = np.array([side[side > 0.0].min(initial=np.inf) for side in own])
    least[np.isinf(least)] = 0.0
    lam, least_lam = (_lam_unit(constants, largest) for constants in (top.max(axis=1), least))
    return Units(program, factor, lam, largest, top, least, least_lam)


def _lam_unit(constants: Array, largest: Array) -> float:
    """Return the least lam at which kinks or slopes that are constant meet the largest rates."""
    pairs = zip(constants[::2], largest[1::2], strict=True)
    return float(min((c / rate for c, rate in pairs if c > 0.0 and rate > 0.0), default=0.0))


def _own(program: PiecewiseLinearProgram, factor: Array) -> Array:
    """Return the coordinates' own kinks and slopes, constants and rates, scaled, (4, p + m)."""
    pieces = program.functions
    own = np.empty((4, len(pieces)))
    for row, kink in zip(own[:2], (pieces.kink, pieces.kink_rate), strict=True):
        np.multiply(_largest(np.abs(kink), pieces.ptr), factor, out=row)
    for row, slope in zip(own[2:], (pieces.slope, pieces.slope_rate), strict=True):
        finite = np.where(np.isinf(slope), 0.0, np.abs(slope))
        np.divide(_largest(finite, pieces.slope_ptr), factor, out=row)
    return own


@lru_cache(maxsize=2)
def _factors(A: LinearMap) -> Array:
    row, column = A.scales()
    return np.concatenate([1.0 / column, row])


def _spread(
    program: PiecewiseLinearProgram, own: Array, top: Array, row: Array, column: Array
) -> Array:
    """Send scaled sizes of coordinates, (p + m, q), up to `top`, to those they are coupled with."""
    p = program.A.shape[1]
    row, column = row[:, None], column[:, None]
    sent = total = np.minimum(own, top)
    for _ in range(_HOPS):
        given = row * total[p:], column * total[:p]
        if program.A.symmetric:
            # one product reads the matrix once
            both = program.A.abs_matvec(np.hstack(given))
            found = both[:, : own.shape[1]], both[:, own.shape[1] :]
        else:
            found = program.A.abs_rmatvec(given[0]), program.A.abs_matvec(given[1])
        total = sent + np.concatenate([column * found[0], row * found[1]])
    return np.where(total > 0.0, np.minimum(total, top), top)


def _largest(values: Array, ptr: Array) -> Array:
    return np.asarray(np.maximum.reduceat(values, ptr[:-1]))


def _or_infinite(units: Array) -> Array:
    return np.asarray(np.where(units > 0.0, units, np.inf))
