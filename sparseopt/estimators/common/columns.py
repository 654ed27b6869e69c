"""Names, means, spreads and covariances of the columns of data, which may be sparse and stay so."""

from __future__ import annotations

import math
from inspect import signature
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from sparseopt.errors import ParamError
from sparseopt.names import with_intercept_name
from sparseopt.problems.base import Array, is_sparse
from sparseopt.problems.columns import mean
from sparseopt.problems.fields import column_names

_DEPENDENT = 1e-10
"""What is left of a column, less the others, when it is a combination of them: rounding."""
_CELLS = 1 << 22
"""Entries of a sparse matrix's rows that are held densely at once."""
LARGEST = 1 << 28
"""Entries of a sparse matrix that is made dense as a whole."""


def as_dense(X: Any, who: str = "this estimator") -> Array:
    """Return validated data as a dense array, for the problems that hold no other.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    who : str
        Needs them dense, for the message.

    Raises
    ------
    ValueError
        When a sparse X would take more than 2 GB.
    """
    if not is_sparse(X):
        return np.asarray(X)
    n, d = X.shape
    if n * d > LARGEST:
        raise ValueError(
            f"X is sparse, and {who} needs it dense: {n:,} x {d:,} numbers would take "
            f"{8e-9 * n * d:.3g} GB, more than 2. Take fewer rows or columns, or give X dense"
        )
    return np.asarray(X.toarray())


def given_names(estimator: Any, kept: Any = slice(None)) -> list[str] | None:
    """Return the names of the columns that an estimator was fitted with; None of arrays.

    Parameters
    ----------
    estimator : fitted
    kept : slice or int array
        Of which columns.
    """
    names = getattr(estimator, "feature_names_in_", None)
    return None if names is None else list(names[kept])


def names_of(estimator: Any) -> list[str]:
    """Return the names of the columns that an estimator was fitted with: x0, x1, ... of arrays.

    Parameters
    ----------
    estimator : fitted
    """
    return column_names(given_names(estimator), estimator.n_features_in_)


def refuse_beyond(estimator: Any, name: str, most: int) -> None:
    """Refuse a number of columns that X does not have; a default is left to be cut down.

    A default of 5 is to fit any data, and cannot be told from 5 that was asked for.

    Parameters
    ----------
    estimator : estimator
        That is being fitted.
    name : str
        The parameter: a whole number, several, or None.
    most : int
        Of its values, with the columns that there are.

    Raises
    ------
    ParamError
    """
    value = getattr(estimator, name)
    default = signature(type(estimator)).parameters[name].default
    if value is None or np.max(value) <= most:
        return
    if not (isinstance(value, Integral) and value == default):
        raise ParamError(
            f"{name} is {value!r}; expected at most {most}: X has {estimator.n_features_in_} "
            "columns"
        )


def spread(X: Any, counts: Array, centred: bool) -> Array:
    """Return the standard deviation of each column, and 1 for columns that are constant.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    counts : array of shape (n,)
        The weights of the observations.
    centred : bool
        Whether deviations are from the mean, or from 0.

    Returns
    -------
    array of shape (d,)
    """
    size = _deviation(X, counts, np.zeros(X.shape[1]))
    found = _deviation(X, counts, mean(X, counts)) if centred else size
    # The deviations of a constant column are what rounding left.
    return np.asarray(np.where(found > 1e-10 * size, found, 1.0))


def independent(X: Array, centre: Array | None, counts: Array | None = None) -> Array:
    """Return the columns that are no combination of those before them, nor with an intercept.

    Parameters
    ----------
    X : array of shape (n, d)
        Already less the centre.
    centre : array of shape (d,), optional
        What was taken away of the columns that an intercept stands beside, 0 of those that were
        sparse; it says what rounding left of a column that is constant. None without an intercept.
    counts : array of shape (n,), optional
        The weights of the observations; those of 0 do not count.

    Returns
    -------
    int array of at most min(n, d) places
        Increasing. Columns before one another come first: of the indicators of all values of a
        factor, which add up to a constant, the last one is left out.
    """
    X = X if counts is None else X[counts > 0.0]
    n, level = len(X), np.zeros(X.shape[1])
    if centre is not None:
        rest = mean(X)
        X, level = X - rest, centre + rest
    sizes = np.hypot(np.linalg.norm(X, axis=0), math.sqrt(n) * np.abs(level))
    basis, kept = np.zeros((n, 0)), []
    for j in np.flatnonzero(sizes):
        rest = X[:, j] / sizes[j]
        for _ in range(2):  # the second time takes away what rounding left
            rest = rest - basis @ (basis.T @ rest)
        length = float(np.linalg.norm(rest))
        if length > _DEPENDENT:
            kept.append(int(j))
            basis = np.column_stack([basis, rest / length])
    return np.array(kept, dtype=int)


