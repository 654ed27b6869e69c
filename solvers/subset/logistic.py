r"""The logistic loss: supports, and relaxations on a pool, by Newton's method.

With :math:`\alpha_i = 1 / (1 + \exp(y_i (x_i'b + \beta)))` the residual of a row that counts
:math:`s_i` times is :math:`r_i = s_i y_i \alpha_i`, and any :math:`\alpha \in [0, 1]^n` bounds the
loss,

.. math:: \log(1 + e^{-m}) \ge H(\alpha) - \alpha m, \qquad
          H(\alpha) = -\alpha \log \alpha - (1 - \alpha) \log(1 - \alpha),

so that :math:`\sum_i s_i H(\alpha_i)` takes the place of :math:`y'r - \|r\|^2 / 2`. An intercept
asks for :math:`\sum_i r_i = 0`; it is always at its best value, and its column is projected out of
the quadratic models, which are least squares with the weights :math:`s_i \alpha_i (1 - \alpha_i)`
and are minimised by the coordinate descent of the squared loss. Sources: Friedman, Hastie,
Tibshirani (2010), Regularization paths for generalized linear models, section 3; Atamturk, Gomez
(2020).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from sparseopt.installed import Deferred
from sparseopt.problems.base import Array
from sparseopt.problems.subset.logistic import SparseLogisticRegression

from .incumbent import DEPENDENT, Incumbent
from .relaxation import (
    CAP,
    SLOPE,
    TOLERANCE,
    Pool,
    conjugate,
    descend,
    fit_columns,
    least_squares,
)
from .settings import SubsetSettings

if TYPE_CHECKING:
    import scipy.special as special
else:
    special = Deferred("scipy.special")

_FLAT = 1e-12
"""Least weight of a row in a quadratic model: smaller ones give steps of no meaning."""
_JITTER = 1e-12
"""Part of a column's square that is added to it, so that what is projected out divides by none."""
_STEEPEST = 40.0
"""Largest slope of an entropy that counts: of an alpha one unit of rounding from 0 or 1."""
_HALVINGS = 40
_NEWTON_STEPS, _POLISHING_STEPS = 100, 12
_ENTERING = 16
"""Columns that enter the active set of a relaxation at once."""


def intercept_at(problem: SparseLogisticRegression, values: Array) -> float:
    """Return the best intercept beside values x_i'b; 0 where the problem has none.

    Parameters
    ----------
    problem : SparseLogisticRegression
    values : array of shape (n,)
    """
    if not problem.fit_intercept:
        return 0.0
    y, counts = problem.y, problem.counts
    # Beyond these, the rows of one label outweigh all others.
    up, total = float(counts[y > 0.0].sum()), float(counts.sum())
    high = float(np.abs(values).max()) + math.log(total / min(up, total - up)) + 1.0
    low, at = -high, 0.0
    for _ in range(200):
        alpha = special.expit(-y * (values + at))
        share = counts * alpha
        slope = float(y @ share)
        if abs(slope) <= 2.0**-50 * float(share.sum()):
            break
        low, high = (at, high) if slope > 0.0 else (low, at)
        curve = float(share @ (1.0 - alpha))
        step = at + slope / curve if curve > 0.0 else math.inf
        following = step if low < step < high else 0.5 * (low + high)
        if not low < following < high:
            break
        at = following
    return at


def slopes(problem: SparseLogisticRegression, values: Array) -> tuple[Array, float]:
    """Return the residual at values x_i'b with their best intercept, and the loss.

    Parameters
    ----------
    problem : SparseLogisticRegression
    values : array of shape (n,)
    """
    margins = problem.y * (values + intercept_at(problem, values))
    r = problem.counts * problem.y * special.expit(-margins)
    return r, float(problem.counts @ np.logaddexp(0.0, -margins))


def first_slopes(problem: SparseLogisticRegression) -> Array:
    """Return the residual of b = 0, shape (n,).

    Parameters
    ----------
    problem : SparseLogisticRegression
    """
    return slopes(problem, np.zeros(len(problem.y)))[0]


