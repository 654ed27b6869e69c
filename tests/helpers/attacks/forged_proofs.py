"""False claims with the evidence of a true one, changed at random, of all families.

Each claim states a feasible point that is worse than the optimum, as if it were optimal; or that a
problem with an optimum has none. Its certificate is that of the true result, with numbers moved,
scaled, replaced by hostile ones, leaves dropped and repeated, indices moved. Whatever is left of
the proof, the claim is false, so that nothing may verify it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
from conditional_misdps import draw_conditional
from small_misdps import draw

import sparseopt
from sparseopt import Certificate, Limit, ProblemError, Result, SolveParams, Status
from sparseopt.generators import embeddings, subspaces
from sparseopt.problems import (
    LPD,
    MISDP,
    STRS,
    BudgetTables,
    Candidates,
    DantzigSelector,
    KernelSelection,
    L0GraphicalModel,
    LADLasso,
    ParametricLP,
    SemidefiniteBlock,
    SparseComponent,
    SparseLogisticRegression,
    SparseRegression,
)
from sparseopt.problems.misdp.cones import triangle
from sparseopt.proofs.neighbours import support_losses

Array = np.ndarray
Rng = np.random.Generator
FALSE = 1e-3
"""By how much a claim is worse than the optimum, at least, in the unit of the objective."""


def weights(rng: Rng, n: int) -> Array | None:
    """Return weights of n observations, or none."""
    return rng.uniform(0.2, 2.0, n) if rng.random() < 0.4 else None


def problem_of(kind: str, rng: Rng) -> tuple[Any, dict[str, Any]]:
    """Return a small problem of a kind of :data:`KINDS`, and a question."""
    seed = int(rng.integers(10**6))
    n, d = int(rng.integers(8, 16)), int(rng.integers(5, 9))
    X = rng.normal(size=(n, d))
    if rng.random() < 0.3:
        X[:, 1] = X[:, 0] + 10.0 ** rng.uniform(-9.0, -1.0) * X[:, 1]
    y = X[:, :2].sum(axis=1) + rng.normal(size=n)
    if kind == "subset":
        ridge = float(rng.choice([0.0, 0.1, 1.0]))
        bound = None if ridge and rng.random() < 0.5 else 3.0
        penalty = float(rng.choice([0.0, 0.0, 0.2]))
        return SparseRegression(X, y, k=3, ridge=ridge, bound=bound, penalty=penalty), {}
    if kind == "classes":
        labels = np.where(y > np.median(y), 1.0, -1.0)
        bound = None if rng.random() < 0.5 else 3.0
        fitted = bool(rng.random() < 0.7)
        return SparseLogisticRegression(
            *(X, labels, 3, 0.3), bound=bound, fit_intercept=fitted, sample_weights=weights(rng, n)
        ), {}
    if kind == "component":
        return SparseComponent(X, d=int(rng.integers(2, 4))), {}
    if kind == "gaussian kernel":
        other = rng.normal(size=(6, 4)) + rng.uniform(0.2, 1.0)
        return KernelSelection(X[:6, :4], other, "gaussian", d=int(rng.integers(1, 3))), {}
    if kind == "graph":
        # Some candidates nearly depend on each other.
        candidates = Candidates.window(d, 3)
        scaling = str(rng.choice(["standardised", "standardised", "rss", "nlogrss"]))
        ridge = float(rng.choice([0.0, 0.0, 0.1]))
        how = {"scaling": scaling, "ridge": ridge, "sample_weights": weights(rng, n)}
        return L0GraphicalModel(X, candidates, **how), {}
    if kind == "spins":
        signs = np.where(X[:, :5] + 0.5 * X[:, :1] > 0.0, 1.0, -1.0)
        how = {"ridge": float(rng.choice([0.0, 0.02])), "sample_weights": weights(rng, n)}
        return L0GraphicalModel(signs, Candidates.window(5, 3), loss="ising", **how), {}
    if kind == "drowned":
        # Entries without any effect, beside which all others look like rounding errors.
        A = X[:d, :d] + X[:d, :d].T
        A[-1, -1] = -(10.0 ** rng.uniform(3.0, 15.0))
        return STRS(A, d=int(rng.integers(1, 3))), {}
    if kind == "singular":
        # A point within any lam, and products with a null space that are zero up to rounding.
        B = np.round(rng.normal(size=(max(1, d - 2), d)), 2)
        S = B.T @ B
        return LPD(S, S @ np.round(rng.normal(size=d), 1)), {"lam": 10.0 ** rng.uniform(-6.0, 0.0)}
    if kind == "kernels":
        other = rng.normal(size=(n, d)) + 0.5
        return KernelSelection(X, other, str(rng.choice(["linear", "quadratic"])), d=2), {}
    if kind == "strs":
        M = rng.normal(size=(d, d))
        a = M[0] if rng.random() < 0.7 else np.zeros(d)
        return STRS(M + M.T, a, d=int(rng.integers(1, d))), {}
    if kind == "subspace":
        return subspaces.haystack(N=40, n=3, k=1, inliers=0.6, seed=seed), {}
    if kind == "embedding":
        return embeddings.embedding_fit(atoms=12, features=6, seed=seed), {}
    if kind == "misdp":
        return draw(seed), {}
    if kind == "pool":
        drawn = draw_conditional(seed) if rng.random() < 0.4 else draw(seed)
        # With room beside singular matrices, which have no point exactly, so that no bound of
        # exact points is false.
        blocks = [
            replace(b, F0=b.F0 + 1e-6 * np.eye(b.size)[triangle(b.size)]) for b in drawn.blocks
        ]
        return drawn.with_changes(blocks=blocks), {"solutions": int(rng.integers(2, 5))}
    if kind == "conditional":
        return draw_conditional(seed), {}
    if kind == "ranks":
        M = rng.normal(size=(2, 2))
        block = SemidefiniteBlock(np.eye(3), rank_one=True)
        ends = {"lower": [0.0, -2.0, 0.0], "upper": [2.0] * 3}
        row = {"A": [[1.0, 0.0, 1.0]], "row_lower": [1.0]}
        c = [M[0, 0], M[0, 1], M[1, 1]]
        return MISDP(c=c, blocks=[block], **ends, **row), {}
    lam = float(rng.uniform(0.1, 1.0))
    if kind == "dantzig":
        return DantzigSelector(X, y), {"lam": lam}
    if kind == "lad":
        return LADLasso(X, y, fit_intercept=bool(rng.integers(2))), {"lam": lam}
    A, b = rng.uniform(0.2, 2.0, (d, n)), rng.uniform(0.5, 2.0, d)
    c = rng.normal(size=n)
    return ParametricLP(A, b, b / 2.0, c, -rng.uniform(0.5, 1.0, n)), {"lam": lam}


KINDS = (
    "subset",
    "classes",
    "ranks",
    "strs",
    "component",
    "kernels",
    "gaussian kernel",
    "graph",
    "spins",
    "drowned",
    "subspace",
    "embedding",
    "misdp",
    "conditional",
    "pool",
    "dantzig",
    "lad",
    "lp",
    "singular",
)


def forged(problem: Any, result: Result, rng: Rng, count: int = 20) -> Iterator[Result]:
    """Yield false claims about a problem, `count` or somewhat more.

    Parameters
    ----------
    problem : Problem
    result : Result
        A true one with the status OPTIMAL.
    rng : Generator
    count : int
    """
    if isinstance(problem, L0GraphicalModel):
        for _ in range(count):
            yield from _worse_graph(problem, result, rng)
        return
    if result.certificate is not None and "pool_x" in result.certificate.arrays:
        for _ in range(count):
            yield from _false_pool(problem, result, rng)
        return
    worse, bare = list(_worse_points(problem, result, rng)), result.with_changes(trace=())
    for _ in range(count):
        certificate = changed(result.certificate, rng) if result.certificate else None
        if worse:
            x, value = worse[int(rng.integers(len(worse)))]
            step = value - result.objective
            bound = result.objective + step * rng.choice([1.0, 1.0, 0.5, 0.9])
            claim = bare.with_changes(x=x, objective=value, bound=bound, certificate=certificate)
            if "rows" in result.duals and certificate is not None:
                rows = certificate.arrays.get("nu", result.duals["rows"])
                claim = claim.with_changes(duals={"rows": rows})
            if bound == value and rng.random() < 0.7:
                yield claim
            else:
                yield claim.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
        if rng.random() < 0.4:
            yield from _without_optimum(problem, result, certificate, rng)


def false_statements(problem: Any, result: Result, rng: Rng) -> Iterator[Result]:
    """Yield false bounds and objectives of the true point, each with inflated evidence or none.

    A bound is beyond the optimum, both are better or worse than it, the gap that was asked is
    enormous, or the problem is said to have no optimum.
    """
    sign = 1.0 if problem.sense == "min" else -1.0
    scale = max(abs(result.objective), problem.value_unit)
    best = max(sign * result.objective, sign * result.bound)
    bare = result.with_changes(trace=())
    lenient = replace(result.params, rel_gap=1e6, abs_gap=1e300)
    for certificate in (result.certificate, None, _inflated(result.certificate, rng)):
        given = bare.with_changes(certificate=certificate)
        for share in (3e-6, 1e-3, 0.5):
            beyond, better = (sign * (best + step * scale) for step in (share, -share))
            yield given.with_changes(bound=beyond)
            yield given.with_changes(bound=beyond, params=lenient)
            yield given.with_changes(bound=better, objective=better)
            worse = given.with_changes(bound=beyond, objective=beyond)
            yield worse
            yield worse.with_changes(status=Status.FEASIBLE, limit=Limit.TIME)
        for status in (Status.INFEASIBLE, Status.UNBOUNDED):
            yield Result(
                status=status,
                kind=problem.kind,
                problem=problem,
                params=result.params,
                certificate=certificate,
            )


def _inflated(certificate: Certificate | None, rng: Rng) -> Certificate | None:
    """Return a certificate with all numbers of one array times a factor, as large as they come."""
    numbers = {} if certificate is None else certificate.arrays
    names = [name for name, a in sorted(numbers.items()) if np.asarray(a).dtype.kind == "f"]
    if certificate is None or not names:
        return certificate
    name = str(rng.choice(names))
    with np.errstate(over="ignore", invalid="ignore"):
        array = numbers[name] * float(rng.choice([1e3, 1e-3, -1.0, 5e-324, 1e300, np.nan]))
    return replace(certificate, arrays={**numbers, name: array})


def _worse_points(problem: Any, result: Result, rng: Rng) -> Iterator[tuple[Array, float]]:
    """Yield feasible points of another objective, if there are any that are easy to have."""
    sign = 1.0 if problem.sense == "min" else -1.0
    x = np.asarray(result.x, dtype=float)
    lam = result.params.lam
    if isinstance(problem, MISDP):
        points = [_opposite(problem)]
    elif isinstance(problem, SparseRegression | SparseLogisticRegression):
        points = [factor * x for factor in (0.0, 0.5, 0.9, 0.99)]
    elif problem.kind == "embedding-fit":
        points = [*np.eye(len(x))[:3], np.full(len(x), 1.0 / len(x))]
    elif problem.kind == "robust-subspace":
        points = [_turned(problem, x, rng) for _ in range(4)]
    elif isinstance(problem, DantzigSelector | LADLasso | LPD | ParametricLP):
        points = [x * factor for factor in (0.0, 0.5, 0.9, 1.1, 2.0)]
        points += [x + 0.1 * rng.normal(size=len(x)) for _ in range(3)]
    else:
        units = np.eye(len(x))[rng.permutation(len(x))[:4]]
        points = [*units, *-units]
    for point in points:
        if point is None:
            continue
        arguments = (point, lam) if isinstance(lam, float) else (point,)
        if max(problem.residuals(*arguments).values()) > 1e-9:
            continue
        value = problem.objective(*arguments)
        scale = max(abs(result.objective), problem.value_unit)
        if sign * (value - result.objective) > FALSE * scale:
            yield point, value


def _false_pool(problem: MISDP, result: Result, rng: Rng) -> Iterator[Result]:
    """Yield pools of which one point is left out, and bounds that a point of the pool exceeds."""
    assert result.certificate is not None
    arrays = dict(result.certificate.arrays)
    values, sign = arrays["pool_objective"], 1.0 if problem.sense == "min" else -1.0
    count, scale = len(values), max(abs(result.objective or 0.0), problem.value_unit)
    order = np.argsort(sign * values)
    if count < 2 or sign * (values[order[-1]] - values[order[0]]) < FALSE * scale:
        return
    # A bound between the best point and the worst, and one of the better points missing.
    share = rng.uniform(0.01, 1.0)
    end = values[order[0]] + share * (values[order[-1]] - values[order[0]])
    better = np.flatnonzero(sign * (end - values) > 1e-4 * scale)
    if not len(better):
        return
    kept = np.arange(count) != int(rng.choice(better))
    arrays |= {"pool_x": arrays["pool_x"][kept], "pool_objective": values[kept]}
    if rng.random() < 0.7:
        arrays["pool_bound"] = np.array([end])
    else:
        arrays["pool_bound"] = np.array([sign * np.inf])
    certificate = replace(result.certificate, arrays=arrays)
    if rng.random() < 0.5:
        names = ("pool_x", "pool_objective", "pool_bound")
        certificate = changed(certificate, rng)
        certificate = replace(
            certificate, arrays={**certificate.arrays, **{name: arrays[name] for name in names}}
        )
    yield result.with_changes(certificate=certificate, trace=())


def _worse_graph(problem: L0GraphicalModel, result: Result, rng: Rng) -> Iterator[Result]:
    """Yield claims whose tables hold worse neighbours, and all that follows from such tables."""
    path: Any = result.path
    supports, sizes = np.array(path.supports), problem.candidates.sizes
    entries, ptr = [], path.ptr
    for _ in range(int(rng.integers(1, 4))):
        j = int(rng.integers(len(sizes)))
        k = int(rng.integers(1, sizes[j] + 1))
        chosen = rng.permutation(int(sizes[j]))[: int(rng.integers(0, k + 1))]
        supports[ptr[j] + k] = int(sum(1 << int(bit) for bit in chosen))
        entries.append(int(ptr[j] + k))
    null = problem.null_losses()[np.repeat(np.arange(len(sizes)), sizes + 1)]
    losses, true = support_losses(problem, supports), support_losses(problem, path.supports)
    if not (losses - true > FALSE * null)[entries].any():
        return
    claim = restated_graph(problem, result, supports)
    assert claim.certificate is not None
    if rng.random() < 0.3:
        # The bounds of the true tables, which the certificate does not prove.
        false: Any = claim.path
        least = np.minimum(path.bound, false.bound)
        claim = claim.with_changes(path=replace(false, bound=least), bound=float(least[-1]))
    if rng.random() < 0.5:
        claim = claim.with_changes(certificate=changed(claim.certificate, rng))
    yield claim


def restated_graph(problem: L0GraphicalModel, result: Result, supports: Array) -> Result:
    """Return what follows where these neighbours are said to be the best ones.

    Parameters
    ----------
    problem : L0GraphicalModel
    result : Result
        The true one.
    supports : int64 array, as that of the result's path
    """
    path: Any = result.path
    values, null = support_losses(problem, supports), problem.null_losses()
    node = np.repeat(np.arange(len(null)), problem.candidates.sizes + 1)
    if problem.scaling == "standardised":
        values = values / null[node]
    elif problem.scaling == "nlogrss":
        values = len(problem.X) * np.log(np.maximum(values, 1e-300))
    answer = sparseopt.solve(BudgetTables(values, path.ptr), check=False)
    names = ("budgets", "objective", "bound", "certified", "changes", "nodes", "stopped_by")
    found = {name: getattr(answer.path, name) for name in names}
    other = replace(path, supports=supports, **found)
    assert answer.certificate is not None
    certificate = Certificate("budget", {**answer.certificate.arrays, "tables": values})
    return result.with_changes(
        status=Status.OPTIMAL,
        limit=None,
        x=other.at(other.budgets[-1]),
        objective=float(other.objective[-1]),
        bound=float(other.bound[-1]),
        path=other,
        certificate=certificate,
        trace=(),
    )


def _opposite(problem: MISDP) -> Array | None:
    """Return the worst point of a MISDP."""
    if problem.Q is not None:
        return None
    other = problem.with_changes(c=-problem.c, offset=0.0)
    found = sparseopt.solve(other, time_limit=5.0, check=False)
    return None if found.x is None else np.asarray(found.x)


def _turned(problem: Any, x: Array, rng: Rng) -> Array:
    """Return another subspace, with the answer's centre."""
    turned = np.array(x)
    k = problem.k
    step = 10.0 ** rng.uniform(-1.5, 0.5)
    turned[:, :k] = np.linalg.qr(x[:, :k] + step * rng.normal(size=(len(x), k)))[0]
    return turned


