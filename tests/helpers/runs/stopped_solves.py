"""Solves that are stopped at random moments, of random problems of all families.

Wherever it is stopped, a solve may leave less, but nothing that is false. As a script, with other
seeds: ``python tests/helpers stopped_solves --seed 1 --seconds 600``.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

import sparseopt
from sparseopt import Progress, Result, Status, Verdict, generators
from sparseopt.problems import (
    CLIME,
    L1SVM,
    STRS,
    BudgetTables,
    DantzigSelector,
    DifferentialNetwork,
    EmbeddingFit,
    KernelSelection,
    L1Subspace,
    MMDSubspace,
    MomentSubspace,
    Problem,
    QuantileLasso,
    SparseComponent,
    SparseLogisticRegression,
    SparseRegression,
    STRSPath,
    SufficientReduction,
)

CLASSES = (
    *("k_partitioning", "max_cut", "cardinality_least_squares", "restricted_isometry"),
    *("sparse_directions", "clustering", "optimal_design", "network_design"),
    *("sensor_placement", "truss_topology", "random_misdp"),
)
LIMITED = frozenset({"gurobi", "xpress", "copt", "mosek"})
"""Their free licences refuse some of the sizes."""


def draw(rng: np.random.Generator) -> Problem:
    """Return a problem of any family, of a size that takes hundredths of a second to seconds."""
    n, d, seed = int(rng.integers(15, 60)), int(rng.integers(13, 200)), int(rng.integers(10**6))
    X = rng.normal(size=(n, 3)) @ rng.normal(size=(3, d))
    X += rng.uniform(0.2, 1.0) * rng.normal(size=(n, d))
    y = X[:, :3].sum(axis=1) + rng.normal(size=n)
    few = X[:, : int(rng.integers(10, 13))]
    k, ridge = int(rng.integers(2, 7)), float(rng.choice([0.01, 0.1, 1.0]))
    linear = rng.choice([0.0, 1.0, 10.0]) * rng.normal(size=few.shape[1])
    shifted = few + (np.arange(few.shape[1]) < 3)
    kernel = str(rng.choice(["linear", "quadratic", "gaussian"]))
    made = (
        lambda: SparseComponent.from_data(X, 2 * k, kind="correlation"),
        lambda: SparseRegression(X, y, k=k, ridge=ridge),
        lambda: SparseLogisticRegression(X, np.sign(y), k=k, ridge=ridge),
        lambda: L1Subspace(X[:, :5], k=2),
        lambda: MMDSubspace(X[:, :6], k=2, bandwidth=2.0),
        lambda: MomentSubspace(X[:, :6], k=2),
        lambda: SufficientReduction(X[:, :5], y, k=1),
        lambda: EmbeddingFit(np.abs(rng.normal(size=(200, 30))), np.abs(rng.normal(size=30))),
        lambda: STRS(few.T @ few, linear, d=k),
        lambda: STRSPath(few.T @ few, linear, d_max=8),
        lambda: KernelSelection(few, shifted, kernel=kernel, d=k),
        lambda: BudgetTables([-np.sort(rng.random(k)) for _ in range(200)]),
        lambda: CLIME(np.cov(few.T)),
        lambda: L1SVM(X, np.sign(y)),
        lambda: QuantileLasso(X, y, tau=0.3, fit_intercept=True),
        lambda: DantzigSelector(X, y, scale="n"),
        lambda: DifferentialNetwork(np.cov(few.T), np.cov(rng.normal(size=few.shape).T)),
        *(lambda name=name: getattr(generators, name)(seed=seed) for name in CLASSES),
    )
    return made[int(rng.integers(len(made)))]()


def stops(rng: np.random.Generator) -> dict[str, Any]:
    """Return arguments of a solve that end it early: a clock, a caller, or a count."""
    way = int(rng.integers(3))
    if way == 0:
        return {"time_limit": float(10.0 ** rng.uniform(-3.0, 0.3))}
    if way == 1:
        left = iter(range(int(rng.integers(1, 30))))

        def go_on(_: Progress) -> bool:
            return next(left, None) is not None

        return {"on_progress": go_on, "time_limit": 3.0}
    name = str(rng.choice(["node_limit", "iteration_limit"]))
    return {name: int(rng.choice([1, 2, 3, 5, 10, 30, 100])), "time_limit": 3.0}


def false(result: Result) -> bool:
    """Return whether a result states what is not so."""
    return result.status is Status.IMPRECISE or result.verdict is Verdict.REFUTED


def stopped(seed: int) -> Iterator[tuple[Problem, str, dict[str, Any], Result]]:
    """Yield solves of one problem by backends of all kinds, in random order."""
    rng = np.random.default_rng(seed)
    problem = draw(rng)
    names = [
        backend.name
        for backend in sparseopt.backends(problem)
        if backend.available and backend.supports and backend.name not in LIMITED
    ]
    for name in rng.permutation(names)[:3].tolist():
        limits = stops(rng)
        try:
            yield problem, name, limits, sparseopt.solve(problem, backend=name, **limits)
        except sparseopt.UnsupportedProblem:
            continue


def main() -> None:
    """Stop solves at random, and print what was false."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=600.0)
    options = parser.parse_args()
    begin, seed, verdicts = time.monotonic(), options.seed, Counter[str]()
    while time.monotonic() - begin < options.seconds:
        for problem, name, limits, result in stopped(seed):
            verdicts[f"{result.status} {result.verdict}"] += 1
            if false(result):
                messages = sparseopt.check(problem, result).messages
                print(f"seed {seed}: {problem.kind} by {name} with {limits}: {messages}")
        seed += 1
    print(f"seeds {options.seed} to {seed - 1}: {dict(verdicts)}")


if __name__ == "__main__":
    main()
