"""A warm start that is none is refused by every backend that takes one, in the same words."""

import numpy as np
import pytest

import sparseopt
from sparseopt import Feature, ParamError, Result, Status
from sparseopt.generators import kernel_selection
from sparseopt.problems import STRS, DantzigSelector, L1Subspace, MomentSubspace
from sparseopt.registry import get_backend
from sparseopt.solvers.common.warm_start import warm_point

POINTS = np.random.default_rng(0).normal(size=(12, 4))
PROBLEMS = [
    STRS(POINTS.T @ POINTS, POINTS[0], 2),
    DantzigSelector(POINTS, POINTS[:, 0]),
    kernel_selection(seed=0),
    L1Subspace(POINTS, 1),
    MomentSubspace(POINTS, 1),
]
QUESTIONS = {"dantzig-selector": {"lam": 0.1}}


def taking(problem):
    """Return the backends that take the problem and a warm start, and need no licence."""
    names = ("highs-ccg", "strs-bnb", "strs-admm", "strs-oa", "strs-annealing")
    for name in (*names, "stiefel", "l1-alternating"):
        backend = get_backend(name)
        if Feature.WARM_START in backend.features and backend.supports(problem)[0]:
            yield name


CASES = [(problem, name) for problem in PROBLEMS for name in taking(problem)]


@pytest.mark.parametrize(
    ("problem", "backend"), CASES, ids=[f"{p.kind}-{name}" for p, name in CASES]
)
def test_a_start_that_is_no_point_is_refused(problem, backend):
    question = QUESTIONS.get(problem.kind, {})
    x = sparseopt.solve(problem, backend=backend, check=False, time_limit=5.0, **question).x
    for wrong in (x[:-1], np.full(x.shape, np.nan), np.full(x.shape, -np.inf), "start", {}):
        with pytest.raises(ParamError, match=r"warm_start .*; expected a Result of this problem"):
            sparseopt.solve(problem, backend=backend, warm_start=wrong, time_limit=5.0, **question)


def test_the_entry_that_is_not_finite_is_named():
    with pytest.raises(ParamError, match=r"a point with nan at \[2\]; expected .* shape \(3,\)"):
        warm_point([0.0, 1.0, np.nan], 3)
    np.testing.assert_array_equal(warm_point([0.0, np.nan], 2, unknown=True), [0.0, np.nan])
    with pytest.raises(ParamError, match=r"with inf at \[0, 1\]; expected .* or NaN where"):
        warm_point([[0.0, np.inf]], 1, 2, unknown=True)


def test_a_result_without_a_point_is_no_start():
    assert warm_point(Result(status=Status.INFEASIBLE), 3) is None
    assert warm_point(None, 3) is None
