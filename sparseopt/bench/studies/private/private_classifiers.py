"""Classifiers trained on synthetic rows and tested on real ones, by method and epsilon.

After Vinaroz and others (2022), section 5.3, on data that packages ship. A random half of the
records is private, the other half is held out. Each method makes as many synthetic records as there
are private ones; five classifiers of scikit-learn are trained on them, and scored on the half that
was held out by the area under the ROC curve (one against the rest, mean of the classes). Beside it
the p-value of our two-sample test of synthetic against held-out records (up to 200 of each, three
variables). "real" are the private records themselves.

Bounds are the columns' ranges in the whole data, taken as public for all methods alike; marginal
methods see eight bins of equal width, in which their draws are uniform. `Hermite` has the defaults
of :class:`sparseopt.private.FeatureMap` but for a tolerance of 1e-2, nothing was tuned. Fourier are
the features of DP-MERF, as many. MST and AIM need the package `mbi`; without it their rows say so.
All are (epsilon, 1e-5)-private for neighbours that replace one record; noise is seeded.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt import datasets
from sparseopt.bench.definitions.study import Row, Settings, Study, blocks, chosen_of
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.bench.studies.private._private_peers import fourier, fourier_features, marginals
from sparseopt.private import Category, FeatureMap, Number, insecure, release, synthesise
from sparseopt.problems.base import Array
from sparseopt.two_sample import two_sample_test

_DELTA, _ATOMS, _BINS, _TESTED = 1e-5, 512, 8, 200
_DATA = ("iris", "wine", "breast-cancer", "digits", "default", "caravan")
_EPSILONS = (1.0, 0.3, 0.1)


@dataclass(frozen=True)
class _Split:
    """Private and held-out records; the last column of `table` codes is the label."""

    features: FeatureMap
    table: dict[str, Array]
    label: Array
    X: Array
    y: Array


def _units(settings: Settings) -> Iterable[Settings]:
    """Yield blocks of repetitions of each method and data set."""
    for first, end in blocks(settings["repetitions"], 2):
        for data in chosen_of(settings["data"], _DATA, "data set"):
            for method in chosen_of(settings["methods"], _METHODS, "method"):
                yield {"data": data, "method": method, "first": first, "end": end}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Make synthetic records, train, score and test."""
    if unit["method"] in ("MST", "AIM") and find_spec("mbi") is None:
        yield {"skipped": "the package mbi is not installed: pip install mbi"}
        return
    for repetition in range(unit["first"], unit["end"]):
        split = _split(unit["data"], repetition)
        for epsilon in _EPSILONS:
            rng = np.random.default_rng([repetition, 1])
            begun = time.process_time()
            X, y = _METHODS[unit["method"]](split, epsilon, rng, repetition)
            seconds = time.process_time() - begun
            row = {"auc": _auc(X, y, split), "p": _p_value(X, y, split, rng), "seconds": seconds}
            if unit["method"] == "real":  # without noise, whatever epsilon is
                for each in _EPSILONS:
                    yield {"repetition": repetition, "epsilon": each, **row}
                break
            yield {"repetition": repetition, "epsilon": epsilon, **row}


