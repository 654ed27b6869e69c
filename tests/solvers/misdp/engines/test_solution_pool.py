"""Several solutions: all of them, in order, against enumeration."""

import importlib.util
import itertools
from dataclasses import replace

import numpy as np
import pytest
from conditional_misdps import draw_conditional
from enumeration import relax
from small_misdps import draw
from thorough import first

import sparseopt
from sparseopt import Certificate, ParamError, Status, UnsupportedProblem, Verdict, check
from sparseopt.generators.misdp import cardinality_least_squares
from sparseopt.io import load_result
from sparseopt.problems import MISDPBuilder
from sparseopt.problems.misdp.cones import triangle

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)


def all_values(problem):
    """The objective of each feasible choice of the integers, the best one first."""
    whole, values = problem.integer, []
    ranges = [
        np.arange(a, b + 1.0)
        for a, b in zip(problem.lower[whole], problem.upper[whole], strict=True)
    ]
    for choice in itertools.product(*ranges):
        lower, upper = problem.lower.copy(), problem.upper.copy()
        lower[whole] = upper[whole] = choice
        if whole.all():
            if max(problem.residuals(lower).values()) <= 1e-8:
                values.append(problem.objective(lower))
        else:
            found = relax(problem, lower, upper)
            if found.solved and max(problem.residuals(found.x).values()) <= 1e-6:
                values.append(found.value)
    return sorted(values, reverse=problem.sense == "max")


def compare(problem, count, result):
    known = all_values(problem)
    assert len(result.pool) == min(count, len(known))
    found = [solution.objective for solution in result.pool]
    np.testing.assert_allclose(found, known[: len(found)], rtol=2e-6, atol=2e-6)
    integers = {tuple(solution.x[problem.integer]) for solution in result.pool}
    assert len(integers) == len(found)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(2, [4, 1, 9, 20]))
def test_the_best_ones_of_small_problems(seed):
    problem = draw(seed)
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 5})
    if result.status is Status.INFEASIBLE:
        assert not all_values(problem) and not result.pool
        return
    compare(problem, 5, result)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert all(solution.among_best for solution in result.pool)
    assert result.pool[0].objective == result.objective


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(40, 80))
def test_the_best_ones_of_many(seed):
    for problem in (draw(seed), draw_conditional(seed)):
        if np.isfinite(problem.upper).all():
            result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 4})
            if result.status is not Status.INFEASIBLE:
                compare(problem, 4, result)
                assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(("seed", "count"), [(243208, 3), (243208, 4), (34253, 2)])
def test_leaves_that_constraints_empty_slowly_are_proven_empty(seed, count):
    # Each round of array operations derives less than one of compiled loops, step after step.
    problem = draw_conditional(seed)
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": count})
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    found = result.certificate.arrays["pool_objective"]
    np.testing.assert_allclose(found, all_values(problem)[:count], rtol=1e-4, atol=1e-4)


def test_a_feasible_point_is_not_given_up_for_what_a_violation_gains():
    # Of the same integers one point is better by 3e-8, its matrix short of the cone by 3e-8.
    drawn = draw(632317)
    blocks = [replace(b, F0=b.F0 + 1e-6 * np.eye(b.size)[triangle(b.size)]) for b in drawn.blocks]
    problem = drawn.with_changes(blocks=blocks)
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 2})
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.thorough
def test_a_first_point_narrows_no_more_than_the_pool_states():
    """Boxes that the cutoff narrowed to one choice say nothing of those it left out."""
    problem = draw_conditional(66)
    best = sparseopt.solve(problem, backend="misdp-bnb")
    result = sparseopt.solve(
        problem, backend="misdp-bnb", options={"solutions": 4}, warm_start=best
    )
    compare(problem, 4, result)
    assert result.verdict is Verdict.VERIFIED, result.check_messages


def small():
    """Maximise 3 a + 2 b + c with at most two of them: 5, 4, 3 twice, 2, 1, 0."""
    model = MISDPBuilder("max")
    x = model.variables(3, lower=0.0, upper=1.0, integer=True)
    model.row((x, np.ones(3)), upper=2.0)
    model.objective((x, np.array([3.0, 2.0, 1.0])))
    return model.build()


def test_all_of_them_and_no_others(tmp_path):
    problem = small()
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 50})
    assert [solution.objective for solution in result.pool] == [5.0, 4.0, 3.0, 3.0, 2.0, 1.0, 0.0]
    assert result.verdict is Verdict.VERIFIED
    assert result.certificate.arrays["pool_bound"][0] == -np.inf
    sparseopt.save(result, tmp_path / "r.json")
    again = load_result(tmp_path / "r.json")
    assert [s.objective for s in again.pool] == [s.objective for s in result.pool]
    near = sparseopt.solve(
        problem, backend="misdp-bnb", options={"solutions": 50, "solutions_gap": 0.3}
    )
    assert [solution.objective for solution in near.pool] == [5.0, 4.0]
    assert near.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    "change",
    [
        {"pool_bound": np.array([2.5])},
        {"pool_bound": np.array([-np.inf])},
        {"pool_objective": np.array([5.0, 4.0, 3.5])},
        {"pool_x": np.array([[1.0, 1, 0], [1, 0, 1], [1, 0, 1]])},
        {"pool_x": np.array([[1.0, 1, 1], [1, 0, 1], [1, 0, 0]])},
        {"pool_x": np.array([[1.0, 1], [1, 0], [1, 0]])},
    ],
)
def test_a_false_pool_is_refuted(change):
    problem = small()
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 3})
    assert result.verdict is Verdict.VERIFIED
    arrays = {**result.certificate.arrays, **change}
    changed = result.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert check(problem, changed).verdict is Verdict.REFUTED


def test_what_a_limit_leaves():
    problem = cardinality_least_squares(seed=1, n=20, d=20, k=4)
    result = sparseopt.solve(problem, backend="misdp-bnb", options={"solutions": 6}, node_limit=12)
    assert result.limit is not None and result.pool
    assert not all(solution.among_best for solution in result.pool)
    assert result.verdict is not Verdict.REFUTED


def test_refusals():
    model = MISDPBuilder("min")
    k = model.variable(lower=0.0, upper=3.0, integer=True)
    X = model.matrix(2, rank_one=True)
    model.row((X, np.eye(2)), (k, 1.0), lower=2.0)
    model.objective((X, np.eye(2)), (k, 0.5))
    with pytest.raises(UnsupportedProblem, match="one solution where matrices must have rank one"):
        sparseopt.solve(model.build(), backend="misdp-bnb", options={"solutions": 2})
    with pytest.raises(ParamError, match="option solutions must be int >= 1"):
        sparseopt.solve(small(), backend="misdp-bnb", options={"solutions": 0})
