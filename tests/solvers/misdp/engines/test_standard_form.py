"""Indicators and quadratic objectives: engines against enumeration, and other backends."""

import importlib.util

import numpy as np
import pytest
import scipy.sparse as sp
from conditional_misdps import draw_conditional
from small_misdps import enumerated, faults

import sparseopt
from sparseopt import Status, UnsupportedProblem, Verdict
from sparseopt.problems import MISDP, IndicatorConstraint, MISDPBuilder
from sparseopt.problems.misdp.cones import SecondOrderCone
from sparseopt.proofs.misdp_standard_form import is_standard
from sparseopt.registry import get_backend
from sparseopt.solvers.common.misdp_standard_form import StandardForm

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("clarabel") is None,
    reason="Clarabel is not installed: sparseopt[misdp]",
)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [0, 5, 7])
def test_enumeration(seed):
    problem = draw_conditional(seed)
    known = enumerated(problem)
    for backend in ("misdp-bnb", "misdp-oa"):
        assert not faults(problem, backend, known), backend


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", [244300, 448299, 694028, 23068, 46205])
def test_binary_variables_that_must_be_one(seed):
    # What follows from an indicator that holds is no reason to leave it out (244300), and its ends
    # are those that the checker finds, too.
    problem = draw_conditional(seed)
    known = enumerated(problem)
    for backend in ("misdp-bnb", "misdp-oa"):
        assert not faults(problem, backend, known), backend
        assert sparseopt.solve(problem, backend=backend).verdict is Verdict.VERIFIED


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_multipliers_whose_squares_leave_the_range_of_numbers():
    result = sparseopt.solve(draw_conditional(548853))
    assert result.verdict is Verdict.VERIFIED


def test_what_rounding_leaves_of_a_gap_is_said():
    # Terms of 200 cancel to -.528.
    problem = draw_conditional(664850)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.FEASIBLE, Verdict.VERIFIED)
    assert any("rounding errors leave more of a gap" in note for note in result.notes)
    assert sparseopt.solve(problem, rel_gap=1e-3).status is Status.OPTIMAL


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(100, 160))
def test_enumeration_of_many(seed):
    problem = draw_conditional(seed)
    known = enumerated(problem)
    for backend in ("misdp-bnb", "misdp-oa"):
        assert not faults(problem, backend, known)
        if np.isfinite(problem.upper).all():
            assert sparseopt.solve(problem, backend=backend).verdict is Verdict.VERIFIED


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("backend", ["misdp-bnb", "misdp-oa"])
def test_ends_that_are_derived_and_far_away_do_not_stop_the_search(backend):
    """The cutoff of the first incumbent bounds a free variable by 4e14."""
    problem = draw_conditional(55)
    result = sparseopt.solve(problem, backend=backend)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    # As SCIP has it without the matrix, which holds there.
    assert result.objective == pytest.approx(-3.39605, abs=1e-5)


@pytest.mark.thorough
def test_points_go_there_and_back():
    for seed in range(12):
        problem = draw_conditional(seed)
        form = StandardForm(problem)
        assert is_standard(form.problem) or form.problem.indicators
        result = sparseopt.solve(problem, backend="misdp-bnb", check=False)
        if result.x is None:
            continue
        x = form.down(result.x)
        np.testing.assert_array_equal(form.up(x), result.x)
        assert max(form.problem.residuals(x).values()) < 1e-7
        scale = problem.objective_scale(result.x)
        assert abs(form.problem.objective(x) - result.objective) < 1e-9 * scale


