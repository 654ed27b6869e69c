r"""The units of a parametric problem's coordinates, multipliers and objective, from its data alone.

A violation is judged by the terms that were added up, but a result chooses its own terms: two
coordinates of 1e12 that cancel would make everything else look like rounding. So terms count only
up to what the data lead one to expect. With powers of two that bring the entries of
:math:`\tilde A = diag(r) A diag(c)` near one, lengths :math:`r_i z_i` of rows and :math:`z_j / c_j`
of variables can be compared with each other. The unit of a coordinate is what the kinks
:math:`\tilde t` of itself and of those it is coupled with send to it,

.. math:: T = \min(\max \tilde t, \;
          \tilde t + |\tilde A|' \tilde t + |\tilde A|'|\tilde A| \tilde t + \dots)

with a few terms; kinks at zero have the largest of all. Units of multipliers follow from the finite
slopes, :math:`s_i / r_i` and :math:`s_j c_j`, in the same way. Constants and rates are treated
apart; rates count with at least the unit of lam, the ratio of constants to rates.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sparseopt.problems.base import Array
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import PiecewiseLinearProgram

__all__ = ["Units", "units_of"]

_HOPS = 2
"""How far kinks and slopes reach: to the variables of a row, to the rows of these, and back."""


@dataclass(frozen=True, eq=False)
class Units:
    """Units at any lam.

    Attributes
    ----------
    factor : array of shape (p + m,)
        Powers of two: 1 / c for variables, r for rows.
    lam : float
        The unit of lam; 0 where the data have none.
    kinks, slopes : arrays of shape (2, p + m)
        Units of constants and of rates, in the coordinates' own units.
    top : array of shape (2, 2)
        The largest of kinks and slopes, constants and rates, scaled.
    """

    factor: Array
    lam: float
    kinks: Array
    slopes: Array
    top: Array

    def z(self, lam: float) -> Array:
        """Return the units of z at lam, shape (p + m,); infinite where the data have none."""
        return _or_infinite(self.kinks[0] + max(lam, self.lam) * self.kinks[1])

    def v(self, lam: float) -> Array:
        """Return the units of the multipliers at lam, shape (p + m,)."""
        return _or_infinite(self.slopes[0] + max(lam, self.lam) * self.slopes[1])

    def objective(self, lam: float) -> float:
        """Return the unit of objective values at lam."""
        length, steepness = self.top[:, 0] + max(lam, self.lam) * self.top[:, 1]
        return float(length * steepness)


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
    row, column = program.A.scales()
    factor = np.concatenate([1.0 / column, row])
    pieces = Pieces.concatenate(program.phi, program.psi)
    kinks = [_largest(np.abs(t), pieces.ptr) * factor for t in (pieces.kink, pieces.kink_rate)]
    slopes = []
    for slope in (pieces.slope, pieces.slope_rate):
        finite = np.where(np.isinf(slope), 0.0, np.abs(slope))
        slopes.append(_largest(finite, pieces.slope_ptr) / factor)
    top = np.array([[part.max(initial=0.0) for part in pair] for pair in (kinks, slopes)])
    ratios = [one / two for one, two in top if one > 0.0 and two > 0.0]
    spread = _spread(program, np.stack([*kinks, *slopes], axis=1), row, column).T
    return Units(factor, min(ratios, default=0.0), spread[:2] / factor, spread[2:] * factor, top)


def _spread(program: PiecewiseLinearProgram, own: Array, row: Array, column: Array) -> Array:
    """Send scaled sizes of coordinates, (p + m, q), to those that they are coupled with."""
    p = program.A.shape[1]
    row, column = row[:, None], column[:, None]
    total = own
    for _ in range(_HOPS):
        variables = own[:p] + column * program.A.abs_rmatvec(row * total[p:])
        rows = own[p:] + row * program.A.abs_matvec(column * total[:p])
        total = np.concatenate([variables, rows])
    top = own.max(axis=0, initial=0.0)
    return np.asarray(np.where(total > 0.0, np.minimum(total, top), top))


def _largest(values: Array, ptr: Array) -> Array:
    return np.asarray(np.maximum.reduceat(values, ptr[:-1]))


def _or_infinite(units: Array) -> Array:
    return np.asarray(np.where(units > 0.0, units, np.inf))