def _without_optimum(
    problem: Any, result: Result, certificate: Certificate | None, rng: Rng
) -> Iterator[Result]:
    """Yield claims that the problem is infeasible, or unbounded."""
    bare = Result(
        status=Status.INFEASIBLE,
        kind=problem.kind,
        problem=problem,
        params=result.params,
        certificate=certificate,
    )
    if isinstance(problem, MISDP) and certificate is not None:
        arrays = dict(certificate.arrays)
        if "infeasible" in arrays:
            arrays["infeasible"] = np.ones_like(arrays["infeasible"])
        yield bare.with_changes(certificate=replace(certificate, arrays=arrays))
        step = np.round(rng.normal(size=len(problem.c)) * rng.choice([1.0, 3.0]))
        ray = {"x": np.asarray(result.x, dtype=float), "ray": step}
        yield bare.with_changes(status=Status.UNBOUNDED, certificate=Certificate("ray", ray))
        # The last variables of a problem may be the entries of a matrix.
        sizes = [len(cone.g) for cone in problem.cones], [b.size for b in problem.blocks]
        if not sizes[0]:
            bend = {"bend": np.abs(step) * 10.0 ** rng.uniform(-1.0, 9.0)}
            cross = rng.normal(size=sum(s * s for s in sizes[1]))
            curve = Certificate("curve", ray | bend | {"cross": cross})
            yield bare.with_changes(status=Status.UNBOUNDED, certificate=curve)
    elif certificate is not None and "nu" in certificate.arrays:
        nu = certificate.arrays["nu"]
        if isinstance(problem, LPD) and nu.dtype.kind == "f":
            # Zero on S up to rounding, and any number beside delta.
            null = np.linalg.svd(problem.S)[0][:, -2:] @ rng.normal(size=2)
            nu = np.resize(nu, len(null))
            nu = (null + 10.0 ** rng.uniform(-17.0, -6.0) * nu) * 10.0 ** rng.uniform(-3.0, 16.0)
        yield bare.with_changes(certificate=Certificate("farkas", {"nu": nu}))
        ray = {"x": np.asarray(result.x, dtype=float), "ray": rng.normal(size=len(result.x))}
        yield bare.with_changes(status=Status.UNBOUNDED, certificate=Certificate("ray", ray))


