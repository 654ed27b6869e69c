"""The ADMM: its projections, the value of the relaxation, and bounds that always hold."""

import numpy as np
import pytest
from small_problems import small_problems
from thorough import first

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.problems import STRS
from sparseopt.solvers.strs.relaxation.admm_rows import project_rows
from sparseopt.solvers.strs.relaxation.admm_steps import spectral_projection


def solve(problem, **question):
    return sparseopt.solve(problem, backend="strs-admm", **question)


def project(X, x, d):
    n = len(x)
    Y, y, q = np.zeros((n, n)), np.zeros(n), np.zeros(n)
    project_rows(X, x, d, True, Y, y, q, np.full((3, n), 0.7), 0.0)
    return Y, y, q


def random_member(rng, n, d):
    """Return rows that are a mixture of what unit vectors on supports of size d give."""
    Y, y = np.zeros((n, n)), np.zeros(n)
    for weight in rng.dirichlet(np.ones(4)):
        z = np.zeros(n)
        z[rng.choice(n, size=d, replace=False)] = rng.normal(size=d)
        z /= np.linalg.norm(z)
        Y, y = Y + weight * np.outer(z, z), y + weight * z * rng.choice([-1.0, 1.0])
    return Y, y


@pytest.mark.parametrize("size", [0.05, 0.3, 1.0, 20.0])
@pytest.mark.parametrize(("n", "d"), [(5, 2), (8, 1), (6, 6), (30, 4)])
def test_the_nearest_rows(n, d, size):
    """Feasible, and at an angle of at least 90 degrees from every other member of the set."""
    rng = np.random.default_rng(n)
    X, x = size * rng.normal(size=(n, n)), size * rng.normal(size=n)
    Y, y, q = project(X, x, d)
    t = np.diagonal(Y)
    assert q.min() >= 0.0
    assert q.max() <= 1.0
    assert q.sum() <= d * (1.0 + 1e-9)
    assert (y**2 <= t * q + 1e-12).all()
    assert ((Y**2).sum(axis=1) <= t * q + 1e-12).all()
    assert (np.abs(Y).sum(axis=1) ** 2 <= d * t * q + 1e-12).all()
    others = [random_member(rng, n, d) for _ in range(50)]
    moved = (Y + 1e-3 * rng.normal(size=(n, n)), y + 1e-3 * rng.normal(size=n))
    others += [project(*moved, d)[:2], (0.0 * Y, 0.0 * y), (0.9 * Y, 0.9 * y)]
    for other, border in others:
        product = np.sum((X - Y) * (other - Y)) + 2.0 * (x - y) @ (border - y)
        assert product <= 1e-8 * (1.0 + size) ** 2


def test_the_nearest_matrix_of_a_trace():
    rng = np.random.default_rng(0)
    M = rng.normal(size=(6, 6))
    M += M.T
    Z = spectral_projection(M, 2.0, np.array([1]))
    assert np.trace(Z) == pytest.approx(2.0)
    assert np.linalg.eigvalsh(Z).min() >= -1e-12
    for _ in range(20):
        V = rng.normal(size=(6, 6))
        other = V @ V.T
        other *= 2.0 / np.trace(other)
        assert np.sum((M - Z) * (other - Z)) <= 1e-10


@pytest.mark.thorough
@pytest.mark.parametrize("case", first(1, ["indefinite", "mean-shift", "pitprops-like"]))
def test_the_value_is_that_of_an_interior_point_method(case):
    cp = pytest.importorskip("cvxpy")
    rng = np.random.default_rng(3)
    if case == "mean-shift":
        problem = generators.generate("mean-shift", D=12, d=3, n=200)
    elif case == "pitprops-like":
        problem = STRS.from_data(rng.normal(size=(20, 10)), 4)
    else:
        M = rng.normal(size=(9, 9))
        problem = STRS(A=M + M.T, a=rng.normal(size=9), d=3)
    n, d = len(problem.linear), problem.d
    W, q = cp.Variable((n + 1, n + 1), PSD=True), cp.Variable(n)
    z, Z = W[0, 1:], W[1:, 1:]
    rows = [W[0, 0] == 1.0, cp.trace(Z) == 1.0, q >= 0.0, q <= 1.0, cp.sum(q) <= d]
    for i in range(n):
        rows.append(cp.quad_over_lin(Z[i], q[i]) <= Z[i, i])
        rows.append(cp.quad_over_lin(cp.norm1(Z[i]), q[i]) <= d * Z[i, i])
        rows.append(cp.quad_over_lin(z[i], q[i]) <= Z[i, i])
    objective = cp.Maximize(cp.trace(problem.A @ Z) + problem.linear @ z)
    value = cp.Problem(objective, rows).solve(solver="CLARABEL")
    result = solve(problem)
    assert result.status in (Status.CONVERGED, Status.OPTIMAL)
    assert result.certificate.values["relaxation"] == pytest.approx(value, rel=2e-5)
    assert result.objective <= result.bound <= value + 1e-5 * abs(value)


@pytest.mark.thorough
def test_bounds_hold_on_small_problems_of_all_kinds():
    for kind, problem in small_problems(5, 22, 8):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        result = solve(problem)
        slack = 1e-12 * max(1.0, np.abs(problem.A).max(), np.abs(problem.linear).max())
        assert result.objective <= optimum + slack, kind
        assert result.bound >= optimum - slack, kind
        assert result.verdict is Verdict.VERIFIED, kind
        assert result.status in (Status.CONVERGED, Status.OPTIMAL), kind


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("question", [{"time_limit": 0.0}, {"iteration_limit": 25}])
def test_interrupted_bounds_hold(question):
    problem = generators.generate("mean-shift", D=20, d=5)
    optimum = sparseopt.solve(problem, backend="strs-bnb", check=False).objective
    result = solve(problem, **question)
    assert result.limit is (Limit.TIME if "time_limit" in question else Limit.ITERATION)
    assert result.objective <= optimum + 1e-12
    assert result.bound >= optimum - 1e-12
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_acceleration_and_scale_change_nothing_but_the_time():
    problem = generators.generate("gaussian-mixture", D=15, d=4)
    plain = solve(problem, options={"memory": 0})
    fast = solve(problem)
    large = solve(STRS(A=1e9 * problem.A, a=1e9 * problem.linear, d=4))
    assert plain.bound == pytest.approx(fast.bound, rel=2e-5)
    assert large.bound / 1e9 == pytest.approx(fast.bound, rel=2e-5)


@pytest.mark.thorough
def test_a_changed_pair_is_refuted():
    problem = generators.generate("mean-shift", D=20, d=5)
    result = solve(problem)
    arrays = {**result.certificate.arrays, "pair_L": 0.9 * result.certificate.arrays["pair_L"]}
    changed = result.with_changes(certificate=sparseopt.Certificate("leaves", arrays))
    assert sparseopt.check(problem, changed).verdict is Verdict.REFUTED
