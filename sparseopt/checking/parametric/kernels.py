r"""The kernels of bases: B = A[R, C] with the rows R at kinks and the variables C on pieces.

.. math:: B\,\theta_C = t_R - A_{RN}\theta_N, \qquad B'\nu_R = -g_C - (A_{PC})'\nu_P
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from sparseopt.checking.tolerances import RANK
from sparseopt.problems.base import Array

__all__ = ["Kernel", "SingularKernel"]

_STEPS = 20
"""Refinement steps in extended precision; each gains at least a digit on a regular kernel."""


class SingularKernel(ValueError):
    """The kernel of a basis is singular in double precision.

    `segment` counts from the beginning of the chunk that it was met in.
    """

    segment = 0


@dataclass(frozen=True, eq=False)
class Kernel:
    """A factorised kernel.

    Attributes
    ----------
    B : array of shape (k, k)
    rcond : float
        Estimate of the reciprocal condition number after rows and columns were scaled.
    row, column : arrays of shape (k,)
        Powers of two: diag(row) B diag(column) has entries near one.
    """

    B: Array
    rcond: float
    row: Array
    column: Array
    _factors: tuple[Array, Array]

    @classmethod
    def factorise(cls, B: Array, least: float = RANK) -> Kernel:
        """Factorise a kernel; the scaling is by powers of two, which rounds nothing.

        Parameters
        ----------
        B : array of shape (k, k)
        least : float
            Reciprocal condition number up to which it counts as singular. Default: RANK.

        Raises
        ------
        SingularKernel
        """
        column = _power_of_two(np.abs(B).max(axis=0))
        row = _power_of_two(np.abs(B * column).max(axis=1))
        scaled = B * column * row[:, None]
        lu, pivots, info = scipy.linalg.lapack.dgetrf(scaled)
        if info != 0:
            raise SingularKernel("is singular")
        norm = float(np.abs(scaled).sum(axis=0).max())
        rcond, _ = scipy.linalg.lapack.dgecon(lu, norm)
        if not rcond > least:
            raise SingularKernel(f"is singular (reciprocal condition number {rcond:.1g})")
        return cls(B, float(rcond), row, column, (lu, pivots))

    def solve(self, target: Array) -> Array:
        """Return x with B x = target, refined once; `target` has shape (k, q)."""
        x = self._apply(target)
        return np.asarray(x + self._apply(target - self.B @ x))

    def solve_transposed(self, target: Array) -> Array:
        """Return u with B'u = target, refined once; `target` has shape (k, q)."""
        u = self._apply_transposed(target)
        return np.asarray(u + self._apply_transposed(target - self.B.T @ u))

    def extended_error(self, x: Array, target: Array) -> float:
        """Return the largest error of x, relative to its largest entry.

        The reference is refined with residuals in extended precision (80 bits on x86) until it
        stands still.
        """
        B, b = self.B.astype(np.longdouble), target.astype(np.longdouble)
        exact = x.astype(np.longdouble)
        for _ in range(_STEPS):
            step = self._apply((b - B @ exact).astype(np.float64))
            exact = exact + step
            if np.abs(step).max() <= 1e-18 * float(np.abs(exact).max()):
                break
        size = float(np.abs(exact).max())
        return float(np.abs(exact - x).max()) / size if size > 0.0 else 0.0

    def _apply(self, target: Array) -> Array:
        y, _ = scipy.linalg.lapack.dgetrs(*self._factors, self.row[:, None] * target)
        return np.asarray(self.column[:, None] * y)

    def _apply_transposed(self, target: Array) -> Array:
        y, _ = scipy.linalg.lapack.dgetrs(*self._factors, self.column[:, None] * target, trans=1)
        return np.asarray(self.row[:, None] * y)


def _power_of_two(size: Array) -> Array:
    """Return the powers of two that bring positive sizes to about 1.

    Raises
    ------
    SingularKernel
    """
    if not (size > 0.0).all():
        raise SingularKernel("has a zero row or column")
    _, exponent = np.frexp(size)
    return np.ldexp(1.0, -exponent)
