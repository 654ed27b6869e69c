"""The matrices of the interior-point method: constraint, iterates, and how far they may go."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.linalg as la

from sparseopt.problems.base import Array

__all__ = ["MatrixConstraint", "matrix_room", "room"]


@dataclass(eq=False)
class MatrixConstraint:
    """S = B - sum_j x_j A_j, positive semidefinite, and its multiplier Z.

    Attributes
    ----------
    columns : int array of shape (k,)
        The variables in it.
    A : array of shape (k, s, s)
    B : array of shape (s, s)
    arrow : bool
        Whether it stands for a second-order cone.
    S, Z : array of shape (s, s)
        Iterates, positive definite.
    inverse, factor, dual_factor : array of shape (s, s)
        The inverse of S and the lower Cholesky factors of S and Z, after :meth:`factorise`.
    """

    columns: Array
    A: Array
    B: Array
    arrow: bool
    S: Array
    Z: Array
    inverse: Array = field(init=False)
    factor: Array = field(init=False)
    dual_factor: Array = field(init=False)

    @property
    def size(self) -> int:
        """The order of the matrix."""
        return len(self.B)

    def pull(self, M: Array) -> Array:
        """Return <A_j, M> for all j."""
        return np.asarray(self.A.reshape(len(self.A), -1) @ M.reshape(-1))

    def push(self, x: Array) -> Array:
        """Return sum_j x_j A_j."""
        flat = x[self.columns] @ self.A.reshape(len(self.A), -1)
        return np.asarray(flat.reshape(self.size, self.size))

    def factorise(self) -> None:
        """Factorise both iterates.

        Raises
        ------
        scipy.linalg.LinAlgError
            When one is not positive definite to working precision.
        """
        self.factor = la.cholesky(self.S, lower=True, check_finite=False)
        inverse = la.lapack.dpotri(self.factor, lower=1)[0]
        self.inverse = np.tril(inverse) + np.tril(inverse, -1).T
        self.dual_factor = la.cholesky(self.Z, lower=True, check_finite=False)


def room(value: Array, step: Array) -> float:
    """Return the largest t with value + t step >= 0."""
    down = step < 0.0
    return float((-value[down] / step[down]).min(initial=np.inf))


def matrix_room(factor: Array, step: Array) -> float:
    """Return the largest t with L L' + t step positive semidefinite, L the factor."""
    half = la.solve_triangular(factor, step, lower=True, check_finite=False)
    whole = la.solve_triangular(factor, half.T, lower=True, check_finite=False)
    least = float(np.linalg.eigvalsh(0.5 * (whole + whole.T))[0])
    return np.inf if least >= 0.0 else -1.0 / least
