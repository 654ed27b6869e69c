"""The checker of bounds by leaves: what proves is verified, and nothing else is."""

import itertools
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Certificate, Limit, Result, Status, Verdict
from sparseopt.checking.strs import leaves as leaves_of_checker
from sparseopt.checking.strs.leaves import SupportLeaves, covers
from sparseopt.problems import STRS
from sparseopt.solvers.common.spheres import maximise_on_sphere

D, SUPPORT = 6, 3


def _leaves(fixed, mu):
    """Pack [(fixed in, fixed out), ...]."""
    arrays = {"mu": np.asarray(mu, dtype=float)}
    for name, side in (("in", 0), ("out", 1)):
        rows = [np.array(sorted(leaf[side]), dtype=np.int64) for leaf in fixed]
        arrays[f"{name}_ptr"] = np.cumsum([0, *map(len, rows)])
        arrays[f"{name}_index"] = np.concatenate([*rows, np.zeros(0, np.int64)])
    return Certificate("leaves", arrays)


def _tree(rng, inside=(), outside=()):
    """Return the leaves of a random tree over the variables, children without supports left out."""
    free = sorted(set(range(D)) - {*inside, *outside})
    if len(inside) > SUPPORT or D - len(outside) < SUPPORT:
        return []
    if not free or rng.random() < 0.2:
        return [(inside, outside)]
    i = int(rng.choice(free))
    return _tree(rng, (*inside, i), outside) + _tree(rng, inside, (*outside, i))


def _claim(problem, fixed, mu, bound):
    """Return the verdict on a bound; the point is the best single entry."""
    i = int(np.argmax(np.diagonal(problem.A)))
    x = np.eye(D)[i]
    result = Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=x,
        objective=problem.objective(x),
        bound=bound,
        certificate=_leaves(fixed, mu),
    )
    return sparseopt.check(problem, result)


IDENTITY = STRS(A=np.eye(D), d=SUPPORT)


@pytest.mark.thorough
@given(st.integers(0, 10_000))
@settings(max_examples=200, deadline=None)
def test_trees_cover_and_trees_without_a_leaf_do_not(seed):
    rng = np.random.default_rng(seed)
    leaves = _tree(rng)
    rng.shuffle(leaves)
    assert _claim(IDENTITY, leaves, np.ones(len(leaves)), 1.0).verdict is Verdict.VERIFIED
    dropped = [leaf for k, leaf in enumerate(leaves) if k != len(leaves) // 2]
    lost = any(
        not any(set(i) <= set(S) and not set(o) & set(S) for i, o in dropped)
        for S in itertools.combinations(range(D), SUPPORT)
    )
    assert lost
    assert _claim(IDENTITY, dropped, np.ones(len(dropped)), 1.0).verdict is Verdict.REFUTED


@pytest.mark.thorough
@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5))), max_size=8))
@settings(max_examples=300, deadline=None)
def test_leaves_that_miss_a_support_are_never_verified(leaves):
    leaves = [(i, o - i) for i, o in leaves]
    missed = any(
        not any(i <= set(S) and not o & set(S) for i, o in leaves)
        for S in itertools.combinations(range(D), SUPPORT)
    )
    verdict = _claim(IDENTITY, leaves, np.ones(len(leaves)), 1.0).verdict
    if missed:
        assert verdict is not Verdict.VERIFIED


def test_all_supports_one_by_one():
    supports = [(S, ()) for S in itertools.combinations(range(D), SUPPORT)]
    assert _claim(IDENTITY, supports, np.ones(20), 1.0).verdict is Verdict.VERIFIED
    assert _claim(IDENTITY, supports[1:], np.ones(19), 1.0).verdict is Verdict.REFUTED


def test_leaves_that_are_no_tree_are_unproven():
    """Three half-spaces cover everything, but no variable is in all of them."""
    cover = [((0,), (1,)), ((1,), (2,)), ((2,), (0,)), ((0, 1, 2), ()), ((), (0, 1, 2))]
    report = _claim(IDENTITY, cover, np.ones(5), 1.0)
    assert report.verdict is Verdict.UNPROVEN
    assert "tree" in report.messages[0]


