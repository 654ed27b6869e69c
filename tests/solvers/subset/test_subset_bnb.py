"""Regression with few nonzeros: optima, bounds, certificates, limits, and what is verified."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.checking.subset.verifier import NodeBound
from sparseopt.compiling import Mode, override
from sparseopt.errors import ProblemError
from sparseopt.generators import sparse_regression
from sparseopt.problems import SparseRegression
from sparseopt.solvers.subset.relaxation import descend, least_squares
from sparseopt.testing.subset import best_of_all_supports


def drawn(seed):
    """Return a small problem of any kind: copies of columns, tiny units, exact fits, prices."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(1, 9)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, p)) * rng.choice([1e-3, 1.0, 1.0, 30.0], size=p)
    if rng.random() < 0.3 and p > 2:
        X[:, 1], X[:, 2] = X[:, 0], -2.0 * X[:, 0]
    if rng.random() < 0.3:
        X = np.round(X)
    y = rng.normal(size=n) * rng.choice([1e-2, 1.0, 1e4])
    if rng.random() < 0.3:
        y = X @ np.where(rng.random(p) < 0.5, 0.0, rng.normal(size=p))
    ridge = float(rng.choice([0.0, 1e-6, 1e-2, 0.3, 3.0]))
    bound = None if ridge and rng.random() < 0.5 else float(rng.choice([0.01, 0.3, 1.0, 10.0]))
    return SparseRegression(
        X,
        y,
        k=int(rng.integers(1, p + 1)),
        ridge=ridge,
        bound=bound,
        penalty=float(rng.choice([0.0, 0.0, 0.01, 0.3])) * float(y @ y) / 2.0,
    )


def is_settled(problem):
    """Return whether the solver proves the best of all supports."""
    result = sparseopt.solve(problem)
    best = best_of_all_supports(problem)
    allowed = 1e-6 * best + 1e-9 * float(problem.y @ problem.y)
    proven = (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    return proven and abs(result.objective - best) <= allowed


@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_all_supports(seed):
    assert is_settled(drawn(seed))


@pytest.mark.thorough
def test_the_optima_of_many_problems_are_those_of_all_supports():
    assert [seed for seed in range(100, 500) if not is_settled(drawn(seed))] == []


@given(st.integers(0, 10_000))
@settings(max_examples=50, deadline=None)
def test_a_dual_vector_and_what_it_fixes_hold_for_all_supports(seed):
    """Of the checker, with any r: no support of the node is below what it is said to reach."""
    problem = drawn(seed)
    p, k = problem.X.shape[1], problem.k
    rng = np.random.default_rng(seed)
    inside = rng.permutation(p)[: int(rng.integers(0, min(k, p) + 1))]
    free = np.setdiff1d(np.arange(p), inside)
    free = free[rng.random(len(free)) < 0.8]
    w = rng.normal(size=p) * (rng.random(p) < 0.4) * rng.choice([0.0, 1e-3, 1.0])
    r = problem.y - problem.X @ w
    c, lengths = r @ problem.X, np.sqrt(problem.squares)
    found = NodeBound.at(problem, r, (c[inside], lengths[inside]), (c[free], lengths[free]))
    target = found.value + 0.3 * abs(found.value) * rng.random()
    held, dropped = found.fixings(target)
    for size in range(k - len(inside) + 1):
        for more in itertools.combinations(range(len(free)), min(size, len(free))):
            S = np.append(inside, free[list(more)]).astype(int)
            X = problem.X[:, S]
            b = least_squares(problem, X.T @ X, X.T @ problem.y) if len(S) else np.zeros(0)
            x = np.zeros(p)
            x[S] = b
            value = problem.objective(x) + problem.penalty * int((b == 0.0).sum())
            value *= 1.0 + 1e-12
            assert value >= found.value
            chosen = np.zeros(len(free), dtype=bool)
            chosen[list(more)] = True
            if (held & ~chosen).any() or (dropped & chosen).any():
                assert value >= target


@pytest.mark.parametrize("bound", [None, 0.2])
def test_least_squares_of_dependent_columns_satisfy_their_conditions(bound):
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(2, 5)), rng.normal(size=2)
    problem = SparseRegression(X, y, k=5, ridge=0.0 if bound else 1e-6, bound=bound)
    b = least_squares(problem, X.T @ X, X.T @ y)
    assert np.abs(b).max() <= problem.limit
    assert problem.objective(b) == pytest.approx(best_of_all_supports(problem), rel=1e-8, abs=1e-9)


