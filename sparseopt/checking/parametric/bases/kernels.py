r"""The kernels of bases: B = A[R, C] with the rows R at kinks and the variables C on pieces.

.. math:: B\,\theta_C = t_R - A_{RN}\theta_N, \qquad B'\nu_R = -g_C - (A_{PC})'\nu_P

Those of one size are factorised and solved together: paths have thousands of small ones.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from sparseopt.checking.tolerances import RANK
from sparseopt.problems.base import Array

_LARGE = 32
"""Size above which kernels are factorised one by one, which takes less time than inverses."""
_WORK = 3e8
"""Sum of cubed sizes from which on that pays for importing SciPy's LAPACK."""
_STEPS = 20
"""Refinement steps in extended precision at most."""


class SingularBasis(ValueError):
    """The kernel of a basis is singular in double precision.

    `segment` counts from the beginning of the stack or chunk that it was met in.
    """

    segment = 0

    def __init__(self, message: str, segment: int = 0) -> None:
        super().__init__(message)
        self.segment = segment


@dataclass(frozen=True, eq=False)
class Kernels:
    """A stack of factorised kernels.

    Attributes
    ----------
    B : array of shape (g, k, k)
    rcond : array of shape (g,)
        Reciprocal condition numbers after rows and columns were scaled; of large kernels an
        estimate.
    row, column : arrays of shape (g, k)
        Powers of two: diag(row) B diag(column) has entries near one.
    """

    B: Array
    rcond: Array
    row: Array
    column: Array
    _factors: Any

    @classmethod
    def factorise(cls, B: Array, least: float = RANK) -> Self:
        """Factorise kernels; the scaling is by powers of two, which rounds nothing.

        Parameters
        ----------
        B : array of shape (g, k, k)
        least : float
            Reciprocal condition number up to which one counts as singular; 0 lets any kernel pass,
            for those who solve it otherwise. Default: RANK.

        Raises
        ------
        SingularBasis
        """
        size = np.abs(B)
        column = _power_of_two(size.max(axis=1))
        size *= column[:, None, :]
        row = _power_of_two(size.max(axis=2))
        scaled = B * column[:, None, :] * row[:, :, None]
        count, k = B.shape[:2]
        find = _with_lu if k > _LARGE and count * k**3 > _WORK else _with_inverses
        factors, rcond = find(scaled)
        kernels = cls(B, np.where(rcond > 0.0, rcond, 0.0), row, column, factors)
        if least > 0.0:
            kernels.demand(least)
        return kernels

    def demand(self, least: float) -> None:
        """Raise where a reciprocal condition number is not above the least one.

        Raises
        ------
        SingularBasis
        """
        for at in np.flatnonzero(~(self.rcond > least)).tolist():
            message = f"is singular (reciprocal condition number {self.rcond[at]:.1g})"
            raise SingularBasis(message, at)

    def __getitem__(self, part: slice) -> Self:
        """Return some of the kernels."""
        fields = (self.B, self.rcond, self.row, self.column, self._factors)
        return type(self)(*(field[part] for field in fields))

    def solve(self, target: Array) -> Array:
        """Return x with B x = target, refined once; `target` has shape (g, k, q)."""
        x = self._apply(target)
        return np.asarray(x + self._apply(target - self.B @ x))

    def solve_transposed(self, target: Array) -> Array:
        """Return u with B'u = target, refined once; `target` has shape (g, k, q)."""
        u = self._apply_transposed(target)
        return np.asarray(u + self._apply_transposed(target - self.B.transpose(0, 2, 1) @ u))

    def extended_error(self, x: Array, target: Array, *, transposed: bool = False) -> float:
        """Return the largest error of x with B x = target, relative to its largest entry.

        The reference is refined with residuals in extended precision (80 bits on x86) until the
        steps become no smaller.

        Parameters
        ----------
        x, target : arrays of shape (g, k, 1)
        transposed : bool, default False
            Whether the equations are B'x = target.
        """
        B = self.B.transpose(0, 2, 1) if transposed else self.B
        apply = self._apply_transposed if transposed else self._apply
        B, b = B.astype(np.longdouble), target.astype(np.longdouble)
        exact, before = x.astype(np.longdouble), np.inf
        for _ in range(_STEPS):
            step = apply((b - B @ exact).astype(np.float64))
            exact = exact + step
            length = float(np.abs(step).max())
            if not 0.0 < length < 0.5 * before:
                break
            before = length
        size = float(np.abs(exact).max())
        return float(np.abs(exact - x).max()) / size if size > 0.0 else 0.0

    def _apply(self, target: Array) -> Array:
        return np.asarray(self.column[:, :, None] * self._back(self.row[:, :, None] * target, 0))

    def _apply_transposed(self, target: Array) -> Array:
        return np.asarray(self.row[:, :, None] * self._back(self.column[:, :, None] * target, 1))

    def _back(self, right: Array, trans: int) -> Array:
        if isinstance(self._factors, np.ndarray):
            inverse = self._factors.transpose(0, 2, 1) if trans else self._factors
            return np.asarray(inverse @ right)
        from scipy.linalg.lapack import dgetrs

        pairs = zip(self._factors, right, strict=True)
        return np.stack([dgetrs(*factors, one, trans=trans)[0] for factors, one in pairs])


def _with_inverses(scaled: Array) -> tuple[Array, Array]:
    """Return the inverses and the reciprocal condition numbers; of singular ones zero."""
    try:
        inverses = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        inverses = np.zeros_like(scaled)
        for at, one in enumerate(scaled):
            with suppress(np.linalg.LinAlgError):
                inverses[at] = np.linalg.inv(one)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        rcond = 1.0 / (_norms(scaled) * _norms(inverses))
    return inverses, np.where(np.isfinite(rcond), rcond, 0.0)


def _with_lu(scaled: Array) -> tuple[list[tuple[Array, Array]], Array]:
    """Return LU factors and estimates of reciprocal condition numbers; of singular ones zero."""
    from scipy.linalg.lapack import dgecon, dgetrf

    factors, rcond = [], np.zeros(len(scaled))
    for at, norm in enumerate(_norms(scaled).tolist()):
        lu, pivots, info = dgetrf(scaled[at])
        if info == 0:
            rcond[at], _ = dgecon(lu, norm)
        factors.append((lu if info == 0 else np.eye(len(lu)), pivots))
    return factors, rcond


def _norms(matrices: Array) -> Array:
    return np.asarray(np.abs(matrices).sum(axis=1).max(axis=1))


def _power_of_two(sizes: Array) -> Array:
    """Return the powers of two that bring positive sizes, shape (g, k), to about 1.

    Raises
    ------
    SingularBasis
    """
    if not (sizes > 0.0).all():
        at = int(np.argmax((sizes <= 0.0).any(axis=1)))
        raise SingularBasis("has a zero row or column", at)
    _, exponent = np.frexp(sizes)
    return np.ldexp(1.0, -exponent)
