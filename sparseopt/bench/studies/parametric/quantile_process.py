"""Every quantile at once, beside scikit-learn's QuantileRegressor at fifty single levels."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from sparseopt.bench.definitions.study import Row, Settings, Study, chosen_of, median_time
from sparseopt.bench.displays.tables import TableSpec
from sparseopt.blas import blas_threads

_SIZES = {"n=1000, p=10": (1_000, 10, 50), "n=10000, p=20": (10_000, 20, 0)}
"""Observations, columns, and how many single levels the peer is asked for."""


def _units(settings: Settings) -> Iterable[Settings]:
    for name in chosen_of(settings["sizes"], _SIZES, "size"):
        yield {"size": name, "repeats": settings["repeats"]}


def _do(unit: Settings, folder: Path) -> Iterable[Row]:
    """Time the fit with its check, in processor seconds of one thread; compare the losses."""
    from sklearn.linear_model import QuantileRegressor

    from sparseopt.estimators import QuantileProcess

    n, p, count = _SIZES[unit["size"]]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, p))
    y = X @ rng.normal(size=p) + (1.0 + 0.3 * np.abs(X[:, 0])) * rng.normal(size=n)
    QuantileProcess().fit(X[:200], y[:200])
    with blas_threads(1):
        model = QuantileProcess().fit(X, y)
        seconds = median_time(
            lambda: QuantileProcess().fit(X, y), unit["repeats"], time.process_time
        )
        row: dict[str, Any] = {
            "levels": len(model.quantiles_),
            "seconds": seconds,
            "verdict": model.verdict_,
        }
        if count:
            begun = time.process_time()
            levels = np.linspace(0.0, 1.0, count + 2)[1:-1]
            peers = [QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y) for tau in levels]
            row["peer"] = time.process_time() - begun
            own = [model.at(tau) for tau in levels]
            row["distance"] = max(
                float(np.abs(mine.coef_ - peer.coef_).max())
                for mine, peer in zip(own, peers, strict=True)
            )
            if row["distance"] > 1e-8:
                row["complaint"] = f"coefficients differ from scikit-learn's by {row['distance']}"
    if model.verdict_ != "verified":
        row["complaint"] = f"the process is {model.verdict_}"
    yield row


STUDY = Study(
    title="Every quantile at once",
    description="Processor seconds of QuantileProcess, its check included, and of scikit-learn's "
    "QuantileRegressor at 50 single levels without a penalty.",
    settings={"sizes": ("all",), "repeats": 3},
    units=_units,
    do=_do,
    tables=(
        TableSpec(
            title="All levels, and fifty single ones",
            rows=("size",),
            columns=("value",),
            values=("levels", "seconds", "peer", "distance", "verdict"),
            statistic="median",
            note="peer: 50 levels by scikit-learn, one after the other; distance: the largest "
            "between its coefficients and ours.",
        ),
    ),
)
