"""Small random problems outside the parametric family, on data as people have them.

    python tests/helpers random_families --seconds 600 --seed 0 --kinds graph tables

prints each result that is refuted, imprecise, or differs from the enumeration of all supports, and
counts what became of the others; with ``--exact``, whether those that are verified are proven by
the exact program, too. Columns may be copies, combinations, nearly dependent, constant,
uncentred, or in units from 1e-6 to 1e6 of each other.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.optimize import lsq_linear, minimize

import sparseopt
from sparseopt import exact
from sparseopt.problems import (
    STRS,
    BudgetTables,
    EmbeddingFit,
    KernelSelection,
    L0GraphicalModel,
    MMDSubspace,
    MomentSubspace,
    Problem,
    SparseComponent,
    SparseLogisticRegression,
    SparseRegression,
    STRSPath,
    SufficientReduction,
)

Array = np.ndarray
Rng = np.random.Generator
TOLERANCE = 1e-6
"""Of values, relative to their size or a thousandth of that of no variables."""
LOGISTIC = 1e-5
"""The same of losses that SciPy minimises."""


def columns(rng: Rng, n: int, p: int) -> Array:
    """Return data of many kinds, shape (n, p)."""
    X = [
        lambda: rng.integers(-2, 3, (n, p)).astype(float),
        lambda: rng.choice([-1.0, 1.0], (n, p)),
        lambda: np.eye(p)[rng.integers(0, p, n)],
        lambda: rng.normal(size=(n, 1)) + 10.0 ** -rng.integers(1, 7) * rng.normal(size=(n, p)),
        lambda: rng.normal(size=(n, p)),
    ][rng.integers(5)]()
    if rng.random() < 0.25:
        X[:, rng.integers(p)] = 0.0
    if rng.random() < 0.25:
        X[:, rng.integers(p)] = X[:, 0] * rng.choice([-1.0, 1.0, 2.0])
    if rng.random() < 0.15 and p > 2:
        X[:, rng.integers(p)] = X[:, 0] - X[:, 1]
    if rng.random() < 0.2:
        X = X * 10.0 ** rng.integers(-6, 7, p)
    if rng.random() < 0.15:
        X = X + 10.0 ** rng.integers(0, 5)
    if rng.random() < 0.1:
        X = X * 10.0 ** rng.integers(-8, 9)
    return np.asarray(X)


def subsets(p: int, k: int) -> Iterator[list[int]]:
    """Yield all sets of at most k of p variables."""
    for size in range(k + 1):
        yield from map(list, itertools.combinations(range(p), size))


# ---- problems


def _penalties(rng: Rng, X: Array) -> tuple[float, float | None]:
    """Return a ridge and a bound, one of which may be missing."""
    unit = float((X**2).sum(axis=0).mean()) or 1.0
    ridge = float(rng.choice([0.0, 1e-6, 0.1, 1.0, 10.0])) * (unit if rng.random() < 0.7 else 1.0)
    bound = float(rng.choice([0.1, 1.0, 10.0, 1e3]))
    return ridge, None if ridge and rng.random() < 0.6 else bound


def _regression(rng: Rng) -> Problem:
    n, p = int(rng.integers(1, 9)), int(rng.integers(1, 7))
    X = columns(rng, n, p)
    y = rng.normal(size=n) if rng.random() < 0.5 else rng.integers(-2, 3, n).astype(float)
    ridge, bound = _penalties(rng, X)
    penalty = float(rng.choice([0.0, 0.0, 0.01, 0.3])) * float(y @ y)
    return SparseRegression(X, y, int(rng.integers(1, p + 1)), ridge, bound, penalty)


def _logistic(rng: Rng) -> Problem:
    n, p = int(rng.integers(2, 10)), int(rng.integers(1, 5))
    X, y = columns(rng, n, p), rng.choice([-1.0, 1.0], n)
    y[:2] = 1.0, -1.0
    ridge, bound = _penalties(rng, X)
    return SparseLogisticRegression(
        X,
        y,
        int(rng.integers(1, p + 1)),
        ridge,
        bound,
        float(rng.choice([0.0, 0.1, 0.3])),
        fit_intercept=bool(rng.random() < 0.6),
        sample_weights=None if rng.random() < 0.7 else rng.uniform(0.2, 3.0, n),
    )


def _component(rng: Rng) -> Problem:
    n, p = int(rng.integers(1, 9)), int(rng.integers(1, 8))
    return SparseComponent(columns(rng, n, p), d=int(rng.integers(1, p + 1)))


def _sphere(rng: Rng) -> Problem:
    p = int(rng.integers(1, 8))
    A = columns(rng, p, p)
    return STRS(A + A.T, d=int(rng.integers(1, p + 1)))


def _graph(rng: Rng) -> Problem:
    d = int(rng.integers(2, 6))
    n = int(rng.integers(d + 1, 14))
    X, candidates = columns(rng, n, d), rng.random((d, d)) < 0.7
    np.fill_diagonal(candidates, False)
    ridge = float(rng.choice([0.0, 0.0, 0.1, 1.0])) * float((X**2).mean())
    scaling = rng.choice(["standardised", "rss", "nlogrss"])
    return L0GraphicalModel(X, candidates, scaling=str(scaling), ridge=ridge)


def _ising(rng: Rng) -> Problem:
    d, n = int(rng.integers(2, 5)), int(rng.integers(4, 14))
    X, candidates = rng.choice([-1.0, 1.0], (n, d)), rng.random((d, d)) < 0.8
    if rng.random() < 0.5:
        X[:, -1] = np.where(rng.random(n) < 0.9, X[:, 0], -X[:, 0])
    np.fill_diagonal(candidates, False)
    return L0GraphicalModel(X, candidates, loss="ising", ridge=float(rng.choice([1e-3, 0.1])))


def _tables(rng: Rng) -> Problem:
    return BudgetTables(
        [columns(rng, 1, int(rng.integers(1, 6)))[0] for _ in range(rng.integers(1, 6))]
    )


def _kernel(rng: Rng) -> Problem:
    n, m, D = *rng.integers(4, 9, 2), int(rng.integers(1, 5))
    Z = columns(rng, n + m, D)
    kernel = str(rng.choice(["linear", "quadratic", "gaussian"]))
    lam = 0.0 if kernel == "quadratic" else float(rng.choice([0.0, 0.5, 10.0]))
    return KernelSelection(Z[:n], Z[n:], kernel, d=int(rng.integers(1, D + 1)), lam=lam)


def _subspace(rng: Rng) -> Problem:
    N, n, kind = int(rng.integers(5, 15)), int(rng.integers(2, 5)), int(rng.integers(4))
    X, k = columns(rng, N, n), int(rng.integers(1, n))
    if kind == 0:
        return MMDSubspace(X, k, bandwidth=float(10.0 ** rng.integers(-1, 3)))
    if kind == 1:
        return MomentSubspace(X, k)
    if kind == 2:
        return SufficientReduction(X, rng.normal(size=N), k)
    return EmbeddingFit(X, X.mean(axis=0) + rng.choice([0.0, 1.0]) * rng.normal(size=n))


def _weights(rng: Rng, n: int) -> Array:
    """Return weights of rows, alike or far from each other; some may be 0."""
    weights: Array = [
        lambda: rng.uniform(0.2, 3.0, n),
        lambda: rng.integers(0, 4, n).astype(float),
        lambda: 10.0 ** rng.integers(-4, 5, n),
        lambda: np.full(n, 10.0 ** rng.integers(-6, 7)),
    ][rng.integers(4)]()
    return weights


def _weighted_graph(rng: Rng) -> Problem:
    graph = _graph(rng)
    assert isinstance(graph, L0GraphicalModel)
    budget = None if rng.random() < 0.5 else int(rng.integers(0, graph.candidates.total + 1))
    return graph.with_changes(sample_weights=_weights(rng, len(graph.X)), budget=budget)


def _weighted_ising(rng: Rng) -> Problem:
    model = _ising(rng)
    assert isinstance(model, L0GraphicalModel)
    ridge = float(10.0 ** -rng.integers(1, 11))
    return model.with_changes(sample_weights=_weights(rng, len(model.X)), ridge=ridge)


def _trust_region(rng: Rng) -> Problem:
    p = int(rng.integers(1, 8))
    A, a = columns(rng, p, p), columns(rng, 1, p)[0] * 10.0 ** rng.integers(-8, 9)
    A = A + A.T
    if rng.random() < 0.2:
        # The hard case: no linear term along the largest eigenvalue's vector.
        top = np.linalg.eigh(A)[1][:, -1]
        a = a - top * (top @ a)
    return STRS(A, a, d=int(rng.integers(1, p + 1)))


def _sizes(rng: Rng) -> Problem:
    p = int(rng.integers(1, 8))
    A = columns(rng, p, p)
    a = columns(rng, 1, p)[0] if rng.random() < 0.5 else None
    return STRSPath(A + A.T, a, d_max=int(rng.integers(1, p + 1)))


_DRAWS: dict[str, Callable[[Rng], Problem]] = {
    "regression": _regression,
    "logistic": _logistic,
    "component": _component,
    "sphere": _sphere,
    "graph": _graph,
    "ising": _ising,
    "tables": _tables,
    "kernel": _kernel,
    "subspace": _subspace,
    "weighted-graph": _weighted_graph,
    "weighted-ising": _weighted_ising,
    "trust-region": _trust_region,
    "sizes": _sizes,
}
KINDS = tuple(_DRAWS)


def draw(kind: str, seed: int) -> Problem:
    """Return the problem of a seed.

    Raises
    ------
    ProblemError
        Where the data drawn are none of a problem.
    """
    return _DRAWS[kind](np.random.default_rng([KINDS.index(kind), seed]))


# ---- the optimum by enumeration


def enumerated(problem: Problem) -> tuple[float, float] | None:
    """Return the optimum and the size of the values, None where enumeration is no proof."""
    if isinstance(problem, SparseRegression):
        return _least_squares(problem), float(problem.null_value)
    if isinstance(problem, SparseLogisticRegression):
        return _logistic_losses(problem), float(problem.null_value)
    if isinstance(problem, SparseComponent):
        X, p = problem.X, problem.X.shape[1]
        sets = itertools.combinations(range(p), problem.d)
        norms = (np.linalg.norm(X[:, list(S)], 2) ** 2 for S in sets)
        return float(max(norms)), float((X**2).sum())
    if isinstance(problem, STRS) and not problem.a.any():
        A = problem.A
        sets = itertools.combinations(range(len(A)), problem.d)
        top = max(np.linalg.eigvalsh(A[np.ix_(S, S)])[-1] for S in sets)
        return float(top), float(np.abs(A).max())
    if isinstance(problem, BudgetTables):
        sums = np.zeros(1)
        tables = [problem.values[i:j] for i, j in itertools.pairwise(problem.ptr)]
        for table in tables:
            sums = np.add.outer(sums, table).ravel()
        # Any counts: there is room for all.
        return float(sums.min()), float(sum(np.abs(table).max() for table in tables))
    return None


def _least_squares(problem: SparseRegression) -> float:
    X, y, M = problem.X, problem.y, problem.limit
    best = 0.5 * float(y @ y)
    for S in subsets(X.shape[1], problem.k):
        if not S:
            continue
        lengths = np.sqrt((X[:, S] ** 2).sum(axis=0) + problem.ridge)
        lengths[lengths == 0.0] = 1.0
        rows = np.vstack([X[:, S], np.sqrt(problem.ridge) * np.eye(len(S))]) / lengths
        target = np.append(y, np.zeros(len(S)))
        if np.isinf(M):
            b = np.linalg.lstsq(rows, target, rcond=1e-15)[0]
        else:
            ends = (-M * lengths, M * lengths)
            b = lsq_linear(rows, target, ends, method="bvls", tol=1e-14).x
        value = 0.5 * float(((rows @ b - target) ** 2).sum())
        best = min(best, value + problem.penalty * len(S))
    return best


def _logistic_losses(problem: SparseLogisticRegression) -> float:
    X, y, M, counts = problem.X, problem.y, problem.limit, problem.counts
    best = np.inf
    for S in subsets(X.shape[1], problem.k):
        lengths = np.linalg.norm(X[:, S], axis=0)
        lengths[lengths == 0.0] = 1.0
        Z, ridge = X[:, S] / lengths, problem.ridge / lengths**2
        ends = [(-M * length, M * length) for length in lengths]
        if problem.fit_intercept:
            Z, ridge = np.column_stack([Z, np.ones(len(y))]), np.append(ridge, 0.0)
            ends.append((-np.inf, np.inf))

        def loss(b: Array, Z: Array = Z, ridge: Array = ridge) -> tuple[float, Array]:
            margins = -y * (Z @ b)
            slopes = -y * counts * np.exp(-np.logaddexp(0.0, -margins))
            value = counts @ np.logaddexp(0.0, margins) + 0.5 * (ridge @ b**2)
            return float(value), Z.T @ slopes + ridge * b

        start, value = np.zeros(Z.shape[1]), loss(np.zeros(Z.shape[1]))[0]
        if len(start):
            exact = {"ftol": 1e-15, "gtol": 1e-10, "maxiter": 5000}
            value = minimize(loss, start, jac=True, bounds=ends, options=exact).fun
        best = min(best, value + problem.penalty * len(S))
    return float(best)


# ---- what is found


def proven_exactly(problem: Problem, result: sparseopt.Result, folder: Path) -> str:
    """Return the exact program's verdict, and what it says of it."""
    files = folder / "p.npz", folder / "r.json"
    sparseopt.save(problem, files[0])
    sparseopt.save(result, files[1])
    found, why = exact.check(*files, 60.0)[:2]
    return found if found == "proven" else f"{found}: {why}"


