"""The two shapes of the sparse models: a loss with an l1 penalty, and least l1 norm in a band."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.installed import Deferred
from sparseopt.names import with_intercept_name
from sparseopt.problems.base import Array, as_matrix, as_vector, is_sparse
from sparseopt.problems.fields import (
    as_bounds,
    as_names,
    as_weights,
    check_flag,
    check_lengths,
    column_names,
    names_in,
)
from sparseopt.problems.parametric.maps import LinearMap, as_linear_map
from sparseopt.problems.parametric.pieces import Pieces
from sparseopt.problems.parametric.problem import ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.remarks import regression_remarks

if TYPE_CHECKING:
    import scipy.sparse as sp
else:
    sp = Deferred("scipy.sparse")


def ones_or(weights: Array | None, shape: int | tuple[int, ...]) -> Array:
    """Return the weights, or ones where none are given.

    Parameters
    ----------
    weights : array of that shape, or None
    shape : int or tuple of int

    Returns
    -------
    array
    """
    return np.ones(shape) if weights is None else weights


def scaled_rows(matrix: Any, factor: Array) -> Any:
    """Return a matrix with each row times a number, sparse where it was.

    Parameters
    ----------
    matrix : array or csr_array of shape (n, d)
    factor : array of shape (n,)
    """
    if not is_sparse(matrix):
        return np.asarray(factor[:, None] * matrix)
    each = matrix.data * np.repeat(factor, np.diff(matrix.indptr))
    return sp.csr_array((each, matrix.indices, matrix.indptr), shape=matrix.shape)


def check_counted(sample_weights: Array | None) -> None:
    """Raise a ProblemError when there are weights of observations, and all of them are 0.

    Parameters
    ----------
    sample_weights : array of shape (n,), or None
    """
    if sample_weights is not None and not sample_weights.any():
        raise ProblemError("sample_weights are all 0; expected a positive one", "sample_weights")


class L1Problem(ParametricProblem):
    r"""A model with the weighted l1 norm :math:`\sum_j w_j |\theta_j|` of its coefficients."""

    bounds: Any = None
    """Bounds (low, high) on the coefficients of columns as an array of shape (2, d), or None."""

    @property
    @abstractmethod
    def penalty_weights(self) -> Array:
        """The w_j >= 0, shape (p,); 0 for an intercept and what else is unpenalised."""

    def _coefficients(self, x: Array) -> Array:
        return as_vector("x", x, len(self.penalty_weights))

    def l1_norm(self, x: Array) -> float:
        """Return sum_j w_j abs(x_j) of coefficients of shape (p,)."""
        return float(self.penalty_weights @ np.abs(self._coefficients(x)))

    def _program(self, A: LinearMap, penalty: Pieces, psi: Pieces) -> PiecewiseLinearProgram:
        """Return the general form, with the penalty on the bounds."""
        if self.bounds is None:
            return PiecewiseLinearProgram(A, penalty, psi)
        low, high = np.full((2, len(self.penalty_weights)), [[-np.inf], [np.inf]])
        low[: self.bounds.shape[1]], high[: self.bounds.shape[1]] = self.bounds
        return PiecewiseLinearProgram(A, penalty.within(low, high), psi)


class ConstrainedL1(L1Problem):
    r"""Least l1 norm within a band that lam widens.

    .. math:: \min_\theta \sum_j w_j |\theta_j| \quad\text{subject to}\quad
              |(A\theta)_i - c_i| \le \lambda\, r_i \;\text{ for all } i
    """

    @property
    @abstractmethod
    def matrix_map(self) -> LinearMap:
        """The matrix A, shape (m, p)."""

    @property
    @abstractmethod
    def center(self) -> Array:
        """The c_i, shape (m,)."""

    @property
    @abstractmethod
    def band_weights(self) -> Array:
        """The r_i >= 0, shape (m,)."""

    def canonical(self) -> PiecewiseLinearProgram:
        """Phi = w abs within the bounds, psi = indicator of abs(z - c) <= lam r."""
        band = Pieces.lam_band(self.center, self.band_weights)
        return self._program(self.matrix_map, Pieces.absolute(self.penalty_weights), band)

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return sum_j w_j abs(x_j); it does not depend on lam."""
        return self.l1_norm(x)


class PenalisedL1(L1Problem):
    r"""A piecewise-linear loss of linear predictors with an l1 penalty.

    .. math:: \min_{\theta, \beta} \sum_i \ell_i(x_i'\theta + \beta)
              + \lambda \sum_j w_j |\theta_j|

    The intercept beta is free, and the last coefficient, where there is one. The solution is
    piecewise constant in lam and jumps at the knots.
    """

    X: Any
    y: Array
    fit_intercept: bool
    weights: Array | None
    names: Sequence[str] | None
    sample_weights: Array | None

    def _coerce(self) -> None:
        names, X = names_in(self.names, self.X), as_matrix("X", self.X, allow_sparse=True)
        n, d = X.shape
        self._set("X", X)
        self._set("y", as_vector("y", self.y, n))
        self._set("sample_weights", as_weights("sample_weights", self.sample_weights, n))
        self._set("weights", as_weights("weights", self.weights, d))
        self._set("bounds", as_bounds(self.bounds, d))
        self._set("names", as_names(names, d))

    def validate(self) -> None:
        """Check `fit_intercept` and the lengths of columns."""
        check_flag("fit_intercept", self.fit_intercept)
        check_counted(self.sample_weights)
        check_lengths("X", self.X)
        check_lengths("y", self.y)

    def remarks(self) -> tuple[str, ...]:
        return regression_remarks(
            self.X, self.y, self.fit_intercept, self.weights is not None, self.names
        )

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "d": self.X.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        names = column_names(self.names, self.X.shape[1])
        return with_intercept_name(names) if self.fit_intercept else names

    @property
    def penalty_weights(self) -> Array:
        weights = ones_or(self.weights, self.X.shape[1])
        return np.append(weights, 0.0) if self.fit_intercept else weights

    @property
    def counts(self) -> Array:
        """How often each observation counts, shape (n,)."""
        return ones_or(self.sample_weights, len(self.y))

    @property
    def design(self) -> Any:
        """X, with a last column of ones where an intercept is fitted; sparse as X is."""
        if not self.fit_intercept:
            return self.X
        ones = np.ones((len(self.y), 1))
        if is_sparse(self.X):
            return sp.csr_array(sp.hstack([self.X, sp.csr_array(ones)]))
        return np.hstack([self.X, ones])

    @property
    def predictors(self) -> Any:
        """The canonical A, whose rows' values the loss is a function of: the design."""
        return self.design

    @abstractmethod
    def loss(self, x: Array) -> float:
        """Return the loss of the coefficients `x`, shape (p,), without the penalty."""

    @abstractmethod
    def loss_pieces(self) -> Pieces:
        """Return the loss as a function of each row of the canonical A."""

    def canonical(self) -> PiecewiseLinearProgram:
        """A = the predictors, phi = lam w abs (0 for the intercept), psi = the loss of each row."""
        penalty = Pieces.lam_absolute(self.penalty_weights)
        return self._program(as_linear_map(self.predictors), penalty, self.loss_pieces())

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the loss plus lam times the weighted l1 norm of x, shape (p,)."""
        if lam is None:
            raise ProblemError(f"{self.kind} is evaluated at a value of lam: give lam")
        return self.loss(x) + float(lam) * self.l1_norm(x)
