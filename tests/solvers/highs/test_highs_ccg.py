"""Column and constraint generation against whole linear programs and the homotopy engine."""

from __future__ import annotations

import functools
import os
import signal
import threading

import numpy as np
import pytest
from parametric_examples import (
    DEGENERATE,
    KINDS,
    assert_optimal,
    by_linprog,
    farkas_sum,
    impossible_below_one,
    possible_up_to_two,
    several_kinks,
    too_many_bands,
)
from thorough import first

import sparseopt
from sparseopt import generators
from sparseopt.errors import ParamError
from sparseopt.problems import (
    CLIME,
    L1SVM,
    LPD,
    CompressedSensing,
    DantzigSelector,
    DifferentialNetwork,
    LADLasso,
    MatrixDantzig,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
    QuantileLasso,
    problem_kinds,
)
from sparseopt.problems.parametric.maps import GramMap
from sparseopt.result import Limit, Status, Verdict

SMALL_STEPS = {"start": 1, "batch": 1}
"""One column and one row a round: everything else has to be generated."""


def solve(problem, options=None, backend="highs-ccg", **question):
    return sparseopt.solve(problem, backend=backend, options=options, **question)


def assert_same_optimum(problem, lam, options=None, others=("highs",)):
    """The optimum of the other backends to 1e-9, by a pair that proves it."""
    result = solve(problem, options, lam=lam)
    for other in others:
        expected = solve(problem, backend=other, lam=lam)
        assert result.status is expected.status, (lam, other)
        if expected.objective is not None:
            assert result.objective == pytest.approx(expected.objective, rel=1e-9, abs=1e-9)
    assert result.verdict is Verdict.VERIFIED, (lam, result.check_messages)
    if result.status is Status.OPTIMAL:
        assert_optimal(problem, result.x, result.duals["rows"], lam)
        assert result.certificate.kind == "dual"
    return result


# ---- small problems


@pytest.mark.thorough(after=4)
@pytest.mark.parametrize("options", first(1, [SMALL_STEPS, None]), ids=["small-steps", "default"])
@pytest.mark.parametrize("seed", first(1, range(3)))
@pytest.mark.parametrize("kind", KINDS)
def test_small_problems(kind, seed, options):
    problem = kind(seed)
    for lam in (0.0, *np.random.default_rng(seed).uniform(0.0, 6.0, 2)):
        assert_same_optimum(problem, float(lam), options, ("highs", "homotopy"))


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", first(1, ["lad with intercept", "dantzig", "lad"]))
@pytest.mark.parametrize("name", DEGENERATE)
def test_degenerate_data(name, model):
    X, y = DEGENERATE[name]
    problem = (
        DantzigSelector(X, y)
        if model == "dantzig"
        else LADLasso(X, y, fit_intercept=model == "lad with intercept")
    )
    for lam in (0.0, 1.0, 3.7):
        result = assert_same_optimum(problem, lam, {"start": 2, "batch": 1})
        assert result.objective == pytest.approx(by_linprog(problem, lam), rel=1e-9, abs=1e-9)


def random_function(rng, n, integer):
    """Convex functions with 1 to 3 kinks, bounds, ties and flat pieces."""

    def draw(count):
        numbers = rng.integers(-3, 4, count) if integer else rng.normal(size=count)
        return np.sort(numbers.astype(float))

    parts = []
    for _ in range(n):
        q = int(rng.integers(1, 4))
        slopes = draw(q + 1)
        if rng.random() < 0.4:
            slopes[0] = -np.inf
        if rng.random() < 0.4 and (q > 1 or np.isfinite(slopes[0])):
            slopes[-1] = np.inf
        parts.append(Pieces.uniform(list(draw(q)), list(slopes), n=1))
    return Pieces.concatenate(*parts)


@pytest.mark.thorough
@pytest.mark.parametrize("block", first(1, range(5)))
def test_random_programs_with_and_without_an_optimum(block):
    ends = set()
    for seed in range(40 * block, 40 * block + 40):
        rng = np.random.default_rng(seed)
        m, p = (int(size) for size in rng.integers(1, 12, 2))
        integer = bool(seed % 2)
        A = rng.integers(-2, 3, (m, p)) if integer else rng.normal(size=(m, p))
        phi, psi = (random_function(rng, n, integer) for n in (p, m))
        problem = PiecewiseLinearProgram(A.astype(float), phi, psi)
        ends.add(assert_same_optimum(problem, 0.0, SMALL_STEPS).status)
    assert ends == {Status.OPTIMAL, Status.INFEASIBLE, Status.UNBOUNDED}