def test_columns_outside_the_pool_come_in_or_are_left_out():
    problem = sparse_regression(n=100, p=2500, k=4, ridge=0.3)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert np.flatnonzero(result.x).tolist() == [312, 937, 1562, 2187]


def test_scaling_and_permuting_columns_changes_nothing_else():
    problem = sparse_regression(n=40, p=60, k=3, rho=0.5, ridge=0.3)
    before = sparseopt.solve(problem)
    order = np.random.default_rng(0).permutation(60)
    scaled = SparseRegression(1e-6 * problem.X[:, order], 1e3 * problem.y, k=3, ridge=0.3e-12)
    after = sparseopt.solve(scaled)
    assert after.verdict is Verdict.VERIFIED
    assert after.objective == pytest.approx(1e6 * before.objective, rel=1e-9)
    assert np.allclose(after.x, 1e9 * before.x[order], rtol=1e-6)


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(3))
def test_gurobi_agrees_on_the_mixed_integer_program(seed):
    gurobi = pytest.importorskip("gurobipy")
    problem = sparse_regression(seed=seed, n=40, p=60, k=4, rho=0.5, ridge=0.1, bound=1.3)
    result = sparseopt.solve(problem)
    with gurobi.Env(params={"OutputFlag": 0}) as env, gurobi.Model(env=env) as model:
        model.Params.MIPGap = 1e-9
        b = model.addMVar(60, lb=-1.3, ub=1.3)
        z = model.addMVar(60, vtype="B")
        model.addConstr(b <= 1.3 * z)
        model.addConstr(b >= -1.3 * z)
        model.addConstr(z.sum() <= 4)
        H, h = problem.X.T @ problem.X + 0.1 * np.eye(60), problem.X.T @ problem.y
        model.setObjective(0.5 * (b @ H @ b) - h @ b + 0.5 * float(problem.y @ problem.y))
        model.optimize()
        assert result.verdict is Verdict.VERIFIED
        assert result.objective == pytest.approx(model.ObjVal, rel=1e-6)


def hard():
    return sparse_regression(n=60, p=300, k=8, rho=0.5, ridge=0.1)


@pytest.mark.parametrize("question", [{"time_limit": 1e-6}, {"node_limit": 30}])
def test_a_limit_leaves_a_bound_that_is_verified(question):
    result = sparseopt.solve(hard(), **question)
    limit = Limit.TIME if "time_limit" in question else Limit.NODE
    assert (result.status, result.limit) == (Status.FEASIBLE, limit)
    assert result.verdict is Verdict.VERIFIED
    assert 0.0 <= result.bound < result.objective


@pytest.mark.thorough
def test_the_bound_of_an_unfinished_search_is_above_that_of_the_root():
    first, later = (sparseopt.solve(hard(), node_limit=most) for most in (1, 120))
    assert first.verdict is later.verdict is Verdict.VERIFIED
    assert later.bound > first.bound


def test_a_pool_without_room_ends_with_a_verified_answer():
    result = sparseopt.solve(hard(), options={"pool": 8}, node_limit=20)
    assert result.verdict is Verdict.VERIFIED
    assert any("pool" in note for note in result.notes)


def solved():
    problem = sparse_regression(n=40, p=30, k=3, rho=0.5, ridge=0.05)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    assert len(result.certificate.arrays["parent"]) > 5
    return problem, result


def with_arrays(result, **arrays):
    certificate = result.certificate
    return result.with_changes(
        certificate=sparseopt.Certificate(certificate.kind, {**certificate.arrays, **arrays})
    )


