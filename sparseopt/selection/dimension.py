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
    folds: int = 5,
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
    folds : int, default 5
        Parts of the rows, in their order, that are left out one after the other.
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
    errors = np.zeros((folds, len(sizes)))
    rows = np.arange(len(problem.X))
    for fold, left in enumerate(np.array_split(rows, folds)):
        train = np.delete(rows, left)
        for place, k in enumerate(sizes):
            kept: Any = {"X": problem.X[train], "y": problem.y[train], "k": k, "bandwidth": None}
            part = replace(problem, **kept)
            answer = solve(part, backend=backend, time_limit=time_limit, check=False)
            assert answer.x is not None
            errors[fold, place] = part.unexplained(answer.x, problem.X[left], problem.y[left])
    return np.asarray(errors.mean(axis=0))
