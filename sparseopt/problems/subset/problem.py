"""Least squares with few nonzero coefficients, a ridge and a bound."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, Problem, as_matrix, as_vector
from sparseopt.problems.fields import as_names, check_lengths, column_names, names_in
from sparseopt.problems.remarks import centring_remarks


@dataclass(frozen=True, eq=False, repr=False)
class SubsetProblem(Problem):
    r"""A loss of Xb plus :math:`\tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0`, with few nonzeros.

    What :class:`SparseRegression` and
    :class:`~sparseopt.problems.subset.logistic.SparseLogisticRegression` share: the data,
    :math:`\|b\|_0 \le k`, :math:`\|b\|_\infty \le M`, and what is checked of them.
    """

    X: Array
    y: Array
    k: int = 1
    ridge: float = 0.0
    bound: float | None = None
    penalty: float = 0.0
    names: Sequence[str] | None = field(default=None, kw_only=True)

    family: ClassVar[str] = "subset"
    _without_either: ClassVar[str] = ""
    """What to do where there is neither a ridge nor a bound: the end of an error message."""

    def _coerce(self) -> None:
        names = names_in(self.names, self.X)
        self._set("X", as_matrix("X", self.X))
        self._set("names", as_names(names, self.X.shape[1]))
        self._set("y", as_vector("y", self.y, self.X.shape[0]))
        if isinstance(self.k, bool) or not isinstance(self.k, Integral):
            raise ProblemError(
                f"k is {self.k!r}; expected an integer from 1 to {self.X.shape[1]}", "k"
            )
        self._set("k", int(self.k))
        for name in ("ridge", "bound", "penalty"):
            value = getattr(self, name)
            if value is None and name == "bound":
                continue
            if isinstance(value, bool) or not isinstance(value, Real):
                raise ProblemError(f"{name} is {value!r}; expected a number", name)
            self._set(name, float(value))
        if self.bound == math.inf:
            self._set("bound", None)

    def validate(self) -> None:
        """Check the ranges of the numbers, and the lengths of columns."""
        p = self.X.shape[1]
        if not 1 <= self.k <= p:
            raise ProblemError(f"k is {self.k}; expected an integer from 1 to {p}", "k")
        for name in ("ridge", "penalty"):
            value = getattr(self, name)
            if not 0.0 <= value < math.inf:
                raise ProblemError(f"{name} is {value}; expected a finite number >= 0", name)
        if self.bound is not None and not self.bound > 0.0:
            raise ProblemError(
                f"bound is {self.bound}; expected a number > 0, inf or None for no bound", "bound"
            )
        if self.ridge == 0.0 and self.bound is None:
            raise ProblemError(
                "there is neither a ridge nor a bound: the convex relaxation of the number of "
                "nonzeros is then 0 everywhere and proves nothing; give ridge > 0, or a bound that "
                f"no coefficient exceeds{self._without_either}",
                "ridge",
            )
        check_lengths("X", self.X)
        check_lengths("y", self.y)

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "p": self.X.shape[1], "k": self.k}

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each entry of a point."""
        return column_names(self.names, self.X.shape[1])

    @property
    def limit(self) -> float:
        """The bound M, infinite where there is none."""
        return math.inf if self.bound is None else self.bound

    @property
    def squares(self) -> Array:
        """The squared lengths of the columns of X, shape (p,)."""
        return np.asarray(np.einsum("ij,ij->j", self.X, self.X))

    @property
    @abstractmethod
    def null_value(self) -> float:
        """The objective of x = 0."""

    @property
    def value_unit(self) -> float:
        """The objective of x = 0 where it is below 1: the size that the values have."""
        return min(1.0, self.null_value) if self.null_value > 0.0 else 1.0

    def coefficients(self, x: Array) -> Array:
        """Return b of a point."""
        return as_vector("x", x, self.X.shape[1])

    def residuals(self, x: Array, lam: float | None = None) -> dict[str, float]:
        """Return by how many nonzeros x exceeds k, and by how much the bound.

        Parameters
        ----------
        x : array
        lam : ignored
        """
        b = self.coefficients(x)
        return {
            "cardinality": float(max(0, int(np.count_nonzero(b)) - self.k)),
            "bound": max(0.0, float(np.abs(b).max()) - self.limit),
        }


@dataclass(frozen=True, eq=False, repr=False)
class SparseRegression(SubsetProblem):
    r"""The best k of p columns to explain y by, with coefficients that are held small.

    .. math:: \min_{b \in R^p} \; \tfrac12 \|y - Xb\|_2^2 + \tfrac\rho2 \|b\|_2^2
              + \lambda_0 \|b\|_0 \quad\text{subject to}\quad
              \|b\|_0 \le k,\; \|b\|_\infty \le M

    Columns are neither centred nor scaled, and there is no intercept: centre X and y for one. In
    units of :math:`\|x_j\|^2` a ridge of 0.1 or more, or a bound M of the size of the
    coefficients, lets problems of 100,000 columns be proven. With a small ridge alone the convex
    relaxation fits noise where p > n, and a proof may be out of reach.

    Parameters
    ----------
    X : array of shape (n, p)
    y : array of shape (n,)
    k : int
        Largest number of nonzero coefficients, 1 <= k <= p.
    ridge : float, default 0
        :math:`\rho \ge 0`, in the units of a squared column.
    bound : float, optional
        :math:`M > 0`, in the units of a coefficient; None, the default, and inf are no bound.
    penalty : float, default 0
        :math:`\lambda_0 \ge 0`, the price of each nonzero in the units of the objective. With
        k = p the problem is the l0-penalised one.
    names : list of p str, optional
        Default: a data frame's columns, or x0, x1, ...

    Raises
    ------
    ProblemError
        When an entry is not finite, a number is out of range, or there is neither a ridge nor a
        bound.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> X = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]])
    >>> problem = sparseopt.problems.SparseRegression(X, [3.0, 1.0, 0.0], k=1, ridge=1.0)
    >>> result = sparseopt.solve(problem)
    >>> result.x.tolist(), result.objective, result.verdict.value
    ([1.5, 0.0, 0.0], 2.75, 'verified')

    References
    ----------
    Hazimeh, Mazumder, Saab (2022), Sparse regression at scale, Mathematical Programming 196: the
    penalised form with a bound; Liu, Rosen, Zhong, Rudin (2023), OKRidge, NeurIPS: k and a ridge.
    """

    kind: ClassVar[str] = "sparse-regression"
    _without_either: ClassVar[str] = ". Up to some 40 columns BestSubset needs neither"

    def remarks(self) -> tuple[str, ...]:
        return centring_remarks(self.X, self.y, None, "Centre the columns and y for one")

    @property
    def null_value(self) -> float:
        """The objective of x = 0."""
        return 0.5 * float(self.y @ self.y)

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the objective value of coefficients of shape (p,)."""
        b = as_vector("x", x, self.X.shape[1])
        S = np.flatnonzero(b)
        rest = self.y - self.X[:, S] @ b[S]
        squares = float(rest @ rest) + self.ridge * float(b[S] @ b[S])
        return 0.5 * squares + self.penalty * len(S)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the objective with the absolute values of the terms of residuals."""
        b = as_vector("x", x, self.X.shape[1])
        S = np.flatnonzero(b)
        rest = np.abs(self.y) + np.abs(self.X[:, S]) @ np.abs(b[S])
        squares = float(rest @ rest) + self.ridge * float(b[S] @ b[S])
        return 0.5 * squares + self.penalty * len(S)
