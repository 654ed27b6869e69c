"""Statistics of an answer that need the truth behind the data; computed by the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.bench.instances import graph_truth, two_sample_draw

if TYPE_CHECKING:
    from sparseopt.problems.base import Problem
    from sparseopt.result import Result

__all__ = ["METRICS", "measure"]

_PERMUTATIONS = 200
_LEVEL = 0.05
_ROUNDING = 1e-12
_TEST_SEED = 1_000_003
"""The sample that a selection is tested on is drawn with the seed plus this."""

_CURVE = 80
_FOLDS = 5
_CV_BUDGETS = 40


def measure(
    names: tuple[str, ...], problem: Problem, result: Result, instance: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the metrics of an answer, all names in one dictionary.

    Parameters
    ----------
    names : tuple of str
        Of :data:`METRICS`.
    instance : mapping
        With "generator", "settings" and "seed".
    """
    found: dict[str, Any] = {}
    for name in names:
        found.update(METRICS[name](problem, result, instance))
    return found


def _origin(instance: Mapping[str, Any]) -> tuple[str, int, Mapping[str, Any]]:
    return str(instance.get("generator")), int(instance["seed"]), instance["settings"]


def selection(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """FDP, NDP and their mean: what was selected against the variables that differ (eq. 24)."""
    draw = two_sample_draw(*_origin(instance))
    if draw is None or result.x is None:
        return {}
    chosen, truth = set(np.flatnonzero(result.x).tolist()), set(draw.truth.tolist())
    fdp = len(chosen - truth) / max(1, len(chosen))
    ndp = len(truth - chosen) / len(truth)
    return {"fdp": fdp, "ndp": ndp, "fdp_ndp": (fdp + ndp) / 2.0}


def power(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Whether a permutation test of level 0.05 rejects, on a fresh sample of the same size.

    The mean over seeds is the testing power. "power_dense" is that of the test without selection.
    """
    name, seed, chosen = _origin(instance)
    train, test = (two_sample_draw(name, s, chosen) for s in (seed, seed + _TEST_SEED))
    if train is None or test is None or result.x is None:
        return {}
    from sparseopt.problems.twosample.statistics.two_samples import TwoSample

    bandwidth = TwoSample.of(train.x, train.y, "linear").bandwidth
    dense = np.full(train.x.shape[1], 1.0)
    return {
        "power": float(_rejects(test.x, test.y, bandwidth, result.x, seed)),
        "power_dense": float(_rejects(test.x, test.y, bandwidth, dense, seed)),
    }


def _rejects(x: Any, y: Any, bandwidth: Any, z: Any, seed: int) -> bool:
    """Whether the observed statistic is among the largest 5% of those of permuted samples."""
    both, n = np.vstack([x, y]), len(x)
    kernel = np.zeros((len(both), len(both)))
    for s in np.flatnonzero(z):
        column = both[:, s]
        kernel += z[s] * np.exp((column[:, None] - column[None, :]) ** 2 / (-2.0 * bandwidth[s]))
    np.fill_diagonal(kernel, 0.0)
    rng = np.random.Generator(np.random.PCG64(seed))
    orders = [np.arange(len(both)), *(rng.permutation(len(both)) for _ in range(_PERMUTATIONS))]
    first = np.zeros((len(orders), len(both)))
    first[np.arange(len(orders))[:, None], np.array(orders)[:, :n]] = 1.0
    # Sums over the pairs within the first part, across, and within the second, of each order.
    within = np.einsum("oi,oi->o", first @ kernel, first)
    across = first @ kernel.sum(axis=1) - within
    other = kernel.sum() - within - 2.0 * across
    m = len(y)
    values = within / (n * (n - 1)) + other / (m * (m - 1)) - 2.0 * across / (n * m)
    # Equal parts of the same observations may differ by rounding.
    rank = int((values >= values[0] - _ROUNDING * np.abs(kernel).max()).sum())
    return rank / (_PERMUTATIONS + 1) <= _LEVEL


def roc(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """FPR and TPR of the graph at up to 80 budgets (section 5.1), and the area under the curve."""
    truth = graph_truth(*_origin(instance))
    path: Any = result.path
    if truth is None or path is None or path.kind != "graph":
        return {}
    true = truth.graph
    edges, d = true.nnz // 2, true.shape[0]
    fpr, tpr = [], []
    budgets = np.unique(np.linspace(0, len(path) - 1, _CURVE).round().astype(int))
    for budget in path.knots[budgets].tolist():
        found = path.graph(int(budget))
        hits = int(found.multiply(true).nnz) // 2
        fpr.append((found.nnz // 2 - hits) / (d * (d - 1) // 2 - edges))
        tpr.append(hits / edges)
    # Candidates are few: the share of false ones among them is what the curve runs over.
    reach = max(fpr[-1], 1e-300)
    area = float(np.trapezoid(tpr, fpr)) / reach
    return {"roc": {"fpr": fpr, "tpr": tpr}, "auc": area}


def coefficient_error(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Sum of squared errors of all coefficients, at the budget that 5-fold cross-validation takes.

    The folds are solved by ``l0-tables``; `budget_cv` is their choice among 40 budgets.
    """
    truth = graph_truth(*_origin(instance))
    path: Any = result.path
    if truth is None or path is None or path.kind != "graph":
        return {}
    path = path.with_problem(problem)
    seed = int(instance["seed"])
    budget = _cross_validated(problem, path.knots, seed)
    difference = path.coefficients(budget) - truth.coefficients
    return {"error": float((difference.data**2).sum()), "budget_cv": budget}


def _cross_validated(problem: Any, budgets: Any, seed: int) -> int:
    from sparseopt.api import solve

    top = int(budgets[-1])
    grid = np.unique(np.linspace(0, top, _CV_BUDGETS).round().astype(int))
    folds = np.random.Generator(np.random.PCG64(seed)).permutation(len(problem.X)) % _FOLDS
    loss = np.zeros(len(grid))
    for fold in range(_FOLDS):
        rest = problem.with_changes(X=np.ascontiguousarray(problem.X[folds != fold]))
        path: Any = solve(rest, backend="l0-tables", check=False).path
        held = problem.X[folds == fold]
        for k, budget in enumerate(grid.tolist()):
            residual = held - held @ path.coefficients(min(budget, int(path.knots[-1]))).T
            loss[k] += float((residual**2).sum())
    return int(grid[int(loss.argmin())])


def feasibility(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Largest and smallest violation of the Dantzig selector's constraint along the path.

    At each knot or value lam of the path: max(0, ||X'(y - X theta)||_inf - lam), with weights.
    """
    path: Any = result.path
    if path is None or problem.kind != "dantzig-selector":
        return {}
    found = []
    for lam in path.knots.tolist():
        theta = path.at(lam)
        correlation = problem.X.T @ (problem.y - problem.X @ theta) / problem.divisor
        found.append(max(0.0, float(np.max(np.abs(correlation) - lam * problem.band_weights))))
    return {"max_violation": max(found), "min_violation": min(found)}


METRICS: Mapping[str, Callable[[Any, Any, Mapping[str, Any]], dict[str, Any]]] = {
    "selection": selection,
    "power": power,
    "roc": roc,
    "coefficient-error": coefficient_error,
    "feasibility": feasibility,
}
