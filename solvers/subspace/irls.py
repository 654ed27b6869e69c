"""Iteratively reweighted principal components, with a bound that often proves the optimum."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result

from .bounds import ProjectionRelaxation, inlier_proof
from .settings import EXACT, LEAST_DISTANCE, PATIENCE, QUANTILE, SMALLEST_STEP, STALLED
from .weighted import Distances, Flat, Proof, as_result, principal

__all__ = ["ReweightedSubspace", "reweight"]


class ReweightedSubspace(Distances):
    r"""Fast median subspace with dynamic smoothing.

    The iteration is principal component analysis with the weights
    :math:`1 / \max(\|r_i\|, \epsilon)` of the residuals before, and a smoothing that falls with
    their 5% quantile. It starts from ordinary and from spherical principal components. Where enough
    points lie in one subspace, exactly that one is found, and its optimality proven by one
    eigendecomposition. Otherwise the bound is that of the convex relaxation.

    Source: Lerman, Maunu: Fast, robust and non-convex subspace recovery (2018), algorithm 1, with
    the smoothing of Lerman, Tang, Zhang: Global convergence of iteratively reweighted least squares
    for robust subspace recovery (2025).
    """

    name: ClassVar[str] = "irls"
    summary: ClassVar[str] = "iteratively reweighted principal components, with a bound"
    factorises = True
    features: ClassVar[frozenset[Feature]] = frozenset(
        {Feature.HEURISTIC, Feature.DUAL_BOUND, Feature.CERTIFICATE}
    )
    options: ClassVar[Mapping[str, Option]] = {
        "iterations": Option(int, 1000, "iterations from each start at most", low=1),
        "bound_iterations": Option(
            int, 200, "iterations of the relaxation for the bound at most; 0 for no bound", low=0
        ),
    }

    def _solve(
        self, problem: Problem, params: SolveParams, options: Mapping[str, Any], control: Control
    ) -> Result:
        assert isinstance(problem, RobustSubspace)
        best, value, proof, iterations = None, np.inf, None, 0
        for start in _starts(problem):
            flat, distances, steps = reweight(problem, start, control, options["iterations"])
            iterations += steps
            if float(distances.sum()) < value:
                best, value = flat, float(distances.sum())
                stopped = control.limit() is not None
                proof = None if stopped else inlier_proof(problem, flat, distances)
            if control.limit() is not None or _closed(value, proof):
                break
        assert best is not None
        wanted = options["bound_iterations"] > 0 and control.limit() is None
        if wanted and not _closed(value, proof):
            relaxation = ProjectionRelaxation(problem)
            relaxation.run(control, options["bound_iterations"])
            proof = max(
                (each for each in (proof, relaxation.proof) if each is not None),
                key=lambda each: each.bound,
                default=None,
            )
            flat, distances, steps = reweight(
                problem, relaxation.flat(), control, options["iterations"]
            )
            iterations += steps + relaxation.iterations
            if float(distances.sum()) < value:
                best = flat
        return as_result(
            problem, best, params, proof=proof, limit=control.limit(), iterations=iterations
        )


def reweight(
    problem: RobustSubspace, start: Flat, control: Control, limit: int
) -> tuple[Flat, Array, int]:
    """Iterate from a subspace until it stands still.

    Parameters
    ----------
    problem : RobustSubspace
    start : Flat
    control : Control
    limit : int
        Iterations at most.

    Returns
    -------
    Flat
        The best iterate.
    distances : array of shape (N,)
        From it, in the problem's scaled unit.
    iterations : int
    """
    flat, distances = start, start.distances(problem)
    best = flat, distances
    scale = float(np.median(Flat(start.W * 0.0, start.shift * 0.0).distances(problem)))
    least, smoothing = LEAST_DISTANCE * max(scale, LEAST_DISTANCE), np.inf
    steps = since = 0
    while steps < limit and since < PATIENCE and control.limit() is None:
        smoothing = min(smoothing, max(float(np.quantile(distances, QUANTILE)), least))
        # Weights of at most 1: their common factor changes nothing.
        after = principal(problem, smoothing / np.maximum(distances, smoothing))
        moved = after.step_from(flat)
        flat, distances = after, after.distances(problem)
        steps += 1
        value, before = float(distances.sum()), float(best[1].sum())
        since = 0 if value < before * (1.0 - STALLED) else since + 1
        if value < before:
            best = flat, distances
        control.progress("reweighting", objective=min(value, before) * problem.unit)
        if moved <= SMALLEST_STEP:
            break
    return *best, steps


def _starts(problem: RobustSubspace) -> Iterator[Flat]:
    """Yield the principal components, and those of the points moved to a sphere.

    Far outliers mislead the first, repeated ones the second.
    """
    ordinary = principal(problem, np.ones(len(problem.X)))
    yield ordinary
    lengths = np.concatenate(
        [np.linalg.norm(block - ordinary.shift, axis=1) for _, block in problem.blocks()]
    )
    yield principal(problem, 1.0 / np.maximum(lengths, np.finfo(float).eps) ** 2)


def _closed(value: float, proof: Proof | None) -> bool:
    return proof is not None and value - proof.bound <= EXACT * value
