"""Iteratively reweighted principal components, with a bound that often proves the optimum."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np

from sparseopt.backend import Control, Feature, Option
from sparseopt.params import SolveParams
from sparseopt.problems.base import Problem
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.result import Result

from .bounds import ProjectionRelaxation, Span, inlier_proof
from .settings import (
    EXACT,
    LEAST_DISTANCE,
    PATIENCE,
    QUANTILE,
    ROUNDED,
    SMALLEST_STEP,
    SPEED_UP,
    STALLED,
)
from .weighted import Distances, Flat, Proof, as_result, principal, weighted_mean


class ReweightedSubspace(Distances):
    r"""Fast median subspace with dynamic smoothing.

    The iteration is principal component analysis with the weights
    :math:`1 / \max(\|r_i\|, \epsilon)` of the residuals before, and a smoothing that falls with
    their 5% quantile; the smoothed sum never rises. It starts from ordinary and from spherical
    principal components. Where enough points lie in one subspace, exactly that one is found, and
    its optimality proven by one eigendecomposition. Otherwise the bound is that of the convex
    relaxation.

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
        limit, best = options["iterations"], _Best(problem, control)
        span = Span(problem)  # where iterations cost less
        start = principal(span.problem, np.ones(len(problem.X)))
        flat, steps = reweight(span.problem, start, control, limit)
        best.take(span.lift(flat), steps)
        if control.limit() is None and not best.proven():
            flat, steps = reweight(
                span.problem, _spherical(span.problem), control, limit, best.known(span)
            )
            best.take(span.lift(flat), steps)
            if options["bound_iterations"] > 0 and control.limit() is None and not best.proven():
                relaxation = ProjectionRelaxation(span.problem)
                relaxation.run(control, options["bound_iterations"])
                best.bound(span.lifted(relaxation.proof))
                flat, steps = reweight(
                    span.problem, relaxation.flat(), control, limit, best.known(span)
                )
                best.take(span.lift(flat), steps + relaxation.iterations)
        return as_result(
            problem,
            best.flat,
            params,
            proof=best.proof,
            limit=control.limit(),
            iterations=best.iterations,
        )


class _Best:
    """The best subspace so far, and the best bound."""

    flat: Flat

    def __init__(self, problem: RobustSubspace, control: Control) -> None:
        self.problem, self.control, self.value, self.iterations = problem, control, np.inf, 0
        self.proof: Proof | None = None

    def take(self, flat: Flat, iterations: int) -> None:
        """Keep a subspace if it is better, with the bound by its exact inliers.

        The certificate of inliers is in the coordinates of its subspace, so it goes with that.
        """
        self.iterations += iterations
        distances = flat.distances(self.problem)
        if float(distances.sum()) < self.value * (1.0 - STALLED):
            self.flat, self.value = flat, float(distances.sum())
            if self.proof is not None and self.proof.certificate.kind == "inliers":
                self.proof = None
            if self.control.limit() is None:
                self.bound(inlier_proof(self.problem, flat, distances))

    def bound(self, proof: Proof | None) -> None:
        """Keep a bound if it is better: it holds for every subspace."""
        if proof is not None and (self.proof is None or proof.bound > self.proof.bound):
            self.proof = proof

    def known(self, span: Span) -> float:
        """Return the best value in the scaled unit of the problem in the span of the points."""
        return self.value * self.problem.unit / span.problem.unit

    def proven(self) -> bool:
        """Return whether the bound meets the value."""
        near = max(EXACT * self.value, ROUNDED * self.problem.spread / self.problem.unit)
        return self.proof is not None and self.value - self.proof.bound <= near


def reweight(
    problem: RobustSubspace, start: Flat, control: Control, limit: int, known: float = np.inf
) -> tuple[Flat, int]:
    """Iterate from a subspace until it stands still, or falls too slowly to matter.

    A decrease of d ends the search where :data:`SPEED_UP` times d in each iteration that is left
    would not reach the known value.

    Parameters
    ----------
    problem : RobustSubspace
    start : Flat
    control : Control
    limit : int
        Iterations at most.
    known : float, default infinite
        A value that must be beaten, in the problem's scaled unit.

    Returns
    -------
    Flat
        The best iterate.
    iterations : int
    """
    flat, distances = start, start.distances(problem)
    best, lowest = flat, float(distances.sum())
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
        value = float(distances.sum())
        reached = lowest - SPEED_UP * (lowest - value) * (limit - steps)
        since = 0 if value < lowest * (1.0 - STALLED) and reached < known else since + 1
        if value < lowest:
            best, lowest = flat, value
        control.progress("reweighting", objective=lowest * problem.unit)
        if moved <= SMALLEST_STEP:
            break
    return best, steps


def _spherical(problem: RobustSubspace) -> Flat:
    """Return the principal components of the points moved to a sphere around their mean.

    Repeated outliers mislead them; ordinary principal components, far outliers.
    """
    mean = weighted_mean(problem, np.ones(len(problem.X)))
    lengths = np.concatenate(
        [np.linalg.norm(block - mean, axis=1) for _, block in problem.blocks()]
    )
    return principal(problem, 1.0 / np.maximum(lengths, np.finfo(float).eps) ** 2)
