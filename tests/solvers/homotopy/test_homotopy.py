"""The homotopy engine against an independent linear program, on general and degenerate inputs."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from epigraph import solve_epigraph
from thorough import first

import sparseopt
from sparseopt import Certificate, Limit, SolveParams, Status, Verdict
from sparseopt.generators.classification import l1_svm
from sparseopt.problems import (
    LPD,
    DantzigSelector,
    LADLasso,
    ParametricLP,
    Pieces,
    PiecewiseLinearProgram,
)


def solve(problem, **question):
    return sparseopt.solve(problem, backend="homotopy", check=False, **question)


def random_pieces(rng, n, integer, moving):
    """Random convex functions with 1 to 3 kinks: bounds, equalities, ties and flat parts."""
    ptr, kink, kink_rate, slope, slope_rate = [0], [], [], [], []
    for _ in range(n):
        q = int(rng.integers(1, 4))

        def draw(count):
            if integer:
                return np.sort(rng.integers(-3, 4, count).astype(float))
            return np.sort(rng.normal(size=count))

        t, s = draw(q), draw(q + 1)
        t_rate = draw(q) if moving != "slopes" else np.zeros(q)
        s_rate = draw(q + 1) if moving != "kinks" else np.zeros(q + 1)
        if rng.random() < 0.4:
            s[0], s_rate[0] = -np.inf, 0.0
        if rng.random() < 0.4 and (q >= 2 or np.isfinite(s[0])):
            s[-1], s_rate[-1] = np.inf, 0.0
        if q == 2 and rng.random() < 0.3:
            s[:], s_rate[:] = [-np.inf, 0.0, np.inf], 0.0
            t[1], t_rate[1] = t[0], t_rate[0]
        kink.extend(t)
        kink_rate.extend(t_rate)
        slope.extend(s)
        slope_rate.extend(s_rate)
        ptr.append(ptr[-1] + q)
    return Pieces(*(np.array(part) for part in (ptr, kink, kink_rate, slope, slope_rate)))


def random_program(seed):
    rng = np.random.default_rng(seed)
    m, p = rng.integers(1, 8, 2)
    integer, moving = bool(seed % 2), ("both", "kinks", "slopes")[seed % 3]
    A = rng.integers(-2, 3, (m, p)).astype(float) if integer else rng.normal(size=(m, p))
    phi, psi = (random_pieces(rng, count, integer, moving) for count in (p, m))
    return PiecewiseLinearProgram(sp.csr_array(A) if seed % 5 == 0 else A, phi, psi)


def assert_optimal(problem, theta, nu, lam):
    """Feasibility of both sides and a closed gap: together they prove optimality."""
    program = problem.canonical()
    assert max(problem.residuals(theta, lam).values()) <= 1e-9 * (1.0 + np.abs(theta).max())
    for pieces, v in ((program.psi, nu), (program.phi, -program.A.rmatvec(nu))):
        low, high = pieces.slope_range(lam)
        assert max((low - v).max(), (v - high).max()) <= 1e-9 * (1.0 + np.abs(nu).max())
    primal, dual = program.value(theta, lam), program.dual_value(nu, lam)
    assert primal == pytest.approx(dual, rel=1e-9, abs=1e-9)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("block", first(3, range(6)))
def test_random_programs_agree_with_the_epigraph_lp(block):
    rng = np.random.default_rng(block)
    for seed in range(10 * block, 10 * block + 10):
        problem = random_program(seed)
        result = solve(problem)
        for lam in (0.0, rng.uniform(0.0, 3.0), rng.uniform(0.0, 10.0)):
            status, value = solve_epigraph(problem, lam)
            single = solve(problem, lam=float(lam))
            assert single.status.value == status, (seed, lam)
            if status == "optimal":
                assert single.objective == pytest.approx(value, rel=1e-8, abs=1e-8), (seed, lam)
                assert_optimal(problem, single.x, single.duals["rows"], lam)
            path = result.path
            if path is not None and path.low[-1] <= lam <= path.high[0]:
                assert status == "optimal", (seed, lam)
                assert path.objective_at(lam) == pytest.approx(value, rel=1e-8, abs=1e-8)
                for side in ("above", "below"):
                    assert_optimal(problem, path.at(lam, side), path.dual_at(lam, side), lam)


def regressions(seed):
    """Small regressions: integer data, duplicated and zero columns, more columns than rows."""
    rng = np.random.default_rng(seed)
    n, d = rng.integers(1, 12, 2)
    if seed % 2:
        X, y = rng.integers(-2, 3, (n, d)).astype(float), rng.integers(-3, 4, n).astype(float)
    else:
        X, y = rng.normal(size=(n, d)), rng.normal(size=n)
    if seed % 5 == 0 and d > 2:
        X[:, 1], X[:, 2] = X[:, 0], 0.0
    if seed % 7 == 0:
        y = np.full(n, 2.0)
    weights = rng.integers(0, 3, d).astype(float) if seed % 3 == 0 else None
    yield DantzigSelector(X, y, scale="n" if seed % 4 == 0 else "none", weights=weights)
    yield DantzigSelector(X, y, weights=weights, row_weights=weights)
    yield LADLasso(X, y, weights=weights)
    yield LADLasso(X, y, fit_intercept=True, weights=weights)


@pytest.mark.thorough
@pytest.mark.parametrize("block", first(1, range(5)))
def test_degenerate_regressions_end_in_an_optimal_path(block):
    rng = np.random.default_rng(block)
    for seed in range(8 * block, 8 * block + 8):
        for problem in regressions(seed):
            result = solve(problem)
            path = result.path
            assert result.status is Status.OPTIMAL, (seed, problem.kind)
            assert path.stopped_by == "lam_min"
            assert path.low[-1] == 0.0
            assert path.high[0] == np.inf
            for lam in (0.0, *rng.uniform(0.0, 1.1 * path.low[0] + 0.1, 2), *path.low[:2]):
                _, value = solve_epigraph(problem.canonical(), lam)
                assert path.objective_at(lam) == pytest.approx(value, rel=1e-8, abs=1e-8)
                for side in ("above", "below"):
                    assert_optimal(problem, path.at(lam, side), path.dual_at(lam, side), lam)


def test_the_dantzig_selector_on_an_orthogonal_design_is_soft_thresholding():
    y = np.array([3.0, -2.0, 0.5, 0.0])
    path = solve(DantzigSelector(np.eye(4), y)).path
    assert path.knots.tolist() == [3.0, 2.0, 0.5, 0.0]
    for lam in (5.0, 2.5, 1.0, 0.25, 0.0):
        expected = np.sign(y) * np.maximum(np.abs(y) - lam, 0.0)
        assert path.at(lam) == pytest.approx(expected, abs=1e-14)


def test_the_lad_lasso_jumps_and_both_sides_are_reported():
    path = solve(LADLasso(np.eye(2), np.array([3.0, -1.0]))).path
    above, below = path.at(1.0, side="both")
    assert above.tolist() == [0.0, 0.0]
    assert below.tolist() == [3.0, -1.0]


@pytest.mark.thorough
def test_a_coefficient_passes_through_zero_without_a_change_of_basis():
    """The event that is missed most: consecutive bases differ in the sign of one coefficient."""
    found = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(12, 6)) @ rng.normal(size=(6, 6))
        problem = DantzigSelector(X, rng.normal(size=12))
        result = solve(problem)
        arrays = result.certificate.arrays
        codes = arrays["codes"].copy()
        for s in range(1, len(arrays["low"])):
            here = slice(arrays["change_ptr"][s], arrays["change_ptr"][s + 1])
            where, new = arrays["changed"][here], arrays["change_code"][here]
            old = codes[where].copy()
            codes[where] = new
            if len(where) == 1 and where[0] < 6 and {int(old[0]), int(new[0])} == {0, 2}:
                found += 1
                middle = 0.5 * (result.path.low[s] + result.path.high[s])
                assert_optimal(problem, result.path.at(middle), result.path.dual_at(middle), middle)
    assert found > 0


def test_a_path_that_becomes_infeasible_carries_a_farkas_proof():
    """x <= lam - 1 and x >= 0: nothing is feasible below lam = 1."""
    problem = ParametricLP(A=np.ones((1, 1)), b=[-1.0], b_bar=[1.0], c=[-1.0], c_bar=[0.0])
    result = solve(problem)
    assert result.path.stopped_by == "infeasible_below"
    assert result.path.low[-1] == pytest.approx(1.0)
    assert result.certificate.arrays["farkas"][0] > 0.0


def test_a_path_that_becomes_unbounded_carries_a_ray():
    """Maximise (1 - lam) x over x >= 0: unbounded below lam = 1."""
    problem = ParametricLP(A=np.zeros((1, 1)), b=[1.0], b_bar=[0.0], c=[1.0], c_bar=[-1.0])
    result = solve(problem)
    assert result.path.stopped_by == "unbounded_below"
    assert result.path.low[-1] == pytest.approx(1.0)
    assert result.certificate.arrays["ray"][0] > 0.0


def dense_design(n=100, d=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X[:, :10] @ np.ones(10) + rng.normal(size=n)


def test_stopping_rules():
    problem = DantzigSelector(*dense_design())
    full = solve(problem, lam_min=10.0)
    knots = solve(problem, max_knots=7)
    assert len(knots.path.low) == 7
    assert knots.path.stopped_by == "max_knots"
    assert np.allclose(knots.path.low, full.path.low[:7], rtol=1e-12)
    sparse = solve(problem, max_nonzeros=12)
    assert sparse.path.stopped_by == "max_nonzeros"
    assert sparse.path.nonzeros().max() <= 12
    wide = solve(problem, max_nonzeros=12, lam_min=0.9 * full.path.low[0])
    assert wide.path.stopped_by == "lam_min"
    assert wide.path.low[-1] == 0.9 * full.path.low[0]


@pytest.mark.thorough
def test_a_time_limit_leaves_the_path_so_far():
    problem = DantzigSelector(*dense_design(300, 3000))
    results = [solve(problem, time_limit=0.1) for _ in range(4)]
    assert {(r.status, r.limit) for r in results} == {(Status.FEASIBLE, Limit.TIME)}
    # a busy machine holds up one or another
    assert min(r.solve_time + r.build_time for r in results) < 0.6
    result = max(results, key=lambda r: len(r.path.low))
    assert len(result.path.low) > 1
    lam = float(result.path.low[-1])
    assert_optimal(problem, result.path.at(lam), result.path.dual_at(lam), lam)


def test_columns_of_very_different_size():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(40, 15)) * np.logspace(-4, 4, 15)
    problem = DantzigSelector(X, rng.normal(size=40))
    path = solve(problem).path
    program = problem.canonical()
    for lam in path.low[:: max(1, len(path.low) // 20)]:
        theta = path.at(lam)
        scale = np.abs(X.T @ problem.y) + program.A.abs_matvec(np.abs(theta))
        violation = np.abs(X.T @ (problem.y - X @ theta)) - lam
        assert (violation <= 1e-9 * scale).all()
        primal, dual = program.value(theta, lam), program.dual_value(path.dual_at(lam), lam)
        assert primal == pytest.approx(dual, rel=1e-9)


def test_every_seed_gives_the_same_objective():
    problem = LADLasso(*dense_design(30, 20), fit_intercept=True)
    paths = [solve(problem, params=SolveParams(seed=seed)).path for seed in range(3)]
    for lam in np.linspace(0.0, paths[0].low[0], 20):
        values = [path.objective_at(lam) for path in paths]
        assert values == pytest.approx([values[0]] * 3, rel=1e-10)


def test_two_multipliers_prove_a_range_infeasible_and_no_less():
    # 0 <= x <= 1 - lam asks for lam <= 1, x <= lam - 2 for lam >= 2
    column = np.ones((2, 1))
    problem = ParametricLP(column, [1.0, -2.0], [-1.0, 1.0], [-1.0], [0.0])
    result = sparseopt.solve(problem, backend="homotopy")
    assert result.status is Status.INFEASIBLE
    assert result.verdict is Verdict.VERIFIED
    arrays = result.certificate.arrays
    for changed in (
        {"nu": arrays["nu_above"], "nu_above": arrays["nu"]},
        {"nu": arrays["nu"], "nu_above": arrays["nu"]},
    ):
        forged = result.with_changes(certificate=Certificate("farkas", changed))
        assert sparseopt.check(problem, forged).verdict is Verdict.REFUTED
    # feasible for 1 <= lam <= 2: the same multipliers leave a gap between their half lines
    other = ParametricLP(column, [2.0, -1.0], [-1.0, 1.0], [-1.0], [0.0])
    assert sparseopt.check(other, result.with_changes(problem=other)).verdict is Verdict.REFUTED


@pytest.mark.thorough
@pytest.mark.parametrize("seed", first(1, [237, 39]))
def test_a_path_is_accurate_where_it_becomes_infeasible(seed):
    # the scatter of integer data of low rank: values change by 1e5 of their size with lam
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(60, 300))
    X = np.round(2 * rng.normal(size=(n, d)))
    y = X[:, :5].sum(axis=1) + rng.normal(size=n)
    problem = LPD.from_samples(X[y > 0], X[y <= 0])
    result = sparseopt.solve(problem, backend="homotopy")
    assert result.verdict == "verified", result.check_messages
    assert result.path.stopped_by == "infeasible_below"
    lam = float(result.path.low[-1])
    steepness = abs(lam * result.path.objective[-1, 1]) / result.objective
    assert steepness > 1e4
    assert np.abs(problem.S @ result.x - problem.delta).max() - lam < 1e-10
    assert result.objective == pytest.approx(result.bound, rel=1e-8)


@pytest.mark.thorough
def test_a_path_starts_from_the_variables_without_a_penalty():
    problem = l1_svm(seed=1, n=60, d=150)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    # from the top of the path on, not from a basis of all variables at some lam below
    assert result.iterations <= 1.5 * len(result.path.low)


@pytest.mark.thorough
def test_the_end_of_a_path_with_weights_of_zero_is_exact():
    rng = np.random.default_rng(4)
    X = rng.standard_normal((150, 400))
    y = 2.0 * X[:, :5].sum(axis=1) + rng.standard_normal(150) + 3.0
    weights = np.where(np.arange(400) < 6, 0.0, 1.0)
    result = sparseopt.solve(LADLasso(X, y, weights=weights), lam_min=0.0)
    assert result.verdict is Verdict.VERIFIED
    assert result.path.low[-1] == 0.0
