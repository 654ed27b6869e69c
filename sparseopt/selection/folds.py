"""Splitting observations into folds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from sparseopt.errors import ParamError
from sparseopt.problems.base import Array

Fold = tuple[Array, Array]
"""Indices of the training part and of the test part."""


def make_folds(folds: Any, X: Array, y: Array, seed: int, classes: bool) -> list[Fold]:
    """Return the training and the test parts.

    Parameters
    ----------
    folds : int, array of shape (n,), iterable of (train, test), or splitter
        A number of folds, made at random and as equal in size as can be; labels, one fold for each
        value; pairs of index arrays; or one of scikit-learn's splitters.
    X, y : arrays
    seed : int
        Of the random folds.
    classes : bool
        Whether random folds keep the shares of the values of y.

    Raises
    ------
    ParamError
        When a part is empty, an index is out of range, or parts overlap.
    """
    n = len(y)
    if hasattr(folds, "get_n_splits"):
        pairs = list(folds.split(X, y))
    elif not isinstance(folds, Iterable):
        pairs = _complements(_random_labels(_count(folds, n), y, seed, classes))
    elif isinstance(folds, np.ndarray) and folds.shape == (n,):
        pairs = _complements(np.unique(folds, return_inverse=True)[1])
    else:
        pairs = _listed(folds, n)
    if len(pairs) < 2:
        raise ParamError(f"folds gives {len(pairs)} fold; expected at least 2")
    return [_valid(k, pair, n) for k, pair in enumerate(pairs)]


def _count(folds: Any, n: int) -> int:
    whole = isinstance(folds, int | np.integer) and not isinstance(folds, bool)
    if not whole or not 2 <= int(folds) <= n:
        raise ParamError(
            f"folds is {folds!r}; expected an integer from 2 to the number of observations, {n}; "
            "or labels, pairs of index arrays, or a splitter"
        )
    return int(folds)


def _random_labels(count: int, y: Array, seed: int, classes: bool) -> Array:
    """Deal the observations out in a random order, one class after the other."""
    order = np.random.default_rng(seed).permutation(len(y))
    if classes:
        order = order[np.argsort(y[order], kind="stable")]
    labels = np.empty(len(y), dtype=np.int64)
    labels[order] = np.arange(len(y)) % count
    return labels


def _complements(labels: Array) -> list[Fold]:
    return [
        (np.flatnonzero(labels != k), np.flatnonzero(labels == k))
        for k in range(int(labels.max()) + 1)
    ]


def _listed(folds: Any, n: int) -> list[Fold]:
    try:
        return [(train, test) for train, test in folds]
    except (TypeError, ValueError):
        raise ParamError(
            f"folds is a {type(folds).__name__}; expected a number, {n} labels in an array, or "
            "pairs (train, test) of index arrays"
        ) from None


def _valid(k: int, pair: Any, n: int) -> Fold:
    train, test = _indices(k, "training", pair[0], n), _indices(k, "test", pair[1], n)
    shared = np.intersect1d(train, test)
    if len(shared):
        raise ParamError(
            f"observation {shared[0]} is in the training and the test part of fold {k}"
        )
    return train, test


def _indices(k: int, name: str, part: Any, n: int) -> Array:
    rows = np.asarray(part)
    if rows.dtype == bool and rows.shape == (n,):
        rows = np.flatnonzero(rows)
    if rows.ndim != 1 or len(rows) == 0 or rows.dtype.kind not in "iu":
        raise ParamError(f"the {name} part of fold {k} is {part!r:.60}; expected some row numbers")
    if rows.min() < 0 or rows.max() >= n:
        raise ParamError(f"the {name} part of fold {k} names a row outside 0, ..., {n - 1}")
    return rows.astype(np.int64)
