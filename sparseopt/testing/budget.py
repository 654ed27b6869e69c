"""Budget problems with known values, and what a path over budgets must be."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit

from sparseopt.backend import Feature
from sparseopt.paths.budget import BudgetPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.candidates import Candidates
from sparseopt.problems.budget.neighbourhoods import L0GraphicalModel
from sparseopt.problems.budget.tables import BudgetProblem, BudgetTables
from sparseopt.result import Status
from sparseopt.testing.cases import require
from sparseopt.testing.samples import AnswerCheck, CheckedAnswer, FamilySamples, Sample, close


def budget_samples(rng: np.random.Generator) -> FamilySamples:
    """Return tables settled by all choices, and graphical models settled by all supports.

    Parameters
    ----------
    rng : numpy Generator

    Returns
    -------
    FamilySamples
    """
    tables, models = list(_tables(rng)), list(_models(rng))
    samples = [
        sample
        for name, problem in tables
        for sample in _questions(name, problem, _values_of(problem), "all choices")
    ]
    samples += [
        sample
        for name, model in models
        for sample in _questions(name, model, _values_of(_best_subsets(model)), "all supports")
    ]
    refused = [
        Sample(name, problem, {"budget": problem.total + 1})
        for name, problem in (("too-much", tables[0][1]), ("too-many-neighbours", models[0][1]))
    ]
    X = rng.normal(size=(60, 400))
    large = (
        BudgetTables([np.cumsum(-rng.exponential(size=15)) for _ in range(1500)]),
        L0GraphicalModel(X - X.mean(axis=0), Candidates.window(400, 16)),
    )
    return FamilySamples(
        samples=tuple(samples),
        large=tuple(Sample("large", problem) for problem in large),
        refused=tuple(refused),
        invalid=_overspent,
    )


def _overspent() -> Problem:
    problem = BudgetTables([[1.0, 0.0]])
    object.__setattr__(problem, "budget", 2)
    return problem


def _tables(rng: np.random.Generator) -> Iterator[tuple[str, BudgetTables]]:
    for name, tables in (
        ("one-node", [[3.0, 1.0, 0.5]]),
        ("no-candidates", [[2.0], [1.0]]),
        ("duality-gap", [[4.0, 4.0, 0.0], [4.0, 4.0, 0.0], [1.0, 0.0]]),
        ("ties", [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]),
        ("increasing", [[0.0, 1.0, 2.0], [1.0, 3.0, -1.0], [-2.0, -1.0]]),
        ("constant", [[1.0, 1.0], [0.0, 0.0, 0.0]]),
        ("integers", [rng.integers(-4, 5, size=n).astype(float) for n in (3, 4, 2, 3)]),
        ("random", [np.sort(rng.normal(size=n))[::-1] for n in (4, 1, 5, 3)]),
    ):
        yield name, BudgetTables(tables)


def _models(rng: np.random.Generator) -> Iterator[tuple[str, L0GraphicalModel]]:
    """Yield Gaussian and Ising models of four nodes, one of which may have no candidates."""
    X = rng.normal(size=(12, 4)) @ rng.normal(size=(4, 4))
    X -= X.mean(axis=0)
    everyone = ~np.eye(4, dtype=bool)
    some = everyone.copy()
    some[2], some[0, 1] = False, False
    spins = np.sign(rng.normal(size=(60, 4)) + 0.7 * rng.normal(size=(60, 1)))
    yield "gaussian", L0GraphicalModel(X, everyone)
    yield "gaussian-rss", L0GraphicalModel(X, some, scaling="rss")
    yield "gaussian-ridge", L0GraphicalModel(X, everyone, ridge=0.1)
    yield "gaussian-log", L0GraphicalModel(X, some, scaling="nlogrss")
    yield "ising", L0GraphicalModel(spins, everyone, loss="ising")
    yield "ising-ridge", L0GraphicalModel(spins, some, loss="ising", ridge=0.05)
    few, many = rng.uniform(0.2, 2.0, 12), rng.uniform(0.2, 2.0, 60)
    yield "gaussian-weighted", L0GraphicalModel(X, everyone, sample_weights=few)
    logs: dict[str, Any] = {"scaling": "nlogrss", "ridge": 0.1}
    yield "gaussian-log-weighted", L0GraphicalModel(X, some, sample_weights=few, **logs)
    yield "ising-weighted", L0GraphicalModel(spins, some, loss="ising", sample_weights=many)


def _values_of(problem: BudgetTables) -> Array:
    """Return V(0), V(1), ... by looking at every combination of counts, shape (total + 1,)."""
    value = np.full(problem.total + 1, np.inf)
    for counts in itertools.product(*(range(size + 1) for size in problem.sizes)):
        here = problem.objective(np.array(counts))
        value[sum(counts) :] = np.minimum(value[sum(counts) :], here)
    return value


def _best_subsets(model: L0GraphicalModel) -> BudgetTables:
    """Return the least scaled loss of every node for every number of neighbours."""
    tables = []
    for j in range(model.candidates.nodes):
        own = model.candidates.of(j)
        best = np.full(len(own) + 1, np.inf)
        for size in range(len(own) + 1):
            for chosen in itertools.combinations(own, size):
                best[size] = min(best[size], _least_loss(model, j, list(chosen)))
        tables.append(model.scaled(best, np.full(len(best), j)))
    return BudgetTables(tables)


def _least_loss(model: L0GraphicalModel, j: int, chosen: list[int]) -> float:
    """Return the least loss of node j on a support, by Newton's method from zero."""
    X, y = np.asarray(model.X, dtype=float)[:, chosen], np.asarray(model.X, dtype=float)[:, j]
    n, ridge, share = len(y), 2.0 * model.ridge, model.shares
    beta = np.zeros(len(chosen))
    for _ in range(50):
        if model.loss == "gaussian":
            slope, curvature = 2.0 * (X @ beta - y), np.full(n, 2.0)
        else:
            wrong = expit(-y * (X @ beta))
            slope, curvature = -y * wrong, wrong * (1.0 - wrong)
        gradient = X.T @ (share * slope) + ridge * beta
        if np.linalg.norm(gradient) <= 1e-12 * max(1.0, float(np.linalg.norm(X.T @ (share * y)))):
            break
        hessian = (X.T * (share * curvature)) @ X + ridge * np.eye(len(chosen))
        beta = beta - np.linalg.solve(hessian, gradient)
    else:
        raise AssertionError(f"node {j} on {chosen}: Newton's method did not converge")
    if model.loss == "gaussian":
        loss = float(share @ np.square(y - X @ beta))
    else:
        loss = float(share @ np.logaddexp(0.0, -y * (X @ beta)))
    return loss + model.ridge * float(beta @ beta)