def changed(certificate: Certificate, rng: Rng) -> Certificate:
    """Return a certificate with one to three changes, each of an array or of one length."""
    arrays = {name: np.array(array) for name, array in certificate.arrays.items()}
    values = dict(certificate.values)
    for _ in range(int(rng.integers(0, 4))):
        how = rng.random()
        if how < 0.25:
            _rows(arrays, rng)
        elif how < 0.35:
            _sizes(arrays, rng)
        elif how < 0.45 and arrays:
            _length(arrays, rng)
        elif arrays:
            name = str(rng.choice(sorted(arrays)))
            arrays[name] = _moved(arrays[name], rng)
        for name, value in values.items():
            if isinstance(value, float) and rng.random() < 0.3:
                values[name] = value * 10.0 ** rng.uniform(-9.0, 9.0)
    if arrays and rng.random() < 0.15:
        name = str(rng.choice(sorted(arrays)))
        arrays[name] = _retyped(arrays[name], rng)
    return Certificate(certificate.kind, arrays, values)


def _rows(arrays: dict[str, Array], rng: Rng) -> None:
    """Drop, repeat and exchange rows of all arrays of one length."""
    lengths = sorted({len(array) for array in arrays.values() if array.ndim and len(array)})
    if not lengths:
        return
    length = int(rng.choice(lengths))
    chosen = rng.integers(0, length, int(rng.integers(1, 2 * length + 1)))
    if rng.random() < 0.5:
        chosen = np.sort(chosen)
    for name, array in arrays.items():
        if array.ndim and len(array) == length:
            arrays[name] = array[chosen]


