"""Large numbers of the data that have no effect on the optimum widen no tolerance."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from second_opinion import second_opinion

import sparseopt
from sparseopt import Certificate, Result, SolveParams, Status, Verdict
from sparseopt.checking import check
from sparseopt.problems import (
    MISDP,
    STRS,
    BudgetTables,
    EmbeddingFit,
    ParametricLP,
    RobustSubspace,
    SparseRegression,
)

LARGE = (1e9, 1e12, 1e15)


def stated(problem, result, x):
    """Return a result that states a point as if it were optimal."""
    x = np.asarray(x, dtype=float)
    value = problem.objective(x)
    claim = result.with_changes(x=x, objective=value, bound=value, trace=(), duals={})
    return claim.with_changes(status=Status.OPTIMAL, limit=None)


def entry(large):
    problem = STRS(np.diag([2.0, 1.0, -large]), d=1)
    result = sparseopt.solve(problem)
    assert result.verdict is Verdict.VERIFIED
    return problem, stated(problem, result, [0.0, 1.0, 0.0])


def atom(large):
    near = np.random.default_rng(0).normal(size=(5, 3))
    problem = EmbeddingFit(np.vstack([near, np.full(3, large)]), np.array([0.3, 0.2, 0.1]))
    return problem, stated(problem, sparseopt.solve(problem), np.eye(6)[0])


def outlier(large):
    rng = np.random.default_rng(0)
    line = rng.normal(size=(12, 1)) * np.array([1.0, 1.0, 0.0])
    near = line + 0.1 * rng.normal(size=(12, 3))
    problem = RobustSubspace(np.vstack([near, np.full(3, large)]), 1)
    result = sparseopt.solve(problem)
    off = np.cross(problem.X[-1] / large, rng.normal(size=3))
    W = np.linalg.qr((np.ones(3) / np.sqrt(3.0) + 0.3 / large * off)[:, None])[0]
    return problem, stated(problem, result, W)


def observation(large):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(12, 5))
    X[0] = 0.0
    y = X[:, 0] + 0.3 * rng.normal(size=12)
    y[0] = large
    X = np.column_stack([X, np.eye(12)[0]])
    problem = SparseRegression(X, y, k=2, bound=10.0 * large)
    x = np.zeros(6)
    x[5] = large
    return problem, stated(problem, sparseopt.solve(problem), x)


def table(large):
    problem = BudgetTables([[large, 0.0], [3.0, 1.0, 0.9], [2.5, 1.0]])
    result = sparseopt.solve(problem, budget=2)
    assert result.verdict is Verdict.VERIFIED
    path = result.path
    node, value = path.changes.node.copy(), path.objective.copy()
    node[-1], value[-1] = 2, 4.0
    changes = replace(path.changes, node=node)
    false = replace(path, changes=changes, objective=value, bound=value)
    return problem, result.with_changes(path=false, objective=4.0, bound=4.0, x=np.array([1, 0, 1]))


def open_table(large):
    problem, claim = table(large)
    path = replace(claim.path, certified=np.array([True, True, False]))
    return problem, claim.with_changes(path=path)


def cost(large):
    ends = {"lower": [0.0, 0.0], "upper": [2.0 * large, 1.0]}
    problem = MISDP([1.0, large], A=[[1.0, 1.0]], row_lower=[1.0], **ends, integer=[1])
    result = sparseopt.solve(problem)
    return problem, stated(problem, result, [1.0 + 0.9e-9 * large, 0.0])


def row(large):
    """A row without an effect, by whose end the objective's unit must not be measured."""
    problem = ParametricLP([[1.0], [0.01 / large**1.5]], [1.0, 1.0], [0.0] * 2, [1.0], [0.0])
    nu = np.array([1.0, 0.0])
    claim = Result(
        status=Status.OPTIMAL,
        x=np.zeros(1),
        objective=0.0,
        bound=0.0,
        duals={"rows": nu},
        certificate=Certificate("dual", {"nu": nu}),
        params=SolveParams(lam=0.0),
        kind=problem.kind,
    )
    return problem, claim.with_changes(problem=problem)


def stated_table(large):
    """The right counts, with another objective than theirs."""
    problem, _ = table(large)
    result = sparseopt.solve(problem, budget=2)
    value = result.path.objective.copy()
    value[-1] += 0.4
    false = replace(result.path, objective=value, bound=value)
    return problem, result.with_changes(path=false, objective=value[-1], bound=value[-1])


FALSE = (entry, atom, outlier, observation, table, open_table, stated_table, cost)


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("draw", FALSE)
def test_a_worse_point_is_not_verified(draw, large):
    problem, claim = draw(large)
    assert check(problem, claim).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("draw", [*FALSE, row])
def test_nor_is_it_proven_exactly(tmp_path, draw, large):
    problem, claim = draw(large)
    assert second_opinion(tmp_path, problem, claim)[0] != "proven"


def nearly_equal_columns(size):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(12, 5))
    X[:, 1] = X[:, 0] + 2.0**-30 * rng.normal(size=12)
    y = X[:, 2] + X[:, 3] + 0.3 * rng.normal(size=12)
    return SparseRegression(X, y, k=2, bound=10.0 * size)


@pytest.mark.parametrize("size", [1e6, 1e8])
def test_coefficients_that_cancel_hide_no_gap(size):
    """A false optimum whose gap is small beside its own terms; its bound is right."""
    problem = nearly_equal_columns(size)
    result = sparseopt.solve(problem.with_changes(bound=10.0))
    x = np.zeros(5)
    x[:2] = size, -size
    claim = stated(problem, result, x).with_changes(bound=result.bound, problem=problem)
    claim = claim.with_changes(fingerprint=None)
    assert claim.objective > 2.0 * result.objective
    assert check(problem, claim).verdict is not Verdict.VERIFIED


@pytest.mark.parametrize("large", LARGE)
@pytest.mark.parametrize("draw", [atom, outlier])
def test_a_gap_is_not_hidden(draw, large):
    problem, claim = draw(large)
    assert check(problem, claim.with_changes(bound=0.0)).verdict is not Verdict.VERIFIED
    assert check(problem, claim.with_changes(objective=0.0, bound=0.0)).verdict != "verified"


@pytest.mark.thorough(after=1)
@pytest.mark.parametrize("size", [1e-180, 1e-220, 1e-250, 1e-290])
def test_nor_do_small_data_widen_one(tmp_path, size):
    M = np.random.default_rng(0).normal(size=(5, 5))
    problem = STRS(size * (M + M.T), d=2)
    result = sparseopt.solve(problem)
    assert (result.verdict, second_opinion(tmp_path, problem, result)[0]) == ("verified", "proven")
    claim = stated(problem, result, np.eye(5)[0])
    assert check(problem, claim).verdict is not Verdict.VERIFIED
    assert second_opinion(tmp_path, problem, claim)[0] != "proven"


def test_zeros_are_proven_exactly(tmp_path):
    problem = STRS(np.zeros((4, 4)), d=2)
    assert second_opinion(tmp_path, problem, sparseopt.solve(problem))[0] == "proven"
