"""Sparse Gaussian networks: one precision matrix, or the difference of two."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ParamError, ProblemError
from sparseopt.problems.base import Array
from sparseopt.problems.fields import (
    as_choice,
    as_names,
    as_symmetric,
    as_weight_matrix,
    as_weights,
    check_lengths,
    column_names,
    names_in,
)
from sparseopt.problems.parametric.classification import LPD
from sparseopt.problems.parametric.columnwise import ColumnwiseProblem
from sparseopt.problems.parametric.covariance import (
    CovarianceProblem,
    GramMatrix,
    covariance,
    samples,
)
from sparseopt.problems.parametric.kronecker import KroneckerMap, RepeatedMap
from sparseopt.problems.parametric.l1 import ConstrainedL1, ones_or
from sparseopt.problems.parametric.maps import SymmetricMap
from sparseopt.problems.parametric.matrix_dantzig import as_columns, entry_names
from sparseopt.problems.remarks import variance_remarks


def _smaller_of_pairs(matrix: Array) -> Array:
    """Return the symmetric matrix of the smaller of each two opposite entries, by absolute value.

    Of two that differ in the sign alone it is the one above the diagonal.
    """
    smaller = np.triu(np.where(np.abs(matrix) <= np.abs(matrix.T), matrix, matrix.T))
    return np.asarray(smaller + np.triu(smaller, 1).T)


@dataclass(frozen=True, eq=False, repr=False)
class CLIME(CovarianceProblem, ColumnwiseProblem):
    r"""A sparse precision matrix by constrained l1 minimisation (2.13).

    .. math:: \min_\Omega \sum_{ij} w_i |\Omega_{ij}| \quad\text{subject to}\quad
              |(S\Omega - I)_{ij}| \le \lambda\, r_i \;\text{ for all } i, j

    The d columns of Omega are independent (2.14), and are solved so. A solution is vec(Omega), its
    columns one below the other; :meth:`matrix` brings it back. Omega need not be symmetric:
    :meth:`symmetrised` is the estimate of the paper.

    Parameters
    ----------
    S : array of shape (d, d), or GramMatrix
        The covariance or correlation matrix, symmetric; it need not be positive semidefinite. An
        asymmetry of rounding (1e-10 of the largest entry) is averaged away. A
        :class:`~sparseopt.problems.GramMatrix` is the data instead, of which it is never formed.
    weights : array of shape (d,), optional
        The :math:`w_i \ge 0` of the objective, default 1, the same in all columns.
    row_weights : array of shape (d,), optional
        The :math:`r_i \ge 0` of the constraints, default 1, the same in all columns.
    names : list of d str, optional
        Names of the variables, for tables and plots.
    only : sequence of int, optional
        The columns of Omega that are asked for, different ones. Default: all d. Omega is then of
        shape (d, k), as a solution, the constraints and the objective are those of these k columns.

    Notes
    -----
    lam is a pure number: the constraint is on S Omega - I, and Omega = 0 from lam = 1 on. Where S
    is singular (n <= d) the path ends at a lam > 0, below which some column is infeasible.

    The adaptive form has weights of its own in each entry, large where a pilot estimate is small,
    or 0 on the diagonal. Column i of it is ``LPD(S, I[i], weights=W[:, i])``, and the whole
    ``MatrixDantzig(S, I, I, weights=W)``.

    References
    ----------
    Cai, Liu, Luo (2011): A constrained l1 minimization approach to sparse precision matrix
    estimation; equations (2.13), (2.14) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import CLIME
    >>> problem = CLIME(S=np.diag([1.0, 2.0]))
    >>> problem.columns, problem.column(1)
    (2, LPD(d=2))
    >>> problem.objective(np.array([1.0, 0.0, 0.0, 0.5]))
    1.5
    """

    S: Array | GramMatrix
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None
    only: Array | None = None

    kind: ClassVar[str] = "clime"

    @classmethod
    def from_data(
        cls,
        X: Array,
        *,
        ddof: int = 0,
        weights: Array | None = None,
        row_weights: Array | None = None,
        names: Sequence[str] | None = None,
        form: bool | None = None,
    ) -> Self:
        r"""Build the problem from the covariance matrix of observations.

        .. math:: S = \frac{1}{n - ddof} \sum_i (x_i - \bar x)(x_i - \bar x)'

        Parameters
        ----------
        X : array of shape (n, d)
            With n >= 2; the columns are centred here.
        ddof : int, default 0
            Subtracted from the divisor n of the paper; 1 makes S unbiased.
        weights, row_weights, names
            As in the class.
        form : bool, optional
            Whether S is formed, d^2 numbers, or X kept in its place, n d numbers, from which a
            column takes longer. Default: it is formed up to 20,000 variables.

        Raises
        ------
        ProblemError
            When X is no such matrix.
        """
        names = names_in(names, X)
        return cls(covariance("X", samples("X", X), ddof, form), weights, row_weights, names)

    def _coerce(self) -> None:
        d = self._coerce_covariance()
        self._set("weights", as_weights("weights", self.weights, d))
        self._set("row_weights", as_weights("row_weights", self.row_weights, d))
        self._set("names", as_names(self.names, d))
        if self.only is not None:
            self._set("only", as_choice("only", self.only, d))

    def validate(self) -> None:
        """Nothing is left to check: the arrays were checked on the way in."""

    def remarks(self) -> tuple[str, ...]:
        if self.weights is not None or self.row_weights is not None:
            return ()
        cure = "Take the correlation matrix, or give weights"
        return variance_remarks(self.variances, self.names, cure)

    @property
    def size(self) -> Mapping[str, int]:
        d = len(self.S)
        return {"d": d} if self.only is None else {"d": d, "columns": len(self.only)}

    @property
    def coefficient_names(self) -> list[str]:
        names = column_names(self.names, len(self.S))
        return entry_names(names, [names[j] for j in self._chosen])

    @property
    def columns(self) -> int:
        return len(self._chosen)

    @property
    def _chosen(self) -> Array:
        return np.arange(len(self.S)) if self.only is None else self.only

    def column(self, i: int) -> LPD:
        """Return the problem (2.14) of column `i` by itself, of those asked for.

        Raises
        ------
        ParamError
            When there is no such column.
        """
        count = self.columns
        if isinstance(i, bool) or not isinstance(i, Integral) or not 0 <= i < count:
            raise ParamError(f"column {i!r} is none of the {count} columns, 0 to {count - 1}")
        one = copy(self._any_column)
        one._set("delta", self._units(1, int(i))[0])
        return one

    @cached_property
    def _any_column(self) -> LPD:
        """A column's problem; to check S for each of them would take as long as the rest."""
        return LPD(self.S, self._units(1)[0], self.weights, self.row_weights, self.names)

    def part(self, columns: Sequence[int] | Array) -> Self:
        chosen = self._chosen[as_choice("columns", columns, self.columns)]
        _ = self._any_column.matrix_map  # to be shared: nothing of S is looked at again
        part = copy(self)
        part._set("only", chosen)
        return part

    def row_kinks(self) -> Array:
        return np.repeat(self._units(self.columns), 2, axis=1)

    def _units(self, count: int, first: int = 0) -> Array:
        """Return the unit vectors of some columns that are asked for, shape (count, d)."""
        units = np.zeros((count, len(self.S)))
        units[np.arange(count), self._chosen[first : first + count]] = 1.0
        return units

    @property
    def matrix_map(self) -> RepeatedMap:
        """The matrix S, once for each column along the diagonal."""
        return RepeatedMap(self._any_column.matrix_map, self.columns)

    @property
    def center(self) -> Array:
        """The columns of the identity that are asked for, shape (d k,)."""
        return self._units(self.columns).ravel()

    @property
    def penalty_weights(self) -> Array:
        return np.tile(ones_or(self.weights, len(self.S)), self.columns)

    @property
    def band_weights(self) -> Array:
        return np.tile(ones_or(self.row_weights, len(self.S)), self.columns)

    def matrix(self, x: Array) -> Array:
        """Return the matrix Omega of a solution vec(Omega), shape (d, k)."""
        return as_columns(x, len(self.S), self.columns)

    def symmetrised(self, x: Array) -> Array:
        """Return the symmetric estimate: of opposite entries the smaller in absolute value.

        Raises
        ------
        ParamError
            When not all columns are asked for.
        """
        if self.only is not None and not np.array_equal(self.only, np.arange(len(self.S))):
            raise ParamError("the symmetric estimate needs all columns; this problem has `only`")
        return _smaller_of_pairs(self.matrix(x))


