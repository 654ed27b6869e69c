"""Subspaces whose optima are found by scanning, or are known from exact inliers."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar

from sparseopt.problems.base import Array, Problem
from sparseopt.problems.subspace.base import SubspaceProblem
from sparseopt.problems.subspace.distributions import MMDSubspace, MomentSubspace
from sparseopt.problems.subspace.entrywise import L1Subspace
from sparseopt.problems.subspace.robust import RobustSubspace
from sparseopt.problems.subspace.sufficient import SufficientReduction
from sparseopt.testing.samples import FamilySamples, Sample

_ANGLES = 181


def subspace_samples(rng: np.random.Generator) -> FamilySamples:
    """Return lines in the plane, a subspace and a plane off the origin, and one large problem.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    line = RobustSubspace(rng.normal(size=(15, 2)) * [3.0, 1.0], k=1)
    basis = np.linalg.qr(rng.normal(size=(6, 2)))[0]
    inside = rng.normal(size=(40, 2)) @ basis.T
    outside = rng.normal(size=(8, 6))
    exact = RobustSubspace(np.vstack([inside, outside]), k=2)
    moved = RobustSubspace(np.vstack([inside, outside]) + 5.0, k=2, centre="estimate")
    place = np.full(6, 5.0)[:, None]
    points = rng.normal(size=(20, 2)) * [2.0, 1.0]
    others = {
        "l1": L1Subspace(points, k=1),
        "moments": MomentSubspace(points, k=1),
        "mmd": MMDSubspace(points, k=1, bandwidth=1.0),
        "response": SufficientReduction(points, points[:, 0] ** 2 + points[:, 1], k=1),
    }
    return FamilySamples(
        samples=(
            Sample("line", line, {}, _best_line(line), known_by="all angles"),
            Sample("plane", exact, {}, exact.objective(basis), known_by="40 of 48 points in it"),
            Sample(
                "affine",
                moved,
                {},
                moved.objective(np.hstack([basis, place])),
                known_by="40 of 48 points in it",
            ),
            *(
                Sample(name, problem, {}, _best_line(problem), known_by="all angles")
                for name, problem in others.items()
            ),
        ),
        large=(
            Sample("large", RobustSubspace(rng.normal(size=(4000, 300)), k=5)),
            Sample("large-l1", L1Subspace(rng.normal(size=(2000, 40)), k=5)),
            Sample("large-response", _large_response(rng)),
        ),
        invalid=_without_dimension,
    )


def _without_dimension() -> Problem:
    problem = RobustSubspace(np.eye(3), k=1)
    object.__setattr__(problem, "k", 0)
    return problem


def _large_response(rng: np.random.Generator) -> SufficientReduction:
    X = rng.normal(size=(500, 20))
    return SufficientReduction(X, X[:, 0] + rng.normal(size=500), k=2)


def _best_line(problem: SubspaceProblem) -> float:
    """Return the least objective over all lines through 0 in the plane."""

    def value(angle: float) -> float:
        return problem.objective(np.array([[np.cos(angle)], [np.sin(angle)]]))

    grid: Array = np.linspace(0.0, np.pi, _ANGLES)
    at = grid[int(np.argmin([value(angle) for angle in grid]))]
    # The least sum of distances is attained at a line through a point, where it has a kink.
    lines = [float(np.arctan2(y, x)) for x, y in problem.X]
    step = float(grid[1])
    smooth = minimize_scalar(value, bounds=(at - step, at + step), method="bounded")
    return min(float(smooth.fun), *(value(angle) for angle in lines))
