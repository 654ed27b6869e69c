"""Paths without an optimum, with one at a single lam, and what is claimed of them falsely.

Of the homotopy, and of the ranging by HiGHS.
"""

import numpy as np
import pytest
from second_opinion import second_opinion
from thorough import first
from whole_number_lps import draw_whole, expected_status

import sparseopt
from sparseopt import Certificate, Result, SolveParams, Status, Verdict
from sparseopt.problems import CLIME, CompressedSensing, ParametricLP

FORMS = pytest.mark.parametrize("form", ["inequality", "equality"])
FEASIBLE_BELOW = ParametricLP(
    [[1.0, 0.0], [0.0, -1.0]], [1.0, 0.0], [-2.0, 0.0], [1.0, -1.0], [0.0, 1.0]
)
"""x <= 1 - 2 lam, and y, which earns lam - 1, may grow: feasible up to 1/2, bounded up to 1."""
BY_RAY = ParametricLP([[1.0, 0.0]], [1.0], [-2.0], [1.0, 1.0], [0.0, 0.0])
"""x <= 1 - 2 lam, and y earns 1 always: unbounded up to lam = 1/2, infeasible above."""
BETWEEN = ParametricLP([[1.0, 0.0]], [2.0], [-1.0], [1.0, 1.0], [0.0, -1.0])
"""x <= 2 - lam, and y earns 1 - lam: unbounded below 1, infeasible above 2."""
APART = ParametricLP([[1.0, 0.0]], [1.0], [-1.0], [1.0, 2.0], [0.0, -1.0])
"""x <= 1 - lam, and y earns 2 - lam: infeasible above 1, unbounded below 2."""
ONE_LAM = ParametricLP([[1.0], [1.0]], [0.0, 1.0], [1.0, 0.0], [1.0], [0.0], form="equality")
"""x = lam = 1."""


@FORMS
@pytest.mark.parametrize("seed", first(1, range(40)))
def test_statuses_are_those_of_linear_programs_over_lam(form, seed):
    for i in range(20):
        problem = draw_whole(np.random.default_rng([seed, i]), form)
        result = sparseopt.solve(problem, backend="homotopy")
        assert (result.status.value, result.verdict.value) == (
            expected_status(problem),
            "verified",
        ), (i, result.check_messages)


@FORMS
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_the_path_by_ranging_has_the_same_status(form, seed):
    verdicts = []
    for i in range(20):
        problem = draw_whole(np.random.default_rng([seed, i]), form)
        result = sparseopt.solve(problem, backend="highs")
        assert result.status.value == expected_status(problem), (i, result.check_messages)
        verdicts.append(result.verdict)
    # Rates of rays that are zero up to rounding, and ends that are, are proven by the homotopy.
    assert Verdict.REFUTED not in verdicts
    assert verdicts.count(Verdict.VERIFIED) >= 18


def test_rays_and_farkas_multipliers_share_a_range(tmp_path):
    for problem, names in (
        (BY_RAY, {"ray", "x", "farkas_above"}),
        (APART, {"ray", "x", "farkas_above"}),
    ):
        result = sparseopt.solve(problem, backend="homotopy")
        assert (result.status, result.verdict) == (Status.UNBOUNDED, Verdict.VERIFIED)
        assert set(result.certificate.arrays) == names
        assert "no optimum at any lam >= 0" in result.check_messages
        assert proven_exactly(problem, result, tmp_path)
    arrays = sparseopt.solve(APART, backend="homotopy").certificate.arrays
    for gone in ("farkas_above",):
        left = {name: array for name, array in arrays.items() if name != gone}
        assert sparseopt.check(APART, unbounded(APART, left, 0.5)).verdict is Verdict.UNPROVEN


def test_an_optimum_at_one_lam_alone_is_found(tmp_path):
    result = sparseopt.solve(ONE_LAM, backend="homotopy")
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.path.low.tolist() == result.path.high.tolist() == [1.0]
    assert result.x.tolist() == [1.0]
    at = sparseopt.solve(ONE_LAM, backend="highs", lam=1.0)
    assert at.objective == pytest.approx(result.objective)


def test_a_range_with_an_optimum_is_never_without(tmp_path):
    true = sparseopt.solve(BETWEEN, backend="homotopy")
    assert true.status is Status.OPTIMAL
    assert [true.path.low[-1], true.path.high[0]] == pytest.approx([1.0, 2.0])
    ray, farkas = np.array([0.0, 1.0]), true.certificate.arrays["farkas_above"]
    for x, lam in ((np.zeros(2), 0.0), (np.zeros(2), 0.5)):
        for more in ({"farkas_above": farkas}, {"farkas": farkas}, {"ray_above": ray}, {}):
            for scale in (1.0, 1.0 + 1e-9, 1e9):
                more = {name: scale * array for name, array in more.items()}
                false = unbounded(BETWEEN, {"ray": ray, "x": x, **more}, lam)
                assert sparseopt.check(BETWEEN, false).verdict is not Verdict.VERIFIED
                assert not proven_exactly(BETWEEN, false, tmp_path)


