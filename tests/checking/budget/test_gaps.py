"""Bounds above those of the multipliers: against the dynamic program over all nodes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sparseopt
from sparseopt import Verdict
from sparseopt.problems import BudgetTables

table = st.lists(st.integers(-4, 4), min_size=1, max_size=6)


def only_the_optimum_passes(problem: BudgetTables) -> None:
    """Check the optimum of the reference, values above it, and bounds below it."""
    result = sparseopt.solve(problem, backend="knapsack-dp")
    assert result.verdict is Verdict.VERIFIED, result.check_messages
    assert not any("too much work" in message for message in result.check_messages)
    path = result.path
    size = 1.0 + np.abs(problem.values).sum()
    for K in np.flatnonzero(~path.certified):
        raised, cut = path.objective.copy(), path.bound.copy()
        raised[K] += 1e-6 * size
        cut[K] -= 1e-6 * size
        for objective, bound in ((raised, raised), (raised, path.bound), (path.objective, cut)):
            changed = path.__class__(**{**vars(path), "objective": objective, "bound": bound})
            report = sparseopt.check(problem, result.with_changes(path=changed))
            assert report.verdict is Verdict.REFUTED


@pytest.mark.thorough
@settings(max_examples=60, deadline=None)
@given(st.lists(table, min_size=1, max_size=7))
def test_integer_tables_of_any_shape(tables):
    only_the_optimum_passes(BudgetTables([list(map(float, t)) for t in tables]))


@pytest.mark.thorough
@pytest.mark.parametrize("seed", range(4))
def test_random_tables_with_jumps(seed):
    rng = np.random.default_rng(seed)
    falling = [np.sort(rng.exponential(size=s))[::-1] for s in rng.integers(1, 9, size=25)]
    only_the_optimum_passes(BudgetTables(falling))


def test_a_bound_above_the_optimum_is_refuted_by_the_optimum():
    # Two units pay at once: at K = 1 the multiplier proves 1, the optimum is 2.
    problem = BudgetTables([[2.0, 2.0, 0.0]])
    result = sparseopt.solve(problem, backend="knapsack-dp")
    path = result.path
    bound = path.bound.copy()
    bound[1] = 2.0 + 1e-6
    objective = bound.copy()
    changed = path.__class__(**{**vars(path), "objective": objective, "bound": bound})
    messages = sparseopt.check(problem, result.with_changes(path=changed)).messages
    assert any("at budget 1 exceeds 2" in message for message in messages)


@pytest.mark.thorough
@pytest.mark.parametrize("convex", [True, False])
def test_twenty_thousand_tables_are_verified(convex):
    drops = np.random.default_rng(0).exponential(size=(20_000, 10))
    if convex:
        drops = np.sort(drops, axis=1)[:, ::-1]
    tables = 100.0 - np.cumsum(np.insert(drops, 0, 0.0, axis=1), axis=1)
    result = sparseopt.solve(BudgetTables(np.ascontiguousarray(tables)))
    assert result.verdict is Verdict.VERIFIED, result.check_messages
