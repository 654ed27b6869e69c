"""Statistics of an answer that need the truth behind the data; computed by the evaluator."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from sparseopt.bench.solving.instances import graph_truth, two_sample_draw
from sparseopt.problems.base import Array
from sparseopt.problems.twosample.statistics.two_samples import TwoSample
from sparseopt.selection import graph_cross_validate
from sparseopt.selection.graphs.roc import roc as edge_rates
from sparseopt.two_sample.permutation import GramStatistic, permutation_test

if TYPE_CHECKING:
    from sparseopt.problems.base import Problem
    from sparseopt.result import Result

_PERMUTATIONS = 200
_LEVEL = 0.05
_TEST_SEED = 1_000_003
"""The sample that a selection is tested on is drawn with the seed plus this."""

_SLOPES = {"parabola": 0.0, "sine": 4.0 / 3.0, "cubic": 2.0}
"""Of the tangents at 0 of the curves of ``bent-curve``."""
_CURVE = 80
_FOLDS = 5


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


def _selection(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return FDP, NDP and their mean, of the variables selected (eq. 24)."""
    draw = two_sample_draw(*_origin(instance))
    if draw is None or result.x is None:
        return {}
    chosen, truth = set(np.flatnonzero(result.x).tolist()), set(draw.truth.tolist())
    fdp = len(chosen - truth) / max(1, len(chosen))
    ndp = len(truth - chosen) / len(truth)
    return {"fdp": fdp, "ndp": ndp, "fdp_ndp": (fdp + ndp) / 2.0}


def _power(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return whether a permutation test of level 0.05 rejects, on a fresh sample of the same size.

    The mean over seeds is the testing power. "power_dense" is that of the test without selection.
    """
    name, seed, chosen = _origin(instance)
    train, test = (two_sample_draw(name, s, chosen) for s in (seed, seed + _TEST_SEED))
    if train is None or test is None or result.x is None:
        return {}
    bandwidth = TwoSample.of(train.x, train.y, "linear").bandwidth

    def rejects(z: Array) -> float:
        both = np.vstack([test.x, test.y])
        gram = np.zeros((len(both), len(both)))
        for s in np.flatnonzero(z):
            column = both[:, s]
            gram += z[s] * np.exp((column[:, None] - column[None, :]) ** 2 / (-2.0 * bandwidth[s]))
        rng = np.random.Generator(np.random.PCG64(seed))
        p_value = permutation_test(GramStatistic(gram, len(test.x)), _PERMUTATIONS, rng)[1]
        return float(p_value <= _LEVEL)

    return {"power": rejects(result.x), "power_dense": rejects(np.ones(train.x.shape[1]))}


def _roc(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return FPR and TPR of the graph at up to 80 budgets (section 5.1), and their area."""
    truth = graph_truth(*_origin(instance))
    path: Any = result.path
    if truth is None or path is None or path.kind != "graph":
        return {}
    found = edge_rates(path, truth.graph, pairs="all")
    shown = np.unique(np.linspace(0, len(path) - 1, _CURVE).round().astype(int))
    fpr, tpr = found.fpr[shown].tolist(), found.tpr[shown].tolist()
    # Candidates are few: the share of false ones among them is what the curve runs over.
    area = float(np.trapezoid(tpr, fpr)) / max(fpr[-1], 1e-300)
    return {"roc": {"fpr": fpr, "tpr": tpr}, "auc": area}


def _relaxation(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the value of the relaxation that the answer was found by."""
    values = result.certificate.values if result.certificate is not None else {}
    return {"relaxation": float(values["relaxation"])} if "relaxation" in values else {}


def _coefficient_error(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the squared error of all coefficients, at the budget of 5-fold cross-validation.

    The folds are solved by ``l0-tables``; `budget_cv` is their choice.
    """
    truth = graph_truth(*_origin(instance))
    path: Any = result.path
    if truth is None or path is None or path.kind != "graph":
        return {}
    path = path.with_problem(problem)
    seed = int(instance["seed"])
    chosen = graph_cross_validate(problem, _FOLDS, backend="l0-tables", seed=seed).budget
    difference = path.coefficients(min(chosen, int(path.knots[-1]))) - truth.coefficients
    return {"error": float((difference.data**2).sum()), "budget_cv": chosen}


def _feasibility(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the extreme violations of the Dantzig selector's constraint along the path.

    At each knot or value lam of the path: max(0, ||X'(y - X theta)||_inf - lam), with weights.
    """
    path: Any = result.path
    if path is None or problem.kind != "dantzig-selector":
        return {}
    found = []
    for lam in path.knots.tolist():
        theta = path.at(lam)
        X, y = problem.weighted_rows()
        correlation = X.T @ (y - X @ theta) / problem.divisor
        found.append(max(0.0, float(np.max(np.abs(correlation) - lam * problem.band_weights))))
    return {"max_violation": max(found), "min_violation": min(found)}


def _subspace(problem: Any, result: Result, instance: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Frobenius distance of the projections, found and true; the angles of a line.

    The truth of ``outlier-columns`` is the span of the inliers, that of ``haystack`` the first
    coordinates. In the plane `angle`, from 0 to 180 degrees, is that of the line, and `off`, at
    most 90, that to the tangent at 0, or to the nearer one of two directions.
    """
    name, _, settings = _origin(instance)
    if result.x is None:
        return {}
    W = np.linalg.qr(problem.basis(result.x))[0]
    found: dict[str, Any] = {}
    if W.shape == (2, 1):
        angle = found["angle"] = float(np.degrees(np.arctan2(W[1, 0], W[0, 0])) % 180.0)
        half = settings.get("angle", 60.0) / 2.0
        slope = _SLOPES[settings.get("curve", "parabola")] if name == "bent-curve" else 0.0
        tangents = {"bent-curve": [np.degrees(np.arctan(slope))], "two-directions": [half, -half]}
        apart = [abs((angle - tangent + 90.0) % 180.0 - 90.0) for tangent in tangents.get(name, ())]
        if apart:
            found["off"] = float(min(apart))
    truth = None
    if name == "outlier-columns":
        inliers = len(problem.X) - round(settings.get("delta", 0.05) * len(problem.X))
        truth = np.linalg.svd(problem.X[:inliers], full_matrices=False)[2][: problem.k].T
    elif name == "haystack":
        truth = np.eye(len(W))[:, : problem.k]
    if truth is not None:
        found["projection_distance"] = float(
            np.sqrt(2.0) * np.linalg.norm(W - truth @ (truth.T @ W))
        )
    return found


METRICS: Mapping[str, Callable[[Any, Any, Mapping[str, Any]], dict[str, Any]]] = {
    "selection": _selection,
    "power": _power,
    "roc": _roc,
    "coefficient-error": _coefficient_error,
    "feasibility": _feasibility,
    "relaxation": _relaxation,
    "subspace": _subspace,
}
"""Each takes the problem, the result and the instance, and returns its numbers by name; none where
the truth that it needs is not known."""
