"""The highs backend against linear programs that the tests write out by themselves."""

from __future__ import annotations

import importlib.util
import os
import signal
import threading
from functools import cache

import numpy as np
import pytest
from parametric_examples import (
    DEGENERATE,
    KINDS,
    assert_optimal,
    by_linprog,
    dantzig,
    dantzig_factored,
    design,
    farkas_sum,
    impossible_below_one,
    lad,
    lad_intercept_weighted,
    lp_inequality,
    possible_up_to_two,
    several_kinks,
    too_many_bands,
)
from scipy.optimize import linprog
from thorough import first

from sparseopt.api import check
from sparseopt.errors import BackendUnavailable, ParamError, UnsupportedProblem
from sparseopt.params import SolveParams
from sparseopt.paths.parametric import GridPath, ParametricPath
from sparseopt.problems import (
    DantzigSelector,
    LADLasso,
    ParametricLP,
    PiecewiseLinearProgram,
)
from sparseopt.result import Limit, Status, Verdict
from sparseopt.solvers.highs.backend import Highs


def solve(problem, options=None, **question):
    return Highs().solve(problem, SolveParams(**question), options)


@cache
def whole(problem):
    """The result for all lam, which several tests look at."""
    return solve(problem)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("method", ["ipx", "pdlp", "hipdlp"])
@pytest.mark.parametrize("kind", [dantzig, lad, lp_inequality])
def test_methods_without_a_basis_end_at_the_same_vertex(kind, method):
    problem = kind(0)
    lam = 0.7 * float(whole(problem).path.low[0])
    found = solve(problem, {"solver": method}, lam=lam, time_limit=20.0)
    vertex = solve(problem, lam=lam)
    assert found.status is Status.OPTIMAL
    assert check(problem, found).verdict == "verified"
    assert found.objective == pytest.approx(vertex.objective, rel=1e-9, abs=1e-9)
    assert found.iterations > 0


def test_hipo_solves_or_says_what_to_install():
    problem = dantzig(0)
    if importlib.util.find_spec("highspy_extras") is None:
        with pytest.raises(BackendUnavailable, match=r"pip install 'highspy\[extras\]'"):
            solve(problem, {"solver": "hipo"}, lam=0.5)
    else:
        found = solve(problem, {"solver": "hipo"}, lam=0.5)
        assert check(problem, found).verdict == "verified"
        assert found.objective == pytest.approx(solve(problem, lam=0.5).objective, rel=1e-9)


def test_the_path_by_ranging_takes_the_simplex_method():
    with_option = solve(dantzig(0), {"solver": "ipx"})
    np.testing.assert_array_equal(with_option.path.low, whole(dantzig(0)).path.low)


SEEDS = range(3)
every_problem = pytest.mark.parametrize(
    "problem",
    [
        pytest.param(
            kind(seed),
            id=f"{kind.__name__}-{seed}",
            marks=[pytest.mark.thorough] if seed else [],
        )
        for kind in KINDS
        for seed in SEEDS
    ],
)


def values_of(problem, count, seed=0):
    """Random values of lam from where the path ends up to beyond its first knot."""
    path = whole(problem).path
    low = path.low[-1]
    high = path.high[0] if np.isfinite(path.high[0]) else 1.2 * path.low[0] + 1.0
    inside = np.random.default_rng(seed).uniform(low, high, count)
    return path, np.concatenate([inside, [low]]) if low == 0.0 else inside


# ---- one value


@pytest.mark.thorough(after=3)
@every_problem
def test_single_values_agree_with_linprog(problem):
    _, lams = values_of(problem, 4)
    for lam in lams:
        result = solve(problem, lam=float(lam))
        assert result.status is Status.OPTIMAL
        expected = by_linprog(problem, lam)
        assert result.objective == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert result.objective == pytest.approx(problem.objective(result.x, lam), rel=1e-12)
        assert_optimal(problem, result.x, result.duals["rows"], lam)
        assert result.gap <= 1e-9 or abs(result.objective - result.bound) <= 1e-11
        assert result.certificate.kind == "dual"
        assert np.array_equal(result.certificate.arrays["nu"], result.duals["rows"])


def test_dantzig_selector_in_split_variables():
    X, y, _ = design(7)
    lam = 5.0
    G, c = X.T @ X, X.T @ y
    expected = linprog(
        np.ones(16), np.block([[G, -G], [-G, G]]), np.concatenate([c + lam, lam - c])
    )
    result = solve(DantzigSelector(X, y), lam=lam)
    assert result.objective == pytest.approx(expected.fun, rel=1e-9)
    assert np.allclose(result.x, expected.x[:8] - expected.x[8:], atol=1e-9)


