"""The one form in which problems are handed to outside solvers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.problems.base import Array

if TYPE_CHECKING:
    import scipy.sparse as sp


@dataclass(frozen=True, eq=False)
class QuadraticRow:
    """The constraint low <= x'Qx + a'x <= high, with Q symmetric and sparse."""

    Q: sp.csc_array
    a: Array
    low: float
    high: float


@dataclass(frozen=True, eq=False)
class IndicatorRow:
    """The constraint low <= a'x <= high where the binary column is 1, a as its nonzero values."""

    binary: int
    columns: Array
    values: Array
    low: float
    high: float

    @property
    def sides(self) -> list[tuple[float, float]]:
        """The finite ends as (sign, side): sign a'x <= side."""
        ends = [(1.0, self.high), (-1.0, -self.low)]
        return [(sign, side) for sign, side in ends if np.isfinite(side)]


@dataclass(frozen=True, eq=False)
class Cone:
    r"""Columns x_k in a second-order cone.

    ``rotated=False``: :math:`x_{k_0} \ge \|(x_{k_1}, \dots)\|`; with True:
    :math:`2 x_{k_0} x_{k_1} \ge \|(x_{k_2}, \dots)\|^2`, both factors nonnegative. No column is in
    two cones.
    """

    columns: Array
    rotated: bool = False


@dataclass(frozen=True, eq=False)
class PSDBlock:
    r"""The constraint that :math:`\sum_j x_j A_j + C` is positive semidefinite.

    Attributes
    ----------
    size : int
        Order n of the matrices.
    matrix : csc array of shape (n (n + 1) / 2, columns)
        The lower triangles of :math:`A_j`, one in each column, packed column by column
        (:func:`sparseopt.problems.misdp.cones.triangle`).
    constant : array of shape (n (n + 1) / 2,)
        That of C.
    """

    size: int
    matrix: sp.csc_array
    constant: Array


@dataclass(frozen=True, eq=False)
class Program:
    r"""A mixed-integer program with linear, quadratic, conic and semidefinite constraints.

    .. math:: \min\; x'Qx + c'x \quad\text{subject to}\quad
              l_r \le A x \le u_r,\; l \le x \le u,\; x_I \text{ integer}, \dots

    Attributes
    ----------
    cost, low, high : arrays of shape (n,)
    matrix : csc array of shape (m, n)
    row_low, row_high : arrays of shape (m,)
    offset : float
        A constant added to the objective, which relative gaps are measured with.
    integer : bool array of shape (n,), or None
    quadratic : csc array of shape (n, n), or None
        Q, symmetric; not halved.
    quadratic_rows : tuple of QuadraticRow
    cones : tuple of Cone
    psd : tuple of PSDBlock
    indicators : tuple of IndicatorRow
    """

    cost: Array
    low: Array
    high: Array
    matrix: sp.csc_array
    row_low: Array
    row_high: Array
    offset: float = 0.0
    integer: Array | None = None
    quadratic: sp.csc_array | None = None
    quadratic_rows: tuple[QuadraticRow, ...] = ()
    cones: tuple[Cone, ...] = ()
    psd: tuple[PSDBlock, ...] = ()
    indicators: tuple[IndicatorRow, ...] = ()

    @property
    def integers(self) -> Array:
        """The integer columns."""
        return np.flatnonzero(self.integer) if self.integer is not None else np.zeros(0, np.int64)

    @property
    def linear(self) -> bool:
        """Whether it is a linear program, whose optimal basis determines everything."""
        curved = self.quadratic is not None or self.quadratic_rows or self.cones or self.psd
        return not curved and len(self.integers) == 0