def test_false_certificates_are_refuted():
    problem, result = solved()
    own = result.certificate.arrays
    closed = np.flatnonzero(own["dual"] >= 0)
    without = own["dual"].copy()
    without[closed[-1]] = -1
    rotated = (own["variable"] + 1) % 30
    rotated[0] = -1
    for change in (
        {"dual": without},
        {"dual": np.where(own["dual"] >= 0, 0, -1)},
        {"variable": rotated},
        {"inside": 1 - own["inside"]},
        {"w_index": (own["w_index"] + 1) % 30},
        {"w_value": 0.5 * own["w_value"]},
        {"w_value": np.full(len(own["w_value"]), np.nan)},
        {"parent": own["parent"][:-1]},
        {name: own[name][:-1] for name in ("parent", "variable", "inside", "dual")},
        {"parent": np.append(own["parent"][:-1], len(own["parent"]) + 3)},
        {"w_ptr": own["w_ptr"][::-1]},
    ):
        assert sparseopt.check(problem, with_arrays(result, **change)).verdict is Verdict.REFUTED


def test_a_worse_support_with_a_raised_bound_is_refuted():
    problem, result = solved()
    x = np.roll(result.x, 1)
    value = problem.objective(x)
    lie = result.with_changes(x=x, objective=value, bound=value)
    assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED


def test_the_certificate_of_another_problem_is_refuted():
    problem, result = solved()
    other = problem.with_changes(y=problem.y[::-1].copy())
    value = other.objective(result.x)
    lie = sparseopt.Result(
        status=Status.OPTIMAL,
        x=result.x,
        objective=value,
        bound=value,
        certificate=result.certificate,
    )
    assert sparseopt.check(other, lie).verdict is Verdict.REFUTED


def test_too_many_nonzeros_and_coefficients_beyond_the_bound_are_refuted():
    problem = SparseRegression(np.eye(3), [1e7, 1.0, 0.0], k=1, ridge=1.0, bound=1e7)
    result = sparseopt.solve(problem)
    for x in (np.array([5e6, 0.5, 0.0]), np.array([1.1e7, 0.0, 0.0])):
        lie = result.with_changes(x=x, objective=problem.objective(x))
        assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"k": 4}, "from 1 to 3"),
        ({"k": 0}, "from 1 to 3"),
        ({"k": True}, "integer"),
        ({"X": np.full((2, 3), np.nan)}, "finite"),
        ({"y": [1.0, np.inf]}, "finite"),
        ({"y": [1.0]}, "shape"),
        ({"ridge": -1.0}, ">= 0"),
        ({"ridge": 0.0}, "neither a ridge nor a bound"),
        ({"bound": 0.0}, "> 0"),
        ({"penalty": np.nan}, ">= 0"),
        ({"ridge": "much"}, "number"),
        ({"X": np.full((2, 3), 1e200)}, "overflow"),
    ],
)
def test_data_that_make_no_problem_are_named(change, says):
    given = {"X": np.ones((2, 3)), "y": [1.0, 2.0], "k": 2, "ridge": 1.0, **change}
    with pytest.raises(ProblemError, match=says):
        SparseRegression(**given)


def test_descent_is_the_same_in_loops_and_in_arrays():
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(9, 7)), rng.normal(size=9)
    inside = np.arange(7) < 2
    numbers = np.array([0.1, 0.4, 0.3, 0.2, 0.0])
    found = []
    for form in (descend.__wrapped__, descend):
        c, b = X.T @ y, np.zeros(7)
        with override(Mode.NEVER):
            assert 1 < form(X.T @ X, c, b, inside, numbers, 300) <= 300
        np.testing.assert_allclose(c, X.T @ (y - X @ b), atol=1e-12)
        found.append(b)
    np.testing.assert_allclose(found[0], found[1], atol=1e-12)
    assert 0.4 in np.abs(found[0]) and 0.0 in found[0]
