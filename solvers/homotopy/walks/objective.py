"""The optimal value of a basis in 106 bits, as a quadratic in the step of lam above a given lam."""

from __future__ import annotations

import numpy as np

from sparseopt.problems import PiecewiseLinearProgram
from sparseopt.problems.base import Array
from sparseopt.proofs.double_double import DoubleDouble

from ..program import ScaledProgram


class Objective:
    r"""Adds up the value of a basis from its points or from its multipliers.

    Where all variables' kinks are 0 and every function vanishes at all its kinks, the value without
    the offset is :math:`-\sum_i \nu_i t_i` over the rows. In general it is the offset and, for each
    coordinate, what its function has at the kink it is at, or at the kink a beside its piece that
    is nearer to where the function is zero, and beyond it: :math:`f_i = F_a + s (z - t_a)`.

    Parameters
    ----------
    program : ScaledProgram
    general : PiecewiseLinearProgram, optional
        The same in the user's units, for the value in general; None for the sum over the
        multipliers.
    """

    def __init__(self, program: ScaledProgram, general: PiecewiseLinearProgram | None) -> None:
        self._program = program
        self._general = general

    def at(self, codes: Array, w: DoubleDouble, nu: DoubleDouble, lam: float) -> Array:
        """Return the coefficients of the value in lam' - lam.

        Parameters
        ----------
        codes : int array of shape (n,)
        w : DoubleDouble of shape (2 or more, n)
            Constant and rate of what is free in each coordinate: z on a piece.
        nu : DoubleDouble of shape (2 or more, m)
            Constant and rate of the rows' multipliers.
        lam : float

        Returns
        -------
        array of shape (3,)
        """
        if self._general is None:
            return self._from_multipliers(codes, nu, lam)
        return self._from_point(self._general, codes, w, lam)

    def _from_multipliers(self, codes: Array, nu: DoubleDouble, lam: float) -> Array:
        program, p = self._program, self._program.p
        place = program.kink_ptr[p:-1] + np.maximum(codes[p:] - 1 + codes[p:] % 2, 0) // 2
        terms = _product(_moved(nu, lam), _moved(DoubleDouble(program.kinks[:2, place]), lam))
        return np.asarray(-terms.sum().high)

    def _from_point(
        self, general: PiecewiseLinearProgram, codes: Array, w: DoubleDouble, lam: float
    ) -> Array:
        program, functions = self._program, general.functions
        index, on = codes // 2, codes % 2 == 0
        anchor = program.kink_ptr[:-1] + index - (on & (index > functions.zeros))
        at = np.flatnonzero(on)
        slope = DoubleDouble(program.slopes[:2, program.slope_ptr[at] + index[at]])
        beyond = w[:2, at] - program.kinks[:2, anchor[at]]
        total = _product(_moved(slope, lam), _moved(beyond, lam)).sum()
        # A factor of a unit leaves values as they are: those at the kinks are the user's.
        powers = DoubleDouble(functions.kink_values[:, anchor].T).sum() + general.offset
        total[0] = total[0] + powers[0] + (powers[1] + powers[2] * lam) * lam
        total[1] = total[1] + powers[1] + powers[2] * (2.0 * lam)
        total[2] = total[2] + powers[2]
        return np.asarray(total.high)


def _moved(pair: DoubleDouble, lam: float) -> DoubleDouble:
    """Return (value at lam, rate) of (constant, rate)."""
    moved = pair[:2].copy()
    moved[0] = pair[0] + pair[1] * lam
    return moved


def _product(one: DoubleDouble, two: DoubleDouble) -> DoubleDouble:
    """Return the coefficients (k, 3) of the products of affine functions (2, k)."""
    product = DoubleDouble(np.empty((one.shape[1], 3)))
    product[:, 0] = one[0] * two[0]
    product[:, 1] = one[0] * two[1] + one[1] * two[0]
    product[:, 2] = one[1] * two[1]
    return product
