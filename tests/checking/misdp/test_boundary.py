"""Multipliers exactly on the boundary of their cones, and such as are outside by rounding."""

import numpy as np
import pytest

from sparseopt.checking.misdp.duality import WeakDuality
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock

EMPTY = {
    # x >= |x + 1|
    "cone": (
        MISDP(c=[0.0], cones=[SecondOrderCone([[1.0], [1.0]], [0.0, 1.0])]),
        [1.0, -1.0],
    ),
    # 2 (2 x) (-x) >= 3^2
    "rotated cone": (
        MISDP(
            c=[0.0],
            cones=[SecondOrderCone([[2.0], [-1.0], [0.0]], [0.0, 0.0, 3.0], rotated=True)],
        ),
        [1.0, 2.0, -2.0],
    ),
    # ((x, x + 2), (x + 2, x)) is semidefinite
    "matrix": (
        MISDP(
            c=[0.0],
            blocks=[SemidefiniteBlock([[1.0], [1.0], [1.0]], F0=np.array([0.0, 2.0, 0.0]))],
        ),
        [1.0, -1.0, 1.0],
    ),
}
"""Without a point, and the only ray of multipliers that proves it; x has no ends."""


@pytest.mark.parametrize("name", EMPTY)
def test_the_only_multipliers_prove_it(name):
    problem, given = EMPTY[name]
    found = WeakDuality(problem).bound(problem.lower, problem.upper, np.array(given), scale=0.0)
    assert found.value > 0.9


@pytest.mark.parametrize("name", EMPTY)
def test_multipliers_outside_by_rounding_do_not(name):
    problem, given = EMPTY[name]
    outside = np.array(given)
    outside[1] = np.nextafter(outside[1], -np.inf)
    found = WeakDuality(problem).bound(problem.lower, problem.upper, outside, scale=0.0)
    assert found.value == -np.inf and found.nearly > 0.9
