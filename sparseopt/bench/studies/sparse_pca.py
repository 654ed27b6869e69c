"""Proven sparse principal components, beside the heuristics that Python users have.

scikit-learn's SparsePCA wants observations: it gets D + 1 rows with exactly the correlations given
(the same answer as from the data, since its program depends on X'X alone, up to the scale of
alpha). It has one component and alpha over 20 values down to 1e-4 of the one where nothing is left,
and between two whose numbers of nonzeros differ by more than one, again and again, until 120 are
tried; of all, the best component with at most d nonzeros counts. "Refitted" takes the largest
eigenvalue on the same supports; "truncated" the d largest loadings of the ordinary component.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.api import check, solve
from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of
from sparseopt.bench.displays.figures import Figure
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.solving.instances import component_files, component_matrix
from sparseopt.problems import STRS
from sparseopt.problems.base import Array

_GRID, _MOST = 20, 120
_LARGEST = 20
"""The largest d of matrices with more than 30 variables."""
_PROVEN, _FITTED, _REFITTED, _TRUNCATED = (
    "proven optimum",
    "SparsePCA",
    "SparsePCA, refitted",
    "PCA truncated, refitted",
)


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield the matrices."""
    # One of the public matrices is pitprops again.
    there = [name for name in component_files() if name != "lx_pitprops"]
    for data in chosen_of(settings["data"], there, "matrix"):
        yield {"data": data}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Solve all sizes, check the proofs, and let the heuristics try."""
    S = component_matrix(unit["data"])
    # The first solve compiles, or loads what was compiled before.
    solve(STRS(A=np.eye(3), d=1), backend="strs-bnb", check=False)
    problem = STRS(A=S, d=1)
    asked = range(1, 1 + (len(S) if len(S) <= 30 else _LARGEST))
    begun = time.perf_counter()
    result = solve(problem, size=asked, backend="strs-bnb", check=False, threads=1)
    ours = time.perf_counter() - begun
    path: Any = result.path
    best, sizes, total = path.objective, path.sizes, float(np.trace(S))
    verdict = str(check(problem, result).verdict)
    begun = time.perf_counter()
    found = _heuristics(S, sizes)
    theirs = time.perf_counter() - begun
    proven = int(path.certified.sum())
    yield {"method": _PROVEN, "D": len(S), "proven": proven, "verdict": verdict, "time": ours}
    yield {"method": _FITTED, "time": theirs}
    for method, values in {_PROVEN: best, **found}.items():
        for d, top, value in zip(sizes.tolist(), best, values, strict=True):
            # SparsePCA may have no component with so few nonzeros on its grid.
            short = round(100.0 * (top - value) / top, 4) if value > 0.0 else None
            share = 100.0 * value / total if value > 0.0 else None
            yield {"method": method, "d": d, "share": share, "short": short, "hit": short == 0.0}


def _heuristics(S: Array, sizes: Array) -> dict[str, Array]:
    """Return the variance of each size by each heuristic; 0 where it has none."""
    from sklearn.decomposition import SparsePCA

    X = _observations(S)
    fitted, refitted = np.zeros(len(sizes)), np.zeros(len(sizes))

    def component(alpha: float) -> Array:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = SparsePCA(n_components=1, alpha=alpha, random_state=0).fit(X)
        return np.asarray(model.components_[0])

    for v in _varied(component, float(np.linalg.norm(X, axis=0).max())):
        support = np.flatnonzero(v)
        if len(support) == 0:
            continue
        v = v / np.linalg.norm(v)
        room = sizes >= len(support)
        fitted[room] = np.maximum(fitted[room], v @ S @ v)
        refitted[room] = np.maximum(refitted[room], _largest(S, support))
    order = np.argsort(-np.abs(np.linalg.eigh(S)[1][:, -1]), kind="stable")
    truncated = np.array([_largest(S, order[:d]) for d in sizes])
    return {_FITTED: fitted, _REFITTED: refitted, _TRUNCATED: truncated}


def _observations(S: Array) -> Array:
    """Return D + 1 centred rows X with X'X = D S."""
    D = len(S)
    values, vectors = np.linalg.eigh(S)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    # Orthonormal columns that are orthogonal to the vector of ones, too.
    basis = np.linalg.qr(np.column_stack([np.ones(D + 1), np.eye(D + 1, D)]))[0][:, 1:]
    return np.asarray(np.sqrt(D) * basis @ root.T)


def _varied(component: Callable[[float], Array], most: float) -> list[Array]:
    """Return components of many alphas, most of them where the number of nonzeros jumps."""
    found = [(alpha, component(alpha)) for alpha in most * np.geomspace(1.0, 1e-4, _GRID)]
    while len(found) < _MOST:
        counts = np.array([np.count_nonzero(v) for _, v in found])
        alphas = np.array([alpha for alpha, _ in found])
        # Where the numbers still jump between alphas that are all but equal, they always will.
        wide = np.log(alphas[:-1] / alphas[1:]) > 1e-6
        jump = np.where(wide, np.abs(np.diff(counts)), 0)
        k = int(np.argmax(jump))
        if jump[k] <= 1:
            break
        alpha = float(np.sqrt(alphas[k] * alphas[k + 1]))
        found.insert(k + 1, (alpha, component(alpha)))
    return [v for _, v in found]


def _largest(S: Array, support: Array) -> float:
    """Return the largest variance of a unit vector on a support."""
    return float(np.linalg.eigvalsh(S[np.ix_(support, support)])[-1])


STUDY = Study(
    title="Sparse principal components: the proven optimum and heuristics",
    description="The variance of a unit vector with at most d nonzeros, for every d.",
    settings={"data": ("all",)},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Percent below the optimum, and how often it is found",
            rows=("data", "method"),
            columns=("value",),
            values=("hit:count", "short:mean", "short:max"),
        ),
        TableSpec(
            title="What they took, for all sizes and all values of alpha",
            rows=("data", "method"),
            columns=("value",),
            values=("D", "proven", "verdict", "time"),
            statistic="median",
        ),
    ),
    figures=(
        Figure("Variance explained (%)", "line", "d", "share", "method", panels=("data",)),
        Figure("Short of the optimum (%)", "line", "d", "short", "method", panels=("data",)),
    ),
)
