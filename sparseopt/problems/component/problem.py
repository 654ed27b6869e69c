"""The sparse principal component of data with many variables, given by the data themselves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import ClassVar, Literal, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import as_names, check_lengths, column_names, names_in
from sparseopt.problems.strs.problem import STRS, standardised


@dataclass(frozen=True, eq=False, repr=False)
class SparseComponent(Problem):
    r"""The unit vector with at most d nonzeros that a matrix of many columns makes longest.

    .. math:: \max_{z \in R^D} \; \|Xz\|_2^2 \quad\text{subject to}\quad
              \|z\|_2 = 1,\; \|z\|_0 \le d

    This is :class:`~sparseopt.problems.STRS` with A = X'X and a = 0. Neither the problem nor its
    solver nor its checker holds an array of size D x D, so D may be 50,000.

    Parameters
    ----------
    X : array of shape (n, D)
        Taken as it is. :meth:`from_data` centres and scales observations.
    d : int
        Largest number of nonzero entries, 1 <= d <= D.
    names : list of D str, optional
        Default: a data frame's columns, or x0, x1, ...

    Raises
    ------
    ProblemError
        When an entry of X is not finite, or d is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> X = np.array([[3.0, 3.0, 0.0, 1.0], [0.0, 0.0, 4.0, 1.0]])
    >>> result = sparseopt.solve(sparseopt.problems.SparseComponent(X, d=2))
    >>> round(result.objective, 9), np.flatnonzero(result.x).tolist()
    (18.0, [0, 1])
    """

    X: Array
    d: int = 0
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "sparse-component"
    family: ClassVar[str] = "component"
    sense: ClassVar[Literal["min", "max"]] = "max"

    @classmethod
    def from_data(
        cls, X: Array, d: int, kind: Literal["correlation", "covariance"] = "correlation"
    ) -> Self:
        """Build the sparse PCA problem of n observations of D variables.

        Parameters
        ----------
        X : array of shape (n, D)
            With n >= 2; the columns are centred here.
        d : int
            Number of variables that the component may use.
        kind : {"correlation", "covariance"}, default "correlation"
            What ||Xz||^2 is the quadratic form of; covariances are divided by n - 1.

        Raises
        ------
        ProblemError
            When n < 2, a column is constant and correlations are asked for, or d is out of range.
        """
        return cls(X=standardised(X, kind), d=d, names=names_in(None, X))

    def as_strs(self) -> STRS:
        """Return the same problem with the matrix X'X, of size D x D."""
        return STRS(A=self.X.T @ self.X, d=self.d, names=self.names)

    def _coerce(self) -> None:
        names = names_in(self.names, self.X)
        self._set("X", as_matrix("X", self.X))
        self._set("names", as_names(names, self.variables))
        if isinstance(self.d, bool) or not isinstance(self.d, Integral):
            raise ProblemError(
                f"d is {self.d!r}; expected an integer from 1 to {self.variables}", "d"
            )
        self._set("d", int(self.d))

    def validate(self) -> None:
        """Check the range of d and the lengths of columns."""
        if not 1 <= self.d <= self.variables:
            most = self.variables
            raise ProblemError(f"d is {self.d}; expected an integer from 1 to {most}", "d")
        check_lengths("X", self.X)

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each variable."""
        return column_names(self.names, self.variables)

    @property
    def variables(self) -> int:
        """The number of variables."""
        return int(self.X.shape[1])

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "D": self.variables, "d": self.d}

    @property
    def squares(self) -> Array:
        """The squared lengths of the columns of X, the diagonal of X'X, shape (D,)."""
        return np.asarray(np.einsum("ij,ij->j", self.X, self.X))

    @property
    def value_unit(self) -> float:
        """The largest entry of X'X where it is below 1: the size that the values have."""
        size = float(self.squares.max())
        return min(1.0, size) if size > 0.0 else 1.0

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the squared length of Xx for a point of shape (D,)."""
        z = as_vector("x", x, self.variables)
        S = np.flatnonzero(z)
        image = self.X[:, S] @ z[S]
        return float(image @ image)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the squared length of abs(X) abs(x)."""
        z = as_vector("x", x, self.variables)
        S = np.flatnonzero(z)
        image = np.abs(self.X[:, S]) @ np.abs(z[S])
        return float(image @ image)

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return abs(norm - 1) and by how many nonzeros x exceeds d.

        Parameters
        ----------
        x : array of shape (D,)
        lam : ignored
        """
        z = as_vector("x", x, self.variables)
        return {
            "norm": abs(float(np.linalg.norm(z)) - 1.0),
            "cardinality": float(max(0, int(np.count_nonzero(z)) - self.d)),
        }
