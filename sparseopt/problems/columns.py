"""Means of the columns of data, which may be sparse and stay so."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparseopt.problems.base import Array, is_sparse


def mean(X: Any, counts: Array | None = None) -> Array:
    """Return the mean of each column, shape (d,): of one that is constant its value, exactly.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    counts : array of shape (n,), optional
        The weights of the observations. Default: 1.
    """
    times = np.ones(X.shape[0]) if counts is None else counts
    found = X.T @ (times / times.sum()) if is_sparse(X) else np.average(X, axis=0, weights=counts)
    low, high = ends(X if times.all() else X[times > 0.0])
    # Deviations from a mean that is rounded would make a covariance of rounding alone.
    return np.asarray(np.where(low == high, low, found))


def ends(X: Any) -> tuple[Array, Array]:
    """Return the least and the largest entry of each column, shape (d,) each.

    Parameters
    ----------
    X : array or csr_array of shape (n, d)
    """
    low, high = X.min(axis=0), X.max(axis=0)
    if is_sparse(X):
        low, high = low.toarray().ravel(), high.toarray().ravel()
    return np.asarray(low), np.asarray(high)
