"""Rays of unbounded problems are exact, wherever their data allow it."""

import numpy as np
import pytest
from thorough import first
from unbounded_misdps import draw

import sparseopt
from sparseopt import Status, Verdict
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.solvers.misdp.rational.exact_ray import exact_rays, keeps_exactly
from sparseopt.solvers.misdp.unbounded.recession import recession


@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
@pytest.mark.parametrize("seed", first(3, range(0, 120, 10)))
def test_problems_with_a_ray_of_whole_numbers_are_proven_unbounded(seed, backend):
    for at in range(seed, seed + 10):
        problem, ray = draw(at)
        assert keeps_exactly(recession(problem), ray)
        result = sparseopt.solve(problem, backend=backend)
        assert (result.status, result.verdict) == (Status.UNBOUNDED, Verdict.VERIFIED), at


def test_the_epigraph_of_a_norm_that_is_no_fraction():
    """t >= |(3 x + y, x)|, and x pays 5 for each: along x = -1 the least t is the root of 10."""
    cone = SecondOrderCone([[1.0, 0.0, 0.0], [0.0, 3.0, 1.0], [0.0, 1.0, 0.0]], np.ones(3))
    problem = MISDP(
        c=[1.0, 5.0, 0.0], upper=[np.inf, np.inf, 3.0], lower=[-np.inf] * 3, cones=[cone]
    )
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.UNBOUNDED, Verdict.VERIFIED)


def test_a_null_space_that_is_rounded_is_not_refuted():
    """The factor of a singular matrix in doubles: what is 0 along the ray is so up to rounding."""
    B = np.array([[-1.0, 0.0, 0.0, 1.0], [3.0, -1.0, -1.0, -1.0]])
    values, vectors = np.linalg.eigh(B.T @ B)
    factor = (vectors[:, 2:] * np.sqrt(values[2:])).T
    rows = np.vstack([np.r_[np.zeros(4), 1.0], np.c_[factor, np.zeros(2)], np.r_[np.zeros(4), 1.0]])
    cone = SecondOrderCone(rows, [1.0, 0.0, 0.0, -1.0])  # t + 1 >= |(F x, t - 1)|
    problem = MISDP(c=[0.0, 1.0, 3.0, 0.0, 1.0], lower=[-np.inf] * 5, cones=[cone])
    result = sparseopt.solve(problem)
    assert result.status is Status.UNBOUNDED
    assert result.verdict in (Verdict.VERIFIED, Verdict.UNPROVEN)


def test_a_ray_outside_by_the_last_digit_is_not_kept():
    ones = SemidefiniteBlock([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0]], np.zeros(3), 2)
    problem = MISDP(c=[-1.0, 0.0], lower=[-np.inf] * 2, blocks=[ones])
    assert keeps_exactly(problem, np.array([1.0, 0.0]))
    assert not keeps_exactly(problem, np.array([1.0, -(2.0**-60)]))
    found = list(exact_rays(problem, np.array([1.0, 3e-9])))
    assert found
    assert all(keeps_exactly(problem, ray) for ray in found)
    head = SecondOrderCone([[1.0, 0.0], [0.0, 1.0]], np.zeros(2))
    problem = MISDP(c=[-1.0, 0.0], lower=[-np.inf] * 2, cones=[head])
    assert keeps_exactly(problem, np.array([1.0, 1.0]))
    assert not keeps_exactly(problem, np.array([1.0, np.nextafter(1.0, 2.0)]))