@dataclass(frozen=True, eq=False, repr=False)
class DifferentialNetwork(ConstrainedL1):
    r"""A sparse difference of two precision matrices (2.16), estimated directly.

    .. math:: \min_\Delta \sum_{ij} W_{ij} |\Delta_{ij}| \quad\text{subject to}\quad
              |(S_X \Delta S_Y - (S_X - S_Y))_{ij}| \le \lambda\, R_{ij} \;\text{ for all } i, j

    A solution is vec(Delta), its columns one below the other; :meth:`matrix` brings it back. Delta
    need not be symmetric: :meth:`symmetrised` offers an estimate that is.

    Parameters
    ----------
    S_X, S_Y : arrays of shape (d, d)
        The covariance matrices of the two populations, symmetric; they need not be positive
        semidefinite. An asymmetry of rounding (1e-10 of the largest entry) is averaged away.
    sign : {"y-x", "x-y"}, default "y-x"
        What Delta estimates. "y-x": :math:`\Omega_Y - \Omega_X`, as (2.16) does (the text of the
        paper names the opposite). "x-y": :math:`\Omega_X - \Omega_Y`, by the same problem with
        S_Y - S_X in place of S_X - S_Y.
    weights : array of shape (d, d), optional
        The :math:`W_{ij} \ge 0` of the objective, default 1; 0 leaves an entry unpenalised. The
        adaptive form takes them large where a pilot estimate is small.
    row_weights : array of shape (d, d), optional
        The :math:`R_{ij} \ge 0` of the constraints, default 1.
    names : list of d str, optional
        Names of the variables, for tables and plots.

    Notes
    -----
    lam is on the scale of S_X - S_Y. In the general form A is the Kronecker product of S_Y and
    S_X, which is never formed. Where a covariance is singular the path may end at a lam > 0 below
    which nothing is feasible.

    References
    ----------
    Zhao, Cai, Li (2014): Direct estimation of differential networks; equation (2.16) of Pang,
    Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DifferentialNetwork
    >>> problem = DifferentialNetwork(S_X=np.diag([1.0, 2.0]), S_Y=np.eye(2))
    >>> problem.residuals(np.array([0.0, 0.0, 0.0, 0.5]), lam=0.0)["constraints"]
    0.0
    """

    S_X: Array
    S_Y: Array
    sign: Literal["y-x", "x-y"] = "y-x"
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "differential-network"

    @classmethod
    def from_samples(
        cls,
        x: Array,
        y: Array,
        *,
        sign: Literal["y-x", "x-y"] = "y-x",
        ddof: int = 0,
        weights: Array | None = None,
        row_weights: Array | None = None,
        names: Sequence[str] | None = None,
    ) -> Self:
        r"""Build the problem from the observations of two populations.

        .. math:: S_X = \frac{1}{n_1 - ddof} \sum_i (x_i - \bar x)(x_i - \bar x)', \qquad
                  S_Y = \frac{1}{n_2 - ddof} \sum_i (y_i - \bar y)(y_i - \bar y)'

        (section 2.4 of the paper, where the second factor of S_Y is misprinted).

        Parameters
        ----------
        x : array of shape (n1, d)
        y : array of shape (n2, d)
            With n1, n2 >= 2; the columns are centred here.
        sign, weights, row_weights, names
            As in the class.
        ddof : int, default 0
            Subtracted from the divisors n1 and n2 of the paper; 1 makes S_X and S_Y unbiased.

        Raises
        ------
        ProblemError
            When the samples do not fit together, or one has fewer than 2 observations.
        """
        one = samples("x", x)
        two = samples("y", y, columns=one.shape[1])
        return cls(
            np.asarray(covariance("x", one, ddof)),
            np.asarray(covariance("y", two, ddof)),
            sign,
            weights,
            row_weights,
            names_in(names, x),
        )

    def _coerce(self) -> None:
        self._set("S_X", as_symmetric("S_X", self.S_X))
        self._set("S_Y", as_symmetric("S_Y", self.S_Y))
        d = len(self.S_X)
        self._set("weights", as_weight_matrix("weights", self.weights, (d, d)))
        self._set("row_weights", as_weight_matrix("row_weights", self.row_weights, (d, d)))
        self._set("names", as_names(self.names, d))

    def validate(self) -> None:
        """Check `sign`, that the two matrices have one shape, and the lengths of columns."""
        if self.sign not in ("y-x", "x-y"):
            raise ProblemError(f"sign is {self.sign!r}; expected 'y-x' or 'x-y'", "sign")
        if self.S_Y.shape != self.S_X.shape:
            raise ProblemError(
                f"S_Y has shape {self.S_Y.shape}; expected {self.S_X.shape}, that of S_X", "S_Y"
            )
        for name in ("S_X", "S_Y"):
            check_lengths(name, getattr(self, name))

    @property
    def size(self) -> Mapping[str, int]:
        return {"d": len(self.S_X)}

    @property
    def coefficient_names(self) -> list[str]:
        names = column_names(self.names, len(self.S_X))
        return entry_names(names, names)

    @property
    def matrix_map(self) -> KroneckerMap:
        """The Kronecker product of S_Y and S_X; never formed."""
        return KroneckerMap(SymmetricMap(self.S_Y), SymmetricMap(self.S_X))

    @property
    def center(self) -> Array:
        """The columns of S_X - S_Y, or of S_Y - S_X for the other sign; shape (d^2,)."""
        difference = self.S_X - self.S_Y if self.sign == "y-x" else self.S_Y - self.S_X
        return difference.ravel(order="F")

    @property
    def penalty_weights(self) -> Array:
        return ones_or(self.weights, self.S_X.shape).ravel(order="F")

    @property
    def band_weights(self) -> Array:
        return ones_or(self.row_weights, self.S_X.shape).ravel(order="F")

    def matrix(self, x: Array) -> Array:
        """Return the matrix Delta of a solution vec(Delta), shape (d, d)."""
        return as_columns(x, len(self.S_X), len(self.S_X))

    def symmetrised(self, x: Array) -> Array:
        """Return a symmetric estimate: of opposite entries the smaller in absolute value."""
        return _smaller_of_pairs(self.matrix(x))
