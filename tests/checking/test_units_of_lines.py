"""MISDPs whose constraints hold only in the unit of another line, entry or term."""

import numpy as np
import pytest
from rewritten_misdps import WAYS, complaint
from second_opinion import second_opinion
from thorough import first

import sparseopt
from sparseopt import Certificate, Limit, Status
from sparseopt.problems import MISDP, SecondOrderCone, SemidefiniteBlock
from sparseopt.problems.misdp.cones import pack_symmetric


def verdict(problem, result):
    return sparseopt.check(problem, result).verdict.value


def one_leaf(problem, x, value):
    """Claim that x is optimal by one leaf, the box, whose bounds alone must prove it."""
    whole = problem.integer
    arrays = {
        "lower": problem.lower[whole][None],
        "upper": problem.upper[whole][None],
        "rows": np.zeros((1, problem.A.shape[0])),
        "cones": np.zeros((1, sum(cone.dimension for cone in problem.cones))),
        "psd": np.zeros((1, sum(part.dimension for part in problem.blocks))),
        "infeasible": np.zeros(1, dtype=bool),
    }
    return sparseopt.solve(problem).with_changes(
        status=Status.OPTIMAL,
        limit=None,
        x=np.array(x),
        objective=value,
        bound=value,
        certificate=Certificate("misdp-leaves", arrays),
        trace=(),
    )


def entry(i, j, size=4):
    matrix = np.zeros((size, size))
    matrix[i, j] = matrix[j, i] = 1.0
    return matrix


STAR = -(entry(0, 1) + entry(0, 2) + entry(1, 2))


def block(constant, *matrices):
    F = np.array([pack_symmetric(matrix) for matrix in matrices]).T
    return SemidefiniteBlock(F, pack_symmetric(constant))


def star(sense, costs, low):
    """k = 1 makes the first three lines indefinite; y moves the last one only, by 1e8."""
    return MISDP(
        c=costs,
        lower=[low, 0.0, 0.0],
        upper=[1.0, 1.0, np.inf],
        integer=[True, False, False],
        blocks=[block(np.diag([1.0, 1.0, 1.0, 1e8]), STAR, 1e8 * entry(3, 3), np.zeros((4, 4)))],
        sense=sense,
    )


@pytest.mark.parametrize(
    ("sense", "costs"), [("min", [0.0, 1.0, 0.0]), ("max", [0.0, 0.0, 1.0])], ids=["y", "w"]
)
def test_lines_that_nothing_moves_are_no_better_for_a_large_line(sense, costs):
    result = sparseopt.solve(star(sense, costs, 1.0))
    assert result.status is Status.INFEASIBLE
    assert verdict(star(sense, costs, 1.0), result) == "verified"


def test_integers_that_only_a_large_line_would_allow_are_refuted(tmp_path):
    problem = star("max", [1.0, 0.0, 0.0], 0.0)
    result = sparseopt.solve(problem)
    assert result.objective == 0.0
    assert verdict(problem, result) == "verified"
    forged = one_leaf(problem, [1.0, 0.0, 0.0], 1.0)
    assert verdict(problem, forged) == "refuted"
    assert second_opinion(tmp_path, problem, forged)[0] == "refuted"


def test_lines_of_what_cancels_are_no_better_for_it():
    """The last line is 1e13 (k_1 - k_2) + 1e8 y."""
    problem = MISDP(
        c=[1.0, 0.0, 0.0, 0.0],
        lower=np.zeros(4),
        upper=np.ones(4),
        integer=[True, True, True, False],
        blocks=[
            block(
                np.diag([1.0, 1.0, 1.0, 0.0]),
                STAR,
                *(sign * 1e13 * entry(3, 3) for sign in (1.0, -1.0)),
                1e8 * entry(3, 3),
            )
        ],
        sense="max",
    )
    assert sparseopt.solve(problem).objective == 0.0
    assert verdict(problem, one_leaf(problem, [1.0, 1.0, 1.0, 0.0], 1.0)) == "refuted"


@pytest.mark.parametrize("rotated", [False, True])
def test_entries_of_a_cone_are_no_better_for_a_large_one(rotated, tmp_path):
    """The norm of (k_0, k_1, 1e8 y - 1e8) is at most 1."""
    F = np.vstack([np.zeros((1, 3)), np.diag([1.0, 1.0, 1e8])])
    g = np.array([1.0, 0.0, 0.0, -1e8])
    if rotated:
        F, g = np.vstack([F[:1], F]), np.append([0.5], g)
    problem = MISDP(
        c=[1.0, 1.0, 0.0],
        lower=np.zeros(3),
        upper=np.ones(3),
        integer=[True, True, False],
        cones=[SecondOrderCone(F, g, rotated)],
        sense="max",
    )
    result = sparseopt.solve(problem)
    assert result.objective == pytest.approx(1.0)
    assert verdict(problem, result) == "verified"
    forged = one_leaf(problem, [1.0, 1.0, 1.0], 2.0)
    assert verdict(problem, forged) == "refuted"
    assert second_opinion(tmp_path, problem, forged)[0] == "refuted"


