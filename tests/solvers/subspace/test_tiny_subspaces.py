"""Subspaces of a few points against references that are global by exhaustion."""

import itertools

import numpy as np
import pytest

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import RobustSubspace


def best_hyperplane(X):
    """Return the least sum of distances from a hyperplane through 0.

    The sum of |v'x_i| is linear in v on each cone between the hyperplanes v'x_i = 0. A unit vector
    is a sum of those of the cone's edges with weights that add up to 1 at least, so that an edge,
    orthogonal to n - 1 points, is best.
    """
    n = X.shape[1]
    subsets = np.array(list(itertools.combinations(range(len(X)), n - 1)))
    normals = np.linalg.svd(X[subsets])[2][:, -1]
    return float(np.abs(normals @ X.T).sum(axis=1).min())


def best_line(X, rel_gap):
    """Return bounds of the least sum of distances from a line through 0 in space.

    Branch and bound over spherical triangles: within an angle t of a direction v, the distance of a
    point at the angle a from v is its length times sin(max(0, a - t)) at least.
    """
    lengths = np.linalg.norm(X, axis=1)
    points = X / lengths[:, None]
    corners = [np.diag([1.0, s, t]) for s in (1.0, -1.0) for t in (1.0, -1.0)]
    cells, upper, lower = np.array(corners), np.inf, 0.0
    while len(cells):
        centre = cells.sum(axis=1)
        centre /= np.linalg.norm(centre, axis=1)[:, None]
        reach = np.arccos(np.clip(np.einsum("cij,cj->ci", cells, centre), -1.0, 1.0)).max(axis=1)
        angles = np.arccos(np.clip(np.abs(centre @ points.T), 0.0, 1.0))
        upper = min(upper, float((np.sin(angles) @ lengths).min()))
        least = np.sin(np.maximum(0.0, angles - reach[:, None])) @ lengths
        lower = min(upper, float(least.min()))
        if upper - lower <= rel_gap * upper:
            break
        a, b, c = np.moveaxis(cells[least < upper], 1, 0)
        ab, bc, ca = ((p + q) / np.linalg.norm(p + q, axis=1)[:, None] for p, q in _pairs(a, b, c))
        parts = [(a, ab, ca), (b, bc, ab), (c, ca, bc), (ab, bc, ca)]
        cells = np.concatenate([np.stack(part, axis=1) for part in parts])
    return lower, upper


def _pairs(a, b, c):
    return (a, b), (b, c), (c, a)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("N", "n"), [(12, 2), (15, 3), (12, 4)])
@pytest.mark.parametrize("seed", range(4))
def test_hyperplanes_against_all_of_them(N, n, seed):
    X = np.random.default_rng(seed).normal(size=(N, n))
    best = best_hyperplane(X)
    for backend in ("irls", "reaper", "tyler", "pca"):
        result = sparseopt.solve(RobustSubspace(X, k=n - 1), backend=backend)
        assert result.objective >= best * (1.0 - 1e-12)
        assert result.bound is None or result.bound <= best * (1.0 + 1e-12)
        assert result.verdict is not Verdict.REFUTED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(6))
def test_lines_where_the_relaxation_has_a_gap(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(20, 3)) * [1.5, 1.0, 1.0]
    lower, upper = best_line(X, rel_gap=2e-3)
    assert lower <= upper <= (1.0 + 3e-3) * lower
    result = sparseopt.solve(RobustSubspace(X, k=1))
    assert result.status is Status.CONVERGED  # no more is claimed
    assert result.bound <= upper and result.objective >= lower
    assert result.objective <= 1.002 * upper  # a search, with nothing to find in such samples
    assert result.bound < 0.99 * lower  # the relaxation is not tight


def test_the_references_agree_in_the_plane_of_a_line():
    rng = np.random.default_rng(1)
    X = np.column_stack([rng.normal(size=(10, 2)), np.zeros(10)])
    lower, upper = best_line(X, rel_gap=1e-3)
    assert lower <= best_hyperplane(X[:, :2]) <= upper * (1.0 + 1e-12)
