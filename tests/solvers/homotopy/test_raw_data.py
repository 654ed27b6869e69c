"""Paths on data as people have them (:mod:`raw_data`): verified, whatever the units."""

from dataclasses import replace
from fractions import Fraction
from functools import partial
from itertools import count

import numpy as np
import pytest
import random_models
import raw_data
from sklearn.datasets import load_breast_cancer, load_diabetes
from thorough import first

import sparseopt
from sparseopt import generators
from sparseopt.compiling import Mode, override
from sparseopt.problems import CLIME, L1SVM, LPD, DantzigSelector, LADLasso, QuantileLasso
from sparseopt.result import Status, Verdict
from sparseopt.solvers.homotopy.runs import columns
from sparseopt.solvers.homotopy.runs import solve as one_solve
from sparseopt.solvers.homotopy.settings import DOUBTFUL

REGULAR = 1e10
"""Condition number of columns, in units of their own, up to which a path is to be verified."""


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", first(1, range(6, 10)))
@pytest.mark.parametrize("kind", first(2, raw_data.KINDS))
@pytest.mark.parametrize("model", raw_data.MODELS)
def test_paths_of_raw_data_are_verified(model, kind, seed):
    problem, columns = raw_data.case(model, kind, seed)
    outcome, why = raw_data.outcome(problem, seconds=100.0)
    assert outcome not in ("refuted", "failed"), why
    if raw_data.condition(columns) <= REGULAR:
        assert outcome == "verified", why


def test_an_offset_costs_no_digits_of_the_gram_matrix():
    """With a mean of 1e4 standard deviations X'X has a condition number of 1e16."""
    rng = np.random.default_rng(0)
    X = 1e4 + rng.normal(size=(40, 6))
    y = X @ [1.0, -1.0, 0.0, 0.0, 2.0, 0.0] + rng.normal(size=40)
    result = sparseopt.solve(DantzigSelector(X, y))
    assert result.verdict.value == "verified", result.check_messages
    least_squares = np.linalg.lstsq(X, y, rcond=None)[0]
    assert np.allclose(result.x, least_squares, rtol=0.0, atol=1e-6)
    assert any("ill-conditioned" in note for note in result.notes)


def test_bounds_cost_no_digits_either():
    """Paths in 106 bits were solved anew in double precision where variables have bounds."""
    problem, X = raw_data.case("far-bounds", "offset", 500_001)
    result = sparseopt.solve(problem)
    assert result.verdict.value == "verified", result.check_messages
    rows = [[Fraction(float(x)) for x in row] for row in X]
    C, R = [1, 3], [0, 1]  # free variables and tight rows of segment 2; the others are 0
    gram = [[sum(row[i] * row[j] for row in rows) for j in C] for i in R]
    program, lam = problem.canonical(), Fraction(float(result.path.low[2]))
    codes = result.certificate.arrays["codes"].astype(int)
    ptr = result.certificate.arrays["change_ptr"]
    changed = slice(0, ptr[3])
    codes[result.certificate.arrays["changed"][changed]] = result.certificate.arrays["change_code"][
        changed
    ]
    kinks = program.psi.ptr[R] + codes[4 + np.array(R)] // 2
    t = [
        Fraction(float(kink)) + lam * Fraction(float(rate))
        for kink, rate in zip(program.psi.kink[kinks], program.psi.kink_rate[kinks], strict=True)
    ]
    det = gram[0][0] * gram[1][1] - gram[0][1] * gram[1][0]
    exact = [
        float((t[0] * gram[1][1] - t[1] * gram[0][1]) / det),
        float((t[1] * gram[0][0] - t[0] * gram[1][0]) / det),
    ]
    found = result.path.at(float(result.path.low[2]))
    assert np.allclose(found[C], exact, rtol=1e-12, atol=0.0)
    assert result.path.objective_at(float(result.path.low[2])) == pytest.approx(
        sum(map(abs, exact)), rel=1e-12
    )


def test_the_end_of_a_path_on_tiny_data_is_proven_beside_bounds_out_of_reach():
    """Rates counted at lam = 1, where the path ends at 1e-19: rounding errors passed for small."""
    problem, _ = raw_data.case("far-bounds", "tiny", 500_000)
    result = sparseopt.solve(problem)
    assert result.path.stopped_by == "infeasible_below"
    assert result.verdict.value == "verified", result.check_messages


@pytest.mark.thorough
def test_a_jump_of_a_coefficient_in_small_units_is_no_rounding_error():
    """Beside another of 2e5 one of 8e-7 was taken for the 0 that it jumps to."""
    problem, X = raw_data.case("far-bounds", "units", 600_106)
    result = sparseopt.solve(problem)
    assert result.verdict.value == "verified", result.check_messages
    jumps = np.abs(result.path.at(float(result.path.low[18])))[:8] * np.abs(X).max(axis=0)
    assert jumps[4] > 0.01


