"""Small problems of every kind whose data are observations, and brute force for their errors."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import sparseopt
from sparseopt.problems import (
    L1SVM,
    CompressedSensing,
    DantzigSelector,
    LADLasso,
    QuantileLasso,
)

Array = np.ndarray


def regression(n: int = 40, d: int = 8, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    return X, X[:, 0] - 2.0 * X[:, 2] + rng.standard_normal(n)


def examples(n: int = 40, d: int = 8) -> dict[str, Any]:
    X, y = regression(n, d)
    weights = np.linspace(0.5, 2.0, d)
    free = np.ones(d)
    free[1] = 0.0
    return {
        "dantzig": DantzigSelector(X, y),
        "dantzig-n": DantzigSelector(X, y, scale="n", weights=weights, row_weights=weights),
        "compressed": CompressedSensing(X, y, row_weights=np.linspace(1.0, 1.5, n)),
        "lad": LADLasso(X, y, fit_intercept=True, weights=free),
        "quantile": QuantileLasso(X, y, 0.3, weights=weights),
        "svm": L1SVM(X, np.where(y > 0.0, 1.0, -1.0)),
    }


LOSSES: dict[str, Callable[..., Array]] = {
    "squared": lambda y, f: (y - f) ** 2,
    "absolute": lambda y, f: np.abs(y - f),
    "check": lambda y, f, tau=0.3: np.maximum(tau * (y - f), (tau - 1.0) * (y - f)),
    "hinge": lambda y, f: np.maximum(0.0, 1.0 - y * f),
    "misclassification": lambda y, f: np.where(f == 0.0, 0.5, y * f < 0.0),
}


def predictors(problem: Any, rows: Array, theta: Array) -> Array:
    d = problem.X.shape[1]
    return problem.X[rows] @ theta[:d] + (theta[d] if len(theta) > d else 0.0)


def training(problem: Any, rows: Array) -> Any:
    changes: dict[str, Any] = {"X": problem.X[rows], "y": problem.y[rows]}
    if problem.kind == "compressed-sensing" and problem.row_weights is not None:
        changes["row_weights"] = problem.row_weights[rows]
    return problem.with_changes(**changes)


def share(problem: Any, rows: Array) -> float:
    """What lam is multiplied by for a training part: its share, where lam is a sum's."""
    fixed = problem.kind == "compressed-sensing" or getattr(problem, "scale", "none") == "n"
    return 1.0 if fixed else len(rows) / len(problem.y)


def brute_force_errors(
    problem: Any, folds: Sequence[tuple[Array, Array]], loss: str, grid: Array
) -> Array:
    """The total error at each lam of the grid, from one path at a time."""
    total = np.zeros(len(grid))
    for train, test in folds:
        path = sparseopt.solve(training(problem, train), check=False).path
        factor = share(problem, train)
        for i, lam in enumerate(grid):
            f = predictors(problem, test, path.at(max(lam * factor, path.low[-1])))
            total[i] += LOSSES[loss](problem.y[test], f).sum()
    return total / sum(len(test) for _, test in folds)