def test_the_optimum_of_a_quadratic_program_in_closed_form():
    """Least squares with free coefficients, one of which is an integer."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(8, 3)), rng.normal(size=8) * 3.0
    problem = MISDP(
        c=-X.T @ y,
        Q=X.T @ X,
        integer=[0],
        offset=0.5 * float(y @ y),
        lower=[-9.0, -np.inf, -np.inf],
    )
    best = min(
        0.5 * float(np.linalg.lstsq(X[:, 1:], y - k * X[:, 0], rcond=None)[1][0])
        for k in range(-9, 10)
    )
    result = sparseopt.solve(problem)
    assert result.status is Status.OPTIMAL and result.verdict is Verdict.VERIFIED
    assert abs(result.objective - best) < 1e-6 * best


def test_a_flat_direction_of_the_objective_is_a_ray():
    problem = MISDP(c=[1.0, 1.0], Q=[[1.0, -1.0], [-1.0, 1.0]])
    result = sparseopt.solve(problem)
    assert result.status is Status.UNBOUNDED and result.verdict is Verdict.VERIFIED


def test_only_one_side_of_an_indicator_is_unbounded():
    """x <= 0 where z = 1; free else."""
    model = MISDPBuilder("max")
    z = model.variable(lower=0.0, upper=1.0, integer=True)
    x = model.variable()
    model.indicator(z, (x, 1.0), upper=0.0)
    model.objective((x, 1.0), (z, 5.0))
    free = model.build()
    result = sparseopt.solve(free)
    assert result.status is Status.UNBOUNDED and result.verdict is Verdict.VERIFIED
    result = sparseopt.solve(free.with_changes(lower=[1.0, -np.inf]))
    assert result.status is Status.OPTIMAL and abs(result.objective - 5.0) < 1e-8


def test_other_backends_take_them_by_themselves_or_where_rows_have_bounds():
    model = MISDPBuilder("min")
    z = model.variables(2, lower=0.0, upper=1.0, integer=True)
    x = model.variables(2, lower=-4.0, upper=4.0)
    model.row((z, np.ones(2)), lower=1.0)
    model.indicator(int(z[0]), (x, np.ones(2)), lower=3.0)
    model.indicator(int(z[1]), (x, np.array([1.0, -1.0])), lower=2.5, upper=2.5)
    model.objective((z, np.array([0.1, 0.0])), quadratic=[(x, np.diag([2.0, 1.0]))])
    problem = model.build()
    # x = (5 / 6, -5 / 3) for the second; x = (1, 2) costs 3.1 for the first.
    best = (5.0 / 6.0) ** 2 + 0.5 * (5.0 / 3.0) ** 2
    ran = []
    for backend in ("misdp-bnb", "misdp-oa", "scip", "gurobi", "copt", "xpress"):
        if get_backend(backend).availability().available:
            result = sparseopt.solve(problem, backend=backend)
            assert result.status is Status.OPTIMAL, backend
            assert abs(result.objective - best) < 1e-5, backend
            ran.append(backend)
    assert "misdp-bnb" in ran
    open_ = problem.with_changes(upper=[1.0, 1.0, np.inf, np.inf])
    for backend in ran:
        if backend in ("copt", "xpress"):
            with pytest.raises(UnsupportedProblem, match="the row of indicator 1 has none"):
                sparseopt.solve(open_, backend=backend)
        elif backend != "misdp-oa":
            assert abs(sparseopt.solve(open_, backend=backend).objective - best) < 1e-5, backend


@pytest.mark.parametrize("backend", ["scip", "gurobi"])
def test_a_solver_s_own_indicators_give_the_same_optima(backend):
    reason = get_backend(backend).availability()
    if not reason.available:
        pytest.skip(reason.reason)
    for seed in range(6):
        problem = draw_conditional(seed).with_changes(blocks=())
        ours = sparseopt.solve(problem, backend="misdp-bnb")
        result = sparseopt.solve(problem, backend=backend)
        assert problem.indicators and result.objective == pytest.approx(ours.objective, abs=1e-5)


def test_an_indicator_is_no_row_of_merged_variables():
    """Equal columns are merged elsewhere; here one of them switches a row on."""
    problem = MISDP(
        c=[-1.0, -1.0, 0.0],
        upper=[1.0, 1.0, 1.0],
        lower=np.zeros(3),
        integer=[0, 1],
        cones=[SecondOrderCone(sp.csr_array([[0.0, 0.0, 0.0], [1.0, 1.0, 1.0]]), [1.5, 0.0])],
        indicators=[IndicatorConstraint(0, [0.0, 0.0, 1.0], lower=0.75)],
    )
    result = sparseopt.solve(problem)
    assert result.objective == -1.0 and result.x[1] == 1.0
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize(
    ("seed", "status"),
    [
        # Both indicators are on; what is left of a cone's multipliers costs the square's variable.
        (187644, Status.INFEASIBLE),
        # A leaf cost what rounding left of a row's multiplier.
        (539075, Status.OPTIMAL),
        (44137, Status.OPTIMAL),
    ],
)
def test_disproofs_without_the_noise_of_their_multipliers(seed, status):
    """On some processors these were refuted, on others not."""
    result = sparseopt.solve(draw_conditional(seed))
    assert result.status is status and result.verdict is Verdict.VERIFIED