def location_and_scale(X: Any, counts: Array, centred: bool, scaled: bool) -> tuple[Array, Array]:
    """Return the means and the spreads of the columns, shape (d,) each.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    counts : array of shape (n,)
        The weights of the observations.
    centred, scaled : bool
        Otherwise the means are 0, and the spreads 1.
    """
    d = X.shape[1]
    centre = mean(X, counts) if centred else np.zeros(d)
    return centre, spread(X, counts, centred) if scaled else np.ones(d)


def standardised(
    X: Array, centred: bool, scaled: bool, counts: Array | None = None
) -> tuple[Array, Array, Array]:
    """Return the columns less their means and in units of their spreads, with means and units.

    Parameters
    ----------
    X : array of shape (n, d)
    centred, scaled : bool
        Otherwise the means are 0, and the units 1.
    counts : array of shape (n,), optional
        The weights of the observations. Default: 1.

    Returns
    -------
    array of shape (n, d), two arrays of shape (d,)
    """
    counts = np.ones(X.shape[0]) if counts is None else counts
    centre, units = location_and_scale(X, counts, centred, scaled)
    return np.asarray((X - centre) / units), centre, units


def _deviation(X: Any, counts: Array, centre: Array) -> Array:
    """Return the root mean square of each column less its centre."""
    if not is_sparse(X):
        return np.asarray(np.sqrt(np.average((X - centre) ** 2, axis=0, weights=counts)))
    d, column = X.shape[1], X.indices
    times = np.repeat(counts, np.diff(X.indptr))
    stored = np.bincount(column, times * (X.data - centre[column]) ** 2, minlength=d)
    left = counts.sum() - np.bincount(column, times, minlength=d)
    # What is not stored is 0, and as far from the centre as the centre is from 0.
    return np.asarray(np.sqrt((stored + np.maximum(left, 0.0) * centre**2) / counts.sum()))


def covariance(X: Any, counts: Array, centres: Array, place: Array | None = None) -> Array:
    """Return the covariance of the columns about the centres of groups, shape (d, d).

    Sparse rows are held densely in blocks only.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    counts : array of shape (n,)
        The weights of the observations.
    centres : array of shape (groups, d)
    place : int array of shape (n,), optional
        The group of each observation. Default: the first.
    """
    n, d = X.shape
    place = np.zeros(n, dtype=int) if place is None else place
    step = max(1, _CELLS // d) if is_sparse(X) else n
    total = np.zeros((d, d))
    for first in range(0, n, step):
        here = slice(first, first + step)
        rows = as_dense(X[here]) - centres[place[here]]
        total += (counts[here, None] * rows).T @ rows
    return np.asarray(total / counts.sum())


def refuse_constants(estimator: Any, variances: Array) -> None:
    """Raise where columns are constant, near which there is no precision matrix to be chosen.

    Parameters
    ----------
    estimator : estimator
        With `location_`, and the names of the columns.
    variances : array of shape (d,)

    Raises
    ------
    ValueError
        Naming some of the columns.
    """
    constant = variances <= 1e-20 * estimator.location_**2
    if constant.any():
        found = ", ".join(np.array(names_of(estimator), dtype=object)[constant][:5])
        raise ValueError(
            f"no precision matrix can be chosen: X is constant in {found}. Leave such columns "
            "out, or give lam (1 and above)"
        )


def root_of_covariance(X: Any, counts: Array, centre: Array, units: Array) -> Array:
    """Return Z with Z'Z the covariance of the columns in units, shape (n, d), or (d, d) if sparse.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    counts : array of shape (n,)
        The weights of the observations.
    centre, units : arrays of shape (d,)
    """
    if is_sparse(X):
        values, vectors = np.linalg.eigh(covariance(X, counts, centre[None]))
        return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0)) / units[:, None]).T)
    Z = np.where(np.ptp(X, axis=0) > 0.0, (X - centre) / units, 0.0)
    return np.asarray(Z * np.sqrt(counts / counts.sum())[:, None])


def with_intercept(X: Any, scales: Array, names: list[str] | None) -> tuple[Any, Any, Any]:
    """Return X, weights and names with a last column of ones, whose weight is 0.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    scales : array of shape (d,)
    names : list of d str, or None
    """
    named = None if names is None else with_intercept_name(names)
    ones = np.ones((X.shape[0], 1))
    both = (
        sp.csr_array(sp.hstack([X, sp.csr_array(ones)])) if is_sparse(X) else np.hstack([X, ones])
    )
    return both, np.append(scales, 0.0), named
