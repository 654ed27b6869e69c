"""Sparse linear regression as parametric linear programs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from sparseopt.errors import ProblemError
from sparseopt.problems.base import Array, as_matrix, as_vector
from sparseopt.problems.maps import DenseMap, GramMap
from sparseopt.problems.parametric import ParametricProblem, PiecewiseLinearProgram
from sparseopt.problems.pieces import Pieces

__all__ = ["DantzigSelector", "LADLasso"]


def _design(problem: DantzigSelector | LADLasso) -> None:
    """Coerce X, y and the weights of a regression model."""
    X = as_matrix("X", problem.X)
    problem._set("X", X)
    problem._set("y", as_vector("y", problem.y, X.shape[0]))


def _weights(problem: DantzigSelector | LADLasso, name: str, length: int) -> None:
    value = getattr(problem, name)
    if value is None:
        return
    weights = as_vector(name, value, length)
    if (weights < 0.0).any():
        at = int(np.argmin(weights))
        raise ProblemError(f"{name}[{at}] is {weights[at]}; expected numbers >= 0", name)
    problem._set(name, weights)


def _names(problem: DantzigSelector | LADLasso) -> None:
    """Coerce the names of the columns, where they are given."""
    if problem.names is None:
        return
    d = problem.X.shape[1]
    given: object = problem.names
    names = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [None]
    if not all(isinstance(name, str) for name in names):
        raise ProblemError(f"names is {given!r}; expected a list of {d} strings", "names")
    if len(names) != d:
        raise ProblemError(f"names has {len(names)} entries; expected {d}", "names")
    problem._set("names", [str(name) for name in names])


def _column_names(problem: DantzigSelector | LADLasso) -> list[str]:
    if problem.names is None:
        return [f"x{j}" for j in range(problem.X.shape[1])]
    return list(problem.names)


def _given(weights: Array | None, length: int) -> Array:
    return np.ones(length) if weights is None else weights


@dataclass(frozen=True, eq=False, repr=False)
class DantzigSelector(ParametricProblem):
    r"""The Dantzig selector (2.3).

    .. math:: \min_\theta \sum_j w_j |\theta_j| \quad\text{subject to}\quad
              |X_j'(y - X\theta)| \le \lambda\, r_j \;\text{ for all } j

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    scale : {"none", "n"}, default "none"
        "none": lam is on the scale of X'(y - X theta). "n": both X'X and X'y are divided by n,
        and lam is on the scale of X'(y - X theta) / n.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0` of the objective, default 1; 0 leaves a coefficient unpenalised.
    row_weights : array of shape (d,), optional
        The :math:`r_j \ge 0` of the constraints, default 1. The adaptive Dantzig selector has
        ``row_weights = weights``: it is the plain one on the columns X_j / w_j, and a weight 0
        fits its coefficient in full.
    names : list of d str, optional
        Names of the columns, for tables and plots.

    References
    ----------
    Candes and Tao (2007); equation (2.3) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import DantzigSelector
    >>> problem = DantzigSelector(X=np.eye(3), y=[3.0, -2.0, 0.5])
    >>> problem.residuals(np.array([2.0, -1.0, 0.0]), lam=1.0)["constraints"]
    0.0
    """

    X: Array
    y: Array
    scale: Literal["none", "n"] = "none"
    weights: Array | None = None
    row_weights: Array | None = None
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "dantzig-selector"

    def _coerce(self) -> None:
        _design(self)
        _weights(self, "weights", self.X.shape[1])
        _weights(self, "row_weights", self.X.shape[1])
        _names(self)

    def validate(self) -> None:
        """Check `scale`; the arrays were checked on the way in."""
        if self.scale not in ("none", "n"):
            raise ProblemError(f"scale is {self.scale!r}; expected 'none' or 'n'", "scale")

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "d": self.X.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        return _column_names(self)

    @property
    def divisor(self) -> float:
        """What X'X and X'y are divided by: 1, or n."""
        return float(self.X.shape[0]) if self.scale == "n" else 1.0

    def canonical(self) -> PiecewiseLinearProgram:
        """A = X'X, phi = w abs, psi = indicator of abs(r - X'y) <= lam r_j."""
        d = self.X.shape[1]
        return PiecewiseLinearProgram(
            GramMap(self.X, self.divisor),
            Pieces.absolute(_given(self.weights, d)),
            Pieces.lam_band(self.X.T @ self.y / self.divisor, _given(self.row_weights, d)),
        )

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return sum_j w_j abs(x_j); it does not depend on lam."""
        theta = as_vector("x", x, self.X.shape[1])
        return float(_given(self.weights, len(theta)) @ np.abs(theta))


