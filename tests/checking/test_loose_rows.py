"""Rows and bounds that nothing ever reaches excuse nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from random_attacks import random_problem, stated_point
from scipy.optimize import linprog
from second_opinion import second_opinion
from segment_attacks import ATTACKS, Editor, forgeries, restated
from thorough import first

import sparseopt
from sparseopt import Certificate, Status, Verdict
from sparseopt.checking import check
from sparseopt.problems import DantzigSelector, LADLasso, ParametricLP

LOOSE = (1e9, 1e12, 1e15)


def believed(tmp_path, problem, claim):
    """Return which of the two checkers believe a claim."""
    claim = claim.with_changes(problem=problem, kind=problem.kind, trace=())
    verified = check(problem, claim).verdict is Verdict.VERIFIED
    return verified, second_opinion(tmp_path, problem, claim)[0] == "proven"


def linear_program(loose, seed=0):
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0.2, 2.0, (3, 5)), rng.uniform(0.5, 2.0, 3)
    rates = np.append(b / 2.0, np.zeros(3))
    A, b = np.vstack([A, A]), np.append(b, loose * b)
    return ParametricLP(A, b, rates, rng.uniform(0.5, 1.0, 5), -rng.uniform(0.5, 1.0, 5))


def bounded(model, loose, lower=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    y = X @ [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=8)
    return model(X, y, bounds=(-lower * np.full(3, loose), np.full(3, loose)))


@pytest.mark.parametrize("loose", LOOSE)
def test_a_bound_beyond_the_optimum_beside_loose_rows(tmp_path, loose):
    problem = linear_program(loose)
    result = sparseopt.solve(problem, lam=0.3)
    assert believed(tmp_path, problem, result) == (True, True)
    for share in (1e-6, 1e-3, 0.1):
        false = result.with_changes(bound=result.bound * (1.0 - share))
        assert believed(tmp_path, problem, false) == (False, False)


@pytest.mark.parametrize("loose", LOOSE)
def test_a_negative_variable_of_a_loose_row(tmp_path, loose):
    problem = ParametricLP(np.eye(2), [1.0, loose], [0.0, 0.0], [1.0, -1.0], [0.0, 0.0])
    true = stated_point(problem, [1.0, 0.0], [1.0, 0.0], 1.0)
    assert believed(tmp_path, problem, true) == (True, True)
    low = -loose / 10**15
    for off in (low, 5.0 * low):
        false = stated_point(problem, [1.0, off], [1.0, 0.0], 1.0 - off)
        assert believed(tmp_path, problem, false) == (False, False)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", LOOSE)
@pytest.mark.parametrize("lower", (0.0, 1.0))
@pytest.mark.parametrize("model", (DantzigSelector, LADLasso))
def test_false_numbers_beside_loose_bounds(tmp_path, model, lower, loose):
    problem = bounded(model, loose, lower)
    result = sparseopt.solve(problem, lam=1.0)
    assert believed(tmp_path, problem, result) == (True, True)
    for share in (1e-6, 1e-3, 10.0):
        false = result.with_changes(objective=result.objective * (1.0 - share))
        assert believed(tmp_path, problem, false) == (False, False)
        false = result.with_changes(bound=result.bound * (1.0 + share))
        assert believed(tmp_path, problem, false) == (False, False)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", LOOSE)
@pytest.mark.parametrize("model", (DantzigSelector, LADLasso))
def test_paths_within_loose_bounds_are_those_without(tmp_path, model, loose):
    free, problem = bounded(model, np.inf), bounded(model, loose)
    one, two = sparseopt.solve(free), sparseopt.solve(problem)
    assert believed(tmp_path, problem, two) == (True, True)
    assert np.array_equal(one.path.low, two.path.low)
    np.testing.assert_allclose(one.path.objective, two.path.objective, rtol=1e-9, atol=1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", LOOSE)
@pytest.mark.parametrize("count", [10, 100])
def test_points_beside_loose_rows_alone(tmp_path, count, loose):
    """All right-hand sides but one are what nothing reaches: more than three quarters of them."""
    b, c = np.full(count, loose), np.full(count, -1.0)
    b[0] = c[0] = 1.0
    problem = ParametricLP(np.eye(count), b, np.zeros(count), c, np.zeros(count))
    first = np.eye(count)[0]
    assert believed(tmp_path, problem, stated_point(problem, first, first, 1.0)) == (True, True)
    for off in (1e-6, 1e-3, 0.1, 0.5):
        x = first - off * np.eye(count)[1]
        claim = stated_point(problem, x, first, 1.0 + off)
        assert believed(tmp_path, problem, claim) == (False, False)


def mostly_loose(loose, more):
    rng = np.random.default_rng(0)
    A, b = rng.uniform(0.2, 2.0, (3, 5)), rng.uniform(0.5, 2.0, 3)
    rates = np.append(b / 2.0, np.zeros(3 * more))
    A, b = np.vstack([A] * (more + 1)), np.append(b, np.tile(loose * b, more))
    return ParametricLP(A, b, rates, rng.uniform(0.5, 1.0, 5), -rng.uniform(0.5, 1.0, 5))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", LOOSE)
@pytest.mark.parametrize("more", [9, 99])
def test_a_bound_beyond_the_optimum_beside_loose_rows_alone(tmp_path, more, loose):
    problem = mostly_loose(loose, more)
    result = sparseopt.solve(problem, lam=0.3)
    assert believed(tmp_path, problem, result) == (True, True)
    for share in (1e-6, 1e-3, 0.1):
        false = result.with_changes(bound=result.bound * (1.0 - share))
        assert believed(tmp_path, problem, false) == (False, False)


@pytest.mark.thorough
@pytest.mark.parametrize("loose", first(1, LOOSE[::-1]))
def test_false_numbers_of_a_path_beside_loose_rows_alone(tmp_path, loose):
    problem = mostly_loose(loose, 9)
    result = sparseopt.solve(problem, lam_min=0.1)
    assert believed(tmp_path, problem, result) == (True, True)
    for share in (1e-6, 1e-3, 0.1, 0.5):
        objective = result.path.objective.copy()
        objective[len(objective) // 2] *= 1.0 + share
        path = replace(result.path, objective=objective)
        for false in (
            result.with_changes(path=path),
            result.with_changes(bound=result.bound * (1.0 - share)),
        ):
            assert believed(tmp_path, problem, false) == (False, False)


@pytest.mark.parametrize("loose", first(1, LOOSE[::-1]))
def test_false_values_of_a_grid_beside_loose_rows_alone(tmp_path, loose):
    problem = mostly_loose(loose, 9)
    result = sparseopt.solve(problem, lam=(0.9, 0.5, 0.2))
    assert believed(tmp_path, problem, result) == (True, True)
    for share in (1e-6, 1e-3, 0.1, 0.5):
        for name in ("values", "bounds"):
            numbers = getattr(result.path, name) * [1.0, 1.0 - share, 1.0]
            false = result.with_changes(path=replace(result.path, **{name: numbers}))
            assert believed(tmp_path, problem, false) == (False, False)


def test_a_proof_of_infeasibility_beside_bounds_that_nothing_reaches(tmp_path):
    """Rounding errors of A'nu times such bounds are far above the sum; exactly it is negative."""
    problem, question = random_problem(np.random.default_rng([77, 131]))
    assert problem.kind == "dantzig-selector" and np.abs(problem.bounds).max() > 1e14
    result = sparseopt.solve(problem, **question)
    assert result.status is Status.INFEASIBLE
    assert believed(tmp_path, problem, result)[0]
    nu = result.certificate.arrays["nu"]
    for moved in (1e-15, 1e-12, 1e-9, 1e-3):
        # off by more than rounding, the bounds make of it what is not negative
        false = Certificate("farkas", {"nu": nu * (1.0 + moved * np.arange(4.0))})
        assert believed(tmp_path, problem, result.with_changes(certificate=false))[0] == (
            moved == 1e-15
        )