def curvature(problem: SparseLogisticRegression, r: Array) -> Array:
    """Return the second derivatives of the loss in the values of the rows, shape (n,).

    Parameters
    ----------
    problem : SparseLogisticRegression
    r : array of shape (n,)
        Residual at which the loss is taken.
    """
    alpha = np.abs(r) / problem.counts
    return np.asarray(problem.counts * np.maximum(alpha * (1.0 - alpha), _FLAT))


def quadratic(problem: SparseLogisticRegression, A: Array, r: Array) -> tuple[Array, Array]:
    """Return the second derivatives, and the negative slopes, of the loss in some columns.

    Parameters
    ----------
    problem : SparseLogisticRegression
    A : array of shape (a, n)
        The columns.
    r : array of shape (n,)
        Residual at which the loss is taken, with the best intercept.

    Returns
    -------
    array of shape (a, a), array of shape (a,)
    """
    curve = curvature(problem, r)
    weighted = A * curve
    G, c = weighted @ A.T, A @ r
    jitter = _JITTER * np.diag(G)
    if problem.fit_intercept:
        ones, total = weighted.sum(axis=1), float(curve.sum())
        G -= np.multiply.outer(ones, ones) / total
        c -= ones * (float(r.sum()) / total)
    G[np.diag_indices(len(G))] += jitter
    return G, c


def weighted_fit(problem: SparseLogisticRegression, A: Array, b: Array, r: Array) -> Array:
    """Return where a Newton step leads, within the bound, from least squares of the columns.

    Parameters
    ----------
    problem : SparseLogisticRegression
    A : array of shape (s, n)
        The columns.
    b : array of shape (s,)
    r : array of shape (n,)
        Residual at b with the best intercept.

    Returns
    -------
    array of shape (s,)
    """
    curve = curvature(problem, r)
    rows = np.vstack([A, b @ A + r / curve])
    if problem.fit_intercept:
        rows -= (rows @ curve / curve.sum())[:, None]
    rows *= np.sqrt(curve)
    return fit_columns(problem, rows[:-1].T, rows[-1])[0]


def balanced_residual(problem: SparseLogisticRegression, A: Array, b: Array) -> Array | None:
    """Return the residual at b with the products with its columns that an optimum has.

    These are the ridge's slopes, of columns that are not at the bound, and 0 with the ones of an
    intercept. Rounding is taken out where the loss is curved most; None where that leads outside of
    the residuals that bound the loss.

    Parameters
    ----------
    problem : SparseLogisticRegression
    A : array of shape (s, n)
        The columns.
    b : array of shape (s,)
        Coefficients at the optimum, but for rounding.
    """
    r = slopes(problem, b @ A)[0]
    free = np.abs(b) < problem.limit * (1.0 - 2.0**-40)
    rows, products = A[free], problem.ridge * b[free]
    if problem.fit_intercept:
        rows, products = np.vstack([rows, np.ones(len(r))]), np.append(products, 0.0)
    lengths = np.linalg.norm(rows, axis=1)
    rows, products = rows[lengths > 0.0], products[lengths > 0.0] / lengths[lengths > 0.0]
    rows = rows / lengths[lengths > 0.0][:, None]
    root = np.sqrt(curvature(problem, r))
    for _ in range(2):
        step = np.linalg.lstsq(rows * root, products - rows @ r, rcond=None)[0]
        r = r + root * step
    alpha = problem.y * r / problem.counts
    return r if ((alpha >= 0.0) & (alpha <= 1.0)).all() else None


def search_line(
    value: Callable[[Array], float], b: Array, towards: Array, before: float
) -> tuple[Array, float]:
    """Return the first of b + d, b + d/2, b + d/4, ... that is better than b, and its value.

    Parameters
    ----------
    value : callable
        Of coefficients.
    b, towards : arrays of shape (a,)
    before : float
        The value of b, which is returned where nothing is better.
    """
    step = towards - b
    for _ in range(_HALVINGS):
        trial = b + step
        found = value(trial)
        if found < before:
            return trial, found
        step *= 0.5
    return b, before


