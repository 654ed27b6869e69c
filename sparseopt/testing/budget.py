"""Budget problems with known values, and what a path over budgets must be."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np

from sparseopt.api import solve
from sparseopt.backend import Backend, Feature
from sparseopt.errors import ParamError
from sparseopt.paths.budget import BudgetPath
from sparseopt.problems.base import Array, Problem
from sparseopt.problems.budget.tables import BudgetTables
from sparseopt.result import Result, Status
from sparseopt.testing.behaviour import FamilySamples, behaviour_cases
from sparseopt.testing.cases import ConformanceCase, require
from sparseopt.testing.samples import Answer, Sample, answer_cases, close

__all__ = ["budget_cases"]


@dataclass(frozen=True)
class BudgetSample:
    """Tables whose optimal value is known at every budget.

    Attributes
    ----------
    name : str
    problem : BudgetTables
    value : array of shape (total + 1,)
        V(0), V(1), ...
    """

    name: str
    problem: BudgetTables
    value: Array


def budget_samples(rng: np.random.Generator) -> Iterator[BudgetSample]:
    """Yield small tables, settled by looking at all choices."""
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
        problem = BudgetTables(tables)
        yield BudgetSample(name, problem, _enumerate(problem))


def _enumerate(problem: BudgetTables) -> Array:
    """Return V by looking at every combination of counts."""
    value = np.full(problem.total + 1, np.inf)
    for counts in itertools.product(*(range(size + 1) for size in problem.sizes)):
        here = problem.objective(np.array(counts))
        value[sum(counts) :] = np.minimum(value[sum(counts) :], here)
    return value


def budget_cases(backend: Backend, rng: np.random.Generator) -> Iterator[ConformanceCase]:
    """Yield the cases of the budget family."""
    samples = list(budget_samples(rng))
    asked = [
        Sample(
            f"{sample.name}-{K}",
            sample.problem,
            {"budget": K},
            float(sample.value[K]),
            known_by="all choices",
            scale=1.0 + float(np.abs(sample.value).max()),
        )
        for sample in samples
        for K in sorted({sample.problem.total // 2, sample.problem.total})
    ]
    supported = [sample for sample in asked if backend.supports(sample.problem)[0]]
    if not supported:
        return
    for single in supported:
        yield from answer_cases(f"budget/{single.name}", Answer(backend, single))
    if Feature.PATH in backend.features:
        for sample in samples:
            yield from _path_cases(backend, sample)
    tables = [np.cumsum(-rng.exponential(size=15)) for _ in range(1500)]
    yield from behaviour_cases(
        "budget",
        backend,
        FamilySamples(tuple(supported), large=BudgetTables(tables), invalid=_overspent),
    )
    yield ConformanceCase(
        "budget/too-much",
        "a budget beyond what the problem can spend raises ParamError",
        lambda: _too_much(backend, samples[0].problem),
    )


def _overspent() -> Problem:
    problem = BudgetTables([[1.0, 0.0]])
    object.__setattr__(problem, "budget", 2)
    return problem


class _BudgetAnswer:
    """A backend's answer for all budgets; solved when it is first looked at."""

    def __init__(self, backend: Backend, sample: BudgetSample) -> None:
        self.backend = backend
        self.sample = sample

    @cached_property
    def result(self) -> Result:
        return solve(self.sample.problem, backend=self.backend)

    @property
    def path(self) -> BudgetPath:
        path = self.result.path
        if not isinstance(path, BudgetPath):
            require(False, f"result.path is {type(path).__name__}, expected a BudgetPath")
        assert isinstance(path, BudgetPath)
        return path


def _path_cases(backend: Backend, sample: BudgetSample) -> Iterator[ConformanceCase]:
    answer = _BudgetAnswer(backend, sample)
    statements: dict[str, tuple[str, Callable[[_BudgetAnswer], None]]] = {
        "covers": ("the path has every budget from 0 to the sum of the sizes", _covers),
        "counts": (
            "at(K) keeps every budget K, and its objective is the path's",
            _counts,
        ),
        "bounds": ("no bound exceeds the known optimum", _bounds),
        "certified": ("a budget that is called certified is optimal", _certified),
    }
    if Feature.EXACT in backend.features:
        statements["values"] = ("at every budget the objective is the known optimum", _values)
    for key, (asserts, statement) in statements.items():
        yield ConformanceCase(f"budget/{sample.name}/{key}", asserts, partial(statement, answer))


def _covers(answer: _BudgetAnswer) -> None:
    path, sample = answer.path, answer.sample
    require(
        np.array_equal(path.budgets, np.arange(sample.problem.total + 1)),
        f"the budgets are {path.budgets}, expected 0 to {sample.problem.total}",
    )
    status = answer.result.status
    require(status in (Status.OPTIMAL, Status.CONVERGED), f"status is {status.value}")
    require(path.stopped_by == "budget", f"stopped_by is {path.stopped_by!r}, expected 'budget'")


def _counts(answer: _BudgetAnswer) -> None:
    path, problem = answer.path, answer.sample.problem
    for K in path.budgets:
        counts = path.at(K)
        worst = max(problem.residuals(counts, float(K)).values())
        require(worst == 0.0, f"at({K}) is {counts}, infeasible by {worst:g}")
        own = problem.objective(counts)
        require(
            close(own, path.objective_at(K), 1e-9),
            f"at({K}) has the objective {own!r}, objective_at is {path.objective_at(K)!r}",
        )


def _bounds(answer: _BudgetAnswer) -> None:
    path, value = answer.path, answer.sample.value
    excess = path.bound - value
    K = int(np.argmax(excess))
    require(
        excess[K] <= 1e-9 * (1.0 + np.abs(value).max()),
        f"the bound at {K} is {path.bound[K]!r}, the optimum {value[K]!r}",
    )


def _certified(answer: _BudgetAnswer) -> None:
    path, value = answer.path, answer.sample.value
    for K in np.flatnonzero(path.certified):
        require(
            close(path.objective[K], value[K], 1e-9),
            f"budget {K} is called certified at {path.objective[K]!r}, the optimum is {value[K]!r}",
        )


def _values(answer: _BudgetAnswer) -> None:
    path, value = answer.path, answer.sample.value
    for K in path.budgets:
        require(
            close(path.objective_at(K), value[K], answer.result.params.rel_gap),
            f"objective_at({K}) is {path.objective_at(K)!r}, the optimum is {value[K]!r}",
        )


def _too_much(backend: Backend, problem: BudgetTables) -> None:
    try:
        solve(problem, backend=backend, budget=problem.total + 1, check=False)
    except ParamError:
        return
    require(False, f"budget={problem.total + 1} was answered; there are {problem.total}")