@FORMS
@pytest.mark.parametrize("count", first(1, [12, 60]))
def test_no_random_problem_with_an_optimum_is_said_to_have_none(form, count, tmp_path):
    rng, tried = np.random.default_rng(3), 0
    for _ in range(count):
        problem = draw_whole(rng, form)
        result = sparseopt.solve(problem, backend="homotopy")
        if result.status is not Status.OPTIMAL:
            continue
        ends = {
            name: array
            for name, array in result.certificate.arrays.items()
            if name.startswith(("ray", "farkas"))
        }
        rays = [array for name, array in ends.items() if name.startswith("ray")]
        for ray in (*rays, np.ones(problem.A.shape[1])):
            for lam in (0.0, float(result.path.low[-1]), 2.0 * float(result.path.low[-1]) + 1.0):
                tried += 1
                false = unbounded(problem, {**ends, "ray": ray, "x": result.x}, lam)
                assert sparseopt.check(problem, false).verdict is not Verdict.VERIFIED
                assert not proven_exactly(problem, false, tmp_path)
    assert tried >= count


def test_rays_of_thirds_are_stated_in_whole_numbers():
    """2/6 + 4/6 - 1 was -1e-16, which times lam is more than all costs."""
    problem = ParametricLP(
        A=[[2.0, -1, 2, -2], [-2, 2, 2, -1], [-2, -1, -2, 2]],
        b=[0.0, 0, -2],
        b_bar=[1.0, 1, 1],
        c=[0.0, 0, 1, 0],
        c_bar=[2.0, 1, -2, 1],
    )
    result = sparseopt.solve(problem, backend="homotopy")
    assert (result.status.value, result.verdict.value) == ("unbounded", "verified")
    assert result.certificate.arrays["ray"].tolist() == [1.0, 0.0, 3.0, 4.0]


def test_without_a_ray_nothing_is_unbounded(tmp_path):
    # x + y <= 1 and x + y >= 1 + 1e-9: infeasible, but by less than points are held to.
    zero = [0.0, 0.0]
    problem = ParametricLP([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.0 - 1e-9], zero, zero, zero)
    for names in (("farkas",), ("farkas_above",), ("farkas", "farkas_above"), ()):
        arrays = {"x": np.array([1.0, 0.0]), **{name: np.ones(2) for name in names}}
        for sign in (1.0, -1.0):
            claim = {name: (1.0 if name == "x" else sign) * a for name, a in arrays.items()}
            false = unbounded(problem, claim, 0.0)
            assert sparseopt.check(problem, false).verdict is Verdict.REFUTED
            assert not proven_exactly(problem, false, tmp_path)


def test_the_point_of_a_ray_is_feasible_at_the_lam_that_is_stated():
    result = sparseopt.solve(BY_RAY, backend="homotopy")
    arrays = result.certificate.arrays
    for false in (
        unbounded(BY_RAY, {**arrays, "x": np.array([5.0, 0.0])}, 0.0),
        unbounded(BY_RAY, arrays, 0.75),
        unbounded(BY_RAY, arrays, -1.0),
        unbounded(BY_RAY, {**arrays, "ray": np.array([1.0, 1.0])}, 0.0),
        unbounded(BY_RAY, {**arrays, "farkas_above": np.array([-1.0])}, 0.0),
    ):
        assert sparseopt.check(BY_RAY, false).verdict is Verdict.REFUTED


def unbounded(problem, arrays, lam):
    return Result(
        status=Status.UNBOUNDED,
        certificate=Certificate("ray", arrays, {"lam": lam}),
        params=SolveParams(),
        kind=problem.kind,
        problem=problem,
    )


def proven_exactly(problem, result, folder):
    return second_opinion(folder, problem, result)[0] == "proven"


def test_a_grid_says_which_values_have_no_answer():
    rng = np.random.default_rng(0)
    problem = CompressedSensing(rng.standard_normal((20, 3)), rng.standard_normal(20))
    result = sparseopt.solve(problem, lam=[5.0, 1.0, 0.1, 0.01])
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.path.stopped_by == "infeasible_below"
    assert any("3 of 4 values of lam have no answer" in note for note in result.notes)


def test_where_digits_do_not_last_for_a_proof_no_optimum_is_claimed():
    """A covariance of rank 6 whose last eigenvalues are 1e-16: solutions of 1e16 are rounding."""
    rng = np.random.default_rng(967)
    rng.integers(2, 30), rng.integers(2, 15)
    problem = CLIME.from_data(rng.integers(-2, 3, size=(7, 8)).astype(float))
    own = sparseopt.solve(problem, lam=0.0, backend="homotopy")
    assert (own.status, own.raw_status) == (Status.NO_SOLUTION, "ill-conditioned")
    assert sparseopt.solve(problem, lam=0.0).verdict is not Verdict.REFUTED