def test_parametric_lp_is_maximised():
    problem = lp_inequality(3)
    lam = 0.7
    expected = linprog(
        -(problem.c + lam * problem.c_bar), problem.A, problem.b + lam * problem.b_bar
    )
    result = solve(problem, lam=lam)
    assert result.objective == pytest.approx(-expected.fun, rel=1e-9)
    assert result.bound == pytest.approx(result.objective, rel=1e-9)


def test_entries_and_factors_of_a_gram_matrix_give_the_same_answer():
    problem = dantzig_factored(0)
    as_dense = PiecewiseLinearProgram(
        problem.canonical().A.as_array(), problem.canonical().phi, problem.canonical().psi
    )
    for lam in (0.5, 3.0):
        factored, dense = solve(problem, lam=lam), solve(as_dense, lam=lam)
        assert factored.objective == pytest.approx(dense.objective, rel=1e-10)


@pytest.mark.parametrize("scale", [1e-7, 1e7])
def test_the_size_of_the_data_does_not_matter(scale):
    X, y, _ = design(5)
    plain = solve(DantzigSelector(X, y), lam=4.0)
    scaled = solve(DantzigSelector(X, scale * y), lam=4.0 * scale)
    assert scaled.status is Status.OPTIMAL
    assert np.allclose(scaled.x / scale, plain.x, rtol=0.0, atol=1e-10 * np.abs(plain.x).max())


@pytest.mark.parametrize("presolve", ["off", "choose", "on"])
def test_presolve_does_not_change_the_answer(presolve):
    problem = lad_intercept_weighted(2)
    result = solve(problem, {"presolve": presolve}, lam=1.5)
    assert result.objective == pytest.approx(by_linprog(problem, 1.5), rel=1e-9)
    assert_optimal(problem, result.x, result.duals["rows"], 1.5)


# ---- a grid


def test_a_grid_is_sorted_merged_and_solved_at_each_value():
    problem = several_kinks(1)
    result = solve(problem, lam=[0.5, 2.0, 0.5, 1.0])
    path = result.path
    assert isinstance(path, GridPath)
    assert path.knots.tolist() == [2.0, 1.0, 0.5]
    assert result.status is Status.OPTIMAL
    assert result.certificate.kind == "dual-grid"
    for lam in path.knots:
        assert path.objective_at(lam) == solve(problem, lam=float(lam)).objective
        assert_optimal(problem, path.at(lam), path.dual_at(lam), lam)
    assert np.array_equal(result.x, path.at(0.5))
    assert result.objective == path.objective_at(0.5)
    assert result.bound == path.bounds[-1]


def test_a_warm_started_grid_has_the_same_values():
    problem = dantzig(1)
    grid = [8.0, 4.0, 2.0, 1.0]
    warm = solve(problem, {"warm_start_grid": True}, lam=grid)
    assert np.allclose(warm.path.values, solve(problem, lam=grid).path.values, rtol=1e-10)


def test_a_grid_ends_where_nothing_is_feasible_below():
    problem = impossible_below_one()
    result = solve(problem, lam=[3.0, 2.0, 0.5, 0.1])
    assert result.status is Status.OPTIMAL
    assert result.path.knots.tolist() == [3.0, 2.0]
    assert result.path.stopped_by == "infeasible_below"
    nu = result.certificate.arrays["farkas"]
    assert farkas_sum(problem, nu, 0.5) < 0.0
    assert farkas_sum(problem, nu, 0.1) < 0.0


def test_a_grid_that_is_infeasible_at_its_largest_value_alone_says_so():
    problem = possible_up_to_two()
    with pytest.raises(ParamError, match=r"infeasible at lam = 3.*below 2"):
        solve(problem, lam=[3.0, 1.5])


# ---- the path


@pytest.mark.thorough(after=1)
@every_problem
def test_the_path_agrees_with_single_values(problem):
    result = whole(problem)
    path, lams = values_of(problem, 4, seed=1)
    assert result.status is Status.OPTIMAL
    assert result.limit is None
    for lam in lams:
        single = solve(problem, lam=float(lam))
        assert path.objective_at(lam) == pytest.approx(single.objective, rel=1e-9, abs=1e-10)
        assert_optimal(problem, path.at(lam), path.dual_at(lam), lam)