@pytest.mark.parametrize("lam", [1.191979850532632, [5.0, 1.191979850532632]])
def test_bounds_that_are_far_in_the_unit_of_their_column_are_loose(lam):
    """Rounding of a multiplier times a bound of 6e9 units made a gap of 2e-5."""
    problem, _ = raw_data.case("far-bounds", "years", 900_000)
    result = sparseopt.solve(problem, lam=lam)
    assert result.status == "optimal" and result.verdict == "verified", result.check_messages


@pytest.mark.parametrize(("kind", "seed"), [("units", 900_001), ("offset", 900_002)])
def test_paths_that_end_at_a_knot_of_steep_rates_end_above_it(kind, seed):
    """The last knot as a double was below itself: coefficients had changed their signs there."""
    problem, _ = raw_data.case("clime", kind, seed)
    for limit in ({"max_knots": 3}, {"max_nonzeros": 2}):
        result = sparseopt.solve(problem, **limit)
        assert result.verdict.value == "verified", result.check_messages


def test_solutions_that_the_last_digits_of_the_data_decide_are_noted():
    """S is singular up to its last bits: below lam = 1.07 its solutions have entries of 1e16."""
    result = sparseopt.solve(random_models.case("lpd", 77))
    notes = [note for note in result.notes if "last digits of the data" in note]
    assert len(notes) == 1
    assert "lam = 1.07117 " in notes[0]
    assert np.abs(result.path.at(1.0712)).max() < 100.0
    assert np.abs(result.path.at(1.0)).max() > 1e15
    singular = LPD(np.ones((2, 2)), np.array([1.0, 1.0 + 1e-6]))
    usual = sparseopt.solve(singular)
    assert not any("last digits" in note for note in usual.notes)


def test_columns_of_a_covariance_without_centring_end():
    """Pivots on rounding errors went round in circles, without end."""
    rng = np.random.default_rng(12)
    X = 1e4 + rng.normal(size=(17, 7))
    S = X.T @ X / 17
    result = sparseopt.solve(CLIME(S), time_limit=60.0)
    assert result.limit is None
    assert result.verdict.value == "verified", result.check_messages


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("asked", [0, 5, 100, 200])
def test_columns_that_the_clock_stops_in_106_bits_are_shorter_and_right(monkeypatch, asked):
    """Those that were not reached kept what double precision had found, and were refuted."""
    problem, _ = raw_data.case("clime", "polynomial", 6)
    questions, whole = count(), columns.follow_precisely

    def stopped(*args, **options):
        def stop():
            return "time" if next(questions) >= asked else None

        return whole(*args, **options | {"stop": stop})

    monkeypatch.setattr(columns, "follow_precisely", stopped)
    result = sparseopt.solve(problem, backend="homotopy")
    assert result.status is Status.FEASIBLE
    assert result.verdict is Verdict.VERIFIED, result.check_messages


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seconds", [0.1, 0.4])
def test_nor_does_a_clock_of_seconds_leave_any_that_is_wrong(seconds):
    """At the very end of the path rounded coefficients may be feasible up to cancellation only."""
    problem, _ = raw_data.case("clime", "polynomial", 6)
    result = sparseopt.solve(problem, time_limit=seconds, backend="homotopy")
    assert result.verdict is not Verdict.REFUTED, result.check_messages
    if result.path is not None:
        assert any("and all others: optimal" in message for message in result.check_messages)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("model", "seed"),
    [("lad-lasso", 820636), ("quantile-lasso", 820847), ("quantile-lasso", 820227)],
)
def test_rounding_at_the_very_end_is_no_event(model, seed):
    """Products of values that are rounding themselves ended paths at lam = 1e-17, unbounded."""
    for _ in range(2):
        assert list(random_models.complaints(model, seed)) == []


@pytest.mark.thorough
def test_a_walk_of_many_pivots_that_lost_digits_is_walked_again():
    problem = generators.generate("differential-network-4.4", seed=1921, n=30, d=5, sparsity=0.2)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert any("106 bits" in note for note in result.notes)


@pytest.mark.parametrize("mode", [Mode.NOW, pytest.param(Mode.NEVER, marks=pytest.mark.thorough)])
def test_what_is_walked_again_does_not_depend_on_how_often_a_rough_walk_pivots(mode):
    """The rough walk makes 379 pivots or, compiled, 384; the precise one makes 113."""
    problem = generators.generate("differential-network-4.4", seed=4135, n=30, d=5, sparsity=0.2)
    with override(mode):
        result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert len(result.path) == 114


