"""The backend strs-annealing: known optima, certificates, limits, options."""

import numpy as np
import pytest
from thorough import first

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.errors import ParamError
from sparseopt.problems import KernelSelection
from sparseopt.proofs.gaussian_selection import SelectionBounds, bisected
from sparseopt.testing.twosample import twosample_samples

SAMPLES = twosample_samples(np.random.default_rng(3)).samples
UNPROVEN = {"proof": 0}
BY_NAME = {sample.name: sample for sample in SAMPLES}


def shifted(kernel="gaussian", n=40, D=15, d=3, **settings):
    rng = np.random.default_rng(1)
    x, y = rng.standard_normal((2, n, D))
    y[:, :2] += 1.0
    return KernelSelection(x, y, kernel, d=d, **settings)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", BY_NAME)
def test_small_optima_are_found(name):
    sample = BY_NAME[name]
    result = sparseopt.solve(sample.problem, backend="strs-annealing")
    assert result.objective == pytest.approx(sample.optimum, rel=1e-7, abs=1e-12)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("name", ["linear", "quadratic-mmd"])
def test_one_subproblem_is_proven(name):
    result = sparseopt.solve(BY_NAME[name].problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-9
    low = result.with_changes(bound=result.objective - 1e-3, objective=result.objective)
    assert sparseopt.check(BY_NAME[name].problem, low).verdict is Verdict.REFUTED
    # Without a certificate few supports are all tried; of many, nothing is proven.
    none = result.with_changes(certificate=None)
    assert sparseopt.check(BY_NAME[name].problem, none).verdict is Verdict.VERIFIED
    many = shifted("linear", n=30, D=30, d=10, lam=0.1)
    proven = sparseopt.solve(many)
    assert proven.verdict is Verdict.VERIFIED
    none = proven.with_changes(certificate=None)
    assert sparseopt.check(many, none).verdict is Verdict.UNPROVEN


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kernel", ["quadratic", "gaussian"])
def test_the_answer_is_stationary_and_unproven(kernel):
    problem = shifted(kernel, lam=0.05)
    result = sparseopt.solve(problem, options=UNPROVEN)
    assert (result.status, result.verdict) == (Status.CONVERGED, Verdict.UNPROVEN)
    assert {0, 1} <= set(np.flatnonzero(result.x).tolist())
    report = sparseopt.check(problem, result)
    assert report.residuals["stationarity"] < 1e-5
    moved = np.roll(result.x, 1)
    lie = result.with_changes(x=moved)
    assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED


@pytest.mark.thorough
def test_variables_that_a_climb_gave_up_are_not_selected():
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((2, 60, 8))
    y[:, 2] += 2.5
    problem = KernelSelection(x, y, "gaussian", d=4, lam=0.01)
    result = sparseopt.solve(problem, options=UNPROVEN)
    assert np.flatnonzero(result.x).tolist() == [2]
    alone = np.eye(8)[2]
    assert result.objective == pytest.approx(problem.objective(alone), rel=1e-11)
    # A smaller weight that the value depends on stays.
    assert np.count_nonzero(sparseopt.solve(shifted(lam=0.01), options=UNPROVEN).x) >= 2


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("subproblem", ["truncation", "strs-bnb"])
def test_algorithm_2_finds_what_branch_and_bound_proves(subproblem):
    problem = shifted("linear", lam=1.0)
    proven = sparseopt.solve(problem)
    options = {"closed_form": False, "subproblem": subproblem, "iterations": 5}
    found = sparseopt.solve(problem, options=options)
    assert found.status is Status.CONVERGED
    assert found.objective == pytest.approx(proven.objective, rel=1e-9)


@pytest.mark.thorough
def test_without_curvature_it_still_climbs():
    problem = shifted("quadratic", lam=0.0)
    proven = sparseopt.solve(problem)
    options = {"closed_form": False, "curvature": False, "iterations": 10}
    found = sparseopt.solve(problem, options=options)
    assert found.objective <= proven.objective + 1e-12
    assert found.objective == pytest.approx(proven.objective, rel=0.05)


@pytest.mark.thorough
def test_the_trace_rises_to_the_answer():
    result = sparseopt.solve(shifted(d=4), backend="strs-annealing", options=UNPROVEN)
    values = [value for _, value, _ in result.trace]
    times = [seconds for seconds, _, _ in result.trace]
    assert values == sorted(values) and times == sorted(times)
    assert values[-1] == result.objective


@pytest.mark.thorough
def test_a_warm_start_is_never_lost():
    problem = shifted(d=4)
    best = sparseopt.solve(problem, seed=2, options=UNPROVEN)
    again = sparseopt.solve(
        problem, warm_start=best, options={"restarts": 1, "iterations": 0, **UNPROVEN}
    )
    assert again.objective >= best.objective - 1e-15


def test_the_number_of_moves_can_be_limited():
    result = sparseopt.solve(shifted("quadratic", lam=0.01), iteration_limit=3)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.ITERATION)
    assert result.verdict is Verdict.UNPROVEN
    assert result.iterations <= 4


