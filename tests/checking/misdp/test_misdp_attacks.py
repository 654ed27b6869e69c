"""Results that are false in ways that tolerances hide: none may be verified.

Each builds a problem whose true value is plain, and a result that states another one as well as it
can be stated.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conditional_misdps import draw_conditional
from thorough import first

from sparseopt import Certificate, Limit, Result, SolveParams, Status, check, exact, save, solve
from sparseopt.checking.misdp import boxes, ranks, verifier
from sparseopt.checking.misdp.boxes import TooMuchWork, uncovered
from sparseopt.checking.misdp.implied import ImpliedBounds
from sparseopt.checking.misdp.ranks import RankBoxes
from sparseopt.problems import (
    MISDP,
    IndicatorConstraint,
    MISDPBuilder,
    SecondOrderCone,
    SemidefiniteBlock,
)

MANY = 20


def leaf(problem: MISDP, infeasible: bool = False, **multipliers: Any) -> Certificate:
    """A single leaf over all integers, with the multipliers that are given."""
    q = int(problem.integer.sum())
    widths = {
        "rows": problem.A.shape[0],
        "cones": sum(cone.dimension for cone in problem.cones),
        "psd": sum(block.dimension for block in problem.blocks),
    }
    arrays = {
        "lower": np.full((1, q), -np.inf),
        "upper": np.full((1, q), np.inf),
        "infeasible": np.array([infeasible]),
        **{name: np.zeros((1, width)) for name, width in widths.items()},
        **{name: np.array([given], dtype=float) for name, given in multipliers.items()},
    }
    return Certificate("misdp-leaves", arrays)


def optimal(problem: MISDP, x: Any, bound: float | None = None, **multipliers: Any) -> Result:
    x = np.array(x, dtype=float)
    value = problem.objective(x)
    return Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value if bound is None else bound,
        certificate=leaf(problem, **multipliers),
    )


def verdict(problem: MISDP, result: Result) -> str:
    return str(check(problem, result).verdict)


# ---- scale inflation: terms that the result chooses are no measure


@pytest.mark.parametrize("value", [900.0, -900.0])
@pytest.mark.parametrize("size", [1e9, 1e12, 1e15])
def test_terms_that_cancel_do_not_widen_the_objective(value: float, size: float) -> None:
    """Minimise x + s - t with s = t, x >= 0: the minimum is 0."""
    problem = MISDP(
        c=[1.0, 1.0, -1.0],
        A=[[0.0, 1.0, -1.0]],
        row_lower=[0.0],
        row_upper=[0.0],
        lower=[0.0, -np.inf, -np.inf],
    )
    honest = optimal(problem, [0.0, 0.0, 0.0], rows=[1.0])
    assert verdict(problem, honest) == "verified"
    for x in ([0.0, size, size], [abs(value), size, size]):
        false = honest.with_changes(x=np.array(x), objective=value, bound=value)
        assert verdict(problem, false) != "verified"


@pytest.mark.parametrize("size", [1e8, 1e10, 1e12])
def test_terms_that_cancel_do_not_widen_a_row(size: float) -> None:
    """Minimise x with x + s - t >= 1 and s = t: x = 0 misses the row by 1."""
    problem = MISDP(
        c=[1.0, 0.0, 0.0],
        A=[[1.0, 1.0, -1.0], [0.0, 1.0, -1.0]],
        row_lower=[1.0, 0.0],
        row_upper=[np.inf, 0.0],
        lower=[0.0, -np.inf, -np.inf],
    )
    assert verdict(problem, optimal(problem, [1.0, 0.0, 0.0], rows=[1.0, -1.0])) == "verified"
    false = optimal(problem, [0.0, size, size])
    assert verdict(problem, false) != "verified"


def test_a_large_entry_does_not_widen_a_matrix() -> None:
    """[[t, s], [s, x]] with t <= 1e8 and s >= 1e3 needs x >= .01; the same in a cone."""
    F = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    problem = MISDP(
        c=[0.0, 0.0, 1.0],
        lower=[0.0, 1e3, 0.0],
        upper=[1e8, np.inf, np.inf],
        blocks=[SemidefiniteBlock(F)],
    )
    assert verdict(problem, optimal(problem, [1e8, 1e3, 0.0])) != "verified"
    cone = SecondOrderCone([[1.0, 0.0], [0.0, 1.0]], [1e9, 1e9 + 1.0])
    shifted = MISDP(c=[1.0, 0.0], lower=[-2.0, 0.0], upper=[5.0, 5.0], cones=[cone])
    assert verdict(shifted, optimal(shifted, [-2.0, 0.0])) != "verified"


# ---- big-M rows and integrality


def fixed_charge(M: float, cost: float = 0.0) -> MISDP:
    """Minimise x + cost y with y <= M x, y >= 1, x integer: the minimum is 1 + cost."""
    return MISDP(
        c=[1.0, cost],
        A=[[M, -1.0]],
        row_lower=[0.0],
        lower=[0.0, 1.0],
        upper=[10.0, np.inf],
        integer=[True, False],
    )


@pytest.mark.parametrize("cost", [0.0, 1.0])
@pytest.mark.parametrize("M", [1e3, 1e7, 1e9, 1e12])
def test_a_large_m_does_not_excuse_an_integer(M: float, cost: float) -> None:
    problem = fixed_charge(M, cost)
    assert verdict(problem, optimal(problem, [1.0, 1.0])) == "verified"
    for x in (0.0, 1.0 / M, 1e-7, 1e-8):
        assert verdict(problem, optimal(problem, [x, 1.0])) != "verified"
        # ... nor if the bound is stated as low as that.
        assert verdict(problem, optimal(problem, [x, 1.0], bound=cost)) != "verified"


@pytest.mark.parametrize("M", [1e7, 1e9])
def test_nor_does_it_through_a_continuous_variable(M: float) -> None:
    """y <= M z, z <= x: z = 0 or 1e-7 is within rounding of each row, x = 0 is not feasible."""
    problem = MISDP(
        c=[1.0, 0.0, 0.0],
        A=[[0.0, M, -1.0], [1.0, -1.0, 0.0]],
        row_lower=[0.0, 0.0],
        lower=[0.0, 0.0, 1.0],
        upper=[1.0, 1.0, np.inf],
        integer=[True, False, False],
    )
    assert verdict(problem, optimal(problem, [1.0, 1.0, 1.0])) == "verified"
    for z in (0.0, 1.0 / M):
        assert verdict(problem, optimal(problem, [0.0, z, 1.0])) != "verified"


@pytest.mark.parametrize("M", [1e7, 1e9])
def test_nor_does_it_in_a_matrix(M: float) -> None:
    """[[M k, 1], [1, 1]] needs k >= 1, also where an entry is continuous."""
    block = SemidefiniteBlock([[M], [0.0], [0.0]], [0.0, 1.0, 1.0])
    problem = MISDP(c=[1.0], lower=[0.0], upper=[5.0], integer=[True], blocks=[block])
    mixed = MISDP(
        c=[1.0, 0.0],
        lower=[0.0, 0.0],
        upper=[5.0, 1.0],
        integer=[True, False],
        blocks=[SemidefiniteBlock([[M, 0.0], [0.0, 0.0], [0.0, 1.0]], [0.0, 1.0, 0.0])],
    )
    for k in (0.0, 1.0 / M):
        assert verdict(problem, optimal(problem, [k])) != "verified"
        assert verdict(mixed, optimal(mixed, [k, 1.0])) != "verified"


@pytest.mark.parametrize("M", [1e7, 1e9, 1e11])
def test_a_problem_is_not_both_infeasible_and_solved(M: float) -> None:
    """M k = 1 has no integer solution."""
    problem = MISDP(
        c=[1.0],
        A=[[M]],
        row_lower=[1.0],
        row_upper=[1.0],
        lower=[-5.0],
        upper=[5.0],
        integer=[True],
    )
    infeasible = Result(status=Status.INFEASIBLE, certificate=leaf(problem, True))
    assert verdict(problem, infeasible) == "verified"
    for k in (0.0, 1.0 / M):
        assert verdict(problem, optimal(problem, [k])) != "verified"


@pytest.mark.parametrize("M", [1e7, 1e9, 1e12])
def test_a_large_coefficient_does_not_excuse_a_small_variable(M: float) -> None:
    """Minimise w >= M z where M z >= 1, as a row, a matrix or a cone: the minimum is 1."""
    row = {"A": [[1.0, -M]], "row_lower": [0.0], "lower": [0.0, 0.0]}
    for parts in (
        {"A": [[1.0, -M], [0.0, M]], "row_lower": [0.0, 1.0]},
        {"blocks": [SemidefiniteBlock([[0.0, M], [0.0, 0.0], [0.0, 0.0]], [0.0, 1.0, 1.0])]},
        {"cones": [SecondOrderCone([[0.0, M], [0.0, 0.0]], [0.0, 1.0])]},
    ):
        problem = MISDP(**{"c": [1.0, 0.0], **row, **parts})
        assert verdict(problem, optimal(problem, [0.0, 0.0])) != "verified"
        # The point is feasible; a bound needs other multipliers.
        good = Result(
            status=Status.FEASIBLE, limit=Limit.TIME, x=np.array([1.0, 1.0 / M]), objective=1.0
        )
        assert not check(problem, good).messages[0].startswith("x misses")


def test_what_a_matrix_absorbs_is_known_after_all_other_moves() -> None:
    """The largest X_01 of a matrix with a diagonal up to 1 is 1, not 0.

    The multiplier -1 of the 1 x 1 matrix X_01 would cancel its cost, and must be moved to 0.
    """
    matrix = SemidefiniteBlock(np.eye(3))
    single = SemidefiniteBlock([[0.0, 1.0, 0.0]])
    for blocks, psd in (
        ([matrix, single], [0.0, 0.0, 0.0, -1.0]),
        ([single, matrix], [-1.0, 0.0, 0.0, 0.0]),
    ):
        problem = MISDP(
            c=[0.0, -1.0, 0.0], upper=[1.0, np.inf, 1.0], lower=[0.0, -np.inf, 0.0], blocks=blocks
        )
        assert verdict(problem, optimal(problem, [1.0, 0.0, 1.0], psd=psd)) != "verified"
        best = optimal(problem, [1.0, 1.0, 1.0])
        assert verdict(problem, best) == "verified"


def test_rank_one_is_judged_by_the_eigenvalues() -> None:
    """diag(1, 1) is no matrix of rank one, however large a bound of an entry is."""
    F = np.eye(3)
    row = {"A": [[1.0, 0.0, 1.0]], "row_lower": [2.0], "row_upper": [2e6]}
    for F0 in ([0.0, 0.0, 0.0], [-2e6, 0.0, 0.0]):
        block = SemidefiniteBlock(F, F0, rank_one=True)
        problem = MISDP(c=[0.0, 0.0, 1.0], upper=[4e6, 2e6, 2e6], blocks=[block], **row)
        x = np.array([1.0, 0.0, 1.0]) - F0
        result = Result(
            status=Status.FEASIBLE, limit=Limit.TIME, x=x, objective=problem.objective(x)
        )
        assert verdict(problem, result) == "refuted"


# ---- rays and Farkas proofs up to rounding


def unbounded(x: Any, ray: Any) -> Result:
    arrays = {"x": np.array(x, dtype=float), "ray": np.array(ray, dtype=float)}
    return Result(status=Status.UNBOUNDED, certificate=Certificate("ray", arrays))


@pytest.mark.parametrize("M", [1e8, 1e9, 1e12])
def test_a_ray_must_have_exact_signs(M: float) -> None:
    """Maximise x with x <= M z, z <= 1: the maximum is M."""
    problem = MISDP(
        c=[1.0, 0.0],
        A=[[-1.0, M]],
        row_lower=[0.0],
        lower=[0.0, 0.0],
        upper=[np.inf, 1.0],
        sense="max",
    )
    for ray in ([1.0, 0.0], [1.0, 1.0 / M], [1.0, 1e-9]):
        assert verdict(problem, unbounded([0.0, 0.0], ray)) != "verified"
    false = optimal(problem, [M * (1.0 - 2.7e-8), 1.0], rows=[1.0])
    assert verdict(problem, false) != "verified"
    free = problem.with_changes(upper=[np.inf, np.inf])
    assert verdict(free, unbounded([0.0, 0.0], [M, 1.0])) == "verified"


@pytest.mark.parametrize("miss", [1e-8, 1e-12, 1e-15])
def test_a_ray_out_of_a_matrix_or_cone_by_rounding(miss: float) -> None:
    """The largest t with [[1, t], [t, m t + 1]] semidefinite, or |t| <= (1 - m) t + 1."""
    block = SemidefiniteBlock([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]], [0.0, 0.0, 0.0])
    problem = MISDP(c=[0.0, 1.0], blocks=[block], sense="max")
    assert verdict(problem, unbounded([0.0, 0.0], [1.0, 1.0])) == "verified"
    assert verdict(problem, unbounded([0.0, 0.0], [1.0, 1.0 + miss])) != "verified"
    cone = SecondOrderCone([[1.0, 0.0], [0.0, 1.0]])
    conic = MISDP(c=[0.0, 1.0], cones=[cone], sense="max")
    assert verdict(conic, unbounded([0.0, 0.0], [1.0, 1.0])) == "verified"
    assert verdict(conic, unbounded([0.0, 0.0], [1.0, 1.0 + miss])) != "verified"
    turned = MISDP(c=[0.0, 0.0, 1.0], cones=[SecondOrderCone(np.eye(3), rotated=True)], sense="max")
    assert verdict(turned, unbounded([0.0, 0.0, 0.0], [1.0, 2.0, 2.0])) == "verified"
    assert verdict(turned, unbounded([0.0, 0.0, 0.0], [1.0, 2.0, 2.0 + miss])) != "verified"


@pytest.mark.parametrize("rotated", [None, True])
@pytest.mark.parametrize("bend", [1e6, 2e7, 1e15])
def test_the_tolerance_of_a_point_lets_no_curve_out(bend: float, rotated: bool | None) -> None:
    """[[0, x], [x, y]] and x^2 <= 2 * 0 * y force x = 0; with 1e-7 on the diagonal x may grow."""
    part = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    kind = {"blocks": [SemidefiniteBlock(part)]}
    if rotated:
        kind = {"cones": [SecondOrderCone(part[[0, 2, 1]], rotated=True)]}
    problem = MISDP(c=[1.0, 0.0], sense="max", **kind)
    arrays = {"x": np.zeros(2), "ray": np.array([1.0, 0.0]), "bend": np.array([0.0, bend])}
    arrays["cross"] = np.array([0.0, 1.0, 0.0, 0.0])
    claim = Result(status=Status.UNBOUNDED, certificate=Certificate("curve", arrays))
    assert verdict(problem, claim) != "verified"


@pytest.mark.parametrize(("back", "expected"), [(1e-10, "unproven"), (0.01, "refuted")])
def test_a_curve_along_which_the_objective_turns_back(back: float, expected: str) -> None:
    """Maximise k - back t with k^2 <= t: 1 / (4 back), and no more."""
    square = SemidefiniteBlock([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, 0.0, 0.0])
    problem = MISDP(c=[1.0, 0.0], blocks=[square], sense="max")
    arrays = {"x": np.zeros(2), "ray": np.array([1.0, 0.0]), "bend": np.array([0.0, 1.0])}
    arrays["cross"] = np.array([0.0, 1.0, 0.0, 0.0])
    claim = Result(status=Status.UNBOUNDED, certificate=Certificate("curve", arrays))
    assert verdict(problem, claim) == "verified"
    assert verdict(problem.with_changes(c=[1.0, -back]), claim) == expected


@pytest.mark.parametrize("size", [1.0, 1e-6, 1e-8, 1e-12])
def test_a_ray_out_of_rank_one_in_small_units(size: float, tmp_path: Path) -> None:
    """The rank of [[x, 0], [0, s]] is one for x = 0 alone, in whatever units s is small."""
    block = SemidefiniteBlock([[1.0], [0.0], [0.0]], [0.0, 0.0, size], rank_one=True)
    problem = MISDP(c=[1.0], blocks=[block], sense="max")
    claim = unbounded([0.0], [1.0])
    assert verdict(problem, claim) == "refuted"
    files = tmp_path / "p.npz", tmp_path / "r.json"
    save(problem, files[0])
    save(claim.with_changes(problem=problem, kind=problem.kind), files[1])
    assert exact.check(*files)[0] != "proven"
    along = SemidefiniteBlock([[1.0], [0.0], [0.0]], [size, 0.0, 0.0], rank_one=True)
    problem = problem.with_changes(blocks=[along])
    assert verdict(problem, unbounded([0.0], [1.0])) == "verified"


@pytest.mark.parametrize("slope", [1e-8, 1e-9, 1e-12])
def test_a_small_reduced_cost_of_an_unbounded_variable_counts(slope: float) -> None:
    """x >= 1 and slope x <= 1.5e8 slope is feasible; a combination of the rows leaves slope x."""
    problem = MISDP(
        c=[0.0, 0.0],
        A=[[1.0, slope], [-1.0, 0.0]],
        row_lower=[1.0, 0.0],
        lower=[-np.inf, -np.inf],
    )
    assert problem.residuals(np.array([0.0, 1.0 / slope]))["rows"] < 1e-15
    assert ImpliedBounds(problem).tighten() is not None
    claim = Result(status=Status.INFEASIBLE, certificate=leaf(problem, True, rows=[1.0, 1.0]))
    assert verdict(problem, claim) != "verified"
    # As a cost: minimise y + slope x with y >= 0, where x has no end below.
    priced = MISDP(c=[1.0, slope], lower=[0.0, -np.inf], upper=[np.inf, 0.0])
    assert verdict(priced, optimal(priced, [0.0, 0.0])) != "verified"


@pytest.mark.parametrize("size", [1e8, 1e12, 1e16, 1e100])
def test_multipliers_that_cancel_hide_no_reduced_cost(size: float) -> None:
    """Equal rows with opposite multipliers: minimise -x with x = y, both free."""
    problem = MISDP(c=[-1.0, 0.0], A=[[1.0, -1.0]] * 2, row_lower=[0.0, 0.0], row_upper=[0.0, 0.0])
    assert verdict(problem, optimal(problem, [0.0, 0.0], rows=[size, -size])) != "verified"


@pytest.mark.thorough
def test_random_attacks_of_scale() -> None:
    """A knapsack of one integer beside variables that cancel: no false value is verified."""
    rng = np.random.default_rng(11)
    for _ in range(MANY):
        M = 10.0 ** rng.uniform(2.0, 13.0)
        need, cost = rng.uniform(0.5, 3.0, 2)
        problem = MISDP(
            c=[cost, 0.0, 1.0, -1.0],
            A=[[M, -1.0, 0.0, 0.0], [0.0, 0.0, 1.0, -1.0]],
            row_lower=[0.0, 0.0],
            row_upper=[np.inf, 0.0],
            lower=[0.0, need, -np.inf, -np.inf],
            upper=[10.0, np.inf, np.inf, np.inf],
            integer=[True, False, False, False],
        )
        rows = [0.0, 1.0]
        assert verdict(problem, optimal(problem, [1.0, need, 0.0, 0.0], rows=rows)) == "verified"
        far = 10.0 ** rng.uniform(3.0, 16.0)
        for x in ([0.0, need, far, far], [need / M, need, 0.0, 0.0], [0.0, need, far, far + cost]):
            false = optimal(problem, x, rows=rows)
            assert verdict(problem, false) != "verified"
            stated = false.with_changes(objective=0.0, bound=0.0)
            assert verdict(problem, stated) != "verified"


# ---- statements without proof


def test_an_objective_must_be_stated() -> None:
    problem = fixed_charge(10.0)
    good = optimal(problem, [1.0, 1.0])
    assert verdict(problem, good) == "verified"
    assert verdict(problem, good.with_changes(objective=None)) == "refuted"
    for gap in (1e-3, 1.0):
        wide = good.with_changes(bound=1.0 - gap)
        assert verdict(problem, wide) != "verified"
    loose = SolveParams(rel_gap=0.01)
    assert verdict(problem, good.with_changes(bound=0.995, params=loose)) == "verified"


# ---- merged variables


def two_sizes(second: float = 2.0, row: float = 1.0) -> MISDP:
    """Minimise x1 + second x2 with x1 + second x2 >= 1.5 as a matrix, and x1 + x2 <= row."""
    return MISDP(
        c=[1.0, second],
        A=[[1.0, 1.0]],
        row_upper=[row],
        lower=[0.0, 0.0],
        upper=[1.0, 1.0],
        integer=[True, True],
        blocks=[SemidefiniteBlock([[1.0, second]], [-1.5])],
    )


def merged(problem: MISDP, into: Any, times: Any, ends: Any, x: Any, bound: float) -> Result:
    """An answer by leaves over Y: the first has a matrix that proves 1.5, the others are empty."""
    L = len(ends)
    arrays = {
        "lower": np.array([[a] for a, _ in ends], dtype=float),
        "upper": np.array([[b] for _, b in ends], dtype=float),
        "rows": np.zeros((L, problem.A.shape[0])),
        "psd": np.array([[float(b < 1.5)] for _, b in ends]),
        "infeasible": np.array([b < 1.5 for _, b in ends]),
        "merged_into": np.array(into),
        "merged_times": np.array(times),
    }
    x = np.array(x, dtype=float)
    return Result(
        status=Status.OPTIMAL,
        x=x,
        objective=problem.objective(x),
        bound=bound,
        certificate=Certificate("misdp-leaves", arrays),
    )


def test_merged_variables_prove_what_is_true() -> None:
    true = merged(two_sizes(), [0, 0], [1, 2], [(-np.inf, 1), (2, np.inf)], [0.0, 1.0], 2.0)
    assert verdict(two_sizes(), true) == "verified"


@pytest.mark.parametrize(
    ("into", "times"),
    [
        ([0, 0], [1, 3]),
        ([0, 0], [1, 1]),
        ([0, 0], [1, 0]),
        ([0, 0], [-1, 2]),
        ([1, 1], [1, 2]),
        ([1, 0], [1, 1]),
        ([0, 2], [1, 2]),
        ([0], [1]),
        ([0, 0], [1.0, 2.0]),
        ([0, 0], [[1, 2]]),
    ],
)
def test_false_multiples_prove_nothing(into: Any, times: Any) -> None:
    false = merged(two_sizes(), into, times, [(-np.inf, 1), (2, np.inf)], [0.0, 1.0], 2.0)
    assert verdict(two_sizes(), false) != "verified"


@pytest.mark.parametrize("cost", [1.3, 1.25])
def test_rounded_multiples_of_an_unbounded_variable_prove_nothing(cost: float) -> None:
    """199 * 1.3 is rounded down, so that x1 = 1, x2 = 199 is a ray, where nothing is charged.

    Of 1.25 the multiple is exact, and the least cost is 0.
    """
    problem = MISDP(
        c=[cost, 199.0 * cost, -cost],
        A=[[1.0, 199.0, -1.0]],
        row_lower=[0.0],
        row_upper=[0.0],
        lower=[0.0] * 3,
        integer=[0, 1, 2],
    )
    claim = optimal(problem, [0.0, 0.0, 0.0], rows=[cost])
    assert claim.certificate is not None
    arrays = dict(claim.certificate.arrays)
    arrays |= {"lower": np.full((1, 2), -np.inf), "upper": np.full((1, 2), np.inf)}
    arrays |= {"merged_into": np.array([0, 0, 2]), "merged_times": np.array([1, 199, 1])}
    claim = claim.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert verdict(problem, claim) == ("verified" if cost == 1.25 else "refuted")


def test_columns_that_are_nearly_multiples_are_not_merged() -> None:
    """With 1.4 as the second size the optimum is 2.4, not 2."""
    problem = two_sizes(1.4, row=2.0)
    ends = [(-np.inf, 1), (2, np.inf)]
    for times in ([1, 1], [1, 2]):
        assert verdict(problem, merged(problem, [0, 0], times, ends, [1.0, 1.0], 2.0)) != "verified"


@pytest.mark.parametrize(
    ("row", "end", "expected"),
    [
        ([1.0, 1.0, 0.0], 1.0, "verified"),
        ([1.0, 1.0, -1.0], 1.0, "refuted"),
        ([1.0, 1.0, 0.0], 2.0, "refuted"),
        ([1.0, 1.0, 0.0], np.inf, "refuted"),
        ([1.0, 0.0, 0.0], 1.0, "refuted"),
    ],
)
def test_leaves_must_cover_what_rows_leave(row: Any, end: float, expected: str) -> None:
    """Minimise -Y, Y = x1 + 2 x2, all binary: -2 is a bound only if x1 + x2 <= 1."""
    problem = MISDP(
        c=[-1.0, -2.0, 0.0],
        A=[row],
        row_upper=[end],
        lower=np.zeros(3),
        upper=np.ones(3),
        integer=[True, True, True],
    )
    arrays = {
        "lower": np.array([[0.0, 0.0]]),
        "upper": np.array([[2.0, 1.0]]),
        "rows": np.zeros((1, 1)),
        "infeasible": np.array([False]),
        "merged_into": np.array([0, 0, 2]),
        "merged_times": np.array([1, 2, 1]),
    }
    result = Result(
        status=Status.OPTIMAL,
        x=np.array([0.0, 1.0, 0.0]),
        objective=-2.0,
        bound=-2.0,
        certificate=Certificate("misdp-leaves", arrays),
    )
    assert verdict(problem, result) == expected


# ---- costs that are multiples of a step


def stepped(costs: Any, integer: Any, offset: float = 0.0, sense: Any = "min") -> MISDP:
    """Minimise c'x with c'x >= 6.5 as a matrix; the negative of it for a maximum."""
    c = np.array(costs, dtype=float)
    k = len(c)
    return MISDP(
        c=c if sense == "min" else -c,
        lower=np.zeros(k),
        upper=np.full(k, 3.0),
        integer=integer,
        blocks=[SemidefiniteBlock([c], [-6.5])],
        sense=sense,
        offset=offset,
    )


@pytest.mark.parametrize("sense", ["min", "max"])
@pytest.mark.parametrize("offset", [0.0, 0.3, -1e6])
@pytest.mark.parametrize(
    ("costs", "x"), [([3.0, 6.0], [1.0, 1.0]), ([0.75, 3.0], [1.0, 2.0]), ([1.0], [7.0])]
)
def test_bounds_are_rounded_up_to_the_next_step(
    costs: Any, x: Any, offset: float, sense: Any
) -> None:
    problem = stepped(costs, [True] * len(costs), offset, sense)
    problem = problem.with_changes(upper=np.full(len(costs), 9.0))
    true = optimal(problem, x, psd=[1.0])
    assert verdict(problem, true) == "verified"
    assert true.bound is not None
    step = 1e-5 if sense == "min" else -1e-5
    false = true.with_changes(status=Status.FEASIBLE, limit=Limit.TIME, bound=true.bound + step)
    assert verdict(problem, false) == "refuted"


@pytest.mark.parametrize(
    ("costs", "integer", "x"),
    [
        ([3.0, 6.0, 1e-9], [True, True, False], [1.0, 1.0, 0.0]),
        ([3.0, 6.0], [True, False], [1.0, 1.0]),
        ([3.0, 3.5], [True, True], [1.0, 2.0]),
        ([3.0, 3.1], [True, True], [3.0, 0.0]),
        ([3.0, 6.0, 0.5 + 2.0**-30], [True, True, True], [1.0, 1.0, 0.0]),
    ],
)
def test_costs_without_a_step_are_not_rounded(costs: Any, integer: Any, x: Any) -> None:
    """Each has something better than x by a fraction of what the first costs have in common."""
    problem = stepped(costs, integer)
    assert verdict(problem, optimal(problem, x, psd=[1.0])) != "verified"


# ---- numbers of the standard form: a certificate may not choose its own


def conditional() -> tuple[MISDP, np.ndarray]:
    """The maximum of x + z in [-3, 3] where z = 1 implies x <= 1: 3, with z = 0."""
    indicator = IndicatorConstraint(0, [0.0, 1.0], upper=1.0)
    problem = MISDP(
        c=[1.0, 1.0],
        lower=[0.0, -3.0],
        upper=[1.0, 3.0],
        integer=[0],
        indicators=[indicator],
        sense="max",
    )
    return problem, np.array([0.0, 3.0])


@pytest.mark.parametrize(
    ("most", "said"), [(3.0 + 1e-10, "verified"), (1.5, "refuted"), (np.nan, "refuted")]
)
def test_an_indicator_with_too_small_a_row(most: float, said: str) -> None:
    # x + w z <= most with w = most - 1 and the multiplier 1 leaves the costs (1 - w) z.
    problem, x = conditional()
    result = optimal(problem, x, rows=[-1.0])
    bound = most if most > 3.0 else 2.0
    arrays = {
        **result.certificate.arrays,
        "indicator_least": np.array([-3.1]),
        "indicator_most": np.array([most]),
    }
    result = result.with_changes(
        certificate=Certificate("misdp-leaves", arrays), bound=bound, x=x if most > 3.0 else None
    )
    if not most > 3.0:
        result = result.with_changes(status=Status.NO_SOLUTION, limit=Limit.TIME, objective=None)
    assert verdict(problem, result) == said


def test_a_point_that_leaves_an_indicator() -> None:
    problem, _ = conditional()
    assert verdict(problem, optimal(problem, [1.0, 3.0])) == "refuted"


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("quadratic_factor", 1e-6),
        ("quadratic_costs", 1e-6),
        ("quadratic_costs", -1e-6),
        ("quadratic_shift", 1e-6),
        ("quadratic_factor", np.inf),
        ("quadratic_factor", None),
    ],
)
def test_a_factor_that_is_not_the_objective(name: str, change: float | None) -> None:
    problem = MISDP(c=[-1.0, 1.0], Q=[[2.0, 1.0], [1.0, 2.0]], lower=[-9.0, -9.0], integer=[0])
    result = solve(problem, backend="misdp-bnb")
    assert verdict(problem, result) == "verified"
    arrays = dict(result.certificate.arrays)
    if change is None:
        del arrays[name]
    else:
        arrays[name] = arrays[name] + change
    changed = result.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert verdict(problem, changed) != "verified"
    # Nor does a bound that is better than the optimum pass.
    better = result.with_changes(bound=result.bound + 1e-4)
    assert verdict(problem, better) != "verified"


# ---- evidence that would keep the checker busy


@pytest.mark.parametrize("depth", [4, 60])
def test_boxes_that_share_their_children_are_no_tree(depth: int) -> None:
    """Sixty nodes, each of which is both children of the one before: 2^60 ways to the last."""
    block = SemidefiniteBlock(np.eye(3), rank_one=True)
    problem = MISDP(c=[1.0, 0.0, 1.0], lower=[0.0, -1.0, 0.0], upper=[1.0] * 3, blocks=[block])
    one = leaf(problem).arrays
    below = np.arange(1, depth + 1)
    arrays = {
        "root_lower": np.full(3, -10.0),
        "root_upper": np.full(3, 10.0),
        "entry": np.append(np.zeros(depth, dtype=int), -1),
        "value": np.full(depth + 1, 0.5),
        "children": np.append(np.column_stack([below, below]), [[-1, -1]], axis=0),
        "owner": np.array([depth]),
        **{name: one[name] for name in ("lower", "upper", "psd", "infeasible")},
        "rows": np.zeros((1, 5)),
    }
    result = Result(
        status=Status.OPTIMAL,
        x=np.zeros(3),
        objective=0.0,
        bound=0.0,
        certificate=Certificate("rank-one-leaves", arrays),
    )
    report = check(problem, result)
    assert report.verdict == "refuted"
    assert "child of two" in report.messages[0]


def test_boxes_that_overlap_are_given_up(monkeypatch: Any) -> None:
    """Slabs in random pairs of directions, which no straight cut takes apart."""
    rng = np.random.default_rng(0)
    lower, upper = np.zeros((400, 40)), np.full((400, 40), 9.0)
    for a, b in zip(lower, upper, strict=True):
        some = rng.choice(40, 3, replace=False)
        a[some] = rng.integers(0, 6, 3)
        b[some] = a[some] + 4
    monkeypatch.setattr(boxes, "_WORK", boxes._WORK / 30.0)
    begin = time.process_time()
    with pytest.raises(TooMuchWork):
        uncovered(lower, upper, np.zeros(40), np.full(40, 9.0))
    assert time.process_time() - begin < 10.0


def test_leaves_are_counted(monkeypatch: Any) -> None:
    """The same leaf again and again, which takes little room in a file."""
    ends = {"lower": [0.0, 0.0], "upper": [4.0, 4.0], "integer": [0, 1]}
    problem = MISDP(c=[1.0, 1.1], A=[[1.0, 1.0]], row_lower=[1.0], **ends)
    one = leaf(problem, rows=[1.0]).arrays
    arrays = {name: np.repeat(array, 400, axis=0) for name, array in one.items()}
    result = optimal(problem, [1.0, 0.0])
    result = result.with_changes(certificate=Certificate("misdp-leaves", arrays))
    assert verdict(problem, result) == "verified"
    monkeypatch.setattr(verifier, "_WORK", 1e7)
    report = check(problem, result)
    assert (report.verdict, "too much work" in report.messages[0]) == ("unproven", True)


def test_boxes_of_ranks_are_counted(monkeypatch: Any) -> None:
    rng = np.random.default_rng(10)
    model = MISDPBuilder("min")
    X = model.matrix(3, rank_one=True)
    model.row((X, np.eye(3)), lower=1.0, upper=1.0)
    v = rng.normal(size=3)
    v /= np.linalg.norm(v)
    for _ in range(4):
        A = rng.normal(size=(3, 3))
        model.row((X, A + A.T), upper=2.0 * float(v @ A @ v) + 0.02)
    C = rng.normal(size=(3, 3))
    model.objective((X, C + C.T))
    problem = model.build()
    result = solve(problem, rel_gap=1e-2)
    assert (result.verdict, result.certificate.kind) == ("verified", "rank-one-leaves")
    monkeypatch.setattr(ranks, "_BOXES", 1)
    report = check(problem, result)
    assert (report.verdict, "too many to check" in report.messages[0]) == ("unproven", True)


# ---- products that leave the range of numbers


@pytest.mark.parametrize("size", [1e-110, 1e-170, 1e-200])
def test_products_of_small_entries_do_not_vanish(size: float) -> None:
    """X_12^2 = X_11 X_22 in units whose squares are zero in floating point."""
    block = SemidefiniteBlock(np.eye(3), rank_one=True)
    rules = RankBoxes(MISDP(c=[1.0, 0.0, 1.0], blocks=[block]))
    low, high = rules.tightened(np.array([0.0, -1.0, 0.0]), np.array([size, 1.0, size])) or [0, 0]
    assert size <= high[1] < 1.1 * size
    assert -1.1 * size < low[1] <= -size
    low, high = rules.tightened(np.array([size, 0.0, 0.0]), np.array([1.0, size, 1.0])) or [0, 0]
    assert size <= high[2] < 1.1 * size


@pytest.mark.parametrize("small", [1e-163, 1e-170])
def test_reduced_costs_do_not_vanish(small: float) -> None:
    """x_2 >= 1 - small^2 x_1, which x_1 without an end makes anything."""
    ends = {"lower": [0.0, 0.0], "upper": [np.inf, 1.0]}
    row = {"A": [[small, 1.0 / small]], "row_lower": [1.0 / small]}
    problem = MISDP(c=[0.0, 1.0], **ends, **row)
    assert verdict(problem, optimal(problem, [0.0, 1.0], rows=[small])) != "verified"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(3, [8, 16, 21, 34, 46, 53, 56, 64, 87]))
def test_no_bound_is_beyond_the_optimum_by_what_larger_costs_excuse(seed):
    """Entries of Q up to 700 beside optima near one; a gap of rel_gap is allowed on one side."""
    problem = draw_conditional(seed)
    sign = 1.0 if problem.sense == "min" else -1.0
    for rel_gap in (0.0, 1e-6):
        result = solve(problem, rel_gap=rel_gap)
        assert result.verdict.value == "verified"
        best = sign * max(sign * result.objective, sign * result.bound)
        scale = max(abs(best), np.abs(problem.c)[problem.c != 0.0].min())
        for share in (1e-8, 1e-7, 9e-7):
            false = result.with_changes(bound=best + sign * share * scale, trace=())
            assert check(problem, false).verdict.value != "verified"


@pytest.mark.parametrize("unit", [5e-324, 1e-320, 1e-300])
def test_products_that_vanish_cross_no_bounds(unit):
    """x = (1.4, 1.4, 1.4) is feasible; its products with the least number lose a quarter."""
    problem = MISDP(
        c=np.ones(3), A=[[unit] * 3], row_lower=[4.0 * unit], lower=np.zeros(3), upper=[1.4] * 3
    )
    arrays = {name: np.zeros((1, 0)) for name in ("lower", "upper")}
    arrays |= {"rows": np.zeros((1, 1)), "infeasible": np.ones(1, dtype=bool)}
    claim = Result(
        status=Status.INFEASIBLE,
        certificate=Certificate("misdp-leaves", arrays),
        kind=problem.kind,
        problem=problem,
    )
    assert check(problem, claim).verdict.value == "refuted"
