"""Rows as estimators take them: validated, sparse or dense, each counted as often as it weighs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import _check_sample_weight, validate_data

from sparseopt.estimators.common.columns import LARGEST, as_dense
from sparseopt.problems.base import Array, check_indices, is_sparse

NO_TARGET = "no_validation"
"""scikit-learn's word for data without y; None is a y that is missing."""


class SparseData:
    """A mixin of the estimators that take scipy.sparse data, too."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.input_tags.sparse = True
        return tags


def validated(estimator: Any, *data: Any, **checks: Any) -> Any:
    """Return X, or X and y, as scikit-learn's validate_data does; sparse X as problems hold them.

    Parameters
    ----------
    estimator : estimator
    *data
        X of shape (n, d), maybe sparse, and y where there is one.
    **checks
        Of validate_data.

    Raises
    ------
    ValueError
        Also where a sparse X stores entries outside its shape, which scikit-learn lets pass.
    """
    check_indices("X", data[0])
    layout = {"accept_sparse": "csr", "dtype": np.float64, "order": "C"}
    found = validate_data(estimator, *data, **{**layout, **checks})
    X, *y = found if len(data) > 1 else (found,)
    X = sp.csr_array(X) if is_sparse(X) else X
    return (X, *y) if y else X


def weights_of(sample_weight: Any, X: Any) -> Array:
    """Return the weights of the observations, 1 where none are given, shape (n,).

    Parameters
    ----------
    sample_weight : array_like of shape (n,), or None
    X : array or sparse matrix of shape (n, d)

    Raises
    ------
    ValueError
        When one is negative, or all are 0.
    """
    return np.asarray(
        _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    )


def repeated(X: Any, sample_weight: Any, who: str) -> Array:
    """Return the rows of data, each as often as it weighs, shape (sum of the weights,).

    Parameters
    ----------
    X : array of shape (n, d)
    sample_weight : array_like of shape (n,), or None
        Whole numbers.
    who : str
        Repeats rows, for the message.

    Raises
    ------
    ValueError
        When a weight is negative or no whole number, all are 0, or there would be too many rows.
    """
    counts = weights_of(sample_weight, X)
    broken = counts[counts != np.rint(counts)]
    if len(broken):
        raise ValueError(
            f"sample_weight has {broken[0]:g}; {who} repeats each row as often as it weighs: "
            "expected whole numbers. Multiply the weights by a common factor"
        )
    if counts.sum() * X.shape[1] > LARGEST:
        raise ValueError(
            f"the sum of sample_weight is {counts.sum():g}; {who} repeats each row as often as it "
            f"weighs: expected at most {LARGEST // X.shape[1]:,} rows of {X.shape[1]} numbers"
        )
    return np.repeat(np.arange(len(X)), counts.astype(int))


def places_among(classes: Array, y: Array) -> Array:
    """Return the place of each label among the classes of a fit, shape (n,).

    Parameters
    ----------
    classes : array of shape (c,)
        Increasing.
    y : array of shape (n,)

    Raises
    ------
    ValueError
        Naming some labels that are none of them.
    """
    new = np.setdiff1d(y, classes)
    if len(new):
        raise ValueError(
            f"y has labels that were not seen in fit: {new[:5].tolist()}; expected those of "
            f"classes_: {classes[:5].tolist()}{', ...' if len(classes) > 5 else ''}. Leave out "
            "the rows with others"
        )
    return np.searchsorted(classes, y)


def folds_of_repeated(
    rows: Array, splits: Iterable[tuple[Array, Array]]
) -> list[tuple[Array, Array]]:
    """Return folds of repeated rows, with all copies of a row on one side.

    Parameters
    ----------
    rows : int array
        As of :func:`repeated`.
    splits : iterable of pairs of int arrays
        The rows that are kept and those that are left out, for each fold.

    Returns
    -------
    list of pairs of int arrays
        Places in `rows`.
    """
    return [
        (np.flatnonzero(np.isin(rows, kept)), np.flatnonzero(np.isin(rows, left)))
        for kept, left in splits
    ]


def observed(
    estimator: Any,
    X: Any,
    y: Any = NO_TARGET,
    sample_weight: Any = None,
    *,
    dense: bool = False,
    numeric: bool = True,
    least: int = 2,
    **checks: Any,
) -> tuple[Any, Any, Array]:
    """Validate data, and leave out the rows that weigh nothing.

    Parameters
    ----------
    estimator : estimator
        That is being fitted.
    X : array_like or sparse matrix of shape (n, d)
    y : array_like of shape (n,) or (n, q), optional
        None is refused.
    sample_weight : array_like of shape (n,), optional
    dense : bool, default False
        Whether a sparse X is made dense.
    numeric : bool, default True
        Whether y has numbers, or labels.
    least : int, default 2
        Rows that are needed.
    **checks
        Of scikit-learn's validate_data.

    Returns
    -------
    X : array or csr_array of shape (m, d)
    y : array of shape (m,) or (m, q), or None
    counts : array of shape (m,)
        The weights of the rows, positive.

    Raises
    ------
    ValueError
    """
    how = {"ensure_min_samples": least, **checks}
    if isinstance(y, str):
        X, y = validated(estimator, X, **how), None
    else:
        if numeric:
            _refuse_labels(estimator, y)
        X, y = validated(estimator, X, y, y_numeric=numeric, **how)
        y = np.ascontiguousarray(y, dtype=np.float64 if numeric else None)
    X = as_dense(X, type(estimator).__name__) if dense else X
    counts = weights_of(sample_weight, X)
    kept = counts > 0.0
    if kept.all():
        return X, y, counts
    if kept.sum() < min(2, least):
        raise ValueError("a single observation has a weight that is not zero; expected two")
    return X[kept], None if y is None else y[kept], counts[kept]


def _refuse_labels(estimator: Any, y: Any) -> None:
    """Raise a ValueError where responses are text."""
    if getattr(getattr(y, "dtype", None), "kind", "O") in "biuf":
        return
    labels = [each for each in np.ravel(np.asarray(y, dtype=object)) if isinstance(each, str)]
    if labels:
        remedy = "; for classes give task='classification'" if hasattr(estimator, "task") else ""
        name = type(estimator).__name__
        raise ValueError(f"y has labels such as {str(labels[0])!r}; {name} takes numbers{remedy}")