def _questions(name: str, problem: BudgetProblem, value: Array, known_by: str) -> Iterator[Sample]:
    """Yield questions about two budgets, and about all of them."""
    scale = 1.0 + float(np.abs(value).max())
    shared: dict[str, Any] = {"known_by": known_by, "scale": scale}
    for K in sorted({problem.total // 2, problem.total}):
        yield Sample(f"{name}-{K}", problem, {"budget": K}, float(value[K]), **shared)
    checks = {
        "covers": AnswerCheck(
            "the path has every budget from 0 to the sum of the sizes", partial(_covers, value)
        ),
        "counts": AnswerCheck(
            "at(K) keeps every budget K, and its objective is the path's", _counts
        ),
        "bounds": AnswerCheck("no bound exceeds the known optimum", partial(_bounds, value)),
        "certified": AnswerCheck(
            "a budget that is called certified is optimal", partial(_certified, value)
        ),
        "values": AnswerCheck(
            "at every budget the objective is the known optimum, or no better where inexact",
            partial(_values, value),
        ),
    }
    yield Sample(name, problem, checks=checks, needs=Feature.PATH, **shared)


def _covers(value: Array, answer: CheckedAnswer) -> None:
    path = answer.path(BudgetPath)
    require(
        np.array_equal(path.budgets, np.arange(len(value))),
        f"the budgets are {path.budgets}, expected 0 to {len(value) - 1}",
    )
    status = answer.result.status
    require(status in (Status.OPTIMAL, Status.CONVERGED), f"status is {status.value}")
    require(path.stopped_by == "budget", f"stopped_by is {path.stopped_by!r}, expected 'budget'")


def _counts(answer: CheckedAnswer) -> None:
    path, problem = answer.path(BudgetPath), answer.sample.problem
    for K in path.budgets:
        counts = path.at(K)
        worst = max(problem.residuals(counts, float(K)).values())
        require(worst == 0.0, f"at({K}) is {counts}, infeasible by {worst:g}")
        own = problem.objective(counts)
        require(
            close(own, path.objective_at(K), 1e-9),
            f"at({K}) has the objective {own!r}, objective_at is {path.objective_at(K)!r}",
        )


def _bounds(value: Array, answer: CheckedAnswer) -> None:
    path = answer.path(BudgetPath)
    excess = path.bound - value
    K = int(np.argmax(excess))
    require(
        excess[K] <= 1e-9 * (1.0 + np.abs(value).max()),
        f"the bound at {K} is {path.bound[K]!r}, the optimum {value[K]!r}",
    )


def _certified(value: Array, answer: CheckedAnswer) -> None:
    path = answer.path(BudgetPath)
    for K in np.flatnonzero(path.certified):
        require(
            close(path.objective[K], value[K], 1e-9),
            f"budget {K} is called certified at {path.objective[K]!r}, the optimum is {value[K]!r}",
        )


def _values(value: Array, answer: CheckedAnswer) -> None:
    path, scale = answer.path(BudgetPath), answer.sample.scale
    for K in path.budgets:
        found = path.objective_at(K)
        same = close(found, value[K], answer.result.params.rel_gap, scale)
        require(
            same or (found >= value[K] and not answer.exact),
            f"objective_at({K}) is {found!r}, the optimum is {value[K]!r}",
        )
