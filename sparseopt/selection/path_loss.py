"""The loss of a path's predictions as an exact function of lam."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.paths.parametric import ParametricPath
from sparseopt.problems.base import Array, is_sparse
from sparseopt.selection.curve import Curve
from sparseopt.selection.losses import Loss

_CELLS = 1 << 18
"""Predictors that are held at once: segments times observations."""


class Rows:
    """Observations x_i - c, whose products with a solution are the linear predictors.

    Sparse ones are never made dense.

    Parameters
    ----------
    X : array or csr_array of shape (n, p)
    centre : array of shape (p,), optional
        Taken away from each row. Default: nothing.
    """

    def __init__(self, X: Any, centre: Array | None = None) -> None:
        if centre is not None and not is_sparse(X):
            X, centre = X - centre, None
        self.X = X
        self.centre = centre

    def __getitem__(self, rows: Array) -> Rows:
        return Rows(self.X[rows], self.centre)

    def columns(self, which: Array) -> Array:
        """Return some columns as a dense array of shape (n, k)."""
        if not is_sparse(self.X):
            return np.asarray(self.X[:, which])
        found = np.asarray(self.X[:, which].toarray())
        return found if self.centre is None else found - self.centre[which]

    def predictors(self, theta: sp.csr_array) -> Array:
        """Return theta (x_i - c) for each row of coefficients, shape (q, n)."""
        found = theta @ self._by_column
        if is_sparse(found):
            found = found.toarray()
        if self.centre is not None:
            found -= (theta @ self.centre)[:, None]
        return np.asarray(found)

    def correlations(self, u: Array) -> Array:
        """Return u' (X - 1 c') for each row of u, shape (q, p)."""
        found = np.asarray((self.X.T @ u.T).T)
        return found if self.centre is None else found - np.outer(u.sum(axis=1), self.centre)

    def squares(self, counts: Array) -> Array:
        """Return the weighted squared lengths of the columns of X - 1 c', shape (p,)."""
        if not is_sparse(self.X):
            return np.asarray(counts @ self.X**2)
        found = counts @ self.X.multiply(self.X)
        if self.centre is None:
            return np.asarray(found)
        both = counts.sum() * self.centre - 2.0 * (counts @ self.X)
        return np.asarray(np.maximum(found + both * self.centre, 0.0))

    @cached_property
    def _by_column(self) -> Any:
        return sp.csr_array(self.X.T) if is_sparse(self.X) else np.ascontiguousarray(self.X.T)


def path_loss(
    path: ParametricPath, rows: Rows, y: Array, loss: Loss, counts: Array | float = 1.0
) -> Curve:
    r"""Return :math:`\sum_i s_i\, \ell(y_i, x_i'\theta(\lambda))` over the whole path.

    The predictors are affine in lam on each segment, so the loss is quadratic between the knots and
    the values of lam where a predictor passes its loss's kink. Those are added as breakpoints.

    Parameters
    ----------
    path : ParametricPath
    rows : Rows
        The n rows x_i, with a column of ones where the path has an intercept.
    y : array of shape (n,)
    loss : Loss
    counts : array of shape (n,), default 1
        The weights s_i of the observations.
    """
    segments, p = len(path.low), path.shape[1]
    theta, rate = (
        sp.csr_array((part, path.theta.index, path.theta.ptr), shape=(segments, p))
        for part in (path.theta.value, path.theta.rate)
    )
    times = np.broadcast_to(counts, y.shape)[:, None]
    kink, below, above = loss.kink(y), times * loss.below(y), times * loss.above(y)
    chunk = max(1, _CELLS // len(y))
    parts = []
    for first in range(0, segments, chunk):
        here = slice(first, min(first + chunk, segments))
        u = rows.predictors(theta[here]) - kink
        v = rows.predictors(rate[here])
        parts.append(_pieces(u, v, path.low[here], path.high[here], below, above))
    low, coefficients = zip(*parts, strict=True)
    return Curve(np.concatenate(low), float(path.high[0]), np.concatenate(coefficients))


def _pieces(
    u: Array, v: Array, low: Array, high: Array, below: Array, above: Array
) -> tuple[Array, Array]:
    """Return lower ends and coefficients of the pieces of some segments, lam decreasing.

    The predictors less their kinks are u + t v, both of shape (segments, n), at t above low.
    """
    kinked = (above != below).any(axis=1)
    side = np.where(u != 0.0, u, v)[:, :, None]
    a = np.where(side < 0.0, below, above)
    if kinked.any():
        a = np.where(side == 0.0, 0.5 * (below + above), a)
    at_low = _terms(a, u, v).sum(axis=1)
    if not kinked.any() or not v.any():
        return low, at_low
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        crossing = -u / v
    inside = (crossing > 0.0) & (crossing < (high - low)[:, None]) & kinked
    lows, coefficients = [], []
    for s in range(len(low)):
        i = np.flatnonzero(inside[s])
        jump = np.sign(v[s, i])[:, None] * (above[i] - below[i])
        steps, values = _crossed(at_low[s], crossing[s, i], _terms(jump, u[s, i], v[s, i]))
        lows.append(low[s] + steps)
        coefficients.append(values)
    return np.concatenate(lows), np.concatenate(coefficients)


def _terms(a: Array, u: Array, v: Array) -> Array:
    """Expand a0 + a1 (u + t v) + a2 (u + t v)^2 in t; the last axis has the coefficients."""
    a0, a1, a2 = a[..., 0], a[..., 1], a[..., 2]
    return np.stack([a0 + u * (a1 + u * a2), v * (a1 + 2.0 * u * a2), v * v * a2], axis=-1)


def _crossed(at_low: Array, crossing: Array, change: Array) -> tuple[Array, Array]:
    """Return the pieces of one segment from its upper end down.

    Parameters
    ----------
    at_low : array of shape (3,)
        Coefficients of the loss in the step t just above the segment's lower end.
    crossing : array of shape (k,)
        The steps at which they change, and `change`, shape (k, 3), by how much.

    Returns
    -------
    steps : array of shape (pieces,)
        Lower ends of the pieces as steps, decreasing to 0.
    coefficients : array of shape (pieces, 3)
        In the step above each piece's own lower end.
    """
    steps, place = np.unique(crossing, return_inverse=True)
    a = np.zeros((len(steps) + 1, 3))
    a[0] = at_low
    np.add.at(a, place + 1, change)
    a = np.cumsum(a, axis=0)
    t = np.append(0.0, steps)
    shifted = [a[:, 0] + t * (a[:, 1] + t * a[:, 2]), a[:, 1] + 2.0 * t * a[:, 2], a[:, 2]]
    return t[::-1], np.column_stack(shifted)[::-1]