def test_a_limit_that_the_engine_in_charge_does_not_keep_is_noted():
    asked = {"node_limit": 3, "iteration_limit": 3}
    (note,) = (n for n in sparseopt.solve(shifted("linear"), **asked).notes if "ignored" in n)
    assert note == "strs-bnb takes no iteration limit; it was ignored"
    problem = shifted("quadratic", lam=0.01)
    (note,) = (n for n in sparseopt.solve(problem, **asked).notes if "ignored" in n)
    assert note == "annealing has no tree; the node limit was ignored"


def test_a_time_limit_leaves_an_incumbent():
    problem = shifted("quadratic", lam=0.01, n=100, D=40)
    result = sparseopt.solve(problem, time_limit=0.0)
    assert (result.status, result.limit) == (Status.FEASIBLE, Limit.TIME)
    assert result.verdict is Verdict.UNPROVEN
    assert result.objective > 0.0


@pytest.mark.parametrize(
    "options",
    [{"cooling": 1.5}, {"penalties": "a"}, {"penalties": ""}, {"penalties": "-1"}, {"restarts": 0}],
)
def test_bad_options_are_named(options):
    with pytest.raises(ParamError, match=next(iter(options))):
        sparseopt.solve(shifted(), backend="strs-annealing", options=options)


@pytest.mark.thorough
@pytest.mark.parametrize("settings", [{}, {"bandwidth": 1e-3}], ids=["median", "narrow"])
@pytest.mark.parametrize("kernel", ["linear", "quadratic", "gaussian"])
def test_the_callers_floating_point_errors_do_not_end_a_solve(kernel, settings):
    usual = sparseopt.solve(shifted(kernel, D=8, **settings), backend="strs-annealing")
    with np.errstate(all="raise"):
        strict = sparseopt.solve(shifted(kernel, D=8, **settings), backend="strs-annealing")
        assert set(np.geterr().values()) == {"raise"}
    assert (strict.status, strict.objective) == (usual.status, usual.objective)


@pytest.mark.parametrize(("d", "m"), first(1, [(1, 20), (2, 20), (2, 25), (3, 20)]))
def test_few_supports_of_the_gaussian_kernel_are_looked_through(d, m):
    rng = np.random.default_rng(d)
    x, y = rng.standard_normal((20, 5)), rng.standard_normal((m, 5))
    y[:, 1] += 0.5
    problem = KernelSelection(x, y, "gaussian", d=d)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.gap <= 1e-6
    points = rng.standard_normal((300, 5))
    points[rng.permuted(np.tile(np.arange(5), (300, 1)), axis=1) >= d] = 0.0
    values = [problem.objective(z / np.linalg.norm(z)) for z in points]
    assert max(values) <= result.bound
    low = result.with_changes(bound=result.objective - 1e-4, objective=result.objective)
    assert sparseopt.check(problem, low).verdict is Verdict.REFUTED
    heuristic = sparseopt.solve(problem, options=UNPROVEN)
    assert (heuristic.status, heuristic.verdict) == (Status.CONVERGED, Verdict.UNPROVEN)
    assert heuristic.objective <= result.bound


def test_a_proof_finds_what_annealing_misses():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(2, 30, 6))
    y[:, 0] += 0.2
    y[:, 2] *= 1.2
    problem = KernelSelection(x, y, "gaussian", d=1)
    missed = sparseopt.solve(problem, options=UNPROVEN)
    assert sparseopt.solve(problem).objective > missed.objective
    claim = missed.with_changes(status=Status.OPTIMAL, bound=missed.objective)
    assert sparseopt.check(problem, claim).verdict is Verdict.REFUTED


@pytest.mark.thorough
def test_bounds_on_simplices_hold_and_tighten():
    rng = np.random.default_rng(4)
    problem = KernelSelection(rng.normal(size=(8, 3)), rng.normal(size=(11, 3)), "gaussian", d=3)
    bounds, support = SelectionBounds(problem), np.arange(3)
    simplices, excess = np.eye(3)[None], []
    for _ in range(12):
        upper, value = bounds(support, simplices)
        weights = rng.dirichlet(np.ones(3), size=(20, len(simplices)))
        for inside in weights:
            points = np.sqrt(np.einsum("bk,bkj->bj", inside, simplices))
            assert all(problem.objective(z) <= top for z, top in zip(points, upper, strict=True))
        middle = problem.objective(np.sqrt(simplices[0].mean(axis=0)))
        assert value[0] == pytest.approx(middle, abs=1e-12)
        excess.append(float((upper - value).max()))
        simplices = bisected(simplices[-8:])
    assert excess[-1] < 0.01 * excess[0]