# ---- medium problems of each model


def correlated(rng, n, d):
    """Gaussian data whose neighbours are correlated, ten true coefficients, and noise."""
    X = rng.normal(size=(n, d))
    X[:, 1:] += 0.5 * X[:, :-1]
    return X, X[:, :10] @ np.linspace(2.0, -2.0, 10) + rng.normal(size=n)


def covariance(rng, n, d):
    return np.cov(correlated(rng, n, d)[0].T)


def medium_dantzig(rng):
    X, y = correlated(rng, 60, 300)
    return DantzigSelector(X, y), 0.05 * np.abs(X.T @ y).max()


def medium_adaptive_dantzig(rng):
    X, y = correlated(rng, 60, 200)
    weights = rng.uniform(0.5, 2.0, 200)
    weights[:2] = 0.0
    return DantzigSelector(X, y, scale="n", weights=weights, row_weights=weights), 0.4


def medium_lad(rng):
    X, y = correlated(rng, 60, 300)
    return LADLasso(X, y, fit_intercept=True), 6.0


def medium_quantile(rng):
    X, y = correlated(rng, 80, 200)
    return QuantileLasso(X, y, tau=0.3, weights=rng.uniform(0.5, 1.5, 200)), 3.0


def medium_compressed_sensing(rng):
    X, y = correlated(rng, 60, 300)
    return CompressedSensing(X, y), 0.1


def medium_discriminant(rng):
    delta = np.concatenate([np.ones(8), np.zeros(112)]) + 0.1 * rng.normal(size=120)
    return LPD(covariance(rng, 200, 120), delta), 0.2


def medium_svm(rng):
    X, y = correlated(rng, 80, 200)
    return L1SVM(X, np.sign(y + 1.0)), 4.0


def medium_tall_svm(rng):
    """More rows than columns: those beyond the margin are left out."""
    X, y = correlated(rng, 1500, 12)
    return L1SVM(X, np.sign(y)), 20.0


def medium_precision_matrix(rng):
    return CLIME(covariance(rng, 100, 15)), 0.1


def medium_network(rng):
    return DifferentialNetwork(covariance(rng, 100, 12), covariance(rng, 100, 12)), 0.1


def medium_matrix(rng):
    X, Z = rng.normal(size=(14, 10)), rng.normal(size=(9, 12))
    D = np.where(rng.random((10, 9)) < 0.2, 1.0, 0.0)
    return MatrixDantzig(X, Z, X @ D @ Z + 0.1 * rng.normal(size=(14, 12))), 0.5


def medium_production(rng):
    A = rng.uniform(size=(150, 200))
    A[rng.random(A.shape) < 0.7] = 0.0
    b, c = rng.uniform(1.0, 2.0, 150), rng.normal(size=200)
    return ParametricLP(A, b, rng.uniform(size=150), c, np.zeros(200)), 0.5


def medium_program(rng):
    """Sparse rows with losses, bounds and ranges; kinks and slopes that move."""
    return several_kinks(7), 0.8


MEDIUM = [
    medium_dantzig,
    medium_adaptive_dantzig,
    medium_lad,
    medium_quantile,
    medium_compressed_sensing,
    medium_discriminant,
    medium_svm,
    medium_precision_matrix,
    medium_network,
    medium_matrix,
    medium_production,
    medium_program,
    medium_tall_svm,
]


def test_every_parametric_model_is_among_them():
    kinds = {name for name, kind in problem_kinds().items() if kind.family == "parametric"}
    ours = {name for name in kinds if problem_kinds()[name].__module__.startswith("sparseopt.")}
    assert ours == {model(np.random.default_rng(0))[0].kind for model in MEDIUM}


@pytest.mark.thorough
@pytest.mark.parametrize("model", first(len(MEDIUM) - 1, MEDIUM))
def test_medium_problems(model):
    problem, lam = model(np.random.default_rng(1))
    for share in (1.0, 2.3):
        assert_same_optimum(problem, share * lam, {"start": 10, "batch": 5}, ("highs", "homotopy"))


# ---- what it is for