@every_problem
def test_the_segments_tile_the_range_and_are_optimal_at_both_ends(problem):
    path = whole(problem).path
    assert isinstance(path, ParametricPath)
    assert np.array_equal(path.low[:-1], path.high[1:])
    assert (path.low < path.high).all()
    for lam in path.low:
        for side in ("above", "below"):
            assert_optimal(problem, path.at(lam, side), path.dual_at(lam, side), lam)


@pytest.mark.thorough(after=1)
@every_problem
def test_the_codes_are_bases_of_p_coordinates_at_kinks(problem):
    result = whole(problem)
    program = problem.canonical()
    arrays = result.certificate.arrays
    codes = arrays["codes"].copy()
    counts = np.concatenate([program.phi.counts, program.psi.counts])
    for s in range(len(arrays["low"])):
        here = slice(arrays["change_ptr"][s], arrays["change_ptr"][s + 1])
        assert s > 0 or here.start == here.stop
        codes[arrays["changed"][here]] = arrays["change_code"][here]
        assert (codes >= 0).all() and (codes <= 2 * counts).all()
        assert np.count_nonzero(codes % 2) == program.A.shape[1]
    assert result.certificate.kind == "segments"
    assert np.array_equal(arrays["low"], result.path.low)


def test_the_result_of_a_path_is_its_last_point():
    problem = lad(1)
    result = solve(problem, lam_min=2.0)
    assert result.path.low[-1] == 2.0
    assert result.path.stopped_by == "lam_min"
    assert np.array_equal(result.x, result.path.at(2.0))
    assert result.objective == pytest.approx(solve(problem, lam=2.0).objective, rel=1e-12)
    assert result.bound == pytest.approx(result.objective, rel=1e-12)
    assert np.array_equal(result.duals["rows"], result.path.dual_at(2.0))


def test_a_path_that_is_asked_for_above_its_first_knot_is_one_segment():
    X, y, _ = design(0)
    top = np.abs(X.T @ y).max()
    path = solve(DantzigSelector(X, y), lam_min=2.0 * top).path
    assert path.low.tolist() == [2.0 * top]
    assert path.high.tolist() == [np.inf]
    assert not path.at(2.0 * top).any()


def test_the_first_knot_of_the_dantzig_selector_is_the_largest_correlation():
    X, y, _ = design(4)
    path = solve(DantzigSelector(X, y)).path
    assert path.low[0] == pytest.approx(np.abs(X.T @ y).max(), rel=1e-12)
    assert path.high[0] == np.inf


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", [dantzig, lad])
def test_max_knots_ends_the_path(kind):
    problem = kind(0)
    whole = solve(problem).path
    result = solve(problem, max_knots=4)
    assert result.status is Status.OPTIMAL
    assert result.path.stopped_by == "max_knots"
    assert np.allclose(result.path.knots, whole.knots[:4], rtol=1e-10)


def test_max_nonzeros_ends_the_path_before_the_model_is_larger():
    problem = dantzig(2)
    result = solve(problem, max_nonzeros=3)
    assert result.path.stopped_by == "max_nonzeros"
    assert result.status is Status.OPTIMAL
    assert result.path.nonzeros().max() == 3
    below = solve(problem, lam=0.999 * result.path.low[-1])
    assert np.count_nonzero(np.abs(below.x) > 1e-9) == 4


@pytest.mark.thorough(after=2)
@pytest.mark.parametrize("model", first(2, ["dantzig", "lad with intercept", "lad"]))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data(name, model):
    X, y = DEGENERATE[name]
    problem = (
        DantzigSelector(X, y)
        if model == "dantzig"
        else LADLasso(X, y, fit_intercept=model == "lad with intercept")
    )
    result = solve(problem)
    path = result.path
    assert result.status is Status.OPTIMAL
    assert path.stopped_by == "lam_min"
    assert path.low[-1] == 0.0
    assert np.array_equal(path.low[:-1], path.high[1:])
    for lam in np.random.default_rng(0).uniform(0.0, 1.1 * path.low[0] + 0.1, 5):
        expected = by_linprog(problem, lam)
        assert path.objective_at(lam) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        assert_optimal(problem, path.at(lam), path.dual_at(lam), lam)


# ---- where there is no optimum


def test_an_infeasible_value_comes_with_farkas_multipliers():
    problem = impossible_below_one()
    result = solve(problem, lam=0.5)
    assert result.status is Status.INFEASIBLE
    assert result.certificate.kind == "farkas"
    assert farkas_sum(problem, result.certificate.arrays["nu"], 0.5) < -1e-3
    assert by_linprog(problem, 0.5) == 2


