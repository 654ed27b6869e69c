"""The values that belong to a basis of any program, computed from its codes with a few products."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparseopt.problems.base import Array

from ...common.compiled import compiled_in_place
from ..pivots.state import SingularKernel
from ..program import ScaledProgram


def limits(program: ScaledProgram, codes: Array) -> tuple[Array, Array]:
    """Return the limits (low, high) of each coordinate's free quantity, shapes (2, n).

    They are the two kinks around the piece that a coordinate is on, or the two slopes at
    the kink that it is at; constant and rate in lam.

    Parameters
    ----------
    program : ScaledProgram
        With n = p + m coordinates, variables first.
    codes : int array of shape (n,)
        2k: on piece k; 2k + 1: at kink k.

    Returns
    -------
    low, high : arrays of shape (2, n)
        Constants, and rates in lam; infinite where there is no limit.
    """
    codes = codes.astype(np.int64)
    low, high = np.zeros((2, len(codes))), np.zeros((2, len(codes)))
    _set_limits(
        codes, program.kink_ptr, program.slope_ptr, program.kinks, program.slopes, low, high
    )
    return low, high


@compiled_in_place
def _set_limits(
    codes: Array, kink_ptr: Array, slope_ptr: Array, kinks: Array, slopes: Array,
    low: Array, high: Array,
) -> None:  # fmt: skip
    for i in range(len(codes)):
        index = codes[i] // 2
        low[0, i], high[0, i] = -np.inf, np.inf
        if codes[i] % 2 == 1:
            at = slope_ptr[i] + index
            low[0, i], low[1, i] = slopes[0, at], slopes[1, at]
            high[0, i], high[1, i] = slopes[0, at + 1], slopes[1, at + 1]
            continue
        at = kink_ptr[i] + index
        if at < kink_ptr[i + 1]:
            high[0, i], high[1, i] = kinks[0, at], kinks[1, at]
        if index > 0:
            low[0, i], low[1, i] = kinks[0, at - 1], kinks[1, at - 1]


@_set_limits.in_numpy
def _(
    codes: Array, kink_ptr: Array, slope_ptr: Array, kinks: Array, slopes: Array,
    low: Array, high: Array,
) -> None:  # fmt: skip
    low[0], high[0] = -np.inf, np.inf
    index = codes // 2
    kinked = np.flatnonzero(codes % 2 == 1)
    slope = slope_ptr[kinked] + index[kinked]
    low[:, kinked] = slopes[:2, slope]
    high[:, kinked] = slopes[:2, slope + 1]
    on = np.flatnonzero(codes % 2 == 0)
    over = kink_ptr[on] + index[on]
    above = over < kink_ptr[on + 1]
    high[:, on[above]] = kinks[:2, over[above]]
    under = index[on] > 0
    low[:, on[under]] = kinks[:2, over[under] - 1]


class AffineBasis:
    r"""A basis with its values as affine functions of lam.

    Code 2k of a coordinate says that it is on its piece k, code 2k + 1 that it is at its kink k.
    With C the variables on a piece and R the rows at a kink the kernel is ``B = A[R, C]``, and

    .. math:: \theta_C = B^{-1}(t_R - A_{RN}\theta_N), \qquad
              B'\nu_R = -g_C - (A'\nu)_C \text{ over the rows on pieces}, \qquad g = -A'\nu.

    Attributes
    ----------
    codes : int array of shape (n,)
    C, R : int arrays of shape (k,)
    w, low, high : arrays of shape (2, n)
        Each coordinate's free quantity (its value on a piece, its multiplier at a kink) and the
        limits that it must stay between; constant and rate in lam.

    Raises
    ------
    SingularKernel
    """

    def __init__(self, program: ScaledProgram, codes: Array) -> None:
        self.program = program
        self.codes = codes.astype(np.int64)
        p = program.p
        on_piece = self.codes % 2 == 0
        self.C = np.flatnonzero(on_piece[:p])
        self.R = np.flatnonzero(~on_piece[p:])
        if len(self.C) != len(self.R):
            raise SingularKernel(f"the kernel is {len(self.R)} x {len(self.C)}")
        self.low, self.high = limits(program, self.codes)
        self.w = np.zeros((2, program.n))
        self._solve(on_piece)

    def _solve(self, on_piece: Array) -> None:
        program, C, R = self.program, self.C, self.R
        p = program.p
        kernel = program.block(R, C)
        fixed, sloped = np.flatnonzero(~on_piece[:p]), np.flatnonzero(on_piece[p:])

        rows = _product(program.times, fixed, self.kinks(fixed).T, program.n - p)
        theta_C = _solve_refined(kernel, self.kinks(p + R).T - rows[R])
        rows += _product(program.times, C, theta_C, program.n - p)

        back = _product(program.transpose_times, sloped, self.slopes(p + sloped).T, p)
        nu_R = _solve_refined(kernel.T, -self.slopes(C).T - back[C])
        back += _product(program.transpose_times, R, nu_R, p)

        self.w[:, C] = theta_C.T
        self.w[:, fixed] = -back[fixed].T
        self.w[:, p + R] = nu_R.T
        self.w[:, p + sloped] = rows[sloped].T

    def kinks(self, coordinates: Array) -> Array:
        """Return the kinks that the coordinates are at, shape (2, len)."""
        at = self.program.kink_ptr[coordinates] + self.codes[coordinates] // 2
        return self.program.kinks[:2, at]

    def slopes(self, coordinates: Array) -> Array:
        """Return the slopes of the pieces that the coordinates are on, shape (2, len)."""
        at = self.program.slope_ptr[coordinates] + self.codes[coordinates] // 2
        return self.program.slopes[:2, at]

    @cached_property
    def limits_of_sides(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """The limits (low, high) of the variables, and those of the rows, contiguous."""
        p = self.program.p
        of_variables, of_rows = (
            (np.ascontiguousarray(self.low[:, part]), np.ascontiguousarray(self.high[:, part]))
            for part in (slice(p), slice(p, None))
        )
        return of_variables, of_rows

    @cached_property
    def fixed(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """What does not vanish of variables at kinks, and of the multipliers of rows on pieces.

        For each the coordinates, shape (k,), and their constants and rates, shape (2, k).
        """
        on_piece, p = self.codes % 2 == 0, self.program.p
        found = []
        for index, values in (
            (np.flatnonzero(~on_piece[:p]), self.kinks),
            (p + np.flatnonzero(on_piece[p:]), self.slopes),
        ):
            of_index = values(index)
            moved = of_index.any(axis=0)
            found.append((index[moved], of_index[:, moved]))
        return found[0], found[1]

    def theta(self) -> Array:
        """Return the scaled coefficients, constant and rate, shape (2, p)."""
        p = self.program.p
        theta = self.w[:, :p].copy()
        fixed = np.flatnonzero(self.codes[:p] % 2 == 1)
        theta[:, fixed] = self.kinks(fixed)
        return theta


def _product(product: object, index: Array, values: Array, length: int) -> Array:
    """Return the product with the nonzero rows of `values`, shape (length, 2)."""
    moved = (values[:, 0] != 0.0) | (values[:, 1] != 0.0)
    if not moved.any():
        return np.zeros((length, 2))
    return np.asarray(product(index[moved], values[moved]))  # type: ignore[operator]


def _solve_refined(matrix: Array, rhs: Array) -> Array:
    """Solve a square system with one step of iterative refinement."""
    if len(matrix) == 0:
        return rhs
    try:
        inverse = np.linalg.inv(matrix)
    except np.linalg.LinAlgError as error:
        raise SingularKernel(str(error)) from error
    x = inverse @ rhs
    x += inverse @ (rhs - matrix @ x)
    if not np.isfinite(x).all():
        raise SingularKernel("the kernel of the basis is singular to working accuracy")
    return np.asarray(x)
