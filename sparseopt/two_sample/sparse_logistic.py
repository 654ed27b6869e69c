"""Sparse logistic regression, the baseline of Wang, Dey and Xie, section 3.2."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import numpy as np

from sparseopt.errors import BackendUnavailable
from sparseopt.problems.base import Array

_BISECTIONS = 25


def sparse_logistic(x: Array, y: Array, d: int) -> Array:
    """Return the direction of an l1-penalised logistic regression with at most d variables.

    The penalty is the weakest that leaves at most d, by bisection; the coefficients on these are
    then fitted again with a weak ridge. (The paper bounds the number itself, which scikit-learn
    does not.) Columns are scaled to unit variance.

    Parameters
    ----------
    x, y : arrays of shapes (n, D) and (m, D)
    d : int
        The largest number of variables.

    Returns
    -------
    array of shape (D,)
        Of unit norm.
    """
    try:
        from sklearn.exceptions import ConvergenceWarning
        from sklearn.linear_model import LogisticRegression
    except ImportError as error:
        raise BackendUnavailable(
            "selection='sparse-logistic' needs scikit-learn: pip install 'sparseopt[estimators]'"
        ) from error
    pooled = np.concatenate([x, y])
    label = np.repeat([0, 1], [len(x), len(y)])
    spread = pooled.std(axis=0)
    X = (pooled - pooled.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    default = inspect.signature(LogisticRegression).parameters.get("penalty")
    old = default is not None and default.default == "l2"
    sparse: dict[str, Any] = {"penalty": "l1"} if old else {"l1_ratio": 1.0}

    def support(log_c: float) -> Array:
        model = LogisticRegression(C=np.exp(log_c), solver="liblinear", random_state=0, **sparse)
        with warnings.catch_warnings():
            # Separable samples have no finite fit with a weak penalty; the search goes on from it.
            warnings.simplefilter("ignore", ConvergenceWarning)
            return np.flatnonzero(model.fit(X, label).coef_[0])

    # Below this C all coefficients are 0.
    size = float(np.abs(X.T @ (label - 0.5)).max())
    low = -np.log(size) if size > 0.0 else 0.0
    high, best = low + 12.0, np.zeros(0, dtype=np.int64)
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2.0
        found = support(middle)
        if len(found) <= d:
            low, best = middle, (found if len(found) >= len(best) else best)
        else:
            high = middle
    z = np.zeros(X.shape[1])
    if len(best) == 0:
        # Nothing helps to distinguish the samples: the largest difference of means.
        best = np.array([int(np.argmax(np.abs(X.T @ (label - 0.5))))])
    model = LogisticRegression(C=1e3, solver="lbfgs", max_iter=1000)
    z[best] = model.fit(X[:, best], label).coef_[0] / np.where(spread > 0.0, spread, 1.0)[best]
    norm = float(np.linalg.norm(z))
    return np.asarray(z / norm) if norm > 0.0 else np.asarray(z)
