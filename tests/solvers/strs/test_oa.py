"""The outer approximation: cuts that are exact on their support, agreement, valid bounds."""

import itertools

import numpy as np
import pytest
from small_problems import small_problems

import sparseopt
from sparseopt import Limit, Status, Verdict, generators
from sparseopt.problems import STRS
from sparseopt.solvers.common.spheres import refit
from sparseopt.solvers.strs.bound.multipliers import Multipliers, ProvenBound
from sparseopt.solvers.strs.outer.master_search import Cuts
from sparseopt.solvers.strs.outer.support_cuts import exact_pairs
from sparseopt.solvers.strs.tree.frontier import Node


def solve(problem, master="highs", branched=4, **question):
    options = {"master": master, "branched": branched}
    return sparseopt.solve(problem, backend="strs-oa", options=options, **question)


@pytest.fixture(scope="module")
def hard():
    """Return a problem that takes some masters, and its optimum."""
    problem = generators.generate("mean-shift", D=40, d=10, seed=1)
    return problem, sparseopt.solve(problem, backend="strs-bnb", check=False).objective


@pytest.mark.parametrize("linear", [True, False])
def test_cuts_are_exact_on_their_support_and_valid_on_all_others(linear):
    rng = np.random.default_rng(2)
    n, d = 8, 3
    M, a = rng.normal(size=(n, n)), rng.normal(size=n) * linear
    A = M + M.T
    S = np.array([1, 4, 6])
    pairs = exact_pairs(A, a, S)
    assert len(pairs) > 1
    for x in pairs:
        pair = Multipliers.of_point(A, a, np.arange(n), x)
        terms = ProvenBound.at(pair, np.arange(n), np.arange(0), d).terms
        for T in itertools.combinations(range(n), d):
            value = refit(A, a, np.array([T]))[0].value
            bound = pair.spectral + terms[list(T)].sum()
            assert bound >= value
            if set(T) == set(S):
                assert bound == pytest.approx(value, rel=1e-10, abs=1e-10)


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("master", ["highs", "scip"])
def test_agreement_with_enumeration(master):
    if master == "scip":
        pytest.importorskip("pyscipopt")
    for kind, problem in small_problems(7, 22, 8):
        optimum = sparseopt.solve(problem, backend="brute-force", check=False).objective
        result = solve(problem, master, rel_gap=1e-9)
        size = max(1.0, np.abs(problem.A).max(), np.abs(problem.linear).max())
        assert result.status is Status.OPTIMAL, kind
        assert result.objective == pytest.approx(optimum, abs=1e-8 * size), kind
        assert result.bound >= optimum - 1e-12 * size, kind
        assert result.verdict is Verdict.VERIFIED, kind


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("master", ["highs", "scip"])
def test_masters_settle_what_the_root_leaves(master):
    if master == "scip":
        pytest.importorskip("pyscipopt")
    problem = generators.generate("mean-shift", D=20, d=5, seed=6)
    result = solve(problem, master)
    best = sparseopt.solve(problem, backend="strs-bnb", check=False)
    assert result.status is Status.OPTIMAL
    assert result.objective == pytest.approx(best.objective, rel=1e-9)
    assert result.iterations > 0
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_plain_outer_approximation_needs_more_masters():
    problem = generators.generate("mean-shift", D=20, d=5, seed=6)
    mixed, plain = (solve(problem, branched=nodes) for nodes in (4, 0))
    assert plain.status is mixed.status is Status.OPTIMAL
    assert plain.objective == pytest.approx(mixed.objective, rel=1e-9)
    assert plain.iterations > mixed.iterations


@pytest.mark.parametrize("branched", [0, 4])
@pytest.mark.parametrize(
    ("question", "limit"),
    [
        ({"time_limit": 0.0}, Limit.TIME),
        ({"iteration_limit": 1}, Limit.ITERATION),
        pytest.param({"iteration_limit": 3}, Limit.ITERATION, marks=pytest.mark.thorough),
        ({"node_limit": 1}, Limit.NODE),
    ],
)
def test_interrupted_bounds_hold_and_are_verified(hard, branched, question, limit):
    problem, optimum = hard
    result = solve(problem, branched=branched, **question)
    assert result.status is Status.FEASIBLE
    assert result.limit is limit
    assert result.objective <= optimum + 1e-12
    assert result.bound >= optimum - 1e-12
    assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_a_root_that_closes_the_gap_at_its_node_limit_is_verified():
    # The tree goes on to half the gap, which the limit forbids; what it has is enough.
    for entry in (1.1763621373622841, *np.linspace(0.5, 1.5, 9)):
        result = solve(STRS(A=np.full((12, 12), entry), d=2), node_limit=1, rel_gap=1e-9)
        assert result.verdict is Verdict.VERIFIED


@pytest.mark.thorough
def test_a_time_limit_at_any_moment_leaves_a_verified_bound(hard):
    problem, optimum = hard
    for limit in (0.02, 0.05, 0.1, 0.2, 0.4):
        result = solve(problem, time_limit=limit)
        assert result.objective <= optimum + 1e-12
        assert result.bound >= optimum - 1e-12
        assert result.verdict is Verdict.VERIFIED


@pytest.mark.parametrize("seed", range(3))
def test_lifted_rows_hold_for_every_support(seed):
    rng = np.random.default_rng(seed)
    n, d = 8, 4
    M, a = rng.normal(size=(n, n)), rng.normal(size=n)
    A = M + M.T
    everything = np.arange(n)
    candidates, fixed_in = everything[everything != 5], np.array([2])
    free = np.setdiff1d(candidates, fixed_in)
    supports = [
        np.array(T) for T in itertools.combinations(candidates, d) if np.isin(fixed_in, T).all()
    ]
    values = np.array([refit(A, a, T[None])[0].value for T in supports])
    cuts = Cuts(candidates, fixed_in, free, d, base=values.min(), unit=np.ptp(values))
    q = np.array([np.isin(free, T) for T in supports], dtype=float)

    def random_pair(variables):
        k = len(variables)
        return Multipliers.of_point(A, a, variables, 0.3 * rng.normal(size=1 + k + k * k))

    # A face, and its two parts by one more variable, another one being fixed in both.
    inside, rest = np.array([2, 3]), np.setdiff1d(candidates, [6])
    pair = random_pair(rest)
    face = Node(inside, rest, 0.0, pair, pair)
    parts = [
        Node(np.array([2, 3, 4]), np.setdiff1d(rest, [7]), 0.0, pair, pair),
        Node(inside, np.setdiff1d(rest, [4, 7]), 0.0, pair, pair),
    ]
    for node in (None, face, *parts):
        chosen = pair if node is not None else random_pair(candidates)
        constant, weights = cuts.of(chosen, node)
        bound = cuts.base + cuts.unit * (constant + q @ weights)
        assert (bound >= values - 1e-12).all()

    def lies_on(T, node):
        return np.isin(node.fixed_in, T).all() and np.isin(T, node.candidates).all()

    for left in (parts, parts[:1], []):
        rows = cuts.left(face, left)
        for T, choice in zip(supports, q, strict=True):
            allowed = not lies_on(T, face) or any(lies_on(T, part) for part in left)
            assert allowed == all(choice @ weights <= most + 1e-12 for weights, most in rows)
