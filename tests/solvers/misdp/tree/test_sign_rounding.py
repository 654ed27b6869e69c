"""Signs of rows round a matrix of two values: a maximum cut has a point before any dive."""

import importlib.util

import numpy as np
import pytest

import sparseopt
from sparseopt import Verdict
from sparseopt.generators import cardinality_least_squares, k_partitioning, max_cut
from sparseopt.solvers.misdp.tree.sign_rounding import points_by_signs

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)


def candidates(problem, x=None):
    sign = 1.0 if problem.sense == "min" else -1.0
    x = 0.5 * (problem.lower + problem.upper) if x is None else x
    box = problem.lower, problem.upper
    return list(points_by_signs(problem, sign * problem.c, x, box, np.random.default_rng(0)))


def moved(problem, x, size, vertex):
    """Return x with a vertex on the other side of the cut."""
    rows, others = np.triu_indices(size, 1)
    return np.where((rows == vertex) | (others == vertex), 1.0 - x, x)


@pytest.mark.parametrize("seed", range(3))
def test_signs_are_cuts_that_no_single_vertex_improves(seed):
    problem = max_cut(seed=seed, nodes=9)
    points = candidates(problem)
    values = [problem.objective(x) for x in points]
    assert values == sorted(values, reverse=True)
    for x in points:
        assert max(problem.residuals(x).values()) <= 1e-12
        for vertex in range(9):
            other = moved(problem, x, 9, vertex)
            assert max(problem.residuals(other).values()) <= 1e-12
            assert problem.objective(other) <= problem.objective(x) + 1e-9


def test_ends_that_are_fixed_stay():
    problem = max_cut(seed=0, nodes=6)
    lower = problem.lower.copy()
    lower[0] = 1.0
    assert all(x[0] == 1.0 for x in candidates(problem.with_changes(lower=lower)))


def test_other_matrices_have_none():
    assert candidates(cardinality_least_squares(seed=0)) == []
    unbounded = max_cut(seed=0, nodes=4)
    unbounded = unbounded.with_changes(upper=np.full(len(unbounded.c), np.inf))
    assert candidates(unbounded, np.zeros(len(unbounded.c))) == []


def test_the_root_has_a_point_without_dives():
    problem = max_cut(seed=0, nodes=20)
    result = sparseopt.solve(problem, backend="misdp-bnb", node_limit=1, options={"dives": 0})
    assert result.x is not None and result.verdict is not Verdict.REFUTED
    assert result.objective >= 0.95 * result.bound


def test_matrices_whose_entries_have_other_values_are_solved_as_before():
    problem = k_partitioning(seed=0, nodes=6, k=3)
    result = sparseopt.solve(problem, backend="misdp-bnb")
    assert result.verdict is Verdict.VERIFIED, result.check_messages
