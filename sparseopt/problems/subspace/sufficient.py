"""The subspace that a response depends on: sufficient dimension reduction."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import ClassVar

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_vector
from sparseopt.problems.fields import check_lengths
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.sketch import scatter

_TASKS = ("regression", "classification")
_CLASSES = 100
"""Distinct labels at most: more are a sign that a regression is meant."""


@dataclass(frozen=True, eq=False, repr=False)
class SufficientReduction(SubspaceProblem):
    r"""The k-dimensional subspace whose coordinates explain a response best.

    .. math:: \min_W \; \min_{g, b} \; \frac1N \sum_{i=1}^N \big\| y_i - b - g(W'x_i) \big\|^2
              + \rho\, \|g\|^2 = \rho \operatorname{tr} Y'(H K_W H + N \rho I)^{-1} Y

    over functions g in the reproducing kernel Hilbert space of
    :math:`\exp(-\|z - z'\|^2 / 2h^2)`, with the kernel matrix :math:`K_W` of the projected points
    and :math:`H = I - 11'/N`. Responses are centred, and scaled so that the value is the share left
    unexplained, from 0 to 1; a classification has the indicators of its classes as responses. The
    problem is not convex.

    Parameters
    ----------
    X : array of shape (N, n)
        N points with n coordinates, in comparable units: standardise the columns.
    y : array of shape (N,)
        Responses, or labels of classes as numbers; not constant.
    k : int
        Dimension of the subspace, 1 <= k < n; there is no default. At least k + 1 points.
    task : {"regression", "classification"}
    bandwidth : float, optional
        h > 0, in the unit of X. Default: twice the root mean square of the columns' standard
        deviations, times the root of k.
    ridge : float, default 0.01
        :math:`\rho > 0`; a small one follows the noise.

    Raises
    ------
    ProblemError
        When X or y is not finite, y is constant, or a setting is out of range.

    References
    ----------
    Takhanov: Dimension reduction as an optimization problem over a set of generalized functions
    (2021), task (9). Fukumizu, Bach, Jordan: Kernel dimension reduction in regression, Annals of
    Statistics 37 (2009), whose criterion this is with a linear kernel of y.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import SufficientReduction
    >>> X = np.random.default_rng(0).normal(size=(50, 2))
    >>> problem = SufficientReduction(X, X[:, 0] ** 2, k=1)
    >>> problem.objective(np.array([[1.0], [0.0]])) < problem.objective(np.array([[0.0], [1.0]]))
    True
    """

    X: Array
    y: Array
    k: int = 0
    task: str = "regression"
    bandwidth: float | None = None
    ridge: float = 0.01

    kind: ClassVar[str] = "sufficient-reduction"

    def _coerce(self) -> None:
        super()._coerce()
        self._set("y", as_vector("y", self.y, len(self.X)))
        if self.bandwidth is None:
            with np.errstate(over="ignore", invalid="ignore"):
                spread = float(np.sqrt(self.X.var(axis=0).mean()))
            self._set("bandwidth", 2.0 * math.sqrt(max(self.k, 1)) * (spread or 1.0))

    def validate(self) -> None:
        """Check the dimension, the responses, the task, bandwidth and ridge."""
        super().validate()
        check_lengths("X", self.X.ravel())
        check_lengths("y", self.y)
        if self.task not in _TASKS:
            raise ProblemError(
                f"task is {self.task!r}; expected one of {', '.join(map(repr, _TASKS))}", "task"
            )
        for name in ("bandwidth", "ridge"):
            value = getattr(self, name)
            if (
                isinstance(value, bool)
                or not isinstance(value, Real)
                or not 0 < float(value) < math.inf
            ):
                raise ProblemError(f"{name} is {value!r}; expected a finite number > 0", name)
            self._set(name, float(value))
        distinct = len(np.unique(self.y))
        if distinct < 2:
            raise ProblemError(f"y is {self.y[0]:g} everywhere; expected two values at least", "y")
        if self.task == "classification" and distinct > min(_CLASSES, len(self.y) // 2):
            raise ProblemError(
                f"y has {distinct} labels for {len(self.y)} points; a classification has at most "
                f"{_CLASSES} classes of two points on average: use task='regression'",
                "y",
            )

    @property
    def _cure(self) -> str | None:
        return None

    def centred(self, x: Array) -> Array:
        """Return the points less their mean, shape (N, n)."""
        return np.asarray(self.X - self.X.mean(axis=0))

    def sketch(self, x: Array) -> str:
        """Return the response over a coordinate, or classes in the subspace, an SVG element."""
        Z = self.centred(x) @ self.basis(x)
        if self.task == "regression":
            same = np.zeros(len(Z))
            return scatter(Z[:, 0], self.y, same, "the response over a coordinate")
        up, what = (Z[:, 1], "two coordinates") if self.k > 1 else (self.y, "a coordinate")
        classes = np.unique(self.y, return_inverse=True)[1]
        return scatter(Z[:, 0], up, classes, f"the classes over {what}")

    @cached_property
    def targets(self) -> Array:
        """Y: centred responses of mean square 1 together, shape (N, 1), or (N, classes)."""
        y = self.y
        Y = (
            (y[:, None] == np.unique(y)).astype(float)
            if self.task == "classification"
            else ((y / np.abs(y).max())[:, None])
        )
        Y = Y - Y.mean(axis=0)
        return np.asarray(Y / math.sqrt(float(np.vdot(Y, Y)) / len(Y)))

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the share of the response left unexplained; lam is ignored. O(N^3)."""
        assert self.bandwidth is not None
        Z = self.centred(x) @ self.basis(x) / self.bandwidth
        squares = np.einsum("ij,ij->i", Z, Z)
        K = np.exp(np.minimum(Z @ Z.T - (squares[:, None] + squares) / 2.0, 0.0))
        means = K.mean(axis=0)
        K += means.mean() - means - means[:, None]
        K[np.diag_indices_from(K)] += len(K) * self.ridge
        Y = self.targets
        return float(self.ridge * np.vdot(Y, np.linalg.solve(K, Y)))

    def unexplained(self, x: Array, X: Array, y: Array) -> float:
        """Return the squared error of the regression at other points, over their variance.

        Parameters
        ----------
        x : array of shape (n, k)
            A basis: the regression is that of this problem on its coordinates.
        X : array of shape (M, n)
        y : array of shape (M,)

        Returns
        -------
        float
            0 where all of y is predicted; above 1 where its mean would be closer. Of a
            classification, for the indicators of the classes.
        """
        from scipy.spatial.distance import cdist

        assert self.bandwidth is not None
        Y, truth = self.y[:, None], np.asarray(y)[:, None]
        if self.task == "classification":
            classes = np.unique(self.y)
            Y, truth = 1.0 * (classes == Y), 1.0 * (classes == truth)
        W = self.basis(x) / self.bandwidth
        Z, others = self.X @ W, X @ W
        K, across = (np.exp(-cdist(each, Z, "sqeuclidean") / 2.0) for each in (Z, others))
        means, middle = K.mean(axis=0), Y.mean(axis=0)
        centred = K - means - means[:, None] + means.mean()
        centred[np.diag_indices_from(centred)] += len(K) * self.ridge
        error = truth - middle - (across - means) @ np.linalg.solve(centred, Y - middle)
        spread = float(np.sum((truth - truth.mean(axis=0)) ** 2))
        return float(np.sum(error**2)) / max(spread, np.finfo(float).tiny)

    def objective_scale(self, x: Array, lam: float | None = None) -> float:
        """Return 1: what is explained is a difference from it."""
        return 1.0