class Counted(GramMap):
    """A Gram matrix that counts the entries it is asked for and refuses to be formed."""

    entries = 0

    def block(self, rows, columns):
        self.entries += len(rows) * len(columns)
        return super().block(rows, columns)

    def as_array(self):
        raise AssertionError("the whole matrix was formed")


@pytest.mark.thorough
def test_a_small_part_of_a_large_matrix_is_enough():
    problem = generators.generate("dantzig-4.3", seed=1, n=100, d=3000)
    A = Counted(problem.X)
    program = problem.canonical()
    lam = generators.stopping_value(100, 3000)
    result = solve(PiecewiseLinearProgram(A, program.phi, program.psi), lam=lam)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    assert np.count_nonzero(result.x) > 10
    assert A.entries < 0.05 * 3000**2
    expected = solve(problem, backend="homotopy", lam=lam)
    assert result.objective == pytest.approx(expected.objective, rel=1e-9)


# ---- grids and warm starts


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("kind", first(7, KINDS))
def test_a_grid_has_the_values_of_single_solves(kind):
    problem = kind(1)
    grid = [5.0, 2.5, 1.0, 0.3, 0.0]
    result = solve(problem, SMALL_STEPS, lam=grid)
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    expected = solve(problem, backend="highs", lam=grid).path
    assert result.path.knots.tolist() == expected.knots.tolist()
    assert result.path.stopped_by == expected.stopped_by
    assert result.path.values == pytest.approx(expected.values, rel=1e-9, abs=1e-9)
    for lam in result.path.knots:
        assert_optimal(problem, result.path.at(lam), result.path.dual_at(lam), lam)


def test_a_grid_costs_less_than_its_values_one_by_one():
    problem, lam = medium_dantzig(np.random.default_rng(2))
    grid = [3.0 * lam, 2.0 * lam, 1.5 * lam, lam]
    together = solve(problem, lam=grid).iterations
    assert together < sum(solve(problem, lam=value).iterations for value in grid)


def test_a_grid_ends_where_nothing_is_feasible_below():
    result = solve(impossible_below_one(), lam=[3.0, 2.0, 0.5, 0.1])
    assert result.status is Status.OPTIMAL
    assert result.verdict is Verdict.VERIFIED
    assert result.path.knots.tolist() == [3.0, 2.0]
    assert result.path.stopped_by == "infeasible_below"


def test_a_grid_that_is_infeasible_at_its_largest_value_alone_says_so():
    with pytest.raises(ParamError, match=r"infeasible at lam = 3.*below 2"):
        solve(possible_up_to_two(), lam=[3.0, 1.5])


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("model", [medium_dantzig, medium_lad, medium_svm, medium_discriminant])
def test_a_previous_result_is_a_warm_start(model):
    problem, lam = model(np.random.default_rng(3))
    cold = solve(problem, lam=lam)
    again = solve(problem, lam=lam, warm_start=cold)
    assert again.objective == pytest.approx(cold.objective, rel=1e-12)
    assert again.iterations <= 0.1 * cold.iterations
    near = solve(problem, lam=0.95 * lam, warm_start=cold)
    assert near.verdict is Verdict.VERIFIED
    assert near.iterations < 0.5 * solve(problem, lam=0.95 * lam).iterations


def test_any_start_leads_to_the_same_optimum():
    problem, lam = medium_lad(np.random.default_rng(4))
    expected = solve(problem, lam=lam).objective
    far = solve(problem, lam=20.0 * lam)
    for start in (far, np.zeros(301), np.ones(301)):
        result = solve(problem, lam=lam, warm_start=start)
        assert result.verdict is Verdict.VERIFIED
        assert result.objective == pytest.approx(expected, rel=1e-9)


def test_a_result_without_a_point_is_ignored_with_a_note():
    problem = impossible_below_one()
    nothing = solve(problem, lam=0.5)
    result = solve(problem, lam=2.0, warm_start=nothing)
    assert result.status is Status.OPTIMAL
    assert any("warm start has no point" in note for note in result.notes)


@pytest.mark.parametrize("start", [np.zeros(3), "x", [1.0, np.nan, 0.0, 0.0, 0.0, 0.0]])
def test_a_start_that_is_none_is_refused(start):
    X, y = DEGENERATE["integers"]
    with pytest.raises(ParamError, match=r"warm_start.*expected.*6"):
        solve(DantzigSelector(X, y), lam=1.0, warm_start=start)