def _sizes(arrays: dict[str, Array], rng: Rng) -> None:
    """Give the arrays of one size to another size, which there may not be, and its number."""
    found = sorted({name.rpartition("_")[2] for name in arrays} & set(map(str, range(40))))
    if not found:
        return
    old, new = str(rng.choice(found)), str(int(rng.integers(-2, int(found[-1]) + 2)))
    for name in [name for name in arrays if name.endswith(f"_{old}")]:
        arrays[f"{name.removesuffix(old)}{new}"] = arrays.pop(name)
    if "sizes" in arrays and rng.random() < 0.8:
        arrays["sizes"] = np.where(arrays["sizes"] == int(old), int(new), arrays["sizes"])


def _length(arrays: dict[str, Array], rng: Rng) -> None:
    """Add an entry to an array, take one away, or make whole numbers others."""
    name = str(rng.choice(sorted(arrays)))
    array, how = arrays[name], int(rng.integers(3))
    if not array.ndim or not len(array):
        return
    at = int(rng.integers(len(array)))
    if how == 0:
        arrays[name] = np.insert(array, at, array[int(rng.integers(len(array)))], axis=0)
    elif how == 1:
        arrays[name] = np.delete(array, at, axis=0)
    elif array.dtype.kind in "iu":
        arrays[name] = array.astype(float)
        arrays[name][at] += float(rng.choice([0.0, 0.5]))