@pytest.mark.parametrize("seed", SEEDS)
def test_farkas_multipliers_of_random_infeasible_systems(seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(12, 4))
    problem = ParametricLP(A, -rng.uniform(1.0, 2.0, 12), np.zeros(12), np.ones(4), np.zeros(4))
    assert by_linprog(problem, 1.0) == 2
    result = solve(problem, lam=1.0)
    assert result.status is Status.INFEASIBLE
    assert farkas_sum(problem, result.certificate.arrays["nu"], 1.0) < -1e-6


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", SEEDS)
def test_bands_that_cannot_be_met_end_a_path_and_a_value(seed):
    problem = too_many_bands(seed)
    result = solve(problem)
    end = result.path.low[-1]
    assert result.path.stopped_by == "infeasible_below"
    assert isinstance(by_linprog(problem, end * (1.0 + 1e-6)), float)
    nu = result.certificate.arrays["farkas"]
    assert farkas_sum(problem, nu, end) == pytest.approx(0.0, abs=1e-9 * np.abs(nu).max())
    below = solve(problem, lam=0.99 * end)
    assert below.status is Status.INFEASIBLE
    for multipliers in (nu, below.certificate.arrays["nu"]):
        assert farkas_sum(problem, multipliers, 0.99 * end) < 0.0


def test_an_unbounded_value_comes_with_a_point_and_a_ray():
    problem = ParametricLP(
        np.array([[1.0, -1.0]]), [1.0], [0.0], [1.0, 1.0], [-1.0, -1.0], form="inequality"
    )
    result = solve(problem, lam=0.5)
    assert result.status is Status.UNBOUNDED
    point, ray = (result.certificate.arrays[name] for name in ("x", "ray"))
    gains = [problem.objective(point + far * ray, 0.5) for far in (0.0, 10.0, 20.0)]
    assert gains[1] > gains[0] + 1.0 and gains[2] > gains[1] + 1.0
    for far in (0.0, 1e3):
        assert max(problem.residuals(point + far * ray, 0.5).values()) <= 1e-9


def test_a_path_ends_where_nothing_is_feasible_below():
    problem = impossible_below_one()
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.path.stopped_by == "infeasible_below"
    assert result.path.low[-1] == pytest.approx(1.0, rel=1e-12)
    nu = result.certificate.arrays["farkas"]
    assert result.certificate.values["end"] == "infeasible_below"
    assert farkas_sum(problem, nu, 1.0) == pytest.approx(0.0, abs=1e-12)
    assert farkas_sum(problem, nu, 0.9) < -1e-3


def test_a_path_ends_where_the_objective_is_unbounded_below():
    # Maximise (2 - lam) x: bounded for lam >= 2 alone.
    problem = ParametricLP(np.array([[-1.0]]), [1.0], [0.0], [2.0], [-1.0])
    result = solve(problem)
    assert result.status is Status.OPTIMAL
    assert result.path.stopped_by == "unbounded_below"
    assert result.path.low[-1] == pytest.approx(2.0, rel=1e-12)
    assert result.certificate.values["end"] == "unbounded_below"
    ray = result.certificate.arrays["ray"]
    for lam, gain in ((2.0, 0.0), (1.0, ray[0])):
        assert problem.objective(ray, lam) == pytest.approx(gain, abs=1e-12)
    assert ray[0] > 0.0


def test_a_path_starts_where_it_becomes_feasible():
    problem = possible_up_to_two()
    result = solve(problem)
    path = result.path
    assert path.high[0] == pytest.approx(2.0, rel=1e-12)
    assert path.low[-1] == 0.0
    assert path.objective_at(1.0) == pytest.approx(3.0, rel=1e-12)
    nu = result.certificate.arrays["farkas_above"]
    assert farkas_sum(problem, nu, 2.0) == pytest.approx(0.0, abs=1e-12)
    assert farkas_sum(problem, nu, 2.1) < -1e-3


def test_a_path_without_any_feasible_value_is_infeasible():
    # x <= lam - 3 and x >= lam - 2, x >= 0.
    problem = ParametricLP(np.array([[1.0], [-1.0]]), [-3.0, 2.0], [1.0, -1.0], [1.0], [0.0])
    result = solve(problem)
    assert result.status is Status.INFEASIBLE
    for lam in (0.0, 1.0, 100.0):
        assert farkas_sum(problem, result.certificate.arrays["nu"], lam) < -1e-3