def fit_support(problem: SparseLogisticRegression, A: Array) -> tuple[Array, float]:
    """Return the best coefficients of few columns, within the bound, and loss plus ridge.

    Parameters
    ----------
    problem : SparseLogisticRegression
    A : array of shape (s, n)
        The columns.
    """

    def value(b: Array) -> float:
        return slopes(problem, b @ A)[1] + 0.5 * problem.ridge * float(b @ b)

    b = np.zeros(len(A))
    found = value(b)
    for _ in range(_NEWTON_STEPS if len(A) else 0):
        before = found
        G, c = quadratic(problem, A, slopes(problem, b @ A)[0])
        b, found = search_line(value, b, least_squares(problem, G, c + G @ b), before)
        if not found < before - 1e-16 * problem.null_value:
            break
    if problem.ridge == 0.0 and b.any():
        # Classes that are separated: nothing but the bound ends the growth.
        M = problem.limit
        farthest = np.clip(b * (M / float(np.abs(b).max())), -M, M)
        loss = value(farthest)
        if loss < found:
            return farthest, loss
    return b, found


class LogisticIncumbent(Incumbent):
    """The best support so far; gains are those of a quadratic model at the fit of the chosen."""

    problem: SparseLogisticRegression

    def __init__(self, problem: SparseLogisticRegression, settings: SubsetSettings) -> None:
        super().__init__(problem, settings)
        self.offer(self.support)

    def point(self) -> Array:
        """Return the coefficients of all columns, and the intercept where there is one."""
        x = super().point()
        if not self.problem.fit_intercept:
            return x
        values = self.problem.X[:, self.support] @ self.b
        return np.append(x, intercept_at(self.problem, values))

    def offer(self, support: Array) -> bool:
        """Take a support over where it is better; return whether it is.

        Parameters
        ----------
        support : int array of shape (s,)
        """
        columns = np.ascontiguousarray(self.problem.X[:, support].T)
        return self.take(support, fit_support(self.problem, columns)[0])

    def _loss(self, support: Array, b: Array) -> float:
        loss = slopes(self.problem, self.problem.X[:, support] @ b)[1]
        return loss + 0.5 * self.problem.ridge * float(b @ b)

    def _gains(self, chosen: list[int]) -> Array:
        problem, X = self.problem, self.problem.X
        A = np.ascontiguousarray(X[:, chosen].T)
        b, _ = fit_support(problem, A)
        r, _ = slopes(problem, b @ A)
        curve = curvature(problem, r)
        ridge = np.full(len(chosen), problem.ridge)
        if problem.fit_intercept:
            A, ridge = np.vstack([A, np.ones(len(r))]), np.append(ridge, 0.0)
        squares = np.einsum("i,ij,ij->j", curve, X, X)
        left = squares
        if len(A):
            weighted = A * curve
            rows, H = weighted @ X, weighted @ A.T + np.diag(ridge)
            H[np.diag_indices(len(H))] *= 1.0 + DEPENDENT
            left = squares - np.einsum("ij,ij->j", rows, np.linalg.solve(H, rows))
        left = np.where(left > DEPENDENT * squares, left, np.inf) + problem.ridge
        with np.errstate(invalid="ignore", divide="ignore"):
            gain = np.where(left > 0.0, 0.5 * (r @ X) ** 2 / left, 0.0)
        gain[chosen] = 0.0
        return np.asarray(gain)


