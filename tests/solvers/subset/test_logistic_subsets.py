"""Logistic regression with few nonzeros: optima, bounds, certificates, and what is verified."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Limit, Status, Verdict
from sparseopt.checking.subset.verifier import NodeBound, balanced
from sparseopt.errors import ProblemError
from sparseopt.generators import sparse_logistic_regression
from sparseopt.problems import SparseLogisticRegression
from sparseopt.solvers.subset.logistic import intercept_at
from sparseopt.testing.subset import best_of_all_classifiers


def drawn(seed):
    """Return a small problem of any kind: copies of columns, odd units, separated classes."""
    rng = np.random.default_rng(seed)
    n, p = int(rng.integers(3, 40)), int(rng.integers(1, 8))
    X = rng.normal(size=(n, p)) * rng.choice([1e-3, 1.0, 1.0, 30.0], size=p)
    if rng.random() < 0.3 and p > 2:
        X[:, 1], X[:, 2] = X[:, 0], -2.0 * X[:, 0]
    if rng.random() < 0.3:
        X = np.round(X)
    odds = rng.choice([np.zeros(n), X.sum(axis=1), 1e6 * X[:, 0]])
    y = np.where(rng.random(n) < 0.5 * (1.0 + np.tanh(0.5 * odds)), 1.0, -1.0)
    if (y == y[0]).all():
        y[0] *= -1.0
    ridge = float(rng.choice([0.0, 1e-6, 1e-2, 0.3, 3.0]))
    bound = None if ridge and rng.random() < 0.5 else float(rng.choice([0.01, 0.3, 1.0]))
    return SparseLogisticRegression(
        X,
        y,
        k=int(rng.integers(1, p + 1)),
        ridge=ridge,
        bound=bound,
        penalty=float(rng.choice([0.0, 0.0, 0.01, 0.3])) * n,
        fit_intercept=bool(rng.random() < 0.6),
    )


def is_settled(problem):
    """Return whether the solver proves the best of all supports, which L-BFGS-B may miss a bit."""
    result = sparseopt.solve(problem)
    best = best_of_all_classifiers(problem)
    allowed = 1e-9 * max(best, 1e-3 * problem.null_value)
    proven = (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    return proven and result.bound <= best + allowed and result.objective <= best + allowed


@pytest.mark.thorough(after=8)
@pytest.mark.parametrize("seed", range(12))
def test_the_optimum_is_that_of_all_supports(seed):
    assert is_settled(drawn(seed))


@pytest.mark.thorough
def test_the_optima_of_many_problems_are_those_of_all_supports():
    assert [seed for seed in range(100, 240) if not is_settled(drawn(seed))] == []


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("seed", range(3))
def test_scikit_learn_agrees_on_the_best_of_all_supports(seed):
    linear_model = pytest.importorskip("sklearn.linear_model")
    problem = sparse_logistic_regression(seed=seed, n=40, p=8, k=3, ridge=0.5)
    result = sparseopt.solve(problem)
    values = {}
    for S in itertools.combinations(range(8), 3):
        A = problem.X[:, S]
        model = linear_model.LogisticRegression(C=2.0, tol=1e-10, solver="newton-cholesky")
        model.fit(A, problem.y)
        x = np.zeros(9)
        x[list(S)], x[-1] = model.coef_[0], model.intercept_[0]
        values[S] = problem.objective(x)
    best = min(values, key=values.get)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(values[best], rel=1e-8)
    assert tuple(np.flatnonzero(result.x[:-1])) == best


@pytest.mark.thorough
@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_a_dual_vector_and_what_it_fixes_hold_for_all_supports(seed):
    """Of the checker, with any alpha: no support of the node is below what it is said to reach."""
    problem = drawn(seed)
    problem = problem.with_changes(X=problem.X[:, :5], k=min(problem.k, problem.X.shape[1], 5))
    p, k = problem.X.shape[1], problem.k
    rng = np.random.default_rng(seed)
    inside = rng.permutation(p)[: int(rng.integers(0, k + 1))]
    free = np.setdiff1d(np.arange(p), inside)
    free = free[rng.random(len(free)) < 0.8]
    r = problem.y * rng.random(len(problem.y)) ** float(rng.choice([0.2, 1.0, 5.0]))
    if problem.fit_intercept:
        r = balanced(r)
    c, lengths = r @ problem.X, np.sqrt(problem.squares)
    found = NodeBound.at(problem, r, (c[inside], lengths[inside]), (c[free], lengths[free]))
    target = min(problem.null_value, found.value + 0.3 * abs(found.value) * rng.random())
    held, dropped = found.fixings(target)
    for size in range(k - len(inside) + 1):
        for more in itertools.combinations(range(len(free)), min(size, len(free))):
            S = np.append(inside, free[list(more)]).astype(int)
            alone = problem.with_changes(
                X=problem.X[:, S] if len(S) else np.zeros((len(r), 1)),
                k=max(1, len(S)),
                penalty=0.0,
            )
            value = 1.0000001 * best_of_all_classifiers(alone) + problem.penalty * len(S)
            assert value >= min(found.value, problem.null_value)
            chosen = np.zeros(len(free), dtype=bool)
            chosen[list(more)] = True
            if (held & ~chosen).any() or (dropped & chosen).any():
                assert value >= target


def test_a_balanced_vector_sums_up_to_nothing_and_keeps_its_signs():
    rng = np.random.default_rng(1)
    for scale in (1.0, 1e-9):
        r = rng.random(301) * np.where(rng.random(301) < 0.3, 1.0, -1.0) * scale
        found = balanced(r)
        assert math.fsum(found) == 0.0
        assert (np.sign(found) == np.sign(r)).all()
        assert (np.abs(found) <= np.abs(r) * (1.0 + 1e-12)).all()
    assert not balanced(np.array([0.5, 0.25])).any()


@pytest.mark.parametrize("values", [np.zeros(6), np.arange(6) - 2.0, 300.0 * (np.arange(6) - 2.5)])
def test_no_intercept_is_better_than_the_best(values):
    y = np.array([-1.0, -1.0, -1.0, 1.0, -1.0, 1.0])
    problem = SparseLogisticRegression(values[:, None], y, k=1, ridge=1.0)
    best = intercept_at(problem, values)
    x = np.array([1.0, best])
    for step in (-0.1, -1e-3, 1e-3, 0.1):
        assert problem.objective(x) <= problem.objective(x + np.array([0.0, step])) + 1e-13
    assert abs(best) <= problem.largest_intercept


def test_columns_outside_the_pool_come_in_or_are_left_out():
    problem = sparse_logistic_regression(n=300, p=2500, k=3, ridge=20.0, strength=2.0)
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert np.flatnonzero(result.x[:-1]).tolist() == [416, 1250, 2083]


@pytest.mark.thorough
def test_the_labels_may_be_exchanged_and_the_columns_scaled():
    problem = sparse_logistic_regression(n=60, p=20, k=3, ridge=1.0, rho=0.5)
    before = sparseopt.solve(problem)
    order = np.random.default_rng(0).permutation(20)
    other = problem.with_changes(X=1e-3 * problem.X[:, order], y=-problem.y, ridge=1e-6)
    after = sparseopt.solve(other)
    assert after.verdict is Verdict.VERIFIED
    assert after.objective == pytest.approx(before.objective, rel=1e-9)
    assert after.x[:-1] == pytest.approx(-1e3 * before.x[:-1][order], rel=1e-4)
    assert after.x[-1] == pytest.approx(-before.x[-1], rel=1e-4)


def test_copies_of_a_column_tie():
    X = np.repeat(np.random.default_rng(2).normal(size=(30, 3)), 2, axis=1)
    y = np.where(X[:, 0] + X[:, 2] > 0.3, 1.0, -1.0)
    result = sparseopt.solve(SparseLogisticRegression(X, y, k=2, ridge=0.1))
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("question", [{"time_limit": 1e-6}, {"node_limit": 5}])
def test_a_limit_leaves_a_bound_that_is_verified(question):
    problem = sparse_logistic_regression(n=60, p=100, k=6, rho=0.5, ridge=0.5)
    result = sparseopt.solve(problem, **question)
    limit = Limit.TIME if "time_limit" in question else Limit.NODE
    assert (result.status, result.limit) == (Status.FEASIBLE, limit)
    assert result.verdict is Verdict.VERIFIED
    assert 0.0 <= result.bound < result.objective


def solved():
    problem = sparse_logistic_regression(n=50, p=30, k=3, rho=0.5, ridge=2.0)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    assert len(result.certificate.arrays["parent"]) > 5
    return problem, result


def with_arrays(result, **arrays):
    certificate = result.certificate
    return result.with_changes(
        certificate=sparseopt.Certificate(certificate.kind, {**certificate.arrays, **arrays})
    )


@pytest.mark.thorough
def test_false_certificates_are_refuted():
    problem, result = solved()
    own = result.certificate.arrays
    for change in (
        {"w_index": (own["w_index"] + 1) % 30},
        {"w_value": -own["w_value"]},
        {"w_value": np.full(len(own["w_value"]), np.inf)},
        {"w_intercept": own["w_intercept"] + 1.0},
        {"w_intercept": own["w_intercept"][:-1]},
        {"w_intercept": np.full(len(own["w_intercept"]), 1e6)},
        {"inside": 1 - own["inside"]},
    ):
        assert sparseopt.check(problem, with_arrays(result, **change)).verdict is Verdict.REFUTED
    without = dict(own)
    del without["w_intercept"]
    lie = result.with_changes(certificate=sparseopt.Certificate("subset-tree", without))
    assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED


def test_a_worse_support_and_a_bound_above_that_of_nothing_are_refuted():
    problem, result = solved()
    x = np.append(np.roll(result.x[:-1], 1), 0.0)
    value = problem.objective(x)
    for bound in (value, 2.0 * problem.null_value):
        lie = result.with_changes(x=x, objective=bound, bound=bound)
        assert sparseopt.check(problem, lie).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"y": [1.0, 0.0, -1.0]}, r"y\[1\] is 0; .*labels -1 and 1"),
        ({"y": [1.0, 1.0, 1.0]}, "label 1 alone"),
        ({"ridge": 0.0}, "neither a ridge nor a bound"),
        ({"fit_intercept": 1}, "fit_intercept"),
        ({"k": 3}, "from 1 to 2"),
    ],
)
def test_data_that_make_no_problem_are_named(change, says):
    given = {"X": np.ones((3, 2)), "y": [1.0, -1.0, 1.0], "k": 2, "ridge": 1.0, **change}
    with pytest.raises(ProblemError, match=says):
        SparseLogisticRegression(**given)


def test_one_label_needs_no_intercept():
    problem = SparseLogisticRegression(
        [[1.0, 2.0], [1.0, 0.0]], [1.0, 1.0], k=1, ridge=1.0, fit_intercept=False
    )
    result = sparseopt.solve(problem)
    assert (result.status, result.verdict) == (Status.OPTIMAL, Verdict.VERIFIED)
    assert result.objective == pytest.approx(best_of_all_classifiers(problem), rel=1e-8)