def test_two_proofs_join_where_neither_covers_all_values():
    # x <= 1 - lam with x >= 0, and z <= lam - 2 with z >= 0: lam <= 1 and lam >= 2.
    problem = ParametricLP(np.eye(2), [1.0, -2.0], [-1.0, 1.0], [0.0, 0.0], [0.0, 0.0])
    result = solve(problem)
    assert result.status is Status.INFEASIBLE
    assert check(problem, result).verdict is Verdict.VERIFIED
    arrays = result.certificate.arrays
    for lam, names in ((0.0, ("nu",)), (1.5, ("nu", "nu_above")), (100.0, ("nu_above",))):
        for name in names:
            assert farkas_sum(problem, arrays[name], lam) < -1e-6


def test_a_matrix_of_zeros_has_a_basis():
    # HiGHS 1.15.1 crashes when asked for the basic variables of a model without entries.
    problem = DantzigSelector(np.zeros((2, 1)), np.ones(2))
    result = solve(problem, lam=1.0)
    assert result.status is Status.OPTIMAL
    assert result.x.tolist() == [0.0]


# ---- limits


@pytest.fixture(scope="module")
def large():
    """A Dantzig selector of which HiGHS needs seconds for one small lam, and for the path."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1500))
    y = X[:, :20] @ np.ones(20) + 3.0 * rng.normal(size=300)
    return DantzigSelector(X, y), float(np.abs(X.T @ y).max())


def interrupt_after(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


@pytest.mark.thorough
def test_a_time_limit_without_an_answer(large):
    problem, top = large
    result = solve(problem, lam=0.01 * top, time_limit=0.4)
    assert result.status is Status.NO_SOLUTION
    assert result.limit is Limit.TIME
    assert result.x is None


@pytest.mark.thorough
def test_a_time_limit_leaves_the_path_so_far(large, in_time):
    problem, top = large
    result = in_time(4.0, lambda: solve(problem, lam_min=0.001 * top, time_limit=2.5))
    assert result.status is Status.FEASIBLE
    assert result.limit is Limit.TIME
    assert result.path.stopped_by == "time"
    assert 0.001 * top < result.path.low[-1] < top
    assert_optimal(problem, result.x, result.duals["rows"], result.path.low[-1])


@pytest.mark.thorough
def test_a_time_limit_leaves_the_grid_so_far(large):
    problem, top = large
    grid = (top * np.geomspace(1.1, 0.005, 12)).tolist()
    for seconds in (1.0, 4.0, 16.0):
        result = solve(problem, lam=grid, time_limit=seconds)
        if result.status is not Status.NO_SOLUTION:  # which takes a busy machine longer
            break
    assert result.status is Status.FEASIBLE
    assert result.limit is Limit.TIME
    assert result.path.knots.tolist() == grid[: len(result.path.knots)]
    assert 0 < len(result.path.knots) < len(grid)


@pytest.mark.thorough
@pytest.mark.parametrize("question", first(1, ["path", "single", "grid"]))
def test_ctrl_c_ends_with_what_is_known(large, question, in_time):
    problem, top = large
    asked = {
        "single": {"lam": 0.005 * top},
        "path": {"lam_min": 0.0},
        "grid": {"lam": (top * np.geomspace(1.1, 0.005, 12)).tolist()},
    }[question]

    expected = Status.NO_SOLUTION if question == "single" else Status.FEASIBLE

    for delay in (1.0, 4.0, 16.0):

        def interrupted(delay=delay):
            timer = interrupt_after(delay)
            result = solve(problem, **asked)
            timer.join()
            return result

        result = in_time(delay + 2.0, interrupted)
        assert result.limit is Limit.INTERRUPTED
        if result.status is expected:  # a busy machine takes longer to know anything
            break
    assert result.status is expected


def test_a_matrix_that_is_too_large_is_refused_with_advice(large):
    with pytest.raises(UnsupportedProblem, match=r"max_entries.*homotopy"):
        solve(large[0], {"max_entries": 1e5}, lam=1.0)


def test_an_unknown_option_is_refused():
    with pytest.raises(ParamError, match=r"highs has no option 'presolv'"):
        solve(dantzig(0), {"presolv": "on"}, lam=1.0)


def test_threads_may_change_from_solve_to_solve():
    objectives = [solve(dantzig(0), lam=2.0, threads=t).objective for t in (1, 2, None, 1)]
    assert len(set(objectives)) == 1