def _retyped(array: Array, rng: Rng) -> Array:
    """Return an array of another shape, or of another type, with what that makes of its numbers."""
    if not array.size:
        return array[None]
    if rng.random() < 0.4:
        flat = array.reshape(-1)
        shapes = (array[None], array[..., None], array.T, flat[:1], flat[:1].reshape(()), flat[:0])
        return shapes[int(rng.integers(len(shapes)))]
    kinds = {"f": ("f2", "f4", ">f8", "c16", "i8", "O", "U"), "b": ("i8", "f8", "u1", "O")}
    kind = str(rng.choice(kinds.get(array.dtype.kind, ("u1", "i1", "u8", ">i8", "f8", "?", "O"))))
    with np.errstate(all="ignore"):
        moved = array + 2**32 if array.dtype.kind in "iu" and rng.random() < 0.3 else array
        return np.asarray(moved.astype(kind))


def _moved(array: Array, rng: Rng) -> Array:
    """Return an array with other numbers."""
    if not array.size:
        return array
    moved = array.copy()
    at = tuple(int(rng.integers(k)) for k in array.shape)
    if array.dtype.kind == "b":
        moved[at] = ~moved[at]
    elif array.dtype.kind in "iu":
        largest = int(array.max(initial=0)) + 1
        moved[at] = int(rng.integers(-1, largest + 1))
    else:
        size = 10.0 ** rng.choice([rng.uniform(-3.0, 3.0), rng.uniform(-300.0, 308.0)])
        how = int(rng.integers(6))
        if how == 0:
            moved[at] = size * rng.choice([-1.0, 1.0])
        elif how == 1:
            with np.errstate(over="ignore"):
                moved = moved * size
        elif how == 2:
            moved = moved * (1.0 + 10.0 ** rng.uniform(-12.0, 0.0) * rng.normal(size=moved.shape))
        elif how == 3:
            moved = rng.permutation(moved)
        elif how == 4:
            moved[at] = rng.choice([0.0, np.inf, -np.inf, np.nan])
        else:
            moved = moved + size * rng.normal(size=moved.shape)
    return moved


def answer(kind: str, rng: Rng) -> tuple[Any, Result]:
    """Return a random problem of a kind, one that is not refused, and its result."""
    while True:
        try:
            problem, question = problem_of(kind, rng)
            more = {}
            if "solutions" in question:
                more = {"backend": "misdp-bnb", "options": {"solutions": question.pop("solutions")}}
            params = SolveParams(time_limit=20.0, **question)
            return problem, sparseopt.solve(problem, params=params, **more)
        except ProblemError:
            # a node without variance, or one whose residuals vanish
            continue