def test_a_path_in_doubt_that_takes_too_many_pivots_is_kept_as_it_was(monkeypatch):
    """A part of the path in 106 bits does not take the place of a whole."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 8))
    problem = DantzigSelector(X, X[:, 0] - X[:, 1] + rng.normal(size=30))
    plain, follow, whole = sparseopt.solve(problem), one_solve.follow, one_solve.follow_precisely
    walks = []

    def precisely(*args, **options):
        walks.append(whole(*args, **options | {"max_pivots": 5}))
        return walks[-1]

    # whether a walk is in doubt by itself depends on the last digits of a machine's products
    def doubtful(*args, **options):
        return replace(follow(*args, **options), doubt=10.0 * DOUBTFUL)

    monkeypatch.setattr(one_solve, "follow", doubtful)
    monkeypatch.setattr(one_solve, "follow_precisely", precisely)
    result = sparseopt.solve(problem, check=False)
    assert [len(walk.segments) > 0 for walk in walks] == [True]
    assert len(plain.path) > len(walks[0].segments)
    assert result.status is Status.OPTIMAL
    assert np.array_equal(result.path.low, plain.path.low)
    assert any("digits may be lost" in note for note in result.notes)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "case",
    [
        ("differential-network", "units", 100008),
        ("parametric-lp", "tiny", 100039),
        ("quantile-lasso", "dummies", 320028),
    ],
)
def test_rare_paths_are_verified(case):
    """Of 33,600 paths these were unproven.

    The first one lost all digits of a row whose terms cancel. At the first knot of the second one,
    which is rounded, multipliers of zero are not optimal, and others must be as small as rounding.
    In the third one groups of tau n observations let rows at ends of their slopes give way.
    """
    outcome, why = raw_data.outcome(raw_data.case(*case)[0], seconds=100.0)
    assert outcome == "verified", why


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize(
    ("case", "expected"),
    [
        (("differential-network", "offset", 410058), {"short", "unproven"}),
        (("matrix-dantzig", "offset", 480022), {"short"}),
        (("differential-network", "units", 480053), {"verified"}),
    ],
)
def test_a_walk_that_lost_its_digits_is_not_kept(case, expected):
    """Of 105,600 paths these were refuted.

    Of the first two double precision has no digits left, but it came further down, or had a proof
    that the end is one. Products that a processor rounds in another way make other data of the
    first, whose end is in doubt. In the third a coefficient was put on its kink at the end, which a
    row with a coefficient of 1e12 notices.
    """
    outcome, why = raw_data.outcome(raw_data.case(*case)[0], seconds=100.0)
    assert outcome in expected, why


def test_an_end_that_only_rounding_proves_is_not_verified():
    """Written in decimals the data have the least loss 2; as numbers of 53 bits they have 0.

    Along one direction all margins grow, that of observation 23 by 5.6e-17 a step.
    """
    problem, _ = raw_data.case("l1-svm", "rounded", 100011)
    result = sparseopt.solve(problem, backend="homotopy")
    assert result.verdict is Verdict.UNPROVEN
    assert result.objective == pytest.approx(2.0)
    A = [[Fraction(entry) for entry in row] for row in problem.canonical().A.as_array().tolist()]
    (a, b, c), (d, e, f) = A[16], A[17]
    step = b * f - c * e, c * d - a * f, a * e - b * d
    margins = [-sum(x * y for x, y in zip(row, step, strict=True)) for row in A]
    assert min(margins) == margins[16] == margins[17] == 0
    start = [Fraction(value) for value in result.x.tolist()]
    now = [sum(x * y for x, y in zip(row, start, strict=True)) for row in A]
    far = max((1 - z) / w for z, w in zip(now, margins, strict=True) if w)
    losses = [max(1 - z - far * w, 0) for z, w in zip(now, margins, strict=True)]
    assert float(sum(losses)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("unit", [1e-12, 1e-10, 1e12])
@pytest.mark.parametrize("model", [LADLasso, partial(QuantileLasso, tau=0.25)])
def test_responses_in_any_unit(model, unit):
    """Kinks of 1e-10 beside slopes of 1 were taken for 0: paths were imprecise."""
    X, y = load_diabetes(scaled=False, return_X_y=True)
    results = [sparseopt.solve(model(X, factor * y, fit_intercept=True)) for factor in (1.0, unit)]
    assert [result.verdict.value for result in results] == ["verified", "verified"]
    lam = 0.1 * results[0].path.knots[0]
    one, other = (result.path.at(lam) for result in results)
    np.testing.assert_allclose(other, unit * one, rtol=1e-6, atol=1e-9 * unit)


def test_one_column_in_a_far_unit():
    data = load_breast_cancer()
    X, y = data.data[:, :8] * np.where(np.arange(8) == 3, 2.0**20, 1.0), 2.0 * data.target - 1.0
    result = sparseopt.solve(L1SVM(X, y, weights=X.std(axis=0)), lam_min=1.0)
    assert (result.status.value, result.verdict.value) == ("optimal", "verified")