def test_a_matrix_of_far_lines_has_rank_one_in_each():
    """diag(1, 1) in the first two lines is not of rank one, whatever is in the third."""
    problem = MISDP(
        c=[0.0, 1.0],
        lower=[1.0, 0.0],
        upper=[1.0, 1.0],
        integer=[True, False],
        blocks=[
            SemidefiniteBlock(
                np.array(
                    [pack_symmetric(m) for m in (np.diag([1.0, 1.0, 0.0]), 1e8 * entry(2, 2, 3))]
                ).T,
                rank_one=True,
            )
        ],
    )
    assert verdict(problem, one_leaf(problem, [1.0, 1.0], 1.0)) == "refuted"


def test_rows_are_no_better_for_a_coefficient_that_is_large(tmp_path):
    """In k + 1e8 y <= 0 with k = 1 there is 1 to be made good."""
    problem = MISDP(
        c=[1.0, 0.0],
        A=np.array([[1.0, 1e8]]),
        row_upper=[0.0],
        lower=[0.0, 0.0],
        upper=[1.0, 1.0],
        integer=[True, False],
        sense="max",
    )
    assert sparseopt.solve(problem).objective == 0.0
    forged = one_leaf(problem, [1.0, 0.0], 1.0)
    assert verdict(problem, forged) != "verified"
    assert second_opinion(tmp_path, problem, forged)[0] == "refuted"


@pytest.mark.parametrize("power", [-8, -4, 0, 4, 8])
def test_matrices_whose_lines_are_far_apart_are_solved_and_verified(power):
    """The least t with ((1, v'), (v, t I)) semidefinite in lines of any units: v'v."""
    units = np.array([1.0, 10.0**power, 10.0**-power, 1.0])
    scale = np.outer(units, units)
    v = np.array([0.3, -0.7, 0.4])
    constant = entry(0, 0)
    constant[0, 1:] = constant[1:, 0] = v
    problem = MISDP(
        c=[1.0],
        lower=[0.0],
        blocks=[block(constant * scale, np.diag([0.0, 1.0, 1.0, 1.0]) * scale)],
    )
    result = sparseopt.solve(problem)
    assert result.objective == pytest.approx(v @ v, rel=1e-6)
    assert verdict(problem, result) == "verified"


def test_objectives_are_not_measured_by_an_offset_that_cancels(tmp_path):
    problem = MISDP(
        c=[1.0],
        lower=[2.0**40],
        upper=[2.0**40 + 1e4],
        integer=[True],
        offset=-(2.0**40),
    )
    result = sparseopt.solve(problem)
    assert (result.status, result.objective) == (Status.OPTIMAL, 0.0)
    assert verdict(problem, result) == "verified"
    assert second_opinion(tmp_path, problem, result)[0] == "proven"
    for x, value in ((2.0**40, 500.0), (2.0**40 + 1.0, 1.0)):
        false = result.with_changes(x=np.array([x]), objective=value, bound=value, trace=())
        assert verdict(problem, false) == "refuted"
        some = false.with_changes(status=Status.FEASIBLE, limit=Limit.TIME, bound=0.0)
        assert verdict(problem, some) == ("unproven" if value == 500.0 else "verified")


def test_objectives_whose_terms_cancel_are_added_up_in_106_bits():
    """c'x is 1 where each of its terms is 2^54; in double precision it is 0 or 4."""
    problem = MISDP(
        c=[1.0, 1.0, -1.0], lower=[2.0**54, 1.0, 2.0**54], upper=[2.0**54, 3.0, 2.0**54]
    )
    x = [2.0**54, 1.0, 2.0**54]
    true = sparseopt.check(problem, one_leaf(problem, x, 1.0))
    assert true.verdict.value == "unproven"  # the leaf's own terms cancel
    assert true.messages[0].startswith("leaf 0")
    for value in (0.0, 4.0):
        assert verdict(problem, one_leaf(problem, x, value)) != "verified"


def test_points_of_a_pool_are_in_order_and_have_their_objectives(tmp_path):
    problem = MISDP(
        c=[1.0, 2.0, 4.0], lower=np.zeros(3), upper=np.ones(3), integer=np.ones(3, dtype=bool)
    )
    result = sparseopt.solve(problem, options={"solutions": 3})
    assert [point.objective for point in result.pool] == [0.0, 1.0, 2.0]
    assert verdict(problem, result) == "verified"
    assert second_opinion(tmp_path, problem, result)[0] == "proven"
    arrays = result.certificate.arrays
    order = [1, 0, 2]
    others = {name: arrays[name][order] for name in ("pool_x", "pool_objective")}
    moved = {"pool_objective": arrays["pool_objective"] + [0.0, 0.0, 1e-6]}
    for changes in (others, moved):
        false = result.with_changes(certificate=Certificate("misdp-leaves", {**arrays, **changes}))
        assert verdict(problem, false) == "refuted"
        assert second_opinion(tmp_path, problem, false)[0] == "refuted"


@pytest.mark.parametrize("seed", first(2, range(25)))
@pytest.mark.parametrize("way", WAYS)
def test_the_same_program_written_otherwise_has_the_same_optimum(way, seed):
    assert complaint(way, seed) == ""


@pytest.mark.parametrize("seed", [2, 3, 6])
def test_programs_with_lines_in_far_units_are_proven_exactly(seed, tmp_path):
    assert complaint("lines", seed, tmp_path) == ""