@dataclass(frozen=True, eq=False, repr=False)
class LADLasso(ParametricProblem):
    r"""The LAD-lasso (2.5): least absolute deviations with an l1 penalty.

    .. math:: \min_\theta \|y - X\theta - \beta\|_1 + \lambda \sum_j w_j |\theta_j|

    Parameters
    ----------
    X : array of shape (n, d)
    y : array of shape (n,)
    fit_intercept : bool, default False
        Fit an unpenalised intercept beta; it is then the last of the d + 1 coefficients.
    weights : array of shape (d,), optional
        The :math:`w_j \ge 0`, default 1; 0 leaves a coefficient unpenalised.
    names : list of d str, optional
        Names of the columns, for tables and plots.

    Notes
    -----
    lam is on the scale of X' sign(y - X theta). The solution is piecewise constant in lam and jumps
    at the knots.

    References
    ----------
    Wang, Li, Jiang (2007); equation (2.5) of Pang, Zhao, Vanderbei, Liu.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import LADLasso
    >>> problem = LADLasso(X=np.ones((3, 1)), y=[1.0, 2.0, 4.0])
    >>> problem.objective(np.array([2.0]), lam=0.5)
    4.0
    """

    X: Array
    y: Array
    fit_intercept: bool = False
    weights: Array | None = None
    names: Sequence[str] | None = None

    kind: ClassVar[str] = "lad-lasso"

    def _coerce(self) -> None:
        _design(self)
        _weights(self, "weights", self.X.shape[1])
        _names(self)

    def validate(self) -> None:
        """Check `fit_intercept`; the arrays were checked on the way in."""
        if not isinstance(self.fit_intercept, bool):
            raise ProblemError(
                f"fit_intercept is {self.fit_intercept!r}; expected True or False", "fit_intercept"
            )

    @property
    def size(self) -> Mapping[str, int]:
        return {"n": self.X.shape[0], "d": self.X.shape[1]}

    @property
    def coefficient_names(self) -> list[str]:
        names = _column_names(self)
        return [*names, "intercept"] if self.fit_intercept else names

    @property
    def design(self) -> Array:
        """X, with a last column of ones where an intercept is fitted."""
        if not self.fit_intercept:
            return self.X
        return np.column_stack([self.X, np.ones(len(self.y))])

    def canonical(self) -> PiecewiseLinearProgram:
        """A = X, phi = lam w abs, psi = abs(r - y_i)."""
        penalty = Pieces.lam_absolute(_given(self.weights, self.X.shape[1]))
        if self.fit_intercept:
            penalty = Pieces.concatenate(penalty, Pieces.free(1))
        return PiecewiseLinearProgram(
            DenseMap(self.design), penalty, Pieces.check_loss(self.y, 0.5, scale=2.0)
        )

    def objective(self, x: Array, lam: float | None = None) -> float:
        """Return the absolute deviations plus lam times the weighted l1 norm of x, shape (p,)."""
        if lam is None:
            raise ProblemError("the LAD-lasso is evaluated at a value of lam: give lam")
        d = self.X.shape[1]
        theta = as_vector("x", x, d + self.fit_intercept)
        penalty = _given(self.weights, d) @ np.abs(theta[:d])
        return float(np.abs(self.y - self.design @ theta).sum() + lam * penalty)