@pytest.mark.thorough
@settings(max_examples=40)
@given(st.integers(0, 10_000), st.booleans())
def test_the_maximum_of_a_leaf_is_the_least_bound_that_is_verified(seed, hard):
    rng = np.random.default_rng(seed)
    M = rng.normal(size=(D, D))
    A = M + M.T
    values, Q = np.linalg.eigh(A)
    a = rng.normal(size=D)
    a = a - hard * Q[:, -1] * (Q[:, -1] @ a)
    problem = STRS(A=A, a=a, d=SUPPORT)
    found = maximise_on_sphere(A, a)
    mu, best = found.mu[0], found.bound[0]
    root = [((), ())]
    size = max(np.abs(A).max(), np.abs(a).max(), abs(best))
    assert _claim(problem, root, [mu], best).verdict is Verdict.VERIFIED
    assert _claim(problem, root, [mu], best + 1.0).verdict is Verdict.VERIFIED
    assert _claim(problem, root, [mu], best - 1e-8 * size).verdict is Verdict.REFUTED
    too_small = values[-1] - 1e-8 * (size + 100.0)
    assert _claim(problem, root, [too_small], best + 100.0).verdict is Verdict.REFUTED


def test_a_leaf_may_be_bounded_on_its_candidates_only():
    problem = STRS(A=np.diag([9.0, 1.0, 1.0, 1.0, 1.0, 1.0]), d=SUPPORT)
    leaves = [((0,), ()), ((), (0,))]
    assert _claim(problem, leaves, [9.0, 1.0], 9.0).verdict is Verdict.VERIFIED
    assert _claim(problem, leaves, [1.0, 1.0], 9.0).verdict is Verdict.REFUTED


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"mu": np.array([np.nan])}, "mu"),
        ({"mu": np.ones((1, 1))}, "mu"),
        ({"in_ptr": np.array([0, 1])}, "in_ptr"),
        ({"in_ptr": np.array([0.0, 0.0])}, "integers"),
        ({"in_ptr": np.array([0])}, "in_ptr"),
        ({"out_ptr": np.array([0, 2]), "out_index": np.array([1, 1])}, "twice"),
        ({"out_ptr": np.array([0, 1]), "out_index": np.array([D])}, "outside"),
        ({"out_ptr": np.array([0, 1]), "out_index": np.array([-1])}, "outside"),
        (
            {
                "in_ptr": np.array([0, 1]),
                "in_index": np.array([1]),
                "out_ptr": np.array([0, 1]),
                "out_index": np.array([1]),
            },
            "twice",
        ),
    ],
)
def test_malformed_arrays_are_refuted(change, words):
    good = _leaves([((), ())], [1.0])
    x = np.eye(D)[0]
    result = Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=x,
        objective=1.0,
        bound=1.0,
        certificate=Certificate("leaves", {**good.arrays, **change}),
    )
    report = sparseopt.check(IDENTITY, result)
    assert report.verdict is Verdict.REFUTED
    assert words in " ".join(report.messages)


def test_a_missing_array_is_refuted():
    arrays = {k: v for k, v in _leaves([((), ())], [1.0]).arrays.items() if k != "out_ptr"}
    result = Result(
        status=Status.OPTIMAL,
        x=np.eye(D)[0],
        objective=1.0,
        bound=1.0,
        certificate=Certificate("leaves", arrays),
    )
    assert sparseopt.check(IDENTITY, result).verdict is Verdict.REFUTED


@pytest.mark.parametrize("limit", ["_VISITS", "_CUBES", "_CELLS"])
def test_work_is_bounded(limit, monkeypatch):
    problem = STRS(A=np.diag([3.0, 2.0, 1.0, 0.5]) + 0.1, d=2)
    result = sparseopt.solve(problem, backend="brute-force")
    monkeypatch.setattr(f"sparseopt.checking.strs.leaves.{limit}", 20)
    report = sparseopt.check(problem, result)
    assert report.verdict is Verdict.UNPROVEN
    assert any("too" in message for message in report.messages)


@pytest.mark.parametrize("bound", [None, inf])
def test_without_a_bound_nothing_is_proven(bound):
    result = Result(
        status=Status.FEASIBLE, limit=Limit.TIME, x=np.eye(D)[0], objective=1.0, bound=bound
    )
    assert sparseopt.check(IDENTITY, result).verdict is Verdict.UNPROVEN


