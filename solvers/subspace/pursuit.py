"""Convex pursuits: a low-rank matrix and a sparse rest, whose weight is searched for the rank k."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result

from .inverse import leading
from .settings import LARGEST_WEIGHT, LEAST_WEIGHT, LOW_RANK
from .weighted import Distances, Flat, as_result, weighted_mean


class _Pursuit(Distances):
    r"""Minimise :math:`\|L\|_* + \lambda \|C\|` subject to X = L + C, by augmented Lagrangians.

    The weight is bisected, on a logarithmic scale, to the largest one for which L has the rank k,
    unless one is given; the answer is the row space of L. An estimated centre is the mean.
    """

    factorises: ClassVar[bool] = True
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC})
    options: ClassVar[Mapping[str, Option]] = {
        "weight": Option(float, 0.0, "lambda; 0 to search for the one of rank k", low=0.0),
        "searches": Option(int, 10, "weights tried at most", low=1),
        "iterations": Option(int, 500, "for each weight at most", low=1),
    }
    shrunk: ClassVar[Callable[[Array, float], Array]]

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, RobustSubspace)
        shift = weighted_mean(problem, np.ones(len(problem.X)))
        X = np.vstack([block - shift for _, block in problem.blocks()])
        low, high, steps = LEAST_WEIGHT, LARGEST_WEIGHT, 0
        weight = options["weight"] or float(1.0 / np.sqrt(len(X)))
        best, found = X, "no weight gives the rank k"
        for _ in range(1 if options["weight"] else options["searches"]):
            L, rank, done = self._pursue(X, weight, options["iterations"], control)
            steps += done
            control.progress("search for the rank")
            if rank == problem.k or options["weight"]:
                best, found = L, f"weight {weight:.4g}, rank {rank}"
            if control.limit() is not None:
                break
            # A larger weight leaves less to the sparse part: the rank grows.
            low, high = (low, weight) if rank > problem.k else (weight, high)
            weight = float(np.sqrt(low * high))
        flat = Flat(leading(best.T @ best, problem.k), shift)
        limit = control.limit()
        return as_result(problem, flat, params, limit=limit, iterations=steps, note=found)

    def _pursue(
        self, X: Array, weight: float, limit: int, control: Control
    ) -> tuple[Array, int, int]:
        """Return L, its rank and the number of iterations."""
        size = float(np.linalg.norm(X))
        C, multiplier, L, rank, steps = np.zeros_like(X), np.zeros_like(X), X, 0, 0
        total = float(np.abs(X).sum())
        penalty = X.size / (4.0 * total) if total > 0.0 else 1.0
        while steps < limit and control.limit() is None:
            steps += 1
            L, rank = _thresholded(X - C + multiplier / penalty, 1.0 / penalty)
            C = type(self).shrunk(X - L + multiplier / penalty, weight / penalty)
            rest = X - L - C
            multiplier += penalty * rest
            penalty *= 1.05
            if np.linalg.norm(rest) <= LOW_RANK * size:
                break
        return L, rank, steps


def _thresholded(A: Array, threshold: float) -> tuple[Array, int]:
    """Return A with its singular values reduced, and how many are left."""
    values, vectors = np.linalg.eigh(A.T @ A)
    sizes = np.sqrt(np.maximum(values, 0.0))
    kept = sizes > threshold
    V = vectors[:, kept]
    return (A @ (V * (1.0 - threshold / sizes[kept]))) @ V.T, int(kept.sum())


def _short_rows(A: Array, threshold: float) -> Array:
    lengths = np.linalg.norm(A, axis=1)[:, None]
    return np.asarray(A * np.maximum(0.0, 1.0 - threshold / np.maximum(lengths, threshold)))


def _small_entries(A: Array, threshold: float) -> Array:
    return np.asarray(np.sign(A) * np.maximum(0.0, np.abs(A) - threshold))


class OutlierPursuit(_Pursuit):
    """Outlier pursuit: the sum of the lengths of the rest's rows.

    Source: Xu, Caramanis, Sanghavi: Robust PCA via outlier pursuit, IEEE Transactions on
    Information Theory 58 (2012).
    """

    name: ClassVar[str] = "outlier-pursuit"
    summary: ClassVar[str] = "convex outlier pursuit, its weight bisected to rank k"
    shrunk: ClassVar[Callable[[Array, float], Array]] = _short_rows


class PrincipalComponentPursuit(_Pursuit):
    """Principal component pursuit: the sum of the rest's absolute entries.

    Source: Candes, Li, Ma, Wright: Robust principal component analysis?, Journal of the ACM 58
    (2011).
    """

    name: ClassVar[str] = "principal-component-pursuit"
    summary: ClassVar[str] = "principal component pursuit, its weight bisected to rank k"
    shrunk: ClassVar[Callable[[Array, float], Array]] = _small_entries