def outcome(kind: str, seed: int, folder: Path | None = None) -> tuple[str, str]:
    """Return "refused", "wrong", or status and verdict; and what is to be said of it.

    With a folder for its files what is verified is given to the exact program, too.
    """
    try:
        problem = draw(kind, seed)
        result = sparseopt.solve(problem)
    except sparseopt.ProblemError as error:
        return "refused", str(error)
    found = f"{result.status.value} {result.verdict.value}"
    if result.verdict.value == "refuted" or result.status.value == "imprecise":
        return "wrong", f"{found}: {'; '.join(sparseopt.check(problem, result).messages)}"
    reference = enumerated(problem)
    if reference is not None:
        value, size = reference
        allowed = (LOGISTIC if kind == "logistic" else TOLERANCE) * (abs(value) + 1e-3 * size)
        # SciPy's losses are no lower than the minimum.
        off = result.objective - value
        if off > allowed or (kind != "logistic" and off < -allowed):
            return "wrong", f"{found}: {result.objective!r} instead of {value!r}"
    if folder is None or result.verdict.value != "verified":
        return found, ""
    exactly, _, why = proven_exactly(problem, result, folder).partition(": ")
    return f"{found}, exactly {exactly}", why


def main() -> None:
    """Print what is wrong, and count what became of the others."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--exact", action="store_true")
    asked = parser.parse_args()
    counts = {kind: Counter[str]() for kind in asked.kinds}
    seed, end = asked.seed, time.monotonic() + asked.seconds
    while time.monotonic() < end:
        for kind in asked.kinds:
            with TemporaryDirectory() as folder:
                found, why = outcome(kind, seed, Path(folder) if asked.exact else None)
            counts[kind][found] += 1
            if why and found != "refused":
                print(f"{kind} {seed}: {found}: {why}", flush=True)
        seed += 1
    for kind, found in counts.items():
        print(f"{kind}: " + ", ".join(f"{count} {what}" for what, count in found.most_common()))


if __name__ == "__main__":
    main()
