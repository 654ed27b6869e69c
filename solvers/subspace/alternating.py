"""Alternating least absolute deviations for the subspace of least l1 distances."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Backend, Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.entrywise import L1Subspace, least_absolute
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result, Status

from ..common.warm_start import warm_point
from .irls import reweight
from .settings import STALLED
from .weighted import principal

_EUCLIDEAN = 50
"""Iterations for the least Euclidean distances at most: a start needs no more."""


class AlternatingRegressions(Backend):
    r"""Minimise :math:`\sum_{ij} |x_{ij} - c_j - z_i' w_j|` over Z, and over W and c, by turns.

    Each half step is a set of least absolute deviations regressions: of the points on W, then of
    the coordinates on Z, which start from the bases of those before. The value falls until no
    regression gains. That is no optimum in general, as the sum is not smooth. It starts from a
    warm start, or from principal components and from the least Euclidean distances.

    Source: Ke, Kanade: Robust L1 norm factorization in the presence of outliers and missing data by
    alternative convex programming (2005), section 3.
    """

    name: ClassVar[str] = "l1-alternating"
    summary: ClassVar[str] = "alternating median regressions for l1 distances"
    families: ClassVar[frozenset[str]] = frozenset({"subspace"})
    features: ClassVar[frozenset[Feature]] = frozenset({Feature.HEURISTIC, Feature.WARM_START})
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 100, "alternations from each start at most", low=1)
    }

    def supports(self, problem: Problem) -> tuple[bool, str]:
        """Take l1 distances only."""
        if isinstance(problem, L1Subspace):
            return True, ""
        return False, f"{self.name} takes l1-subspace problems; irls takes Euclidean distances"

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, L1Subspace)
        best, lowest, iterations = None, np.inf, 0
        for start in _starts(problem, control):
            x, value, done = _alternate(problem, start, control, options["iterations"])
            iterations += done
            if best is None or value < lowest:
                best, lowest = x, value
            if control.limit() is not None:
                break
        limit = control.limit()
        return Result(
            status=Status.CONVERGED if limit is None else Status.FEASIBLE,
            limit=limit,
            x=best,
            objective=lowest,
            iterations=iterations,
        )


def _starts(problem: L1Subspace, control: Control) -> list[Array]:
    """Return the warm start alone, or principal components and the least Euclidean distances."""
    x = warm_point(control.warm_start, problem.X.shape[1], problem.columns)
    if x is not None:
        x[:, : problem.k] = np.linalg.qr(problem.basis(x))[0]
        return [x]
    euclidean = RobustSubspace(problem.X, problem.k, centre=problem.centre)
    components = principal(euclidean, np.ones(len(problem.X)))
    median = reweight(euclidean, components, control, _EUCLIDEAN)[0]
    return [flat.answer(euclidean) for flat in (components, median)]


def _alternate(
    problem: L1Subspace, x: Array, control: Control, limit: int
) -> tuple[Array, float, int]:
    """Return the end of the alternation from an answer x, its value, and the alternations."""
    k, affine = problem.k, problem.centre is not None
    best, lowest, of_points, of_coordinates = x, np.inf, None, None
    for step in range(limit):
        W, centre = problem.split(x)
        points = problem.X - centre
        Z, of_points = least_absolute(W, points, of_points)
        value = float(np.abs(points - Z @ W.T).sum())
        gained = value < lowest * (1.0 - STALLED)
        if value < lowest:
            best, lowest = x, value
        control.progress("regressions", objective=lowest)
        if not gained or control.limit() is not None:
            return best, lowest, step
        design = np.column_stack([Z, np.ones(len(Z))]) if affine else Z
        A, of_coordinates = least_absolute(design, problem.X.T, of_coordinates)
        x = np.column_stack([np.linalg.qr(A[:, :k])[0], A[:, k:]])
    return best, lowest, limit
