"""Sparse linear classification as parametric linear programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Self

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_vector
from sparseopt.problems.fields import as_names, as_weights, column_names, names_in
from sparseopt.problems.parametric.covariance import (
    CovarianceProblem,
    GramMatrix,
    pooled_covariance,
    samples,
)
from sparseopt.problems.parametric.l1 import PenalisedL1, ones_or, scaled_rows
from sparseopt.problems.parametric.maps import LinearMap
from sparseopt.problems.parametric.pieces import Pieces


@dataclass(frozen=True, eq=False, repr=False)
class LPD(CovarianceProblem):
    r"""The linear programming discriminant (2.10), a sparse linear discriminant analysis.

    .. math:: \min_\theta \sum_j w_j |\theta_j| \quad\text{subject to}\quad
              |(S\theta - \delta)_j| \le \lambda\, r_j \;\text{ for all } j

    theta estimates :math:`\Sigma^{-1}(\mu_1 - \mu_2)`: with equal priors, a new observation z
    belongs to class 1 where :math:`(z - (\bar x + \bar y) / 2)'\theta \ge 0` (2.9).

    Parameters
    ----------
    S : array of shape (d, d), or GramMatrix
        The pooled covariance, symmetric; it need not be positive semidefinite. An asymmetry of
        rounding (1e-10 of the largest entry) is averaged away. A
        :class:`~sparseopt.problems.GramMatrix` is the data instead, of which it is never formed.
    delta : array of shape (d,)
        The difference of the means.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0` of the objective, default 1; 0 leaves a coefficient unpenalised.
    row_weights : array of shape (d,), optional
        The :math:`r_j \ge 0` of the constraints, default 1. With ``row_weights = weights`` it is
        the plain one for the variables divided by their weights, the adaptive form: standard
        deviations as weights make the rule independent of the units.
    names : list of d str, optional
        Names of the variables, for tables and plots.

    Notes
    -----
    lam is on the scale of delta, the units of the variables. With fewer observations than
    variables, delta is usually out of reach of S: the path ends at a lam > 0 below which no theta
    is feasible.

    References
    ----------
    Cai, Liu (2011): A direct estimation approach to sparse linear discriminant analysis; equation
    (2.10) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import LPD
    >>> problem = LPD(S=np.eye(2), delta=[1.0, -0.5])
    >>> problem.residuals(np.array([0.75, 0.0]), lam=0.25)["constraints"]
    0.25
    """

    S: Array | GramMatrix
    delta: Array
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "lpd"

    @classmethod
    def from_samples(
        cls,
        x: Array,
        y: Array,
        *,
        ddof: int = 0,
        weights: Array | None = None,
        row_weights: Array | None = None,
        names: Sequence[str] | None = None,
        form: bool | None = None,
    ) -> Self:
        r"""Build the problem from the observations of two classes, (2.7) and (2.8).

        .. math:: \delta = \bar x - \bar y, \qquad S = \frac{1}{n_1 + n_2 - ddof}\Big(
                  \sum_i (x_i - \bar x)(x_i - \bar x)' + \sum_i (y_i - \bar y)(y_i - \bar y)'\Big)

        Parameters
        ----------
        x : array of shape (n1, d)
            Class 1.
        y : array of shape (n2, d)
            Class 2; there are at least 3 observations in all.
        ddof : int, default 0
            Subtracted from the divisor n1 + n2 of the paper; 2 makes S unbiased.
        weights, row_weights, names
            As in the class.
        form : bool, optional
            Whether S is formed, d^2 numbers, or the observations are kept in its place. Default:
            it is formed up to 20,000 variables.

        Raises
        ------
        ProblemError
            When the samples do not fit together, a class is empty, or the two have fewer than 3
            observations.
        """
        one = samples("x", x)
        two = samples("y", y, columns=one.shape[1])
        return cls(
            pooled_covariance(one, two, ddof, form),
            one.mean(axis=0) - two.mean(axis=0),
            weights,
            row_weights,
            names_in(names, x),
        )

    def _coerce(self) -> None:
        d = self._coerce_covariance()
        self._set("delta", as_vector("delta", self.delta, d))
        self._set("weights", as_weights("weights", self.weights, d))
        self._set("row_weights", as_weights("row_weights", self.row_weights, d))
        self._set("names", as_names(self.names, d))

    def validate(self) -> None:
        """Nothing is left to check: the arrays were checked on the way in."""

    @property
    def size(self) -> Mapping[str, int]:
        return {"d": len(self.S)}

    @property
    def coefficient_names(self) -> list[str]:
        return column_names(self.names, len(self.S))

    @cached_property
    def matrix_map(self) -> LinearMap:
        """The matrix S."""
        return self.covariance_map

    @property
    def center(self) -> Array:
        """The difference of the means, delta."""
        return self.delta

    @property
    def penalty_weights(self) -> Array:
        return ones_or(self.weights, len(self.S))

    @property
    def band_weights(self) -> Array:
        return ones_or(self.row_weights, len(self.S))


@dataclass(frozen=True, eq=False, repr=False)
class L1SVM(PenalisedL1):
    r"""The support vector machine with an l1 penalty (2.12).

    .. math:: \min_{\theta, \beta} \sum_i \big(1 - y_i (x_i'\theta + \beta)\big)_+
              + \lambda \sum_j w_j |\theta_j|

    The label of a new observation z is the sign of :math:`z'\theta + \beta`.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n, d)
    y : array of shape (n,)
        Labels, -1 or 1; both occur.
    fit_intercept : bool, default True
        Fit an unpenalised intercept beta; it is then the last of the d + 1 coefficients.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0`, default 1; 0 leaves a coefficient unpenalised. The adaptive form
        takes them large where a pilot estimate is small.
    names : list of d str, optional
        Names of the columns, for tables and plots; a data frame has them.
    sample_weights : array of shape (n,), optional
        The number of times :math:`s_i \ge 0` that each observation counts, default 1.
    bounds : (low, high), optional
        Bounds on the coefficients of columns, each a number or of shape (d,): low <= 0 <= high,
        infinite where there is none. ``(0, np.inf)`` leaves no coefficient negative. Kept as an
        array of shape (2, d).

    Notes
    -----
    The loss is a sum over the observations, not a mean, and lam is on the scale of X'y. It is
    1 / C of scikit-learn's LinearSVC, which takes the squared hinge loss, however, and penalises
    its intercept.

    Equation (2.12) bounds the norm instead, :math:`\|\theta\|_1 \le t`: the same solutions, indexed
    by t (:class:`~sparseopt.paths.l1_bound.L1BoundPath`). The path begins at theta = 0. Where the
    classes
    can be separated the loss vanishes from some lam > 0 on, and theta stays as it is down to
    lam = 0: of all the theta without loss it is one of least norm.

    The solution is piecewise constant in lam and jumps at the knots.

    References
    ----------
    Bradley, Mangasarian (1998); Zhu, Rosset, Hastie, Tibshirani (2004), who follow the path;
    equation (2.12) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import L1SVM
    >>> problem = L1SVM(X=np.array([[2.0], [0.0], [-1.0]]), y=[1, 1, -1])
    >>> problem.objective(np.array([1.0, 0.0]), lam=0.5)
    1.5
    """

    X: Any
    y: Array
    fit_intercept: bool = True
    weights: Array | None = None
    names: Sequence[str] | None = None
    sample_weights: Array | None = None
    bounds: Any = None

    kind: ClassVar[str] = "l1-svm"

    def validate(self) -> None:
        """Check the labels and `fit_intercept`; the arrays were checked on the way in."""
        super().validate()
        wrong = np.flatnonzero(np.abs(self.y) != 1.0)
        if len(wrong):
            found = ", ".join(f"{label:g}" for label in np.unique(self.y)[:5])
            raise ProblemError(
                f"y[{wrong[0]}] is {self.y[wrong[0]]:g}; expected the labels -1 and 1, found "
                f"{found}: give np.where(y == positive, 1, -1)",
                "y",
            )
        if (self.y == self.y[0]).all():
            raise ProblemError(
                f"y holds the label {self.y[0]:g} alone; expected observations of both classes", "y"
            )

    @property
    def predictors(self) -> Any:
        """The design with each row times its label: the rows' values are the margins."""
        return scaled_rows(self.design, self.y)

    def loss(self, x: Array) -> float:
        """Return the sum of the hinge loss."""
        slack = np.maximum(1.0 - self.predictors @ self._coefficients(x), 0.0)
        return float((self.counts * slack).sum())

    def loss_pieces(self) -> Pieces:
        """Return (1 - r)_+."""
        return Pieces.uniform([1.0], [-self.counts, 0.0], n=len(self.y))