class LogisticPool(Pool):
    """The pool of the logistic loss; its intercept is always the best one."""

    problem: SparseLogisticRegression
    _ACTIVE_SETS = _NEWTON_STEPS

    def intercept(self, vector: tuple[Array, Array]) -> float:
        """Return the best intercept of coefficients; 0 where the problem has none.

        Parameters
        ----------
        vector : (int array, array)
            Columns of X, and their coefficients.
        """
        index, value = vector
        return intercept_at(self.problem, value @ self.rows[self.place[index]])

    def residual(self, vector: tuple[Array, Array]) -> Array:
        """Return s y alpha for coefficients of some columns of the pool.

        Parameters
        ----------
        vector : (int array, array)
            Columns of X, and their coefficients.
        """
        index, value = vector
        return slopes(self.problem, value @ self.rows[self.place[index]])[0]

    def _sizes(self, vector: tuple[Array, Array], terms: Array) -> Array:
        size = np.abs(self.residual(vector))
        alpha = size / self.problem.counts
        return np.asarray(size * (1.0 + (1.0 - alpha) * (terms + abs(self.intercept(vector)))))

    def fit(self, columns: Array) -> tuple[Array, Array | None]:
        """Return the best coefficients of few columns within the bound, and a residual.

        Parameters
        ----------
        columns : int array of shape (s,)
        """
        problem, A = self.problem, self.rows[self.place[columns]]
        best = fit_support(problem, A)[0]
        # The loss is flat where slopes in large units are not yet small: what they prove goes on.
        b, proven = best, -math.inf
        for _ in range(_POLISHING_STEPS):
            r = slopes(problem, b @ A)[0]
            following = self.dual(r)[0] - float(conjugate(problem, A @ r).sum())
            if following > proven:
                best, proven = b, following
            b = weighted_fit(problem, A, b, r)
        return best, balanced_residual(problem, A, best)

    def dual(self, r: Array) -> tuple[float, float]:
        """Return the sum of the entropies of alpha, and the size of its terms."""
        alpha = np.minimum(np.abs(r) / self.problem.counts, 1.0)
        terms = special.xlogy(alpha, alpha) + special.xlog1py(1.0 - alpha, -alpha)
        entropy = -float(self.problem.counts @ terms)
        with np.errstate(divide="ignore"):
            slopes = np.minimum(np.abs(np.log1p(-alpha) - np.log(alpha)), _STEEPEST)
        return entropy, entropy + float(self.problem.counts @ (alpha * slopes))

    def _hold(self, inside: Array, b: Array) -> None:
        # Beside other coefficients the descent that follows does it.
        if not b.any():
            b[inside], _ = fit_support(self.problem, self.rows[inside])

    def _improve(
        self, b: Array, c: Array, active: Array, held: Array, multiplier: float, numbers: Array
    ) -> bool:
        problem, A, own = self.problem, self.rows[active], b[active]
        slope, cap, tolerance = numbers[[SLOPE, CAP, TOLERANCE]]

        def costs(b: Array) -> float:
            size, ridge = np.abs(b), 0.5 * problem.ridge * b**2
            free = np.where(size <= cap, slope * size, multiplier + ridge)
            return float(np.where(held, ridge, free).sum())

        def value(b: Array) -> float:
            return slopes(problem, b @ A)[1] + costs(b)

        r, loss = slopes(problem, own @ A)
        before = loss + costs(own)
        G, products = quadratic(problem, A, r)
        towards = own.copy()
        self.sweeps += descend(G, products, towards, held, numbers, self.settings.sweeps)
        b[active], found = search_line(value, own, towards, before)
        return bool(before - found <= tolerance)

    def _entering(self, free: Array, c: Array, slope: float) -> Array:
        # Each step takes the second derivatives of all active columns: few enter at once.
        size = np.where(free, np.abs(c), 0.0)
        least = np.partition(size, -_ENTERING)[-_ENTERING] if len(size) > _ENTERING else 0.0
        return np.asarray(size > max(slope, np.nextafter(least, 0.0)))

    def _gradient(self, b: Array) -> Array:
        S = np.flatnonzero(b)
        return np.asarray(self.rows @ slopes(self.problem, b[S] @ self.rows[S])[0])

    def _values(self, b: Array, c: Array) -> tuple[float, float]:
        S = np.flatnonzero(b)
        r, loss = slopes(self.problem, b[S] @ self.rows[S])
        return loss, self.dual(r)[0]