@pytest.mark.parametrize("seed", [396, 463, 1774, 2746, 11854, 12127])
def test_boxes_that_nothing_reaches_leave_no_path_imprecise(seed):
    """Ends of selectors without a feasible point below, and residuals with boxes of 1e9 to 1e15."""
    problem, question = random_problem(np.random.default_rng([99, seed]))
    result = sparseopt.solve(problem, **question)
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", [1e6, *LOOSE])
def test_a_far_bound_excuses_no_point_beyond_the_near_one(tmp_path, loose):
    """The optimum has variable 0 at its bound 0; without that bound it is at -1, and better."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 3))
    y = X @ [-1.0, 2.0, 0.0] + 0.1 * rng.normal(size=30)
    problem = LADLasso(X, y, bounds=(np.zeros(3), np.full(3, loose)))
    result, free = sparseopt.solve(problem, lam=1.0), sparseopt.solve(LADLasso(X, y), lam=1.0)
    assert believed(tmp_path, problem, result) == (True, True)
    assert free.objective < 0.5 * result.objective and free.x[0] < -0.5
    for share in (1.0, 1e-4):
        x = np.append(share * free.x[:1], result.x[1:])
        value = problem.objective(x, 1.0)
        parts = {"x": x, "objective": value, "duals": free.duals, "certificate": free.certificate}
        false = result.with_changes(**parts, bound=value)
        assert check(problem, false).verdict is Verdict.REFUTED
        assert not any(believed(tmp_path, problem, false))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("loose", [1e6, *LOOSE])
def test_a_far_bound_excuses_no_segment_beyond_the_near_one(tmp_path, loose):
    """The first coefficient enters at the knot, and is of the other sign above it."""
    problem = bounded(DantzigSelector, loose)
    result = sparseopt.solve(problem)
    assert believed(tmp_path, problem, result) == (True, True)

    def higher(editor, segments, rng):
        one, two = segments[:2]
        knot = 1.3 * one.low
        return [one.part(knot, one.high), two.part(one.low, knot), *segments[1:]]

    ((_, false), *_) = forgeries(problem, result, np.random.default_rng(0), {"higher": higher})
    assert check(problem, false).verdict is Verdict.REFUTED
    assert not any(believed(tmp_path, problem, false))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [179, 330, 336, 371])
def test_no_vertex_beside_loose_rows_alone_is_believed(seed):
    """Nine rows of ten are out of reach, and say nothing of the sizes of the others."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 9)), int(rng.integers(4, 20))
    A, b = rng.uniform(0.2, 2.0, (n, p)), rng.uniform(0.5, 2.0, n)
    rates = np.append(b / 2.0, np.zeros(9 * n))
    b = np.append(b, np.tile(10.0 ** rng.uniform(14.0, 15.5) * b, 9))
    costs = rng.normal(size=p), -rng.uniform(0.5, 1.0, p)
    problem = ParametricLP(np.vstack([A] * 10), b, rates, *costs)
    result = sparseopt.solve(problem, max_knots=15)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    attacks = {name: ATTACKS[name] for name in ("another vertex", "stretched segments")}
    claims = list(forgeries(problem, result, rng, attacks))
    assert claims
    for _, claim in claims:
        assert check(problem, claim).verdict is not Verdict.VERIFIED


