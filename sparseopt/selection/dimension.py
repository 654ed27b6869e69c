"""The dimension of a subspace by the error of the regression in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import Backend
from sparseopt.problems.base import Array
from sparseopt.problems.subspace.sufficient import SufficientReduction


def dimension_errors(
    problem: SufficientReduction,
    sizes: Sequence[int],
    folds: int | Sequence[tuple[Array, Array]] = 5,
    *,
    backend: str | Backend = "auto",
    time_limit: float | None = None,
) -> Array:
    """Return the cross-validated share of the response left unexplained, for each dimension.

    Parameters
    ----------
    problem : SufficientReduction
        Its `k` is ignored, and the default bandwidth of each dimension taken.
    sizes : sequence of int
        Dimensions.
    folds : int or sequence of pairs of int arrays, default 5
        Parts of the rows, in their order, that are left out one after the other; or the rows that
        are kept and those that are left out, for each fold.
    backend : str or Backend, default "auto"
    time_limit : float, optional
        Seconds for each fold.

    Returns
    -------
    array of shape (len(sizes),)
        Means over the folds.

    Examples
    --------
    >>> import numpy as np
    >>> from sparseopt.problems import SufficientReduction
    >>> X = np.random.default_rng(0).normal(size=(60, 3))
    >>> one, two = dimension_errors(SufficientReduction(X, X[:, 0] * X[:, 1], k=1), [1, 2])
    >>> bool(two < one)
    True
    """
    rows = np.arange(len(problem.X))
    if isinstance(folds, int):
        folds = [(np.delete(rows, left), left) for left in np.array_split(rows, folds)]
    errors = np.zeros((len(folds), len(sizes)))
    for fold, (train, left) in enumerate(folds):
        for place, k in enumerate(sizes):
            kept: Any = {"X": problem.X[train], "y": problem.y[train], "k": k, "bandwidth": None}
            part = replace(problem, **kept)
            answer = solve(part, backend=backend, time_limit=time_limit, check=False)
            assert answer.x is not None
            errors[fold, place] = part.unexplained(answer.x, problem.X[left], problem.y[left])
    return np.asarray(errors.mean(axis=0))