def _split(name: str, seed: int) -> _Split:
    data = datasets.load(name)
    classes, y = np.unique(data.y, return_inverse=True)
    order = np.random.default_rng([seed, 0]).permutation(len(y))
    private, left = order[: len(y) // 2], order[len(y) // 2 :]
    columns: list[Number | Category] = []
    for j, column in enumerate(data.names):
        values = np.unique(data.X[:, j])
        if len(values) <= 2:
            columns.append(Category(column, tuple(values.tolist())))
        else:
            columns.append(Number(column, float(values[0]), float(values[-1])))
    label = Category("the label", tuple(range(len(classes))))
    table = {column: data.X[private, j] for j, column in enumerate(data.names)}
    features = FeatureMap(tuple(columns), label=label, tolerance=1e-2)
    return _Split(features, table, y[private], data.X[left], y[left])


def _rows(table: Mapping[str, Array], split: _Split) -> Array:
    return np.column_stack([np.asarray(table[c.name], float) for c in split.features.columns])


_Made = tuple[Array, Array]


def _real(split: _Split, epsilon: float, rng: np.random.Generator, seed: int) -> _Made:
    return _rows(split.table, split), split.label


def _hermite(split: _Split, epsilon: float, rng: np.random.Generator, seed: int) -> _Made:
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": _DELTA, "y": split.label}
    with insecure(seed):
        released = release(split.table, features=split.features, **asked)
    table, label = synthesise(released, _ATOMS, rel_gap=1e-4).sample(len(split.label), seed)
    assert label is not None
    return _rows(table, split), label


def _fourier(split: _Split, epsilon: float, rng: np.random.Generator, seed: int) -> _Made:
    levels = len(split.features.label.levels) if split.features.label else 1
    embedded = fourier_features(split.features, split.features.dimension // levels, rng)
    asked: dict[str, Any] = {"epsilon": epsilon, "delta": _DELTA, "count": _ATOMS, "rng": rng}
    found = fourier(split.features, split.table, split.label, embedded, **asked)
    table, label = found.sample(len(split.label), seed)
    assert label is not None
    return _rows(table, split), label


def _marginals(method: str) -> Callable[..., _Made]:
    def made(split: _Split, epsilon: float, rng: np.random.Generator, seed: int) -> _Made:
        codes, sizes = {}, {}
        for j, column in enumerate(split.features.columns):
            values = split.table[column.name]
            if isinstance(column, Category):
                codes[f"x{j}"] = np.searchsorted(column.levels, values)
                sizes[f"x{j}"] = len(column.levels)
            else:
                unit = (values - column.low) / (column.high - column.low)
                codes[f"x{j}"] = np.minimum((unit * _BINS).astype(int), _BINS - 1)
                sizes[f"x{j}"] = _BINS
        codes["y"] = split.label
        sizes["y"] = len(split.features.label.levels) if split.features.label else 1
        drawn = marginals(method, codes, sizes, epsilon=epsilon, delta=_DELTA, rng=rng)
        X = np.empty((len(drawn["y"]), len(split.features.columns)))
        for j, column in enumerate(split.features.columns):
            code = drawn[f"x{j}"]
            if isinstance(column, Category):
                X[:, j] = np.array(column.levels, float)[code]
            else:
                unit = (code + rng.random(len(code))) / _BINS
                X[:, j] = column.low + unit * (column.high - column.low)
        return X, drawn["y"]

    return made


_METHODS: Mapping[str, Callable[..., _Made]] = {
    "real": _real,
    "Hermite": _hermite,
    "Fourier": _fourier,
    "MST": _marginals("MST"),
    "AIM": _marginals("AIM"),
}


def _auc(X: Array, y: Array, split: _Split) -> float:
    """Return the mean area under the ROC curve of five classifiers; 0.5 where one class is left."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler
    from sklearn.tree import DecisionTreeClassifier

    if len(np.unique(y)) < 2:
        return 0.5
    scores = []
    for model in (
        LogisticRegression(max_iter=500),
        GaussianNB(var_smoothing=1e-3),
        KNeighborsClassifier(min(15, len(y))),
        DecisionTreeClassifier(max_depth=5, random_state=0),
        RandomForestClassifier(50, min_samples_leaf=3, random_state=0),
    ):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fitted = make_pipeline(StandardScaler(), model).fit(X, y)
            found = fitted.predict_proba(split.X)
        classes = np.zeros((len(split.y), split.y.max() + 1))
        classes[:, fitted.classes_] = found
        areas = [roc_auc_score(split.y == level, classes[:, level]) for level in np.unique(split.y)]
        scores.append(float(np.mean(areas)))
    return float(np.mean(scores))


def _p_value(X: Array, y: Array, split: _Split, rng: np.random.Generator) -> float:
    """Return the p-value of synthetic against held-out records, their labels as one more column."""
    both = [np.column_stack([X, y]), np.column_stack([split.X, split.y])]
    some = [one[rng.permutation(len(one))[:_TESTED]] for one in both]
    together = np.vstack(some)
    scale = together.std(axis=0)
    first, second = (
        (one - together.mean(axis=0)) / np.where(scale > 0.0, scale, 1.0) for one in some
    )
    test = two_sample_test(first, second, d=min(3, first.shape[1]), n_permutations=199)
    return float(test.p_value)


STUDY = Study(
    title="Classifiers trained on synthetic rows, tested on real ones",
    description="Area under the ROC curve on records that were held out, mean of five classifiers; "
    "mean and 95% interval over the repetitions, each with a split of its own.",
    settings={
        "repetitions": 10,
        "data": ("all",),
        "methods": ("all",),
    },
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="Area under the ROC curve",
            rows=("data", "epsilon"),
            columns=("method",),
            values=("auc",),
            statistic="mean-ci",
            source="Vinaroz and others (2022), section 5.3; other data",
        ),
        TableSpec(
            title="p-value of synthetic against held-out records, all epsilon",
            rows=("data",),
            columns=("method",),
            values=("p",),
            statistic="median",
        ),
        TableSpec(
            title="Seconds of processor time, all epsilon",
            rows=("data",),
            columns=("method",),
            values=("seconds",),
            statistic="median",
        ),
    ),
)