# ---- matrices, column by column


@pytest.mark.thorough
def test_the_columns_of_a_matrix_are_solved_one_by_one():
    problem, lam = medium_precision_matrix(np.random.default_rng(6))
    whole = solve(problem, lam=lam)
    columns = [solve(problem.column(i), lam=lam) for i in range(15)]
    assert np.array_equal(whole.x, np.concatenate([column.x for column in columns]))
    assert whole.iterations == sum(column.iterations for column in columns)
    again = solve(problem, lam=lam, warm_start=whole)
    assert again.iterations == 0
    assert again.objective == pytest.approx(whole.objective, rel=1e-12)


def test_a_column_that_is_infeasible_proves_it_for_the_matrix():
    # The last row and column are zero: no multiple of them reaches the identity.
    S = covariance(np.random.default_rng(7), 50, 12)
    S[-1] = S[:, -1] = 0.0
    result = solve(CLIME(S), lam=0.5)
    assert result.status is Status.INFEASIBLE
    assert result.verdict is Verdict.VERIFIED
    assert not result.certificate.arrays["nu"][:-12].any()


@pytest.mark.thorough
def test_a_limit_leaves_a_bound_of_all_columns():
    problem = CLIME(covariance(np.random.default_rng(8), 200, 30))
    whole = solve(problem, lam=0.05)
    result = solve(problem, lam=0.05, iteration_limit=whole.iterations // 2)
    assert result.status is Status.NO_SOLUTION
    assert result.limit is Limit.ITERATION
    assert result.iterations == whole.iterations // 2
    assert 0.1 * whole.objective < result.bound < whole.objective


# ---- where there is no optimum


@pytest.mark.parametrize("options", [SMALL_STEPS, None], ids=["small-steps", "default"])
@pytest.mark.parametrize("seed", first(1, range(3)))
def test_an_infeasible_value_comes_with_farkas_multipliers_of_all_columns(seed, options):
    problem = too_many_bands(seed)
    end = solve(problem, backend="highs").path.low[-1]
    result = solve(problem, options, lam=0.99 * end)
    assert result.status is Status.INFEASIBLE
    assert result.verdict is Verdict.VERIFIED
    assert farkas_sum(problem, result.certificate.arrays["nu"], 0.99 * end) < 0.0
    assert solve(problem, options, lam=1.01 * end).status is Status.OPTIMAL


@pytest.mark.thorough
def test_infeasible_where_the_whole_program_is_too_large_for_highs():
    # More rows than rank: the scatter of 40 observations cannot be inverted.
    rng = np.random.default_rng(0)
    X = np.round(2.0 * rng.normal(size=(40, 400)))
    whole, rounded = LPD(X.T @ X, np.eye(400)[0]), LPD(covariance(rng, 40, 400), np.eye(400)[0])
    # That of integers is singular exactly; a rounded one is so up to rounding only.
    for problem, verdict in ((whole, Verdict.VERIFIED), (rounded, Verdict.UNPROVEN)):
        result = solve(problem, {"max_entries": 1e5}, lam=0.01)
        assert result.status is Status.INFEASIBLE
        assert result.verdict is verdict


@pytest.mark.parametrize("options", [SMALL_STEPS, None], ids=["small-steps", "default"])
def test_an_unbounded_value_comes_with_a_point_and_a_ray(options):
    # The third column and the first two rows are what matters; none is there at the start.
    A = np.array([[1.0, 2.0, -1.0], [1.0, 1.0, -3.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    b = np.array([-1.0, -1.0, 5.0, 5.0])
    problem = ParametricLP(A, b, np.zeros(4), np.array([1.0, 1.0, 0.5]), np.zeros(3))
    assert by_linprog(problem, 1.0) == 3
    result = solve(problem, options, lam=1.0)
    assert result.status is Status.UNBOUNDED
    assert result.verdict is Verdict.VERIFIED
    point, ray = (result.certificate.arrays[name] for name in ("x", "ray"))
    gains = [problem.objective(point + far * ray, 1.0) for far in (0.0, 10.0)]
    assert gains[1] > gains[0] + 1.0
    assert max(problem.residuals(point + 1e3 * ray, 1.0).values()) <= 1e-9


def test_rows_that_keep_the_objective_bounded_are_found():
    """Maximise c'x: without any row it is unbounded, and each variable has its own row."""
    rng = np.random.default_rng(5)
    n = 300
    c, b = rng.uniform(1.0, 2.0, n), rng.uniform(1.0, 2.0, n)
    problem = ParametricLP(np.eye(n), b, np.zeros(n), c, np.zeros(n))
    result = solve(problem, {"start": 5, "batch": 20}, lam=1.0)
    assert result.verdict is Verdict.VERIFIED
    assert result.objective == pytest.approx(c @ b, rel=1e-12)


# ---- limits


@pytest.fixture(scope="module")
def large():
    """A Dantzig selector and a LAD-lasso that take a second or more."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 4000))
    y = X[:, :60] @ np.ones(60) + 3.0 * rng.normal(size=400)
    return DantzigSelector(X, y), 0.02 * np.abs(X.T @ y).max(), LADLasso(X, y), 5.0


def assert_bound(problem, lam, result):
    """The multipliers prove the stated bound, and it is below the optimum."""
    assert result.bound is not None
    program = problem.canonical()
    v = -program.A.rmatvec(result.duals["rows"])
    low, high = program.phi.slope_range(lam)
    assert max((low - v).max(), (v - high).max()) <= 1e-9
    assert result.bound == program.dual_value(result.duals["rows"], lam)
    assert result.bound > 0.0


@pytest.mark.thorough
def test_a_time_limit_leaves_a_bound(large, in_time):
    problem, lam = large[:2]
    result = in_time(1.5, lambda: solve(problem, lam=lam, time_limit=0.4))
    assert result.status is Status.NO_SOLUTION
    assert result.limit is Limit.TIME
    assert result.verdict is not Verdict.REFUTED
    assert_bound(problem, lam, result)


@pytest.mark.thorough
def test_a_time_limit_leaves_a_point_where_every_point_is_feasible(large):
    problem, lam = large[2:]
    start = problem.objective(np.zeros(4000), lam)
    # A busy machine may not leave the first point in less.
    for seconds in (0.4, 0.8, 1.6):
        result = solve(problem, lam=lam, time_limit=seconds)
        assert result.status is Status.FEASIBLE
        assert result.limit is Limit.TIME
        assert result.verdict is Verdict.VERIFIED
        if result.objective < start:
            break
    assert result.objective < start
    assert_bound(problem, lam, result)
    assert result.bound <= result.objective


@pytest.mark.thorough
def test_a_time_limit_leaves_the_grid_so_far(large):
    problem, lam = large[:2]
    grid = (lam * np.geomspace(60.0, 1.0, 12)).tolist()
    result = solve(problem, lam=grid, time_limit=0.6)
    assert result.status is Status.FEASIBLE
    assert result.limit is Limit.TIME
    assert result.path.knots.tolist() == grid[: len(result.path.knots)]
    assert 0 < len(result.path.knots) < len(grid)
    assert result.verdict is not Verdict.REFUTED


@pytest.mark.thorough
def test_ctrl_c_ends_with_what_is_known(large, in_time):
    problem, lam = large[2:]

    def interrupted(seconds):
        timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
        timer.start()
        result = solve(problem, lam=lam)
        timer.join()
        return result

    # A busy machine may not leave the first bound in less.
    for seconds in (0.5, 1.0, 2.0):
        result = in_time(seconds + 1.5, functools.partial(interrupted, seconds))
        assert result.status is Status.FEASIBLE
        assert result.limit is Limit.INTERRUPTED
        if result.bound > 0.0:
            break
    assert_bound(problem, lam, result)


def test_the_iteration_limit_counts_all_rounds(large):
    problem, lam = large[2:]
    result = solve(problem, lam=lam, iteration_limit=300)
    assert result.limit is Limit.ITERATION
    assert result.iterations == 300


def test_a_working_set_that_is_too_large_ends_the_solve(large):
    problem, lam = large[:2]
    result = solve(problem, {"max_entries": 3e4}, lam=lam)
    assert result.status is Status.NO_SOLUTION
    assert result.limit is Limit.MEMORY
    assert_bound(problem, lam, result)


def test_a_path_is_for_other_backends():
    X, y = DEGENERATE["integers"]
    with pytest.raises(sparseopt.UnsupportedProblem, match="path of lam"):
        solve(DantzigSelector(X, y), lam_min=0.0)
