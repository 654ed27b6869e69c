"""Refits on a support: no penalty, no smaller loss."""

import numpy as np
import pytest
from scipy.optimize import linprog
from selection_examples import Array, examples, regression

from sparseopt.errors import ParamError
from sparseopt.problems import CLIME, DantzigSelector, LADLasso
from sparseopt.selection import refit


def least_loss(problem, kept: Array) -> float:
    """The least loss over the kept coefficients, as a linear program for scipy."""
    A, y = problem.design[:, kept], problem.y
    n, k = A.shape
    if problem.kind == "l1-svm":
        cost = np.append(np.zeros(k), np.ones(n))
        rows = np.hstack([-y[:, None] * A, -np.eye(n)])
        done = linprog(cost, rows, -np.ones(n), bounds=[(None, None)] * k + [(0, None)] * n)
    else:
        up, down = (problem.tau, 1.0 - problem.tau) if problem.kind == "quantile-lasso" else (1, 1)
        cost = np.concatenate([np.zeros(k), np.full(n, up), np.full(n, down)])
        rows = np.hstack([A, np.eye(n), -np.eye(n)])
        bounds = [(None, None)] * k + [(0, None)] * (2 * n)
        done = linprog(cost, A_eq=rows, b_eq=y, bounds=bounds)
    assert done.status == 0
    return float(done.fun)


@pytest.mark.parametrize("support", [[], [2], [0, 2, 5]])
@pytest.mark.parametrize("name", ["lad", "quantile", "svm"])
def test_the_loss_is_least(name: str, support: list[int]) -> None:
    problem = examples()[name]
    x = refit(problem, support)
    kept = np.isin(np.arange(len(x)), support) | (problem.penalty_weights == 0.0)
    assert not x[~kept].any()
    if kept.any():
        assert abs(problem.loss(x) - least_loss(problem, kept)) <= 1e-8


@pytest.mark.parametrize("name", ["dantzig", "dantzig-n", "compressed"])
def test_least_squares(name: str) -> None:
    problem = examples()[name]
    x = refit(problem, np.isin(np.arange(8), [0, 2]))
    residual = problem.y - problem.X @ x
    assert np.flatnonzero(x).tolist() == [0, 2]
    np.testing.assert_allclose(problem.X[:, [0, 2]].T @ residual, 0.0, atol=1e-10)


def test_unpenalised_columns_are_always_fitted() -> None:
    X, y = regression()
    x = refit(DantzigSelector(X, y, weights=[1, 0, 1, 1, 1, 1, 1, 1]), [2])
    assert np.flatnonzero(x).tolist() == [1, 2]


def test_dependent_columns_share() -> None:
    X, y = regression(d=3)
    X[:, 2] = X[:, 0]
    x = refit(DantzigSelector(X, y), [0, 2])
    assert abs(x[0] - x[2]) <= 1e-12


def test_no_support_and_no_intercept_is_zero() -> None:
    X, y = regression()
    assert not refit(LADLasso(X, y), []).any()


def test_the_named_columns_keep_their_names_and_order() -> None:
    X, y = regression(d=4)
    named = refit(LADLasso(X, y, names=["a", "b", "c", "d"]), [3, 0])
    np.testing.assert_array_equal(named, refit(LADLasso(X, y), [0, 3]))


@pytest.mark.parametrize("support", [[0.5], [8], [-1], [[0]], "all"])
def test_a_support_is_made_of_indices(support: object) -> None:
    with pytest.raises(ParamError, match="support"):
        refit(examples()["dantzig"], support)


def test_what_has_no_observations_has_no_refit() -> None:
    with pytest.raises(ParamError, match="does not hold observations"):
        refit(CLIME(np.eye(2)), [0])


@pytest.mark.parametrize("name", ["dantzig", "lad", "quantile", "svm"])
def test_a_refit_stays_within_the_bounds(name: str) -> None:
    problem = examples()[name]
    free = refit(problem, [0, 2, 5])
    d = problem.X.shape[1]
    low, high = -0.4 * np.abs(free[:d]), 0.5 * np.abs(free[:d])
    low[5] = high[5] = 0.0
    bounded = problem.with_changes(bounds=(low, high))
    x = refit(bounded, [0, 2, 5])
    assert (x[:d] >= low - 1e-12).all() and (x[:d] <= high + 1e-12).all()
    loss = bounded.loss if hasattr(bounded, "loss") else squared(bounded)
    for scale in (0.5, 0.9):
        assert loss(x) <= loss(np.append(scale * x[:d], x[d:])) + 1e-9


def squared(problem):
    return lambda x: float(((problem.y - problem.X @ x) ** 2).sum())
