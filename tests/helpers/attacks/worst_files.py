"""For each kind of certificate a small one that asks for much work: hours, if nothing bounded it.

Each is in files of some kilobytes, those of arrays that compress well among them. As a script it
measures what checking takes where only a few seconds of work are allowed, by the checker's own
count and by processor time: ``python tests/helpers worst_files --seconds 10``.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

import sparseopt
from sparseopt import Certificate, Limit, Result, SolveParams, Status, exact
from sparseopt.checking import check, work
from sparseopt.estimators.parametric.levels import program_in_odds
from sparseopt.paths.columns import ColumnwisePath
from sparseopt.paths.parametric import GridPath, ParametricPath, SparseRows
from sparseopt.paths.quantiles import QuantilePath
from sparseopt.paths.supports import SupportPath
from sparseopt.problems import (
    CLIME,
    MISDP,
    STRS,
    BudgetTables,
    ParametricLP,
    RobustSubspace,
    SemidefiniteBlock,
    SparseComponent,
    SparseRegression,
    STRSPath,
)

Array = np.ndarray
Case = tuple[Any, Result]


def chain(rows: int, columns: int, b: float, c: float) -> ParametricLP:
    """Return max c'x, x_j - r x_(j-1) <= b, x free: exact multipliers have 53 bits a row.

    Each variable is there twice, with both signs, so that no multiplier may be off by a bit.
    """
    A = sp.diags_array([1.0, -0.999], offsets=[0, -1], shape=(rows, columns), format="csr")
    zero, costs = np.zeros(rows), np.full(columns, c)
    A = sp.csr_array(sp.hstack([A, -A]))
    both = np.concatenate([costs, -costs])
    return ParametricLP(A, np.full(rows, b), zero, both, 0.0 * both)


def chain_answer(n: int) -> tuple[ParametricLP, Array, Array]:
    """Return a chain with its optimal point and multipliers, up to rounding."""
    problem = chain(n, n, 1.0, 1.0)
    A = problem.A.toarray()[:, :n]
    x = np.linalg.solve(A, problem.b)
    return problem, np.concatenate([x, 0.0 * x]), np.linalg.solve(A.T, problem.c[:n])


def dual() -> Case:
    """Multipliers that must be exact, of a chain without bounds."""
    problem, x, nu = chain_answer(400)
    value = float(problem.c @ x)
    return problem, Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value,
        duals={"rows": nu},
        certificate=Certificate("dual", {"nu": nu}),
        params=SolveParams(lam=0.5),
        kind=problem.kind,
    )


def dual_grid() -> Case:
    """The same at 300 values of lam."""
    count, (problem, x, nu) = 300, chain_answer(400)
    value, knots = float(problem.c @ x), np.linspace(1.0, 0.1, count)
    values = np.full(count, value)
    path = GridPath(
        knots, np.tile(x, (count, 1)), np.tile(nu, (count, 1)), values, values, None, "grid"
    )
    path = replace(path, names=problem.coefficient_names)
    return problem, Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value,
        path=path,
        certificate=Certificate("dual-grid", {}),
        params=SolveParams(lam=tuple(knots.tolist())),
        kind=problem.kind,
    )


def farkas() -> Case:
    """A Farkas proof for each of 300 values of lam, with a chain that must vanish exactly."""
    n, count = 600, 300
    problem = chain(n + 1, n, -1.0, 0.0)
    nu = 0.999 ** np.arange(n + 1)[::-1]
    lam = tuple(np.linspace(1.0, 0.1, count).tolist())
    return problem, Result(
        status=Status.INFEASIBLE,
        certificate=Certificate("farkas", {"nu": np.tile(nu, (count, 1))}),
        params=SolveParams(lam=lam),
        kind=problem.kind,
    )


def ray() -> Case:
    """A ray for each of 300 values of lam along a chain of rows that it must not leave."""
    n, count = 600, 300
    chained = sp.diags_array([1.0, -0.999], offsets=[0, 1], shape=(n, n + 1), format="csr")
    A, zero = sp.csr_array(sp.vstack([chained, -chained])), np.zeros(n + 1)
    problem = ParametricLP(A, np.zeros(2 * n), np.zeros(2 * n), np.eye(n + 1)[0], zero)
    step = 0.999 ** np.arange(n + 1)[::-1]
    lam = tuple(np.linspace(1.0, 0.1, count).tolist())
    arrays = {"x": np.zeros((count, n + 1)), "ray": np.tile(step, (count, 1))}
    return problem, Result(
        status=Status.UNBOUNDED,
        certificate=Certificate("ray", arrays),
        params=SolveParams(lam=lam),
        kind=problem.kind,
    )


def segments() -> Case:
    """One basis for 500 segments, whose kernel of 300 rows is ill-conditioned."""
    n, count = 300, 500
    A = np.tril(np.full((n, n), -0.03)) + 1.03 * np.eye(n)
    problem = ParametricLP(A, np.ones(n), np.zeros(n), np.ones(n), np.zeros(n))
    x, nu = np.linalg.solve(A, problem.b), np.linalg.solve(A.T, problem.c)
    value = float(problem.c @ x)
    low = np.append(np.linspace(1.0, 0.0, count)[:-1], 0.0)
    high = np.append(np.inf, low[:-1])
    rows = [
        SparseRows(
            np.arange(count + 1) * n,
            np.tile(np.arange(n), count),
            np.tile(vector, count),
            np.zeros(count * n),
        )
        for vector in (x, nu)
    ]
    objective = np.tile([value, 0.0, 0.0], (count, 1))
    path = ParametricPath(low, high, *rows, objective, (n, n), problem.coefficient_names, "lam_min")
    arrays = {
        "low": low,
        "high": high,
        "codes": np.concatenate([np.full(n, 2), np.full(n, 1)]),
        "change_ptr": np.zeros(count + 1, dtype=np.int64),
        "changed": np.zeros(0, dtype=np.int64),
        "change_code": np.zeros(0, dtype=np.int64),
    }
    return problem, Result(
        status=Status.OPTIMAL,
        x=x,
        objective=value,
        bound=value,
        duals={"rows": nu},
        path=path,
        certificate=Certificate("segments", arrays),
        kind=problem.kind,
    )


def leaves() -> Case:
    """A caterpillar of 44 leaves, each with a matrix of 1,000 rows to factorise."""
    problem = STRS(sp.diags_array(np.ones(1000)).toarray(), d=60)
    return problem, _sphere(problem, "leaves", _caterpillar(44))


def leaves_by_size() -> Case:
    """The same for each of 60 sizes."""
    problem = STRSPath(sp.diags_array(np.ones(1000)).toarray(), d_max=60)
    arrays = {f"{name}_{d}": a for d in range(1, 61) for name, a in _caterpillar(44).items()}
    count = 60
    path = SupportPath(
        np.arange(1, count + 1),
        np.ones(count),
        np.full(count, 1.0),
        np.ones(count, dtype=bool),
        np.arange(count + 1),
        np.zeros(count, dtype=np.int64),
        np.ones(count),
        1000,
        "d_max",
    )
    return problem, replace(_sphere(problem, "leaves-by-size", arrays), path=path)


def _caterpillar(count: int) -> dict[str, Array]:
    """Return leaves of which each has another variable in, and the ones before out."""
    inside = [[k] for k in range(count - 1)] + [[]]
    out = [list(range(k)) for k in range(count)]
    arrays: dict[str, Array] = {"mu": np.ones(count)}
    for name, lists in (("in", inside), ("out", out)):
        arrays[f"{name}_ptr"] = np.cumsum([0, *map(len, lists)])
        arrays[f"{name}_index"] = np.array([i for one in lists for i in one], dtype=np.int64)
    return arrays


def _sphere(problem: Any, kind: str, arrays: dict[str, Array], bound: float = 1.0) -> Result:
    x = np.zeros(problem.variables if isinstance(problem, SparseComponent) else len(problem.A))
    x[0] = 1.0
    value = float(problem.objective(x))
    done = bound == value
    return Result(
        status=Status.OPTIMAL if done else Status.FEASIBLE,
        limit=None if done else Limit.TIME,
        x=x,
        objective=value,
        bound=bound,
        certificate=Certificate(kind, arrays),
        kind=problem.kind,
    )


def kernel_leaves() -> Case:
    """No kernel, and a million columns in the plane with a threshold that few products exceed."""
    angle = np.round(np.linspace(0.0, np.pi, 1000), 3)
    X = np.tile(np.vstack([np.cos(angle), np.sin(angle)]), (1, 1000))
    problem = SparseComponent(X, d=2)
    arrays = {
        "kernel": np.zeros(0, dtype=np.int64),
        "threshold": np.array([1.0 - 1e-9]),
        "sizes": np.zeros(0, dtype=np.int64),
        "bounds": np.zeros(0),
    }
    return problem, _sphere(problem, "kernel-leaves", arrays, 2.0)


def anchor_leaves() -> Case:
    """Bounds of 30 sizes, each of which every one of 20,000 columns may be the anchor of."""
    rng = np.random.default_rng(0)
    X = rng.choice([-1.0, 1.0], (40, 20_000))
    problem = SparseComponent(X, d=30)
    sizes = np.arange(2, 31)
    arrays = {"threshold": np.array([40.0]), "sizes": sizes, "bounds": 40.0 + 0.1 * (sizes - 1.0)}
    for k in sizes.tolist():
        arrays[f"kernel_{k}"] = np.arange(20_000)[:100]
    return problem, _sphere(problem, "anchor-leaves", arrays, 43.0)


def columnwise() -> Case:
    """The paths of a CLIME, of which each segment is cut into 200."""
    place = np.arange(40)
    problem = CLIME(0.999999 ** np.abs(place[:, None] - place))
    true = sparseopt.solve(problem, lam_min=1e-8, check=False)
    times, path, certificate = 400, true.path, true.certificate
    assert isinstance(path, ColumnwisePath) and certificate is not None
    arrays = dict(certificate.arrays)
    arrays["column_ptr"] = arrays["column_ptr"] * times
    changes = np.diff(arrays["change_ptr"])
    spread = np.zeros((len(changes), times), dtype=np.int64)
    spread[:, 0] = changes
    arrays["change_ptr"] = np.append(0, np.cumsum(spread))
    columns = [_cut(column, times) for column in path.columns]
    for name in ("low", "high"):
        arrays[name] = np.concatenate([getattr(column, name) for column in columns])
    return problem, true.with_changes(
        path=replace(path, columns=columns), certificate=replace(certificate, arrays=arrays)
    )


def _cut(path: ParametricPath, times: int) -> ParametricPath:
    """Cut all segments into equal parts; that without an end into parts of the length one."""
    low, high = [], []
    for begin, end in zip(path.low.tolist(), path.high.tolist(), strict=True):
        top = end if np.isfinite(end) else begin + times - 1.0
        ends = np.linspace(top, begin, times if np.isinf(end) else times + 1).tolist()
        ends = [np.inf, *ends] if np.isinf(end) else ends
        ends[0], ends[-1] = end, begin
        low += ends[1:]
        high += ends[:-1]
    steps = np.array(low) - np.repeat(path.low, times)
    a, b, c = np.repeat(path.objective, times, axis=0).T
    objective = np.stack([a + steps * (b + steps * c), b + 2.0 * steps * c, c], axis=1)

    def rows(of: SparseRows) -> SparseRows:
        parts = [slice(of.ptr[s], of.ptr[s + 1]) for s in np.repeat(range(len(path.low)), times)]
        value = [
            of.value[part] + step * of.rate[part] for part, step in zip(parts, steps, strict=True)
        ]
        counts = [part.stop - part.start for part in parts]
        return SparseRows(
            np.append(0, np.cumsum(counts)),
            np.concatenate([of.index[part] for part in parts]),
            np.concatenate(value),
            np.concatenate([of.rate[part] for part in parts]),
        )

    return replace(
        path,
        low=np.array(low),
        high=np.array(high),
        objective=objective,
        theta=rows(path.theta),
        nu=rows(path.nu),
    )


def quantiles() -> Case:
    """A path over all levels, cut into 2,000 parts, of 400 observations that it interpolates."""
    size, count = 400, 2000
    one, nothing = np.ones(size), np.zeros(size)
    problem = program_in_odds(np.eye(size) + 1.0, nothing, nothing, one, None)
    path = QuantilePath(
        design=problem.A.as_array(),
        y=nothing,
        counts=one,
        levels=np.linspace(0.0, 1.0, count + 1),
        theta=np.zeros((count, size)),
        bases=np.tile(np.arange(size), (count, 1)),
        leaving=np.zeros(0, dtype=np.int64),
        above=np.zeros(0, dtype=bool),
        moves=np.zeros(count, dtype=np.int64),
        names=problem.coefficient_names,
    )
    return problem, Result(
        status=Status.OPTIMAL, x=nothing, objective=0.0, bound=0.0, path=path, kind=problem.kind
    )


def budget() -> Case:
    """Tables whose Lagrangian bounds leave gaps for nearly every budget."""
    rng = np.random.default_rng(0)
    tables = [np.sort(rng.integers(0, 60, 40).astype(float))[::-1] for _ in range(400)]
    problem = BudgetTables(tables)
    true = sparseopt.solve(problem, check=False)
    path: Any = true.path
    false = replace(path, bound=path.objective, certified=np.ones_like(path.certified))
    return problem, true.with_changes(path=false, bound=true.objective)


def subset_tree() -> Case:
    """A caterpillar whose nodes meet two blocks of dual vectors by turns: see the test."""
    return caterpillar(3000, True, 20_000)


def caterpillar(depth: int, turns: bool, p: int = 400) -> Case:
    """Return a tree whose nodes meet two blocks of dual vectors by turns, from level 70 on.

    Node 2i + 1 has the variable i in, node 2i + 2 has it out. The vector 70 closes any node, for it
    leaves 1e-4 of y.
    """
    rng = np.random.default_rng(0)
    X = np.tile(rng.normal(size=(10, 400)), (1, p // 400))
    problem = SparseRegression(X, X[:, :3].sum(axis=1) + rng.normal(size=10), k=3, ridge=1.0)
    w = np.linalg.solve(X[:, :10], (1.0 - 1e-4) * problem.y)
    r = problem.y - X[:, :10] @ w
    bound = problem.y @ r - 0.5 * r @ r - 0.5 * np.sort((X.T @ r) ** 2)[-3:].sum()
    assert bound > 0.0
    level = np.arange(depth)
    dual = np.where(level < 69, level + 1, 66 if turns else 70)
    dual[-1] = 70
    vectors = [([0], [0.01 * k]) for k in range(70)] + [(list(range(10)), w)]
    arrays = {
        "parent": np.append(-1, np.repeat(np.maximum(0, 2 * level), 2)),
        "variable": np.append(-1, np.repeat(level + 10, 2)),
        "inside": np.append(0, np.tile([1, 0], depth)),
        "dual": np.append(0, np.stack([np.full(depth, 70), dual], axis=1).ravel()),
        "w_ptr": np.cumsum([0, *(len(index) for index, _ in vectors)]),
        "w_index": np.concatenate([index for index, _ in vectors]),
        "w_value": np.concatenate([value for _, value in vectors]),
    }
    x = np.zeros(problem.X.shape[1])
    return problem, Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=x,
        objective=problem.objective(x),
        bound=0.5 * bound,
        certificate=Certificate("subset-tree", arrays),
        kind=problem.kind,
    )


def misdp_leaves() -> Case:
    """100 leaves, each proven by bounds that follow from 400 long rows and a chain."""
    q, length, wide, long = 99, 8, 2000, 400
    n = q + length + wide
    A = np.zeros((length + long, n))
    A[0, :q], A[0, q] = -1.0 / q, 1.0  # y_0 is at least the mean of z
    for k in range(1, length):
        A[k, q + k - 1 : q + k + 1] = -1.0, 1.0  # y_k >= y_(k - 1)
    A[length:, q + length :] = 1e-3
    low, c = np.append(np.zeros(length), np.full(long, -1.0)), np.zeros(n)
    c[q + length - 1] = 1.0
    A[length], low[length] = np.arange(n) < q, 1.0  # some z is 1
    problem = MISDP(
        c=c,
        A=sp.csr_array(A),
        row_lower=low,
        lower=np.zeros(n),
        upper=np.append(np.ones(q), np.full(n - q, 2.0)),
        integer=np.arange(q),
    )
    lower, upper = np.vstack([np.eye(q), np.zeros(q)]), np.ones((q + 1, q))
    for k in range(q + 1):
        upper[k, :k] = 0.0
    arrays = {
        "lower": lower,
        "upper": upper,
        "rows": np.zeros((q + 1, len(low))),
        "infeasible": np.zeros(q + 1, dtype=bool),
    }
    return problem, _with_bound(problem, "misdp-leaves", arrays, np.ones(n), 1.0 / q)


def _with_bound(
    problem: Any, kind: str, arrays: dict[str, Array], x: Array, bound: float
) -> Result:
    return Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=x,
        objective=float(problem.objective(x)),
        bound=bound,
        certificate=Certificate(kind, arrays),
        kind=problem.kind,
    )


def rank_one_leaves() -> Case:
    """19,000 boxes for one entry of a matrix of rank one, each a program of its own."""
    count = 19_000
    block = SemidefiniteBlock(np.eye(3), rank_one=True)
    problem = MISDP(
        c=[1.0, 0.0, 1.0],
        A=[[1.0, 0.0, 1.0]],
        row_lower=[1.0],
        lower=[0.0, -2.0, 0.0],
        upper=[2.0] * 3,
        blocks=[block],
    )
    inner = np.arange(count - 1)
    entry, value = np.full(2 * count - 1, -1), np.zeros(2 * count - 1)
    children = np.zeros((2 * count - 1, 2), dtype=np.int64)
    entry[2 * inner], value[2 * inner] = 1, np.linspace(-1.99, 1.99, count - 1)
    children[2 * inner] = np.stack([2 * inner + 1, 2 * inner + 2], axis=1)
    owner = np.flatnonzero(entry < 0)
    arrays = {
        "root_lower": np.array([0.0, -2.0, 0.0]),
        "root_upper": np.full(3, 2.0),
        "entry": entry,
        "value": value,
        "children": children,
        "owner": owner,
        "lower": np.zeros((count, 0)),
        "upper": np.zeros((count, 0)),
        "rows": np.tile([1.0, 0.0, 0.0, 0.0, 0.0, 0.0], (count, 1)),
        "psd": np.zeros((count, 3)),
        "infeasible": np.zeros(count, dtype=bool),
    }
    return problem, _with_bound(problem, "rank-one-leaves", arrays, np.array([1.0, 0.0, 0.0]), 1.0)


def singular(size: int, count: int) -> MISDP:
    """Return a problem with many matrices that are singular along (1, 0) and (0, 1), exactly."""
    rng = np.random.default_rng(0)
    # Integers whose products and their sums are exact.
    B = rng.integers(-(2**20), 2**20, (size, size - 1))
    G = (B @ B.T).astype(float)
    at = [(i, j) for j in range(size) for i in range(j, size)]
    F = np.array([[G[i, j]] for i, j in at])
    F0 = np.array([1e14 * (i == j) for i, j in at])
    block = SemidefiniteBlock(F, F0)
    return MISDP(c=[-1.0], blocks=[block] * count)


def misdp_ray() -> Case:
    """A ray of 500 matrices of order 24 that only rational arithmetic decides."""
    problem = singular(24, 500)
    arrays = {"x": np.zeros(1), "ray": np.ones(1)}
    return problem, Result(
        status=Status.UNBOUNDED, certificate=Certificate("ray", arrays), kind=problem.kind
    )


def curve() -> Case:
    """The same as a curve that does not bend."""
    problem = singular(12, 2000)
    size = 12 * 12 * 2000
    arrays = {"x": np.zeros(1), "ray": np.ones(1), "bend": np.zeros(1), "cross": np.zeros(size)}
    return problem, Result(
        status=Status.UNBOUNDED, certificate=Certificate("curve", arrays), kind=problem.kind
    )


def inliers() -> Case:
    """A subspace among 1,000 coordinates."""
    return _subspace(True)


def relaxation() -> Case:
    """The same by a relaxation."""
    return _subspace(False)


def _subspace(near: bool) -> Case:
    n = 1000
    problem = RobustSubspace(np.vstack([np.eye(n)[:1] * 2.0, np.eye(n)]), 1)
    W = np.eye(n)[:, :1]
    arrays = (
        {
            "inlier": np.arange(n + 1) < 1,
            "cross": np.zeros((1, n)),
            "metric": np.eye(1),
        }
        if near
        else {"complement": np.eye(n) - W @ W.T}
    )
    certificate = Certificate(
        "inliers" if near else "relaxation", arrays, {} if near else {"floor": 1e-9}
    )
    value = float(problem.objective(W))
    return problem, Result(
        status=Status.FEASIBLE,
        limit=Limit.TIME,
        x=W,
        objective=value,
        bound=0.5 * value,
        certificate=certificate,
        kind=problem.kind,
    )


WORST: dict[str, Callable[[], Case]] = {
    "dual": dual,
    "dual-grid": dual_grid,
    "segments": segments,
    "columnwise": columnwise,
    "farkas": farkas,
    "ray": ray,
    "ray of a MISDP": misdp_ray,
    "quantiles": quantiles,
    "budget": budget,
    "leaves": leaves,
    "leaves-by-size": leaves_by_size,
    "kernel-leaves": kernel_leaves,
    "anchor-leaves": anchor_leaves,
    "subset-tree": subset_tree,
    "misdp-leaves": misdp_leaves,
    "rank-one-leaves": rank_one_leaves,
    "curve": curve,
    "inliers": inliers,
    "relaxation": relaxation,
}
"""The worst that was found of each kind."""


def main() -> None:
    """Print, for each kind, the size of its files, and what both programs take."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--seconds", type=float, default=10.0, help="what is allowed")
    parser.add_argument("--kind", action="append", choices=list(WORST))
    asked = parser.parse_args()
    work.SECONDS, work.EACH = asked.seconds, 0.0
    for kind in asked.kind or WORST:
        problem, result = WORST[kind]()
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, "p.npz"), Path(folder, "r.json")
            sparseopt.save(problem, files[0])
            sparseopt.save(result.with_changes(problem=problem), files[1])
            sizes = [sum(f.stat().st_size for f in Path(folder).glob(s)) for s in ("p*", "r*")]
            begin = time.process_time()
            with work.limited():
                report = check(problem, result)
                counted = asked.seconds - work.left()
            middle = time.process_time()
            try:
                verdict = exact.check(*files, asked.seconds)
            except (exact.Unreadable, exact.Unproven) as error:
                verdict = "unproven", str(error)
            end = time.process_time()
        print(
            f"{kind}: {sizes[0] / 1e3:.0f} + {sizes[1] / 1e3:.0f} kB, {report.verdict}, counted "
            f"{counted:.1f} s, took {middle - begin:.1f} s; exactly {verdict[0]} "
            f"{end - middle:.1f} s ({verdict[1][:60]})",
            flush=True,
        )


if __name__ == "__main__":
    main()
