r"""Bases whose kernels are ill-conditioned, solved in 106 bits.

Double precision leaves a solution of a kernel with the reciprocal condition number r an error of
1e-16 / r. Below :data:`ILL` the values of the whole segment are computed in sums of two doubles,
from the matrix without rounding (:func:`sparseopt.proofs.double_double.exact_block`), and rounded
at the end.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from sparseopt.checking.parametric.bases.kernels import Kernels, SingularBasis
from sparseopt.checking.parametric.bases.tables import CodeTables
from sparseopt.checking.work import spend
from sparseopt.problems.base import Array
from sparseopt.problems.parametric.maps import GramMap, LinearMap
from sparseopt.proofs.double_double import (
    DoubleDouble,
    Singular,
    System,
    exact_block,
    product,
)

ILL = 1e-4
"""Reciprocal condition number below which a kernel is solved in 106 bits."""

_SECONDS = 20.0
"""Estimated time up to which the kernels of a certificate are solved so."""
_COMPILED = 0.25
"""What part of that kernels take where the loops are compiled."""
_ENTRIES = 10**6
"""Entries of a matrix, and products that an entry is a sum of, up to which it is formed."""


class PreciseMatrix:
    """The matrix of a program in 106 bits, formed when it is first needed; and a budget of work."""

    def __init__(self, A: LinearMap) -> None:
        self.A = A
        self._left = _SECONDS if _cost(A, *A.shape) <= _ENTRIES else 0.0

    @property
    def affordable(self) -> bool:
        """Whether the matrix is small enough, and time is left."""
        return self._left > 0.0

    def spend(self, k: int) -> None:
        """Charge the work for a kernel of size k."""
        m, p = self.A.shape
        seconds = 2e-3 + 4e-4 * k + 2e-7 * k**3 + 3e-6 * m * p
        self._left -= seconds
        spend(_COMPILED * seconds)

    @cached_property
    def block(self) -> DoubleDouble:
        """All of A, shape (m, p)."""
        m, p = self.A.shape
        return exact_block(self.A, np.arange(m), np.arange(p))


def _cost(A: LinearMap, rows: int, columns: int) -> int:
    return rows * columns * (A.inner if isinstance(A, GramMap) else 1)


def precise_solution(
    matrix: PreciseMatrix,
    tables: CodeTables,
    slots: Array,
    low: float,
    kernels: Kernels,
    at: int,
    rows: Array,
    columns: Array,
) -> tuple[Array, Array]:
    """Solve one segment's basis; return z and v of all coordinates, shape (2, p + m) each.

    Values at the lower end, and rates.

    Parameters
    ----------
    matrix : PreciseMatrix
    tables : CodeTables
    slots : int array of shape (p + m,)
    low : float
    kernels : Kernels
        In double precision.
    at : int
        Which of them is that of the rows and columns.
    rows, columns : int arrays of shape (k,)

    Raises
    ------
    SingularBasis
        When 106 bits are not enough, either.
    """
    A, p = matrix.block, matrix.A.shape[1]
    matrix.spend(len(rows))
    scale = kernels.row[at][:, None] * kernels.column[at]
    block = A[np.ix_(rows, columns)]
    known = []
    for line in (tables.kink, tables.slope):
        rate = line.rate[slots]
        value = DoubleDouble(rate) * low + line.constant[slots]
        known.append(
            DoubleDouble(np.stack([value.high, rate]), np.stack([value.low, np.zeros_like(rate)]))
        )
    kinks, slopes = known
    theta, nu = kinks[:, :p].copy(), slopes[:, p:].copy()
    target = kinks[:, p + rows] - product(A[rows], theta)
    pull = -slopes[:, columns] - product(A[:, columns].T, nu)
    try:
        system = System(DoubleDouble(block.high * scale, block.low * scale))
        theta[:, columns] = _times(
            system.solve(_times(target, kernels.row[at])), kernels.column[at]
        )
        multipliers = system.solve(_times(pull, kernels.column[at]), transposed=True)
        nu[:, rows] = _times(multipliers, kernels.row[at])
    except Singular as error:
        raise SingularBasis("is singular in 106 bits") from error
    z_rows, back = product(A, theta), product(A.T, nu)
    return (
        np.concatenate([theta.high, z_rows.high], axis=1),
        np.concatenate([-back.high, nu.high], axis=1),
    )


def _times(vectors: DoubleDouble, scale: Array) -> DoubleDouble:
    """Return the vectors times powers of two, without rounding."""
    return DoubleDouble(vectors.high * scale, vectors.low * scale)
