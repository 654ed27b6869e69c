"""Values of parametric paths at the ends of their ranges."""

import math

import numpy as np
import pytest

import sparseopt
from sparseopt.errors import ParamError
from sparseopt.problems import CLIME, LADLasso, ParametricLP
from sparseopt.selection import stability_selection


@pytest.mark.filterwarnings("error")
def test_a_path_has_values_at_infinity():
    """They were NaN, by 0 times infinity, with nine warnings."""
    rng = np.random.default_rng(0)
    path = sparseopt.solve(LADLasso(rng.normal(size=(20, 3)), rng.normal(size=20))).path
    assert path.at(math.inf).tolist() == [0.0, 0.0, 0.0]
    assert path.objective_at(math.inf) == path.objective_at(2.0 * path.knots[0])
    np.testing.assert_array_equal(path.dual_at(math.inf), path.dual_at(2.0 * path.knots[0]))


@pytest.mark.filterwarnings("error")
def test_what_grows_without_end_is_infinite_there():
    # max lam x subject to x <= 1 + lam
    path = sparseopt.solve(ParametricLP([[1.0]], [1.0], [1.0], [0.0], [1.0])).path
    assert path.at(math.inf).tolist() == [math.inf]
    assert path.objective_at(math.inf) == math.inf


def test_halves_need_observations():
    with pytest.raises(ParamError, match="observations of X and y; a clime has none"):
        stability_selection(CLIME(np.eye(3)))
