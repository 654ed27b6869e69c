"""Sparse solutions of a matrix equation, up to an error in each entry."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector
from sparseopt.problems.fields import as_names, as_weight_matrix, check_lengths
from sparseopt.problems.parametric.kronecker import KroneckerMap
from sparseopt.problems.parametric.l1 import ConstrainedL1, ones_or
from sparseopt.problems.parametric.maps import DenseMap


def as_columns(theta: Array, rows: int, columns: int) -> Array:
    """Return the matrix whose columns, one below the other, are theta.

    Parameters
    ----------
    theta : array of shape (rows * columns,)
    rows, columns : int

    Returns
    -------
    array of shape (rows, columns)

    Raises
    ------
    ProblemError
        When theta has another length.
    """
    return as_vector("x", theta, rows * columns).reshape(rows, columns, order="F")


def entry_names(rows: list[str], columns: list[str]) -> list[str]:
    """Return the names "row,column" of a matrix's entries, column by column.

    Parameters
    ----------
    rows, columns : list of str

    Returns
    -------
    list of len(rows) * len(columns) str
    """
    return [f"{row},{column}" for column in columns for row in rows]


@dataclass(frozen=True, eq=False, repr=False)
class MatrixDantzig(ConstrainedL1):
    r"""A sparse matrix between two known ones (2.17).

    .. math:: \min_D \sum_{ab} W_{ab} |D_{ab}| \quad\text{subject to}\quad
              |(X D Z - Y)_{ij}| \le \lambda\, R_{ij} \;\text{ for all } i, j

    A solution is vec(D), the columns of D one below the other; :meth:`matrix` brings it back.

    Parameters
    ----------
    X : array of shape (m1, d1)
    Z : array of shape (d2, m2)
    Y : array of shape (m1, m2)
    weights : array of shape (d1, d2), optional
        The :math:`W_{ab} \ge 0` of the objective, default 1; 0 leaves an entry unpenalised. The
        adaptive form takes them large where a pilot estimate is small.
    row_weights : array of shape (m1, m2), optional
        The :math:`R_{ij} \ge 0` of the constraints, default 1; 0 makes an equation exact.
    names, column_names : sequences of d1 and d2 str, optional
        Of the rows and the columns of D. Default: their numbers.

    Notes
    -----
    lam is in the units of Y. In the general form A is the Kronecker product of Z' and X, which is
    never formed: 10,000 unknowns take a few MB.

    :class:`DifferentialNetwork` is the case X = S_X, Z = S_Y, Y = S_X - S_Y, and :class:`CLIME` the
    case Z = Y = I, with weights of its own for each entry if wanted.

    References
    ----------
    Equation (2.17) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import MatrixDantzig
    >>> problem = MatrixDantzig(X=np.ones((1, 2)), Z=np.ones((2, 1)), Y=[[3.0]])
    >>> problem.matrix(np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """

    X: Array
    Z: Array
    Y: Array
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None
    column_names: Sequence[str] | None = None

    kind: ClassVar[str] = "matrix-dantzig"

    def _coerce(self) -> None:
        for name in ("X", "Z", "Y"):
            self._set(name, as_matrix(name, getattr(self, name)))
        (m1, d1), (d2, m2) = self.X.shape, self.Z.shape
        self._set("weights", as_weight_matrix("weights", self.weights, (d1, d2)))
        self._set("row_weights", as_weight_matrix("row_weights", self.row_weights, (m1, m2)))
        self._set("names", as_names(self.names, d1))
        self._set("column_names", as_names(self.column_names, d2))

    def validate(self) -> None:
        """Check that the product X D Z has the shape of Y, and the lengths of columns."""
        expected = (self.X.shape[0], self.Z.shape[1])
        if self.Y.shape != expected:
            raise ProblemError(
                f"Y has shape {self.Y.shape}; expected {expected}, that of X D Z", "Y"
            )
        for name in ("X", "Z", "Y"):
            check_lengths(name, getattr(self, name))

    @property
    def size(self) -> Mapping[str, int]:
        (m1, d1), (d2, m2) = self.X.shape, self.Z.shape
        return {"m1": m1, "d1": d1, "d2": d2, "m2": m2}

    @property
    def coefficient_names(self) -> list[str]:
        sizes = self.X.shape[1], len(self.Z)
        named = zip((self.names, self.column_names), sizes, strict=True)
        return entry_names(*([str(name) for name in names or range(d)] for names, d in named))

    @property
    def matrix_map(self) -> KroneckerMap:
        """The Kronecker product of Z' and X; never formed."""
        return KroneckerMap(DenseMap(self.Z.T), DenseMap(self.X))

    @property
    def center(self) -> Array:
        """The columns of Y, shape (m1 m2,)."""
        return self.Y.ravel(order="F")

    @property
    def penalty_weights(self) -> Array:
        return ones_or(self.weights, (self.X.shape[1], len(self.Z))).ravel(order="F")

    @property
    def band_weights(self) -> Array:
        return ones_or(self.row_weights, self.Y.shape).ravel(order="F")

    def matrix(self, x: Array) -> Array:
        """Return the matrix D of a solution vec(D), shape (d1, d2)."""
        return as_columns(x, self.X.shape[1], len(self.Z))