def with_a_far_range(seed):
    """Half of the rows are reached at lam near 1e12 only."""
    rng = np.random.default_rng(seed)
    A, b = rng.uniform(0.2, 2.0, (4, 8)), rng.uniform(0.5, 2.0, 4)
    rates = np.append(b * rng.uniform(size=4), np.zeros(4))
    costs = rng.uniform(0.2, 1.0, 8), np.zeros(8)
    return ParametricLP(np.vstack([A, A]), np.append(b, 1e12 * b), rates, *costs)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [9, 12, 29, 41])
def test_what_is_little_at_a_far_lam_is_not_lost_near_zero(seed):
    """In double precision knots at lam of 1 to 40 are rounding errors of those at 1e12."""
    problem = with_a_far_range(seed)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    for lam in (0.5, 5.0, 100.0):
        within = (problem.b + lam * problem.b_bar)[:4]  # HiGHS is wrong beside the loose ones
        one = linprog(-problem.c, A_ub=problem.A[:4], b_ub=within, bounds=(0.0, None))
        value = problem.objective(result.path.at(lam), lam)
        assert value == pytest.approx(-one.fun, rel=1e-12)


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("seed", [1, 10, 18])
def test_no_number_is_hidden_by_the_far_end_of_a_segment(tmp_path, seed):
    """x_j = -0.5 at lam = 2 is false, whatever the others come to at the segment's end of 1e12."""
    problem = with_a_far_range(seed)
    result = sparseopt.solve(problem)
    assert believed(tmp_path, problem, result)[0]
    editor = Editor(problem.canonical(), problem.canonical_sign)
    segments = editor.read(result.path, result.certificate)
    (at,) = (s for s, one in enumerate(segments) if 0.0 < one.low < 10.0 and one.high > 1e10)
    segments[at].theta[0, np.flatnonzero(segments[at].theta[0] == 0.0)[0]] = -0.5
    false = restated(result, *editor.write(result.path, result.certificate, segments))
    assert min(false.path.at(1.01 * segments[at].low)) < -0.4
    assert not any(believed(tmp_path, problem, false))
