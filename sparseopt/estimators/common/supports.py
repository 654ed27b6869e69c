"""The best few columns to explain another one by: what the estimators of sparse models share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval

from sparseopt.api import solve
from sparseopt.problems.base import Array
from sparseopt.problems.subset import problem as subset
from sparseopt.result import Result, Verdict, relative_gap

CONSTRAINTS: dict[str, Any] = {
    "k": [Interval(Integral, 1, None, closed="left")],
    "ridge": [Interval(Real, 0, None, closed="left")],
    "bound": [Interval(Real, 0, None, closed="right"), None],
    "lam0": [Interval(Real, 0, None, closed="left")],
    "backend": [str, HasMethods("solve")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
}
_CONSTANT = 1e-13
"""Deviations of this size, relative to the column's largest entry, are what rounding left."""


def unit_columns(X: Array, centre: Array, counts: Array) -> tuple[Array, Array]:
    """Return the centred columns with length 1, those that are constant 0, and their lengths.

    Parameters
    ----------
    X : array of shape (n, d)
    centre : array of shape (d,)
        What is subtracted from each column.
    counts : array of shape (n,)
        The weights of the rows, which are multiplied by their roots.

    Returns
    -------
    array of shape (n, d), array of shape (d,)
    """
    rest = X - centre
    constant = np.abs(rest).max(axis=0) <= _CONSTANT * np.abs(X).max(axis=0)
    rest *= np.sqrt(counts)[:, None]
    lengths = np.sqrt(np.einsum("ij,ij->j", rest, rest))
    lengths[constant] = 0.0
    rest *= np.where(lengths > 0.0, 1.0 / np.where(lengths > 0.0, lengths, 1.0), 0.0)
    return rest, lengths


def best_columns(
    X: Array,
    y: Array,
    asked: tuple[Any, ...],
    backend: Any,
    time_limit: float | None,
    names: list[str] | None = None,
) -> Result:
    """Solve for the best columns of X, of shape (n, d), to explain y by, of shape (n,).

    Parameters
    ----------
    X, y : arrays
        Of unit_columns.
    asked : tuple
        k, of which more than d is d; ridge, bound and lam0.
    backend, time_limit
        Of the estimator.
    names : list of d str, optional

    Raises
    ------
    SparseOptError
        When there is no answer.
    """
    k, ridge, bound, lam0 = asked
    problem = subset.SparseRegression(
        X, y, min(int(k), X.shape[1]), float(ridge), bound, float(lam0), names=names
    )
    return solve(problem, backend=backend, time_limit=time_limit).raise_for_status()


def numbers_of(result: Result) -> tuple[float, float, float]:
    """Return the objective, the bound and the relative gap of a result.

    Parameters
    ----------
    result : Result
        With a point.

    Returns
    -------
    float, float, float
    """
    assert result.objective is not None
    assert result.bound is not None
    gap = relative_gap(result.objective, result.bound) or 0.0
    return float(result.objective), float(result.bound), gap


def neighbours(
    X: Array, nodes: Array, asked: tuple[Any, ...], backend: Any, time_limit: float | None
) -> list[tuple[Array, Array, tuple[float, float, float], Verdict | None]]:
    """Return the best of all other columns for some columns.

    Parameters
    ----------
    X : array of shape (n, d)
        Of unit_columns.
    nodes : int array
        The columns that are explained.
    asked, backend, time_limit
        As for best_columns.

    Returns
    -------
    list of (int array, array, (objective, bound, gap), Verdict)
        For each of the nodes, its neighbours and their coefficients.
    """
    found = []
    for j in nodes:
        others = np.delete(np.arange(X.shape[1]), j)
        rest = X[:, others]
        rest.flags.writeable = False
        result = best_columns(rest, X[:, j], asked, backend, time_limit)
        x = np.asarray(result.x)
        chosen = np.flatnonzero(x)
        found.append((others[chosen], x[chosen], numbers_of(result), result.verdict))
    return found
