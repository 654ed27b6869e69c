"""False answers to MISDPs that were verified, each by one weakness of the arithmetic."""

import numpy as np
import pytest
from second_opinion import second_opinion

import sparseopt
from sparseopt import Certificate, Status
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock

LEAST = 5e-324


def claim(problem, x, **arrays):
    """Claim that x is optimal, without one that nothing is feasible, by one leaf: the whole box."""
    q = int(problem.integer.sum())
    leaf = {
        "lower": np.full((1, q), -np.inf),
        "upper": np.full((1, q), np.inf),
        "infeasible": np.array([x is None]),
        "rows": np.zeros((1, problem.A.shape[0])),
        "cones": np.zeros((1, sum(cone.dimension for cone in problem.cones))),
        "psd": np.zeros((1, sum(block.dimension for block in problem.blocks))),
    } | {name: np.array(array) for name, array in arrays.items()}
    value = None if x is None else problem.objective(np.array(x))
    return sparseopt.solve(problem).with_changes(
        status=Status.INFEASIBLE if x is None else Status.OPTIMAL,
        limit=None,
        x=None if x is None else np.array(x),
        objective=value,
        bound=value,
        certificate=Certificate("misdp-leaves", leaf),
        trace=(),
    )


def refused(problem, result, directory):
    """Return whether neither checker believes it."""
    found, _ = second_opinion(directory, problem, result)
    return sparseopt.check(problem, result).verdict.value != "verified" and found != "proven"


def test_costs_that_vanish_times_their_scale(tmp_path):
    """The costs (.6, 1) times the smallest number are (1, 1) of it; the optimum is .6."""
    problem = MISDP(
        c=[0.6, 1.0],
        A=[[1.0, 1.0]],
        row_lower=[1.0],
        lower=[0.0, 0.0],
        upper=[1.0, 1.0],
        integer=[True, True],
    )
    false = claim(
        problem,
        [0.0, 1.0],
        lower=[[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]],
        upper=[[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]],
        rows=[[1.0], [0.0], [0.0]],
        infeasible=[True, False, False],
        cost_scale=[1.0, LEAST, LEAST],
        cones=np.zeros((3, 0)),
        psd=np.zeros((3, 0)),
    )
    assert refused(problem, false, tmp_path)


def test_multipliers_that_vanish_in_their_cone(tmp_path):
    cone = SecondOrderCone(np.zeros((3, 1)), [1e18, -0.7e18, -0.7e18])
    problem = MISDP(c=[1.0], lower=[0.0], upper=[1.0], cones=[cone])
    assert refused(problem, claim(problem, None, cones=[[LEAST] * 3]), tmp_path)


