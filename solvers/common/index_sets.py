"""Increasing arrays of indices as sets.

NumPy's functions on sets sort what is sorted; at the thousands of small nodes of a tree that takes
as long as their bounds.
"""

from __future__ import annotations

import numpy as np

from sparseopt.problems.base import Array


def members(some: Array, others: Array) -> Array:
    """Return which of some are among the others.

    Parameters
    ----------
    some, others : increasing int arrays

    Returns
    -------
    bool array of shape (len(some),)
    """
    if len(others) == 0:
        return np.zeros(len(some), dtype=bool)
    at = np.minimum(others.searchsorted(some), len(others) - 1)
    return np.asarray(others[at] == some)


def difference(some: Array, others: Array) -> Array:
    """Return some without the others.

    Parameters
    ----------
    some, others : increasing int arrays
    """
    return some[~members(some, others)]


def complement(some: Array, n: int) -> Array:
    """Return the others of 0, ..., n - 1.

    Parameters
    ----------
    some : int array
    n : int
    """
    left = np.ones(n, dtype=bool)
    left[some] = False
    return np.flatnonzero(left)


def with_one(some: Array, j: int) -> Array:
    """Return some and j, which is not among them.

    Parameters
    ----------
    some : increasing int array
    j : int
    """
    at = int(some.searchsorted(j))
    return np.concatenate([some[:at], [j], some[at:]])


def without_one(some: Array, j: int) -> Array:
    """Return some without j.

    Parameters
    ----------
    some : increasing int array
    j : int
    """
    return np.asarray(some[some != j])
