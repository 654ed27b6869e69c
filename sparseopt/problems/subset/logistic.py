"""Logistic regression with few nonzero coefficients, a ridge and a bound."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.names import with_intercept_name
from sparseopt.problems.base import Array, as_vector
from sparseopt.problems.fields import as_weights, check_flag
from sparseopt.problems.subset.problem import SubsetProblem


@dataclass(frozen=True, eq=False, repr=False)
class SparseLogisticRegression(SubsetProblem):
    r"""The best k of p columns to tell two classes apart, with coefficients that are held small.

    .. math:: \min_{b \in R^p, \beta} \; \sum_i s_i \log\bigl(1 + e^{-y_i (x_i'b + \beta)}\bigr)
              + \tfrac\rho2 \|b\|_2^2 + \lambda_0 \|b\|_0 \quad\text{subject to}\quad
              \|b\|_0 \le k,\; \|b\|_\infty \le M

    The probability of the label 1 at z is :math:`1 / (1 + \exp(-z'b - \beta))`. Columns are neither
    centred nor scaled. Classes that a few columns separate have a solution, thanks to ridge or
    bound.

    Parameters
    ----------
    X : array of shape (n, p)
    y : array of shape (n,)
        Labels, -1 and 1.
    k : int
        Largest number of nonzero coefficients, 1 <= k <= p; the intercept does not count.
    ridge : float, default 0
        :math:`\rho \ge 0`; 1 / C of scikit-learn's LogisticRegression.
    bound : float, optional
        :math:`M > 0`, in the units of a coefficient; none by default.
    penalty : float, default 0
        :math:`\lambda_0 \ge 0`, the price of each nonzero in the units of the objective.
    fit_intercept : bool, default True
        Fit an intercept beta, free of penalty and bound; it is then the last of the p + 1
        coefficients. Needs both labels.
    names : list of p str, optional
        Default: a data frame's columns, or x0, x1, ...
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i > 0` that each row counts, default 1.

    Raises
    ------
    ProblemError
        When an entry is not finite, a label or a number is out of range, or there is neither a
        ridge nor a bound.

    Examples
    --------
    >>> import numpy as np
    >>> import sparseopt
    >>> X = np.array([[2.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-2.0, -1.0]])
    >>> problem = sparseopt.problems.SparseLogisticRegression(X, [1, 1, -1, -1], k=1, ridge=1.0)
    >>> result = sparseopt.solve(problem)
    >>> np.round(result.x, 3).tolist(), round(result.objective, 3), result.verdict.value
    ([1.007, 0.0, 0.0], 1.38, 'verified')

    References
    ----------
    Atamturk, Gomez (2020), Safe screening rules for l0-regression from perspective relaxations,
    ICML; Dedieu, Hazimeh, Mazumder (2021), Learning sparse classifiers, JMLR 22.
    """

    fit_intercept: bool = True
    sample_weights: Array | None = None

    kind: ClassVar[str] = "sparse-logistic-regression"

    def _coerce(self) -> None:
        super()._coerce()
        weights = as_weights("sample_weights", self.sample_weights, self.X.shape[0], positive=True)
        self._set("sample_weights", weights)

    def validate(self) -> None:
        """Check the labels, the ranges of the numbers, and of squares."""
        check_flag("fit_intercept", self.fit_intercept)
        wrong = np.flatnonzero(np.abs(self.y) != 1.0)
        if len(wrong):
            raise ProblemError(
                f"y[{wrong[0]}] is {self.y[wrong[0]]:g}; expected the labels -1 and 1", "y"
            )
        if self.fit_intercept and (self.y == self.y[0]).all():
            raise ProblemError(
                f"y holds the label {self.y[0]:g} alone; an intercept needs both classes", "y"
            )
        super().validate()

    @property
    def coefficient_names(self) -> list[str]:
        """The name of each entry of a point."""
        names = super().coefficient_names
        return with_intercept_name(names) if self.fit_intercept else names

    @cached_property
    def counts(self) -> Array:
        """How often each row counts, shape (n,)."""
        return np.ones(len(self.y)) if self.sample_weights is None else self.sample_weights

    @property
    def null_value(self) -> float:
        """The objective of x = 0."""
        return float(self.counts.sum()) * math.log(2.0)

    @cached_property
    def largest_intercept(self) -> float:
        r"""An intercept beyond which every b is worse than x = 0; 0 where there is none.

        Where the objective is at most :math:`N = \sum_i s_i \log 2`, so are
        :math:`\tfrac\rho2 \|b\|^2` and :math:`s_i` times the loss of a row with the other sign,
        so that :math:`|\beta| \le N / s_i + \max_i |x_i'b|`.
        """
        if not self.fit_intercept:
            return 0.0
        value, most = 1.000001 * self.null_value, math.inf
        if self.ridge > 0.0:
            length = math.sqrt(float(np.einsum("ij,ij->i", self.X, self.X).max()))
            most = length * math.sqrt(2.0 * value / self.ridge)
        if self.bound is not None:
            most = min(most, self.bound * float(np.abs(self.X).sum(axis=1).max()))
        heaviest = min(self.counts[self.y > 0.0].max(), self.counts[self.y < 0.0].max())
        return 1.000001 * most + value / float(heaviest)

    def coefficients(self, x: Array) -> Array:
        """Return b of a point of shape (p + 1,), or (p,) without an intercept."""
        p = self.X.shape[1]
        return as_vector("x", x, p + self.fit_intercept)[:p]

    def margins(self, x: Array) -> Array:
        """Return y_i (x_i'b + beta), shape (n,)."""
        b = self.coefficients(x)
        S = np.flatnonzero(b)
        intercept = float(x[-1]) if self.fit_intercept else 0.0
        return np.asarray(self.y * (self.X[:, S] @ b[S] + intercept))

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the objective value of coefficients of shape (p + 1,), or (p,)."""
        b = self.coefficients(x)
        loss = float(self.counts @ np.logaddexp(0.0, -self.margins(x)))
        return loss + 0.5 * self.ridge * float(b @ b) + self.penalty * int(np.count_nonzero(b))

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return the objective, and how the sizes of the terms of margins bear on it."""
        b = self.coefficients(x)
        S = np.flatnonzero(b)
        sizes = np.abs(self.X[:, S]) @ np.abs(b[S])
        sizes += abs(float(x[-1])) if self.fit_intercept else 0.0
        slopes = self.counts * np.exp(-np.logaddexp(0.0, self.margins(x)))
        return self.objective(x) + float(slopes @ sizes)