def test_nothing_is_beside_a_zero_that_cannot_move():
    """((k, 1), (1, t)) with k = 0 has no t, however large; and ((0, 1), (1, t)) has none at all."""
    problem = MISDP(
        c=[1.0, 0.0],
        lower=[0.0, 0.0],
        upper=[5.0, np.inf],
        integer=[True, False],
        blocks=[SemidefiniteBlock([[1.0, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0])],
    )
    result = sparseopt.solve(problem)
    assert (result.objective, result.verdict) == (1.0, "verified")
    for false in (claim(problem, [0.0, 1e20]), claim(problem, [0.0, 1e200])):
        assert sparseopt.check(problem, false).verdict == "refuted"
    block = SemidefiniteBlock([[0.0], [0.0], [1.0]], [0.0, 1.0, 0.0])
    result = sparseopt.solve(MISDP(c=[-1.0], lower=[0.0], blocks=[block]))
    assert (result.status, result.verdict) == ("infeasible", "verified")
    cone = SecondOrderCone([[0.0], [1.0], [0.0]], [0.0, 0.0, 1.0], rotated=True)
    result = sparseopt.solve(MISDP(c=[-1.0], lower=[0.0], cones=[cone]))
    assert (result.status, result.verdict) == ("infeasible", "verified")


@pytest.mark.parametrize("top", [2.0, 2e3, 2e6, 2e7])
def test_the_rank_of_a_matrix_is_no_better_for_a_large_entry(top, tmp_path):
    """X = x^2 as ((1, x), (x, X)) of rank one, missed by X itself."""
    block = SemidefiniteBlock([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0], rank_one=True)
    problem = MISDP(c=[0.0, 1.0], lower=[-1.0, 0.0], upper=[1.0, top], sense="max", blocks=[block])
    assert refused(problem, claim(problem, [0.0, top]), tmp_path)
    assert sparseopt.check(problem, claim(problem, [1.0, 1.0])).messages[0].startswith("leaf")


def test_a_small_diagonal_is_not_judged_by_what_is_beside_it(tmp_path):
    """((1e-9 k, s), (s, t)): without k there is no s; and t >= 1e9 where k is 1 and s too."""
    problem = MISDP(
        c=[-20.0, 1.0, 0.0],
        lower=[0.0, 0.0, 0.0],
        upper=[1.0, 10.0, 1e9],
        integer=[True, False, False],
        sense="max",
        blocks=[SemidefiniteBlock(np.diag([1e-9, 1.0, 1.0]))],
    )
    assert refused(problem, claim(problem, [0.0, 10.0, 1e9]), tmp_path)
    F, t = np.zeros((6, 2)), 1.1e7
    F[3, 0] = F[2, 1] = 1.0
    problem = MISDP(
        c=[1.0, 0.0],
        lower=[0.0, -1.0],
        upper=[np.inf, 1.0],
        blocks=[SemidefiniteBlock(F, [1e-9, 1.0, 0.0, 0.0, 0.0, 1.0])],
    )
    false = claim(problem, [t, 0.0], psd=[[t * t, -t, 0.0, 1.0, 0.0, 0.0]])
    assert refused(problem, false, tmp_path)


def test_a_cone_whose_entries_overflow_is_not_left_out(tmp_path):
    problem = MISDP(
        c=[1.0, 0.0],
        lower=[0.0, -np.inf],
        cones=[SecondOrderCone([[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]], [0.0, 1.0, 0.0])],
    )
    assert refused(problem, claim(problem, [0.0, 1.7e308]), tmp_path)


@pytest.mark.parametrize("offset", [0.0, 1e6, 1e9])
def test_a_large_offset_is_no_unit_of_bounds(offset, tmp_path):
    """Minimise (k + .7 y) / 1000 where k + y >= 1.5: 1.05e-3 beside the offset."""
    problem = MISDP(
        c=[1e-3, 0.7e-3],
        A=[[1.0, 1.0]],
        row_lower=[1.5],
        lower=[0.0, 0.0],
        upper=[5.0, 5.0],
        integer=[True, False],
        offset=offset,
    )
    assert refused(problem, claim(problem, [2.0, 0.0], rows=[[0.7e-3]]), tmp_path)
    result = sparseopt.solve(problem, rel_gap=0.0)
    assert result.verdict == "verified"
    assert result.objective - offset == pytest.approx(1.05e-3, abs=4e-16 * offset + 1e-12)
    assert sparseopt.solve(problem).bound - offset <= 1.05e-3 + 4e-16 * offset + 1e-12


def test_rows_of_integers_with_small_coefficients_are_exact(tmp_path):
    problem = MISDP(
        c=[1.0, 1.0],
        A=[[1e-12, 2e-12]],
        row_upper=[2.5e-12],
        lower=[0.0, 0.0],
        upper=[1.0, 1.0],
        integer=[True, True],
        sense="max",
    )
    assert refused(problem, claim(problem, [1.0, 1.0]), tmp_path)


def test_bounds_beside_penalties_are_measured_by_themselves(tmp_path):
    """Minimise k + 1e12 sum(s) where k + s_i >= 0: nothing but 0."""
    problem = MISDP(
        c=[1.0, *[1e12] * 4],
        A=np.column_stack([np.ones(4), np.eye(4)]),
        row_lower=np.zeros(4),
        lower=np.zeros(5),
        upper=[9.0, *[np.inf] * 4],
        integer=[True, *[False] * 4],
    )
    assert refused(problem, claim(problem, [1.0, 0.0, 0.0, 0.0, 0.0]), tmp_path)


@pytest.mark.parametrize("large", [1e9, 1e11])
def test_integers_whose_ends_cross_by_one_are_none(large):
    """The largest k with 2 k <= 2 B + 1; B was left out by the leaves, as far as was known."""
    problem = MISDP(
        c=[1.0],
        A=[[2.0]],
        row_upper=[2.0 * large + 1.0],
        lower=[0.0],
        upper=[4.0 * large],
        integer=[True],
        sense="max",
    )
    result = sparseopt.solve(problem, rel_gap=0.0)
    assert (result.objective, result.verdict) == (large, "verified"), result.check_messages


@pytest.mark.parametrize("low", [0.0, 1.0])
@pytest.mark.parametrize("large", [1e7, 1e8, 1e9])
def test_constants_that_a_variable_at_its_bound_cancels_are_no_unit(large, low, tmp_path):
    """1 + M (y - 1) on the diagonal, less k beside it: y = 1 leaves no room for k = 1.

    The engine answered k = 1 for M = 1e8 in a fresh process, and 0 for y' = 1 - y.
    """
    star, one = np.array([0.0, -1.0, -1.0, 0.0, -1.0, 0.0]), np.array([1.0, 0, 0, 1.0, 0, 1.0])
    ends = {"lower": [0.0, low], "upper": [1.0, 1.0], "integer": [True, False], "sense": "max"}
    block = SemidefiniteBlock(np.array([star, large * one]).T, (1.0 - large) * one)
    problem = MISDP(c=[1.0, 0.0], blocks=[block], **ends)
    assert refused(problem, claim(problem, [1.0, 1.0]), tmp_path)
    result = sparseopt.solve(problem)
    assert (result.objective, result.verdict) == (0.0, "verified")