@pytest.mark.parametrize("status", [Status.INFEASIBLE, Status.UNBOUNDED])
def test_there_is_always_an_optimum(status):
    assert sparseopt.check(IDENTITY, Result(status=status)).verdict is Verdict.REFUTED


TAMPERED = {
    "objective": lambda r: {"objective": r.objective + 1e-6},
    "bound": lambda r: {"bound": r.bound - 1e-6},
    "point": lambda r: {"x": r.x + 1e-6},
    "support": lambda r: {"x": np.full(D, D**-0.5)},
    "loose bound": lambda r: {"bound": r.bound + 1e-3},
    "leaf": lambda r: {
        "certificate": Certificate(
            "leaves", {**r.certificate.arrays, "mu": r.certificate.arrays["mu"] - 1e-3}
        )
    },
}


@pytest.mark.parametrize("what", TAMPERED)
def test_tampering_is_refuted(what):
    M = np.random.default_rng(5).normal(size=(D, D))
    problem = STRS(A=M + M.T, a=M[0], d=SUPPORT)
    result = sparseopt.solve(problem, backend="brute-force")
    assert result.verdict is Verdict.VERIFIED
    report = sparseopt.check(problem, result.with_changes(**TAMPERED[what](result)))
    assert report.verdict is Verdict.REFUTED


@pytest.mark.parametrize("seed", range(30))
def test_deep_trees_are_rebuilt_node_by_node(seed, monkeypatch):
    fixed = _tree(np.random.default_rng(seed))
    trees = [fixed, *([*fixed[:k], *fixed[k + 1 :]] for k in range(len(fixed)))]
    read = [SupportLeaves.read(_leaves(tree, np.ones(len(tree))), D, SUPPORT) for tree in trees]
    found = [covers(one, SUPPORT) for one in read]
    monkeypatch.setattr(leaves_of_checker, "_LEVELS", 0)
    assert [covers(one, SUPPORT) for one in read] == found == [True] + [False] * len(fixed)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("d", [1, 2])
def test_a_chain_of_2500_variables_is_not_too_deep(d):
    count = 2500
    state = np.tril(-np.ones((count, count), dtype=np.int8))
    np.fill_diagonal(state, 1)
    last = -np.ones((1, count), dtype=np.int8)
    last[0, count - d :] = 0
    whole = np.vstack([state[: count - d], last])
    own = SupportLeaves(whole, np.zeros(len(whole)), np.full(len(whole), -1), None)
    assert covers(own, d)
    short = SupportLeaves(whole[:-2], own.mu[:-2], own.pair[:-2], None)
    assert not covers(short, d)


def test_one_variable_whose_terms_cancel_to_zero():
    problem = STRS(np.diag([-2.0, -3.0]), [2.0, 1.0], d=1)
    result = sparseopt.solve(problem)
    assert result.objective == 0.0 and result.verdict is Verdict.VERIFIED
    lower = result.with_changes(objective=-1e-12, bound=-1e-12)
    assert sparseopt.check(problem, lower).verdict is not Verdict.VERIFIED


def test_one_variable_is_compared_without_rounding():
    # In floating point 1 + 2^-53 is 1.
    problem = STRS([[1.0]], [2.0**-53], d=1)
    assert not leaves_of_checker._bounds_each(problem, np.array([[0]]), 1.0)
    assert leaves_of_checker._bounds_each(problem, np.array([[0]]), np.nextafter(1.0, 2.0))


@pytest.mark.parametrize("mu", [-1.0, -1.0000000000000002])
def test_a_leaf_of_an_optimum_of_zero_is_proven_without_rounding(mu):
    # max -2 x'x + 2 x_1 over unit vectors of two variables is 0, at x = (1, 0).
    problem = STRS(np.diag([-2.0, -2.0]), [2.0, 0.0], d=2)
    result = sparseopt.solve(problem)
    assert result.objective == pytest.approx(0.0, abs=1e-15)
    leaf = _leaves([((0, 1), ())], [mu])
    assert leaves_of_checker.judge(problem, leaf, 0.0).word == "prove"
    assert leaves_of_checker.judge(problem, leaf, -1e-11).word != "prove"
