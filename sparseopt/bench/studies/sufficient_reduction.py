"""Table 1 of Takhanov (2021): nearest neighbours after a reduction to k dimensions.

Folds are contiguous after one permutation for each repetition. Columns are standardised on the
training part; ten neighbours predict in the coordinates of the reduction, as they are in an
orthonormal basis and whitened. A repetition's score is the mean over the folds: the accuracy, or
R2, in percent. Wine's classes are a number in the paper.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt import datasets
from sparseopt.api import solve
from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import PaperRow, TableSpec
from sparseopt.problems import SufficientReduction
from sparseopt.problems.base import Array

_DATA: Mapping[str, tuple[str, str, int, int]] = {
    "breast": ("breast-cancer", "classification", 8, 65),
    "diabetes": ("diabetes", "regression", 10, 37),
    "wine": ("wine", "regression", 8, 22),
    "heart": ("heart", "classification", 9, 33),
    "ionosphere": ("ionosphere", "classification", 10, 35),
}
"""The data set, the task, and the number and size of folds: those of the paper's code; of heart and
ionosphere, whose figures in the paper are multiples of 1/297 and 1/350, ours."""

_METHODS: Mapping[str, Mapping[str, Any]] = {
    "stiefel": {"starts": 1, "draws": 0, "iterations": 60},
    "alternating-scheme": {},
    "sigmoids": {"functions": "sigmoids"},
    "kdr": {"iterations": 60},
    "sir": {},
    "save": {},
    "dr": {},
    "phd": {},
    "opg": {},
    "mave": {},
    "pca": {},
}
_BACKENDS = {"sigmoids": "alternating-scheme"}
"""Of methods that are not called like their backend."""

_PAPER = {
    "breast": ("93.46", "93.65", "97.30", "96.73", "93.13", "95.95", "97.88", "97.69"),
    "diabetes": ("25.34", "28.72", "43.47", "43.61", "41.82", "44.30", "43.07", "44.48"),
    "wine": ("93.91", "94.12", "98.68", "99.24", "98.30", "96.02", "97.10", "96.93"),
    "heart": ("79.80", "79.46", "82.49", "81.82", "86.33", "88.77", "81.48", "83.50"),
    "ionosphere": ("80.29", "86.57", "89.14", "89.43", "83.43", "86.29", "88.29", "90.57"),
}
"""PCA, SIR, KDR and the alternating scheme, each for k = 2 and 3."""


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of repetitions for each data set whose package is there, k and method."""
    known: Sequence[str] = list(_DATA)
    if "all" in settings["data"]:
        known = [data for data in _DATA if _DATA[data][0] in datasets.available()]
    for first, end in blocks(settings["repetitions"], 4):
        for data in chosen_of(settings["data"], known, "data set"):
            for k in settings["k"]:
                for method in chosen_of(settings["methods"], _METHODS, "method"):
                    yield {"data": data, "k": k, "method": method, "first": first, "end": end}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Reduce, and predict the folds that were left out; a row for each repetition."""
    name, task, folds, size = _DATA[unit["data"]]
    data = datasets.load(name)
    words = data.y.dtype.kind in "US"
    X, y = data.X, np.unique(data.y, return_inverse=True)[1] if words else data.y
    for repetition in range(unit["first"], unit["end"]):
        order = np.random.default_rng(repetition).permutation(len(y))
        scores, seconds = [], 0.0
        for fold in range(folds):
            test = np.zeros(len(y), dtype=bool)
            test[order[fold * size : (fold + 1) * size]] = True
            mean, deviation = X[~test].mean(axis=0), X[~test].std(axis=0)
            deviation[deviation == 0.0] = 1.0
            train, left = (X[~test] - mean) / deviation, (X[test] - mean) / deviation
            problem = SufficientReduction(X=train, y=y[~test], k=unit["k"], task=task)
            begun = time.process_time()
            method = unit["method"]
            backend = _BACKENDS[method] if method in _BACKENDS else str(method)
            options = _METHODS[method]
            W = solve(problem, backend=backend, options=options, threads=1, check=False).x
            seconds += time.process_time() - begun
            assert W is not None
            whitened = W @ np.linalg.inv(np.linalg.cholesky(np.cov((train @ W).T))).T
            scores.append(
                [_score(train @ B, y[~test], left @ B, y[test], task) for B in (W, whitened)]
            )
        plain, scaled = np.mean(scores, axis=0)
        yield {
            "repetition": repetition,
            "orthonormal": plain,
            "whitened": scaled,
            "seconds": seconds / folds,
        }


def _score(train: Array, y: Array, left: Array, truth: Array, task: str) -> float:
    """Return the accuracy or R2 of ten nearest neighbours, in percent."""
    from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

    kind = KNeighborsClassifier if task == "classification" else KNeighborsRegressor
    return 100.0 * float(kind(n_neighbors=10).fit(train, y).score(left, truth))


_HEADS = tuple((f"{method}, paper",) for method in ("PCA", "SIR", "KDR", "scheme"))

STUDY = Study(
    title="Nearest neighbours after sufficient reduction (Takhanov 2021, Table 1)",
    description="Accuracy or R2 in percent, mean and 95% interval over the repetitions.",
    settings={"repetitions": 20, "data": ("all",), "k": (2, 3), "methods": ("all",)},
    units=_units,
    do=_do,
    tables=(
        *(
            TableSpec(
                title=f"Score in {name} coordinates",
                rows=("data", "k"),
                columns=("method",),
                values=(name,),
                statistic="mean-ci",
                source="Takhanov (2021), Table 1, without intervals",
                paper_columns=_HEADS,
                paper=tuple(
                    PaperRow((data, str(k)), cells[k - 2 :: 2])
                    for data, cells in _PAPER.items()
                    for k in (2, 3)
                ),
            )
            for name in ("orthonormal", "whitened")
        ),
        TableSpec(
            title="Seconds of processor time for a reduction",
            rows=("data",),
            columns=("method",),
            values=("seconds",),
            statistic="median",
        ),
    ),
)
